//! The form of messages that a host accepts.

use serde_json::{Map, Value, json};

use super::decode::CONTENT_FIELD;
use super::{
    AfterReturns, EmptyContent, OptionalField, Quirks, SystemRole, ThinkingBack, ThinkingField, WIRE,
};
use crate::message::{AssistantMessage, ToolCall};
use crate::provider::message_list::{MessageForm, MessageList, UserItem, own_thinking};
use crate::provider::wire_text::{self, clean};
use crate::provider::{ModelRequest, ProviderError};

/// The assistant text between tool messages and a user message, for hosts that require one there.
const BETWEEN: &str = "Understood.";

/// Returns the messages of a request, without cache marks. Errs where a tool return has no call before it.
pub fn messages(request: &ModelRequest, quirks: Quirks) -> Result<Vec<Value>, ProviderError> {
    let form = HostForm { request, quirks };
    let mut list = MessageList::new(&form, quirks.ids, request);
    match quirks.system_role {
        SystemRole::System => list.system("system", &request.system),
        SystemRole::Developer => list.system("developer", &request.system),
        SystemRole::User => list.user_text(&request.system),
    }
    list.with_conversation()
}

struct HostForm<'a> {
    request: &'a ModelRequest,
    quirks: Quirks,
}

impl HostForm<'_> {
    /// Returns the thinking to send back to its own model, after its field, where the host accepts it.
    fn thinking<'a>(&self, reply: &'a AssistantMessage, has_calls: bool) -> Option<(&'a str, String)> {
        let wanted = match self.quirks.thinking_back {
            ThinkingBack::Never => false,
            ThinkingBack::WithCalls => has_calls,
            ThinkingBack::Always => true,
        };
        let (came_in, text) = own_thinking(reply, WIRE, self.request).filter(|_| wanted)?;
        let field = match self.quirks.thinking_field {
            ThinkingField::AsItCame => came_in,
            ThinkingField::ReasoningContent => "reasoning_content",
            ThinkingField::Reasoning => "reasoning",
        };
        Some((field, text))
    }

    fn reasoning_details(&self, reply: &AssistantMessage) -> Option<Value> {
        reply.parts.iter().find_map(|part| {
            let data = wire_text::own(part.opaque.as_ref(), WIRE, self.request)?;
            data.get("reasoning_details").cloned()
        })
    }
}

impl MessageForm for HostForm<'_> {
    const WIRE: &'static str = WIRE;

    fn user(&self, items: &[UserItem<'_>]) -> Value {
        let content = match items.iter().map(UserItem::text).collect::<Option<Vec<&str>>>() {
            Some(texts) => json!(texts.join("\n\n")),
            None => items.iter().map(user_item).collect(),
        };
        json!({ "role": "user", "content": content })
    }

    fn between(&self) -> Option<Value> {
        match self.quirks.after_returns {
            AfterReturns::User => None,
            AfterReturns::Assistant => Some(json!({ "role": "assistant", "content": BETWEEN })),
        }
    }

    fn assistant(&self, reply: &AssistantMessage, text: &str, has_calls: bool) -> Value {
        let content = match self.quirks.empty_content {
            EmptyContent::Null if text.is_empty() => Value::Null,
            EmptyContent::Null | EmptyContent::Empty => json!(text),
        };
        let mut message = json!({ "role": "assistant", "content": content });
        // The details include the thinking and its signatures.
        if let Some(details) = self.reasoning_details(reply) {
            message["reasoning_details"] = details;
        } else if let Some(thinking) = self.thinking(reply, has_calls) {
            put_back(&mut message, thinking, text);
        }
        message
    }

    fn call(&self, call: &ToolCall, id: &str, own: Option<&Value>) -> Value {
        let arguments = wire_text::arguments(&call.args).to_string();
        let mut item = json!({
            "id": id,
            "type": "function",
            "function": { "name": wire_text::tool_name(call.name.as_str()), "arguments": clean(&arguments) },
        });
        wire_text::extend(&mut item, own.and_then(Value::as_object));
        item
    }

    fn tool_return(&self, tool: &str, id: &str, text: &str) -> Value {
        let mut message = json!({ "role": "tool", "tool_call_id": id, "content": text });
        if self.quirks.tool_result_name == OptionalField::Sent {
            message["name"] = json!(tool);
        }
        message
    }
}

/// Inserts thinking where it came from: in its field, or, for Mistral, in the content before the text.
fn put_back(message: &mut Value, (field, thinking): (&str, String), text: &str) {
    if field != CONTENT_FIELD {
        message[field] = json!(thinking);
        return;
    }
    let mut items = vec![json!({ "type": "thinking", "thinking": [text_item(&thinking)] })];
    if !text.is_empty() {
        items.push(text_item(text));
    }
    message["content"] = Value::Array(items);
}

fn user_item(item: &UserItem<'_>) -> Value {
    match item {
        UserItem::Text(text) => text_item(text),
        UserItem::Image { media_type, data } => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{data}") } })
        }
    }
}

fn text_item(text: &str) -> Value {
    json!({ "type": "text", "text": text })
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
