//! The composer's rows and the queue above it.

use super::LinePainter;
use crate::stdx::text::one_line_summary;
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, Context};
use crate::tui::line::Line;
use crate::tui::model::{Focus, Model};
use crate::tui::theme::Role;

/// Returns the lines queued while the turn runs, the newest ones if there are many.
pub fn queue(model: &Model, rows: usize) -> Vec<Line> {
    let width = usize::from(model.columns);
    let from = model.queue.len().saturating_sub(rows);
    let hint = model.keymap.around("", Context::Composer, Action::Unqueue, " edits it ");
    let mut lines = Vec::new();
    for (index, text) in model.queue.iter().enumerate().skip(from) {
        let last = index + 1 == model.queue.len();
        let hint = if last { Line::of(&hint, Role::Dim) } else { Line::new() };
        let before =
            if index == from && from > 0 { format!("   queued (+{from}): ") } else { "   queued: ".into() };
        let left = Line::of(before, Role::Dim).with(one_line_summary(text, width), Role::Text);
        lines.push(Line::spread(left, hint, width));
    }
    lines
}

/// Draws the composer's rows from `top` on; returns the cursor's place on the screen.
pub fn draw(paint: &mut LinePainter<'_>, model: &Model, top: usize, height: usize) -> (usize, usize) {
    let editor = &model.composer.editor;
    let rows = Rows::of(editor, model.composer_width());
    let from = (rows.cursor.row + 1).saturating_sub(height);
    let role = match model.focus {
        Focus::Composer => Role::User,
        Focus::Card | Focus::Transcript => Role::Dim,
    };
    for row in 0..height.min(rows.height() - from) {
        let prompt = if from + row == 0 { " > " } else { "   " };
        let line = Line::of(prompt, role).joined(rows.line(editor, from + row));
        paint.line(top + row, 0, &line);
    }
    (top + rows.cursor.row - from, 3 + rows.cursor.column)
}
