//! What the session's owner says outside of a turn's events.

use super::batch;
use super::event::{begin_turn, end_turn, no_wait, user_cells};
use super::stop;
use super::{complete, help, inbox, leave, login, pick, rule};
use crate::frontend::protocol::{ServerMessage, Tone};
use crate::message::{AssistantMessage, CallId, Message, PartKind, UserPart};
use crate::tui::cells::{Answer, CallRow, Cell, CellKind, ShellCell, Thinking};
use crate::tui::model::{Activity, Known, Model};
use crate::tui::msg::Cmd;

pub fn take(model: &mut Model, notice: ServerMessage, cmds: &mut Vec<Cmd>) {
    match notice {
        ServerMessage::Header(header) => model.header = Some(header),
        ServerMessage::Transcript { messages } => transcript(model, &messages),
        ServerMessage::Draft { text } => {
            if model.composer.is_empty() {
                model.composer.editor.replace(&text);
            }
        }
        ServerMessage::Refused { text, reason } => refused(model, &text, &reason),
        ServerMessage::Inputs { lines } => model.composer.recall(&lines),
        ServerMessage::Earlier { lines } => pick::tell_earlier(model, lines),
        ServerMessage::Known { commands, tools } => {
            let sessions = std::mem::take(&mut model.known.sessions);
            model.known = Known { commands, tools, sessions };
            complete::renew(model);
        }
        ServerMessage::Files { paths } => complete::files(model, paths),
        ServerMessage::Sessions { sessions } => pick::tell_sessions(model, sessions),
        ServerMessage::PickService { services, why } => login::services(model, services, why),
        ServerMessage::LoginTried { service, outcome } => login::tried(model, &service, outcome),
        ServerMessage::PickModel { models, text: _ } => login::models(model, models),
        ServerMessage::PickSession { query } => pick::sessions(model, &query, cmds),
        ServerMessage::Preview { session, messages } => pick::tell_preview(model, session, &messages, cmds),
        ServerMessage::Elsewhere { count } => {
            model.elsewhere = count;
            inbox::renew(model, cmds);
        }
        ServerMessage::Inbox { lines } => inbox::tell(model, lines, cmds),
        ServerMessage::Request { request } => inbox::tell_request(model, request, cmds),
        ServerMessage::RuleDraft { request, text, check } => rule::drafted(model, &request, &text, check),
        ServerMessage::RuleChecked { text, check } => rule::checked(model, &text, &check, cmds),
        ServerMessage::Entered => pick::entered(model),
        ServerMessage::TurnBegan => begin_turn(model),
        ServerMessage::Idle => {
            end_turn(model);
            model.cards.undecide();
        }
        ServerMessage::Keys { filter } => help::open(model, &filter),
        ServerMessage::Local { title, text, tone } => {
            inbox::overhear(model, &text);
            model.transcript.push(Cell::new(CellKind::Local { title, text, tone }));
        }
        ServerMessage::ShellBegan { command } => {
            model.shell = Activity::Running;
            let shell = ShellCell::running(command, model.now_ms);
            model.transcript.push(Cell::new(CellKind::Shell(shell)));
        }
        ServerMessage::ShellOutput { text } => {
            if let Some(shell) = running_shell(model) {
                shell.push(&text);
            }
        }
        ServerMessage::ShellEnded { outcome, took } => {
            if let Some(shell) = running_shell(model) {
                shell.end(outcome, took);
            }
            model.shell = Activity::Idle;
            stop::stopped(model);
        }
        ServerMessage::Waiting { requests } => {
            model.cards.replace(requests);
            batch::name(model);
            if model.cards.is_empty() {
                no_wait(model);
            }
        }
        ServerMessage::Goodbye { lines } => {
            model.goodbye = lines;
            leave(model, cmds);
        }
    }
}

/// A prompt that waited in the queue, or was just sent, comes back.
fn refused(model: &mut Model, text: &str, reason: &str) {
    if let Some(at) = model.queue.iter().rposition(|queued| queued.trim() == text.trim()) {
        model.queue.remove(at);
    }
    let mut told = format!("Not sent: {reason}.");
    if model.composer.is_empty() {
        model.composer.editor.replace(text);
        model.composer.touched(model.now_ms);
    } else {
        told.push_str(" It is among the lines that you entered before.");
    }
    let title = "prompt".to_owned();
    model.transcript.push(Cell::new(CellKind::Local { title, text: told, tone: Tone::Warning }));
}

fn running_shell(model: &mut Model) -> Option<&mut ShellCell> {
    let cell =
        model.transcript.newest_mut(|kind| matches!(kind, CellKind::Shell(shell) if shell.is_running()))?;
    if let CellKind::Shell(shell) = &mut cell.kind { Some(shell) } else { None }
}

/// The conversation so far, in place of what is shown.
pub fn transcript(model: &mut Model, messages: &[Message]) {
    for message in messages {
        if let Message::User { parts } = message {
            for part in parts {
                if let UserPart::Text { text } = part {
                    model.composer.remember(text);
                }
            }
        }
    }
    model.transcript.replace(cells_of(messages));
    batch::name(model);
    model.last_answer = None;
}

/// Messages as they stand in a transcript.
pub fn cells_of(messages: &[Message]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for message in messages {
        match message {
            Message::User { parts } => cells.extend(user_cells(parts)),
            Message::Assistant(reply) => cells.extend(reply_cells(reply)),
            Message::ToolReturns { returns } => {
                for returned in returns {
                    let row = cells.iter_mut().rev().find_map(|cell| row_of(cell, &returned.call));
                    if let Some(row) = row {
                        row.finish(returned, None);
                    }
                }
            }
        }
    }
    cells
}

fn row_of<'a>(cell: &'a mut Cell, call: &CallId) -> Option<&'a mut CallRow> {
    if let CellKind::Call(row) = &mut cell.kind
        && row.id == *call
    {
        Some(row)
    } else {
        None
    }
}

fn reply_cells(reply: &AssistantMessage) -> Vec<Cell> {
    let cell = |kind: &PartKind| match kind {
        PartKind::Text { text } if text.trim().is_empty() => None,
        PartKind::Text { text } => Some(CellKind::Answer(Box::new(Answer::committed(text.clone())))),
        PartKind::Thinking { text } if text.trim().is_empty() => None,
        PartKind::Thinking { text } => Some(CellKind::Thinking(Thinking::committed(text))),
        PartKind::ToolCall(call) => Some(CellKind::Call(Box::new(CallRow::new(call)))),
        PartKind::Native => None,
    };
    reply.parts.iter().filter_map(|part| cell(&part.kind)).map(Cell::new).collect()
}
