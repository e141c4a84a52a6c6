//! The composer: an editor, the lines sent before, and what is worth keeping.
//!
//! Plain data; it sends nothing itself. Called by `update`, drawn by `view::composer`.

pub mod editor;
mod rows;
#[cfg(test)]
mod tests;

pub use self::editor::Editor;
pub use self::rows::{Moved, Position, Rows};

/// Lines kept to go back to.
const LONGEST_HISTORY: usize = 500;

/// Where the person writes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Composer {
    pub editor: Editor,
    /// Oldest first.
    history: Vec<String>,
    browsing: Option<Browsing>,
    /// When the text was last changed, until it has been handed over to be kept.
    pub unsaved_since: Option<u64>,
}

/// Going through the history: where, and what was being written.
#[derive(Debug, Clone, PartialEq)]
struct Browsing {
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

    /// Puts lines of earlier sessions, the oldest first, before what was entered in this one.
    pub fn recall(&mut self, earlier: &[String]) {
        let entered = std::mem::take(&mut self.history);
        for text in earlier.iter().chain(&entered) {
            self.remember(text);
        }
        if let Some(browsing) = &mut self.browsing {
            browsing.at += self.history.len().saturating_sub(entered.len());
        }
    }

    /// Puts `text` into the history, unless it is empty or the newest entry.
    pub fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.last().is_some_and(|last| last == text) {
            return;
        }
        self.history.push(text.to_owned());
        if self.history.len() > LONGEST_HISTORY {
            self.history.remove(0);
        }
    }

    /// The entry before, in place of the text.
    pub fn older(&mut self) {
        let at = match &self.browsing {
            Some(browsing) => browsing.at,
            None => self.history.len(),
        };
        let Some(at) = at.checked_sub(1) else { return };
        match &mut self.browsing {
            Some(browsing) => browsing.at = at,
            None => self.browsing = Some(Browsing { at, written: self.editor.clone() }),
        }
        self.show(at);
    }

    /// The entry after; past the newest, what was being written.
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

    /// The text was changed by hand: the history is left.
    pub fn touched(&mut self, now_ms: u64) {
        self.browsing = None;
        self.unsaved_since = Some(now_ms);
    }
}
