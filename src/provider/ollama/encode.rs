//! Conversation → an `/api/chat` body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the content of the shorter. Opaque data
//! is sent back only to the codec and model that created it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::WIRE;
use super::decode::THINKING;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::{
    AssistantMessage, CallId, Message, PartKind, ReturnPart, ToolCall, ToolReturn, UserPart,
};
use crate::provider::wire_text::{self, WireIds, clean, level_of};
use crate::provider::{ErrorClass, ModelRequest, ProviderError, Sampling, ToolChoice};

/// Models that accept a level only, by the start of their names; used where the profile has no thinking
/// style.
const LEVELS: &[&str] = &["gpt-oss"];

/// Returns the body's bytes; `num_ctx` is the requested context in tokens.
pub fn body(request: &ModelRequest, num_ctx: u32) -> Result<Vec<u8>, ProviderError> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    set("model", json!(request.model));
    set("messages", Value::Array(messages(request)?));
    // This wire cannot express that tools exist and must not be used.
    if !request.tools.is_empty() && request.tool_choice != ToolChoice::None {
        set("tools", tools(request));
    }
    if let Some(think) = think(request) {
        set("think", think);
    }
    set("stream", json!(true));
    // An input that does not fit must fail, not be truncated silently; servers before 0.12.6 ignore these two
    // fields.
    set("truncate", json!(false));
    set("shift", json!(false));
    set("options", options(request, num_ctx));
    serde_json::to_vec(&body).map_err(|error| ProviderError::new(ErrorClass::BadRequest, error.to_string()))
}

fn options(request: &ModelRequest, num_ctx: u32) -> Value {
    let mut options = Map::new();
    options.insert("num_ctx".to_owned(), json!(num_ctx));
    if let Some(limit) = request.max_output_tokens {
        options.insert("num_predict".to_owned(), json!(limit));
    }
    if request.profile.sampling == Sampling::Free {
        options.extend(request.temperature.map(|value| ("temperature".to_owned(), json!(value))));
        options.extend(request.top_p.map(|value| ("top_p".to_owned(), json!(value))));
    }
    Value::Object(options)
}

/// Returns `think`: a level for models known to accept one, else a boolean. Models that do not think refuse
/// `true`.
fn think(request: &ModelRequest) -> Option<Value> {
    let name = request.model.rsplit('/').next().unwrap_or(&request.model);
    let style = match request.profile.thinking {
        ThinkingStyle::Unknown if LEVELS.iter().any(|start| name.starts_with(start)) => ThinkingStyle::Always,
        style => style,
    };
    let level = match request.thinking {
        ThinkingLevel::Default => return None,
        ThinkingLevel::Off => None,
        ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High => Some("high"),
        ThinkingLevel::Tokens(tokens) => Some(level_of(tokens)),
    };
    match (style, level) {
        (ThinkingStyle::Never, _) => None,
        (ThinkingStyle::Always, level) => Some(json!(level.unwrap_or("low"))),
        (ThinkingStyle::Levels, Some(level)) => Some(json!(level)),
        (ThinkingStyle::Unknown | ThinkingStyle::Budget, Some(_)) => Some(json!(true)),
        (ThinkingStyle::Unknown | ThinkingStyle::Budget | ThinkingStyle::Levels, None) => Some(json!(false)),
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
    let mut list = List::new(request);
    if !request.system.is_empty() {
        list.messages.push(json!({ "role": "system", "content": clean(&request.system) }));
    }
    for message in request.conversation() {
        match message {
            Message::User { parts } => parts.iter().for_each(|part| list.user_part(part)),
            Message::Assistant(reply) => list.assistant(reply),
            Message::ToolReturns { returns } => list.returns(returns)?,
        }
    }
    list.flush_user();
    Ok(list.messages)
}

struct List<'a> {
    messages: Vec<Value>,
    /// Texts and images of the next user message: consecutive user messages are merged.
    texts: Vec<String>,
    images: Vec<&'a str>,
    ids: WireIds,
    /// Tool names by call: a tool return must name its tool.
    names: HashMap<&'a CallId, &'a str>,
    request: &'a ModelRequest,
}

impl<'a> List<'a> {
    fn new(request: &'a ModelRequest) -> Self {
        Self {
            messages: Vec::new(),
            texts: Vec::new(),
            images: Vec::new(),
            ids: WireIds::default(),
            names: HashMap::new(),
            request,
        }
    }

    fn user_part(&mut self, part: &'a UserPart) {
        match part {
            UserPart::Text { text } => self.texts.push(clean(text).into_owned()),
            UserPart::Note { kind, text } => self.texts.push(wire_text::note(kind, text)),
            UserPart::Image { data, .. } => self.images.push(data),
        }
    }

    fn flush_user(&mut self) {
        let (texts, images) = (std::mem::take(&mut self.texts), std::mem::take(&mut self.images));
        if texts.is_empty() && images.is_empty() {
            return;
        }
        let mut message = json!({ "role": "user", "content": texts.join("\n\n") });
        if let (Some(message), false) = (message.as_object_mut(), images.is_empty()) {
            message.insert("images".to_owned(), json!(images));
        }
        self.messages.push(message);
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
        message.insert("content".to_owned(), json!(clean(&text)));
        if !calls.is_empty() {
            if let Some(thinking) = self.own_thinking(reply) {
                message.insert(THINKING.to_owned(), json!(thinking));
            }
            message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        self.messages.push(Value::Object(message));
    }

    /// Returns the thinking that is sent back with a reply that calls tools: a model continues from it, and
    /// the model's template drops it where it is not needed.
    fn own_thinking(&self, reply: &AssistantMessage) -> Option<String> {
        let mut thinking: Option<String> = None;
        for part in &reply.parts {
            let own = wire_text::own(part.opaque.as_ref(), WIRE, self.request);
            if let (PartKind::Thinking { text }, Some(_)) = (&part.kind, own) {
                thinking.get_or_insert_default().push_str(&clean(text));
            }
        }
        thinking
    }

    fn returns(&mut self, returns: &'a [ToolReturn]) -> Result<(), ProviderError> {
        self.flush_user();
        for returned in returns {
            let id = self.ids.of(&returned.call)?.to_owned();
            let name = self.names.get(&returned.call).copied().unwrap_or_default();
            self.messages.push(json!({
                "role": "tool",
                "tool_name": wire_text::tool_name(name),
                "tool_call_id": id,
                "content": wire_text::return_text(returned),
            }));
            // Templates show only a tool's text: images follow in a user message that names their tool call.
            for part in &returned.content {
                if let ReturnPart::Image { data, .. } = part {
                    self.texts.push(format!("[note from co: image returned by tool call {id}]"));
                    self.images.push(data);
                }
            }
        }
        Ok(())
    }
}

fn call_item(call: &ToolCall, id: &str, extra: Option<&Value>) -> Value {
    let mut function = json!({
        "name": wire_text::tool_name(call.name.as_str()),
        "arguments": wire_text::arguments(&call.args),
    });
    let fields = |key: &str| extra.and_then(|extra| extra.get(key)).and_then(Value::as_object);
    wire_text::extend(&mut function, fields("function"));
    let mut item = json!({ "id": id, "function": function });
    wire_text::extend(&mut item, fields("call"));
    item
}
