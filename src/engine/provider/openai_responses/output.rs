//! Decodes the output items of one reply, from their start to their end.
//!
//! Items are identified by their place (see `item_positions.rs`). Text and thinking are emitted as they arrive. An
//! item's `done` event contains its final form; that form is sent back later, and any text missing from the
//! deltas is emitted then. An item without `done` ends in the form of the finished response, or with its
//! deltas.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::arguments::{self, WrappedCall};
use super::item::{self, ItemContent, OutputItem, Section, phase_data, unsaid};
use crate::provider::decoder::malformed;
use crate::provider::json_fields::{json_text, text_of};
use crate::provider::reply::ReplyBuilder;
use crate::provider::{ProviderError, StartKind};

/// The opaque field of thinking whose item comes after other parts (see [`OutputItems::cut`]): the item's
/// `output_index`.
pub const LATER: &str = "item_comes_later";

/// The opaque field of the native part with that item: the same number.
pub const LATE: &str = "late_item_of";

/// The opaque field of a call that was wrapped in another call together with others.
pub const UNWRAPPED: &str = "unwrapped";

/// The items of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputItems {
    pub reply: ReplyBuilder,
    /// By place.
    items: BTreeMap<u64, OutputItem>,
    /// The item whose text or thinking part is open: at most one.
    open: Option<u64>,
    refusal: String,
}

impl OutputItems {
    pub fn new(reply: ReplyBuilder) -> Self {
        Self { reply, items: BTreeMap::new(), open: None, refusal: String::new() }
    }

    /// Returns the text of the model's refusal.
    pub fn refusal(&self) -> &str {
        &self.refusal
    }

    /// Starts an item.
    pub fn added(&mut self, at: u64, item: &Value) -> Result<(), ProviderError> {
        self.end(at);
        self.begin(at, ItemContent::of(text_of(item, "type"), item))?;
        match self.items.get(&at).map(|item| &item.content) {
            // A thinking part starts at once: its text may come late, or never.
            Some(ItemContent::Reasoning { .. }) => {
                self.open_part(at, StartKind::Thinking);
            }
            Some(ItemContent::Call { id, name, .. })
                if !id.is_empty() && !name.is_empty() && !arguments::is_wrapper(name) =>
            {
                self.announce(at);
            }
            Some(ItemContent::Message { .. } | ItemContent::Call { .. } | ItemContent::Native) | None => {}
        }
        Ok(())
    }

    /// Handles text of a message.
    pub fn text(&mut self, at: u64, delta: &str) -> Result<(), ProviderError> {
        if let Some(OutputItem { content: ItemContent::Message { said, .. }, .. }) =
            self.unfinished_item(at, "message")?
        {
            *said += delta.len();
            self.say(at, StartKind::Text, delta);
        }
        Ok(())
    }

    /// Handles text of a refusal.
    pub fn refuse(&mut self, at: u64, delta: &str) -> Result<(), ProviderError> {
        if let Some(OutputItem { content: ItemContent::Message { refused, .. }, .. }) =
            self.unfinished_item(at, "message")?
        {
            *refused += delta.len();
            self.reply.hold(delta.len())?;
            self.refusal.push_str(delta);
        }
        Ok(())
    }

    /// Handles text of thinking.
    pub fn thinking(&mut self, at: u64, now: Section, delta: &str) -> Result<(), ProviderError> {
        if let Some(OutputItem { content: ItemContent::Reasoning { said, section, .. }, .. }) =
            self.unfinished_item(at, "reasoning")?
        {
            let apart = *said > 0 && section.is_some_and(|before| before != now);
            *section = Some(now);
            *said += delta.len();
            if apart {
                self.say(at, StartKind::Thinking, "\n\n");
            }
            self.say(at, StartKind::Thinking, delta);
        }
        Ok(())
    }

    /// Handles a fragment of a call's arguments.
    pub fn arguments(&mut self, at: u64, delta: &str) -> Result<(), ProviderError> {
        if let Some(OutputItem { content: ItemContent::Call { args, .. }, part, .. }) =
            self.unfinished_item(at, "function_call")?
        {
            args.push_str(delta);
            let part = *part;
            self.reply.hold(delta.len())?;
            if let Some(index) = part {
                self.reply.delta(index, delta);
            }
        }
        Ok(())
    }

    /// Completes an item.
    pub fn done(&mut self, at: u64, item: &Value) -> Result<(), ProviderError> {
        match self.items.get(&at) {
            Some(known) if known.content.is_like(item) && known.done => return Ok(()),
            Some(known) if known.content.is_like(item) => {}
            Some(_) | None => {
                self.end(at);
                self.begin(at, ItemContent::of(text_of(item, "type"), item))?;
            }
        }
        let Some(known) = self.items.get_mut(&at) else { return Ok(()) };
        known.done = true;
        match &mut known.content {
            ItemContent::Message { said, refused, phase } => {
                let (said, refused) = (*said, *refused);
                *phase = item::phase(item);
                self.message_done(at, item, said, refused)
            }
            ItemContent::Reasoning { said, cut, .. } => {
                let (said, cut) = (*said, *cut);
                self.reasoning_done(at, item, said, cut)
            }
            ItemContent::Call { id, name, args } => {
                for (known, reported) in [(id, text_of(item, "call_id")), (name, text_of(item, "name"))] {
                    if !reported.is_empty() {
                        reported.clone_into(known);
                    }
                }
                let args = std::mem::take(args);
                self.call_done(at, &args, &json_text(item.get("arguments")))
            }
            // An item without a type cannot be sent back.
            ItemContent::Native if text_of(item, "type").is_empty() => Ok(()),
            ItemContent::Native => self.native(item.clone()),
        }
    }

    /// Completes the response: items that are still open end in the form of `output`.
    pub fn close(&mut self, output: &[Value]) -> Result<(), ProviderError> {
        if self.items.is_empty() {
            for (at, item) in (0_u64..).zip(output) {
                self.done(at, item)?;
            }
        }
        let left: Vec<u64> = self.items.iter().filter(|(_, item)| !item.done).map(|(at, _)| *at).collect();
        for at in left {
            let shown = usize::try_from(at).ok().and_then(|at| output.get(at));
            let known = self.items.get(&at);
            match shown.filter(|shown| known.is_some_and(|known| known.content.is_like(shown))) {
                Some(shown) => self.done(at, shown)?,
                None => self.end(at),
            }
        }
        Ok(())
    }

    fn begin(&mut self, at: u64, content: ItemContent) -> Result<(), ProviderError> {
        self.reply.hold(0)?;
        self.items.insert(at, OutputItem { content, part: None, done: false });
        Ok(())
    }

    /// Returns an item that is not complete. Starts an unknown one, because deltas may arrive without an `added`
    /// event.
    fn unfinished_item(&mut self, at: u64, kind: &str) -> Result<Option<&mut OutputItem>, ProviderError> {
        if !self.items.contains_key(&at) {
            self.begin(at, ItemContent::of(kind, &Value::Null))?;
        }
        Ok(self.items.get_mut(&at).filter(|item| !item.done))
    }

    /// Ends an item with what its deltas contained.
    fn end(&mut self, at: u64) {
        let Some(item) = self.items.get_mut(&at).filter(|item| !item.done) else { return };
        item.done = true;
        let mut data = None;
        match &mut item.content {
            ItemContent::Message { phase, .. } => data = phase.as_ref().map(phase_data),
            // A call without a name cannot be emitted.
            ItemContent::Call { name, args, .. } if item.part.is_none() && !name.is_empty() => {
                let args = std::mem::take(args);
                self.whole_call(at, &args);
                return;
            }
            ItemContent::Reasoning { .. } | ItemContent::Call { .. } | ItemContent::Native => {}
        }
        self.end_part(at, data);
    }

    fn message_done(
        &mut self,
        at: u64,
        item: &Value,
        said: usize,
        refused: usize,
    ) -> Result<(), ProviderError> {
        for rest in unsaid(item, "content", "output_text", "text", said) {
            self.say(at, StartKind::Text, rest);
        }
        for rest in unsaid(item, "content", "refusal", "refusal", refused) {
            self.reply.hold(rest.len())?;
            self.refusal.push_str(rest);
        }
        self.end_part(at, item::phase(item).as_ref().map(phase_data));
        Ok(())
    }

    fn reasoning_done(&mut self, at: u64, item: &Value, said: usize, cut: bool) -> Result<(), ProviderError> {
        if cut {
            return self.native(json!({ LATE: at, "item": item }));
        }
        let index = self.open_part(at, StartKind::Thinking);
        if said == 0 {
            let summary = unsaid(item, "summary", "summary_text", "text", 0);
            let content = unsaid(item, "content", "reasoning_text", "text", 0);
            let mut between = "";
            for text in summary.chain(content) {
                self.reply.delta(index, between);
                self.reply.delta(index, text);
                between = "\n\n";
            }
        }
        self.reply.hold_value(item)?;
        self.end_part(at, Some(item.clone()));
        Ok(())
    }

    /// Completes a call: `said` came in fragments, `whole` at the end. Errs where they differ, because then
    /// the arguments to run are uncertain.
    fn call_done(&mut self, at: u64, said: &str, whole: &str) -> Result<(), ProviderError> {
        let announced = self.items.get(&at).and_then(|item| item.part);
        let Some(index) = announced else {
            let args = if whole.is_empty() { said } else { whole };
            self.whole_call(at, args);
            return Ok(());
        };
        match whole.strip_prefix(said) {
            Some(rest) => self.reply.delta(index, rest),
            None if whole.is_empty() || arguments::same(said, whole) => {}
            None => {
                return Err(malformed("the server sent two different versions of a tool call's arguments"));
            }
        }
        self.end_part(at, None);
        Ok(())
    }

    /// Emits a call that was not announced before its arguments were complete.
    fn whole_call(&mut self, at: u64, args: &str) {
        let Some(OutputItem { content: ItemContent::Call { id, name, .. }, .. }) = self.items.get(&at) else {
            return;
        };
        let Some(inner) = arguments::unwrap_calls(name, args) else {
            if let Some(index) = self.announce(at) {
                self.reply.delta(index, args);
            }
            self.end_part(at, None);
            return;
        };
        let id = id.clone();
        for (number, WrappedCall { name, args }) in (1..).zip(inner) {
            let wire_id = if id.is_empty() { String::new() } else { format!("{id}_{number}") };
            let index = self.reply.start_call(&wire_id, &name);
            self.reply.delta(index, args);
            self.reply.end_part(index, Some(json!({ UNWRAPPED: true })));
        }
    }

    /// Starts the part of an item that is a call.
    fn announce(&mut self, at: u64) -> Option<usize> {
        let OutputItem { content: ItemContent::Call { id, name, .. }, part, .. } = self.items.get_mut(&at)?
        else {
            return None;
        };
        *part = Some(self.reply.start_call(id, name));
        *part
    }

    /// Emits an item that only the service understands.
    fn native(&mut self, data: Value) -> Result<(), ProviderError> {
        self.reply.hold_value(&data)?;
        self.cut();
        self.reply.native(data);
        Ok(())
    }

    fn say(&mut self, at: u64, kind: StartKind, text: &str) {
        if !text.is_empty() {
            let index = self.open_part(at, kind);
            self.reply.delta(index, text);
        }
    }

    /// Returns the open text or thinking part of an item; starts it if needed.
    fn open_part(&mut self, at: u64, kind: StartKind) -> usize {
        if let Some(index) = self.items.get(&at).and_then(|item| item.part) {
            return index;
        }
        self.cut();
        let index = self.reply.start_part(kind);
        self.open = Some(at);
        if let Some(item) = self.items.get_mut(&at) {
            item.part = Some(index);
        }
        index
    }

    /// Ends the open text or thinking part before its item is complete, because another begins: `OpenRouter`
    /// sends a message before the preceding reasoning has ended. Such reasoning's item is emitted as a native
    /// part, marked so that it is sent back in its original position.
    fn cut(&mut self) {
        let Some(at) = self.open else { return };
        let mut data = None;
        match self.items.get_mut(&at).map(|item| &mut item.content) {
            Some(ItemContent::Message { phase, .. }) => data = phase.as_ref().map(phase_data),
            Some(ItemContent::Reasoning { cut, .. }) => {
                *cut = true;
                data = Some(json!({ LATER: at }));
            }
            Some(ItemContent::Call { .. } | ItemContent::Native) | None => {}
        }
        self.end_part(at, data);
    }

    fn end_part(&mut self, at: u64, data: Option<Value>) {
        if self.open == Some(at) {
            self.open = None;
        }
        if let Some(index) = self.items.get_mut(&at).and_then(|item| item.part.take()) {
            self.reply.end_part(index, data);
        }
    }
}
