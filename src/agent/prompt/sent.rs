//! The prompt of an earlier turn, as it was sent: what precedes the conversation is recorded whenever it differs from that of
//! the last request, and the notes stand in the conversation. Pure.

use serde::{Deserialize, Serialize};

use super::Preamble;
use super::shown::{PromptPart, PromptPlace, prefix};
use crate::agent::context::text_tokens;
use crate::agent::driver::ActiveModel;
use crate::history::{History, Record};
use crate::message::{Message, NoteKind, UserPart};
use crate::provider::RequestKind;

/// The [`Record::State`] key for what precedes the conversation in the requests that follow.
const KEY: &str = "prompt";

/// The prompt of one or more requests to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentPrompt {
    /// Its full name, as `provider/model`.
    pub model: String,
    pub parts: Vec<PromptPart>,
}

impl SentPrompt {
    /// Returns the system prompt.
    #[must_use]
    pub fn system(&self) -> String {
        let prefix = self.parts.iter().filter(|part| part.place == PromptPlace::Prefix);
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
}

/// Returns the record of what precedes the conversation in a request to a model; `None` if it is that of the last request.
pub fn changed_prefix(history: &History, preamble: &Preamble, model: &ActiveModel) -> Option<Record> {
    let now = SentPrompt { model: model.full_name(), parts: prefix(preamble, model) };
    // Text in plain structures can be written as JSON.
    let value = serde_json::to_value(now).ok()?;
    (history.state(KEY) != Some(&value)).then(|| Record::State { tool: KEY.to_owned(), value })
}

/// Returns the prompts that a turn sent, in order: one, or more if the prefix changed while it ran. Each has the notes of the
/// whole turn.
pub fn sent(records: &[Record], turn: u32) -> Result<Vec<SentPrompt>, SentError> {
    let starts = |one: &Record| {
        let Record::TurnStarted { turn, .. } = one else { return None };
        Some(*turn)
    };
    let turns = records.iter().filter_map(starts).next_back().unwrap_or_default();
    let begin = records.iter().rposition(|one| starts(one) == Some(turn));
    let (before, from) = records.split_at(begin.ok_or(SentError::NoTurn { turn, turns })?);
    let of_turn = from.iter().enumerate().take_while(|(at, one)| *at == 0 || starts(one).is_none());
    let of_turn: Vec<&Record> = of_turn.map(|(_, one)| one).collect();
    let mut found: Vec<SentPrompt> = Vec::new();
    for record in &of_turn {
        let is_answer = matches!(record, Record::RequestEnded { purpose: RequestKind::Answer, .. });
        let unchanged = if is_answer && found.is_empty() { before.iter().rev().find_map(kept) } else { None };
        found.extend(kept(record).or(unchanged));
    }
    if found.is_empty() {
        return Err(SentError::NotKept { turn });
    }
    let mut tail: Vec<PromptPart> = of_turn.iter().flat_map(|record| notes(record)).map(part).collect();
    if tail.iter().all(|part| part.name != SITUATION) {
        let earlier = before.iter().rev().flat_map(|record| notes(record).rev());
        let known = earlier.map(part).find(|part| part.name == SITUATION);
        tail.splice(0..0, known);
    }
    found.iter_mut().for_each(|one| one.parts.extend(tail.iter().cloned()));
    Ok(found)
}

fn kept(record: &Record) -> Option<SentPrompt> {
    let Record::State { tool, value } = record else { return None };
    if tool == KEY { serde_json::from_value(value.clone()).ok() } else { None }
}

fn notes(record: &Record) -> impl DoubleEndedIterator<Item = (&NoteKind, &String)> {
    let parts =
        if let Record::Said { message: Message::User { parts } } = record { parts.as_slice() } else { &[] };
    parts.iter().filter_map(|part| match part {
        UserPart::Note { kind, text } => Some((kind, text)),
        UserPart::Text { .. } | UserPart::Image { .. } => None,
    })
}

const SITUATION: &str = "situation";

fn part((kind, text): (&NoteKind, &String)) -> PromptPart {
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
    PromptPart {
        name: name.to_owned(),
        place: PromptPlace::Tail,
        source,
        tokens: text_tokens(text),
        text: text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Limits;

    fn prefix_of(text: &str) -> Record {
        let part = PromptPart {
            name: "style".to_owned(),
            place: PromptPlace::Prefix,
            source: "x.md".to_owned(),
            tokens: 1,
            text: text.to_owned(),
        };
        let value = SentPrompt { model: "p:m".to_owned(), parts: vec![part] };
        Record::State { tool: KEY.to_owned(), value: serde_json::to_value(value).unwrap() }
    }

    #[test]
    fn the_prompt_of_a_turn_is_found() {
        let turn = |turn| Record::TurnStarted { turn, limits: Limits::default(), trace: None };
        let note = |kind, text: &str| Record::Said { message: Message::note(kind, text) };
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
            let got = sent(&records, number).map(|all| all.iter().map(texts).collect::<Vec<_>>().join(" "));
            assert_eq!(got, expected.map(str::to_owned), "{number}");
        }
    }
}
