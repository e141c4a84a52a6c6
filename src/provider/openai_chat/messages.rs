//! Builds the list of messages in the form that a host accepts.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::decode::CONTENT_FIELD;
use super::{
    AfterReturns, EmptyContent, Quirks, SystemRole, ThinkingBack, ThinkingField, ToolResultName, WIRE,
};
use crate::message::{
    AssistantMessage, CallId, Message, PartKind, ReturnPart, ToolCall, ToolReturn, UserPart,
};
use crate::provider::wire_text::{self, WireIds, clean};
use crate::provider::{ModelRequest, ProviderError};

/// The assistant text between tool messages and a user message, for hosts that require one there.
const BETWEEN: &str = "Understood.";

pub struct List<'a> {
    messages: Vec<Value>,
    /// The content of the next user message: consecutive user messages are merged.
    user: Vec<Value>,
    ids: WireIds,
    /// Tool names by call, for hosts whose tool messages name the tool.
    names: HashMap<&'a CallId, &'a str>,
    request: &'a ModelRequest,
    quirks: Quirks,
}

/// Thinking to send back, with the field that it came in.
struct Echo {
    field: String,
    text: String,
}

impl<'a> List<'a> {
    pub fn new(request: &'a ModelRequest, quirks: Quirks) -> Self {
        let ids = WireIds::shaped(quirks.ids);
        Self { messages: Vec::new(), user: Vec::new(), ids, names: HashMap::new(), request, quirks }
    }

    pub fn system(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let role = match self.quirks.system_role {
            SystemRole::System => "system",
            SystemRole::Developer => "developer",
            SystemRole::User => return self.user.push(text_item(text)),
        };
        self.messages.push(json!({ "role": role, "content": clean(text) }));
    }

    /// Appends a message. Errs where a tool return has no call before it.
    pub fn add(&mut self, message: &'a Message) -> Result<(), ProviderError> {
        match message {
            Message::User { parts } => {
                for part in parts {
                    let item = user_item(part);
                    self.user.push(item);
                }
            }
            Message::Assistant(reply) => self.assistant(reply),
            Message::ToolReturns { returns } => self.returns(returns)?,
        }
        Ok(())
    }

    pub fn finish(mut self) -> Vec<Value> {
        self.flush_user();
        self.messages
    }

    fn flush_user(&mut self) {
        let items = std::mem::take(&mut self.user);
        if items.is_empty() {
            return;
        }
        let after_returns = self.messages.last().is_some_and(|last| last.get("role") == Some(&json!("tool")));
        if after_returns && self.quirks.after_returns == AfterReturns::AssistantFirst {
            self.messages.push(json!({ "role": "assistant", "content": BETWEEN }));
        }
        let texts: Option<Vec<&str>> =
            items.iter().map(|item| item.get("text").and_then(Value::as_str)).collect();
        let content = match texts {
            Some(texts) => json!(texts.join("\n\n")),
            None => Value::Array(items),
        };
        self.messages.push(json!({ "role": "user", "content": content }));
    }

    fn assistant(&mut self, reply: &'a AssistantMessage) {
        let mut calls = Vec::new();
        for part in &reply.parts {
            if let PartKind::ToolCall(call) = &part.kind {
                let extra = wire_text::own(part.opaque.as_ref(), WIRE, self.request);
                calls.push(call_item(call, &self.ids.assign(call), extra));
                self.names.insert(&call.id, call.name.as_str());
            }
        }
        let text = wire_text::spoken(reply);
        if text.is_empty() && calls.is_empty() {
            return;
        }
        self.flush_user();
        let mut message = Map::new();
        message.insert("role".to_owned(), json!("assistant"));
        let content = match self.quirks.empty_content {
            EmptyContent::Null if text.is_empty() => Value::Null,
            EmptyContent::Null | EmptyContent::Empty => json!(clean(&text)),
        };
        message.insert("content".to_owned(), content);
        // The details include the thinking and its signatures.
        if let Some(details) = self.reasoning_details(reply) {
            message.insert("reasoning_details".to_owned(), details);
        } else if let Some(echo) = self.echo(reply, !calls.is_empty()) {
            put_back(&mut message, echo, &clean(&text));
        }
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        self.messages.push(Value::Object(message));
    }

    /// Returns the thinking to send back to its own model, where the host accepts it.
    fn echo(&self, reply: &AssistantMessage, has_calls: bool) -> Option<Echo> {
        let wanted = match self.quirks.thinking_back {
            ThinkingBack::Never => false,
            ThinkingBack::WithCalls => has_calls,
            ThinkingBack::Always => true,
        };
        if !wanted {
            return None;
        }
        let mut echo: Option<Echo> = None;
        for part in &reply.parts {
            let own = wire_text::own(part.opaque.as_ref(), WIRE, self.request);
            let came_in = own.and_then(|data| data.get("field")).and_then(Value::as_str);
            if let (PartKind::Thinking { text }, Some(came_in)) = (&part.kind, came_in) {
                let field = match self.quirks.thinking_field {
                    ThinkingField::AsItCame => came_in,
                    ThinkingField::ReasoningContent => "reasoning_content",
                    ThinkingField::Reasoning => "reasoning",
                };
                let new = || Echo { field: field.to_owned(), text: String::new() };
                echo.get_or_insert_with(new).text.push_str(&clean(text));
            }
        }
        echo
    }

    fn reasoning_details(&self, reply: &AssistantMessage) -> Option<Value> {
        reply.parts.iter().find_map(|part| {
            let data = wire_text::own(part.opaque.as_ref(), WIRE, self.request)?;
            data.get("reasoning_details").cloned()
        })
    }

    fn returns(&mut self, returns: &'a [ToolReturn]) -> Result<(), ProviderError> {
        self.flush_user();
        for returned in returns {
            let id = self.ids.of(&returned.call)?.to_owned();
            let content = wire_text::return_text(returned);
            let mut message = json!({ "role": "tool", "tool_call_id": id, "content": content });
            let name = self.names.get(&returned.call).copied().unwrap_or_default();
            if let (ToolResultName::Sent, Some(message)) =
                (self.quirks.tool_result_name, message.as_object_mut())
            {
                message.insert("name".to_owned(), json!(wire_text::tool_name(name)));
            }
            self.messages.push(message);
            // A tool message holds text only: images follow in a user message that names their tool call.
            for part in &returned.content {
                if let ReturnPart::Image { media_type, data } = part {
                    let words = format!("[note from co: image returned by tool call {id}]");
                    let image = image_item(media_type, data);
                    self.user.extend([text_item(&words), image]);
                }
            }
        }
        Ok(())
    }
}

/// Inserts thinking where it came from: in its field, or, for Mistral, in the content before the text.
fn put_back(message: &mut Map<String, Value>, echo: Echo, text: &str) {
    if echo.field != CONTENT_FIELD {
        message.insert(echo.field, json!(echo.text));
        return;
    }
    let mut items = vec![json!({ "type": "thinking", "thinking": [text_item(&echo.text)] })];
    if !text.is_empty() {
        items.push(text_item(text));
    }
    message.insert("content".to_owned(), Value::Array(items));
}

fn user_item(part: &UserPart) -> Value {
    match part {
        UserPart::Text { text } => text_item(text),
        UserPart::Image { media_type, data } => image_item(media_type, data),
        UserPart::Note { kind, text } => text_item(&wire_text::note(kind, text)),
    }
}

fn image_item(media_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{data}") } })
}

fn text_item(text: &str) -> Value {
    json!({ "type": "text", "text": clean(text) })
}

fn call_item(call: &ToolCall, id: &str, extra: Option<&Value>) -> Value {
    let arguments = wire_text::arguments(&call.args).to_string();
    let mut item = json!({
        "id": id,
        "type": "function",
        "function": { "name": wire_text::tool_name(call.name.as_str()), "arguments": clean(&arguments) },
    });
    wire_text::extend(&mut item, extra.and_then(Value::as_object));
    item
}

/// Marks the ends of prefixes to cache: of the system prompt, of the conversation, and of the previous
/// request's conversation.
pub fn mark(messages: &mut [Value]) {
    let role = |message: &Value, roles: &[&str]| {
        message.get("role").and_then(Value::as_str).is_some_and(|role| roles.contains(&role))
    };
    if let Some(first) = messages.first_mut()
        && role(first, &["system", "developer"])
    {
        markable(first).into_iter().for_each(mark_item);
    }
    let users = messages.iter_mut().rev().filter(|message| role(message, &["user", "tool"]));
    users.filter_map(markable).take(2).for_each(mark_item);
}

/// Returns a message's last text that is not blank, as a content part; blank text cannot be marked.
fn markable(message: &mut Value) -> Option<&mut Map<String, Value>> {
    let says = |text: &str| !text.trim().is_empty();
    let content = message.get_mut("content")?;
    if let Value::String(text) = content {
        if !says(text) {
            return None;
        }
        *content = json!([text_item(text)]);
    }
    let items = content.as_array_mut()?.iter_mut();
    let last = items.rev().find(|item| item.get("text").and_then(Value::as_str).is_some_and(says))?;
    last.as_object_mut()
}

fn mark_item(item: &mut Map<String, Value>) {
    item.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
}
