//! Our conversation → a Chat Completions body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the bytes of the shorter (providers cache by
//! prefix). Opaque data goes back only to the codec and model that made it.

use serde_json::{Map, Value, json};

use super::decode::ECHOED_FIELD;
use super::{EffortStyle, MaxTokensField, Quirks, UsageOption, WIRE};
use crate::message::{
    AssistantMessage, Message, PartKind, ReturnPart, StopKind, ToolCall, ToolReturn, UserPart,
};
use crate::provider::wire_text::{self, WireIds, clean};
use crate::provider::{ErrorClass, ModelRequest, ProviderError, ThinkingLevel, ToolChoice};

/// The body's bytes.
pub fn body(request: &ModelRequest, quirks: Quirks) -> Result<Vec<u8>, ProviderError> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    set("model", json!(request.model));
    set("messages", Value::Array(messages(request)?));
    if !request.tools.is_empty() {
        set("tools", tools(request));
        if request.tool_choice == ToolChoice::None {
            set("tool_choice", json!("none"));
        }
    }
    if let Some(limit) = request.max_output_tokens {
        match quirks.max_tokens {
            MaxTokensField::MaxCompletionTokens => set("max_completion_tokens", json!(limit)),
            MaxTokensField::MaxTokens => set("max_tokens", json!(limit)),
        }
    }
    if let (EffortStyle::ReasoningEffort, Some(effort)) = (quirks.effort, effort(request)) {
        set("reasoning_effort", json!(effort));
    }
    set("stream", json!(true));
    if quirks.usage == UsageOption::Ask {
        set("stream_options", json!({ "include_usage": true }));
    }
    serde_json::to_vec(&body).map_err(|error| ProviderError::new(ErrorClass::BadRequest, error.to_string()))
}

/// The effort's word, where the level asks for one that the model knows.
fn effort(request: &ModelRequest) -> Option<&'static str> {
    match request.thinking {
        ThinkingLevel::Default => None,
        ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High => Some("high"),
        // Only newer models can leave it out; the first gpt-5 has a least effort; others refuse the field.
        ThinkingLevel::Off if request.model.starts_with("gpt-5.") => Some("none"),
        ThinkingLevel::Off if request.model.starts_with("gpt-5") => Some("minimal"),
        ThinkingLevel::Off => None,
    }
}

fn tools(request: &ModelRequest) -> Value {
    let tools = request.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.description, "parameters": tool.parameters },
        })
    });
    Value::Array(tools.collect())
}

fn messages(request: &ModelRequest) -> Result<Vec<Value>, ProviderError> {
    let mut list =
        List { messages: Vec::new(), user: Vec::new(), ids: WireIds::default(), model: &request.model };
    if !request.system.is_empty() {
        list.messages.push(json!({ "role": "system", "content": clean(&request.system) }));
    }
    for message in &request.messages {
        match message {
            Message::User { parts } => list.user.extend(parts.iter().map(user_item)),
            Message::Assistant(reply) => list.assistant(reply),
            Message::ToolReturns { returns } => list.returns(returns)?,
        }
    }
    list.flush_user();
    Ok(list.messages)
}

struct List<'a> {
    messages: Vec<Value>,
    /// What the next user message holds: user messages in a row become one.
    user: Vec<Value>,
    ids: WireIds,
    model: &'a str,
}

impl List<'_> {
    fn flush_user(&mut self) {
        let items = std::mem::take(&mut self.user);
        if items.is_empty() {
            return;
        }
        let texts: Option<Vec<&str>> =
            items.iter().map(|item| item.get("text").and_then(Value::as_str)).collect();
        let content = match texts {
            Some(texts) => json!(texts.join("\n\n")),
            None => Value::Array(items),
        };
        self.messages.push(json!({ "role": "user", "content": content }));
    }

    fn assistant(&mut self, reply: &AssistantMessage) {
        let calls: Vec<Value> = reply
            .parts
            .iter()
            .filter_map(|part| match &part.kind {
                PartKind::ToolCall(call) => {
                    let extra = wire_text::own(part.opaque.as_ref(), WIRE, self.model);
                    Some(call_item(call, &self.ids.assign(call), extra))
                }
                PartKind::Text { .. } | PartKind::Thinking { .. } | PartKind::Native => None,
            })
            .collect();
        let mut text = reply.text();
        if text.is_empty() && calls.is_empty() && reply.stop.kind == StopKind::Refusal {
            text = reply.stop.detail.clone().unwrap_or_default();
        }
        if text.is_empty() && calls.is_empty() {
            return;
        }
        self.flush_user();
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        message.insert("content".to_owned(), json!(clean(&text)));
        if !calls.is_empty() {
            if let Some(thinking) = self.echoed_thinking(reply) {
                message.insert(ECHOED_FIELD.to_owned(), json!(thinking));
            }
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        if let Some(details) = self.reasoning_details(reply) {
            message.insert("reasoning_details".to_owned(), details);
        }
        self.messages.push(Value::Object(message));
    }

    /// Thinking that its own model demands back with a turn that calls tools.
    fn echoed_thinking(&self, reply: &AssistantMessage) -> Option<String> {
        let mut echoed: Option<String> = None;
        for part in &reply.parts {
            let own = wire_text::own(part.opaque.as_ref(), WIRE, self.model);
            let field = own.and_then(|data| data.get("field")).and_then(Value::as_str);
            match &part.kind {
                PartKind::Thinking { text } if field == Some(ECHOED_FIELD) => {
                    echoed.get_or_insert_default().push_str(&clean(text));
                }
                PartKind::Thinking { .. }
                | PartKind::Text { .. }
                | PartKind::ToolCall(_)
                | PartKind::Native => {}
            }
        }
        echoed
    }

    fn reasoning_details(&self, reply: &AssistantMessage) -> Option<Value> {
        reply.parts.iter().find_map(|part| {
            let data = wire_text::own(part.opaque.as_ref(), WIRE, self.model)?;
            data.get("reasoning_details").cloned()
        })
    }

    fn returns(&mut self, returns: &[ToolReturn]) -> Result<(), ProviderError> {
        self.flush_user();
        for returned in returns {
            let id = self.ids.of(&returned.call)?;
            let content = return_text(returned);
            self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": content }));
            // A tool message takes text only: pictures follow as the user's, and say whence they come.
            let images = returned.content.iter().filter_map(|part| match part {
                ReturnPart::Image { media_type, data } => Some(image_item(media_type, data)),
                ReturnPart::Text { .. } => None,
            });
            for image in images {
                let words = format!("[note from co: image returned by tool call {id}]");
                self.user.extend([json!({ "type": "text", "text": words }), image]);
            }
        }
        Ok(())
    }
}

fn user_item(part: &UserPart) -> Value {
    match part {
        UserPart::Text { text } => json!({ "type": "text", "text": clean(text) }),
        UserPart::Image { media_type, data } => image_item(media_type, data),
        UserPart::Note { kind, text } => json!({ "type": "text", "text": wire_text::note(kind, text) }),
    }
}

fn image_item(media_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{data}") } })
}

fn call_item(call: &ToolCall, id: &str, extra: Option<&Value>) -> Value {
    let arguments = wire_text::arguments(&call.args).to_string();
    let mut item = json!({
        "id": id,
        "type": "function",
        "function": { "name": wire_text::tool_name(call.name.as_str()), "arguments": clean(&arguments) },
    });
    if let (Some(item), Some(extra)) = (item.as_object_mut(), extra.and_then(Value::as_object)) {
        for (key, value) in extra {
            item.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    item
}

/// A return as text; this wire has no field for its status.
fn return_text(returned: &ToolReturn) -> String {
    let text = returned.text();
    let text = clean(&text);
    match wire_text::status_word(returned.status) {
        Some(word) => format!("[{word}] {text}"),
        None if text.is_empty() => "(no output)".to_owned(),
        None => text.into_owned(),
    }
}
