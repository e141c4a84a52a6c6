//! Lists of messages as the APIs of OpenAI (Chat Completions) and Anthropic (Messages) have them. One list may
//! mix both: each message is read by its own form.

use serde_json::{Map, Value};

use super::{ImportError, ImportedConversation};
use crate::message::{
    AssistantMessage, AssistantPart, CallId, Message, PartKind, ReturnPart, ReturnStatus, Source, StopKind,
    StopReason, ToolCall, ToolName, ToolReturn, Trust, UserPart,
};

/// Builds messages from those of a list.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) messages: Vec<Message>,
    anthropic: bool,
    calls: usize,
    system: usize,
    unknown: usize,
}

pub(super) fn read(list: &Value) -> Result<ImportedConversation, ImportError> {
    let Value::Array(list) = list else { return Err(ImportError::Unknown) };
    if !list.is_empty() && !list.iter().any(|message| message.get("role").is_some()) {
        return Err(ImportError::Unknown);
    }
    let mut builder = Builder::default();
    list.iter().for_each(|message| builder.take(message));
    let format = if builder.anthropic { "Anthropic messages" } else { "OpenAI messages" };
    Ok(builder.end(format, None))
}

impl Builder {
    pub(super) fn end(self, format: &'static str, title: Option<String>) -> ImportedConversation {
        let left_out = vec![("system prompts", self.system), ("parts of an unknown kind", self.unknown)];
        ImportedConversation { format, title, messages: self.messages, left_out }
    }

    /// Takes one message.
    pub(super) fn take(&mut self, message: &Value) {
        let content = message.get("content").unwrap_or(&Value::Null);
        match message.get("role").and_then(Value::as_str) {
            Some("user") => self.user(content),
            Some("assistant") => self.assistant(message, content),
            Some("tool" | "function") => {
                let call = ["tool_call_id", "name"].iter().find_map(|key| message.get(*key)?.as_str());
                self.add_return(call.unwrap_or_default(), content, ReturnStatus::Ok);
            }
            Some("system" | "developer") => self.system += 1,
            Some(_) | None => self.unknown += 1,
        }
    }

    fn user(&mut self, content: &Value) {
        let mut said = Vec::new();
        for part in parts(content) {
            match part.get("type").and_then(Value::as_str) {
                Some("text" | "input_text") => {
                    said.extend(text_of(&part).map(|text| UserPart::Text { text }));
                }
                Some("image" | "image_url" | "input_image") => match image(&part) {
                    Some((media_type, data)) => said.push(UserPart::Image { media_type, data }),
                    None => self.unknown += 1,
                },
                Some("tool_result") => {
                    self.anthropic = true;
                    let call = part.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
                    let failed = part.get("is_error").and_then(Value::as_bool) == Some(true);
                    let status = if failed { ReturnStatus::Failed } else { ReturnStatus::Ok };
                    self.add_return(call, part.get("content").unwrap_or(&Value::Null), status);
                }
                Some(_) | None => self.unknown += 1,
            }
        }
        if !said.is_empty() {
            self.messages.push(Message::User { parts: said });
        }
    }

    fn assistant(&mut self, message: &Value, content: &Value) {
        let mut built = Vec::new();
        for part in parts(content) {
            match part.get("type").and_then(Value::as_str) {
                Some("text" | "output_text" | "refusal") => {
                    built.extend(text_of(&part).map(|text| PartKind::Text { text }));
                }
                Some("tool_use") => {
                    self.anthropic = true;
                    let word = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
                    let args = part.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new()));
                    built.push(self.call(word("id"), word("name"), args));
                }
                // Thinking is bound to the service by signatures that are of no use elsewhere.
                Some("thinking" | "redacted_thinking") => self.anthropic = true,
                Some(_) | None => self.unknown += 1,
            }
        }
        let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
        for one in calls {
            let function = one.get("function").unwrap_or(one);
            let word =
                |of: &Value, key: &str| of.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let raw = function.get("arguments").cloned().unwrap_or_default();
            let args = match &raw {
                Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| raw.clone()),
                Value::Null => Value::Object(Map::new()),
                other => other.clone(),
            };
            built.push(self.call(&word(one, "id"), &word(function, "name"), args));
        }
        if built.is_empty() {
            return;
        }
        let has_calls = built.iter().any(|part| matches!(part, PartKind::ToolCall(_)));
        let stop = StopReason::new(if has_calls { StopKind::ToolUse } else { StopKind::EndTurn });
        let parts = built.into_iter().map(AssistantPart::new).collect();
        let model = message.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.messages.push(Message::Assistant(AssistantMessage { parts, asked: String::new(), model, stop }));
    }

    /// Adds a return; those of one reply are one message.
    fn add_return(&mut self, call: &str, content: &Value, status: ReturnStatus) {
        let mut texts = Vec::new();
        for part in parts(content) {
            match (text_of(&part), image(&part)) {
                (Some(text), _) => texts.push(ReturnPart::Text { text }),
                (None, Some((media_type, data))) => texts.push(ReturnPart::Image { media_type, data }),
                (None, None) => self.unknown += 1,
            }
        }
        if texts.is_empty() {
            texts.push(ReturnPart::Text { text: String::new() });
        }
        let (call, name) = match self.latest(call) {
            Some(known) => (known.id.clone(), known.name.clone()),
            // It answers nothing, so it will be left out.
            None => (CallId(call.to_owned()), ToolName::new("unknown")),
        };
        let source = Source::Tool { name };
        let one = ToolReturn { call, status, content: texts, source, trust: Trust::Untrusted, done: None };
        match self.messages.last_mut() {
            Some(Message::ToolReturns { returns }) => returns.push(one),
            Some(_) | None => self.messages.push(Message::ToolReturns { returns: vec![one] }),
        }
    }

    /// Returns the latest call with this id: some programs use an id again in each reply.
    fn latest(&self, wire_id: &str) -> Option<&ToolCall> {
        let replies = self.messages.iter().rev().filter_map(|message| match message {
            Message::Assistant(reply) => Some(reply),
            Message::User { .. } | Message::ToolReturns { .. } => None,
        });
        replies.take(4).flat_map(AssistantMessage::calls).find(|call| call.wire_id == wire_id)
    }

    fn call(&mut self, id: &str, name: &str, args: Value) -> PartKind {
        self.calls += 1;
        let name = ToolName::new(if name.is_empty() { "unknown" } else { name });
        let number = self.calls;
        PartKind::ToolCall(ToolCall {
            id: CallId(format!("{number}:{id}")),
            wire_id: id.to_owned(),
            name,
            args,
        })
    }
}

/// The parts of a content: a text counts as one.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        Value::Null => Vec::new(),
        other => vec![other.clone()],
    }
}

fn text_of(part: &Value) -> Option<String> {
    let text = ["text", "refusal"].iter().find_map(|key| part.get(*key)?.as_str());
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The media type and the base64 data of an image that is in the list itself.
fn image(part: &Value) -> Option<(String, String)> {
    if let Some(source) = part.get("source") {
        let media_type = source.get("media_type")?.as_str()?;
        return Some((media_type.to_owned(), source.get("data")?.as_str()?.to_owned()));
    }
    let url = part.get("image_url")?;
    let url = url.as_str().or_else(|| url.get("url")?.as_str())?;
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some((media_type.to_owned(), data.to_owned()))
}
