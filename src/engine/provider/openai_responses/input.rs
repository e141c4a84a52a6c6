//! Conversation → input items.
//!
//! Reasoning comes directly before the item that followed it, and is sent back only with that item: where the
//! item is omitted, was changed or was cut off, its reasoning is omitted too, because the service refuses
//! reasoning without its item. Nothing is stored at the service, so no item is sent under the service's own
//! id; calls and their outputs are matched by `call_id`.

use serde_json::{Value, json};

use super::WIRE;
use super::output::{LATE, LATER, UNWRAPPED};
use crate::message::{AssistantMessage, Message, Opaque, PartKind, StopKind, ToolCall, ToolReturn, UserPart};
use crate::provider::json_fields::text_of;
use crate::provider::wire_text::{self, WireIds, clean, user_part};
use crate::provider::{ModelRequest, ProviderError};

/// Returns the input items of a request's conversation.
pub fn items(request: &ModelRequest) -> Result<Vec<Value>, ProviderError> {
    let mut list = InputItems { items: Vec::new(), ids: WireIds::default(), request };
    for message in request.conversation() {
        match message {
            Message::User { parts } => list.user(parts),
            Message::Assistant(reply) => list.assistant(reply),
            Message::ToolReturns { returns } => list.returns(returns)?,
        }
    }
    Ok(list.items)
}

struct InputItems<'a> {
    items: Vec<Value>,
    ids: WireIds,
    request: &'a ModelRequest,
}

impl InputItems<'_> {
    fn user(&mut self, parts: &[UserPart]) {
        let content: Vec<Value> =
            parts.iter().filter_map(|part| user_part(part, "input_text", image)).collect();
        if !content.is_empty() {
            self.items.push(json!({ "role": "user", "content": content }));
        }
    }

    fn assistant(&mut self, reply: &AssistantMessage) {
        let before = self.items.len();
        let mut reasoning = Vec::new();
        for part in &reply.parts {
            let own = self.own(reply, part.opaque.as_ref());
            match &part.kind {
                PartKind::Thinking { .. } => {
                    let whole = own.and_then(|data| match data.get(LATER).and_then(Value::as_u64) {
                        Some(at) => self.late(reply, at),
                        None => Some(data),
                    });
                    reasoning.extend(whole.and_then(reasoning_item));
                }
                PartKind::Native if own.is_some_and(|data| data.get(LATE).is_some()) => {}
                PartKind::Native => self.follow(&mut reasoning, own.filter(|data| is_item(data)).cloned()),
                PartKind::Text { text } => self.follow(&mut reasoning, message_item(text, own)),
                PartKind::ToolCall(call) => {
                    if own.is_some_and(|data| data.get(UNWRAPPED).is_some()) {
                        reasoning.clear();
                    }
                    let item = call_item(call, &self.ids.assign(call, reply, self.request));
                    self.follow(&mut reasoning, Some(item));
                }
            }
        }
        // The text of a refusal is not stored as a part.
        if let (true, StopKind::Refusal, Some(words)) =
            (self.items.len() == before, reply.stop.kind, &reply.stop.detail)
        {
            self.items.extend(message_item(words, None));
        }
    }

    /// Appends an item after `reasoning`; without an item the reasoning is dropped.
    fn follow(&mut self, reasoning: &mut Vec<Value>, item: Option<Value>) {
        let before = std::mem::take(reasoning);
        if let Some(item) = item {
            self.items.extend(before);
            self.items.push(item);
        }
    }

    /// Returns the data of a part that this model must get back. `None` for a reply that was refused or cut
    /// off, because some of its parts are missing.
    fn own<'b>(&self, reply: &AssistantMessage, opaque: Option<&'b Opaque>) -> Option<&'b Value> {
        if matches!(reply.stop.kind, StopKind::Refusal | StopKind::Interrupted) {
            None
        } else {
            wire_text::own(opaque, WIRE, self.request)
        }
    }

    /// Returns the reasoning item whose part had ended before the item was complete.
    fn late<'b>(&self, reply: &'b AssistantMessage, at: u64) -> Option<&'b Value> {
        reply.parts.iter().find_map(|part| {
            let data = self.own(reply, part.opaque.as_ref())?;
            data.get("item").filter(|_| data.get(LATE).and_then(Value::as_u64) == Some(at))
        })
    }

    fn returns(&mut self, returns: &[ToolReturn]) -> Result<(), ProviderError> {
        for returned in returns {
            let id = self.ids.of(&returned.call)?;
            let output = wire_text::return_content(returned, "input_text", image);
            self.items.push(json!({ "type": "function_call_output", "call_id": id, "output": output }));
        }
        Ok(())
    }
}

fn is_item(data: &Value) -> bool {
    !text_of(data, "type").is_empty()
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "input_image", "image_url": format!("data:{media_type};base64,{data}") })
}

/// Builds a message of the model; `own` may hold its phase.
fn message_item(text: &str, own: Option<&Value>) -> Option<Value> {
    if text.trim().is_empty() {
        return None;
    }
    let content = json!([{ "type": "output_text", "text": clean(text) }]);
    let mut message = json!({ "role": "assistant", "content": content });
    wire_text::set_some(&mut message, "phase", own.and_then(|data| data.get("phase")));
    Some(message)
}

/// Builds reasoning that the service can read again: encrypted, or in plain text (`DeepSeek`, gpt-oss), which
/// must be sent back. Any other reasoning is only a summary for users.
fn reasoning_item(data: &Value) -> Option<Value> {
    if text_of(data, "type") != "reasoning" {
        return None;
    }
    let list = |key: &str| data.get(key).and_then(Value::as_array).filter(|list| !list.is_empty());
    let mut item = json!({ "type": "reasoning", "summary": list("summary").unwrap_or(&Vec::new()) });
    match (text_of(data, "encrypted_content"), list("content")) {
        ("", None) => return None,
        ("", Some(content)) => {
            item["content"] = json!(content);
            item["encrypted_content"] = Value::Null;
        }
        (encrypted, _) => item["encrypted_content"] = json!(encrypted),
    }
    Some(item)
}

fn call_item(call: &ToolCall, id: &str) -> Value {
    let arguments = wire_text::arguments(&call.args).to_string();
    json!({
        "type": "function_call",
        "call_id": id,
        "name": wire_text::tool_name(call.name.as_str()),
        "arguments": clean(&arguments),
    })
}
