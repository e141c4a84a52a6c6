//! The popup that completes slash commands and file mentions while the person writes.

/// What is offered, and which of it is chosen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completion;

impl Completion {
    /// Whether it stands on the screen and has the first say on keys.
    pub fn is_open(&self) -> bool {
        false
    }

    /// Closes it until something else is typed.
    pub fn dismiss(&mut self) {}
}
