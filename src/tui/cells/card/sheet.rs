//! The sheet that cards and lists are drawn on: borders, sides, and shared parts.

use crate::stdx::text::size;
use crate::tui::bordered_box::edge;
use crate::tui::composer::Position;
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::screen::{CardDelay, CardFocus, Screen};
use crate::tui::theme::{Glyphs, Role};

/// Most lines of a folded body, unless two thirds of the pane are more.
pub const BODY: usize = 12;

/// The widest card, in cells.
pub const WIDEST: usize = 100;

/// Below this width a card has no sides.
pub const NARROW: usize = 60;

/// Below this height of the pane, reasons are shown on demand only.
pub const LOW: usize = 12;

/// The widest drawing of a [`CardDelay`], in cells.
const WAIT: usize = 5;

/// A card as lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CardLayout {
    pub lines: Vec<Line>,
    /// Lines of the body at which hunks of a diff begin.
    pub hunks: Vec<usize>,
    /// Width at which the body was laid out.
    pub body_width: usize,
    pub view: CardView,
}

/// The visible part of a card as last laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardView {
    /// Lines of the body: shown and total.
    pub body_room: usize,
    pub body_total: usize,
    /// The cursor in a text being written.
    pub cursor: Option<Position>,
    /// The position of a list's rows.
    pub list: ListView,
    /// Lines by which the pane beside a form can scroll.
    pub side_scroll: usize,
}

/// The drawn rows of a list: the card's line of the first one, its index, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ListView {
    pub line: usize,
    pub from: usize,
    pub count: usize,
}

/// A card being drawn, line by line.
pub struct Sheet<'a> {
    pub screen: &'a Screen<'a>,
    pub width: usize,
    /// Cells of text inside the sides.
    pub inner: usize,
    pub drawn: CardLayout,
}

impl<'a> Sheet<'a> {
    pub fn new(screen: &'a Screen<'a>, width: usize) -> Self {
        Self { screen, width, inner: inner(width), drawn: CardLayout::default() }
    }

    /// Converts a place inside the sides to cells of the card.
    pub fn place(&self, row: usize, column: usize) -> Position {
        let side = if self.width < NARROW { 1 } else { 2 };
        Position { row, column: side + column }
    }

    /// Adds one line of text between the sides.
    pub fn put(&mut self, line: Line) {
        let line = if self.width < NARROW {
            Line::of(" ", Role::Text).joined(line.cut(self.inner))
        } else {
            let side = self.screen.context.glyphs.side;
            let mut full = Line::of(side, self.edge()).with(" ", Role::Text).joined(line.cut(self.inner));
            full.pad_to(self.width - 1);
            full.with(side, self.edge())
        };
        self.drawn.lines.push(line);
    }

    /// Adds lines of text between the sides.
    pub fn put_all(&mut self, lines: impl IntoIterator<Item = Line>) {
        lines.into_iter().for_each(|line| self.put(line));
    }

    /// Adds a border with words in it; `corner` is the index of its left corner.
    pub fn border(&mut self, left: &Line, right: &Line, corner: usize) {
        let (left, right) = (left.clone(), right.clone());
        let line = edge(self.screen.context.glyphs, corner, left, right, self.width, self.edge());
        self.drawn.lines.push(line);
    }

    /// Adds the lower border with the keys in it, and at the right what the card waits for.
    pub fn end(&mut self, keys: &Line) {
        let [on, off] = self.screen.context.glyphs.bar;
        let right = match self.screen.delay {
            CardDelay::Nothing => Line::new(),
            CardDelay::Guard(percent) => {
                let full = (usize::try_from(percent).unwrap_or(100) * WAIT / 100).min(WAIT);
                Line::of(on.repeat(full), Role::Waiting).with(off.repeat(WAIT - full), Role::Dim)
            }
            CardDelay::Key(c) => Line::of(format!("{c}{}", self.screen.context.glyphs.still), Role::Waiting),
        };
        self.border(keys, &right, 2);
    }

    /// Returns the cells for the keys in the lower border.
    pub fn keys_room(&self) -> usize {
        let delay = match self.screen.delay {
            CardDelay::Nothing => 0,
            CardDelay::Guard(_) | CardDelay::Key(_) => WAIT + 3,
        };
        self.width.saturating_sub(6 + delay)
    }

    fn edge(&self) -> Role {
        match self.screen.focus {
            CardFocus::Keys | CardFocus::KeysByItself => Role::Waiting,
            CardFocus::Nothing => Role::Dim,
        }
    }
}

/// Returns the cells of text inside the sides of a card.
pub fn inner(width: usize) -> usize {
    width.saturating_sub(if width < NARROW { 2 } else { 4 })
}

/// Returns the mark of tainted arguments.
pub fn taint_mark(is_tainted: bool, glyphs: &Glyphs) -> Line {
    if is_tainted { Line::of(format!(" {}", glyphs.taint), Role::Waiting) } else { Line::new() }
}

/// Describes the hidden part.
pub fn hint(above: usize, below: usize, bytes: usize, keys: &str, width: usize) -> Line {
    let more = match (bytes, below) {
        (0, 0) => format!("end, {above} lines above"),
        (0, below) => format!("{below} more lines"),
        (bytes, _) => format!("{} more", size(bytes)),
    };
    let is_end = bytes == 0 && below == 0;
    let hint = if is_end || keys.is_empty() { format!("[{more}]") } else { format!("[{more}: {keys}]") };
    Line::spread(Line::new(), Line::of(hint, Role::Waiting), width)
}

/// Returns the advice for the last key.
pub fn advice(words: &str, width: usize) -> Vec<Line> {
    wrap_spans(&[Span::new(format!("! {words}"), Role::Waiting)], width, &Margin::default())
}
