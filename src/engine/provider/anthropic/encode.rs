//! Conversation → an Anthropic Messages body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the content of the shorter: only the
//! cache marks move. Signed thinking is sent back only to the model that created it; unsigned thinking is
//! never sent.

use serde_json::{Value, json};

use super::{WIRE, thinking};
use crate::message::{AssistantMessage, AssistantPart, Message, PartKind, ReturnStatus, ToolReturn};
use crate::provider::message_list::AlternatingMessages;
use crate::provider::wire_text::{self, Body, WireIds, clean, user_part};
use crate::provider::{ModelRequest, ProviderError, ToolChoice, ToolSchema};

/// Returns the body's bytes.
pub fn body(request: &ModelRequest) -> Result<Vec<u8>, ProviderError> {
    let mut messages = messages(request)?;
    mark_messages(&mut messages);
    let asked = thinking::ask(request);
    let mut body = Body::default();
    body.set("model", request.model.as_str());
    body.set("max_tokens", asked.max_tokens);
    if !request.tools.is_empty() {
        body.set_tools(&request.tools, "anthropic", || tools(request));
        body.set_some("tool_choice", tool_choice(request));
    }
    if !request.system.trim().is_empty() {
        let mut block = json!({ "type": "text", "text": clean(&request.system) });
        mark(&mut block);
        body.set("system", json!([block]));
    }
    // A thinking budget is refused where the open tool loop does not begin with thinking.
    let possible = !asked.demands_signature || !begins_unsigned(&messages);
    if !(asked.thinks && possible) {
        body.sampling(request, ["temperature", "top_p"]);
    }
    body.set_some("thinking", asked.thinking.filter(|_| possible));
    body.set_some("output_config", asked.output_config);
    body.set_some("container", container(request));
    body.set("messages", Value::Array(messages));
    body.set("stream", true);
    body.into_bytes()
}

/// Returns the `tool_choice` field where it differs from the service's default.
fn tool_choice(request: &ModelRequest) -> Option<Value> {
    match (request.tool_choice, request.parallel_calls) {
        (ToolChoice::None, _) => Some(json!({ "type": "none" })),
        (ToolChoice::Auto, true) => None,
        (ToolChoice::Auto, false) => Some(json!({ "type": "auto", "disable_parallel_tool_use": true })),
        (ToolChoice::Required, true) => Some(json!({ "type": "any" })),
        (ToolChoice::Required, false) => Some(json!({ "type": "any", "disable_parallel_tool_use": true })),
    }
}

fn tools(request: &ModelRequest) -> Vec<Value> {
    let tools = request.tools.iter().map(|ToolSchema { name, description, parameters }| {
        json!({ "name": name, "description": description, "input_schema": parameters })
    });
    let mut tools: Vec<Value> = tools.collect();
    tools.last_mut().into_iter().for_each(mark);
    tools
}

/// Marks a block as the end of a prefix to cache.
fn mark(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

/// Marks the end of the conversation, and the end of the previous request: the service looks back only 20
/// blocks for a cached prefix. Together with those of system and tools these are the four marks that it
/// allows.
fn mark_messages(messages: &mut [Value]) {
    let users = messages.iter_mut().rev().filter(|message| message.get("role") == Some(&json!("user")));
    for message in users.take(2) {
        let content = message.get_mut("content").and_then(Value::as_array_mut);
        if let Some(last) = content.and_then(|content| content.last_mut()) {
            mark(last);
        }
    }
}

fn messages(request: &ModelRequest) -> Result<Vec<Value>, ProviderError> {
    let mut blocks =
        MessageBlocks { messages: AlternatingMessages::new("content"), ids: WireIds::default(), request };
    for message in request.conversation() {
        match message {
            Message::User { parts } => {
                blocks.messages.add(
                    "user",
                    parts.iter().filter_map(|part| user_part(part, "text", image_block)).collect(),
                );
            }
            Message::Assistant(reply) => blocks.assistant(reply),
            Message::ToolReturns { returns } => blocks.returns(returns)?,
        }
    }
    blocks.messages.into_messages()
}

struct MessageBlocks<'a> {
    messages: AlternatingMessages,
    ids: WireIds,
    request: &'a ModelRequest,
}

impl MessageBlocks<'_> {
    fn assistant(&mut self, reply: &AssistantMessage) {
        let mut blocks = Vec::new();
        for part in &reply.parts {
            blocks.extend(self.block(reply, part));
        }
        self.messages.add("assistant", blocks);
    }

    fn block(&mut self, reply: &AssistantMessage, part: &AssistantPart) -> Option<Value> {
        let own = wire_text::own(part.opaque.as_ref(), WIRE, self.request);
        match &part.kind {
            PartKind::Text { text } if text.trim().is_empty() => None,
            PartKind::Text { text } => {
                let mut block = json!({ "type": "text", "text": clean(text) });
                wire_text::extend(&mut block, own.and_then(Value::as_object));
                Some(block)
            }
            PartKind::Thinking { text } => {
                let signature = own?.get("signature").and_then(Value::as_str).filter(|s| !s.is_empty())?;
                // Signed text must go back unchanged.
                Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
            }
            PartKind::ToolCall(call) => {
                let mut block = json!({
                    "type": "tool_use",
                    "id": self.ids.assign(call, reply, self.request),
                    "name": wire_text::tool_name(call.name.as_str()),
                    "input": wire_text::arguments(&call.args),
                });
                wire_text::extend(&mut block, own.and_then(Value::as_object));
                Some(block)
            }
            PartKind::Native => own.filter(|data| data.get("type").is_some()).cloned(),
        }
    }

    /// Appends the tool returns of one reply: in one user message, before any other content.
    fn returns(&mut self, returns: &[ToolReturn]) -> Result<(), ProviderError> {
        let mut blocks = Vec::new();
        for returned in returns {
            let mut block = json!({
                "type": "tool_result",
                "tool_use_id": self.ids.of(&returned.call)?,
                "content": wire_text::return_content(returned, "text", image_block),
            });
            if let (Some(block), true) = (block.as_object_mut(), returned.status != ReturnStatus::Ok) {
                block.insert("is_error".to_owned(), json!(true));
            }
            blocks.push(block);
        }
        self.messages.add("user", blocks);
        Ok(())
    }
}

fn image_block(media_type: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
}

/// Whether the last message answers the calls of a reply that does not begin with thinking.
fn begins_unsigned(messages: &[Value]) -> bool {
    let first_kind = |message: &'_ Value| -> Option<String> {
        let first = message.get("content").and_then(Value::as_array)?.first()?;
        first.get("type").and_then(Value::as_str).map(str::to_owned)
    };
    let [.., reply, last] = messages else { return false };
    let answers = first_kind(last).as_deref() == Some("tool_result");
    answers && !matches!(first_kind(reply).as_deref(), Some("thinking" | "redacted_thinking"))
}

/// Returns the container that this model's last reply named, if any.
fn container(request: &ModelRequest) -> Option<Value> {
    request.conversation().rev().find_map(|message| match message {
        Message::Assistant(reply) => {
            reply.parts.iter().rev().find_map(|part| {
                wire_text::own(part.opaque.as_ref(), WIRE, request)?.get("container").cloned()
            })
        }
        Message::User { .. } | Message::ToolReturns { .. } => None,
    })
}
