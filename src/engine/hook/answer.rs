//! Converts a hook's run (exit code and output) into a verdict. Pure.
//!
//! On exit code 0 the output is parsed as a decision, exit code 2 denies, and anything else is a [`HookFailure`],
//! which makes a call ask. Text from hooks is sanitized and shortened here, before it is shown. Called by
//! `command`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::process::{MOST_OUTPUT, ProcessResult};
use super::{HookEvent, HookVerdict};
use crate::sandbox::Exit;
use crate::stdx::moment::duration;
use crate::stdx::names::names;
use crate::stdx::text::{binary_size, sanitize, sanitize_line};

/// The exit code that denies.
const BLOCKS: i32 = 2;

/// Maximum characters of a reason.
const LONGEST_REASON: usize = 1_000;

/// Maximum characters of a note.
const LONGEST_NOTE: usize = 8_000;

/// Maximum characters of stderr that a trouble quotes.
const LONGEST_WORDS: usize = 200;

/// Why a hook gave no valid decision, although it ran or should have run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookFailure {
    #[error("cannot be started: {why}")]
    NotStarted { why: String },
    #[error("took more than {} and was stopped", duration(*timeout))]
    TooSlow { timeout: Duration },
    #[error("exited with code {code}{}", behind(said))]
    Code { code: i32, said: String },
    #[error("was killed by signal {signal}{}", behind(said))]
    Signal { signal: i32, said: String },
    #[error("printed more than {}", binary_size(MOST_OUTPUT))]
    TooMuch,
    #[error("printed no decision: {why}")]
    Garbage { why: String },
    #[error("said {word}, which is not valid at {}", event.word())]
    NotHere { word: &'static str, event: HookEvent },
}

impl HookFailure {
    /// The verdict after a failure. For a planned call the hook's decision is unknown, so the call asks.
    pub fn verdict(&self, name: &str, event: HookEvent) -> HookVerdict {
        event.undecided_verdict(format!("hook {name} failed: it {self}"))
    }
}

fn behind(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" and said: {said}") }
}

/// The JSON object on stdout. Unknown fields are ignored, for later versions.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    decision: AnswerWord,
    reason: Option<String>,
    input: Option<Value>,
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerWord {
    #[default]
    Pass,
    Allow,
    Ask,
    Defer,
    Deny,
    Rewrite,
}

names! {
    AnswerWord, word {
        Pass = "pass",
        Allow = "allow",
        Ask = "ask",
        Defer = "defer",
        Deny = "deny",
        Rewrite = "rewrite",
    }
}

/// Returns the verdict of the hook `name`, from how its run ended. `timeout` is its time limit.
pub fn verdict(
    name: &str,
    event: HookEvent,
    timeout: Duration,
    ran: &ProcessResult,
) -> Result<HookVerdict, HookFailure> {
    let said = || line(&String::from_utf8_lossy(&ran.errors.bytes), LONGEST_WORDS);
    match &ran.exit {
        Err(error) => Err(HookFailure::NotStarted { why: line(&error.to_string(), LONGEST_WORDS) }),
        Ok(Exit::TimedOut) => Err(HookFailure::TooSlow { timeout }),
        Ok(Exit::Signal(signal)) => Err(HookFailure::Signal { signal: *signal, said: said() }),
        Ok(Exit::Code(0)) if ran.output.dropped > 0 => Err(HookFailure::TooMuch),
        Ok(Exit::Code(0)) => read_verdict(name, event, &ran.output.bytes),
        Ok(Exit::Code(BLOCKS)) => {
            let reason = line(&String::from_utf8_lossy(&ran.errors.bytes), LONGEST_REASON);
            block(name, event, &reason)
        }
        Ok(Exit::Code(code)) => Err(HookFailure::Code { code: *code, said: said() }),
        // Only a sandbox ends its commands this way.
        Ok(Exit::Cancelled) => Ok(HookVerdict::Pass),
    }
}

fn read_verdict(name: &str, event: HookEvent, output: &[u8]) -> Result<HookVerdict, HookFailure> {
    let text = std::str::from_utf8(output)
        .map_err(|_| HookFailure::Garbage { why: "its output is not UTF-8 text".to_owned() })?;
    if text.trim().is_empty() {
        return Ok(HookVerdict::Pass);
    }
    let answer: Answer = serde_json::from_str(text)
        .map_err(|error| HookFailure::Garbage { why: line(&error.to_string(), LONGEST_WORDS) })?;
    let Answer { decision, reason, input, note } = answer;
    let reason = line(&reason.unwrap_or_default(), LONGEST_REASON);
    match decision {
        AnswerWord::Pass => Ok(note_verdict(event, note)),
        AnswerWord::Deny => block(name, event, &reason),
        // At an event without a decision, allow has the effect of pass.
        AnswerWord::Allow if event != HookEvent::PreToolUse => Ok(note_verdict(event, note)),
        AnswerWord::Ask | AnswerWord::Defer | AnswerWord::Rewrite if event != HookEvent::PreToolUse => {
            Err(HookFailure::NotHere { word: decision.word(), event })
        }
        AnswerWord::Allow => Ok(HookVerdict::Allow { reason: with_hook_name(name, &reason) }),
        AnswerWord::Ask => Ok(HookVerdict::Ask { reason: with_hook_name(name, &reason) }),
        AnswerWord::Defer => Ok(HookVerdict::Defer { reason: with_hook_name(name, &reason) }),
        AnswerWord::Rewrite => match input {
            Some(args @ Value::Object(_)) => Ok(HookVerdict::Rewrite { args }),
            Some(_) | None => {
                Err(HookFailure::Garbage { why: "`rewrite` needs an object as `input`".to_owned() })
            }
        },
    }
}

fn block(name: &str, event: HookEvent, reason: &str) -> Result<HookVerdict, HookFailure> {
    // These events cannot be stopped.
    if matches!(event, HookEvent::SessionStart | HookEvent::SessionEnd) {
        return Err(HookFailure::NotHere { word: "deny", event });
    }
    Ok(HookVerdict::Deny { reason: with_hook_name(name, reason) })
}

/// A note as a verdict. At `PreToolUse` a note is dropped.
fn note_verdict(event: HookEvent, note: Option<String>) -> HookVerdict {
    let note = note.map(|note| short(sanitize(note.trim()).into_owned(), LONGEST_NOTE));
    match note.filter(|note| !note.is_empty() && event != HookEvent::PreToolUse) {
        Some(text) => HookVerdict::Note { text },
        None => HookVerdict::Pass,
    }
}

fn with_hook_name(name: &str, reason: &str) -> String {
    if reason.is_empty() { format!("{name} gave no reason") } else { format!("{name}: {reason}") }
}

/// Sanitizes a text to one line of at most `most` characters.
fn line(text: &str, most: usize) -> String {
    short(sanitize_line(text.trim()).into_owned(), most)
}

fn short(mut text: String, most: usize) -> String {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        text.push('…');
    }
    text
}
