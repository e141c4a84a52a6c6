//! Maps rows of the pane to places in the text, and back.
//!
//! A place is a cell, a line of it and a column of that line, so it stays valid after text is appended.
//! Called by `update` for the mouse, for marking and for the search.

use std::ops::Range;

use super::{BlockLine, Scroll, Transcript};
use crate::tui::cells::{Cell, RenderContext};
use crate::tui::copied::{SelectedLine, text};
use crate::tui::line::{Join, Line, cells};

/// A place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct TextPosition {
    pub cell: usize,
    pub line: usize,
    pub column: usize,
}

/// A saved scroll position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark {
    scroll: Scroll,
    top: Option<BlockLine>,
}

/// The content of a row of the pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// A line of a cell.
    Text(TextPosition),
    /// The blank line before this block.
    Gap(usize),
    /// A line of the card, by its index.
    Card(usize),
    /// The area below the last block.
    Nothing,
}

impl Transcript {
    /// Returns the content at a row and a column of the pane.
    pub fn hit(&self, row: usize, column: usize) -> Hit {
        let mut before = 0;
        for visible in &self.visible {
            if row < before + visible.count {
                let at = visible.from + row - before;
                return match at.checked_sub(self.gap(visible.block)) {
                    None => Hit::Gap(visible.block),
                    Some(line) if visible.block >= self.cells.len() => Hit::Card(line),
                    Some(line) => Hit::Text(TextPosition { cell: visible.block, line, column }),
                };
            }
            before += visible.count;
        }
        Hit::Nothing
    }

    /// Returns the text place nearest to a row of the pane: the row itself, else the end of the text above
    /// it.
    pub fn nearest(&self, row: usize, column: usize) -> Option<TextPosition> {
        match self.hit(row, column) {
            Hit::Text(spot) => Some(spot),
            Hit::Gap(block) => self.end_of(block.checked_sub(1)?),
            Hit::Card(_) | Hit::Nothing => self.end_of(self.cells.len().checked_sub(1)?),
        }
    }

    fn end_of(&self, cell: usize) -> Option<TextPosition> {
        let line = self.cells.get(cell)?.lines_from(0).count().saturating_sub(1);
        Some(TextPosition { cell, line, column: usize::MAX - 1 })
    }

    /// Returns the cells on the screen.
    pub fn visible_cells(&self) -> Range<usize> {
        let blocks = self.visible.first().zip(self.visible.last());
        blocks.map_or(0..0, |(first, last)| first.block..(last.block + 1).min(self.cells.len()))
    }

    /// Returns the lines of a cell that are on the screen.
    pub fn seen_lines(&self, cell: usize) -> Range<usize> {
        let gap = self.gap(cell);
        let visible = self.visible.iter().find(|visible| visible.block == cell);
        visible.map_or(0..0, |it| it.from.saturating_sub(gap)..(it.from + it.count).saturating_sub(gap))
    }

    pub fn cell_mut(&mut self, at: usize) -> Option<&mut Cell> {
        self.cells.get_mut(at)
    }

    /// Returns the number of lines of a cell, laying it out if needed.
    pub fn lines_of(&mut self, cell: usize, context: &RenderContext) -> usize {
        self.height(cell, context).saturating_sub(self.gap(cell))
    }

    /// Keeps the place at the top, even if the end moves out of sight.
    pub fn hold(&mut self) {
        if let Some(top) = self.top() {
            self.scroll = Scroll::At(top);
        }
    }

    /// Returns the scroll position, to be restored later.
    pub fn bookmark(&self) -> Bookmark {
        Bookmark { scroll: self.scroll, top: self.top() }
    }

    /// Restores a scroll position.
    pub fn go_back(&mut self, to: Bookmark) {
        self.scroll = to.scroll;
    }

    /// Restores a scroll position without following the end, to look at something that may be on that screen.
    pub fn look_from(&mut self, from: Bookmark) {
        self.scroll = from.top.map_or(from.scroll, Scroll::At);
    }

    /// Scrolls a line into view; if it is visible, nothing moves. The last row may be under the notice of new
    /// cells.
    pub fn reveal(&mut self, cell: usize, line: usize, context: &RenderContext, rows: usize) {
        if cell >= self.cells.len() {
            return;
        }
        self.height(cell, context);
        let target = BlockLine { block: cell, line: self.gap(cell) + line };
        let Some(top) = self.top() else { return };
        self.scroll = if self.is_within(top, target, rows.saturating_sub(1).max(1), context) {
            Scroll::At(top)
        } else {
            Scroll::At(self.above(target, rows / 3, context))
        };
    }

    /// Whether `to` is less than `rows` lines below `from`.
    fn is_within(&mut self, from: BlockLine, to: BlockLine, rows: usize, context: &RenderContext) -> bool {
        if to < from {
            return false;
        }
        let mut distance = 0;
        for block in from.block..to.block {
            distance += self.height(block, context);
            if distance >= rows + from.line {
                return false;
            }
        }
        distance + to.line < rows + from.line
    }

    /// Returns the text marked from one place to another, both included.
    pub fn marked_text(
        &mut self,
        (from, to): (TextPosition, TextPosition),
        context: &RenderContext,
    ) -> String {
        let mut out = String::new();
        for cell in from.cell..=to.cell.min(self.cells.len().saturating_sub(1)) {
            self.height(cell, context);
            let first = if cell == from.cell { from.line } else { 0 };
            let lines: Vec<&Line> = self.cells[cell].lines_from(0).collect();
            let last = if cell == to.cell { to.line } else { usize::MAX }.min(lines.len().saturating_sub(1));
            let marked: Vec<SelectedLine<'_>> = (first..=last)
                .filter_map(|at| {
                    let columns = columns((from, to), cell, at);
                    lines.get(at).map(|line| SelectedLine { line, columns })
                })
                .collect();
            let piece = text(&marked, lines.get(last + 1).copied());
            // A folded cell may have no text to copy.
            if piece.is_empty() {
                continue;
            }
            if !out.is_empty() {
                out.push_str(if self.gap(cell) > 0 { "\n\n" } else { "\n" });
            }
            out.push_str(&piece);
        }
        out.trim_matches('\n').to_owned()
    }

    /// Returns the word at a place, from its first to its last column.
    pub fn word_at(&self, spot: TextPosition) -> Option<(TextPosition, TextPosition)> {
        let line = self.cells.get(spot.cell)?.lines_from(spot.line).next()?;
        let mut word: Option<(usize, usize)> = None;
        for (at, grapheme, _) in line.graphemes().filter(|(at, ..)| *at >= line.copied.margin) {
            let end = at + cells(grapheme).max(1);
            if word.is_some_and(|(_, to)| to > spot.column && at > spot.column) && !is_of_word(grapheme) {
                break;
            }
            if !is_of_word(grapheme) {
                word = Some((at, end)).filter(|_| (at..end).contains(&spot.column));
                if word.is_some() {
                    break;
                }
                continue;
            }
            let goes_on = word.filter(|(_, to)| *to == at);
            word = Some((goes_on.map_or(at, |(from, _)| from), end));
        }
        let (from, to) = word.filter(|(from, to)| (*from..*to).contains(&spot.column))?;
        Some((TextPosition { column: from, ..spot }, TextPosition { column: to - 1, ..spot }))
    }

    /// Returns the source line at a place, however often it was wrapped.
    pub fn paragraph_at(&self, spot: TextPosition) -> Option<(TextPosition, TextPosition)> {
        let lines: Vec<&Line> = self.cells.get(spot.cell)?.lines_from(0).collect();
        let goes_on = |at: usize| lines.get(at).is_some_and(|line| matches!(line.copied.join, Join::Gap(_)));
        lines.get(spot.line)?;
        let from = (0..=spot.line).rev().find(|at| !goes_on(*at)).unwrap_or(0);
        let to = (spot.line + 1..).find(|at| !goes_on(*at)).unwrap_or(from + 1) - 1;
        Some((
            TextPosition { line: from, column: 0, ..spot },
            TextPosition { line: to, column: usize::MAX - 1, ..spot },
        ))
    }
}

/// Returns the columns of a line between two places.
pub fn columns((from, to): (TextPosition, TextPosition), cell: usize, line: usize) -> Range<usize> {
    let at = (cell, line);
    if at < (from.cell, from.line) || at > (to.cell, to.line) {
        return 0..0;
    }
    let start = if at == (from.cell, from.line) { from.column } else { 0 };
    let end = if at == (to.cell, to.line) { to.column.saturating_add(1) } else { usize::MAX };
    start..end
}

/// Whether a grapheme belongs to a word; paths, addresses and names are one word.
fn is_of_word(grapheme: &str) -> bool {
    grapheme.chars().all(|c| c.is_alphanumeric() || "_-./~:@%+#?&=".contains(c))
}
