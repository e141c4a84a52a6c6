//! Builds the events of one streamed reply, for the decoders of all codecs.
//!
//! Keeps what every wire needs: part indices without gaps in the order of the starts, at most one open text
//! or thinking part, opaque data bound to the codec and the requested model, and the limit on what a decoder
//! buffers.

use serde_json::{Value, json};

use super::{ErrorClass, ProviderError, StartKind, StreamEvent};
use crate::message::{Opaque, StopReason, Usage};

/// The most that a decoder may buffer of one reply (arguments without a name, signatures, native items), in
/// bytes.
pub const MOST_HELD: usize = 16 * 1024 * 1024;

/// The kind of text in an open part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    Answer,
    /// Thinking, with the wire's field that it came in. Such a part ends with this name as its opaque data:
    /// the encoder decides whether it is sent back, but only the reply shows which field a host uses.
    Thinking(Option<&'static str>),
}

/// The events of one reply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplyBuilder {
    wire: &'static str,
    /// As requested: opaque data is bound to this name.
    requested: String,
    /// The service's name for the model; set with `Started`.
    named: Option<String>,
    /// The number of parts started: the next part's index.
    parts: usize,
    calls: usize,
    /// The open text or thinking part.
    open: Option<(usize, TextKind)>,
    finished: bool,
    /// How many bytes the decoder buffers.
    held: usize,
    events: Vec<StreamEvent>,
}

impl ReplyBuilder {
    /// Creates a reply without events. `wire` is the codec's name, `model` the requested model.
    pub fn new(wire: &'static str, model: &str) -> Self {
        Self { wire, requested: model.to_owned(), ..Self::default() }
    }

    /// Emits `Started`, once. `named` is the service's name for the model; the requested one takes its place
    /// where it is missing or empty.
    pub fn start(&mut self, named: Option<&str>) {
        if self.named.is_none() {
            let model = named.filter(|name| !name.is_empty()).unwrap_or(&self.requested).to_owned();
            self.named = Some(model.clone());
            self.events.push(StreamEvent::Started { model });
        }
    }

    pub fn is_started(&self) -> bool {
        self.named.is_some()
    }

    /// Returns the model's name as in `Started`; `None` before it.
    pub fn model(&self) -> Option<String> {
        self.named.clone()
    }

    /// Returns the number of parts started.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the number of tool calls started.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Whether text of this kind continues the open part.
    pub fn continues(&self, kind: TextKind) -> bool {
        self.open.is_some_and(|(_, open)| open == kind)
    }

    /// Appends text to the open part of its kind; starts one if needed. Ignores empty text.
    pub fn text(&mut self, kind: TextKind, text: &str) {
        if text.is_empty() {
            return;
        }
        let index = match self.open {
            Some((index, open)) if open == kind => index,
            Some(_) | None => {
                let index = self.start_part(match kind {
                    TextKind::Answer => StartKind::Text,
                    TextKind::Thinking(_) => StartKind::Thinking,
                });
                self.open = Some((index, kind));
                index
            }
        };
        self.delta(index, text);
    }

    /// Ends the open text or thinking part, if any.
    pub fn close(&mut self) {
        let field = match self.open {
            Some((_, TextKind::Thinking(field))) => field,
            Some((_, TextKind::Answer)) | None => None,
        };
        self.close_with(field.map(|field| json!({ "field": field })));
    }

    /// Ends the open text or thinking part, if any, with this opaque data.
    pub fn close_with(&mut self, data: Option<Value>) {
        if let Some((index, _)) = self.open.take() {
            self.end_part(index, data);
        }
    }

    /// Starts a part and returns its index; ends the open text or thinking part before it. The caller ends
    /// the new part.
    pub fn start_part(&mut self, kind: StartKind) -> usize {
        self.close();
        let index = self.parts;
        self.parts += 1;
        self.events.push(StreamEvent::PartStarted { index, kind });
        index
    }

    /// Starts a tool call, like [`Self::start_part`].
    pub fn start_call(&mut self, wire_id: &str, name: &str) -> usize {
        self.calls += 1;
        self.start_part(StartKind::ToolCall { wire_id: wire_id.to_owned(), name: name.to_owned() })
    }

    /// Emits text of a part; nothing for empty text.
    pub fn delta(&mut self, index: usize, text: impl AsRef<str> + Into<String>) {
        if !text.as_ref().is_empty() {
            self.events.push(StreamEvent::PartDelta { index, delta: text.into() });
        }
    }

    /// Ends a part; `data` is what only this wire and model understand of it.
    pub fn end_part(&mut self, index: usize, data: Option<Value>) {
        let opaque = data.map(|data| Opaque::new(self.wire, self.requested.as_str(), data));
        self.events.push(StreamEvent::PartEnded { index, opaque });
    }

    /// Emits an item that only the provider understands.
    pub fn native(&mut self, data: Value) {
        let index = self.start_part(StartKind::Native);
        self.end_part(index, Some(data));
    }

    /// Ends the open text or thinking part and the reply.
    pub fn finish(&mut self, stop: StopReason, usage: Usage) {
        self.close();
        self.finished = true;
        self.events.push(StreamEvent::Finished { stop, usage });
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Counts `bytes` that the decoder buffers, and the overhead of one table entry. Errs with
    /// [`ErrorClass::Malformed`] above [`MOST_HELD`], so that no server can exhaust the memory.
    pub fn hold(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.held = self.held.saturating_add(bytes).saturating_add(64);
        if self.held > MOST_HELD {
            let message = format!("the reply holds back more than {MOST_HELD} bytes");
            return Err(ProviderError::new(ErrorClass::Malformed, message));
        }
        Ok(())
    }

    /// Like [`Self::hold`], for a value: counts its approximate size.
    pub fn hold_value(&mut self, value: &Value) -> Result<(), ProviderError> {
        self.hold(weight(value))
    }

    /// Exchanges the events emitted so far for those in `events`, to which further ones are appended.
    pub fn swap_events(&mut self, events: &mut Vec<StreamEvent>) {
        std::mem::swap(&mut self.events, events);
    }
}

fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 16,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>() + 16
        }
        _ => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::StopKind;

    const THINKING: TextKind = TextKind::Thinking(Some("reasoning"));

    fn built(build: impl FnOnce(&mut ReplyBuilder)) -> Vec<StreamEvent> {
        let (mut reply, mut events) = (ReplyBuilder::new("w", "m"), Vec::new());
        build(&mut reply);
        reply.swap_events(&mut events);
        events
    }

    fn started(index: usize, kind: StartKind) -> StreamEvent {
        StreamEvent::PartStarted { index, kind }
    }

    fn delta(index: usize, text: &str) -> StreamEvent {
        StreamEvent::PartDelta { index, delta: text.to_owned() }
    }

    fn ended(index: usize, data: Option<Value>) -> StreamEvent {
        StreamEvent::PartEnded { index, opaque: data.map(|data| Opaque::new("w", "m", data)) }
    }

    #[test]
    fn one_text_or_thinking_part_is_open_at_a_time() {
        let found = built(|reply| {
            reply.text(THINKING, "a");
            reply.text(THINKING, "b");
            reply.text(TextKind::Answer, "");
            assert!(reply.continues(THINKING) && !reply.continues(TextKind::Thinking(None)));
            reply.text(TextKind::Answer, "c");
            reply.text(TextKind::Thinking(None), "d");
            reply.close_with(Some(json!({ "signature": "s" })));
            reply.close();
        });
        let expected = [
            started(0, StartKind::Thinking),
            delta(0, "a"),
            delta(0, "b"),
            ended(0, Some(json!({ "field": "reasoning" }))),
            started(1, StartKind::Text),
            delta(1, "c"),
            ended(1, None),
            started(2, StartKind::Thinking),
            delta(2, "d"),
            ended(2, Some(json!({ "signature": "s" }))),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_stay_open_beside_text() {
        let stop = StopReason::new(StopKind::ToolUse);
        let found = built(|reply| {
            reply.text(TextKind::Answer, "a");
            let call = reply.start_call("id", "name");
            reply.text(TextKind::Answer, "b");
            reply.delta(call, "{}".to_owned());
            reply.delta(call, "");
            reply.native(json!(1));
            reply.end_part(call, None);
            reply.text(TextKind::Answer, "c");
            assert_eq!((reply.parts(), reply.calls(), reply.is_finished()), (5, 1, false));
            reply.finish(stop.clone(), Usage::default());
            assert!(reply.is_finished());
        });
        let call = StartKind::ToolCall { wire_id: "id".into(), name: "name".into() };
        let expected = [
            started(0, StartKind::Text),
            delta(0, "a"),
            ended(0, None),
            started(1, call),
            started(2, StartKind::Text),
            delta(2, "b"),
            delta(1, "{}"),
            ended(2, None),
            started(3, StartKind::Native),
            ended(3, Some(json!(1))),
            ended(1, None),
            started(4, StartKind::Text),
            delta(4, "c"),
            ended(4, None),
            StreamEvent::Finished { stop, usage: Usage::default() },
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_reply_starts_once() {
        for (named, expected) in [(None, "m"), (Some(""), "m"), (Some("n"), "n")] {
            let found = built(|reply| {
                reply.start(named);
                reply.start(Some("other"));
                assert_eq!(reply.model().as_deref(), Some(expected));
            });
            assert_eq!(found, [StreamEvent::Started { model: expected.to_owned() }]);
        }
    }

    #[test]
    fn what_is_buffered_has_a_limit() {
        let mut reply = ReplyBuilder::new("w", "m");
        reply.hold(MOST_HELD - 64).unwrap();
        assert_eq!(reply.hold(0).unwrap_err().class, ErrorClass::Malformed);
    }
}
