//! The composer: an editor, the history of sent lines, and the draft to be saved.
//!
//! Plain data; it sends nothing itself. Called by `update`, drawn by `view::composer`.

pub mod editor;
mod item;
mod rows;
#[cfg(test)]
mod tests;
mod undo;

pub use self::editor::{Editor, ExpandOutcome};
pub use self::item::Item;
pub use self::rows::{Position, Rows};

use std::collections::VecDeque;

/// The draft is handed over for saving this long after a change; a kill loses at most this much.
const DRAFT_MS: u64 = 1_000;

/// The same for a text with a block of more than this many bytes: each save writes all of it to the store.
const LARGE: usize = 256 * 1024;
const LARGE_DRAFT_MS: u64 = 10_000;

/// The length of the history.
const LONGEST_HISTORY: usize = 500;

/// The input area.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Composer {
    pub editor: Editor,
    /// A text that was stashed until it is restored.
    stash: Option<Vec<Item>>,
    /// Oldest first.
    history: VecDeque<String>,
    browsing: Option<HistoryPosition>,
    /// The number of manual changes of the text.
    pub revision: u64,
    /// When the first change was made that has not been handed over for saving.
    pub unsaved_since: Option<u64>,
}

/// The outcome of stashing or restoring a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StashOutcome {
    Stashed,
    Restored,
    /// The text and the stashed one were swapped.
    Swapped,
    /// There was neither.
    Nothing,
}

/// The position in the history, and the text that was being written.
#[derive(Debug, Clone, PartialEq)]
struct HistoryPosition {
    at: usize,
    written: Editor,
}

impl Composer {
    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Takes the text out, to be sent; it joins the history.
    pub fn take(&mut self) -> String {
        let text = self.editor.take();
        self.browsing = None;
        self.remember(&text);
        text
    }

    /// Prepares for another session; the draft is saved with the former one. All texts join the history and
    /// the composer is emptied.
    pub fn leave(&mut self) {
        let stashed: String = self.stash.take().iter().flatten().map(Item::text).collect();
        self.remember(&stashed);
        self.take();
        self.unsaved_since = None;
    }

    pub fn has_stash(&self) -> bool {
        self.stash.is_some()
    }

    /// Stashes the text, restores the stashed one, or swaps them.
    pub fn stash(&mut self) -> StashOutcome {
        self.browsing = None;
        let text = Some(self.editor.take_items()).filter(|items| !items.is_empty());
        let back = std::mem::replace(&mut self.stash, text);
        let did = match (&back, &self.stash) {
            (None, None) => StashOutcome::Nothing,
            (None, Some(_)) => StashOutcome::Stashed,
            (Some(_), None) => StashOutcome::Restored,
            (Some(_), Some(_)) => StashOutcome::Swapped,
        };
        if let Some(items) = back {
            self.editor.replace_items(items);
        }
        did
    }

    /// Returns the text to be saved: a stashed text comes before the current one, because only one draft can
    /// be stored; after a restart they are one text.
    pub fn draft(&self) -> String {
        let stashed: String = self.stash.iter().flatten().map(Item::text).collect();
        let text = self.editor.text();
        if stashed.is_empty() || text.is_empty() { stashed + &text } else { format!("{stashed}\n\n{text}") }
    }

    /// Puts lines of earlier sessions, oldest first, before those entered in this one.
    pub fn recall(&mut self, earlier: &[String]) {
        let entered = std::mem::take(&mut self.history);
        for text in earlier.iter().chain(&entered) {
            self.remember(text);
        }
        if let Some(browsing) = &mut self.browsing {
            browsing.at += self.history.len().saturating_sub(entered.len());
        }
    }

    /// Appends `text` to the history, unless it is empty or equals the newest entry.
    pub fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.back().is_some_and(|last| last == text) {
            return;
        }
        self.history.push_back(text.to_owned());
        if self.history.len() > LONGEST_HISTORY {
            self.history.pop_front();
        }
    }

    /// Shows the previous entry of the history in place of the text.
    pub fn older(&mut self) {
        let at = match &self.browsing {
            Some(browsing) => browsing.at,
            None => self.history.len(),
        };
        let Some(at) = at.checked_sub(1) else { return };
        match &mut self.browsing {
            Some(browsing) => browsing.at = at,
            None => self.browsing = Some(HistoryPosition { at, written: self.editor.clone() }),
        }
        self.show(at);
    }

    /// Shows the next entry; after the newest one, the text that was being written.
    pub fn newer(&mut self) {
        let Some(browsing) = &mut self.browsing else { return };
        browsing.at += 1;
        let at = browsing.at;
        if at < self.history.len() {
            self.show(at);
        } else if let Some(browsing) = self.browsing.take() {
            self.editor = browsing.written;
        }
    }

    fn show(&mut self, at: usize) {
        let text = self.history.get(at).cloned().unwrap_or_default();
        self.editor.replace(&text);
    }

    /// Returns the history, newest first.
    pub fn history(&self) -> impl Iterator<Item = &str> {
        self.history.iter().rev().map(String::as_str)
    }

    /// Whether an entry of the history is shown in place of the written text.
    pub fn is_browsing(&self) -> bool {
        self.browsing.is_some()
    }

    /// Returns when the text is due to be handed over for saving.
    pub fn draft_due(&self) -> Option<u64> {
        let since = self.unsaved_since?;
        Some(since + if self.editor.has_block_of(LARGE) { LARGE_DRAFT_MS } else { DRAFT_MS })
    }

    /// Records a manual change of the text and leaves the history.
    pub fn on_edit(&mut self, now_ms: u64) {
        self.revision += 1;
        self.browsing = None;
        self.unsaved_since.get_or_insert(now_ms);
    }
}
