//! Records in short, for waiting and for failures.

use co::approval::{Approval, Remember};
use co::history::{Record, TurnEnd};
use co::message::{AssistantMessage, CallId, Message, NoteKind, ReturnStatus, UserPart};

/// Every record as a line: `turn 1`, `said go`, `reply a b`, `request ok`, `request failed`, `partial`, `asked a`,
/// `asked a again`, `decided a yes`, `started a`, `finished a ok`, `deferred`, `end completed`, `queued 1`,
/// `draft TEXT`, `note reflection`.
pub fn short(records: &[Record]) -> Vec<String> {
    let calls = calls(records);
    let letter = |call: &CallId| {
        let at = calls.iter().position(|known| known == call);
        at.map_or_else(|| call.0.clone(), letter)
    };
    records.iter().map(|record| line(record, &letter)).collect()
}

/// The name of the call at this place.
fn letter(at: usize) -> String {
    char::from(b'a' + u8::try_from(at).unwrap()).to_string()
}

/// The call of this name.
pub fn call(records: &[Record], name: &str) -> Option<CallId> {
    calls(records).into_iter().enumerate().find(|(at, _)| letter(*at) == name).map(|(_, call)| call)
}

/// All calls, in the order in which the model made them.
pub fn calls(records: &[Record]) -> Vec<CallId> {
    let mut calls = Vec::new();
    for record in records {
        let replied = record.reply().into_iter().flat_map(AssistantMessage::calls);
        calls.extend(replied.map(|call| call.id.clone()));
    }
    calls
}

fn line(record: &Record, letter: &impl Fn(&CallId) -> String) -> String {
    match record {
        Record::Opened { .. } => "opened".to_owned(),
        Record::TurnStarted { turn, .. } => format!("turn {turn}"),
        Record::Said { message } => match kit::without_situation(message) {
            Message::User { parts } => parts.iter().map(part).collect::<Vec<_>>().join(" + "),
            Message::Assistant(reply) => {
                let calls: String = reply.calls().map(|call| format!(" {}", letter(&call.id))).collect();
                format!("reply{calls}")
            }
            Message::ToolReturns { .. } => "returns".to_owned(),
        },
        Record::RequestEnded { error: None, .. } => "request ok".to_owned(),
        Record::RequestEnded { error: Some(_), .. } => "request failed".to_owned(),
        Record::Partial { .. } => "partial".to_owned(),
        Record::Asked { call, request } => {
            let again = if request.again.is_some() { " again" } else { "" };
            format!("asked {}{again}", letter(&call.id))
        }
        Record::Decided { call, approval, .. } => format!("decided {} {}", letter(call), word(approval)),
        Record::Judged { call, judgement } => {
            format!("judged {} {:?}", letter(call), judgement.verdict).to_lowercase()
        }
        Record::Expired { call, .. } => format!("expired {}", letter(call)),
        Record::Revoked { .. } => "revoked".to_owned(),
        Record::ToolStarted { call } => format!("started {}", letter(call)),
        Record::ToolFinished { returned } => {
            format!("finished {} {}", letter(&returned.call), status(returned.status))
        }
        Record::Deferred { .. } => "deferred".to_owned(),
        Record::TurnEnded { end } => format!("end {}", ending(end)),
        Record::Queued { prompts } => format!("queued {}", prompts.len()),
        Record::Draft { text } => format!("draft {text}"),
        Record::Noted { kind, .. } => format!("noted {}", note(kind)),
        Record::Compacted { .. } => "compacted".to_owned(),
        Record::Uncompacted => "uncompacted".to_owned(),
        Record::Copied { .. } => "copied".to_owned(),
        Record::Rewound { .. } => "rewound".to_owned(),
        Record::Cleared => "cleared".to_owned(),
        Record::Damaged { no } => format!("damaged {no}"),
        Record::Renamed { .. } => "renamed".to_owned(),
        Record::State { tool, .. } => format!("state {tool}"),
    }
}

fn part(part: &UserPart) -> String {
    match part {
        UserPart::Text { text } => format!("said {text}"),
        UserPart::Image { .. } => "image".to_owned(),
        UserPart::Note { kind, .. } => format!("note {}", note(kind)),
    }
}

fn note(kind: &NoteKind) -> &'static str {
    match kind {
        NoteKind::Reflection => "reflection",
        NoteKind::CommandOutput => "command",
        NoteKind::Abort => "abort",
        NoteKind::LateOutcome { .. } => "late",
        NoteKind::Budget => "budget",
        NoteKind::Undone => "undone",
        NoteKind::Instructions { .. } => "instructions",
        NoteKind::Command { .. } => "custom command",
        NoteKind::Hook => "hook",
        NoteKind::Repetition => "repetition",
        NoteKind::Summary => "summary",
        NoteKind::Situation => "situation",
        NoteKind::Resource { .. } => "resource",
        NoteKind::ServerPrompt { .. } => "prompt",
        NoteKind::Memory { .. } => "memory",
    }
}

fn word(approval: &Approval) -> &'static str {
    match approval {
        Approval::Approve { instead: Some(_), .. } => "edited",
        Approval::Approve { remember: Remember::Once, .. } => "yes",
        Approval::Approve { remember: Remember::Session, .. } => "session",
        Approval::Approve { remember: Remember::Rule, .. } => "rule",
        Approval::Deny { .. } => "no",
        Approval::Later => "later",
    }
}

pub fn status(status: ReturnStatus) -> &'static str {
    match status {
        ReturnStatus::Ok => "ok",
        ReturnStatus::Failed => "failed",
        ReturnStatus::Denied => "denied",
        ReturnStatus::Undecided => "undecided",
        ReturnStatus::Interrupted => "interrupted",
        ReturnStatus::Unknown => "unknown",
    }
}

fn ending(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Completed => "completed",
        TurnEnd::Deferred => "deferred",
        TurnEnd::Interrupted => "interrupted",
        TurnEnd::LimitReached { .. } => "limit",
        TurnEnd::Failed { .. } => "failed",
    }
}
