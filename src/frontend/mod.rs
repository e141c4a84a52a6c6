//! Front ends without a screen, and the link between any interactive face and the session's owner.

pub mod channel;
pub mod json;
pub mod link;
pub mod print;
pub mod recording;

mod rows;
