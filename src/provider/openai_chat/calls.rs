//! Assembles tool calls from fragments, even where a host omits fields that assign a fragment to its call.
//!
//! Hosts omit the index, reuse it for another call, omit ids, send the name after the arguments, repeat it,
//! or send whole calls with arguments as objects (`wire.md` §2). A call is announced once its name and id are
//! known, in order of first appearance; calls still incomplete at the end are announced as they are.

use serde_json::{Map, Value};

use crate::message::Opaque;
use crate::provider::decoder::Held;
use crate::provider::{ProviderError, StartKind, StreamEvent};

/// The calls of one reply, in order of appearance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calls {
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, PartialEq)]
struct Slot {
    key: Key,
    id: String,
    name: String,
    args: String,
    /// How much of `args` was emitted, in bytes.
    said: usize,
    /// The part's index, once announced.
    part: Option<usize>,
    /// Fields that only this provider understands.
    fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Key {
    Index(u64),
    /// The provider gives no index: calls are identified by id, or by their position in the chunk.
    Position(usize),
}

struct Fragment<'a> {
    key: Key,
    id: &'a str,
    name: &'a str,
    args: String,
}

impl Calls {
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Handles one entry of `tool_calls`, the `position`-th of its chunk.
    pub fn fragment(&mut self, value: &Value, position: usize, held: &mut Held) -> Result<(), ProviderError> {
        let fragment = read(value, position);
        held.add(fragment.args.len() + fragment.name.len() + fragment.id.len())?;
        let at = self.slot(&fragment);
        let slot = &mut self.slots[at];
        if slot.id.is_empty() {
            fragment.id.clone_into(&mut slot.id);
        }
        if slot.name.is_empty() {
            fragment.name.clone_into(&mut slot.name);
        }
        let nothing = slot.args.is_empty() && fragment.args.trim() == "null";
        if !nothing {
            slot.args.push_str(&fragment.args);
        }
        for (key, field) in value.as_object().into_iter().flatten() {
            let known = ["index", "id", "type", "function"].contains(&key.as_str());
            if !known && !field.is_null() {
                held.add(field.to_string().len())?;
                slot.fields.insert(key.clone(), field.clone());
            }
        }
        Ok(())
    }

    /// Returns the slot of a fragment; creates it if there is none.
    fn slot(&mut self, fragment: &Fragment<'_>) -> usize {
        let found = self.slots.iter().rposition(|slot| match (fragment.key, slot.key) {
            (Key::Index(index), Key::Index(taken)) => index == taken,
            (Key::Position(_), Key::Position(_)) if !fragment.id.is_empty() => slot.id == fragment.id,
            (Key::Position(here), Key::Position(there)) => here == there,
            (Key::Index(_), Key::Position(_)) | (Key::Position(_), Key::Index(_)) => false,
        });
        // A fragment without index, id and name can only continue the last call.
        let continues =
            matches!(fragment.key, Key::Position(_)) && fragment.id.is_empty() && fragment.name.is_empty();
        let found = found.or_else(|| if continues { self.slots.len().checked_sub(1) } else { None });
        match found {
            Some(at) if !self.slots[at].is_followed_by(fragment) => at,
            Some(_) | None => {
                self.slots.push(Slot::new(fragment.key));
                self.slots.len() - 1
            }
        }
    }

    /// Announces calls whose name and id are known, and emits their new arguments.
    pub fn advance(&mut self, parts: &mut usize, out: &mut Vec<StreamEvent>) {
        for slot in &mut self.slots {
            if slot.part.is_none() && (slot.name.is_empty() || slot.id.is_empty()) {
                return;
            }
            slot.say(parts, out);
        }
    }

    /// Announces the remaining calls and ends every call; `bind` converts fields to send back into opaque
    /// data.
    pub fn end(&mut self, parts: &mut usize, out: &mut Vec<StreamEvent>, bind: impl Fn(Value) -> Opaque) {
        for slot in &mut self.slots {
            slot.say(parts, out);
        }
        for slot in &mut self.slots {
            let Some(index) = slot.part else { continue };
            let fields = std::mem::take(&mut slot.fields);
            let opaque = (!fields.is_empty()).then(|| bind(Value::Object(fields)));
            out.push(StreamEvent::PartEnded { index, opaque });
        }
    }
}

impl Slot {
    fn new(key: Key) -> Self {
        Self {
            key,
            id: String::new(),
            name: String::new(),
            args: String::new(),
            said: 0,
            part: None,
            fields: Map::new(),
        }
    }

    /// Whether a fragment for this slot begins another call.
    fn is_followed_by(&self, fragment: &Fragment<'_>) -> bool {
        if fragment.name.is_empty() || self.name.is_empty() {
            return false;
        }
        if !fragment.id.is_empty() && !self.id.is_empty() {
            return fragment.id != self.id;
        }
        // Without ids, only complete arguments distinguish a next call from a repeated name.
        let more = fragment.name != self.name || !fragment.args.is_empty();
        more && serde_json::from_str::<Value>(&self.args).is_ok()
    }

    fn say(&mut self, parts: &mut usize, out: &mut Vec<StreamEvent>) {
        let index = *self.part.get_or_insert_with(|| {
            let index = *parts;
            *parts += 1;
            let kind = StartKind::ToolCall { wire_id: self.id.clone(), name: self.name.clone() };
            out.push(StreamEvent::PartStarted { index, kind });
            index
        });
        let delta = self.args.get(self.said..).unwrap_or_default();
        if !delta.is_empty() {
            out.push(StreamEvent::PartDelta { index, delta: delta.to_owned() });
            self.said = self.args.len();
        }
    }
}

fn read(value: &Value, position: usize) -> Fragment<'_> {
    let function = value.get("function").unwrap_or(&Value::Null);
    let text = |value: &'_ Value, key: &str| -> Option<String> {
        match value.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    };
    Fragment {
        key: value.get("index").and_then(Value::as_u64).map_or(Key::Position(position), Key::Index),
        id: value.get("id").and_then(Value::as_str).unwrap_or_default(),
        name: function.get("name").and_then(Value::as_str).unwrap_or_default(),
        args: text(function, "arguments").unwrap_or_default(),
    }
}
