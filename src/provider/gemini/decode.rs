//! Generated content → stream events.
//!
//! Every chunk is a whole response whose parts follow those of the chunk before. Adjacent texts are merged
//! into one part, because a signature may split a sentence; the fragments and their signatures are stored
//! with it, so that they are sent back as received. Calls end with the reply, because only its finish reason
//! shows whether they are valid; the reply ends with the body, because some models repeat the reason.

use serde_json::{Map, Value};

use super::WIRE;
use super::call::Growing;
use super::ending::{self, Ending};
use super::pieces::Pieces;
use crate::message::{Opaque, Usage};
use crate::provider::decoder::{
    Held, JsonBody, Protocol, is_error, malformed, refuse_other_wires, truncated,
};
use crate::provider::{ProviderError, Seen, StartKind, StreamEvent, classify};

/// The field of a part that only its model understands.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// The state of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerateProtocol {
    /// As requested: opaque data is bound to this name.
    requested: String,
    named: Option<String>,
    open: Option<Open>,
    parts: usize,
    /// Tool calls whose end is not emitted yet.
    calls: Vec<Call>,
    growing: Option<Growing>,
    ending: Option<Ending>,
    usage: Option<Usage>,
    finished: bool,
    /// Whether a chunk without content arrived.
    foreign: bool,
    held: Held,
}

/// The open text or thinking part.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    index: usize,
    kind: Said,
    pieces: Pieces,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    Text,
    Thinking,
}

#[derive(Debug, Clone, PartialEq)]
struct Call {
    index: usize,
    /// The server's id and the signature, where given.
    fields: Map<String, Value>,
}

impl GenerateProtocol {
    pub fn new(model: &str) -> Self {
        Self {
            requested: model.to_owned(),
            named: None,
            open: None,
            parts: 0,
            calls: Vec::new(),
            growing: None,
            ending: None,
            usage: None,
            finished: false,
            foreign: false,
            held: Held::default(),
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let candidate = first_candidate(chunk);
        let model = chunk.get("modelVersion").and_then(Value::as_str).filter(|model| !model.is_empty());
        let blocked = Ending::of_prompt(chunk);
        let told = chunk.get("usageMetadata");
        if candidate.is_none() && model.is_none() && blocked.is_none() && told.is_none() {
            self.foreign = true;
            return Ok(());
        }
        self.start(model, out);
        if let Some(candidate) = candidate {
            let parts = candidate.get("content").and_then(|content| content.get("parts"));
            for part in parts.and_then(Value::as_array).into_iter().flatten() {
                self.part(part, out)?;
            }
            if let Some(ending) = Ending::of_candidate(candidate) {
                self.ending = Some(ending);
            }
        }
        // A blocked prompt has no candidate; feedback together with a candidate does not end the reply.
        if candidate.is_none() && blocked.is_some() {
            self.ending = blocked;
        }
        if let Some(usage) = told.and_then(ending::usage) {
            self.usage = Some(usage);
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

    fn part(&mut self, part: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
            return self.call(part, call, out);
        }
        let signature = part.get(SIGNATURE).and_then(Value::as_str).filter(|signature| !signature.is_empty());
        let Some(text) = part.get("text").and_then(Value::as_str) else {
            return self.native(part, out);
        };
        let kind = match part.get("thought").and_then(Value::as_bool) {
            Some(true) => Said::Thinking,
            Some(false) | None => Said::Text,
        };
        let goes_on = self.open.as_ref().is_some_and(|open| open.kind == kind);
        match (text, signature) {
            ("", None) => return Ok(()),
            ("", Some(_)) if !goes_on => return self.native(part, out),
            _ => {}
        }
        if let Some(signature) = signature {
            // The 64 bytes count the unsigned fragment that may follow.
            self.held.add(signature.len() + 64)?;
        }
        self.say(kind, text, signature, out);
        Ok(())
    }

    fn say(&mut self, kind: Said, text: &str, signature: Option<&str>, out: &mut Vec<StreamEvent>) {
        let mut open = match self.open.take() {
            Some(open) if open.kind == kind => open,
            before => {
                self.open = before;
                let start = match kind {
                    Said::Text => StartKind::Text,
                    Said::Thinking => StartKind::Thinking,
                };
                Open { index: self.begin(start, out), kind, pieces: Pieces::default() }
            }
        };
        open.pieces.add(text, signature);
        if !text.is_empty() {
            out.push(StreamEvent::PartDelta { index: open.index, delta: text.to_owned() });
        }
        self.open = Some(open);
    }

    /// Starts a part; closes the open text or thinking part first.
    fn begin(&mut self, kind: StartKind, out: &mut Vec<StreamEvent>) -> usize {
        self.close(out);
        let index = self.parts;
        self.parts += 1;
        out.push(StreamEvent::PartStarted { index, kind });
        index
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if let Some(open) = self.open.take() {
            let opaque = open.pieces.data().map(|data| self.opaque(data));
            out.push(StreamEvent::PartEnded { index: open.index, opaque });
        }
    }

    /// Handles a part that only its model understands: stored whole, and sent back whole.
    fn native(&mut self, part: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let says = |(key, value): (&String, &Value)| key != "thought" && !value.is_null();
        if !part.as_object().is_some_and(|fields| fields.iter().any(says)) {
            return Ok(());
        }
        self.held.add(part.to_string().len())?;
        let index = self.begin(StartKind::Native, out);
        out.push(StreamEvent::PartEnded { index, opaque: Some(self.opaque(part.clone())) });
        Ok(())
    }

    fn call(&mut self, part: &Value, call: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, args) = (text("name"), call.get("args").filter(|args| !args.is_null()));
        let more = call.get("willContinue").and_then(Value::as_bool) == Some(true);
        if name.is_empty() && args.is_none() {
            return self.more_arguments(call, more, out);
        }
        // The end mark of fragmented arguments may be missing.
        self.end_growing(Growing::whole, out);
        let mut fields = Map::new();
        for (key, value) in [(SIGNATURE, part.get(SIGNATURE)), ("id", call.get("id"))] {
            if let Some(value) = value.and_then(Value::as_str).filter(|value| !value.is_empty()) {
                self.held.add(value.len())?;
                fields.insert(key.to_owned(), value.into());
            }
        }
        let kind = StartKind::ToolCall { wire_id: text("id").to_owned(), name: name.to_owned() };
        let index = self.begin(kind, out);
        self.held.add(0)?;
        self.calls.push(Call { index, fields });
        if more || call.get("partialArgs").is_some() {
            self.growing = Some(Growing::new(index, args));
            return self.more_arguments(call, more, out);
        }
        let delta = match args {
            None => "{}".to_owned(),
            // Gateways may send the arguments as a string.
            Some(Value::String(text)) => text.clone(),
            Some(args) => args.to_string(),
        };
        if !delta.is_empty() {
            out.push(StreamEvent::PartDelta { index, delta });
        }
        Ok(())
    }

    /// Handles a fragment of a call's arguments, or the mark that they are complete.
    fn more_arguments(
        &mut self,
        call: &Value,
        more: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        if let Some(growing) = &mut self.growing {
            growing.take(call, &mut self.held)?;
        }
        if !more {
            self.end_growing(Growing::whole, out);
        }
        Ok(())
    }

    fn end_growing(&mut self, text: impl Fn(&Growing) -> String, out: &mut Vec<StreamEvent>) {
        if let Some(growing) = self.growing.take() {
            out.push(StreamEvent::PartDelta { index: growing.index, delta: text(&growing) });
        }
    }

    fn opaque(&self, data: Value) -> Opaque {
        Opaque::new(WIRE, self.requested.as_str(), data)
    }

    /// Ends the reply: closes what is open and emits the stop reason.
    fn complete(&mut self, ending: &Ending, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        // The calls of a failed reply stay open, because they are not valid.
        if let Some(error) = ending.failure() {
            return Err(error);
        }
        self.close(out);
        self.end_growing(if ending.is_stop() { Growing::whole } else { Growing::cut }, out);
        for at in 0..self.calls.len() {
            let (index, fields) = (self.calls[at].index, std::mem::take(&mut self.calls[at].fields));
            let opaque = (!fields.is_empty()).then(|| self.opaque(Value::Object(fields)));
            out.push(StreamEvent::PartEnded { index, opaque });
        }
        self.finished = true;
        let stop = ending.reason(self.calls.len());
        out.push(StreamEvent::Finished { stop, usage: self.usage.unwrap_or_default() });
        Ok(())
    }
}

impl Protocol for GenerateProtocol {
    const JSON: JsonBody = JsonBody::Events;

    fn event(&mut self, data: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if is_error(data) {
            return Err(classify::classify_value(data));
        }
        if first_candidate(data).is_none() {
            refuse_other_wires(data, "Gemini")?;
        }
        self.chunk(data, out)
    }

    /// Not part of this protocol; translating proxies send it.
    fn done_sentinel(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        match self.ending.clone() {
            Some(ending) => self.complete(&ending, out),
            None => Ok(()),
        }
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        match self.ending.clone() {
            Some(ending) => self.complete(&ending, out),
            None if self.foreign && self.named.is_none() => {
                Err(malformed("the server's answer holds no `candidates`: it is no Gemini reply"))
            }
            None => Err(truncated("the connection ended before the reply did")),
        }
    }

    fn whole(&mut self, body: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.event(body, out)?;
        self.end(out)
    }

    fn finished(&self) -> bool {
        self.finished
    }

    fn seen(&self) -> Seen {
        let stop = self.ending.as_ref().map(|ending| ending.reason(self.calls.len()));
        Seen { model: self.named.clone(), stop, usage: self.usage.unwrap_or_default() }
    }
}

/// Returns the first candidate; requests ask for only one.
fn first_candidate(chunk: &Value) -> Option<&Value> {
    let candidates = chunk.get("candidates")?.as_array()?;
    candidates
        .iter()
        .find(|candidate| candidate.get("index").and_then(Value::as_u64).is_none_or(|index| index == 0))
}
