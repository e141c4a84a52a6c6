//! The frame of a card: its borders with words in them, its sides.

use super::{Holds, NARROW, Sheet};
use crate::tui::line::Line;
use crate::tui::theme::Role;

impl Sheet<'_> {
    /// One line of text between the sides.
    pub(in crate::tui::cells) fn put(&mut self, line: Line) {
        let line = if self.width < NARROW {
            Line::of(" ", Role::Text).joined(line.cut(self.inner))
        } else {
            let side = self.frame.look.glyphs.side;
            let mut full = Line::of(side, self.edge()).with(" ", Role::Text).joined(line.cut(self.inner));
            full.pad_to(self.width - 1);
            full.with(side, self.edge())
        };
        self.drawn.lines.push(line);
    }

    /// A border with words in it; `corner` is the index of its left corner.
    pub(in crate::tui::cells) fn border(&mut self, left: &Line, right: &Line, corner: usize) {
        let glyphs = self.frame.look.glyphs;
        let edge = self.edge();
        let rule = |cells: usize| glyphs.rule.repeat(cells);
        let right = right.clone().cut(self.width.saturating_sub(8));
        let ends = 6 + right.width() + if right.spans.is_empty() { 0 } else { 3 };
        let left = left.clone().cut(self.width.saturating_sub(ends));
        let mut line = Line::of(glyphs.corners[corner], edge).with(rule(1), edge);
        if !left.spans.is_empty() {
            line = line.with(" ", edge).joined(left).with(" ", edge);
        }
        let mut tail = Line::new();
        if !right.spans.is_empty() {
            tail = Line::of(" ", edge).joined(right).with(" ", edge).with(rule(1), edge);
        }
        tail = tail.with(glyphs.corners[corner + 1], edge);
        let fill = self.width.saturating_sub(line.width() + tail.width());
        line = line.with(rule(fill), edge).joined(tail);
        self.drawn.lines.push(line);
    }

    fn edge(&self) -> Role {
        match self.frame.holds {
            Holds::Keys => Role::Waiting,
            Holds::Nothing => Role::Dim,
        }
    }
}
