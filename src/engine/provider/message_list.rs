//! Builds the list of messages of a request, for the encoders of several codecs.
//!
//! Chat Completions and Ollama share [`MessageList`]; wires on which user and assistant alternate share
//! [`AlternatingMessages`].

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::wire_text::{self, IdShape, WireIds, bad_request, clean};
use super::{ModelRequest, ProviderError};
use crate::message::{
    AssistantMessage, CallId, Message, PartKind, ReturnPart, ToolCall, ToolReturn, UserPart,
};

/// A part of a user message.
#[derive(Debug, Clone, PartialEq)]
pub enum UserItem<'a> {
    /// May be sent as it is.
    Text(Cow<'a, str>),
    Image {
        media_type: &'a str,
        /// In base64.
        data: &'a str,
    },
}

impl UserItem<'_> {
    /// Returns the text; `None` for an image.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// The form of messages on one wire.
pub trait MessageForm {
    /// The codec's name, to which opaque data is bound.
    const WIRE: &'static str;

    /// Returns a user message. `items` is not empty.
    fn user(&self, items: &[UserItem<'_>]) -> Value;

    /// Returns the message to insert between tool messages and a user message, if any.
    fn between(&self) -> Option<Value> {
        None
    }

    /// Returns an assistant message without its calls.
    fn assistant(&self, reply: &AssistantMessage, text: &str, has_calls: bool) -> Value;

    /// Returns a tool call; `own` is the data of this wire and model that came with it.
    fn call(&self, call: &ToolCall, id: &str, own: Option<&Value>) -> Value;

    /// Returns a tool message.
    fn tool_return(&self, tool: &str, id: &str, text: &str) -> Value;
}

/// The messages so far.
pub struct MessageList<'a, F> {
    form: &'a F,
    request: &'a ModelRequest,
    messages: Vec<Value>,
    /// The next user message: consecutive user messages are merged.
    user: Vec<UserItem<'a>>,
    ids: WireIds,
    /// Tool names by call: a tool message may have to name its tool.
    tools: HashMap<&'a CallId, &'a str>,
}

impl<'a, F: MessageForm> MessageList<'a, F> {
    /// Creates an empty list; all call ids will have the form `ids`.
    pub fn new(form: &'a F, ids: IdShape, request: &'a ModelRequest) -> Self {
        let ids = WireIds::with_shape(ids);
        Self { form, request, messages: Vec::new(), user: Vec::new(), ids, tools: HashMap::new() }
    }

    /// Appends the system prompt as a message of this role. Ignores an empty one.
    pub fn system(&mut self, role: &str, text: &str) {
        if !text.is_empty() {
            self.messages.push(json!({ "role": role, "content": clean(text) }));
        }
    }

    /// Appends text to the next user message. Ignores empty text.
    pub fn user_text(&mut self, text: &'a str) {
        if !text.is_empty() {
            self.user.push(UserItem::Text(clean(text)));
        }
    }

    /// Appends the conversation and returns all messages. Errs where a tool return has no call before it.
    pub fn with_conversation(mut self) -> Result<Vec<Value>, ProviderError> {
        for message in self.request.conversation() {
            match message {
                Message::User { parts } => self.user.extend(parts.iter().map(user_item)),
                Message::Assistant(reply) => self.assistant(reply),
                Message::ToolReturns { returns } => self.returns(returns)?,
            }
        }
        self.flush_user();
        Ok(self.messages)
    }

    fn flush_user(&mut self) {
        if self.user.is_empty() {
            return;
        }
        let role = self.messages.last().and_then(|last| last.get("role")).and_then(Value::as_str);
        if role == Some("tool") {
            self.messages.extend(self.form.between());
        }
        self.messages.push(self.form.user(&self.user));
        self.user.clear();
    }

    fn assistant(&mut self, reply: &'a AssistantMessage) {
        let mut calls = Vec::new();
        for part in &reply.parts {
            if let PartKind::ToolCall(call) = &part.kind {
                let own = wire_text::own(part.opaque.as_ref(), F::WIRE, self.request);
                calls.push(self.form.call(call, &self.ids.assign(call, reply, self.request), own));
                self.tools.insert(&call.id, call.name.as_str());
            }
        }
        let text = wire_text::spoken(reply);
        if text.is_empty() && calls.is_empty() {
            return;
        }
        self.flush_user();
        let mut message = self.form.assistant(reply, &clean(&text), !calls.is_empty());
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        self.messages.push(message);
    }

    fn returns(&mut self, returns: &'a [ToolReturn]) -> Result<(), ProviderError> {
        self.flush_user();
        for returned in returns {
            let id = self.ids.of(&returned.call)?;
            let tool = wire_text::tool_name(self.tools.get(&returned.call).copied().unwrap_or_default());
            self.messages.push(self.form.tool_return(&tool, id, &wire_text::return_text(returned)));
            // A tool message holds text only: images follow in a user message that names their tool call.
            for part in &returned.content {
                if let ReturnPart::Image { media_type, data } = part {
                    let note = format!("[note from co: image returned by tool call {id}]");
                    self.user.extend([UserItem::Text(note.into()), UserItem::Image { media_type, data }]);
                }
            }
        }
        Ok(())
    }
}

fn user_item(part: &UserPart) -> UserItem<'_> {
    match part {
        UserPart::Text { text } => UserItem::Text(clean(text)),
        UserPart::Note { kind, text } => UserItem::Text(wire_text::note(kind, text).into()),
        UserPart::Image { media_type, data } => UserItem::Image { media_type, data },
    }
}

/// Returns the thinking of a reply that this codec decoded for the requested model, with the field that it
/// came in.
pub fn own_thinking<'a>(
    reply: &'a AssistantMessage,
    wire: &str,
    request: &ModelRequest,
) -> Option<(&'a str, String)> {
    let mut thinking: Option<(&str, String)> = None;
    for part in &reply.parts {
        let own = wire_text::own(part.opaque.as_ref(), wire, request);
        let field = own.and_then(|data| data.get("field")).and_then(Value::as_str);
        if let (PartKind::Thinking { text }, Some(field)) = (&part.kind, field) {
            thinking.get_or_insert_with(|| (field, String::new())).1.push_str(&clean(text));
        }
    }
    thinking
}

/// Messages of which no two neighbours have the same role.
#[derive(Debug)]
pub struct AlternatingMessages {
    messages: Vec<Value>,
    /// The name of the field that holds a message's parts.
    field: &'static str,
}

impl AlternatingMessages {
    pub fn new(field: &'static str) -> Self {
        Self { messages: Vec::new(), field }
    }

    /// Appends parts: to the last message if it has the same role. Ignores an empty list.
    pub fn add(&mut self, role: &str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        let same = |last: &&mut Value| last.get("role").and_then(Value::as_str) == Some(role);
        let last = self.messages.last_mut().filter(same);
        match last.and_then(|last| last.get_mut(self.field)).and_then(Value::as_array_mut) {
            Some(before) => before.extend(parts),
            None => self.messages.push(json!({ "role": role, self.field: parts })),
        }
    }

    /// Returns the messages. Errs with [`ErrorClass::BadRequest`] where the first is not the user's.
    ///
    /// [`ErrorClass::BadRequest`]: super::ErrorClass::BadRequest
    pub fn into_messages(self) -> Result<Vec<Value>, ProviderError> {
        match self.messages.first().and_then(|first| first.get("role")).and_then(Value::as_str) {
            Some("user") => Ok(self.messages),
            Some(_) | None => Err(bad_request("the conversation must begin with what the user says")),
        }
    }
}
