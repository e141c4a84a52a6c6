//! Applies the owner's messages that are not events of a turn.

use std::collections::HashMap;
use std::sync::Arc;

use super::turn::{begin_turn, end_turn, no_wait, on_stop_end};
use super::{complete, panel, settled};
use crate::frontend::dialogue::Dialogue;
use crate::frontend::protocol::{ClientQuery, CommandLine, QueryAnswer, ServerMessage, Tone};
use crate::message::{CallId, Message, ToolCall, UserPart};
use crate::store::PastDecision;
use crate::tui::batch;
use crate::tui::cards::Card;
use crate::tui::cells::{Cell, CellKind, ShellCell, conversation};
use crate::tui::completion::CompletionSources;
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::panel::{Help, Panel};
use crate::tui::rule::{self, RuleForm};
use crate::tui::steps;

pub fn take(model: &mut Model, notice: ServerMessage, cmds: &mut Vec<Cmd>) {
    match notice {
        ServerMessage::Header(header) => model.header = Some(header),
        ServerMessage::Transcript { messages, decided } => transcript(model, &messages, decided),
        ServerMessage::Draft { text } => {
            if model.composer.is_empty() {
                model.composer.editor.replace(&text);
            }
        }
        ServerMessage::Refused { text, reason } => on_refusal(model, &text, &reason),
        ServerMessage::Inputs { lines } => model.composer.recall(&lines),
        ServerMessage::Known { commands, tools } => {
            let CompletionSources { sessions, suggested, .. } = std::mem::take(&mut model.known);
            model.known = CompletionSources { commands, tools, sessions, suggested };
            complete::renew(model);
        }
        ServerMessage::Offered { prompts, tools } => {
            let is_of_co = |command: &CommandLine| !command.name.contains(':');
            model.known.commands.retain(is_of_co);
            model.known.commands.extend(prompts);
            model.known.tools = tools;
            complete::renew(model);
        }
        ServerMessage::Recent { sessions } => complete::sessions(model, sessions),
        // The shell turns it into an input with its query.
        ServerMessage::Answer { .. } => {}
        ServerMessage::Services { services, why } => panel::services(model, services, why, cmds),
        ServerMessage::Models { models } => panel::models(model, models, cmds),
        ServerMessage::Servers { servers } => panel::servers(model, servers, cmds),
        ServerMessage::Sessions { sessions, query } => panel::sessions(model, sessions, &query, cmds),
        ServerMessage::Elsewhere { count } => {
            model.elsewhere = count;
            panel::tell(model, ServerMessage::Elsewhere { count }, cmds);
        }
        message @ (ServerMessage::LoginTried { .. }
        | ServerMessage::ModelsChanged { .. }
        | ServerMessage::ServersChanged { .. }) => panel::tell(model, message, cmds),
        ServerMessage::RuleSaved { request, file } => rule::keys::on_save(model, &request, file),
        // Its form has nothing left to do, and the next one begins anew.
        ServerMessage::RuleAllowsNothing { request } => {
            model.cards.find_mut(&request).into_iter().for_each(Card::end_rule);
        }
        ServerMessage::RuleNotSaved { request, why } => {
            rule::keys::tell(model, &request, |rule| rule.on_save_failure(why));
        }
        ServerMessage::Entered => on_session_change(model),
        ServerMessage::TurnBegan => begin_turn(model),
        ServerMessage::Idle => {
            end_turn(model);
            model.cards.undecide();
        }
        ServerMessage::Keys { filter } => panel::open(model, Panel::Help(Help::with_filter(&filter)), cmds),
        ServerMessage::Local { title, text, tone } => {
            if let Some(panel) = &mut model.panel {
                panel.state_mut().observe_message(&text);
            }
            model.transcript.push(Cell::new(CellKind::Local { title, text, tone }));
        }
        ServerMessage::ShellBegan { command, privacy } => {
            model.disarm();
            model.shell_runs = true;
            let shell = ShellCell::running(command, privacy, model.now_ms);
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
            model.shell_runs = false;
            on_stop_end(model);
        }
        ServerMessage::Waiting { requests } => {
            model.cards.replace(requests);
            batch::keys::name(model);
            if model.cards.is_empty() {
                no_wait(model);
            }
        }
        ServerMessage::Goodbye { lines } => {
            model.goodbye = lines;
            model.leave(cmds);
        }
    }
}

/// Applies the owner's answer to a query.
pub fn answer(model: &mut Model, query: ClientQuery, answer: QueryAnswer, cmds: &mut Vec<Cmd>) {
    match (query, answer) {
        (ClientQuery::Suggest { command, argument, .. }, QueryAnswer::Suggest { values }) => {
            complete::on_suggestions(model, command, argument, &values);
        }
        (_, QueryAnswer::Files { paths }) => complete::files(model, paths),
        (_, QueryAnswer::Sessions { sessions }) => complete::sessions(model, sessions),
        (ClientQuery::DraftRule { request }, QueryAnswer::DraftRule { widths }) => {
            rule::keys::tell(model, &request, |rule| rule.set_widths(widths));
        }
        (ClientQuery::DraftRule { request }, QueryAnswer::Failed) => {
            rule::keys::tell(model, &request, RuleForm::on_draft_failure);
        }
        (ClientQuery::CheckRule { text }, QueryAnswer::CheckRule { check }) => {
            rule::keys::on_check(model, &text, &check, cmds);
        }
        (query, answer) => {
            panel::with(model, cmds, |panel, cx| panel.answer(query, answer, cx));
        }
    }
}

/// Returns a refused prompt to the composer.
fn on_refusal(model: &mut Model, text: &str, reason: &str) {
    if let Some(at) = model.queue.iter().rposition(|queued| queued.trim() == text.trim()) {
        model.queue.remove(at);
    }
    let mut warning = format!("Not sent: {reason}.");
    if model.composer.is_empty() {
        model.composer.editor.replace(text);
        model.composer.on_edit(model.now_ms);
    } else {
        warning.push_str(" It is in the prompt history.");
    }
    let title = "prompt".to_owned();
    model.transcript.push(Cell::new(CellKind::Local { title, text: warning, tone: Tone::Warning }));
}

fn running_shell(model: &mut Model) -> Option<&mut ShellCell> {
    let cell =
        model.transcript.newest_mut(|kind| matches!(kind, CellKind::Shell(shell) if shell.is_running()))?;
    if let CellKind::Shell(shell) = &mut cell.kind { Some(shell) } else { None }
}

/// Replaces the transcript with the conversation so far.
fn transcript(model: &mut Model, messages: &[Arc<Message>], decided: Vec<PastDecision>) {
    let messages = || messages.iter().map(Arc::as_ref);
    for message in messages() {
        if let Message::User { parts } = message {
            for part in parts {
                if let UserPart::Text { text } = part {
                    model.composer.remember(text);
                }
            }
        }
    }
    let decided: HashMap<CallId, PastDecision> =
        decided.into_iter().map(|one| (one.call.clone(), one)).collect();
    let (now, zone) = (model.now(), model.clock.time_zone());
    let decision = |call: &ToolCall| Some(settled::past(call, decided.get(&call.id)?, now, zone));
    model.transcript.replace(conversation::cells(messages(), decision));
    model.steps = steps::of_messages(messages());
    batch::keys::name(model);
    model.last_answer = None;
}

/// Clears the state of the previous session.
fn on_session_change(model: &mut Model) {
    // The draft is stored with its session; here Up brings the text back.
    model.composer.leave();
    model.panel = None;
    model.focus = Focus::Composer;
    model.find = None;
    model.turn = None;
    model.retry = None;
    model.queue.clear();
    model.selection = Default::default();
    model.batch = Default::default();
    model.cards = Default::default();
    model.dialogue = Dialogue::default();
    model.flash = None;
    model.completion = Default::default();
    model.recent = None;
    transcript(model, &[], Vec::new());
}
