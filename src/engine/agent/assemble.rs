//! Assembles the stream events of one attempt into an assistant message.
//!
//! Pure. A call's arguments count only after the provider has closed the call, even if they parse earlier.
//! Called by the turn machine.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::message::{
    AssistantMessage, AssistantPart, CallId, Opaque, PartKind, StopKind, StopReason, ToolCall, ToolName,
    Usage,
};
use crate::provider::{ErrorClass, ProviderError, StartKind, StreamEvent};
use crate::stdx::text::binary_size;

/// Longest reply kept, in bytes of text and arguments together. It bounds endless streams.
const MAX_REPLY: usize = 32 << 20;

/// The meaning of one stream event for the turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    Nothing,
    Text(String),
    Thinking(String),
    TextDone(String),
    ThinkingDone(String),
    Args {
        index: usize,
        name: String,
        delta: String,
    },
    /// The provider closed this call; its arguments are complete.
    CallClosed(ToolCall),
    /// A notice for the user that is not part of the reply.
    Notice(String),
    Finished(StopReason, Usage),
}

/// The reply of one attempt, under construction.
#[derive(Debug, Clone, Default)]
pub struct Assembler {
    /// Call ids are this prefix, a dot and the part's index.
    id_prefix: String,
    model: String,
    parts: Vec<PartBuilder>,
    /// Wire ids that the conversation already uses; new ones never repeat one.
    taken: BTreeSet<String>,
    size: usize,
    /// Bytes of visible text already returned by [`Assembler::fresh_text`].
    saved: usize,
    visible: String,
    usage: Option<Usage>,
}

#[derive(Debug, Clone)]
struct PartBuilder {
    kind: StartKind,
    text: String,
    closed: Option<ClosedPart>,
}

#[derive(Debug, Clone, Default)]
struct ClosedPart {
    opaque: Option<Opaque>,
    call: Option<ToolCall>,
}

impl Assembler {
    pub fn new(id_prefix: String, taken: BTreeSet<String>) -> Self {
        Self { id_prefix, taken, ..Self::default() }
    }

    /// Takes the next event. Errs if no codec may emit this sequence, or if the reply is too long.
    pub fn apply(&mut self, event: StreamEvent) -> Result<Step, ProviderError> {
        match event {
            StreamEvent::Started { model } => {
                self.model = model;
                self.usage = Some(Usage::default());
                Ok(Step::Nothing)
            }
            StreamEvent::Usage { usage } => {
                self.usage = Some(usage);
                Ok(Step::Nothing)
            }
            StreamEvent::PartStarted { index, kind } => {
                if index != self.parts.len() {
                    return Err(malformed(&format!("part {index} started out of order")));
                }
                self.parts.push(PartBuilder { kind, text: String::new(), closed: None });
                Ok(Step::Nothing)
            }
            StreamEvent::PartDelta { index, delta } => self.delta(index, delta),
            StreamEvent::PartEnded { index, opaque } => self.end_part(index, opaque),
            StreamEvent::Notice { text } => Ok(Step::Notice(text)),
            StreamEvent::Finished { stop, usage } => Ok(Step::Finished(stop, usage)),
        }
    }

    /// Returns this attempt's usage so far, without counts the provider did not send; `None` = not begun.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Whether this attempt produced any output to show.
    pub fn has_output(&self) -> bool {
        self.parts.iter().any(|part| !part.text.is_empty() || part.closed.is_some())
    }

    /// Returns the visible text that arrived since the last call of this function, if any.
    pub fn fresh_text(&mut self) -> Option<String> {
        let fresh = self.visible.get(self.saved..).filter(|text| !text.is_empty())?.to_owned();
        self.saved = self.visible.len();
        Some(fresh)
    }

    /// Returns the whole reply. On `MaxTokens` a truncated call is dropped; on `Refusal` every call is.
    /// `None` if nothing remains that could be sent back.
    pub fn finish(self, asked: String, stop: StopReason) -> Option<AssistantMessage> {
        let last = self.parts.len().saturating_sub(1);
        let parts: Vec<AssistantPart> = self
            .parts
            .into_iter()
            .enumerate()
            .filter_map(|(at, building)| building.into_part(stop.kind, at == last))
            .collect();
        let message = AssistantMessage { parts, asked, model: self.model, stop };
        (!message.parts.is_empty()).then_some(message)
    }

    fn delta(&mut self, index: usize, delta: String) -> Result<Step, ProviderError> {
        self.size += delta.len();
        if self.size > MAX_REPLY {
            return Err(malformed(&format!("the reply is longer than {}", binary_size(MAX_REPLY))));
        }
        let Some(part) = self.parts.get_mut(index).filter(|part| part.closed.is_none()) else {
            return Err(malformed(&format!("text for part {index}, which is not open")));
        };
        part.text.push_str(&delta);
        Ok(match &part.kind {
            StartKind::Text => {
                self.visible.push_str(&delta);
                Step::Text(delta)
            }
            StartKind::Thinking => Step::Thinking(delta),
            StartKind::ToolCall { name, .. } => Step::Args { index, name: name.clone(), delta },
            StartKind::Native => Step::Nothing,
        })
    }

    fn end_part(&mut self, index: usize, opaque: Option<Opaque>) -> Result<Step, ProviderError> {
        let Some(part) = self.parts.get_mut(index).filter(|part| part.closed.is_none()) else {
            return Err(malformed(&format!("the end of part {index}, which is not open")));
        };
        let (step, call) = match &part.kind {
            StartKind::Text => (Step::TextDone(part.text.clone()), None),
            StartKind::Thinking => (Step::ThinkingDone(part.text.clone()), None),
            StartKind::Native => (Step::Nothing, None),
            StartKind::ToolCall { wire_id, name } => {
                let id = CallId(format!("{}.{index}", self.id_prefix));
                let wire_id = free_wire_id(wire_id, &id, &mut self.taken);
                let args = arguments(&part.text);
                let call = ToolCall { id, wire_id, name: ToolName::new(name.clone()), args };
                (Step::CallClosed(call.clone()), Some(call))
            }
        };
        part.closed = Some(ClosedPart { opaque, call });
        Ok(step)
    }
}

impl PartBuilder {
    fn into_part(self, stop: StopKind, last: bool) -> Option<AssistantPart> {
        let ClosedPart { opaque, call } = self.closed.unwrap_or_default();
        let kind = match self.kind {
            StartKind::Text if self.text.is_empty() && opaque.is_none() => return None,
            StartKind::Text => PartKind::Text { text: self.text },
            StartKind::Thinking if self.text.is_empty() && opaque.is_none() => return None,
            StartKind::Thinking => PartKind::Thinking { text: self.text },
            StartKind::Native if opaque.is_none() => return None,
            StartKind::Native => PartKind::Native,
            StartKind::ToolCall { .. } => {
                let call = call?;
                // Only the last part can be truncated; empty arguments may be a cut before the first byte.
                let cut = last && (self.text.trim().is_empty() || !call.args.is_object());
                match stop {
                    StopKind::Refusal | StopKind::Interrupted => return None,
                    StopKind::MaxTokens if cut => return None,
                    StopKind::MaxTokens
                    | StopKind::EndTurn
                    | StopKind::ToolUse
                    | StopKind::StopSequence
                    | StopKind::PauseTurn
                    | StopKind::Other => PartKind::ToolCall(call),
                }
            }
        };
        Some(AssistantPart { kind, opaque })
    }
}

/// Longest arguments of a call that are kept, in bytes. The reply, the request and the audit all store them.
const MAX_ARGUMENTS: usize = 1 << 20;

/// Parses a call's arguments: empty text and `null` mean none; anything but a JSON object stays text.
fn arguments(raw: &str) -> Value {
    if raw.trim().is_empty() {
        return Value::Object(Map::new());
    }
    if raw.len() > MAX_ARGUMENTS {
        let start: String = raw.chars().take(200).collect();
        return Value::String(format!(
            "{start}… [{} bytes in all; a call takes at most {MAX_ARGUMENTS}]",
            raw.len()
        ));
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(Value::Null) => Value::Object(Map::new()),
        Ok(Value::Object(map)) => Value::Object(map),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            Value::String(raw.to_owned())
        }
    }
}

/// Returns the provider's id if new, else nine generated letters and digits (the form Mistral requires).
fn free_wire_id(given: &str, id: &CallId, taken: &mut BTreeSet<String>) -> String {
    let mut wire_id = given.to_owned();
    let mut round = 0_u32;
    while wire_id.is_empty() || taken.contains(&wire_id) {
        let digest = Sha256::digest(format!("{id}/{round}").as_bytes());
        let hex: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        wire_id = format!("c{hex}");
        round += 1;
    }
    taken.insert(wire_id.clone());
    wire_id
}

fn malformed(what: &str) -> ProviderError {
    ProviderError::new(ErrorClass::Malformed, format!("the reply makes no sense: {what}"))
}
