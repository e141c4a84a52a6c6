//! A multi-line text with a cursor: graphemes, and pasted blocks that act as one character.
//!
//! Keeps the input byte for byte (except NULs); display sanitizes it. Never holds a large paste as single
//! characters, so no key gets slow. Called by the composer and by the card's argument editor.

use std::ops::Range;

use super::item::{Chip, Item, LONGEST_SHOWN, clean, graphemes, number_images, pasted_items, typed_items};
use super::undo::Undo;
use crate::frontend::images::SeenImage;
use crate::tui::keys::{Move, TextEdit};
use unicode_segmentation::UnicodeSegmentation as _;

/// The number of killed texts that can be yanked.
const LONGEST_RING: usize = 16;

/// The kind of the last change, so that a run of typing is undone as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Change {
    #[default]
    None,
    Typed,
    Deleted,
    Killed,
    Yanked,
}

/// The outcome of expanding a pasted block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpandOutcome {
    Yes,
    /// No block is directly before the cursor.
    NoChip,
    TooLarge,
}

/// The direction of a kill; successive kills are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Editor {
    items: Vec<Item>,
    /// The index of the item after the cursor.
    cursor: usize,
    /// The column that vertical moves try to keep, in cells.
    pub(super) goal: Option<usize>,
    undo: Undo,
    ring: Vec<Vec<Item>>,
    /// The ring index of the text that a yank just inserted, and its length.
    yanked: Option<(usize, usize)>,
    last: Change,
}

impl Editor {
    /// Creates an editor of `text`, without chips, with the cursor at the start.
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

    /// Returns the whole text, including pastes.
    pub fn text(&self) -> String {
        self.items.iter().map(Item::text).collect()
    }

    /// Returns the text without its pasted blocks if it has any: the text that the user wrote and saw.
    pub fn own_words(&self) -> Option<String> {
        let word = |item: &Item| if item.is_pasted() { "\n".to_owned() } else { item.text().to_owned() };
        self.items.iter().any(Item::is_pasted).then(|| self.items.iter().map(word).collect())
    }

    /// Returns the text with labels in place of its pasted blocks, if it has any.
    pub fn in_short(&self) -> Option<String> {
        let word = |item: &Item| match item {
            Item::Chip(chip) if !chip.is_image() => chip.label().to_owned(),
            Item::Chip(_) | Item::Grapheme(_) => item.text().to_owned(),
        };
        self.items.iter().any(Item::is_pasted).then(|| self.items.iter().map(word).collect())
    }

    /// Takes the text out and leaves the editor empty; killed texts are kept.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.take_items();
        text
    }

    /// Takes the text out as items.
    pub fn take_items(&mut self) -> Vec<Item> {
        let ring = std::mem::take(&mut self.ring);
        std::mem::replace(self, Self { ring, ..Self::default() }).items
    }

    /// Replaces the text and puts the cursor at its end; can be undone.
    pub fn replace(&mut self, text: &str) {
        self.replace_items(typed_items(&clean(text)));
    }

    pub fn replace_items(&mut self, items: Vec<Item>) {
        self.save(Change::None);
        self.change(0..self.items.len(), items);
        self.cursor = self.items.len();
    }

    /// Replaces the items `from..to` by `text` and puts the cursor behind it; can be undone.
    pub fn put(&mut self, from: usize, to: usize, text: &str) {
        self.save(Change::None);
        let to = to.min(self.items.len());
        self.cursor = from.min(to);
        self.change(self.cursor..to, Vec::new());
        self.splice(graphemes(text));
    }

    /// Returns the pasted block directly before the cursor.
    pub fn chip_before(&self) -> Option<&Chip> {
        match self.items.get(self.cursor.checked_sub(1)?)? {
            Item::Chip(chip) => Some(chip),
            Item::Grapheme(_) => None,
        }
    }

    /// Whether a pasted block has more than `bytes` bytes.
    pub fn has_block_of(&self, bytes: usize) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Chip(chip) if chip.text().len() > bytes))
    }

    /// Replaces the block directly before the cursor by its text.
    pub fn expand(&mut self) -> ExpandOutcome {
        let Some(chip) = self.chip_before() else { return ExpandOutcome::NoChip };
        if chip.text().len() > LONGEST_SHOWN {
            return ExpandOutcome::TooLarge;
        }
        let items = graphemes(chip.text());
        let end = self.cursor - 1 + items.len();
        self.save(Change::None);
        self.change(self.cursor - 1..self.cursor, items);
        self.cursor = end;
        ExpandOutcome::Yes
    }

    /// Inserts typed text.
    pub fn insert(&mut self, text: &str) {
        let continues = self.last == Change::Typed && !text.chars().all(char::is_whitespace);
        if continues {
            self.forget_goal();
        } else {
            self.save(Change::Typed);
        }
        self.splice(graphemes(text));
    }

    /// Inserts pasted text: line ends unified, NULs dropped; a large one becomes a chip.
    pub fn paste(&mut self, text: &str) {
        self.save(Change::None);
        self.splice(pasted_items(&clean(text)));
    }

    /// Inserts pasted text that stays editable at any size.
    pub fn paste_plain(&mut self, text: &str) {
        self.save(Change::None);
        self.splice(graphemes(&clean(text)));
    }

    /// Inserts images at the cursor.
    pub fn insert_images(&mut self, images: &[SeenImage]) {
        self.put_images(self.cursor..self.cursor, images);
    }

    /// Replaces the text that was pasted as image paths by the images, if it is still there; the last
    /// occurrence counts.
    pub fn show_images(&mut self, pasted_text: &str, images: &[SeenImage]) {
        let wanted = pasted_items(&clean(pasted_text));
        if let Some(from) = self.items.windows(wanted.len().max(1)).rposition(|items| items == wanted) {
            self.put_images(from..from + wanted.len(), images);
        }
    }

    /// Inserts images separated by spaces from the text beside them; the cursor keeps its place in the rest
    /// of the text.
    fn put_images(&mut self, range: Range<usize>, images: &[SeenImage]) {
        let mut new: Vec<Item> = Vec::new();
        let mut apart = range.start.checked_sub(1).is_none_or(|at| self.items[at].is_space());
        for item in images.iter().filter_map(|one| Item::image(&one.path, one.size)) {
            if !apart {
                new.extend(graphemes(" "));
            }
            new.push(item);
            apart = false;
        }
        if new.is_empty() {
            return;
        }
        if self.items.get(range.end).is_none_or(|item| !item.is_space()) {
            new.extend(graphemes(" "));
        }
        let (from, end, length) = (range.start, range.end, new.len());
        let cursor = match self.cursor {
            before if before < from => before,
            inside if inside <= end => from + length,
            behind => behind - end + from + length,
        };
        self.save(Change::None);
        self.change(range, new);
        self.cursor = cursor;
    }

    /// Replaces a backslash before the cursor by a line break; returns whether there was one.
    pub fn break_at_backslash(&mut self) -> bool {
        let before = self.cursor.checked_sub(1).and_then(|at| self.items.get(at));
        if before.is_none_or(|item| item.text() != "\\") {
            return false;
        }
        self.save(Change::None);
        self.change(self.cursor - 1..self.cursor, graphemes("\n"));
        true
    }

    /// Applies an edit.
    pub fn edit(&mut self, edit: TextEdit) {
        match edit {
            TextEdit::Newline => self.insert("\n"),
            TextEdit::Backspace if self.cursor > 0 => self.delete(self.cursor - 1),
            TextEdit::Delete if self.cursor < self.items.len() => self.delete(self.cursor),
            TextEdit::Backspace | TextEdit::Delete => {}
            TextEdit::KillToEnd => self.kill_to_end(),
            TextEdit::KillToStart => self.kill_to_start(),
            // Back to white space.
            TextEdit::KillWordBack => {
                self.kill(self.start_of(|item| !item.is_space()), self.cursor, Side::Before);
            }
            // Back to the start of a word of letters and digits.
            TextEdit::KillPartBack => self.kill(self.start_of(Item::is_word), self.cursor, Side::Before),
            TextEdit::KillWordForward => self.kill(self.cursor, self.word_end(), Side::After),
            TextEdit::Yank => self.yank(),
            TextEdit::YankOlder => self.yank_older(),
            TextEdit::Undo => {
                let before = self.undo.undo(&mut self.items, self.cursor);
                self.went_to(before);
            }
            TextEdit::Redo => {
                let after = self.undo.redo(&mut self.items, self.cursor);
                self.went_to(after);
            }
        }
    }

    /// Moves the cursor in a text that is `width` cells wide. Returns `false` if it is in the outermost row already.
    pub fn step(&mut self, to: Move, width: usize) -> bool {
        match to {
            Move::Left => self.go(self.cursor.saturating_sub(1)),
            Move::Right => self.go(self.cursor + 1),
            Move::WordLeft => self.go(self.start_of(Item::is_word)),
            Move::WordRight => self.go(self.word_end()),
            Move::LineStart => self.go(self.start_of_line()),
            Move::LineEnd => self.line_end(),
            Move::Up => return self.up(width),
            Move::Down => return self.down(width),
        }
        true
    }

    fn delete(&mut self, at: usize) {
        self.save_unless(Change::Deleted);
        self.cursor = at;
        self.change(at..at + 1, Vec::new());
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
    fn kill_to_end(&mut self) {
        let end = self.end_of_line();
        let end = if end == self.cursor { (end + 1).min(self.items.len()) } else { end };
        self.kill(self.cursor, end, Side::After);
    }

    fn kill_to_start(&mut self) {
        let start = self.start_of_line();
        let start = if start == self.cursor { start.saturating_sub(1) } else { start };
        self.kill(start, self.cursor, Side::Before);
    }

    /// Inserts the last killed text.
    fn yank(&mut self) {
        let Some(newest) = self.ring.len().checked_sub(1) else { return };
        self.save(Change::Yanked);
        self.put_from_ring(newest);
    }

    /// Directly after a yank: replaces the yanked text by the killed text before it.
    fn yank_older(&mut self) {
        let Some((at, length)) = self.yanked.filter(|_| self.last == Change::Yanked) else { return };
        let start = self.cursor.saturating_sub(length);
        self.change(start..self.cursor, Vec::new());
        self.cursor = start;
        self.put_from_ring(at.checked_sub(1).unwrap_or(self.ring.len() - 1));
    }

    fn put_from_ring(&mut self, at: usize) {
        let killed = self.ring[at].clone();
        let length = killed.len();
        self.change(self.cursor..self.cursor, killed);
        self.cursor += length;
        self.yanked = Some((at, length));
        self.last = Change::Yanked;
    }

    fn went_to(&mut self, cursor: Option<usize>) {
        number_images(&mut self.items);
        self.forget_goal();
        self.last = Change::None;
        self.cursor = cursor.unwrap_or(self.cursor);
    }

    /// Changes the text; every change goes through this.
    fn change(&mut self, range: Range<usize>, new: Vec<Item>) -> Vec<Item> {
        let concerns_images = self.items[range.clone()].iter().chain(&new).any(Item::is_image);
        let removed = self.undo.change(&mut self.items, range, new);
        if concerns_images {
            number_images(&mut self.items);
        }
        removed
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
        self.undo.begin(self.cursor);
        self.forget_goal();
        self.last = change;
    }

    fn kill(&mut self, from: usize, to: usize, side: Side) {
        if from >= to {
            return;
        }
        let joins = self.last == Change::Killed;
        self.save(Change::Killed);
        let killed = self.change(from..to, Vec::new());
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

    /// Inserts items at the cursor; a combining character joins the grapheme before it.
    fn splice(&mut self, mut new: Vec<Item>) {
        let joined = match (self.cursor.checked_sub(1).and_then(|at| self.items.get(at)), new.first()) {
            (Some(Item::Grapheme(before)), Some(Item::Grapheme(first))) => {
                let both = format!("{before}{first}");
                (both.graphemes(true).count() == 1).then_some(both)
            }
            _ => None,
        };
        let (from, length) = match joined {
            Some(both) => {
                new[0] = Item::Grapheme(both.into());
                (self.cursor - 1, new.len())
            }
            None => (self.cursor, new.len()),
        };
        self.change(from..self.cursor, new);
        self.cursor = from + length;
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

    /// Returns the start of the last run of such items before the cursor.
    fn start_of(&self, is_part: fn(&Item) -> bool) -> usize {
        let before = &self.items[..self.cursor];
        let end = before.iter().rposition(is_part).map_or(0, |at| at + 1);
        before[..end].iter().rposition(|item| !is_part(item)).map_or(0, |at| at + 1)
    }

    fn word_end(&self) -> usize {
        let behind = self.items[self.cursor..].iter().enumerate();
        let mut behind =
            behind.skip_while(|(_, item)| !item.is_word()).skip_while(|(_, item)| item.is_word());
        behind.next().map_or(self.items.len(), |(at, _)| self.cursor + at)
    }
}
