//! Responses events → stream events.
//!
//! The JSON `type` identifies an event, not its `event:` line, which some hosts omit. The first and the last
//! events repeat the whole response; only what no earlier event contained is copied from them.

use serde_json::Value;

use super::WIRE;
use super::item::Section;
use super::item_positions::ItemPositions;
use super::output::OutputItems;
use super::totals::{ReplyEnd, stop_reason};
use crate::message::{StopReason, Usage};
use crate::provider::decoder::{
    CHAT, Protocol, RESPONSES, is_error, malformed, openai_usage, other_wire, truncated,
};
use crate::provider::json_fields::{string, text_of};
use crate::provider::reply::ReplyBuilder;
use crate::provider::{ProviderError, ReplyMetadata, classify};

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponsesProtocol {
    places: ItemPositions,
    /// With the builder of the reply.
    output: OutputItems,
    end: Option<ReplyEnd>,
    usage: Usage,
}

impl ResponsesProtocol {
    fn start(&mut self, response: &Value) {
        self.output.reply.start(response.get("model").and_then(Value::as_str));
    }

    /// Handles an event about an item. Other kinds are ignored: the item's end repeats their content.
    fn item(&mut self, kind: &str, data: &Value) -> Result<(), ProviderError> {
        let number = |key: &str| data.get(key).and_then(Value::as_u64).unwrap_or(0);
        let item = || data.get("item").unwrap_or(&Value::Null);
        let (at, delta) = (self.places.of(data, &mut self.output.reply)?, || text_of(data, "delta"));
        self.output.reply.start(None);
        match kind {
            "response.output_item.added" => self.output.added(at, item()),
            "response.output_item.done" => self.output.done(at, item()),
            "response.output_text.delta" => self.output.text(at, delta()),
            "response.refusal.delta" => self.output.refuse(at, delta()),
            "response.reasoning_summary_text.delta" => {
                self.output.thinking(at, Section::Summary(number("summary_index")), delta())
            }
            "response.reasoning_text.delta" => {
                self.output.thinking(at, Section::Content(number("content_index")), delta())
            }
            "response.function_call_arguments.delta" => self.output.arguments(at, delta()),
            _ => Ok(()),
        }
    }

    /// Handles the final response; `word` is its status where the response has none.
    fn end_with(&mut self, response: &Value, word: &str) -> Result<(), ProviderError> {
        self.start(response);
        let usage = |reported| openai_usage(reported, "input_tokens", "output_tokens");
        self.usage = response.get("usage").map(usage).unwrap_or_default();
        let status = string(response, "status");
        let end = match status.as_deref().unwrap_or(word) {
            "failed" => return Err(classify::classify_value(response)),
            "cancelled" => return Err(truncated("the server cancelled its reply")),
            "queued" | "in_progress" if word.is_empty() => {
                return Err(malformed("the server is still working on the reply in the background"));
            }
            "incomplete" => {
                let details = response.get("incomplete_details");
                ReplyEnd::Incomplete(details.and_then(|details| string(details, "reason")))
            }
            _ => ReplyEnd::Completed,
        };
        let output = response.get("output").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.output.close(output)?;
        self.output.reply.finish(self.stop_reason(&end), self.usage);
        self.end = Some(end);
        Ok(())
    }

    fn stop_reason(&self, end: &ReplyEnd) -> StopReason {
        stop_reason(end, self.output.reply.calls(), self.output.refusal())
    }
}

impl Protocol for ResponsesProtocol {
    fn new(model: &str) -> Self {
        Self {
            places: ItemPositions::default(),
            output: OutputItems::new(ReplyBuilder::new(WIRE, model)),
            end: None,
            usage: Usage::default(),
        }
    }

    fn event(&mut self, data: Value) -> Result<(), ProviderError> {
        if is_error(&data) {
            return Err(classify::classify_value(&data));
        }
        let kind = text_of(&data, "type");
        let response = || data.get("response").unwrap_or(&Value::Null);
        match kind {
            "response.created" | "response.queued" | "response.in_progress" => {
                self.start(response());
                Ok(())
            }
            "response.completed" | "response.done" => self.end_with(response(), "completed"),
            "response.incomplete" => self.end_with(response(), "incomplete"),
            "response.failed" => self.end_with(response(), "failed"),
            "response.cancelled" => self.end_with(response(), "cancelled"),
            kind if kind.starts_with("response.") => self.item(kind, &data),
            _ => refuse_other_wires(&data),
        }
    }

    fn on_whole_body(&mut self, body: Value) -> Result<(), ProviderError> {
        refuse_other_wires(&body)?;
        if !body.get("output").is_some_and(Value::is_array) {
            return Err(malformed("the server's response has no `output`: it is not a Responses reply"));
        }
        self.end_with(&body, "")
    }

    fn reply(&mut self) -> &mut ReplyBuilder {
        &mut self.output.reply
    }

    fn metadata(&self) -> ReplyMetadata {
        let stop = self.end.as_ref().map(|end| self.stop_reason(end));
        ReplyMetadata { model: self.output.reply.model(), stop, usage: self.usage }
    }
}

/// Errs where the value is of another known protocol. Unknown values pass.
fn refuse_other_wires(value: &Value) -> Result<(), ProviderError> {
    let Some(other) = other_wire(value, RESPONSES) else { return Ok(()) };
    let provider = if other == CHAT { "openai-compatible" } else { "anthropic" };
    Err(malformed(format!(
        "the server speaks {other}, not {RESPONSES}; set provider = \"{provider}\" for it, or check the base URL"
    )))
}
