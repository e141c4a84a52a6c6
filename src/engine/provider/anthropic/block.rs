//! One content block of a reply, from its start to its end.

use serde_json::{Map, Value};

use crate::provider::json_fields::{field, text_of};
use crate::provider::reply::ReplyBuilder;
use crate::provider::{ProviderError, StartKind};

/// An open block; `index` is the index of its part, from 0 without gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentBlock {
    index: usize,
    content: BlockContent,
}

#[derive(Debug, Clone, PartialEq)]
enum BlockContent {
    Text {
        citations: Vec<Value>,
    },
    Thinking {
        signature: String,
    },
    Call {
        /// Arguments that came complete in the start event: used if no delta follows.
        input: Value,
        has_deltas: bool,
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

impl ContentBlock {
    /// Opens a block with its initial content.
    pub fn start(mut start: Value, reply: &mut ReplyBuilder) -> Result<Self, ProviderError> {
        reply.hold_value(&start)?;
        let (index, content) = match start.get("type").and_then(Value::as_str) {
            Some("text") => {
                let index = reply.start_part(StartKind::Text);
                reply.delta(index, text_of(&start, "text"));
                let citations = match start.get_mut("citations").map(Value::take) {
                    Some(Value::Array(citations)) => citations,
                    Some(_) | None => Vec::new(),
                };
                (index, BlockContent::Text { citations })
            }
            Some("thinking") => {
                let index = reply.start_part(StartKind::Thinking);
                reply.delta(index, text_of(&start, "thinking"));
                (index, BlockContent::Thinking { signature: text_of(&start, "signature").to_owned() })
            }
            Some("tool_use") => {
                (reply.start_call(text_of(&start, "id"), text_of(&start, "name")), call(start))
            }
            Some(_) | None => {
                let content = BlockContent::Native { data: start, input: String::new() };
                (reply.start_part(StartKind::Native), content)
            }
        };
        Ok(Self { index, content })
    }

    /// Handles one delta; ignores kinds that are unknown for this block.
    pub fn delta(&mut self, delta: &Value, reply: &mut ReplyBuilder) -> Result<(), ProviderError> {
        let kind = field(delta, "type").and_then(Value::as_str).unwrap_or_default();
        let text = |key: &str| field(delta, key).and_then(Value::as_str).unwrap_or_default();
        match (&mut self.content, kind) {
            (BlockContent::Text { .. }, "text_delta") => reply.delta(self.index, text("text")),
            (BlockContent::Text { citations }, "citations_delta") => {
                let citation = delta.get("citation").cloned().unwrap_or_default();
                reply.hold_value(&citation)?;
                citations.push(citation);
            }
            (BlockContent::Thinking { .. }, "thinking_delta") => reply.delta(self.index, text("thinking")),
            (BlockContent::Thinking { signature }, "signature_delta") => {
                reply.hold(text("signature").len())?;
                signature.push_str(text("signature"));
            }
            (BlockContent::Call { has_deltas, .. }, "input_json_delta") => {
                *has_deltas |= !text("partial_json").is_empty();
                reply.delta(self.index, text("partial_json"));
            }
            (BlockContent::Native { input, .. }, "input_json_delta") => {
                reply.hold(text("partial_json").len())?;
                input.push_str(text("partial_json"));
            }
            (BlockContent::Native { data, .. }, "compaction_delta") => {
                reply.hold(text("content").len())?;
                append(data, "content", text("content"));
            }
            (
                BlockContent::Text { .. }
                | BlockContent::Thinking { .. }
                | BlockContent::Call { .. }
                | BlockContent::Native { .. },
                _,
            ) => {}
        }
        Ok(())
    }

    /// Closes the block.
    pub fn end(self, reply: &mut ReplyBuilder) {
        let index = self.index;
        let data = match self.content {
            BlockContent::Text { citations } if citations.is_empty() => None,
            BlockContent::Text { citations } => Some(object("citations", Value::Array(citations))),
            BlockContent::Thinking { signature } if signature.is_empty() => None,
            BlockContent::Thinking { signature } => Some(object("signature", Value::String(signature))),
            BlockContent::Call { input, has_deltas, fields } => {
                if !has_deltas && input.as_object().is_some_and(|input| !input.is_empty()) {
                    reply.delta(index, input.to_string());
                }
                (!fields.is_empty()).then_some(Value::Object(fields))
            }
            BlockContent::Native { mut data, input } => {
                if let (Some(data), Ok(input)) = (data.as_object_mut(), serde_json::from_str(&input)) {
                    data.insert("input".to_owned(), input);
                }
                Some(data)
            }
        };
        reply.end_part(index, data);
    }
}

fn call(start: Value) -> BlockContent {
    let mut fields = match start {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let input = fields.shift_remove("input").unwrap_or_default();
    for known in ["type", "id", "name"] {
        fields.shift_remove(known);
    }
    // A call by the model itself is the service's default.
    let direct = serde_json::json!({ "type": "direct" });
    fields.retain(|key, value| !(value.is_null() || key == "caller" && *value == direct));
    BlockContent::Call { input, has_deltas: false, fields }
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
