//! The course of a turn: its phase, begin and end, and its notes in the transcript.

use crate::tui::cells::{Cell, CellKind};
use crate::tui::keys::{Action, Context};
use crate::tui::model::{Model, Phase, Turn};

pub fn note(model: &mut Model, text: &str) {
    model.transcript.push(Cell::new(CellKind::Note { text: text.to_owned(), more: String::new() }));
}

pub fn phase(model: &mut Model, phase: Phase) {
    if let Some(turn) = &mut model.turn {
        turn.phase = phase;
    }
}

/// Sets the phase: while no call runs, the turn waits for the model or for the user.
pub fn rest(model: &mut Model) {
    if model.cards.is_empty() {
        no_wait(model);
    }
    let waits = !model.cards.is_empty() || model.cap.is_some();
    if let Some(turn) = &mut model.turn {
        turn.phase = match (turn.running, waits) {
            (0, true) => Phase::Paused,
            (0, false) => Phase::Asking,
            (_, _) => Phase::Tools,
        };
    }
}

/// Keeps the shown parts of the reply: they can no longer be discarded.
pub fn keep(model: &mut Model) {
    for cell in model.transcript.fresh_mut() {
        cell.provisional = false;
    }
}

/// Ends all live parts of the reply.
pub fn end_live(model: &mut Model) {
    let now = model.now_ms;
    for cell in model.transcript.fresh_mut() {
        if let CellKind::Answer(answer) = &mut cell.kind
            && answer.is_live()
        {
            answer.end();
            cell.touch();
        } else if let CellKind::Thinking(thinking) = &mut cell.kind
            && thinking.is_live()
        {
            thinking.commit(None, now);
            cell.touch();
        }
    }
}

/// Replaces notes about a waiting turn, which no longer hold.
pub fn no_wait(model: &mut Model) {
    let waits = |kind: &CellKind| matches!(kind, CellKind::Waits { .. });
    while let Some(cell) = model.transcript.newest_mut(waits) {
        cell.replace(CellKind::Note {
            text: "the turn waited for your decision".to_owned(),
            more: String::new(),
        });
    }
}

pub fn begin_turn(model: &mut Model) {
    no_wait(model);
    model.disarm();
    let now = model.now_ms;
    model.turn = Some(Turn { since_ms: now, last_event_ms: now, ..Turn::default() });
    model.retry = None;
}

/// Ends the turn, after any event that says so.
pub fn end_turn(model: &mut Model) {
    end_live(model);
    keep(model);
    model.transcript.retain(|cell| !matches!(cell.kind, CellKind::CallDraft(_)));
    for cell in model.transcript.fresh_mut() {
        if let CellKind::Call(row) = &mut cell.kind {
            row.end_preview();
            cell.touch();
        }
    }
    model.transcript.settle();
    model.turn = None;
    model.retry = None;
    model.cap = None;
    on_stop_end(model);
}

/// Shortens the flash once the stopped turn or command has ended: only the next effect of the key stays.
pub fn on_stop_end(model: &mut Model) {
    let again = again(model);
    if model.armed_until.is_some()
        && let Some((words, _)) = &mut model.flash
        && *words == stopping(&again)
    {
        *words = again;
    }
}

pub fn again(model: &Model) -> String {
    format!("{} again quits", model.keymap.key_label(Context::Global, Action::Interrupt))
}

pub fn stopping(again: &str) -> String {
    format!("stopping…  {again}")
}
