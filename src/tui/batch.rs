//! Several requests as one list with marks, decided in one round.

/// The list as it is on the screen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch;
