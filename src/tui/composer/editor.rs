//! A multi-line text with a cursor: graphemes, and pasted blocks that act as one character.
//!
//! It keeps what was typed byte for byte (NULs excepted) and shows it harmless. It never holds a large paste as
//! single characters, so no key gets slow. Called by the composer and by the card's argument editor.

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

/// A paste of more lines or bytes than this becomes one atomic chip.
const CHIP_LINES: usize = 8;
const CHIP_BYTES: usize = 1_000;

/// States one can go back to.
const DEEPEST_UNDO: usize = 100;

/// Killed texts that can be yanked.
const LONGEST_RING: usize = 16;

/// One place of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// One grapheme; a line break is `"\n"`.
    Grapheme(Box<str>),
    /// A large paste.
    Chip(Arc<str>),
}

impl Item {
    pub fn text(&self) -> &str {
        match self {
            Self::Grapheme(text) => text,
            Self::Chip(text) => text,
        }
    }

    pub fn is_break(&self) -> bool {
        matches!(self, Self::Grapheme(text) if &**text == "\n")
    }

    fn is_space(&self) -> bool {
        matches!(self, Self::Grapheme(text) if text.chars().all(char::is_whitespace))
    }

    fn is_word(&self) -> bool {
        match self {
            Self::Grapheme(text) => text.chars().any(|c| c.is_alphanumeric() || c == '_'),
            Self::Chip(_) => true,
        }
    }
}

/// What the last change was, so that a run of typing is undone as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Change {
    #[default]
    None,
    Typed,
    Deleted,
    Killed,
    Yanked,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Snapshot {
    items: Vec<Item>,
    cursor: usize,
}

/// Which way a kill goes; successive kills of one kind join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Editor {
    items: Vec<Item>,
    /// Before which item the cursor stands.
    cursor: usize,
    /// The column that vertical moves try to keep, in cells.
    pub(super) goal: Option<usize>,
    undo: Vec<Snapshot>,
    redo: Vec<Snapshot>,
    ring: Vec<Vec<Item>>,
    /// Which killed text a yank just put in, and how long it is.
    yanked: Option<(usize, usize)>,
    last: Change,
}

impl Editor {
    /// An editor of `text`, without chips, the cursor at the start.
    pub fn plain(text: &str) -> Self {
        Self { items: graphemes(text), ..Self::default() }
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The whole text, pastes included.
    pub fn text(&self) -> String {
        self.items.iter().map(Item::text).collect()
    }

    /// Takes the text out; the editor is empty then, its killed texts stay.
    pub fn take(&mut self) -> String {
        let text = self.text();
        *self = Self { ring: std::mem::take(&mut self.ring), ..Self::default() };
        text
    }

    /// Another text in place of this one, the cursor at its end; can be undone.
    pub fn replace(&mut self, text: &str) {
        self.save(Change::None);
        self.items = content(text);
        self.cursor = self.items.len();
    }

    /// Typed text.
    pub fn insert(&mut self, text: &str) {
        let continues = self.last == Change::Typed && !text.chars().all(char::is_whitespace);
        if continues {
            self.forget_goal();
        } else {
            self.save(Change::Typed);
        }
        self.splice(graphemes(text));
    }

    /// Pasted text: line ends unified, NULs dropped; a large one becomes a chip.
    pub fn paste(&mut self, text: &str) {
        self.save(Change::None);
        self.splice(content(&clean(text)));
    }

    /// Pasted text that stays editable whatever its size.
    pub fn paste_plain(&mut self, text: &str) {
        self.save(Change::None);
        self.splice(graphemes(&clean(text)));
    }

    /// If a backslash stands before the cursor, turns it into a line break.
    pub fn break_at_backslash(&mut self) -> bool {
        let before = self.cursor.checked_sub(1).and_then(|at| self.items.get(at));
        if before.is_none_or(|item| item.text() != "\\") {
            return false;
        }
        self.save(Change::None);
        self.items[self.cursor - 1] = Item::Grapheme("\n".into());
        true
    }

    pub fn backspace(&mut self) {
        if self.cursor > 0 {
            self.save_unless(Change::Deleted);
            self.cursor -= 1;
            self.items.remove(self.cursor);
        }
    }

    pub fn delete(&mut self) {
        if self.cursor < self.items.len() {
            self.save_unless(Change::Deleted);
            self.items.remove(self.cursor);
        }
    }

    pub fn left(&mut self) {
        self.go(self.cursor.saturating_sub(1));
    }

    pub fn right(&mut self) {
        self.go((self.cursor + 1).min(self.items.len()));
    }

    pub fn word_left(&mut self) {
        self.go(self.word_start());
    }

    pub fn word_right(&mut self) {
        self.go(self.word_end());
    }

    pub fn line_start(&mut self) {
        self.go(self.start_of_line());
    }

    pub fn line_end(&mut self) {
        self.go(self.end_of_line());
    }

    pub(super) fn go_keeping_goal(&mut self, cursor: usize) {
        self.cursor = cursor.min(self.items.len());
        self.last = Change::None;
        self.yanked = None;
    }

    fn go(&mut self, cursor: usize) {
        self.goal = None;
        self.go_keeping_goal(cursor);
    }

    /// Kills to the end of the line, or the line break there.
    pub fn kill_to_end(&mut self) {
        let end = self.end_of_line();
        let end = if end == self.cursor { (end + 1).min(self.items.len()) } else { end };
        self.kill(self.cursor, end, Side::After);
    }

    pub fn kill_to_start(&mut self) {
        let start = self.start_of_line();
        let start = if start == self.cursor { start.saturating_sub(1) } else { start };
        self.kill(start, self.cursor, Side::Before);
    }

    /// Kills back to white space.
    pub fn kill_word_back(&mut self) {
        let mut at = self.cursor;
        while at > 0 && self.items[at - 1].is_space() {
            at -= 1;
        }
        while at > 0 && !self.items[at - 1].is_space() {
            at -= 1;
        }
        self.kill(at, self.cursor, Side::Before);
    }

    /// Kills back to the start of a word of letters and digits.
    pub fn kill_part_back(&mut self) {
        self.kill(self.word_start(), self.cursor, Side::Before);
    }

    pub fn kill_word_forward(&mut self) {
        self.kill(self.cursor, self.word_end(), Side::After);
    }

    /// Puts the last killed text in.
    pub fn yank(&mut self) {
        let Some(newest) = self.ring.len().checked_sub(1) else { return };
        self.save(Change::Yanked);
        self.put_from_ring(newest);
    }

    /// Right after a yank: the killed text before it in its place.
    pub fn yank_older(&mut self) {
        let Some((at, length)) = self.yanked.filter(|_| self.last == Change::Yanked) else { return };
        let start = self.cursor.saturating_sub(length);
        self.items.drain(start..self.cursor);
        self.cursor = start;
        self.put_from_ring(at.checked_sub(1).unwrap_or(self.ring.len() - 1));
    }

    fn put_from_ring(&mut self, at: usize) {
        let killed = self.ring[at].clone();
        let length = killed.len();
        self.items.splice(self.cursor..self.cursor, killed);
        self.cursor += length;
        self.yanked = Some((at, length));
        self.last = Change::Yanked;
    }

    pub fn undo(&mut self) {
        if let Some(before) = self.undo.pop() {
            let now = self.restore(before);
            self.redo.push(now);
        }
    }

    pub fn redo(&mut self) {
        if let Some(after) = self.redo.pop() {
            let now = self.restore(after);
            self.undo.push(now);
        }
    }

    fn restore(&mut self, to: Snapshot) -> Snapshot {
        self.forget_goal();
        self.last = Change::None;
        Snapshot {
            items: std::mem::replace(&mut self.items, to.items),
            cursor: std::mem::replace(&mut self.cursor, to.cursor),
        }
    }

    fn forget_goal(&mut self) {
        self.goal = None;
        self.yanked = None;
    }

    fn save_unless(&mut self, change: Change) {
        if self.last == change {
            self.forget_goal();
        } else {
            self.save(change);
        }
    }

    fn save(&mut self, change: Change) {
        self.undo.push(Snapshot { items: self.items.clone(), cursor: self.cursor });
        if self.undo.len() > DEEPEST_UNDO {
            self.undo.remove(0);
        }
        self.redo.clear();
        self.forget_goal();
        self.last = change;
    }

    fn kill(&mut self, from: usize, to: usize, side: Side) {
        if from >= to {
            return;
        }
        let joins = self.last == Change::Killed;
        self.save(Change::Killed);
        let killed: Vec<Item> = self.items.drain(from..to).collect();
        self.cursor = from;
        match (self.ring.last_mut().filter(|_| joins), side) {
            (Some(last), Side::After) => last.extend(killed),
            (Some(last), Side::Before) => {
                last.splice(0..0, killed);
            }
            (None, _) => self.ring.push(killed),
        }
        if self.ring.len() > LONGEST_RING {
            self.ring.remove(0);
        }
    }

    /// Puts items in at the cursor; a combining character joins the grapheme before it.
    fn splice(&mut self, new: Vec<Item>) {
        let joined = match (self.cursor.checked_sub(1).and_then(|at| self.items.get(at)), new.first()) {
            (Some(Item::Grapheme(before)), Some(Item::Grapheme(first))) => {
                let both = format!("{before}{first}");
                (both.graphemes(true).count() == 1).then_some(both)
            }
            _ => None,
        };
        let mut new = new.into_iter();
        if let Some(both) = joined {
            new.next();
            self.items[self.cursor - 1] = Item::Grapheme(both.into());
        }
        let before = self.items.len();
        self.items.splice(self.cursor..self.cursor, new);
        self.cursor += self.items.len() - before;
    }

    fn start_of_line(&self) -> usize {
        self.items[..self.cursor].iter().rposition(Item::is_break).map_or(0, |at| at + 1)
    }

    fn end_of_line(&self) -> usize {
        self.items[self.cursor..]
            .iter()
            .position(Item::is_break)
            .map_or(self.items.len(), |at| self.cursor + at)
    }

    fn word_start(&self) -> usize {
        let mut at = self.cursor;
        while at > 0 && !self.items[at - 1].is_word() {
            at -= 1;
        }
        while at > 0 && self.items[at - 1].is_word() {
            at -= 1;
        }
        at
    }

    fn word_end(&self) -> usize {
        let mut at = self.cursor;
        while at < self.items.len() && !self.items[at].is_word() {
            at += 1;
        }
        while at < self.items.len() && self.items[at].is_word() {
            at += 1;
        }
        at
    }
}

fn graphemes(text: &str) -> Vec<Item> {
    text.graphemes(true).map(|grapheme| Item::Grapheme(grapheme.into())).collect()
}

fn content(text: &str) -> Vec<Item> {
    let large = text.len() > CHIP_BYTES || text.lines().nth(CHIP_LINES).is_some();
    if large { vec![Item::Chip(text.into())] } else { graphemes(text) }
}

fn clean(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "")
}
