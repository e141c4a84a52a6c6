//! Generated content → stream events.
//!
//! Every chunk is a whole response whose parts follow those of the chunk before. Adjacent texts are merged
//! into one part, because a signature may split a sentence; the fragments and their signatures are stored
//! with it, so that they are sent back as received. Calls end with the reply, because only its finish reason
//! shows whether they are valid; the reply ends with the body, because some models repeat the reason.

use serde_json::{Map, Value};

use super::WIRE;
use super::ending::{self, GeminiEnd};
use super::partial_call::PartialCall;
use super::signatures::{SIGNATURE, SignedText};
use crate::message::Usage;
use crate::provider::decoder::{JsonBody, Protocol, is_error, malformed, refuse_other_wires, truncated};
use crate::provider::json_fields::{json_text, text_of};
use crate::provider::reply::{ReplyBuilder, TextKind};
use crate::provider::{ProviderError, ReplyMetadata, classify};

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateProtocol {
    reply: ReplyBuilder,
    /// The fragments of the open text or thinking part.
    fragments: SignedText,
    /// Tool calls whose end is not emitted yet: the part's index, with the server's id and the signature,
    /// where given.
    calls: Vec<(usize, Map<String, Value>)>,
    partial: Option<PartialCall>,
    ending: Option<GeminiEnd>,
    usage: Option<Usage>,
    /// Whether a chunk without content arrived.
    foreign: bool,
}

impl GenerateProtocol {
    fn chunk(&mut self, chunk: &Value) -> Result<(), ProviderError> {
        let candidate = first_candidate(chunk);
        let model = chunk.get("modelVersion").and_then(Value::as_str).filter(|model| !model.is_empty());
        let blocked = GeminiEnd::of_prompt(chunk);
        let reported = chunk.get("usageMetadata");
        if candidate.is_none() && model.is_none() && blocked.is_none() && reported.is_none() {
            self.foreign = true;
            return Ok(());
        }
        self.reply.start(model);
        if let Some(candidate) = candidate {
            let parts = candidate.get("content").and_then(|content| content.get("parts"));
            for part in parts.and_then(Value::as_array).into_iter().flatten() {
                self.part(part)?;
            }
            self.ending = GeminiEnd::of_candidate(candidate).or(self.ending.take());
        }
        // A blocked prompt has no candidate; feedback together with a candidate does not end the reply.
        if candidate.is_none() && blocked.is_some() {
            self.ending = blocked;
        }
        self.usage = reported.and_then(ending::usage).or(self.usage);
        Ok(())
    }

    fn part(&mut self, part: &Value) -> Result<(), ProviderError> {
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            return self.call(part, call);
        }
        let signature = part.get(SIGNATURE).and_then(Value::as_str).filter(|signature| !signature.is_empty());
        let Some(text) = part.get("text").and_then(Value::as_str) else {
            return self.native(part);
        };
        let kind = match part.get("thought").and_then(Value::as_bool) {
            Some(true) => TextKind::Thinking(None),
            Some(false) | None => TextKind::Answer,
        };
        let goes_on = self.reply.continues(kind);
        match (text, signature) {
            ("", None) => return Ok(()),
            ("", Some(_)) if !goes_on => return self.native(part),
            _ => {}
        }
        if let Some(signature) = signature {
            // The 64 bytes count the unsigned fragment that may follow.
            self.reply.hold(signature.len() + 64)?;
        }
        if !goes_on {
            self.close();
        }
        self.fragments.add(text, signature);
        self.reply.text(kind, text);
        Ok(())
    }

    /// Ends the open text or thinking part.
    fn close(&mut self) {
        self.reply.close_with(std::mem::take(&mut self.fragments).data());
    }

    /// Handles a part that only its model understands: stored whole, and sent back whole.
    fn native(&mut self, part: &Value) -> Result<(), ProviderError> {
        let says = |(key, value): (&String, &Value)| key != "thought" && !value.is_null();
        if !part.as_object().is_some_and(|fields| fields.iter().any(says)) {
            return Ok(());
        }
        self.reply.hold_value(part)?;
        self.close();
        self.reply.native(part.clone());
        Ok(())
    }

    fn call(&mut self, part: &Value, call: &Value) -> Result<(), ProviderError> {
        let (name, args) = (text_of(call, "name"), call.get("args").filter(|args| !args.is_null()));
        let more = call.get("willContinue").and_then(Value::as_bool) == Some(true);
        if name.is_empty() && args.is_none() {
            return self.more_arguments(call, more);
        }
        // The end mark of fragmented arguments may be missing.
        self.end_partial(PartialCall::whole_args);
        let mut fields = Map::new();
        for (key, value) in [(SIGNATURE, part.get(SIGNATURE)), ("id", call.get("id"))] {
            if let Some(value) = value.and_then(Value::as_str).filter(|value| !value.is_empty()) {
                self.reply.hold(value.len())?;
                fields.insert(key.to_owned(), value.into());
            }
        }
        self.close();
        let index = self.reply.start_call(text_of(call, "id"), name);
        self.reply.hold(0)?;
        self.calls.push((index, fields));
        if more || call.get("partialArgs").is_some() {
            self.partial = Some(PartialCall::new(index, args));
            return self.more_arguments(call, more);
        }
        // Gateways may send the arguments as a string.
        self.reply.delta(index, args.map_or("{}".into(), |args| json_text(Some(args))));
        Ok(())
    }

    /// Handles a fragment of a call's arguments, or the mark that they are complete.
    fn more_arguments(&mut self, call: &Value, more: bool) -> Result<(), ProviderError> {
        if let Some(partial) = &mut self.partial {
            partial.take(call, &mut self.reply)?;
        }
        if !more {
            self.end_partial(PartialCall::whole_args);
        }
        Ok(())
    }

    fn end_partial(&mut self, text: impl Fn(&PartialCall) -> String) {
        if let Some(partial) = self.partial.take() {
            self.reply.delta(partial.index, text(&partial));
        }
    }

    /// Ends the reply: closes what is open and emits the stop reason.
    fn complete(&mut self, ending: &GeminiEnd) -> Result<(), ProviderError> {
        // The calls of a failed reply stay open, because they are not valid.
        if let Some(error) = ending.failure() {
            return Err(error);
        }
        self.close();
        self.end_partial(if ending.is_stop() { PartialCall::whole_args } else { PartialCall::cut });
        for (index, fields) in &mut self.calls {
            let fields = std::mem::take(fields);
            self.reply.end_part(*index, (!fields.is_empty()).then_some(Value::Object(fields)));
        }
        self.reply.finish(ending.reason(self.calls.len()), self.usage.unwrap_or_default());
        Ok(())
    }
}

impl Protocol for GenerateProtocol {
    const JSON: JsonBody = JsonBody::Events;

    fn new(model: &str) -> Self {
        Self {
            reply: ReplyBuilder::new(WIRE, model),
            fragments: SignedText::default(),
            calls: Vec::new(),
            partial: None,
            ending: None,
            usage: None,
            foreign: false,
        }
    }

    fn event(&mut self, data: Value) -> Result<(), ProviderError> {
        if is_error(&data) {
            return Err(classify::classify_value(&data));
        }
        if first_candidate(&data).is_none() {
            refuse_other_wires(&data, "Gemini")?;
        }
        self.chunk(&data)
    }

    /// Not part of this protocol; translating proxies send it.
    fn done_sentinel(&mut self) -> Result<(), ProviderError> {
        match self.ending.clone() {
            Some(ending) => self.complete(&ending),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        match self.ending.clone() {
            Some(ending) => self.complete(&ending),
            None if self.foreign && !self.reply.is_started() => {
                Err(malformed("the server's response has no `candidates`: it is not a Gemini reply"))
            }
            None => Err(truncated("the connection ended before the reply was complete")),
        }
    }

    fn reply(&mut self) -> &mut ReplyBuilder {
        &mut self.reply
    }

    fn metadata(&self) -> ReplyMetadata {
        let stop = self.ending.as_ref().map(|ending| ending.reason(self.calls.len()));
        ReplyMetadata { model: self.reply.model(), stop, usage: self.usage.unwrap_or_default() }
    }
}

/// Returns the first candidate; requests ask for only one.
fn first_candidate(chunk: &Value) -> Option<&Value> {
    let candidates = chunk.get("candidates")?.as_array()?;
    candidates
        .iter()
        .find(|candidate| candidate.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0))
}
