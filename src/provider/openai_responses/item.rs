//! What is known of one output item, and how its whole form is read.

use serde_json::{Value, json};

use super::decode::text_of;

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub content: Content,
    /// The part that is open for it.
    pub part: Option<usize>,
    pub done: bool,
}

/// What is known of an item. Lengths are in bytes of what was said.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Message { said: usize, refused: usize, phase: Option<Value> },
    Reasoning { said: usize, section: Option<Section>, cut: bool },
    Call { id: String, name: String, args: String },
    Native,
}

/// A piece of reasoning; pieces are set apart by an empty line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Section {
    Summary(u64),
    Content(u64),
}

impl Content {
    pub fn of(item: &Value) -> Self {
        match text_of(item, "type") {
            "message" => Self::Message { said: 0, refused: 0, phase: phase(item) },
            "reasoning" => Self::Reasoning { said: 0, section: None, cut: false },
            "function_call" => Self::Call {
                id: text_of(item, "call_id").to_owned(),
                name: text_of(item, "name").to_owned(),
                args: String::new(),
            },
            _ => Self::Native,
        }
    }

    /// Whether both are items of one kind.
    pub fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The phase of a message: it goes back with it.
pub fn phase(item: &Value) -> Option<Value> {
    item.get("phase").filter(|phase| phase.is_string()).cloned()
}

/// The opaque data of a message.
pub fn phase_data(phase: &Value) -> Value {
    json!({ "phase": phase })
}

/// The texts of an item's pieces of one kind, without their first `said` bytes.
pub fn unsaid<'a>(
    item: &'a Value,
    list: &str,
    kind: &'static str,
    field: &'static str,
    mut said: usize,
) -> impl Iterator<Item = &'a str> {
    let pieces = item.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let texts = pieces.iter().filter(move |piece| text_of(piece, "type") == kind);
    texts.filter_map(move |piece| {
        let text = text_of(piece, field);
        let rest = text.get(said..);
        said = said.saturating_sub(text.len());
        rest.filter(|rest| !rest.is_empty())
    })
}

/// The bytes of an item, near enough to count what is held.
pub fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 16,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + weight(value)).sum::<usize>() + 16
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
    }
}
