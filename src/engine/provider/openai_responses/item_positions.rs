//! Determines to which item of a reply an event belongs.
//!
//! The service numbers items by `output_index`, which takes precedence wherever present: some hosts give an
//! item a new id in each event. llama.cpp's server sends no number and keeps its ids. Called by the decoder
//! only.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::provider::ProviderError;
use crate::provider::json_fields::text_of;
use crate::provider::reply::ReplyBuilder;

/// The places of a reply's items.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ItemPositions {
    /// Places by id, of items without a number.
    known: BTreeMap<String, u64>,
    /// The first place after all places so far.
    next: u64,
    /// The place of the previous event.
    latest: u64,
}

impl ItemPositions {
    /// Returns the place of an event's item. An event with neither number nor id belongs to the previous
    /// event's item.
    pub fn of(&mut self, event: &Value, reply: &mut ReplyBuilder) -> Result<u64, ProviderError> {
        let id = match text_of(event, "item_id") {
            "" => event.get("item").map_or("", |item| text_of(item, "id")),
            id => id,
        };
        let at = match (event.get("output_index").and_then(Value::as_u64), self.known.get(id)) {
            (Some(number), _) => number,
            (None, Some(known)) => *known,
            (None, None) if id.is_empty() => self.latest,
            (None, None) => {
                reply.hold(id.len())?;
                self.known.insert(id.to_owned(), self.next);
                self.next
            }
        };
        self.latest = at;
        self.next = self.next.max(at.saturating_add(1));
        Ok(at)
    }
}
