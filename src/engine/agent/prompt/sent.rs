//! The prompt of an earlier turn: the texts before the conversation are recorded whenever they differ from the last ones,
//! with the limits of the conversation, which is built again from the records before the request. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Preamble;
use super::parts::{PromptPart, PromptPosition, prefix};
use crate::agent::context::{Omission, TOKENS_PER_IMAGE, ViewLimits};
use crate::agent::driver::ActiveModel;
use crate::history::{History, Record};
use crate::message::{Message, MessagePiece, NoteKind, UserPart};
use crate::provider::RequestKind;

/// The [`Record::State`] key for what precedes the conversation in the requests that follow.
const KEY: &str = "prompt";

/// The prompt of one or more requests to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentPrompt {
    /// Its full name, as `provider/model`.
    pub model: String,
    pub parts: Vec<PromptPart>,
    /// How much of the conversation was sent; absent in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limits: Option<ViewLimits>,
    /// Whether the model takes images; `None` = unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    images: Option<bool>,
    /// The conversation of the one request that was asked for.
    #[serde(skip)]
    pub conversation: Option<SentConversation>,
}

/// The conversation of one request.
#[derive(Debug, Clone, PartialEq)]
pub struct SentConversation {
    pub messages: Vec<Arc<Message>>,
    /// Content that was not sent as it is kept, and why; a sentence each.
    pub left_out: Vec<String>,
}

impl SentPrompt {
    /// Returns the system prompt.
    #[must_use]
    pub fn system(&self) -> String {
        let prefix = self.parts.iter().filter(|part| part.place == PromptPosition::Prefix);
        prefix.map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n")
    }

    /// Estimates the tokens of all parts.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.parts.iter().map(|part| part.tokens).sum()
    }
}

/// Why the prompt of a turn cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SentError {
    #[error("there is no turn {turn}: the session has had {turns}")]
    NoTurn { turn: u32, turns: u32 },
    #[error(
        "the prompt of turn {turn} is not kept: the turn sent no request, is of the original of a copy, or of an older co"
    )]
    NotKept { turn: u32 },
    #[error("there is no request {number} of turn {turn}: it has had {requests} that ended")]
    NoRequest { number: usize, turn: u32, requests: usize },
}

/// Returns the record of what precedes the conversation in a request to a model; `None` if it is that of the last request.
pub fn changed_prefix(
    history: &History,
    preamble: &Preamble,
    model: &ActiveModel,
    limits: ViewLimits,
) -> Option<Record> {
    let now = SentPrompt {
        model: model.full_name(),
        parts: prefix(preamble, model),
        limits: Some(limits),
        images: model.profile.images,
        conversation: None,
    };
    // Text in plain structures can be written as JSON.
    let value = serde_json::to_value(now).ok()?;
    (history.state(KEY) != Some(&value)).then(|| Record::State { tool: KEY.to_owned(), value })
}

/// Returns the prompts that a turn sent, in order: one, or more if the prefix changed while it ran. Each has the notes of the
/// whole turn.
pub fn sent_prompts(records: &[Record], turn: u32) -> Result<Vec<SentPrompt>, SentError> {
    let (before, of_turn) = of_turn(records, turn)?;
    let mut found: Vec<SentPrompt> = Vec::new();
    for record in of_turn {
        let unchanged = if is_answer(record) && found.is_empty() {
            before.iter().rev().find_map(sent_prompt)
        } else {
            None
        };
        found.extend(sent_prompt(record).or(unchanged));
    }
    if found.is_empty() {
        return Err(SentError::NotKept { turn });
    }
    let mut tail: Vec<PromptPart> = of_turn.iter().flat_map(notes).map(part).collect();
    if tail.iter().all(|part| part.name != SITUATION) {
        let earlier = before.iter().rev().flat_map(|record| notes(record).rev());
        let known = earlier.map(part).find(|part| part.name == SITUATION);
        tail.splice(0..0, known);
    }
    found.iter_mut().for_each(|one| one.parts.extend(tail.iter().cloned()));
    Ok(found)
}

/// Returns what one request of a turn sent, counted from 1 as requests ended, with its conversation.
pub fn sent_request(records: &[Record], turn: u32, number: usize) -> Result<SentPrompt, SentError> {
    let (before, of_turn) = of_turn(records, turn)?;
    let ends = of_turn.iter().enumerate().filter(|(_, record)| is_answer(record)).map(|(at, _)| at);
    let ends: Vec<usize> = ends.collect();
    let end = number.checked_sub(1).and_then(|at| ends.get(at));
    let end = end.ok_or(SentError::NoRequest { number, turn, requests: ends.len() })?;
    // Until a request has ended, nothing is added to the conversation that it sent.
    let (records, _) = records.split_at(before.len() + end);
    let prompt = records.iter().rev().find_map(sent_prompt);
    let (mut prompt, limits) =
        prompt.and_then(|one| one.limits.map(|limits| (one, limits))).ok_or(SentError::NotKept { turn })?;
    let history = History::of(records);
    let (messages, left_out) = super::conversation(&history, prompt.images, limits);
    let mut why: Vec<String> = left_out.into_iter().map(|one| reason(one, limits)).collect();
    if history.messages().next().is_some_and(|first| first.summary().is_some()) {
        why.insert(0, "Older messages were replaced by a summary, the first message.".to_owned());
    }
    prompt.parts.extend(messages.iter().enumerate().flat_map(|(at, message)| message_parts(at + 1, message)));
    prompt.conversation = Some(SentConversation { messages, left_out: why });
    Ok(prompt)
}

/// Returns the records before a turn, and those of the turn.
fn of_turn(records: &[Record], turn: u32) -> Result<(&[Record], &[Record]), SentError> {
    let starts = |one: &Record| {
        let Record::TurnStarted { turn, .. } = one else { return None };
        Some(*turn)
    };
    let turns = records.iter().filter_map(starts).next_back().unwrap_or_default();
    let begin = records.iter().rposition(|one| starts(one) == Some(turn));
    let (before, from) = records.split_at(begin.ok_or(SentError::NoTurn { turn, turns })?);
    let end = from.iter().skip(1).position(|one| starts(one).is_some()).map_or(from.len(), |at| at + 1);
    Ok((before, from.split_at(end).0))
}

fn is_answer(record: &Record) -> bool {
    matches!(record, Record::RequestEnded { purpose: RequestKind::Answer, .. })
}

fn reason(left_out: Omission, limits: ViewLimits) -> String {
    let ViewLimits { tool_output, messages } = limits;
    match left_out {
        Omission::OldOutputs => format!(
            "Old tool outputs were cut to {tool_output} bytes each, by `history.trim_tool_output` or because the window \
             of the model was unknown."
        ),
        Omission::OldMessages => format!(
            "Of the messages the first exchange and at most {messages} of the newest were sent, by `history.max_messages` or because \
             the window of the model was unknown."
        ),
        Omission::RepeatedOutputs => {
            "Tool outputs that stand in the conversation already were not repeated.".to_owned()
        }
        Omission::Images => "Images were left out: the model takes none.".to_owned(),
        Omission::OldImages => {
            "The oldest images were left out: services refuse requests with many.".to_owned()
        }
    }
}

/// Returns the parts of a message, which has this number in its request.
fn message_parts(number: usize, message: &Message) -> Vec<PromptPart> {
    let text = |name: &str, text: String| {
        PromptPart::new(name, PromptPosition::Conversation, format!("message {number}"), text)
    };
    let pieces = message.pieces().map(|piece| match piece {
        MessagePiece::Prompt(said) => text("user", said.to_owned()),
        MessagePiece::Note(kind, said) => part((kind, said)),
        MessagePiece::Answer(said) => text("assistant", said.to_owned()),
        MessagePiece::Thought(thought) => text("thinking", thought.to_owned()),
        MessagePiece::Call(call) => text("call", format!("{} {}", call.name, call.args)),
        MessagePiece::Native => text("native", "[in a form of the provider's own]".to_owned()),
        MessagePiece::Output(output) => text("tool output", output.to_owned()),
        MessagePiece::Image(media_type) => {
            PromptPart { tokens: TOKENS_PER_IMAGE as u64, ..text("image", format!("[image: {media_type}]")) }
        }
    });
    pieces.collect()
}

fn sent_prompt(record: &Record) -> Option<SentPrompt> {
    let Record::State { tool, value } = record else { return None };
    if tool == KEY { serde_json::from_value(value.clone()).ok() } else { None }
}

fn notes(record: &Record) -> impl DoubleEndedIterator<Item = (&NoteKind, &str)> {
    let parts = if let Some(Message::User { parts }) = record.message() { parts.as_slice() } else { &[] };
    parts.iter().filter_map(|part| match part {
        UserPart::Note { kind, text } => Some((kind, text.as_str())),
        UserPart::Text { .. } | UserPart::Image { .. } => None,
    })
}

const SITUATION: &str = "situation";

fn part((kind, text): (&NoteKind, &str)) -> PromptPart {
    let (name, source) = match kind {
        NoteKind::Situation => (SITUATION, "date, mode and sandbox of then".to_owned()),
        NoteKind::Memory { used, .. } => {
            let ids: Vec<String> = used.iter().map(|one| format!("#{}", one.id)).collect();
            ("memory", format!("memories {}", ids.join(", ")))
        }
        NoteKind::Instructions { path } => ("instructions", path.clone()),
        NoteKind::Command { path } => ("command", path.clone()),
        NoteKind::Resource { server } | NoteKind::ServerPrompt { server } => {
            ("server", format!("tool server {server}"))
        }
        NoteKind::CommandOutput => ("command output", "your own command".to_owned()),
        NoteKind::LateOutcome { call } => ("late outcome", format!("call {}", call.0)),
        NoteKind::Hook => ("hook", "your hooks".to_owned()),
        NoteKind::Reflection
        | NoteKind::Abort
        | NoteKind::Budget
        | NoteKind::Repetition
        | NoteKind::Summary
        | NoteKind::Undone => ("note", kind.label().unwrap_or_default().to_owned()),
    };
    PromptPart::new(name, PromptPosition::Tail, source, text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Limits;

    fn prefix_of(text: &str) -> Record {
        let part = PromptPart {
            name: "style".to_owned(),
            place: PromptPosition::Prefix,
            source: "x.md".to_owned(),
            tokens: 1,
            text: text.to_owned(),
        };
        let value = serde_json::json!({ "model": "p:m", "parts": [part] });
        Record::State { tool: KEY.to_owned(), value }
    }

    #[test]
    fn the_prompt_of_a_turn_is_found() {
        let turn = |turn| Record::TurnStarted { turn, limits: Limits::default(), trace: None };
        let note = |kind, text: &str| Record::said(Message::note(kind, text));
        let ended = || Record::RequestEnded {
            attempt: 1,
            usage: None,
            provider: String::new(),
            model: "m".to_owned(),
            cost: None,
            error: None,
            purpose: RequestKind::Answer,
        };
        let instructions = NoteKind::Instructions { path: "a/AGENTS.md".to_owned() };
        let records = [
            turn(1),
            ended(),
            turn(2),
            note(NoteKind::Situation, "ask"),
            prefix_of("A"),
            ended(),
            turn(3),
            ended(),
            note(instructions, "tabs"),
            prefix_of("B"),
            ended(),
            turn(4),
            note(NoteKind::Situation, "plan"),
            prefix_of("A"),
            turn(5),
        ];
        for (number, expected) in [
            (0, Err(SentError::NoTurn { turn: 0, turns: 5 })),
            (1, Err(SentError::NotKept { turn: 1 })),
            (2, Ok("A+ask")),
            (3, Ok("A+ask+tabs B+ask+tabs")),
            (4, Ok("A+plan")),
            (5, Err(SentError::NotKept { turn: 5 })),
            (6, Err(SentError::NoTurn { turn: 6, turns: 5 })),
        ] {
            let texts = |one: &SentPrompt| {
                one.parts.iter().map(|part| part.text.clone()).collect::<Vec<_>>().join("+")
            };
            let got =
                sent_prompts(&records, number).map(|all| all.iter().map(texts).collect::<Vec<_>>().join(" "));
            assert_eq!(got, expected.map(str::to_owned), "{number}");
        }
    }
}
