//! The plain face.

pub mod plain;
pub mod plain_inbox;
pub mod plain_lines;
