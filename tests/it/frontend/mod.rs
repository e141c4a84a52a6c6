//! The plain front end.

pub mod plain;
pub mod plain_inbox;
pub mod plain_lines;
