//! Plain text that grows: whole lines are wrapped once, only the last one again and again.
//!
//! Bounded: beyond its limit the oldest text is dropped, and its lines are counted. Used for thinking and for
//! command output.

use super::sgr::Sgr;
use crate::stdx::ansi::bare;
use crate::stdx::text::expand_tabs;
use crate::tui::copied::exactly;
use crate::tui::line::{Line, Margin, Span, TextStyle, wrap_pieces, wrap_spans};
use crate::tui::theme::Role;

/// The most bytes kept.
const LIMIT: usize = 256 * 1024;

/// How lines too long for the width are broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapMode {
    /// Between words, for prose.
    Words,
    /// Anywhere, for output in which spaces matter.
    Anywhere,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    breaks: WrapMode,
    role: Role,
    /// The colours after `done`.
    colours: Sgr,
    source: String,
    /// The number of lines dropped at the start.
    pub dropped: usize,
    width: usize,
    done: Vec<Line>,
    /// Bytes of `source` that `done` shows.
    done_to: usize,
    open: Vec<Line>,
}

impl Flow {
    pub fn new(breaks: WrapMode, role: Role) -> Self {
        Self {
            breaks,
            role,
            colours: Sgr::new(role),
            source: String::new(),
            dropped: 0,
            width: 0,
            done: Vec::new(),
            done_to: 0,
            open: Vec::new(),
        }
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    pub fn push(&mut self, piece: &str) {
        self.source.push_str(piece);
        if self.source.len() > LIMIT {
            self.drop_oldest();
        }
    }

    /// Drops the oldest text down to half the limit, so that this happens rarely.
    fn drop_oldest(&mut self) {
        let half = self.source.ceil_char_boundary(self.source.len() - LIMIT / 2);
        let (before, after) = self.source.split_at(half);
        let cut = half + after.find('\n').map_or(0, |at| at + 1);
        self.dropped += before.lines().count();
        self.source = self.source.split_off(cut);
        self.width = 0;
    }

    /// Lays out all lines at a width, without a margin.
    pub fn refresh(&mut self, width: usize) {
        if width != self.width {
            self.width = width;
            self.colours = Sgr::new(self.role);
            self.done.clear();
            self.done_to = 0;
        }
        let rest = self.source.split_off(self.done_to);
        let whole = rest.rfind('\n').map_or(0, |at| at + 1);
        let (lines, open) = rest.split_at(whole);
        let mut colours = self.colours;
        for line in lines.split_inclusive('\n') {
            let wrapped = self.wrap(line, &mut colours);
            self.done.extend(wrapped);
        }
        self.colours = colours;
        self.open = if open.is_empty() { Vec::new() } else { self.wrap(open, &mut colours) };
        self.done_to += whole;
        self.source.push_str(&rest);
    }

    fn wrap(&self, line: &str, colours: &mut Sgr) -> Vec<Line> {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        match self.breaks {
            WrapMode::Words => {
                let span = Span::styled(expand_tabs(line), TextStyle::of(self.role));
                wrap_spans(&[span], self.width, &Margin::default())
            }
            WrapMode::Anywhere => {
                exactly(wrap_pieces(colours.line(line), self.width, &Margin::default()), &bare(line))
            }
        }
    }

    pub fn height(&self) -> usize {
        self.done.len() + self.open.len()
    }

    /// Returns the last `count` lines.
    pub fn tail(&self, count: usize) -> impl Iterator<Item = &Line> {
        self.done.iter().chain(&self.open).skip(self.height().saturating_sub(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_flows_and_stays_bounded() {
        let mut flow = Flow::new(WrapMode::Words, Role::Dim);
        let tail = |flow: &mut Flow, width, count| {
            flow.refresh(width);
            flow.tail(count).map(Line::text).collect::<Vec<_>>()
        };
        flow.push("one two");
        assert_eq!(tail(&mut flow, 4, 9), ["one", "two"]);
        flow.push(" three\nfour\n");
        assert_eq!(tail(&mut flow, 20, 9), ["one two three", "four"]);
        flow.push("\nfi");
        assert_eq!(tail(&mut flow, 20, 2), ["", "fi"]);
        flow.push(&"a line of output\n".repeat(40_000));
        assert!(flow.source().len() <= LIMIT && flow.dropped > 20_000);
        assert_eq!(tail(&mut flow, 20, 1), ["a line of output"]);
    }
}
