//! Lists to pick from that lie over the transcript: earlier lines, sessions.

/// An open list.
#[derive(Debug, Clone, PartialEq)]
pub enum Pick {}
