//! Front ends without a screen (print, JSON, the plain face, the recorder), and the link between any interactive face and the session's owner.

pub mod channel;
pub mod dialogue;
pub mod images;
pub mod json;
pub mod plain;
pub mod print;
pub mod protocol;

mod rows;
