//! The key table as this person has it.

use super::{Action, Context, rows};
use crate::tui::key::Key;

/// Which key does what.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Keymap;

impl Keymap {
    /// What `key` does in the first of `contexts` that knows it.
    pub fn action(&self, contexts: &[Context], key: Key) -> Option<Action> {
        contexts.iter().find_map(|context| {
            rows()
                .find(|binding| binding.context == *context && binding.keys.contains(&key))
                .map(|binding| binding.action)
        })
    }
}
