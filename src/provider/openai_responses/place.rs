//! Which item of a reply an event is about.
//!
//! The service numbers items by `output_index`, and that counts wherever it is said: some hosts give an item another id
//! in each event. llama.cpp's server says no number and keeps its ids. The decoder alone asks.

use std::collections::BTreeMap;

use serde_json::Value;

use super::decode::text_of;
use crate::provider::ProviderError;
use crate::provider::decoder::Held;

/// The places of a reply's items.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Places {
    /// By id, of items that came without a number.
    known: BTreeMap<String, u64>,
    /// Behind every place so far.
    next: u64,
    /// Of the event before.
    latest: u64,
    held: Held,
}

impl Places {
    /// The place of the item that an event is about. An event with neither number nor id is about the one before it.
    pub fn of(&mut self, event: &Value) -> Result<u64, ProviderError> {
        let id = match text_of(event, "item_id") {
            "" => event.get("item").map_or("", |item| text_of(item, "id")),
            id => id,
        };
        let at = match (event.get("output_index").and_then(Value::as_u64), self.known.get(id)) {
            (Some(number), _) => number,
            (None, Some(known)) => *known,
            (None, None) if id.is_empty() => self.latest,
            (None, None) => {
                self.held.add(id.len())?;
                self.known.insert(id.to_owned(), self.next);
                self.next
            }
        };
        self.latest = at;
        self.next = self.next.max(at.saturating_add(1));
        Ok(at)
    }
}
