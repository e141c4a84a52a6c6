//! Session files of Claude Code: a line of JSON for each message, linked by the ids of their parents.
//!
//! The conversation is the chain that ends at the last message; other branches and side chains are left out.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::lists::Builder;
use super::{ImportError, ImportedConversation};

/// Whether a line is one of such a file.
pub(super) fn is_line(line: &Value) -> bool {
    line.get("type").is_some() && (line.get("message").is_some() || line.get("sessionId").is_some())
        || (line.get("type").and_then(Value::as_str) == Some("summary") && line.get("leafUuid").is_some())
}

pub(super) fn read(lines: &[Value]) -> Result<ImportedConversation, ImportError> {
    let word = |line: &Value, key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    let summary = lines.iter().rfind(|line| word(line, "type").as_deref() == Some("summary"));
    let title = summary.and_then(|line| word(line, "summary"));
    let is_message = |line: &&Value| {
        let side = line.get("isSidechain").and_then(Value::as_bool) == Some(true);
        let meta = line.get("isMeta").and_then(Value::as_bool) == Some(true);
        line.get("message").is_some() && !side && !meta
    };
    let messages: Vec<&Value> = lines.iter().filter(is_message).collect();
    // Other kinds of lines are links of the chain, too.
    let by_id: HashMap<String, &Value> =
        lines.iter().filter_map(|line| Some((word(line, "uuid")?, line))).collect();
    let mut chain = Vec::new();
    let mut seen = HashSet::new();
    let mut at = messages.last().copied();
    while let Some(line) = at {
        if let Some(id) = word(line, "uuid")
            && !seen.insert(id)
        {
            // A circle: what was found so far is the conversation.
            break;
        }
        chain.push(line);
        let parent = ["parentUuid", "logicalParentUuid"].iter().find_map(|key| word(line, key));
        at = parent.and_then(|parent| by_id.get(&parent).copied());
    }
    chain.reverse();
    chain.retain(is_message);
    let branches = messages.len() - chain.len();
    let mut builder = Builder::default();
    for message in join_messages(&chain) {
        builder.take(&message);
    }
    let mut imported = builder.end("Claude Code", title);
    imported.left_out.push(("messages of other branches", branches));
    Ok(imported)
}

/// The messages of the lines; a reply in several lines, with a part in each, is one message.
fn join_messages(chain: &[&Value]) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for message in chain.iter().filter_map(|line| line.get("message")) {
        let id = message.get("id").filter(|id| id.is_string());
        match messages.last_mut() {
            Some(last) if id.is_some() && last.get("id") == id => {
                let more = message.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
                if let Some(Value::Array(parts)) = last.get_mut("content") {
                    parts.extend(more);
                }
            }
            Some(_) | None => messages.push(message.clone()),
        }
    }
    messages
}
