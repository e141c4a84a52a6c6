//! Whether a card may take the keys by itself. Plain data; `update::auto_focus` applies it.

use crate::approval::RequestId;

/// The time without a key after which a new card takes the keys by itself, in milliseconds.
pub const IDLE_MS: u64 = 1_000;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct AutoFocus {
    /// Whether the card or list that has the keys took them by itself. Only some of its keys work then.
    pub is_on: bool,
    /// Whether the next card takes the keys at once: the last one was decided, and nothing was typed since.
    pub continues: bool,
    /// The requests that the user moved away from, which do not take the keys again.
    left: Vec<RequestId>,
}

impl AutoFocus {
    /// Records that the user moved away from these requests.
    pub fn leave(&mut self, requests: Vec<RequestId>) {
        self.is_on = false;
        self.left = requests;
    }

    /// Forgets which requests the user moved away from.
    pub fn forget(&mut self) {
        self.left.clear();
    }

    pub fn is_left(&self, request: &RequestId) -> bool {
        self.left.contains(request)
    }
}
