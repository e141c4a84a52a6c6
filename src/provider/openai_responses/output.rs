//! Decodes the output items of one reply, from their start to their end.
//!
//! Items are identified by their place (see `place.rs`). Text and thinking are emitted as they arrive. An
//! item's `done` event contains its final form; that form is sent back later, and any text missing from the
//! deltas is emitted then. An item without `done` ends in the form of the finished response, or with its
//! deltas.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::WIRE;
use super::arguments::{self, Inner};
use super::decode::text_of;
use super::item::{self, Content, Item, Section, phase_data, unsaid, weight};
use crate::message::Opaque;
use crate::provider::decoder::{Held, malformed};
use crate::provider::{ProviderError, StartKind, StreamEvent};

/// The opaque field of thinking whose item comes after other parts (see [`Output::cut`]): the item's
/// `output_index`.
pub const LATER: &str = "item_comes_later";

/// The opaque field of the native part with that item: the same number.
pub const LATE: &str = "late_item_of";

/// The opaque field of a call that was wrapped in another call together with others.
pub const UNWRAPPED: &str = "unwrapped";

type Taken = Result<(), ProviderError>;

/// The items of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// As requested: opaque data is bound to this name.
    model: String,
    /// By place.
    items: BTreeMap<u64, Item>,
    /// The item whose text or thinking part is open: at most one.
    open: Option<u64>,
    parts: usize,
    calls: usize,
    refusal: String,
    held: Held,
}

impl Output {
    pub fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            items: BTreeMap::new(),
            open: None,
            parts: 0,
            calls: 0,
            refusal: String::new(),
            held: Held::default(),
        }
    }

    /// Returns the number of tool calls emitted.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Returns the text of the model's refusal.
    pub fn refusal(&self) -> &str {
        &self.refusal
    }

    /// Starts an item.
    pub fn added(&mut self, at: u64, item: &Value, out: &mut Vec<StreamEvent>) -> Taken {
        self.end(at, out);
        self.begin(at, Content::of(item))?;
        match self.items.get(&at).map(|item| &item.content) {
            // A thinking part starts at once: its text may come late, or never.
            Some(Content::Reasoning { .. }) => {
                self.said_part(at, StartKind::Thinking, out);
            }
            Some(Content::Call { id, name, .. })
                if !id.is_empty() && !name.is_empty() && !arguments::is_wrapper(name) =>
            {
                self.announce(at, out);
            }
            Some(Content::Message { .. } | Content::Call { .. } | Content::Native) | None => {}
        }
        Ok(())
    }

    /// Handles text of a message.
    pub fn text(&mut self, at: u64, delta: &str, out: &mut Vec<StreamEvent>) -> Taken {
        self.expect(at, || Content::Message { said: 0, refused: 0, phase: None })?;
        if let Some(Item { content: Content::Message { said, .. }, done: false, .. }) =
            self.items.get_mut(&at)
        {
            *said += delta.len();
            self.say(at, StartKind::Text, delta, out);
        }
        Ok(())
    }

    /// Handles text of a refusal.
    pub fn refuse(&mut self, at: u64, delta: &str) -> Taken {
        self.expect(at, || Content::Message { said: 0, refused: 0, phase: None })?;
        if let Some(Item { content: Content::Message { refused, .. }, done: false, .. }) =
            self.items.get_mut(&at)
        {
            *refused += delta.len();
            self.held.add(delta.len())?;
            self.refusal.push_str(delta);
        }
        Ok(())
    }

    /// Handles text of thinking.
    pub fn thinking(&mut self, at: u64, now: Section, delta: &str, out: &mut Vec<StreamEvent>) -> Taken {
        self.expect(at, || Content::Reasoning { said: 0, section: None, cut: false })?;
        let item = self.items.get_mut(&at);
        if let Some(Item { content: Content::Reasoning { said, section, .. }, done: false, .. }) = item {
            let apart = *said > 0 && section.is_some_and(|before| before != now);
            *section = Some(now);
            *said += delta.len();
            if apart {
                self.say(at, StartKind::Thinking, "\n\n", out);
            }
            self.say(at, StartKind::Thinking, delta, out);
        }
        Ok(())
    }

    /// Handles a fragment of a call's arguments.
    pub fn arguments(&mut self, at: u64, delta: &str, out: &mut Vec<StreamEvent>) -> Taken {
        self.expect(at, || Content::Call { id: String::new(), name: String::new(), args: String::new() })?;
        if let Some(Item { content: Content::Call { args, .. }, done: false, part }) = self.items.get_mut(&at)
        {
            self.held.add(delta.len())?;
            args.push_str(delta);
            if let Some(index) = *part {
                say(index, delta, out);
            }
        }
        Ok(())
    }

    /// Completes an item.
    pub fn done(&mut self, at: u64, item: &Value, out: &mut Vec<StreamEvent>) -> Taken {
        let content = Content::of(item);
        match self.items.get(&at) {
            Some(known) if known.content.is_like(&content) && known.done => return Ok(()),
            Some(known) if known.content.is_like(&content) => {}
            Some(_) | None => {
                self.end(at, out);
                self.begin(at, content)?;
            }
        }
        let Some(known) = self.items.get_mut(&at) else { return Ok(()) };
        known.done = true;
        match &mut known.content {
            Content::Message { said, refused, phase } => {
                let (said, refused) = (*said, *refused);
                *phase = item::phase(item);
                self.message_done(at, item, said, refused, out)
            }
            Content::Reasoning { said, cut, .. } => {
                let (said, cut) = (*said, *cut);
                self.reasoning_done(at, item, said, cut, out)
            }
            Content::Call { id, name, args } => {
                for (known, told) in [(id, text_of(item, "call_id")), (name, text_of(item, "name"))] {
                    if !told.is_empty() {
                        told.clone_into(known);
                    }
                }
                let args = std::mem::take(args);
                self.call_done(at, &args, &arguments::text(item), out)
            }
            // An item without a type cannot be sent back.
            Content::Native if text_of(item, "type").is_empty() => Ok(()),
            Content::Native => self.native(item.clone(), out),
        }
    }

    /// Completes the response: items that are still open end in the form of `output`.
    pub fn close(&mut self, output: &[Value], out: &mut Vec<StreamEvent>) -> Taken {
        if self.items.is_empty() {
            for (at, item) in (0_u64..).zip(output) {
                self.done(at, item, out)?;
            }
        }
        let left: Vec<u64> = self.items.iter().filter(|(_, item)| !item.done).map(|(at, _)| *at).collect();
        for at in left {
            let shown = usize::try_from(at).ok().and_then(|at| output.get(at));
            let known = self.items.get(&at);
            match shown.filter(|shown| known.is_some_and(|known| known.content.is_like(&Content::of(shown))))
            {
                Some(shown) => self.done(at, shown, out)?,
                None => self.end(at, out),
            }
        }
        Ok(())
    }

    fn begin(&mut self, at: u64, content: Content) -> Taken {
        self.held.add(0)?;
        self.items.insert(at, Item { content, part: None, done: false });
        Ok(())
    }

    /// Starts an unknown item: deltas may arrive without an `added` event.
    fn expect(&mut self, at: u64, content: impl FnOnce() -> Content) -> Taken {
        if self.items.contains_key(&at) { Ok(()) } else { self.begin(at, content()) }
    }

    /// Ends an item with what its deltas contained.
    fn end(&mut self, at: u64, out: &mut Vec<StreamEvent>) {
        let Some(item) = self.items.get_mut(&at).filter(|item| !item.done) else { return };
        item.done = true;
        let mut data = None;
        match &mut item.content {
            Content::Message { phase, .. } => data = phase.as_ref().map(phase_data),
            // A call without a name cannot be emitted.
            Content::Call { name, args, .. } if item.part.is_none() && !name.is_empty() => {
                let args = std::mem::take(args);
                self.whole_call(at, &args, out);
                return;
            }
            Content::Reasoning { .. } | Content::Call { .. } | Content::Native => {}
        }
        self.end_part(at, data, out);
    }

    fn message_done(
        &mut self,
        at: u64,
        item: &Value,
        said: usize,
        refused: usize,
        out: &mut Vec<StreamEvent>,
    ) -> Taken {
        for rest in unsaid(item, "content", "output_text", "text", said) {
            self.say(at, StartKind::Text, rest, out);
        }
        for rest in unsaid(item, "content", "refusal", "refusal", refused) {
            self.held.add(rest.len())?;
            self.refusal.push_str(rest);
        }
        self.end_part(at, item::phase(item).as_ref().map(phase_data), out);
        Ok(())
    }

    fn reasoning_done(
        &mut self,
        at: u64,
        item: &Value,
        said: usize,
        cut: bool,
        out: &mut Vec<StreamEvent>,
    ) -> Taken {
        if cut {
            return self.native(json!({ LATE: at, "item": item }), out);
        }
        let index = self.said_part(at, StartKind::Thinking, out);
        if said == 0 {
            let summary = unsaid(item, "summary", "summary_text", "text", 0);
            let content = unsaid(item, "content", "reasoning_text", "text", 0);
            let mut between = "";
            for text in summary.chain(content) {
                say(index, between, out);
                say(index, text, out);
                between = "\n\n";
            }
        }
        self.held.add(weight(item))?;
        self.end_part(at, Some(item.clone()), out);
        Ok(())
    }

    /// Completes a call: `said` came in fragments, `whole` at the end. Errs where they differ, because then
    /// the arguments to run are uncertain.
    fn call_done(&mut self, at: u64, said: &str, whole: &str, out: &mut Vec<StreamEvent>) -> Taken {
        let announced = self.items.get(&at).and_then(|item| item.part);
        let Some(index) = announced else {
            let args = if whole.is_empty() { said } else { whole };
            self.whole_call(at, args, out);
            return Ok(());
        };
        match whole.strip_prefix(said) {
            Some(rest) => say(index, rest, out),
            None if whole.is_empty() || arguments::same(said, whole) => {}
            None => return Err(malformed("the server told a tool call's arguments twice, and differently")),
        }
        self.end_part(at, None, out);
        Ok(())
    }

    /// Emits a call that was not announced before its arguments were complete.
    fn whole_call(&mut self, at: u64, args: &str, out: &mut Vec<StreamEvent>) {
        let Some(Item { content: Content::Call { id, name, .. }, .. }) = self.items.get(&at) else { return };
        let Some(inner) = arguments::unwrapped(name, args) else {
            let index = self.announce(at, out);
            say(index, args, out);
            self.end_part(at, None, out);
            return;
        };
        let id = id.clone();
        for (number, Inner { name, args }) in (1..).zip(inner) {
            let wire_id = if id.is_empty() { String::new() } else { format!("{id}_{number}") };
            let index = self.start(StartKind::ToolCall { wire_id, name }, out);
            self.calls += 1;
            say(index, &args, out);
            let opaque = Some(self.bind(json!({ UNWRAPPED: true })));
            out.push(StreamEvent::PartEnded { index, opaque });
        }
    }

    /// Starts a call's part.
    fn announce(&mut self, at: u64, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.parts;
        if let Some(Item { content: Content::Call { id, name, .. }, part, .. }) = self.items.get_mut(&at) {
            *part = Some(index);
            let kind = StartKind::ToolCall { wire_id: id.clone(), name: name.clone() };
            self.calls += 1;
            self.start(kind, out);
        }
        index
    }

    /// Emits an item that only the service understands.
    fn native(&mut self, data: Value, out: &mut Vec<StreamEvent>) -> Taken {
        self.held.add(weight(&data))?;
        self.cut(out);
        let index = self.start(StartKind::Native, out);
        let opaque = Some(self.bind(data));
        out.push(StreamEvent::PartEnded { index, opaque });
        Ok(())
    }

    fn say(&mut self, at: u64, kind: StartKind, text: &str, out: &mut Vec<StreamEvent>) {
        if !text.is_empty() {
            let index = self.said_part(at, kind, out);
            say(index, text, out);
        }
    }

    /// Returns the open text or thinking part of an item; starts it if needed.
    fn said_part(&mut self, at: u64, kind: StartKind, out: &mut Vec<StreamEvent>) -> usize {
        if let Some(index) = self.items.get(&at).and_then(|item| item.part) {
            return index;
        }
        self.cut(out);
        let index = self.start(kind, out);
        self.open = Some(at);
        if let Some(item) = self.items.get_mut(&at) {
            item.part = Some(index);
        }
        index
    }

    /// Ends the open text or thinking part before its item is complete, because another begins: `OpenRouter`
    /// sends a message before the preceding reasoning has ended. Such reasoning's item is emitted as a native
    /// part, marked so that it is sent back in its original position.
    fn cut(&mut self, out: &mut Vec<StreamEvent>) {
        let Some(at) = self.open else { return };
        let mut data = None;
        match self.items.get_mut(&at).map(|item| &mut item.content) {
            Some(Content::Message { phase, .. }) => data = phase.as_ref().map(phase_data),
            Some(Content::Reasoning { cut, .. }) => {
                *cut = true;
                data = Some(json!({ LATER: at }));
            }
            Some(Content::Call { .. } | Content::Native) | None => {}
        }
        self.end_part(at, data, out);
    }

    fn start(&mut self, kind: StartKind, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.parts;
        self.parts += 1;
        out.push(StreamEvent::PartStarted { index, kind });
        index
    }

    fn end_part(&mut self, at: u64, data: Option<Value>, out: &mut Vec<StreamEvent>) {
        if self.open == Some(at) {
            self.open = None;
        }
        let Some(index) = self.items.get_mut(&at).and_then(|item| item.part.take()) else { return };
        let opaque = data.map(|data| self.bind(data));
        out.push(StreamEvent::PartEnded { index, opaque });
    }

    fn bind(&self, data: Value) -> Opaque {
        Opaque::new(WIRE, self.model.as_str(), data)
    }
}

fn say(index: usize, text: &str, out: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        out.push(StreamEvent::PartDelta { index, delta: text.to_owned() });
    }
}
