//! The search in the transcript.

/// What is searched for, and where it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Find;
