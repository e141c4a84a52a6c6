//! A decoded reply as one value: what the tests of the codecs compare.

use co::message::{
    AssistantMessage, AssistantPart, CallId, Opaque, PartKind, StopReason, ToolCall, ToolName, Usage,
};
use co::provider::{ProviderError, ReplyMetadata, StartKind, StreamDecoder, StreamEvent};
use serde_json::{Value, json};

/// A reply, put together from its events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssembledReply {
    pub model: Option<String>,
    pub parts: Vec<Part>,
    /// The notices of the provider.
    pub notices: Vec<String>,
    pub finished: Option<(StopReason, Usage)>,
    pub error: Option<ProviderError>,
    pub seen: ReplyMetadata,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub kind: StartKind,
    pub text: String,
    pub ended: bool,
    pub opaque: Option<Opaque>,
}

impl AssembledReply {
    /// Puts events together and checks what every provider promises of them.
    pub fn of(events: &[StreamEvent], error: Option<ProviderError>, seen: ReplyMetadata) -> Self {
        let mut this = Self { error, seen, ..Self::default() };
        for (number, event) in events.iter().enumerate() {
            assert_eq!(
                number == 0,
                matches!(event, StreamEvent::Started { .. }),
                "`Started` is first and once"
            );
            assert!(this.finished.is_none(), "nothing follows `Finished`: {event:?}");
            this.take(event);
        }
        assert!(
            this.error.is_none() || this.finished.is_none(),
            "a reply either fails or is finished: {this:?}"
        );
        if this.finished.is_some() {
            assert!(this.parts.iter().all(|part| part.ended), "a finished reply has no open part: {this:?}");
        }
        this
    }

    fn take(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Started { model } => self.model = Some(model.clone()),
            StreamEvent::PartStarted { index, kind } => {
                assert_eq!(*index, self.parts.len(), "indices are dense and in order");
                let call = |kind: &StartKind| matches!(kind, StartKind::ToolCall { .. });
                let others = self.parts.iter().filter(|part| !call(&part.kind));
                assert!(call(kind) || others.clone().all(|part| part.ended), "one text part at a time");
                self.parts.push(Part { kind: kind.clone(), text: String::new(), ended: false, opaque: None });
            }
            StreamEvent::PartDelta { index, delta } => {
                assert!(
                    !delta.is_empty() && !self.parts[*index].ended,
                    "a delta of an open part says something"
                );
                self.parts[*index].text.push_str(delta);
            }
            StreamEvent::PartEnded { index, opaque } => {
                let part = &mut self.parts[*index];
                assert!(!part.ended, "a part ends once");
                part.ended = true;
                part.opaque.clone_from(opaque);
            }
            StreamEvent::Notice { text } => self.notices.push(text.clone()),
            // Held against the end by the one test that asks for it.
            StreamEvent::Usage { .. } => {}
            StreamEvent::Finished { stop, usage } => self.finished = Some((stop.clone(), *usage)),
        }
    }

    pub fn text(&self) -> String {
        self.said(|kind| matches!(kind, StartKind::Text))
    }

    pub fn thinking(&self) -> String {
        self.said(|kind| matches!(kind, StartKind::Thinking))
    }

    fn said(&self, wanted: impl Fn(&StartKind) -> bool) -> String {
        self.parts.iter().filter(|part| wanted(&part.kind)).map(|part| part.text.as_str()).collect()
    }

    /// Calls that came to their end: id, name, arguments.
    pub fn calls(&self) -> Vec<(String, String, Value)> {
        self.parts
            .iter()
            .filter(|part| part.ended)
            .filter_map(|part| match &part.kind {
                StartKind::ToolCall { wire_id, name } => {
                    Some((wire_id.clone(), name.clone(), arguments(&part.text)))
                }
                StartKind::Text | StartKind::Thinking | StartKind::Native => None,
            })
            .collect()
    }

    /// The reply as a history would contain it.
    pub fn message(&self) -> AssistantMessage {
        let kind = |index: usize, part: &Part| match &part.kind {
            StartKind::Text => PartKind::Text { text: part.text.clone() },
            StartKind::Thinking => PartKind::Thinking { text: part.text.clone() },
            StartKind::ToolCall { wire_id, name } => PartKind::ToolCall(ToolCall {
                id: CallId(format!("s/1.1.{index}")),
                wire_id: wire_id.clone(),
                name: ToolName::new(name.clone()),
                args: arguments(&part.text),
            }),
            StartKind::Native => PartKind::Native,
        };
        let parts = self.parts.iter().enumerate();
        AssistantMessage {
            parts: parts
                .map(|(index, part)| AssistantPart { kind: kind(index, part), opaque: part.opaque.clone() })
                .collect(),
            asked: String::new(),
            model: self.model.clone().unwrap_or_default(),
            stop: self.finished.clone().expect("a finished reply").0,
        }
    }
}

fn arguments(text: &str) -> Value {
    if text.is_empty() { json!({}) } else { serde_json::from_str(text).unwrap_or_else(|_| json!(text)) }
}

/// Feeds a decoder chunk by chunk, then ends it.
pub fn decode<'a, D: StreamDecoder>(
    mut decoder: D,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> AssembledReply {
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.feed(chunk, &mut events) {
            return AssembledReply::of(&events, Some(error), decoder.metadata());
        }
    }
    let error = decoder.finish(&mut events).err();
    AssembledReply::of(&events, error, decoder.metadata())
}
