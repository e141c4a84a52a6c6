//! Closing and stopping: Esc closes the innermost element, Ctrl+C stops and then quits, a retry is sent early.

use super::turn::{again, stopping};
use super::{card, select};
use crate::agent::port::Op;
use crate::frontend::protocol::ClientRequest;
use crate::frontend::{ARMED_MS, GOODBYE_MS};
use crate::tui::keys::{Action, Context, Move};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;

/// How soon the second Esc must follow the first, in milliseconds.
const TWICE_MS: u64 = 600;

/// How long after a stop Esc does not begin to go back.
const AFTER_STOP_MS: u64 = 500;

/// Closes the innermost element; with nothing open, interrupts; twice with nothing to stop, offers to go back.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.find.is_some() && model.focus == Focus::Composer {
        model.find = None;
    } else if model.completion.is_open() {
        model.completion.dismiss();
    } else if model.focus == Focus::Transcript {
        select::escape(model);
    } else if model.focus == Focus::Card {
        card::escape(model, cmds);
    } else if model.runs() {
        stop(model, cmds);
    } else {
        stop_beginning(cmds);
        model.flash = None;
        model.transcript.follow();
        rewind(model, cmds);
    }
}

/// Esc twice with nothing to close, to stop or to lose: lists the prompts that the user can go back to. Not right after a
/// stop, where a second Esc is meant for what ran.
fn rewind(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let stopped_now = model.stopped_ms.is_some_and(|at| model.now_ms < at + AFTER_STOP_MS);
    let asks = model.rewind_until.take().is_some_and(|until| model.now_ms <= until);
    if !model.composer.is_empty() || stopped_now {
        return;
    }
    if asks {
        cmds.push(Cmd::Send(ClientRequest::Line { text: "/rewind".to_owned() }));
    } else {
        model.rewind_until = Some(model.now_ms + TWICE_MS);
    }
}

/// Ctrl+C: stops what runs, or else clears the draft into the history; twice, quits.
pub fn interrupt(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.armed_until.is_some() {
        return model.close(GOODBYE_MS, cmds);
    }
    let again = again(model);
    if model.runs() {
        stop(model, cmds);
        model.flash(&stopping(&again));
    } else if model.composer.is_empty() {
        stop_beginning(cmds);
        model.flash(&again);
    } else {
        let text = model.composer.take();
        cmds.push(Cmd::Send(ClientRequest::Remember { text }));
        model.composer.on_edit(model.now_ms);
        let back = model.keymap.key_label(Context::Composer, Action::Move(Move::Up));
        model.flash(&format!("cleared, {back} restores it  {again}"));
    }
    model.armed_until = Some(model.now_ms + ARMED_MS);
}

/// Interrupts a turn whose beginning was not reported yet. The owner ignores this if nothing runs.
fn stop_beginning(cmds: &mut Vec<Cmd>) {
    cmds.push(Cmd::Send(ClientRequest::Op(Op::Interrupt)));
}

fn stop(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.stopped_ms = Some(model.now_ms);
    if let Some(turn) = &mut model.turn {
        turn.stop_asked = true;
        cmds.push(Cmd::Send(ClientRequest::Op(Op::Interrupt)));
    }
    if model.shell_runs {
        cmds.push(Cmd::Send(ClientRequest::StopShell));
    }
}

pub fn retry_now(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(retry) = &mut model.retry
        && !retry.sent
    {
        retry.sent = true;
        cmds.push(Cmd::Send(ClientRequest::Op(Op::RetryNow)));
    }
}
