//! Lines of `/api/chat` → stream events.
//!
//! Every line holds a fragment of the message; tool calls come complete, in a separate line or in the last
//! one. The reply is complete only with `done: true`.

use serde_json::{Map, Value, json};

use super::{WIRE, refused};
use crate::message::{StopKind, StopReason, Usage};
use crate::provider::decoder::{JsonBody, Protocol, is_error, refuse_other_wires};
use crate::provider::json_fields::{json_text, text_of};
use crate::provider::reply::{ReplyBuilder, TextKind};
use crate::provider::{ProviderError, ReplyMetadata, RetryHeaders, classify};

/// The field for thinking, in replies and in requests.
pub(super) const THINKING: &str = "thinking";

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OllamaProtocol {
    reply: ReplyBuilder,
    stop: Option<String>,
    usage: Usage,
}

impl OllamaProtocol {
    fn message(&mut self, message: &Value) {
        self.reply.text(TextKind::Thinking(Some(THINKING)), text_of(message, THINKING));
        self.reply.text(TextKind::Answer, text_of(message, "content"));
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call);
        }
    }

    /// Handles a tool call, which is always complete.
    fn call(&mut self, call: &Value) {
        let function = call.get("function").unwrap_or(&Value::Null);
        let index = self.reply.start_call(text_of(call, "id"), text_of(function, "name"));
        self.reply.delta(index, json_text(function.get("arguments")));
        self.reply.end_part(index, unknown_fields(call, function));
    }

    fn complete(&mut self, line: &Value) {
        let count = |key: &str| line.get(key).and_then(Value::as_u64);
        self.usage =
            Usage { input: count("prompt_eval_count"), output: count("eval_count"), ..Usage::default() };
        self.stop = line.get("done_reason").and_then(Value::as_str).map(str::to_owned);
        self.reply.finish(self.stop_reason(), self.usage);
    }

    fn stop_reason(&self) -> StopReason {
        let kind = match self.stop.as_deref() {
            None | Some("stop") if self.reply.calls() > 0 => StopKind::ToolUse,
            None | Some("stop") => StopKind::EndTurn,
            Some("length") => StopKind::MaxTokens,
            // `load` and `unload` end replies without a generation.
            Some(_) => StopKind::Other,
        };
        StopReason { kind, raw: self.stop.clone(), detail: None }
    }
}

impl Protocol for OllamaProtocol {
    const JSON: JsonBody = JsonBody::Events;

    fn new(model: &str) -> Self {
        Self { reply: ReplyBuilder::new(WIRE, model), stop: None, usage: Usage::default() }
    }

    fn event(&mut self, data: Value) -> Result<(), ProviderError> {
        if is_error(&data) {
            return Err(refused::with_advice(classify::classify_value(&data), &data));
        }
        let message = data.get("message");
        let done = data.get("done") == Some(&Value::Bool(true));
        if message.is_none() && !done {
            return refuse_other_wires(&data, "Ollama's own protocol");
        }
        self.reply.start(data.get("model").and_then(Value::as_str));
        if let Some(message) = message {
            self.message(message);
        }
        if done {
            self.complete(&data);
        }
        Ok(())
    }

    fn classify(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        let error = classify::classify_reply(status, headers, body);
        let value = serde_json::from_slice(body).unwrap_or(Value::Null);
        refused::with_advice(error, &value)
    }

    fn reply(&mut self) -> &mut ReplyBuilder {
        &mut self.reply
    }

    fn metadata(&self) -> ReplyMetadata {
        let stop = self.reply.is_finished().then(|| self.stop_reason());
        ReplyMetadata { model: self.reply.model(), stop, usage: self.usage }
    }
}

/// Returns the fields of a call that only this server understands, separately for the call and its function.
fn unknown_fields(call: &Value, function: &Value) -> Option<Value> {
    let unknown = |value: &Value, known: &[&str]| -> Map<String, Value> {
        let fields = value.as_object().into_iter().flatten();
        let unknown = fields.filter(|(key, field)| !known.contains(&key.as_str()) && !field.is_null());
        unknown.map(|(key, field)| (key.clone(), field.clone())).collect()
    };
    let of_call = unknown(call, &["id", "type", "function"]);
    let of_function = unknown(function, &["index", "name", "arguments"]);
    let any = !of_call.is_empty() || !of_function.is_empty();
    any.then(|| json!({ "call": of_call, "function": of_function }))
}
