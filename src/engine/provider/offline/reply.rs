//! The next reply to a conversation: from its last request, and from the outcome of the calls since.

use serde_json::Value;

use super::script::{Script, script};
use super::{outcome, texts};
use crate::message::{AssistantMessage, Message, ReturnStatus, ToolReturn, UserPart};
use crate::provider::{ModelRequest, ToolChoice};

/// One reply: thinking first, then text, then calls.
#[derive(Default)]
pub struct Reply {
    /// The number of replies before it in the conversation.
    pub before: usize,
    pub thought: &'static str,
    pub text: String,
    pub calls: Vec<(&'static str, Value)>,
}

impl Reply {
    /// A reply of words only.
    pub fn words(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// A reply with one call.
    pub fn call(thought: &'static str, text: &str, tool: &'static str, args: Value) -> Self {
        Self { thought, calls: vec![(tool, args)], ..Self::words(text) }
    }

    /// Returns the next reply to a conversation.
    pub fn to(request: &ModelRequest) -> Self {
        let before = request.conversation().filter(|message| matches!(message, Message::Assistant(_)));
        let mut reply = Self { before: before.count(), ..OfflineTurn::of(request).next() };
        reply.keep_allowed_calls(request);
        if reply.before == 0 {
            reply.text.insert_str(0, texts::WHO_I_AM);
        }
        reply
    }

    /// Keeps calls only where calls may be made, of tools that exist; says so if there are others.
    fn keep_allowed_calls(&mut self, request: &ModelRequest) {
        let is_allowed = |name: &str| match request.tool_choice {
            ToolChoice::Auto | ToolChoice::Required => request.tools.iter().any(|tool| tool.name == name),
            ToolChoice::None => false,
        };
        let Some((missing, _)) = self.calls.iter().find(|(name, _)| !is_allowed(name)) else { return };
        self.text.push_str(&match request.tool_choice {
            ToolChoice::Auto | ToolChoice::Required => {
                format!("\nThe tool `{missing}` is not available here, so I stop.\n")
            }
            ToolChoice::None => "\nThis turn may make no more calls, so I stop here.\n".to_owned(),
        });
        self.calls.retain(|(name, _)| is_allowed(name));
    }
}

/// The last turn: its request, and the replies with calls since.
#[derive(Default)]
struct OfflineTurn<'a> {
    asked: &'a str,
    /// Notes of `co` in the turn, which are not the user's words.
    notes: Vec<&'a str>,
    /// The number of replies whose calls have returned.
    done: usize,
    /// The last of them with its returns.
    last: Option<(&'a AssistantMessage, &'a [ToolReturn])>,
}

impl<'a> OfflineTurn<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let messages: Vec<&Message> = request.conversation().collect();
        let is_request = |message: &&Message| match message {
            Message::User { parts } => parts.iter().any(|part| matches!(part, UserPart::Text { .. })),
            Message::Assistant(_) | Message::ToolReturns { .. } => false,
        };
        let start = messages.iter().rposition(is_request).unwrap_or(0);
        let (mut turn, mut reply) = (Self::default(), None);
        for message in messages.into_iter().skip(start) {
            match message {
                Message::User { parts } => turn.add(parts),
                Message::Assistant(message) => reply = Some(message),
                Message::ToolReturns { returns } => {
                    turn.last = reply.map(|reply| (reply, returns.as_slice()));
                    turn.done += usize::from(reply.is_some());
                }
            }
        }
        turn
    }

    fn add(&mut self, parts: &'a [UserPart]) {
        for part in parts {
            match part {
                UserPart::Text { text } => self.asked = text,
                UserPart::Note { text, .. } => self.notes.push(text),
                UserPart::Image { .. } => {}
            }
        }
    }

    fn next(&self) -> Reply {
        let Script { mut steps, end } = script(self.asked);
        let step = (self.done < steps.len()).then(|| steps.swap_remove(self.done));
        let Some((reply, returns)) = self.last else {
            if self.asked.is_empty() && !self.notes.is_empty() {
                let notes: Vec<String> = self.notes.iter().map(|note| outcome::fence(note)).collect();
                let notes = notes.join("\n");
                return Reply::words(&format!("`co` noted for me:\n\n{notes}\nI do not understand it.\n"));
            }
            return step.unwrap_or_default();
        };
        let outcomes = returns.iter().filter_map(|returned| {
            let call = reply.calls().find(|call| call.id == returned.call)?;
            Some(outcome::describe(call, returned))
        });
        let outcomes = outcomes.collect::<Vec<_>>().join("\n");
        let succeeded = returns.iter().all(|returned| returned.status == ReturnStatus::Ok);
        let next = step.filter(|_| succeeded).unwrap_or_else(|| Reply::words(&end));
        Reply { text: format!("{outcomes}{}", next.text), ..next }
    }
}
