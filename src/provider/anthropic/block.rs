//! One content block of a reply, from its start to its end.

use serde_json::{Map, Value};

use crate::message::Opaque;
use crate::provider::decoder::{Held, field};
use crate::provider::{ProviderError, StartKind, StreamEvent};

/// An open block; `index` is the index of its part, from 0 without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    index: usize,
    content: Content,
}

#[derive(Debug, Clone, PartialEq)]
enum Content {
    Text {
        citations: Vec<Value>,
    },
    Thinking {
        signature: String,
    },
    Call {
        /// Arguments that came complete in the start event: used if no delta follows.
        input: Value,
        said: bool,
        /// Fields that only this provider understands.
        fields: Map<String, Value>,
    },
    /// Stored whole, and sent back whole.
    Native {
        data: Value,
        /// The input of a server-side tool, in fragments.
        input: String,
    },
}

impl Block {
    /// Opens a block with its initial content.
    pub fn start(
        index: usize,
        mut start: Value,
        held: &mut Held,
        out: &mut Vec<StreamEvent>,
    ) -> Result<Self, ProviderError> {
        held.add(weight(&start))?;
        let text = |key: &str| start.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, content, said) = match start.get("type").and_then(Value::as_str) {
            Some("text") => {
                let said = text("text");
                let citations = match start.get_mut("citations").map(Value::take) {
                    Some(Value::Array(citations)) => citations,
                    Some(_) | None => Vec::new(),
                };
                (StartKind::Text, Content::Text { citations }, said)
            }
            Some("thinking") => {
                (StartKind::Thinking, Content::Thinking { signature: text("signature") }, text("thinking"))
            }
            Some("tool_use") => {
                let kind = StartKind::ToolCall { wire_id: text("id"), name: text("name") };
                (kind, call(start), String::new())
            }
            Some(_) | None => {
                (StartKind::Native, Content::Native { data: start, input: String::new() }, String::new())
            }
        };
        out.push(StreamEvent::PartStarted { index, kind });
        say(index, &said, out);
        Ok(Self { index, content })
    }

    pub fn is_call(&self) -> bool {
        match self.content {
            Content::Call { .. } => true,
            Content::Text { .. } | Content::Thinking { .. } | Content::Native { .. } => false,
        }
    }

    /// Handles one delta; ignores kinds that are unknown for this block.
    pub fn delta(
        &mut self,
        delta: &Value,
        held: &mut Held,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        let kind = field(delta, "type").and_then(Value::as_str).unwrap_or_default();
        let text = |key: &str| field(delta, key).and_then(Value::as_str).unwrap_or_default();
        match (&mut self.content, kind) {
            (Content::Text { .. }, "text_delta") => say(self.index, text("text"), out),
            (Content::Text { citations }, "citations_delta") => {
                let citation = delta.get("citation").cloned().unwrap_or_default();
                held.add(weight(&citation))?;
                citations.push(citation);
            }
            (Content::Thinking { .. }, "thinking_delta") => say(self.index, text("thinking"), out),
            (Content::Thinking { signature }, "signature_delta") => {
                held.add(text("signature").len())?;
                signature.push_str(text("signature"));
            }
            (Content::Call { said, .. }, "input_json_delta") => {
                *said |= !text("partial_json").is_empty();
                say(self.index, text("partial_json"), out);
            }
            (Content::Native { input, .. }, "input_json_delta") => {
                held.add(text("partial_json").len())?;
                input.push_str(text("partial_json"));
            }
            (Content::Native { data, .. }, "compaction_delta") => {
                held.add(text("content").len())?;
                append(data, "content", text("content"));
            }
            (
                Content::Text { .. }
                | Content::Thinking { .. }
                | Content::Call { .. }
                | Content::Native { .. },
                _,
            ) => {}
        }
        Ok(())
    }

    /// Closes the block; `bind` converts the data that must be sent back into opaque data.
    pub fn end(self, out: &mut Vec<StreamEvent>, bind: impl FnOnce(Value) -> Opaque) {
        let index = self.index;
        let data = match self.content {
            Content::Text { citations } if citations.is_empty() => None,
            Content::Text { citations } => Some(object("citations", Value::Array(citations))),
            Content::Thinking { signature } if signature.is_empty() => None,
            Content::Thinking { signature } => Some(object("signature", Value::String(signature))),
            Content::Call { input, said, fields } => {
                if !said && input.as_object().is_some_and(|input| !input.is_empty()) {
                    say(index, &input.to_string(), out);
                }
                (!fields.is_empty()).then_some(Value::Object(fields))
            }
            Content::Native { mut data, input } => {
                if let (Some(data), Ok(input)) = (data.as_object_mut(), serde_json::from_str(&input)) {
                    data.insert("input".to_owned(), input);
                }
                Some(data)
            }
        };
        out.push(StreamEvent::PartEnded { index, opaque: data.map(bind) });
    }
}

fn call(start: Value) -> Content {
    let mut fields = match start {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    let input = fields.shift_remove("input").unwrap_or_default();
    for known in ["type", "id", "name"] {
        fields.shift_remove(known);
    }
    // A call by the model itself is the service's default.
    let direct = serde_json::json!({ "type": "direct" });
    fields.retain(|key, value| !(value.is_null() || key == "caller" && *value == direct));
    Content::Call { input, said: false, fields }
}

fn say(index: usize, text: &str, out: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        out.push(StreamEvent::PartDelta { index, delta: text.to_owned() });
    }
}

fn append(data: &mut Value, key: &str, more: &str) {
    if let (Some(data), false) = (data.as_object_mut(), more.is_empty()) {
        let before = data.get(key).and_then(Value::as_str).unwrap_or_default();
        let whole = format!("{before}{more}");
        data.insert(key.to_owned(), Value::String(whole));
    }
}

fn object(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

/// Returns the approximate size in bytes of a value's strings, for the memory limit.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 16,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>() + 16
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
    }
}
