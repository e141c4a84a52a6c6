//! A box drawn with lines, for the popup and the panels.

use super::line::Line;
use super::theme::{Glyphs, Role};

/// A box of a given width in cells.
pub struct BorderedBox<'a> {
    glyphs: &'a Glyphs,
    width: usize,
    lines: Vec<Line>,
}

impl<'a> BorderedBox<'a> {
    /// Begins a box with its upper edge, which has words at the left and at the right.
    pub fn new(glyphs: &'a Glyphs, width: usize, title: Line, right: Line) -> Self {
        Self { glyphs, width, lines: vec![edge(glyphs, 0, title, right, width, Role::Dim)] }
    }

    /// Returns the cells of a line in the box.
    pub fn room(&self) -> usize {
        Self::room_of(self.width)
    }

    /// Returns the cells of a line in a box of this width.
    pub fn room_of(width: usize) -> usize {
        width.saturating_sub(4)
    }

    pub fn push(&mut self, line: Line) {
        let side = Line::of(self.glyphs.side, Role::Dim);
        let mut row = side.clone().with(" ", Role::Text).joined(line.cut(self.room()));
        row.pad_to(self.width.saturating_sub(1));
        self.lines.push(row.joined(side));
    }

    /// Returns the lines, with the lower edge and words in it.
    pub fn end(mut self, words: Line, right: Line) -> Vec<Line> {
        self.lines.push(edge(self.glyphs, 2, words, right, self.width, Role::Dim));
        self.lines
    }
}

/// Returns an edge of `width` cells with words at the left and at the right; `corner` is the index of its left corner.
pub fn edge(glyphs: &Glyphs, corner: usize, left: Line, right: Line, width: usize, role: Role) -> Line {
    let framed = |line: Line| match line.width() {
        0 => Line::new(),
        _ => Line::of(" ", role).joined(line).with(" ", role),
    };
    let right = framed(right.cut(width.saturating_sub(8)));
    let ends = 6 + right.width() + usize::from(right.width() > 0);
    let left = framed(left.cut(width.saturating_sub(ends)));
    let gap = width.saturating_sub(4 + left.width() + right.width());
    Line::of(format!("{}{}", glyphs.corners[corner], glyphs.rule), role)
        .joined(left)
        .with(glyphs.rule.repeat(gap), role)
        .joined(right)
        .with(format!("{}{}", glyphs.rule, glyphs.corners[corner + 1]), role)
}

/// Cuts or fills a line to exactly `width` cells.
pub fn column(line: Line, width: usize) -> Line {
    let mut line = line.cut(width);
    line.pad_to(width);
    line
}
