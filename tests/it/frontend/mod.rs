//! The plain face.

pub mod plain;
pub mod plain_inbox;
