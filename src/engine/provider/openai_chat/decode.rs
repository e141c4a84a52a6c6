//! Chat Completions chunks → stream events.
//!
//! Text and thinking parts end where the other kind begins; tool calls end with the reply, because no earlier
//! event of this protocol shows that their arguments are complete. A finish reason does not end the reply:
//! usage, and even another finish reason, may follow.

use serde_json::{Value, json};

use super::WIRE;
use super::calls::CallAssembler;
use super::details::ReasoningDetails;
use super::totals::{stop_reason, usage};
use crate::message::Usage;
use crate::provider::decoder::{CHAT, Protocol, is_error, malformed, refuse_other_wires, truncated};
use crate::provider::reply::{ReplyBuilder, TextKind};
use crate::provider::{ErrorClass, ProviderError, ReplyMetadata, classify};

/// Fields that carry reasoning, in order of preference: some hosts send two copies.
const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The field name for thinking that comes as content items (Mistral).
pub(super) const CONTENT_FIELD: &str = "content";

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatProtocol {
    reply: ReplyBuilder,
    calls: CallAssembler,
    details: ReasoningDetails,
    refusal: String,
    stop: Option<String>,
    usage: Option<Usage>,
}

impl ChatProtocol {
    fn chunk(&mut self, chunk: &Value) -> Result<(), ProviderError> {
        let choice = first_choice(chunk);
        let model = chunk.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        // A first chunk with only prompt filters does not name the model (Azure).
        if model.is_some() || choice.is_some() {
            self.reply.start(model);
        }
        if let Some(choice) = choice {
            let said = choice.get("delta").or_else(|| choice.get("message"));
            if let Some(said) = said {
                self.delta(said)?;
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                self.stop = Some(reason.to_owned());
            }
        }
        let groq = chunk.get("x_groq").and_then(|extra| extra.get("usage"));
        let within = choice.and_then(|choice| choice.get("usage"));
        let reported =
            [chunk.get("usage"), groq, within].into_iter().flatten().find(|usage| usage.is_object());
        self.usage = reported.map(usage).or(self.usage);
        Ok(())
    }

    fn delta(&mut self, delta: &Value) -> Result<(), ProviderError> {
        let reasoning = REASONING_FIELDS.iter().find_map(|field| {
            let text = delta.get(*field).and_then(Value::as_str).filter(|text| !text.is_empty())?;
            Some((*field, text))
        });
        if let Some((field, text)) = reasoning {
            self.reply.text(TextKind::Thinking(Some(field)), text);
        }
        if let Some(items) = delta.get("reasoning_details").and_then(Value::as_array) {
            for item in items {
                self.details.add(item, &mut self.reply)?;
            }
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.reply.text(TextKind::Answer, text),
            Some(Value::Array(items)) => self.content_items(items),
            Some(_) | None => {}
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str) {
            self.reply.hold(text.len())?;
            self.refusal.push_str(text);
        }
        self.tool_calls(delta)
    }

    /// Handles Mistral's content: a list of thinking and text items.
    fn content_items(&mut self, items: &[Value]) {
        let thinking = TextKind::Thinking(Some(CONTENT_FIELD));
        for item in items {
            if let Some(thoughts) = item.get("thinking").and_then(Value::as_array) {
                for thought in thoughts {
                    self.reply.text(thinking, item_text(thought));
                }
            } else {
                self.reply.text(TextKind::Answer, item_text(item));
            }
        }
    }

    fn tool_calls(&mut self, delta: &Value) -> Result<(), ProviderError> {
        let listed = delta.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // The legacy form, from before replies could hold several calls.
        let single = delta.get("function_call").filter(|call| call.is_object());
        let single = single.map(|call| json!({ "index": 0, "function": call }));
        if listed.is_empty() && single.is_none() {
            return Ok(());
        }
        self.reply.close();
        for (position, fragment) in listed.iter().chain(&single).enumerate() {
            self.calls.fragment(fragment, position, &mut self.reply)?;
        }
        self.calls.advance(&mut self.reply);
        Ok(())
    }

    /// Ends the reply: closes what is open and emits the stop reason.
    fn complete(&mut self) -> Result<(), ProviderError> {
        if self.stop.as_deref() == Some("error") {
            return Err(ProviderError::new(ErrorClass::Server, "the provider ended its reply with an error"));
        }
        self.reply.start(None);
        self.reply.close();
        self.calls.end(&mut self.reply);
        if let Some(details) = self.details.take() {
            self.reply.native(json!({ "reasoning_details": details }));
        }
        let stop = stop_reason(self.stop.as_deref(), &self.calls, &self.refusal);
        self.reply.finish(stop, self.usage.unwrap_or_default());
        Ok(())
    }
}

impl Protocol for ChatProtocol {
    fn new(model: &str) -> Self {
        Self {
            reply: ReplyBuilder::new(WIRE, model),
            calls: CallAssembler::default(),
            details: ReasoningDetails::default(),
            refusal: String::new(),
            stop: None,
            usage: None,
        }
    }

    fn event(&mut self, data: Value) -> Result<(), ProviderError> {
        if is_error(&data) {
            // An error may come in the same chunk as the last of the reply.
            if first_choice(&data).is_some() {
                self.chunk(&data)?;
            }
            return Err(classify::classify_value(&data));
        }
        refuse_other_wires(&data, CHAT)?;
        self.chunk(&data)
    }

    fn done_sentinel(&mut self) -> Result<(), ProviderError> {
        let said =
            self.stop.is_some() || self.usage.is_some() || self.reply.parts() > 0 || !self.calls.is_empty();
        if said {
            return self.complete();
        }
        Err(truncated("the server ended its stream without a reply"))
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        if self.stop.is_some() {
            return self.complete();
        }
        Err(truncated("the connection ended before the reply was complete"))
    }

    fn on_whole_body(&mut self, body: Value) -> Result<(), ProviderError> {
        refuse_other_wires(&body, CHAT)?;
        if first_choice(&body).is_none() {
            return Err(malformed(
                "the server's response has no `choices`: it is not a Chat Completions reply",
            ));
        }
        self.chunk(&body)?;
        self.complete()
    }

    fn reply(&mut self) -> &mut ReplyBuilder {
        &mut self.reply
    }

    fn metadata(&self) -> ReplyMetadata {
        let stop = self.stop.as_deref().map(|raw| stop_reason(Some(raw), &self.calls, &self.refusal));
        ReplyMetadata { model: self.reply.model(), stop, usage: self.usage.unwrap_or_default() }
    }
}

/// Returns the first choice; requests ask for only one. Some servers send an empty list with prompt filters
/// or usage.
fn first_choice(chunk: &Value) -> Option<&Value> {
    chunk.get("choices").and_then(Value::as_array).and_then(|choices| choices.first())
}

fn item_text(item: &Value) -> &str {
    item.get("text").and_then(Value::as_str).or_else(|| item.as_str()).unwrap_or_default()
}
