//! Shows the newest text of a block that is too large to be laid out with every frame, unformatted.
//!
//! Each byte is wrapped once; bytes near the end are wrapped with every frame until their piece is complete.
//! Called by the streaming renderer, which later lays the block out in full.

use super::highlight::Highlighter;
use super::{Page, layout};
use crate::tui::line::Line;

/// A growing line is wrapped again until it has this many bytes; then that piece is kept as it is.
const PIECE: usize = 1024;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RawTail {
    /// The offset in the source at which the raw text begins.
    from: usize,
    /// The offset in the source up to which `whole` shows the text.
    to: usize,
    whole: Vec<Line>,
    /// The last, incomplete line.
    open: Vec<Line>,
}

impl RawTail {
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Shows all of `source` from `from` on.
    pub fn show(&mut self, source: &str, from: usize, page: &Page) {
        if self.from != from || self.to < from {
            *self = Self { from, to: from, ..Self::default() };
        }
        loop {
            let (_, rest) = source.split_at(self.to);
            let (near, _) = rest.split_at(rest.floor_char_boundary(PIECE));
            let end = match near.find('\n') {
                Some(at) => at + 1,
                None if near.len() < rest.len() => near.len(),
                None => break self.open = lines(rest, page),
            };
            self.whole.extend(lines(rest.split_at(end).0, page));
            self.to += end;
        }
    }

    pub fn height(&self) -> usize {
        self.whole.len() + self.open.len()
    }

    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.whole.iter().chain(&self.open)
    }
}

fn lines(text: &str, page: &Page) -> Vec<Line> {
    if text.is_empty() { Vec::new() } else { layout::code_lines(text, &mut Highlighter::plain(), page) }
}
