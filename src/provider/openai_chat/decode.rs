//! Chat Completions chunks → stream events.
//!
//! Text and thinking parts end where the other kind begins; tool calls end with the reply, because no earlier
//! event of this protocol shows that their arguments are complete. A finish reason does not end the reply:
//! usage, and even another finish reason, may follow.

use serde_json::{Value, json};

use super::WIRE;
use super::calls::Calls;
use super::details::Details;
use super::totals::{stop_reason, usage};
use crate::message::{Opaque, Usage};
use crate::provider::decoder::{CHAT, Held, Protocol, is_error, malformed, refuse_other_wires, truncated};
use crate::provider::{ErrorClass, ProviderError, Seen, StartKind, StreamEvent, classify};

/// Fields that carry reasoning, in order of preference: some hosts send two copies.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The field name for thinking that comes as content items (Mistral).
pub(super) const CONTENT_FIELD: &str = "content";

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatProtocol {
    /// As requested: opaque data is bound to this name.
    requested: String,
    /// The provider's name for the model; set with `Started`.
    named: Option<String>,
    open: Option<Open>,
    parts: usize,
    calls: Calls,
    details: Details,
    refusal: String,
    stop: Option<String>,
    usage: Option<Usage>,
    finished: bool,
    held: Held,
}

/// The open text or thinking part.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    index: usize,
    kind: Said,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    Text,
    /// Thinking, with the field that it came in.
    Thinking(&'static str),
}

impl ChatProtocol {
    pub fn new(model: &str) -> Self {
        Self {
            requested: model.to_owned(),
            named: None,
            open: None,
            parts: 0,
            calls: Calls::default(),
            details: Details::default(),
            refusal: String::new(),
            stop: None,
            usage: None,
            finished: false,
            held: Held::default(),
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let choice = first_choice(chunk);
        let model = chunk.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        // A first chunk with only prompt filters does not name the model (Azure).
        if model.is_some() || choice.is_some() {
            self.start(model, out);
        }
        if let Some(choice) = choice {
            let said = choice.get("delta").or_else(|| choice.get("message"));
            if let Some(said) = said {
                self.delta(said, out)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.stop = Some(reason.to_owned());
            }
        }
        let groq = chunk.get("x_groq").and_then(|extra| extra.get("usage"));
        let within = choice.and_then(|choice| choice.get("usage"));
        let told = [chunk.get("usage"), groq, within].into_iter().flatten().find(|usage| usage.is_object());
        if let Some(told) = told {
            self.usage = Some(usage(told));
        }
        Ok(())
    }

    fn start(&mut self, named: Option<&str>, out: &mut Vec<StreamEvent>) {
        if self.named.is_some() {
            return;
        }
        let model = named.unwrap_or(&self.requested).to_owned();
        self.named = Some(model.clone());
        out.push(StreamEvent::Started { model });
    }

    fn delta(&mut self, delta: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let reasoning = REASONING_FIELDS.iter().find_map(|field| {
            let text = delta.get(*field).and_then(Value::as_str).filter(|text| !text.is_empty())?;
            Some((*field, text))
        });
        if let Some((field, text)) = reasoning {
            self.say(Said::Thinking(field), text, out);
        }
        if let Some(items) = delta.get("reasoning_details").and_then(Value::as_array) {
            for item in items {
                self.details.add(item, &mut self.held)?;
            }
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.say(Said::Text, text, out),
            Some(Value::Array(items)) => self.content_items(items, out),
            Some(_) | None => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str) {
            self.held.add(text.len())?;
            self.refusal.push_str(text);
        }
        self.tool_calls(delta, out)
    }

    /// Handles Mistral's content: a list of thinking and text items.
    fn content_items(&mut self, items: &[Value], out: &mut Vec<StreamEvent>) {
        for item in items {
            if let Some(thoughts) = item.get("thinking").and_then(Value::as_array) {
                for thought in thoughts {
                    self.say(Said::Thinking(CONTENT_FIELD), text_of(thought), out);
                }
            } else {
                self.say(Said::Text, text_of(item), out);
            }
        }
    }

    fn tool_calls(&mut self, delta: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let listed = delta.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // The legacy form, from before replies could hold several calls.
        let single = delta.get("function_call").filter(|call| call.is_object());
        let single = single.map(|call| json!({ "index": 0, "function": call }));
        if listed.is_empty() && single.is_none() {
            return Ok(());
        }
        self.close(out);
        for (position, fragment) in listed.iter().chain(&single).enumerate() {
            self.calls.fragment(fragment, position, &mut self.held)?;
        }
        self.calls.advance(&mut self.parts, out);
        Ok(())
    }

    fn say(&mut self, kind: Said, text: &str, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let index = match &self.open {
            Some(open) if open.kind == kind => open.index,
            Some(_) | None => self.open_part(kind, out),
        };
        out.push(StreamEvent::PartDelta { index, delta: text.to_owned() });
    }

    fn open_part(&mut self, kind: Said, out: &mut Vec<StreamEvent>) -> usize {
        self.close(out);
        let index = self.parts;
        self.parts += 1;
        let start = match kind {
            Said::Text => StartKind::Text,
            Said::Thinking(_) => StartKind::Thinking,
        };
        out.push(StreamEvent::PartStarted { index, kind: start });
        self.open = Some(Open { index, kind });
        index
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(open) = self.open.take() else { return };
        let opaque = match open.kind {
            // The encoder decides whether it is sent back; only this reply shows which field it came in.
            Said::Thinking(field) => Some(self.opaque(json!({ "field": field }))),
            Said::Text => None,
        };
        out.push(StreamEvent::PartEnded { index: open.index, opaque });
    }

    fn opaque(&self, data: Value) -> Opaque {
        Opaque::new(WIRE, self.requested.as_str(), data)
    }

    /// Ends the reply: closes what is open and emits the stop reason.
    fn complete(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.stop.as_deref() == Some("error") {
            return Err(ProviderError::new(ErrorClass::Server, "the provider ended its reply with an error"));
        }
        self.start(None, out);
        self.close(out);
        self.calls.end(&mut self.parts, out, |data| Opaque::new(WIRE, self.requested.as_str(), data));
        if let Some(details) = self.details.take() {
            let index = self.parts;
            self.parts += 1;
            out.push(StreamEvent::PartStarted { index, kind: StartKind::Native });
            let opaque = Some(self.opaque(json!({ "reasoning_details": details })));
            out.push(StreamEvent::PartEnded { index, opaque });
        }
        self.finished = true;
        let stop = stop_reason(self.stop.as_deref(), &self.calls, &self.refusal);
        out.push(StreamEvent::Finished { stop, usage: self.usage.unwrap_or_default() });
        Ok(())
    }
}

impl Protocol for ChatProtocol {
    fn event(&mut self, data: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if is_error(data) {
            // An error may come in the same chunk as the last of the reply.
            if first_choice(data).is_some() {
                self.chunk(data, out)?;
            }
            return Err(classify::classify_value(data));
        }
        refuse_other_wires(data, CHAT)?;
        self.chunk(data, out)
    }

    fn done_sentinel(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let said = self.stop.is_some() || self.usage.is_some() || self.parts > 0 || !self.calls.is_empty();
        if said {
            return self.complete(out);
        }
        Err(truncated("the server ended its stream without a reply"))
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if self.stop.is_some() {
            return self.complete(out);
        }
        Err(truncated("the connection ended before the reply did"))
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        refuse_other_wires(body, CHAT)?;
        if first_choice(body).is_none() {
            return Err(malformed("the server's answer holds no `choices`: it is no Chat Completions reply"));
        }
        self.chunk(body, out)?;
        self.complete(out)
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn seen(&self) -> Seen {
        let stop = self.stop.as_deref().map(|raw| stop_reason(Some(raw), &self.calls, &self.refusal));
        Seen { model: self.named.clone(), stop, usage: self.usage.unwrap_or_default() }
    }
}

/// Returns the first choice; requests ask for only one. Some servers send an empty list with prompt filters
/// or usage.
fn first_choice(chunk: &Value) -> Option<&Value> {
    chunk.get("choices").and_then(Value::as_array).and_then(|choices| choices.first())
}

fn text_of(item: &Value) -> &str {
    item.get("text").and_then(Value::as_str).or_else(|| item.as_str()).unwrap_or_default()
}
