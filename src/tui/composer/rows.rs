//! The layout of an editor's text on the screen: rows of cells, the cursor position, moves up and down.
//!
//! Text is sanitized for display here and only here. Called by `update` (moves) and `view` (drawing).

use std::ops::Range;

use super::editor::Editor;
use super::item::Item;
use crate::stdx::text::{sanitize_line, truncate};
use crate::tui::line::{Line, Span, cells};
use crate::tui::theme::Role;

/// A run of invisible characters is one grapheme and long when made visible; it is cut to this many cells.
const WIDEST: usize = 8;

/// A position on the screen, in rows and cells from the editor's top left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub row: usize,
    pub column: usize,
}

/// An editor's text broken into rows of a width.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    rows: Vec<Range<usize>>,
    pub cursor: Position,
}

impl Rows {
    pub fn of(editor: &Editor, width: usize) -> Self {
        let rows = rows(editor.items(), width.max(2));
        let row = rows.iter().rposition(|row| row.start <= editor.cursor()).unwrap_or(0);
        let before = &editor.items()[rows[row].start..editor.cursor()];
        let column = before.iter().map(item_cells).sum();
        Self { rows, cursor: Position { row, column } }
    }

    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Returns the row as drawn.
    pub fn line(&self, editor: &Editor, row: usize) -> Line {
        let mut line = Line::new();
        let Some(row) = self.rows.get(row) else { return line };
        for item in &editor.items()[row.clone()] {
            line.push(item_span(item));
        }
        line
    }
}

impl Editor {
    /// Moves the cursor one row up; returns whether there was one.
    pub fn up(&mut self, width: usize) -> bool {
        let rows = Rows::of(self, width);
        match rows.cursor.row.checked_sub(1) {
            Some(row) => self.go_to_row(&rows, row),
            None => false,
        }
    }

    /// Moves the cursor one row down; returns whether there was one.
    pub fn down(&mut self, width: usize) -> bool {
        let rows = Rows::of(self, width);
        if rows.cursor.row + 1 < rows.rows.len() { self.go_to_row(&rows, rows.cursor.row + 1) } else { false }
    }

    /// Moves the cursor to the item at a screen position, or the nearest one.
    pub fn go_to(&mut self, width: usize, place: Position) {
        let rows = Rows::of(self, width);
        self.goal = Some(place.column);
        self.go_to_row(&rows, place.row.min(rows.height().saturating_sub(1)));
        self.goal = None;
    }

    fn go_to_row(&mut self, rows: &Rows, row: usize) -> bool {
        let goal = self.goal.unwrap_or(rows.cursor.column);
        let soft = rows.rows.get(row + 1).is_some_and(|next| next.start == rows.rows[row].end);
        let Range { start: from, end: to } = rows.rows[row].clone();
        let mut column = 0;
        let mut at = from;
        while at < to {
            column += item_cells(&self.items()[at]);
            if column > goal {
                break;
            }
            at += 1;
        }
        // The end of a wrapped row is the start of the next one; stay in this one.
        if soft && at == to && to > from {
            at -= 1;
        }
        self.go_keeping_goal(at);
        self.goal = Some(goal);
        true
    }
}

fn rows(items: &[Item], width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    let mut from = 0;
    let mut used = 0;
    for (at, item) in items.iter().enumerate() {
        if item.is_break() {
            rows.push(from..at);
            from = at + 1;
            used = 0;
            continue;
        }
        let needed = item_cells(item);
        if used + needed > width && at > from {
            rows.push(from..at);
            from = at;
            used = 0;
        }
        used += needed;
    }
    rows.push(from..items.len());
    rows
}

fn item_cells(item: &Item) -> usize {
    match item {
        Item::Grapheme(text) if text.len() == 1 && !text.as_bytes()[0].is_ascii_control() => 1,
        Item::Grapheme(_) | Item::Chip(_) => cells(item_span(item).text()),
    }
}

fn item_span(item: &Item) -> Span {
    match item {
        Item::Grapheme(text) => Span::new(truncate(&sanitize_line(text), WIDEST), Role::Text),
        Item::Chip(chip) => Span::new(chip.label(), Role::Tool),
    }
}
