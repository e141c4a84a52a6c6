//! Lines of `/api/chat` → stream events.
//!
//! Every line holds a fragment of the message; tool calls come complete, in a separate line or in the last
//! one. The reply is complete only with `done: true`.

use serde_json::{Map, Value, json};

use super::{WIRE, refused};
use crate::message::{Opaque, StopKind, StopReason, Usage};
use crate::provider::decoder::{JsonBody, Protocol, is_error, refuse_other_wires, truncated};
use crate::provider::{ProviderError, Seen, StartKind, StreamEvent, classify};

/// The field for thinking, in replies and in requests.
pub(super) const THINKING: &str = "thinking";

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OllamaProtocol {
    /// As requested: opaque data is bound to this name.
    requested: String,
    /// The server's name for the model; set with `Started`.
    named: Option<String>,
    open: Option<Open>,
    parts: usize,
    calls: usize,
    stop: Option<String>,
    usage: Usage,
    finished: bool,
}

/// The open text or thinking part.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Open {
    index: usize,
    kind: Said,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    Text,
    Thinking,
}

impl OllamaProtocol {
    pub fn new(model: &str) -> Self {
        Self {
            requested: model.to_owned(),
            named: None,
            open: None,
            parts: 0,
            calls: 0,
            stop: None,
            usage: Usage::default(),
            finished: false,
        }
    }

    fn start(&mut self, named: Option<&str>, out: &mut Vec<StreamEvent>) {
        if self.named.is_none() {
            let model = named.filter(|name| !name.is_empty()).unwrap_or(&self.requested).to_owned();
            self.named = Some(model.clone());
            out.push(StreamEvent::Started { model });
        }
    }

    fn message(&mut self, message: &Value, out: &mut Vec<StreamEvent>) {
        self.say(Said::Thinking, text(message, THINKING), out);
        self.say(Said::Text, text(message, "content"), out);
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call, out);
        }
    }

    fn say(&mut self, kind: Said, delta: &str, out: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        let index = match self.open {
            Some(open) if open.kind == kind => open.index,
            Some(_) | None => self.open_part(kind, out),
        };
        out.push(StreamEvent::PartDelta { index, delta: delta.to_owned() });
    }

    fn open_part(&mut self, kind: Said, out: &mut Vec<StreamEvent>) -> usize {
        self.close(out);
        let start = match kind {
            Said::Text => StartKind::Text,
            Said::Thinking => StartKind::Thinking,
        };
        let index = self.begin(start, out);
        self.open = Some(Open { index, kind });
        index
    }

    fn begin(&mut self, kind: StartKind, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.parts;
        self.parts += 1;
        out.push(StreamEvent::PartStarted { index, kind });
        index
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(open) = self.open.take() else { return };
        let opaque = match open.kind {
            Said::Text => None,
            Said::Thinking => Some(self.bind(json!({ "field": THINKING }))),
        };
        out.push(StreamEvent::PartEnded { index: open.index, opaque });
    }

    fn bind(&self, data: Value) -> Opaque {
        Opaque::new(WIRE, self.requested.as_str(), data)
    }

    /// Handles a tool call, which is always complete.
    fn call(&mut self, call: &Value, out: &mut Vec<StreamEvent>) {
        self.close(out);
        self.calls += 1;
        let function = call.get("function").unwrap_or(&Value::Null);
        let (wire_id, name) = (text(call, "id").to_owned(), text(function, "name").to_owned());
        let index = self.begin(StartKind::ToolCall { wire_id, name }, out);
        let delta = match function.get("arguments") {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(arguments)) => arguments.clone(),
            Some(arguments) => arguments.to_string(),
        };
        if !delta.is_empty() {
            out.push(StreamEvent::PartDelta { index, delta });
        }
        let extra = unknown_fields(call, function);
        out.push(StreamEvent::PartEnded { index, opaque: extra.map(|data| self.bind(data)) });
    }

    fn complete(&mut self, line: &Value, out: &mut Vec<StreamEvent>) {
        let count = |key: &str| line.get(key).and_then(Value::as_u64);
        self.usage =
            Usage { input: count("prompt_eval_count"), output: count("eval_count"), ..Usage::default() };
        self.stop = line.get("done_reason").and_then(Value::as_str).map(str::to_owned);
        self.close(out);
        self.finished = true;
        out.push(StreamEvent::Finished { stop: self.stop_reason(), usage: self.usage });
    }

    fn stop_reason(&self) -> StopReason {
        let kind = match self.stop.as_deref() {
            None | Some("stop") if self.calls > 0 => StopKind::ToolUse,
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

    fn event(&mut self, data: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if is_error(data) {
            return Err(refused::explained(classify::classify_value(data), data));
        }
        let message = data.get("message");
        let done = data.get("done") == Some(&Value::Bool(true));
        if message.is_none() && !done {
            return refuse_other_wires(data, "Ollama's own protocol");
        }
        self.start(data.get("model").and_then(Value::as_str), out);
        if let Some(message) = message {
            self.message(message, out);
        }
        if done {
            self.complete(data, out);
        }
        Ok(())
    }

    /// Not part of this protocol; translating proxies send it.
    fn done_sentinel(&mut self, _out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        Err(truncated("the connection ended before the reply did"))
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.event(body, out)?;
        if self.finished { Ok(()) } else { self.end(out) }
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn seen(&self) -> Seen {
        let stop = self.finished.then(|| self.stop_reason());
        Seen { model: self.named.clone(), stop, usage: self.usage }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
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
