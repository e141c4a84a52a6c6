//! Marking and copying in the transcript, by keys. Copies are source text; the shell passes them to the terminal and
//! reports the result.

use super::Direction;
use crate::command::UNSANDBOXED;
use crate::stdx::text::sanitize;
use crate::tui::cells::Cell;
use crate::tui::keys::{Action, Nav, SelectKey};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::selection::{SelectedRange, SelectionUnit};
use crate::tui::transcript::TextPosition;

pub fn act(model: &mut Model, key: SelectKey, cmds: &mut Vec<Cmd>) {
    let marks = marks_lines(model);
    match key {
        SelectKey::ExtendUp if marks => extend(model, Direction::Up),
        SelectKey::ExtendDown if marks => extend(model, Direction::Down),
        SelectKey::Lines if marks => drop_mark(model),
        SelectKey::Lines | SelectKey::ExtendUp | SelectKey::ExtendDown => begin(model),
        SelectKey::Fold => fold(model, model.selection.at),
        SelectKey::Copy => copy(model, cmds),
        SelectKey::RunOutside => run_outside(model),
    }
}

/// Extends the marked lines, or else goes to another block.
pub fn step(model: &mut Model, to: Direction) {
    match to {
        _ if marks_lines(model) => extend(model, to),
        Direction::Up => go(model, model.selection.at.saturating_sub(1)),
        Direction::Down => go(model, model.selection.at + 1),
    }
}

/// Offers a failed command to the user, who sees all of it before sending it.
fn run_outside(model: &mut Model) {
    let cell = model.transcript.cells().get(model.selection.at);
    let Some(command) = cell.and_then(|cell| cell.kind.failed_command()).map(str::to_owned) else {
        return model.flash("only a command that failed can be run outside of the sandbox");
    };
    if !model.composer.is_empty() {
        return model.flash("the prompt holds text; send or clear it first");
    }
    model.composer.editor.replace(&format!("!{UNSANDBOXED} {command}"));
    model.composer.on_edit(model.now_ms);
    model.focus = Focus::Composer;
}

fn marks_lines(model: &Model) -> bool {
    model.selection.mark.is_some_and(|mark| mark.unit == SelectionUnit::Lines)
}

/// Focuses the transcript at the last block on the screen.
pub fn enter(model: &mut Model) {
    if model.transcript.is_empty() {
        model.focus = Focus::Composer;
        return;
    }
    model.selection.at = model.transcript.visible_cells().end.saturating_sub(1);
    model.focus = Focus::Transcript;
}

/// Esc: drops the mark, then returns the focus to the composer.
pub fn escape(model: &mut Model) {
    if model.selection.mark.take().is_none() {
        model.focus = Focus::Composer;
    }
}

pub fn drop_mark(model: &mut Model) {
    model.selection.mark = None;
}

/// Drops the mark at the first key that does not concern it.
pub fn before(model: &mut Model, action: Option<Action>) {
    let keeps = match action {
        Some(Action::Escape | Action::Nav(Nav::Up | Nav::Down)) => model.focus == Focus::Transcript,
        Some(Action::Select(_) | Action::Nav(_) | Action::Top | Action::Bottom | Action::Redraw) => true,
        Some(_) | None => false,
    };
    if !keeps {
        drop_mark(model);
    }
}

/// Restores the invariants that must hold after every message.
pub fn settle(model: &mut Model) {
    let shape = model.transcript.shape;
    let selection = &mut model.selection;
    if selection.mark.is_some_and(|mark| mark.shape != shape) {
        selection.mark = None;
        selection.press = None;
    }
    let Some(last) = model.transcript.cells().len().checked_sub(1) else {
        if model.focus == Focus::Transcript {
            model.focus = Focus::Composer;
        }
        return;
    };
    selection.at = selection.at.min(last);
}

fn go(model: &mut Model, cell: usize) {
    drop_mark(model);
    let cell = cell.min(model.transcript.cells().len().saturating_sub(1));
    model.selection.at = cell;
    let (context, rows) = (model.context(), model.areas().pane);
    let end = model.transcript.lines_of(cell, &context).min(rows).saturating_sub(1);
    model.transcript.reveal(cell, end, &context, rows);
    model.transcript.reveal(cell, 0, &context, rows);
}

/// Folds or unfolds one cell; what is above it keeps its place.
pub fn fold(model: &mut Model, cell: usize) {
    let context = model.context();
    if !model.transcript.cells().get(cell).is_some_and(Cell::can_fold) {
        return model.flash("nothing to fold here");
    }
    if model.selection.mark.is_some_and(|mark| mark.touches(cell)) {
        drop_mark(model);
    }
    model.transcript.hold();
    if let Some(cell) = model.transcript.cell_mut(cell) {
        cell.turn(&context);
    }
}

/// Begins to mark lines, at the block's first line on the screen.
fn begin(model: &mut Model) {
    let cell = model.selection.at;
    let line = model.transcript.seen_lines(cell).start;
    let position = TextPosition { cell, line, column: 0 };
    let shape = model.transcript.shape;
    model.selection.mark =
        Some(SelectedRange { anchor: position, head: position, unit: SelectionUnit::Lines, shape });
}

fn extend(model: &mut Model, to: Direction) {
    let (context, rows) = (model.context(), model.areas().pane);
    let Some(mut mark) = model.selection.mark else { return };
    let TextPosition { cell, line, .. } = mark.head;
    let lines = model.transcript.lines_of(cell, &context);
    let (cell, line) = match to {
        Direction::Up if line > 0 => (cell, line - 1),
        Direction::Up if cell == 0 => return,
        Direction::Up => (cell - 1, model.transcript.lines_of(cell - 1, &context).saturating_sub(1)),
        Direction::Down if line + 1 < lines => (cell, line + 1),
        Direction::Down if cell + 1 >= model.transcript.cells().len() => return,
        Direction::Down => (cell + 1, 0),
    };
    mark.head = TextPosition { cell, line, column: 0 };
    model.selection.mark = Some(mark);
    model.selection.at = cell;
    model.transcript.reveal(cell, line, &context, rows);
}

/// Copies the marked lines, or else the whole block.
fn copy(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.selection.mark.is_some() {
        copy_mark(model, cmds);
        return drop_mark(model);
    }
    let source = model.transcript.cells().get(model.selection.at).map(|cell| cell.source().into_owned());
    send(model, &source.unwrap_or_default(), cmds);
}

/// Copies the marked text.
pub fn copy_mark(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(mark) = model.selection.mark else { return };
    let context = model.context();
    let text = model.transcript.marked_text(mark.span(), &context);
    send(model, &text, cmds);
}

fn send(model: &mut Model, text: &str, cmds: &mut Vec<Cmd>) {
    let text = sanitize(text.trim_end_matches('\n')).into_owned();
    if text.is_empty() {
        return model.flash("no text here to copy");
    }
    cmds.push(Cmd::Copy { text });
}
