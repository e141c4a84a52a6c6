//! Reads an `/api/chat` body for the checker, as strictly as the server's own types do.

use serde_json::Value;

use super::super::{Call, Conversation, Entry, Finding, Order};
use super::{fits, messages, model, text};

pub fn read(body: &Value) -> Result<Conversation, Finding> {
    let mut conversation = Conversation { model: model(body)?, entries: Vec::new(), order: Order::Any };
    think(body)?;
    for (at, message) in messages(body)?.iter().enumerate() {
        if !message.get("content").is_none_or(Value::is_string) {
            return Err(Finding::new(format!("messages[{at}].content: must be a string")));
        }
        images(message, at)?;
        match text(message, "role") {
            "system" => {}
            "user" => conversation.entries.push(Entry::User),
            "assistant" => conversation.entries.push(assistant(message, at)?),
            "tool" => returned(&mut conversation, message, at)?,
            role => return Err(Finding::new(format!("messages[{at}].role: `{role}` does not belong here"))),
        }
    }
    Ok(conversation)
}

fn think(body: &Value) -> Result<(), Finding> {
    match body.get("think") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(Value::String(level)) if ["low", "medium", "high"].contains(&level.as_str()) => Ok(()),
        Some(other) => Err(Finding::new(format!("invalid think value: {other}"))),
    }
}

fn images(message: &Value, at: usize) -> Result<(), Finding> {
    match message.get("images") {
        None => Ok(()),
        Some(Value::Array(images)) if images.iter().all(|image| image.as_str().is_some_and(is_base64)) => {
            Ok(())
        }
        Some(_) => Err(Finding::new(format!("messages[{at}].images: must be strings of base64"))),
    }
}

fn is_base64(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    !text.is_empty() && text.bytes().all(fits)
}

fn assistant(message: &Value, at: usize) -> Result<Entry, Finding> {
    let listed = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut calls = Vec::new();
    for (number, call) in listed.iter().enumerate() {
        let function = call.get("function").unwrap_or(&Value::Null);
        fits("name", text(function, "name"), 64, at)?;
        if !function.get("arguments").is_some_and(Value::is_object) {
            return Err(Finding::new(format!(
                "messages[{at}]: the arguments of call {number} are no object"
            )));
        }
        let id = text(call, "id");
        // Ids are optional here; a call without one is identified by its position.
        let known = if id.is_empty() { format!("{at}.{number}") } else { id.to_owned() };
        calls.push(Call { id: known, wire_id: id.to_owned() });
    }
    let thinking = message.get("thinking").and_then(Value::as_str).map(str::to_owned);
    let thinking = thinking.into_iter().collect();
    // This wire allows an assistant message at the end.
    Ok(Entry::Assistant { calls, signatures: Vec::new(), thinking, paused: true })
}

/// Reads a return: it names its call, or belongs to the next one by position.
fn returned(conversation: &mut Conversation, message: &Value, at: usize) -> Result<(), Finding> {
    if text(message, "tool_name").is_empty() {
        return Err(Finding::new(format!("messages[{at}].tool_name: a return names its tool")));
    }
    if !matches!(conversation.entries.last(), Some(Entry::Returns(_))) {
        conversation.entries.push(Entry::Returns(Vec::new()));
    }
    let [.., before, Entry::Returns(ids)] = conversation.entries.as_mut_slice() else {
        return Err(Finding::new(format!("messages[{at}]: a return without a call before it")));
    };
    let calls: &[Call] = match before {
        Entry::Assistant { calls, .. } => calls,
        Entry::User | Entry::Returns(_) => &[],
    };
    let next = calls.get(ids.len()).map(|call| call.id.clone());
    let named = Some(text(message, "tool_call_id")).filter(|id| !id.is_empty()).map(str::to_owned);
    ids.push(named.or(next).unwrap_or_default());
    Ok(())
}
