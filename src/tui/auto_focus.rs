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
    pub left: Vec<RequestId>,
}
