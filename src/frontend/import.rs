//! Foreign conversations: our own export, message lists of the OpenAI and Anthropic APIs, and Claude Code's session
//! files. Pure.
//!
//! Whatever a file says, returns of tools are untrusted, and nothing in it allows anything. What cannot be
//! taken over is counted and named.

mod claude_code;
mod lists;

use serde_json::Value;

use super::export::{FORMAT, VERSION};
use crate::message::{CallId, Message, NoteKind, PartKind, Source, ToolName, Trust, UserPart};

/// A conversation that was read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedConversation {
    /// Who wrote the file.
    pub format: &'static str,
    pub title: Option<String>,
    pub messages: Vec<Message>,
    /// The kinds of parts that were left out, with the number of times.
    pub left_out: Vec<(&'static str, usize)>,
}

/// Why a file could not be imported; a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("it is neither JSON nor lines of JSON ({0})")]
    NotJson(String),
    #[error(
        "it has none of the known forms: an export of co as JSON, a list of messages of the OpenAI or Anthropic API, a session file of Claude Code"
    )]
    Unknown,
    #[error("it was exported by a newer co (version {0} of the form)")]
    Newer(u64),
    #[error("a message of it cannot be read ({0})")]
    Broken(String),
    #[error("it has no messages")]
    Empty,
}

/// Reads a conversation from the text of a file.
pub fn import(text: &str) -> Result<ImportedConversation, ImportError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let whole: Result<Value, _> = serde_json::from_str(text);
    let mut imported = match whole {
        Ok(Value::Object(document)) if document.get("format").and_then(Value::as_str) == Some(FORMAT) => {
            own(&document)?
        }
        Ok(Value::Object(document)) if document.contains_key("messages") => {
            lists::read(document.get("messages").unwrap_or(&Value::Null))?
        }
        Ok(Value::Array(messages)) => lists::read(&Value::Array(messages))?,
        Ok(line) if claude_code::is_line(&line) => claude_code::read(&[line])?,
        Ok(_) => return Err(ImportError::Unknown),
        Err(error) => match lines(text) {
            Some(lines) if lines.iter().any(claude_code::is_line) => claude_code::read(&lines)?,
            Some(lines) if lines.iter().all(|line| line.get("role").is_some()) => {
                lists::read(&Value::Array(lines))?
            }
            Some(_) => return Err(ImportError::Unknown),
            None => return Err(ImportError::NotJson(error.to_string())),
        },
    };
    if imported.messages.is_empty() {
        return Err(ImportError::Empty);
    }
    for message in &mut imported.messages {
        if let Message::ToolReturns { returns } = message {
            returns.iter_mut().for_each(|one| one.trust = Trust::Untrusted);
        }
    }
    imported.left_out.retain(|(_, count)| *count > 0);
    Ok(imported)
}

/// The lines as JSON; `None` if the first two are none. The last one may be cut off.
fn lines(text: &str) -> Option<Vec<Value>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first: Value = serde_json::from_str(lines.next()?).ok()?;
    let rest = lines.filter_map(|line| serde_json::from_str(line).ok());
    Some(std::iter::once(first).chain(rest).collect())
}

fn own(document: &serde_json::Map<String, Value>) -> Result<ImportedConversation, ImportError> {
    let version = document.get("version").and_then(Value::as_u64).unwrap_or(0);
    if version > u64::from(VERSION) {
        return Err(ImportError::Newer(version));
    }
    let messages = document.get("messages").cloned().unwrap_or_default();
    let mut messages: Vec<Message> =
        serde_json::from_value(messages).map_err(|error| ImportError::Broken(error.to_string()))?;
    let before = messages.len();
    messages.retain(|message| message.summary().is_none());
    let summaries = before - messages.len();
    distrust(&mut messages);
    let title = document.get("title").and_then(Value::as_str).map(str::to_owned);
    Ok(ImportedConversation { format: "co", title, messages, left_out: vec![("summaries", summaries)] })
}

/// Takes nothing on trust that the file says of itself: each call gets an id of its own, each return the tool of its call
/// as its source, and each note counts as text of others.
fn distrust(messages: &mut [Message]) {
    let mut number = 0;
    let mut open: Vec<(CallId, CallId, ToolName)> = Vec::new();
    for message in messages {
        match message {
            Message::User { parts } => {
                for part in parts {
                    if let UserPart::Note { kind, .. } = part {
                        *kind = NoteKind::Hook;
                    }
                }
            }
            Message::Assistant(reply) => {
                for part in &mut reply.parts {
                    if let PartKind::ToolCall(call) = &mut part.kind {
                        number += 1;
                        let id = CallId(format!("{number}:{}", call.wire_id));
                        open.push((std::mem::replace(&mut call.id, id.clone()), id, call.name.clone()));
                    }
                }
            }
            Message::ToolReturns { returns } => {
                for one in returns {
                    let name = match open.iter().position(|(old, ..)| *old == one.call) {
                        Some(at) => {
                            let (_, id, name) = open.remove(at);
                            one.call = id;
                            name
                        }
                        None => ToolName::new("unknown"),
                    };
                    one.source = Source::Tool { name };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
