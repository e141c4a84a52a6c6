//! Conversation → a Gemini request body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the contents of the shorter (the
//! service caches by prefix). User and model alternate: neighbouring messages of one role become one content.
//! Opaque data is sent back only to the codec and model that created it.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::signatures::{self, SIGNATURE};
use super::{NO_SIGNATURE, WIRE, demands_signatures, schema, thinking};
use crate::message::{
    AssistantMessage, AssistantPart, CallId, Message, PartKind, ReturnPart, ToolCall, ToolReturn, UserPart,
};
use crate::provider::message_list::AlternatingMessages;
use crate::provider::wire_text::{self, Body, clean, no_such_call};
use crate::provider::{ModelRequest, ProviderError, ToolChoice, ToolSchema};

/// The longest function name that the service accepts, in bytes.
const LONGEST_NAME: usize = 64;

/// Returns the body's bytes.
pub fn body(request: &ModelRequest) -> Result<Vec<u8>, ProviderError> {
    let mut body = Body::default();
    if !request.system.is_empty() {
        body.set("systemInstruction", json!({ "parts": [{ "text": clean(&request.system) }] }));
    }
    if !request.tools.is_empty() {
        body.set_tools(
            &request.tools,
            "gemini",
            || json!([{ "functionDeclarations": declarations(request) }]),
        );
        let mode = match request.tool_choice {
            ToolChoice::Auto => "AUTO",
            ToolChoice::Required => "ANY",
            ToolChoice::None => "NONE",
        };
        body.set("toolConfig", json!({ "functionCallingConfig": { "mode": mode } }));
    }
    let config = generation_config(request);
    if !config.is_empty() {
        body.set("generationConfig", config.into_value()?);
    }
    body.set("contents", Value::Array(contents(request)?));
    body.into_bytes()
}

fn declarations(request: &ModelRequest) -> Vec<Value> {
    let declared = request.tools.iter().map(|ToolSchema { name, description, parameters }| {
        let mut declared = json!({ "name": function_name(name), "description": description });
        wire_text::set_some(&mut declared, "parameters", schema::parameters(parameters));
        declared
    });
    declared.collect()
}

fn generation_config(request: &ModelRequest) -> Body {
    let mut config = Body::default();
    config.set_some("maxOutputTokens", request.max_output_tokens);
    config.sampling(request, ["temperature", "topP"]);
    config.set_some("thinkingConfig", thinking::config(request));
    config
}

fn contents(request: &ModelRequest) -> Result<Vec<Value>, ProviderError> {
    let mut parts =
        ContentParts { contents: AlternatingMessages::new("parts"), calls: HashMap::new(), request };
    for message in request.conversation() {
        match message {
            Message::User { parts: said } => {
                parts.contents.add("user", said.iter().filter_map(user_part).collect());
            }
            Message::Assistant(reply) => parts.assistant(reply),
            Message::ToolReturns { returns } => parts.returns(returns)?,
        }
    }
    parts.contents.into_messages()
}

struct ContentParts<'a> {
    contents: AlternatingMessages,
    calls: HashMap<&'a CallId, SentCall<'a>>,
    request: &'a ModelRequest,
}

/// A call as sent: its return must use the same name and id.
struct SentCall<'a> {
    name: Cow<'a, str>,
    /// Only where the server gave one.
    id: Option<&'a str>,
}

impl<'a> ContentParts<'a> {
    fn assistant(&mut self, reply: &'a AssistantMessage) {
        let mut parts = Vec::new();
        for part in &reply.parts {
            self.part(part, &mut parts);
        }
        if demands_signatures(&self.request.model) {
            let first = parts.iter_mut().find(|part| part.get("functionCall").is_some());
            if let Some(first) = first.and_then(Value::as_object_mut) {
                first.entry(SIGNATURE).or_insert_with(|| json!(NO_SIGNATURE));
            }
        }
        self.contents.add("model", parts);
    }

    fn part(&mut self, part: &'a AssistantPart, parts: &mut Vec<Value>) {
        let own = wire_text::own(part.opaque.as_ref(), WIRE, self.request);
        match &part.kind {
            // Signed text must go back unchanged and in the same place.
            PartKind::Text { text } => {
                parts.extend(signatures::split(text, own).into_iter().filter_map(|span| match span {
                    ("", None) => None,
                    (text, None) => Some(json!({ "text": clean(text) })),
                    (text, Some(signature)) => Some(json!({ "text": text, SIGNATURE: signature })),
                }));
            }
            PartKind::Thinking { text } => {
                parts.extend(signatures::split(text, own).into_iter().filter_map(|(text, signature)| {
                    Some(json!({ "text": text, "thought": true, SIGNATURE: signature? }))
                }));
            }
            PartKind::ToolCall(call) => parts.push(self.call(call, own)),
            PartKind::Native => parts.extend(own.filter(|data| data.is_object()).cloned()),
        }
    }

    fn call(&mut self, call: &'a ToolCall, own: Option<&'a Value>) -> Value {
        let text = |key: &str| own.and_then(|own| own.get(key)).and_then(Value::as_str);
        let (name, id) = (function_name(call.name.as_str()), text("id"));
        let mut function = json!({ "name": name, "args": wire_text::arguments(&call.args) });
        wire_text::set_some(&mut function, "id", id);
        let mut part = json!({ "functionCall": function });
        wire_text::set_some(&mut part, SIGNATURE, text(SIGNATURE));
        self.calls.insert(&call.id, SentCall { name, id });
        part
    }

    /// Appends the tool returns of one reply: one content, in the number and order of the calls, followed by
    /// images.
    fn returns(&mut self, returns: &[ToolReturn]) -> Result<(), ProviderError> {
        let (mut parts, mut images) = (Vec::new(), Vec::new());
        for returned in returns {
            let sent = self.calls.get(&returned.call).ok_or_else(|| no_such_call(&returned.call))?;
            let mut response = json!({ "name": sent.name, "response": response(returned) });
            wire_text::set_some(&mut response, "id", sent.id);
            parts.push(json!({ "functionResponse": response }));
            for part in &returned.content {
                if let ReturnPart::Image { media_type, data } = part {
                    let words = format!("[note from co: image returned by {}]", sent.name);
                    images.extend([json!({ "text": words }), image(media_type, data)]);
                }
            }
        }
        parts.extend(images);
        self.contents.add("user", parts);
        Ok(())
    }
}

/// Returns a function's name in the form that the service accepts: it must not begin with a digit or a dash.
fn function_name(name: &str) -> Cow<'_, str> {
    let name = wire_text::tool_name(name);
    if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        return name;
    }
    let mut made = format!("_{name}");
    made.truncate(LONGEST_NAME);
    Cow::Owned(made)
}

/// Formats a tool return: an object with the field `output` for a success, else `error`.
fn response(returned: &ToolReturn) -> Value {
    let text = returned.text();
    match wire_text::status_word(returned.status) {
        Some(word) => json!({ "error": format!("[{word}] {}", clean(&text)) }),
        None => json!({ "output": clean(&text) }),
    }
}

fn user_part(part: &UserPart) -> Option<Value> {
    match part {
        UserPart::Text { text } if text.is_empty() => None,
        UserPart::Text { text } => Some(json!({ "text": clean(text) })),
        UserPart::Image { media_type, data } => Some(image(media_type, data)),
        UserPart::Note { kind, text } => Some(json!({ "text": wire_text::note(kind, text) })),
    }
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": media_type, "data": data } })
}
