//! The screen as a function of the model: header, pane or panel, banner, queue, composer, status. Called by the shell
//! for every frame, after `update` has laid the pane out.

mod banner;
mod composer;
mod header;
mod home;
mod marks;
mod popup;
mod side_panel;
mod status;

use std::ops::Range;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Position;
use ratatui_core::style::Style;

use self::marks::Marks;
use super::cells::CellKind;
use super::find;
use super::keys::{Action, Context};
use super::line::Line;
use super::link::{Link, LinkedCells};
use super::model::{Focus, LEAST_COLUMNS, LEAST_ROWS, Model};
use super::theme::{Role, Theme};
use super::transcript::{PILL_TO_EDGE, Row};
use crate::frontend::Lifecycle;
use crate::stdx::text::is_plain;

/// The results of painting besides the cells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PaintResult {
    pub cursor: Option<Position>,
    /// The cells with links.
    pub linked: Vec<LinkedCells>,
}

/// Draws the whole screen into a blank buffer.
pub fn paint(model: &Model, theme: &Theme, buffer: &mut Buffer) -> PaintResult {
    let columns = usize::from(buffer.area.width);
    let mut paint = LinePainter { buffer, theme, columns, linked: Vec::new() };
    let cursor = draw(&mut paint, model);
    let position = |(row, column): (usize, usize)| {
        let column = column.min(columns.saturating_sub(1));
        Position { x: cell(column), y: cell(row) }
    };
    PaintResult { cursor: cursor.map(position), linked: paint.linked }
}

/// Draws all parts of the screen; returns the cursor's place.
fn draw(paint: &mut LinePainter<'_>, model: &Model) -> Option<(usize, usize)> {
    let area = paint.buffer.area;
    let rows = usize::from(area.height);
    if area.width < LEAST_COLUMNS || area.height < LEAST_ROWS {
        let key = model.keymap.key_label(Context::Global, Action::Interrupt);
        let text = format!("too small, {key} quits ({LEAST_COLUMNS}x{LEAST_ROWS} needed)");
        paint.line(0, 0, &Line::of(text, Role::Text));
        return None;
    }
    let areas = model.areas();
    // The terminal may have changed its size before the model receives the event.
    let below = areas.found + areas.banner + areas.queue + areas.composer + 2;
    let pane = rows.saturating_sub(2 + below);
    paint.line(0, 0, &header::line(model));
    paint.line(1, 0, &Line::of(model.glyphs.rule.repeat(paint.columns), Role::Dim));
    let mut cursor = self::pane(paint, model, pane);
    let panel = side_panel::lines(model, pane);
    let edge = model.pane_columns();
    paint.lines(2, edge, &panel);
    let popup = popup::lines(model, pane);
    paint.lines(2 + pane - popup.len().min(pane), 0, &popup);
    let mut above = Vec::new();
    if areas.found > 0 {
        above.push(find::draw::elsewhere(model));
    }
    above.extend(banner::lines(model, areas.banner));
    above.extend(composer::queue(model, areas.queue));
    paint.lines(2 + pane, 0, &above);
    let row = rows.saturating_sub(areas.composer + 2);
    let rule = match &model.find {
        Some(find) => find::draw::rule(model, find),
        None => header::rule(model),
    };
    paint.line(row, 0, &rule);
    let flash = header::flash_above_rule(model);
    for (at, line) in flash.iter().enumerate() {
        // Over the content there, for the few seconds that it lasts.
        paint.line(row.saturating_sub(flash.len() - at).max(2), 0, line);
    }
    if !panel.is_empty() {
        let [above, below] = model.glyphs.tee_ends;
        paint.line(1, edge, &Line::of(above, Role::Dim));
        paint.line(row, edge, &Line::of(below, Role::Dim));
    }
    if model.panel.is_none() && model.find.is_none() {
        pill(paint, model, row);
    }
    let place = composer::draw(paint, model, row + 1, areas.composer);
    paint.line(rows - 1, 0, &status::line(model));
    if model.focus == Focus::Composer && model.panel.is_none() {
        cursor = match &model.find {
            Some(find) => find::draw::cursor(model, find).map(|column| (row, column)),
            None => Some(place),
        };
    }
    cursor.filter(|_| model.life == Lifecycle::Open)
}

/// Draws the transcript or what replaces it; returns the cursor's place if it is inside.
fn pane(paint: &mut LinePainter<'_>, model: &Model, rows: usize) -> Option<(usize, usize)> {
    if let Some(panel) = &model.panel {
        let screen = model.screen(rows);
        paint.lines(2, 0, &panel.state().draw(&screen));
        return panel.state().cursor(&screen).map(|(row, column)| (2 + row, column));
    }
    if model.transcript.is_empty() && model.cards.current().is_none() {
        let mut home = home::lines(model);
        home.truncate(rows);
        paint.lines(2, 0, &home);
        return None;
    }
    let mut cursor = None;
    let mut last = 0;
    let marks = Marks::of(model);
    for (row, shown) in model.transcript.rows().take(rows).enumerate() {
        match shown {
            Row::Blank => {}
            Row::Text(cell, at, line) => paint.line(2 + row, 0, &marks.line(cell, at, line)),
            Row::Card(index, line) => {
                paint.line(2 + row, 0, line);
                if let Some(at) = model.card_view.cursor.filter(|at| at.row == index) {
                    cursor = Some((2 + row, at.column));
                }
            }
        }
        last = row;
    }
    live_mark(paint, model, 2 + last);
    cursor
}

/// Draws a block after the last word of a streaming answer.
fn live_mark(paint: &mut LinePainter<'_>, model: &Model, row: usize) {
    let live = model
        .transcript
        .cells()
        .last()
        .is_some_and(|cell| matches!(&cell.kind, CellKind::Answer(answer) if answer.is_live()));
    if !(live && model.transcript.follows() && model.cards.current().is_none()) {
        return;
    }
    let width = model.transcript.rows().last().map_or(0, |shown| match shown {
        Row::Text(_, _, line) => line.width() - line.copied.padding.min(line.width()),
        Row::Blank | Row::Card(..) => 0,
    });
    if width > 0 && width < paint.columns {
        paint.line(row, width, &Line::of(model.glyphs.cursor, Role::Answer));
    }
}

/// Draws the amount of new text below while the user reads above, on the rule below the text.
fn pill(paint: &mut LinePainter<'_>, model: &Model, row: usize) {
    let bottom = model.keymap.key_label(Context::Global, Action::Bottom);
    let Some(text) = model.transcript.pill(model.glyphs, &bottom) else { return };
    let line = Line::of(text, Role::Waiting);
    let column = model.pane_columns().saturating_sub(line.width() + PILL_TO_EDGE);
    paint.line(row, column, &line);
}

/// The target and colours of drawn lines.
struct LinePainter<'a> {
    buffer: &'a mut Buffer,
    theme: &'a Theme,
    columns: usize,
    linked: Vec<LinkedCells>,
}

impl LinePainter<'_> {
    /// Draws lines one below the other, each as [`LinePainter::line`] does.
    fn lines(&mut self, row: usize, column: usize, lines: &[Line]) {
        for (at, line) in lines.iter().enumerate() {
            self.line(row + at, column, line);
        }
    }

    /// Draws one line from a column on, cut at the right edge.
    fn line(&mut self, row: usize, column: usize, line: &Line) {
        if row >= usize::from(self.buffer.area.height) {
            return;
        }
        let mut at = column;
        for span in &line.spans {
            let room = self.columns.saturating_sub(at);
            if room == 0 {
                break;
            }
            let style = self.theme.style(span.style);
            let end = self.span(row, at, span.text(), room, style);
            self.lead(row, at, end, span.link());
            at = end;
        }
    }

    /// Draws one piece of a line in at most `room` cells; returns the column after it.
    fn span(&mut self, row: usize, column: usize, text: &str, room: usize, style: Style) -> usize {
        if !is_plain(text) {
            let (x, _) = self.buffer.set_stringn(cell(column), cell(row), text, room, style);
            return usize::from(x);
        }
        let mut at = column;
        for c in text.chars().take(room) {
            if let Some(cell) = self.buffer.cell_mut(Position { x: cell(at), y: cell(row) }) {
                cell.set_char(c).set_style(style);
            }
            at += 1;
        }
        at
    }

    /// Sets the link of cells; the last drawing wins.
    fn lead(&mut self, row: usize, from: usize, to: usize, link: Option<&Link>) {
        let (row, columns) = (cell(row), cell(from)..cell(to));
        let under = |cells: &LinkedCells| {
            cells.row == row && cells.columns.start < columns.end && columns.start < cells.columns.end
        };
        while let Some(at) = self.linked.iter().position(under) {
            let old = self.linked.swap_remove(at);
            let left = outside(&old.columns, &columns).into_iter().filter(|range| !range.is_empty());
            let left = left.map(|columns| LinkedCells { columns, ..old.clone() });
            self.linked.extend(left);
        }
        if let Some(link) = link
            && !columns.is_empty()
        {
            self.linked.push(LinkedCells { row, columns, link: link.clone() });
        }
    }
}

/// Returns the two parts of a range outside another.
fn outside(range: &Range<u16>, other: &Range<u16>) -> [Range<u16>; 2] {
    [range.start..range.end.min(other.start), range.start.max(other.end)..range.end]
}

/// Converts to a terminal coordinate.
fn cell(at: usize) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX)
}
