//! Closing and stopping: Esc closes the innermost element, Ctrl+C stops and then quits, a retry is sent early.

use super::turn::{again, stopping};
use super::{card, select};
use crate::agent::port::Op;
use crate::frontend::protocol::ClientRequest;
use crate::tui::keys::{Action, Context, Move};
use crate::tui::model::{ARMED_MS, Activity, Focus, GOODBYE_MS, Model, RetryState, Stop};
use crate::tui::msg::Cmd;

/// Closes the innermost element; with nothing open, interrupts.
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
        model.composer.touched(model.now_ms);
        let back = model.keymap.shown(Context::Composer, Action::Move(Move::Up));
        model.flash(&format!("cleared, {back} restores it  {again}"));
    }
    model.armed_until = Some(model.now_ms + ARMED_MS);
}

/// Interrupts a turn whose beginning was not reported yet. The owner ignores this if nothing runs.
fn stop_beginning(cmds: &mut Vec<Cmd>) {
    cmds.push(Cmd::Send(ClientRequest::Op(Op::Interrupt)));
}

fn stop(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(turn) = &mut model.turn {
        turn.stop = Stop::Asked;
        cmds.push(Cmd::Send(ClientRequest::Op(Op::Interrupt)));
    }
    if model.shell == Activity::Running {
        cmds.push(Cmd::Send(ClientRequest::StopShell));
    }
}

pub fn retry_now(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(retry) = &mut model.retry
        && retry.state == RetryState::Counting
    {
        retry.state = RetryState::Sent;
        cmds.push(Cmd::Send(ClientRequest::Op(Op::RetryNow)));
    }
}
