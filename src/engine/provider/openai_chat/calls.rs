//! Assembles tool calls from fragments, even where a host omits fields that assign a fragment to its call.
//!
//! Hosts omit the index, reuse it for another call, omit ids, send the name after the arguments, repeat it,
//! or send whole calls with arguments as objects (`wire.md` §2). A call is announced once its name and id are
//! known, in order of first appearance; calls still incomplete at the end are announced as they are.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::provider::ProviderError;
use crate::provider::json_fields::{json_text, text_of};
use crate::provider::reply::ReplyBuilder;

/// The calls of one reply, in order of appearance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallAssembler {
    slots: Vec<CallSlot>,
}

#[derive(Debug, Clone, PartialEq)]
struct CallSlot {
    key: SlotKey,
    id: String,
    name: String,
    args: String,
    /// How much of `args` was emitted, in bytes.
    emitted: usize,
    /// The part's index, once announced.
    part: Option<usize>,
    /// Fields that only this provider understands.
    fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum SlotKey {
    Index(u64),
    /// The provider gives no index: calls are identified by id, or by their position in the chunk.
    Position(usize),
}

struct CallFragment<'a> {
    key: SlotKey,
    id: &'a str,
    name: &'a str,
    args: Cow<'a, str>,
}

impl CallAssembler {
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Handles one entry of `tool_calls`, the `position`-th of its chunk.
    pub fn fragment(
        &mut self,
        value: &Value,
        position: usize,
        reply: &mut ReplyBuilder,
    ) -> Result<(), ProviderError> {
        let fragment = read(value, position);
        reply.hold(fragment.args.len() + fragment.name.len() + fragment.id.len())?;
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
                reply.hold_value(field)?;
                slot.fields.insert(key.clone(), field.clone());
            }
        }
        Ok(())
    }

    /// Returns the slot of a fragment; creates it if there is none.
    fn slot(&mut self, fragment: &CallFragment<'_>) -> usize {
        let found = self.slots.iter().rposition(|slot| match (fragment.key, slot.key) {
            (SlotKey::Index(index), SlotKey::Index(taken)) => index == taken,
            (SlotKey::Position(_), SlotKey::Position(_)) if !fragment.id.is_empty() => slot.id == fragment.id,
            (SlotKey::Position(here), SlotKey::Position(there)) => here == there,
            (SlotKey::Index(_), SlotKey::Position(_)) | (SlotKey::Position(_), SlotKey::Index(_)) => false,
        });
        // A fragment without index, id and name can only continue the last call.
        let continues = matches!(fragment.key, SlotKey::Position(_))
            && fragment.id.is_empty()
            && fragment.name.is_empty();
        let found = found.or_else(|| if continues { self.slots.len().checked_sub(1) } else { None });
        match found {
            Some(at) if !self.slots[at].is_followed_by(fragment) => at,
            Some(_) | None => {
                self.slots.push(CallSlot::new(fragment.key));
                self.slots.len() - 1
            }
        }
    }

    /// Announces calls whose name and id are known, and emits their new arguments.
    pub fn advance(&mut self, reply: &mut ReplyBuilder) {
        for slot in &mut self.slots {
            if slot.part.is_none() && (slot.name.is_empty() || slot.id.is_empty()) {
                return;
            }
            slot.emit(reply);
        }
    }

    /// Announces the remaining calls and ends every call.
    pub fn end(&mut self, reply: &mut ReplyBuilder) {
        for slot in &mut self.slots {
            slot.emit(reply);
        }
        for slot in &mut self.slots {
            let Some(index) = slot.part else { continue };
            let fields = std::mem::take(&mut slot.fields);
            reply.end_part(index, (!fields.is_empty()).then_some(Value::Object(fields)));
        }
    }
}

impl CallSlot {
    fn new(key: SlotKey) -> Self {
        Self {
            key,
            id: String::new(),
            name: String::new(),
            args: String::new(),
            emitted: 0,
            part: None,
            fields: Map::new(),
        }
    }

    /// Whether a fragment for this slot begins another call.
    fn is_followed_by(&self, fragment: &CallFragment<'_>) -> bool {
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

    fn emit(&mut self, reply: &mut ReplyBuilder) {
        let index = *self.part.get_or_insert_with(|| reply.start_call(&self.id, &self.name));
        reply.delta(index, self.args.get(self.emitted..).unwrap_or_default());
        self.emitted = self.args.len();
    }
}

fn read(value: &Value, position: usize) -> CallFragment<'_> {
    let function = value.get("function").unwrap_or(&Value::Null);
    CallFragment {
        key: value.get("index").and_then(Value::as_u64).map_or(SlotKey::Position(position), SlotKey::Index),
        id: text_of(value, "id"),
        name: text_of(function, "name"),
        args: json_text(function.get("arguments")),
    }
}
