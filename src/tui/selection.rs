//! What of the transcript is marked, by mouse or keys, to be copied.

/// The marked part.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection;
