//! Conversation → an `/api/chat` body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the content of the shorter. Opaque data
//! is sent back only to the codec and model that created it.

use serde_json::{Value, json};

use super::WIRE;
use super::decode::THINKING;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::{AssistantMessage, ToolCall};
use crate::provider::message_list::{MessageForm, MessageList, UserItem, own_thinking};
use crate::provider::wire_text::{self, Body, IdShape, function_tool, level};
use crate::provider::{ModelRequest, ProviderError, ToolChoice};

/// Models that accept a level only, by the start of their names; used where the profile has no thinking
/// style.
const LEVELS: &[&str] = &["gpt-oss"];

/// Returns the body's bytes; `num_ctx` is the requested context in tokens.
pub fn body(request: &ModelRequest, num_ctx: u32) -> Result<Vec<u8>, ProviderError> {
    let mut body = Body::default();
    body.set("model", request.model.as_str());
    body.set("messages", Value::Array(messages(request)?));
    // This wire cannot express that tools exist and must not be used.
    if !request.tools.is_empty() && request.tool_choice != ToolChoice::None {
        body.set_tools(&request.tools, "ollama", || tools(request));
    }
    body.set_some("think", think(request));
    body.set("stream", true);
    // An input that does not fit must fail, not be truncated silently; servers before 0.12.6 ignore these two
    // fields.
    body.set("truncate", false);
    body.set("shift", false);
    body.set("options", options(request, num_ctx).into_value()?);
    body.into_bytes()
}

fn options(request: &ModelRequest, num_ctx: u32) -> Body {
    let mut options = Body::default();
    options.set("num_ctx", num_ctx);
    options.set_some("num_predict", request.max_output_tokens);
    options.sampling(request, ["temperature", "top_p"]);
    options
}

/// Returns `think`: a level for models known to accept one, else a boolean. Models that do not think refuse
/// `true`.
fn think(request: &ModelRequest) -> Option<Value> {
    let name = request.model.rsplit('/').next().unwrap_or(&request.model);
    let style = match request.profile.thinking {
        ThinkingStyle::Unknown if LEVELS.iter().any(|start| name.starts_with(start)) => ThinkingStyle::Always,
        style => style,
    };
    match (style, level(request.thinking)) {
        (ThinkingStyle::Never, _) => None,
        _ if request.thinking == ThinkingLevel::Default => None,
        (ThinkingStyle::Always, level) => Some(json!(level.unwrap_or("low"))),
        (ThinkingStyle::Levels, Some(level)) => Some(json!(level)),
        (ThinkingStyle::Unknown | ThinkingStyle::Budget, Some(_)) => Some(json!(true)),
        (ThinkingStyle::Unknown | ThinkingStyle::Budget | ThinkingStyle::Levels, None) => Some(json!(false)),
    }
}

fn tools(request: &ModelRequest) -> Vec<Value> {
    request.tools.iter().map(|tool| function_tool(tool, None)).collect()
}

fn messages(request: &ModelRequest) -> Result<Vec<Value>, ProviderError> {
    let form = OllamaForm { request };
    let mut list = MessageList::new(&form, IdShape::Any, request);
    list.system("system", &request.system);
    list.with_conversation()
}

struct OllamaForm<'a> {
    request: &'a ModelRequest,
}

impl MessageForm for OllamaForm<'_> {
    const WIRE: &'static str = WIRE;

    fn user(&self, items: &[UserItem<'_>]) -> Value {
        let (mut texts, mut images) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                UserItem::Text(text) => texts.push(text.as_ref()),
                UserItem::Image { data, .. } => images.push(data),
            }
        }
        let mut message = json!({ "role": "user", "content": texts.join("\n\n") });
        if !images.is_empty() {
            message["images"] = json!(images);
        }
        message
    }

    fn assistant(&self, reply: &AssistantMessage, text: &str, has_calls: bool) -> Value {
        let mut message = json!({ "role": "assistant", "content": text });
        // A model continues a reply that calls tools from its thinking; the model's template drops it where
        // it is not needed.
        if let (Some((_, thinking)), true) = (own_thinking(reply, WIRE, self.request), has_calls) {
            message[THINKING] = json!(thinking);
        }
        message
    }

    fn call(&self, call: &ToolCall, id: &str, own: Option<&Value>) -> Value {
        let mut function = json!({
            "name": wire_text::tool_name(call.name.as_str()),
            "arguments": wire_text::arguments(&call.args),
        });
        let fields = |key: &str| own.and_then(|own| own.get(key)).and_then(Value::as_object);
        wire_text::extend(&mut function, fields("function"));
        let mut item = json!({ "id": id, "function": function });
        wire_text::extend(&mut item, fields("call"));
        item
    }

    fn tool_return(&self, tool: &str, id: &str, text: &str) -> Value {
        json!({ "role": "tool", "tool_name": tool, "tool_call_id": id, "content": text })
    }
}
