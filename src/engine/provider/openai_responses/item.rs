//! The state of one output item, and how to read its complete form.

use serde_json::{Value, json};

use crate::provider::json_fields::text_of;

#[derive(Debug, Clone, PartialEq)]
pub struct OutputItem {
    pub content: ItemContent,
    /// The open part of this item.
    pub part: Option<usize>,
    pub done: bool,
}

/// The state of an item by kind. Lengths count the bytes that were already emitted.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemContent {
    Message { said: usize, refused: usize, phase: Option<Value> },
    Reasoning { said: usize, section: Option<Section>, cut: bool },
    Call { id: String, name: String, args: String },
    Native,
}

/// A section of reasoning; sections are separated by an empty line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Section {
    Summary(u64),
    Content(u64),
}

impl ItemContent {
    /// Returns the state of an item of this kind before any delta.
    pub fn of(kind: &str, item: &Value) -> Self {
        match kind {
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

    /// Whether it is of the kind of this complete item.
    pub fn is_like(&self, item: &Value) -> bool {
        let other = Self::of(text_of(item, "type"), item);
        std::mem::discriminant(self) == std::mem::discriminant(&other)
    }
}

/// Returns the phase of a message, which is sent back with it.
pub fn phase(item: &Value) -> Option<Value> {
    item.get("phase").filter(|phase| phase.is_string()).cloned()
}

/// Returns the opaque data of a message.
pub fn phase_data(phase: &Value) -> Value {
    json!({ "phase": phase })
}

/// Returns the texts of an item's content of one kind, without their first `said` bytes.
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
