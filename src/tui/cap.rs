//! A cap that was reached, while its question stands on the screen. Plain data.
//!
//! What keys do to it is `update::cap`, how it looks is `cells::cap`. It is no request and never counts as one.

use crate::agent::caps::{CapAnswer, CapQuestion};

/// The question and how far it has been dealt with.
#[derive(Debug, Clone, PartialEq)]
pub struct CapCard {
    pub question: CapQuestion,
    /// What was said to it; the turn says that it heard.
    pub said: Option<CapAnswer>,
}

impl CapCard {
    pub fn new(question: CapQuestion) -> Self {
        Self { question, said: None }
    }
}
