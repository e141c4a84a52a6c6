//! Merges `reasoning_details` (OpenRouter): a list that comes in fragments and must be sent back merged, with
//! signatures.

use serde_json::{Map, Value};

use crate::provider::ProviderError;
use crate::provider::reply::ReplyBuilder;

/// Fields whose fragments are joined; other fields keep their first non-empty value.
const JOINED: [&str; 3] = ["text", "summary", "data"];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReasoningDetails {
    items: Vec<Map<String, Value>>,
}

impl ReasoningDetails {
    /// Adds one fragment to the item of the same type, index and id, or starts a new item.
    pub fn add(&mut self, fragment: &Value, reply: &mut ReplyBuilder) -> Result<(), ProviderError> {
        let Some(fragment) = fragment.as_object() else { return Ok(()) };
        reply.hold(fragment.values().map(weight).sum())?;
        let found = self.items.iter_mut().rev().find(|item| same_item(item, fragment));
        let Some(item) = found else {
            self.items.push(fragment.clone());
            return Ok(());
        };
        for (key, value) in fragment {
            match (item.get_mut(key), value) {
                (Some(Value::String(before)), Value::String(more)) if JOINED.contains(&key.as_str()) => {
                    before.push_str(more);
                }
                (before, value) if before.as_deref().is_none_or(says_nothing) => {
                    item.insert(key.clone(), value.clone());
                }
                (Some(_) | None, _) => {}
            }
        }
        Ok(())
    }

    /// Returns the merged list, if any.
    pub fn take(&mut self) -> Option<Value> {
        let items = std::mem::take(&mut self.items);
        (!items.is_empty()).then(|| Value::Array(items.into_iter().map(Value::Object).collect()))
    }
}

fn same_item(item: &Map<String, Value>, fragment: &Map<String, Value>) -> bool {
    let same = |key: &str| item.get(key) == fragment.get(key);
    let id = |map: &'_ Map<String, Value>| map.get("id").filter(|id| !id.is_null()).cloned();
    let ids = match (id(item), id(fragment)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    };
    same("type") && same("index") && ids
}

fn says_nothing(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

fn weight(value: &Value) -> usize {
    value.as_str().map_or(16, str::len)
}
