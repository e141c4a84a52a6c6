//! Messages events → stream events.
//!
//! Blocks are identified by their wire index; part indices have no gaps and follow the order of the starts.
//! The reply is complete only at `message_stop`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::WIRE;
use super::block::ContentBlock;
use crate::message::{StopKind, StopReason, Usage};
use crate::provider::decoder::{MESSAGES, Protocol, is_error, malformed, refuse_other_wires, truncated};
use crate::provider::json_fields::{field, string};
use crate::provider::reply::ReplyBuilder;
use crate::provider::{ProviderError, ReplyMetadata, classify};

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct MessagesProtocol {
    reply: ReplyBuilder,
    id: Option<String>,
    /// Open blocks by their index on the wire.
    blocks: BTreeMap<u64, ContentBlock>,
    stop: StopFields,
    /// The reported usage; later values replace earlier ones.
    usage: Map<String, Value>,
    /// A server-side container that the next request must name.
    container: Option<Value>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct StopFields {
    reason: Option<String>,
    sequence: Option<String>,
    explanation: Option<String>,
}

impl MessagesProtocol {
    fn message_start(&mut self, message: &Value) -> Result<(), ProviderError> {
        let id = string(message, "id");
        if self.reply.is_started() {
            // Proxies repeat the start; a different message in mid-stream invalidates the reply so far.
            return match id == self.id || self.reply.parts() == 0 {
                true => Ok(()),
                false => Err(truncated("the server started another reply inside this one")),
            };
        }
        self.id = id;
        self.reply.start(string(message, "model").as_deref());
        self.add_usage(message);
        self.note_container(message);
        Ok(())
    }

    fn start_block(&mut self, at: u64, start: Value) -> Result<(), ProviderError> {
        self.reply.start(None);
        self.stop_block(at);
        let block = ContentBlock::start(start, &mut self.reply)?;
        self.blocks.insert(at, block);
        Ok(())
    }

    fn stop_block(&mut self, at: u64) {
        if let Some(block) = self.blocks.remove(&at) {
            block.end(&mut self.reply);
        }
    }

    fn message_delta(&mut self, event: &Value) {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        self.stop.reason = string(delta, "stop_reason").or(self.stop.reason.take());
        self.stop.sequence = string(delta, "stop_sequence").or(self.stop.sequence.take());
        if let Some(details) = delta.get("stop_details") {
            self.stop.explanation = string(details, "explanation").or_else(|| string(details, "category"));
        }
        self.note_container(delta);
        self.add_usage(event);
    }

    fn add_usage(&mut self, holder: &Value) {
        for (key, value) in holder.get("usage").and_then(Value::as_object).into_iter().flatten() {
            if !value.is_null() {
                self.usage.insert(key.clone(), value.clone());
            }
        }
    }

    fn note_container(&mut self, holder: &Value) {
        if let Some(id) = holder.get("container").and_then(|container| container.get("id")) {
            self.container = Some(id.clone());
        }
    }

    fn complete(&mut self) {
        for block in std::mem::take(&mut self.blocks).into_values() {
            block.end(&mut self.reply);
        }
        if let Some(id) = self.container.take() {
            self.reply.native(json!({ "container": id }));
        }
        self.reply.finish(self.stop_reason(), self.total());
    }

    fn stop_reason(&self) -> StopReason {
        let raw = self.stop.reason.as_deref();
        let kind = match raw {
            None | Some("end_turn" | "compaction") if self.reply.calls() > 0 => StopKind::ToolUse,
            None | Some("end_turn" | "compaction") => StopKind::EndTurn,
            Some("tool_use") => StopKind::ToolUse,
            Some("max_tokens" | "model_context_window_exceeded") => StopKind::MaxTokens,
            Some("stop_sequence") => StopKind::StopSequence,
            Some("refusal") => StopKind::Refusal,
            Some("pause_turn") => StopKind::PauseTurn,
            Some(_) => StopKind::Other,
        };
        let detail = self.stop.explanation.clone().or_else(|| self.stop.sequence.clone());
        StopReason { kind, raw: raw.map(str::to_owned), detail }
    }

    /// Returns the usage; input includes cached tokens, which this provider counts separately.
    fn total(&self) -> Usage {
        let count = |key: &str| self.usage.get(key).and_then(Value::as_u64);
        let cached_input = count("cache_read_input_tokens");
        let cache_write = count("cache_creation_input_tokens");
        let caches = cached_input.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let details = self.usage.get("output_tokens_details");
        Usage {
            input: count("input_tokens").map(|input| input.saturating_add(caches)),
            output: count("output_tokens"),
            cached_input,
            cache_write,
            reasoning: details.and_then(|details| details.get("thinking_tokens")).and_then(Value::as_u64),
            cost: None,
        }
    }
}

impl Protocol for MessagesProtocol {
    fn new(model: &str) -> Self {
        Self {
            reply: ReplyBuilder::new(WIRE, model),
            id: None,
            blocks: BTreeMap::new(),
            stop: StopFields::default(),
            usage: Map::new(),
            container: None,
        }
    }

    fn event(&mut self, mut data: Value) -> Result<(), ProviderError> {
        if is_error(&data) {
            return Err(classify::classify_value(&data));
        }
        let at = field(&data, "index").and_then(Value::as_u64).unwrap_or(0);
        match field(&data, "type").and_then(Value::as_str) {
            Some("content_block_delta") => {
                if let Some(block) = self.blocks.get_mut(&at) {
                    block.delta(field(&data, "delta").unwrap_or(&Value::Null), &mut self.reply)?;
                }
            }
            Some("message_start") => self.message_start(data.get("message").unwrap_or(&Value::Null))?,
            Some("content_block_start") => {
                let block = data.get_mut("content_block").map(Value::take).unwrap_or_default();
                self.start_block(at, block)?;
            }
            Some("content_block_stop") => self.stop_block(at),
            Some("message_delta") => self.message_delta(&data),
            Some("message_stop") if self.reply.is_started() => self.complete(),
            Some("message_stop") => return Err(truncated("the server ended its stream without a reply")),
            Some(_) => {}
            None => refuse_other_wires(&data, MESSAGES)?,
        }
        Ok(())
    }

    fn on_whole_body(&mut self, body: Value) -> Result<(), ProviderError> {
        let Some(content) = body.get("content").and_then(Value::as_array) else {
            return Err(malformed("the server's response has no `content`: it is not an Anthropic message"));
        };
        self.message_start(&body)?;
        for (at, start) in (0u64..).zip(content) {
            self.start_block(at, start.clone())?;
            self.stop_block(at);
        }
        // A whole message contains the fields that a stream sends at its end.
        self.message_delta(&json!({ "delta": body }));
        self.complete();
        Ok(())
    }

    fn reply(&mut self) -> &mut ReplyBuilder {
        &mut self.reply
    }

    fn metadata(&self) -> ReplyMetadata {
        let stop = self.stop.reason.is_some().then(|| self.stop_reason());
        ReplyMetadata { model: self.reply.model(), stop, usage: self.total() }
    }
}
