//! The owner's messages that are not events of a turn, as lines. Called by the state.

use std::sync::Arc;

use super::describe;
use super::state::Plain;
use crate::frontend::protocol::{
    Header, LoginReason, NEW_SESSION, Privacy, QueryAnswer, QueryId, ServerMessage, Tone,
};
use crate::frontend::{Lifecycle, sentences};
use crate::message::{Message, UserPart};
use crate::stdx::moment::duration;
use crate::stdx::text::one_line_summary;

impl Plain {
    pub(super) fn notice(&mut self, notice: ServerMessage) {
        match notice {
            ServerMessage::Header(header) => self.header(header),
            ServerMessage::Transcript { messages, decided: _ } => self.transcript(&messages),
            ServerMessage::Draft { text } => {
                let text = one_line_summary(&text, 300);
                self.page.line(&format!("Typed earlier and not sent: {text}"));
            }
            ServerMessage::Refused { text: _, reason } => {
                self.echoed = None;
                self.local("prompt", &format!("Not sent: {reason}."), Tone::Warning);
            }
            // This front end has no completion, no search and no previews beside a list.
            ServerMessage::Inputs { .. }
            | ServerMessage::Recent { .. }
            | ServerMessage::RuleSaved { .. }
            | ServerMessage::RuleNotSaved { .. }
            | ServerMessage::RuleAllowsNothing { .. }
            | ServerMessage::ModelsChanged { .. }
            | ServerMessage::ServersChanged { .. } => {}
            ServerMessage::Known { tools, .. } | ServerMessage::Offered { tools, .. } => self.tools = tools,
            ServerMessage::Elsewhere { count } => self.elsewhere(count),
            ServerMessage::Answer { id, answer } => self.on_answer(id, answer),
            ServerMessage::Services { why: LoginReason::Asked, .. } => {
                self.print_by_co("services", describe::LOGIN);
            }
            // The program asks on its first run, before this front end starts.
            ServerMessage::Services { why: LoginReason::First, .. } | ServerMessage::LoginTried { .. } => {}
            ServerMessage::Models { models } => {
                self.local("models", &describe::models(&models), Tone::Plain);
            }
            ServerMessage::Servers { servers } => {
                self.local("tool servers", &describe::servers(&servers), Tone::Plain);
            }
            ServerMessage::Sessions { sessions, query } => self.pick_session(sessions, &query),
            ServerMessage::Entered => self.on_session_change(),
            ServerMessage::Keys { filter: _ } => {
                self.print_by_co("keys of plain mode", describe::KEYS);
            }
            ServerMessage::TurnBegan => self.turn_runs = true,
            ServerMessage::Idle => self.idle(),
            ServerMessage::Local { title, text, tone } => {
                self.local(&title, &text, tone);
            }
            ServerMessage::ShellBegan { command, privacy } => {
                self.shell_runs = true;
                let kind = match privacy {
                    Privacy::Shared => "Command",
                    Privacy::Private => "Private command",
                };
                if !self.setup.echoes {
                    self.page.line(&format!("{kind}: {command}"));
                }
            }
            ServerMessage::ShellOutput { text } => self.page.flow(&text),
            ServerMessage::ShellEnded { outcome, took } => {
                self.shell_runs = false;
                self.page.line(&format!("Command ended: {outcome}, after {}.", duration(took)));
            }
            ServerMessage::Waiting { requests } => {
                for number in self.approvals.replace(requests) {
                    self.page.line(&format!("Approval {number} was decided elsewhere."));
                }
            }
            ServerMessage::Goodbye { lines } => {
                self.page.end_line();
                lines.iter().for_each(|line| self.page.line(&line.replace(" · ", ", ")));
                self.life = Lifecycle::Over;
            }
        }
    }

    /// Takes the answer to a query.
    fn on_answer(&mut self, id: QueryId, answer: QueryAnswer) {
        match self.queries.take(id).map(|_| answer) {
            Some(QueryAnswer::Inbox { lines }) => self.inbox(lines),
            Some(QueryAnswer::Request { request }) => self.listed_request(request),
            // The user was told before: that a query failed, or the answer to the line.
            Some(_) | None => {}
        }
    }

    /// Drops the turn and its output: they belong to a session that was left.
    pub(super) fn forget_turn(&mut self) {
        self.page.flow_end();
        self.held.clear();
        self.calls.clear();
        self.thinking_since = None;
        self.echoed = None;
        (self.messages, self.reported_waiting) = (0, 0);
    }

    fn idle(&mut self) {
        self.turn_runs = false;
        self.echoed = None;
        for number in self.approvals.undecide() {
            self.page.line(&format!("Approval {number}: {}.", sentences::NOT_RECORDED));
        }
    }

    fn header(&mut self, header: Header) {
        if self.header.is_none() {
            let Header { provider, model, workspace, isolation, .. } = &header;
            let isolation = isolation.word();
            let folder = workspace.display();
            self.page.line(&format!("co, {provider} {model}, {isolation}, in {folder}."));
            self.page.line("Type a prompt, or /help for commands. Ctrl+C stops the turn, Ctrl+D quits.");
        }
        let before = self.header.replace(header);
        let is_other = |new: &Header| before.is_some_and(|before| before.session != new.session);
        if self.header.as_ref().is_some_and(|new| new.title == NEW_SESSION && is_other(new)) {
            self.page.line("A new session; /resume lists the others.");
        }
    }

    fn transcript(&mut self, messages: &[Arc<Message>]) {
        let before = std::mem::replace(&mut self.messages, messages.len());
        let from = match (before, messages.len()) {
            (_, 0) => return self.page.line("A new conversation starts here."),
            (0, now) => {
                self.page.line(&format!("The conversation has {now} messages so far. The last ones:"));
                last_exchange(messages)
            }
            (before, _) => before,
        };
        messages.iter().skip(from).for_each(|message| self.message(message));
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::User { parts } => self.on_prompt(parts),
            Message::Assistant(reply) => {
                self.page.flow(&reply.text());
                self.page.flow_end();
                for call in reply.calls() {
                    self.page.line(&format!("{}.", describe::tool_of(call.name.as_str(), "")));
                }
            }
            Message::ToolReturns { .. } => {}
        }
    }

    fn local(&mut self, title: &str, text: &str, tone: Tone) {
        let text = text.trim_end();
        let word = match tone {
            Tone::Plain => return self.print_by_co(title, text),
            Tone::Warning => "Warning",
            Tone::Error => "Error",
        };
        self.print_by_co(&format!("{word}, {title}"), text);
    }

    fn print_by_co(&mut self, title: &str, text: &str) {
        if text.contains('\n') {
            self.page.line(&format!("{title}:"));
            return self.page.block(text, "  ");
        }
        self.page.line(&format!("{title}: {text}"));
    }
}

/// Returns the position of the last prompt among the messages.
fn last_exchange(messages: &[Arc<Message>]) -> usize {
    let prompt = |message: &Arc<Message>| match &**message {
        Message::User { parts } => parts.iter().any(|part| matches!(part, UserPart::Text { .. })),
        Message::Assistant(_) | Message::ToolReturns { .. } => false,
    };
    messages.iter().rposition(prompt).unwrap_or(0)
}
