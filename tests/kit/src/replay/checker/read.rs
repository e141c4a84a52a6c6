//! Converts requests of every form into the one that is checked, and rejects errors of the form itself.

pub mod gemini;
pub mod ollama;
pub mod responses;

use serde_json::Value;

use super::{Call, Conversation, Entry, Finding, Order};
use co_engine::message::{AssistantMessage, Message, PartKind, StopKind};
use co_engine::provider::ModelRequest;

/// Converts a request in the program's own form. Its types ensure that it is well-formed.
pub fn request(request: &ModelRequest) -> Conversation {
    let entries = request.conversation().map(|message| match message {
        Message::User { .. } => Entry::User,
        Message::Assistant(reply) => assistant(reply),
        Message::ToolReturns { returns } => {
            Entry::Returns(returns.iter().map(|returned| returned.call.0.clone()).collect())
        }
    });
    Conversation { model: request.model.clone(), entries: entries.collect(), order: Order::AsCalled }
}

fn assistant(reply: &AssistantMessage) -> Entry {
    let calls =
        reply.calls().map(|call| Call { id: call.id.0.clone(), wire_id: call.wire_id.clone() }).collect();
    let (mut signatures, mut thinking) = (Vec::new(), Vec::new());
    for part in &reply.parts {
        match &part.kind {
            PartKind::Thinking { text } => thinking.push(text.clone()),
            PartKind::Text { .. } | PartKind::ToolCall(_) | PartKind::Native => continue,
        }
        let signature = part.opaque.as_ref().and_then(|opaque| opaque.data.get("signature"));
        signatures.extend(signature.and_then(Value::as_str).map(str::to_owned));
    }
    Entry::Assistant { calls, signatures, thinking, paused: reply.stop.kind == StopKind::PauseTurn }
}

/// Reads an Anthropic body. `paused`: the last reply asked to be continued, so a reply may come last.
pub fn anthropic(body: &Value, paused: bool) -> Result<Conversation, Finding> {
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|limit| limit == 0) {
        return Err(Finding::new("max_tokens: Field required"));
    }
    let mut conversation = Conversation { model: model(body)?, entries: Vec::new(), order: Order::Any };
    for (at, message) in messages(body)?.iter().enumerate() {
        let blocks = blocks(message, at)?;
        match text(message, "role") {
            "user" => user_blocks(&mut conversation, &blocks, at)?,
            "assistant" => conversation.entries.push(assistant_blocks(blocks, at, paused)?),
            role => {
                return Err(Finding::new(format!(
                    "messages.{at}.role: `{role}` is neither user nor assistant"
                )));
            }
        }
    }
    Ok(conversation)
}

fn model(body: &Value) -> Result<String, Finding> {
    match text(body, "model") {
        "" => Err(Finding::new("model: Field required")),
        model => Ok(model.to_owned()),
    }
}

fn messages(body: &Value) -> Result<&Vec<Value>, Finding> {
    body.get("messages").and_then(Value::as_array).ok_or_else(|| Finding::new("messages: Field required"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn blocks(message: &Value, at: usize) -> Result<Vec<&Value>, Finding> {
    let blocks: Vec<&Value> = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().collect(),
        Some(Value::String(text)) if !text.is_empty() => Vec::from([message]),
        Some(_) | None => Vec::new(),
    };
    if blocks.is_empty() {
        return Err(Finding::new(format!("messages.{at}: content must not be empty")));
    }
    let empty = |block: &&Value| text(block, "type") == "text" && text(block, "text").trim().is_empty();
    if blocks.iter().any(empty) {
        return Err(Finding::new(format!("messages.{at}: text content blocks must be non-empty")));
    }
    Ok(blocks)
}

fn user_blocks(conversation: &mut Conversation, blocks: &[&Value], at: usize) -> Result<(), Finding> {
    let returns = |block: &&Value| text(block, "type") == "tool_result";
    let (answers, said): (Vec<&Value>, Vec<&Value>) =
        blocks.iter().copied().partition(|block| returns(block));
    let first = blocks.iter().take_while(|block| returns(block)).count();
    if first != answers.len() {
        return Err(Finding::new(format!(
            "messages.{at}: tool_result blocks must come before anything else"
        )));
    }
    if !answers.is_empty() {
        let ids = answers.iter().map(|block| text(block, "tool_use_id").to_owned());
        conversation.entries.push(Entry::Returns(ids.collect()));
    }
    if !said.is_empty() {
        conversation.entries.push(Entry::User);
    }
    Ok(())
}

fn assistant_blocks(blocks: Vec<&Value>, at: usize, paused: bool) -> Result<Entry, Finding> {
    let (mut calls, mut signatures, mut thinking) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        match text(block, "type") {
            "tool_use" => {
                let id = text(block, "id");
                fits("id", id, 64, at)?;
                fits("name", text(block, "name"), 64, at)?;
                if !block.get("input").is_some_and(Value::is_object) {
                    return Err(Finding::new(format!("messages.{at}: tool_use.input: should be an object")));
                }
                calls.push(Call { id: id.to_owned(), wire_id: id.to_owned() });
            }
            "thinking" => match text(block, "signature") {
                "" => return Err(Finding::new(format!("messages.{at}: thinking.signature: Field required"))),
                signature => {
                    signatures.push(signature.to_owned());
                    thinking.push(text(block, "thinking").to_owned());
                }
            },
            _ => {}
        }
    }
    Ok(Entry::Assistant { calls, signatures, thinking, paused })
}

/// Checks that the services accept a name or id.
fn fits(what: &str, value: &str, longest: usize, at: usize) -> Result<(), Finding> {
    let fit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if value.is_empty() || value.len() > longest || !value.bytes().all(fit) {
        return Err(Finding::new(format!("messages.{at}: `{value}` is no valid {what}")));
    }
    Ok(())
}

/// Reads a Chat Completions body.
pub fn openai_chat(body: &Value) -> Result<Conversation, Finding> {
    let mut conversation = Conversation { model: model(body)?, entries: Vec::new(), order: Order::Any };
    for (at, message) in messages(body)?.iter().enumerate() {
        match text(message, "role") {
            "system" | "developer" if at == 0 => {}
            "user" => conversation.entries.push(chat_user(message, at)?),
            "assistant" => conversation.entries.push(chat_assistant(message, at)?),
            "tool" => {
                let id = text(message, "tool_call_id").to_owned();
                match conversation.entries.last_mut() {
                    Some(Entry::Returns(ids)) => ids.push(id),
                    Some(Entry::User | Entry::Assistant { .. }) | None => {
                        conversation.entries.push(Entry::Returns(vec![id]));
                    }
                }
            }
            role => return Err(Finding::new(format!("messages[{at}].role: `{role}` does not belong here"))),
        }
    }
    Ok(conversation)
}

fn chat_user(message: &Value, at: usize) -> Result<Entry, Finding> {
    match message.get("content") {
        Some(Value::String(_)) => Ok(Entry::User),
        Some(Value::Array(parts)) if !parts.is_empty() => Ok(Entry::User),
        Some(_) | None => Err(Finding::new(format!("messages[{at}].content: a user message says something"))),
    }
}

fn chat_assistant(message: &Value, at: usize) -> Result<Entry, Finding> {
    let listed = message.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if listed.is_empty() && text(message, "content").is_empty() {
        return Err(Finding::new(format!("messages[{at}]: an assistant message has content or tool calls")));
    }
    let mut calls = Vec::new();
    for call in listed {
        let id = text(call, "id");
        fits("id", id, 40, at)?;
        let function = call.get("function").unwrap_or(&Value::Null);
        fits("name", text(function, "name"), 64, at)?;
        let arguments = serde_json::from_str::<Value>(text(function, "arguments"));
        if !arguments.is_ok_and(|arguments| arguments.is_object()) {
            return Err(Finding::new(format!("messages[{at}]: the arguments of `{id}` are no JSON object")));
        }
        calls.push(Call { id: id.to_owned(), wire_id: id.to_owned() });
    }
    let details = message.get("reasoning_details").and_then(Value::as_array).into_iter().flatten();
    let signatures =
        details.filter_map(|item| item.get("signature").and_then(Value::as_str)).map(str::to_owned);
    let thinking = message.get("reasoning_content").and_then(Value::as_str).map(str::to_owned);
    // This wire allows an assistant message at the end.
    Ok(Entry::Assistant {
        calls,
        signatures: signatures.collect(),
        thinking: thinking.into_iter().collect(),
        paused: true,
    })
}
