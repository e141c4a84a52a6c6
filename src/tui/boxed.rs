//! A box drawn with lines, for the popup and the panels.

use super::line::Line;
use super::theme::{Glyphs, Role};

/// A box of a given width in cells.
pub struct Boxed<'a> {
    glyphs: &'a Glyphs,
    width: usize,
    lines: Vec<Line>,
}

impl<'a> Boxed<'a> {
    /// Begins a box with its upper edge, which has words at the left and at the right.
    pub fn new(glyphs: &'a Glyphs, width: usize, title: Line, right: Line) -> Self {
        let [left_top, right_top, ..] = glyphs.corners;
        let mut boxed = Self { glyphs, width, lines: Vec::new() };
        let edge = boxed.edge(left_top, right_top, title, right);
        boxed.lines.push(edge);
        boxed
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
        let [.., left_bottom, right_bottom] = self.glyphs.corners;
        let edge = self.edge(left_bottom, right_bottom, words, right);
        self.lines.push(edge);
        self.lines
    }

    fn edge(&self, left_corner: &str, right_corner: &str, left: Line, right: Line) -> Line {
        let rule = self.glyphs.rule;
        let framed = |line: Line| {
            if line.spans.is_empty() {
                return Line::new();
            }
            Line::of(" ", Role::Text).joined(line).with(" ", Role::Text)
        };
        let (right, inner) = (framed(right), self.width.saturating_sub(4));
        let right = if right.width() + 4 > inner { Line::new() } else { right };
        let left = framed(left).cut(inner.saturating_sub(right.width()));
        let gap = inner.saturating_sub(left.width() + right.width());
        Line::of(format!("{left_corner}{rule}"), Role::Dim)
            .joined(left)
            .with(rule.repeat(gap), Role::Dim)
            .joined(right)
            .with(format!("{rule}{right_corner}"), Role::Dim)
    }
}

/// Cuts or fills a line to exactly `width` cells.
pub fn column(line: Line, width: usize) -> Line {
    let mut line = line.cut(width);
    line.pad_to(width);
    line
}
