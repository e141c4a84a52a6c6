//! A cap that was reached, while its question is on the screen. Plain data: keys are handled by `keys`, drawing
//! by `draw`. It is no request and never counts as one.

pub mod draw;
pub mod keys;

use crate::agent::caps::{CapAnswer, CapQuestion};

/// The question and the progress of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CapCard {
    pub question: CapQuestion,
    /// The answer that was sent; the turn confirms it.
    pub said: Option<CapAnswer>,
}
