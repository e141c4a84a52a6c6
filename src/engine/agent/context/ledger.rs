//! The ledger of a compaction, which it keeps word for word: the user's prompts, calls that changed something, refusals, and
//! requests that wait. Pure; computed from the records, never by a model.

use std::collections::HashMap;
use std::sync::Arc;

use crate::approval::Approval;
use crate::history::{History, RecordNo, RecordedState};
use crate::message::{CallId, Message, MessagePiece, ReturnStatus, ToolCall, ToolReturn, images};
use crate::stdx::text::{head_tail, one_line_summary};

/// Maximum bytes of one prompt.
const PROMPT: usize = 2_000;

/// Maximum bytes of the list of calls after a point to go back to.
const CHANGED: usize = 4_000;

/// Maximum width of the line of a call.
const LINE: usize = 200;

/// Returns the facts about the messages before `kept` of the conversation and about those that earlier compactions
/// replaced, as Markdown of about `allowance` bytes at most. What does not fit is counted, not dropped silently.
pub(super) fn facts(history: &History, kept: usize, allowance: usize) -> String {
    let older = history.entries().iter().take(kept).map(|(_, message)| message);
    let messages: Vec<&Arc<Message>> = history.archived_messages().chain(older).collect();
    let (prompts, changed, denied) = (prompts(&messages), changes(history, &messages), denials(&messages));
    let half = allowance / 2;
    let sections = [
        ("What the user asked, word for word", first_and_newest(&prompts, half)),
        ("Calls that changed something: they are done, do not repeat them", newest(&changed, half / 2)),
        ("Refused: do not propose it again", newest(&denied, half / 4)),
        (
            "Waiting for the user's decision: neither done nor refused",
            newest(&waiting_calls(history), half / 4),
        ),
    ];
    let sections = sections.into_iter().filter(|(_, lines)| !lines.is_empty());
    sections.map(|(title, lines)| format!("## {title}\n{lines}")).collect::<Vec<_>>().join("\n\n")
}

fn prompts(messages: &[&Arc<Message>]) -> Vec<String> {
    let parts = messages.iter().filter_map(|message| match &***message {
        Message::User { parts } => images::prompt_parts(parts),
        Message::Assistant(_) | Message::ToolReturns { .. } => None,
    });
    parts.map(|parts| shorten_prompt(&images::typed_text(&parts))).filter(|text| !text.is_empty()).collect()
}

fn shorten_prompt(text: &str) -> String {
    let cut = head_tail(text.trim(), PROMPT);
    match cut.dropped_bytes {
        0 => cut.head.to_owned(),
        dropped => format!("{} [{dropped} bytes left out] {}", cut.head, cut.tail),
    }
}

/// The calls of these messages with their last known returns, in order.
fn calls<'a>(messages: &[&'a Arc<Message>]) -> impl Iterator<Item = (&'a ToolCall, Option<&'a ToolReturn>)> {
    let returns: HashMap<&CallId, &ToolReturn> = messages
        .iter()
        .filter_map(|message| match &***message {
            Message::ToolReturns { returns } => Some(returns),
            Message::User { .. } | Message::Assistant(_) => None,
        })
        .flatten()
        .map(|one| (&one.call, one))
        .collect();
    let pieces: Vec<MessagePiece<'_>> = messages.iter().flat_map(|message| message.pieces()).collect();
    pieces.into_iter().filter_map(move |piece| {
        let MessagePiece::Call(call) = piece else { return None };
        Some((call, returns.get(&call.id).copied()))
    })
}

fn line(call: &ToolCall) -> String {
    one_line_summary(&format!("{} {}", call.name, call.args), LINE)
}

fn changes(history: &History, messages: &[&Arc<Message>]) -> Vec<String> {
    let started = calls(messages).filter(|(call, _)| history.has_started(&call.id));
    let mut lines: Vec<(String, usize)> = Vec::new();
    for (call, returned) in started {
        let open = history.open_calls().iter().find(|one| one.call.id == call.id);
        let returned = returned.or_else(|| open.and_then(|one| one.returned.as_ref()));
        let status = history.late_return(&call.id).or(returned).map(|one| one.status);
        let ended = match status {
            Some(ReturnStatus::Ok) => "done",
            Some(ReturnStatus::Failed) => "failed; it may have done a part",
            Some(ReturnStatus::Interrupted) => "stopped; it may have done a part",
            Some(ReturnStatus::Denied | ReturnStatus::Undecided | ReturnStatus::Unknown) | None => {
                "outcome unknown"
            }
        };
        let text = format!("{}: {ended}", line(call));
        match lines.last_mut() {
            Some((last, times)) if *last == text => *times += 1,
            Some(_) | None => lines.push((text, 1)),
        }
    }
    let counted = |(text, times)| if times == 1 { text } else { format!("{text} ({times} times)") };
    lines.into_iter().map(counted).collect()
}

/// Lists the calls of this message and of those after it that changed something.
#[must_use]
pub fn changed_since(history: &History, from: RecordNo) -> String {
    let later = history.whole_conversation().filter(|(no, _)| *no >= from).map(|(_, message)| message);
    let messages: Vec<&Arc<Message>> = later.collect();
    newest(&changes(history, &messages), CHANGED)
}

/// Returns the ids of the calls from this message on.
pub fn calls_since(history: &History, from: RecordNo) -> Vec<String> {
    let later = history.whole_conversation().filter(|(no, _)| *no >= from).map(|(_, message)| message);
    let messages: Vec<&Arc<Message>> = later.collect();
    calls(&messages).map(|(call, _)| call.id.0.clone()).collect()
}

fn denials(messages: &[&Arc<Message>]) -> Vec<String> {
    let denied = calls(messages).filter_map(|(call, returned)| {
        let returned = returned.filter(|one| one.status == ReturnStatus::Denied)?;
        Some(format!("{}: {}", line(call), one_line_summary(&returned.text(), LINE)))
    });
    denied.collect()
}

fn waiting_calls(history: &History) -> Vec<String> {
    let waits = |known: &RecordedState| {
        matches!(known, RecordedState::Waiting | RecordedState::Decided(Approval::Later))
    };
    let late = history.late_calls().iter().filter(|one| waits(&one.known)).map(|one| &one.call);
    let open = history.open_calls().iter().filter(|one| waits(&one.known)).map(|one| &one.call);
    late.chain(open).map(line).collect()
}

/// Lists the newest lines, of at most about `most` bytes.
fn newest(lines: &[String], most: usize) -> String {
    let mut left = most;
    let fits = |line: &&String| {
        let fits = line.len() <= left;
        left = left.saturating_sub(line.len() + 3);
        fits
    };
    let kept = lines.iter().rev().take_while(fits).count();
    let omitted = lines.len() - kept;
    let head = (omitted > 0).then(|| format!("- ({omitted} older ones are not listed)"));
    head.into_iter().chain(lines.iter().skip(omitted).map(|line| item(line))).collect::<Vec<_>>().join("\n")
}

/// Lists the first line, which says what it is all about, and the newest.
fn first_and_newest(lines: &[String], most: usize) -> String {
    let Some((first, rest)) = lines.split_first() else { return String::new() };
    let rest = newest(rest, most.saturating_sub(first.len()));
    if rest.is_empty() { item(first) } else { format!("{}\n{rest}", item(first)) }
}

fn item(line: &str) -> String {
    format!("- {}", line.replace('\n', "\n  "))
}
