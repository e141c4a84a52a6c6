//! The requests that wait for the person, and how far each has been dealt with.
//!
//! Plain data: what a key does to it is `update::card`, how it looks is `cells::card`. It never decides anything by
//! itself, and no request is lost: one that is put aside still counts.

use serde_json::Value;

use super::cells::Fold;
use super::composer::Editor;
use crate::approval::{Approval, Remember, Request, RequestId};
use crate::tool::Risk;

/// For this long after a card appears it takes no key, so that no reflex decides.
pub const GUARD_MS: u64 = 500;

/// Arguments longer than this are not edited in the card.
pub const LONGEST_EDIT: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cards {
    list: Vec<Card>,
    /// Which one is shown, among those that are not put aside.
    at: usize,
    /// Since when the shown one stands there.
    appeared: Option<(RequestId, u64)>,
}

/// One request and its state on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub request: Request,
    pub stage: Stage,
    pub place: Place,
    /// `v`: as much of the pane as there is, arguments included.
    pub whole: Fold,
    /// `w`: every reason on its own line.
    pub why: Fold,
    /// First line of the body that is shown.
    pub scroll: usize,
    pub seen: Seen,
    /// Why the last key did nothing.
    pub advice: Option<String>,
}

/// How far the body has been on the screen, without a gap from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    UpTo(usize),
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Shown,
    /// For later: counted, and shown again on demand.
    Aside,
}

/// Where the decision stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    Asking,
    /// HIGH, `y` pressed once; holds what a second one sends.
    Confirming(Approval),
    /// `n` pressed: an optional reason is being written.
    Reason(Editor),
    Editing(Editing),
    /// Sent; the word for it. The owner answers with the settlement.
    Deciding(&'static str),
}

/// The arguments as JSON text, being edited.
#[derive(Debug, Clone, PartialEq)]
pub struct Editing {
    pub editor: Editor,
    pub check: Result<Value, String>,
    /// HIGH: what Ctrl+S was pressed for once.
    pub confirmed: Option<Value>,
}

impl Card {
    fn new(request: Request) -> Self {
        Self {
            request,
            stage: Stage::Asking,
            place: Place::Shown,
            whole: Fold::Folded,
            why: Fold::Folded,
            scroll: 0,
            seen: Seen::UpTo(0),
            advice: None,
        }
    }

    pub fn is_high(&self) -> bool {
        match self.request.risk {
            Risk::High => true,
            Risk::Low | Risk::Medium => false,
        }
    }

    /// Whether the person may say yes: everything it would do has been on the screen.
    pub fn is_seen(&self) -> bool {
        self.seen == Seen::All
    }

    /// The body stood on the screen from `scroll` on for `room` of `total` lines.
    pub fn saw(&mut self, room: usize, total: usize) {
        let Seen::UpTo(to) = self.seen else { return };
        if self.scroll > to {
            return;
        }
        let to = to.max(self.scroll + room);
        self.seen = if to >= total { Seen::All } else { Seen::UpTo(to) };
    }

    pub fn edit(&mut self) {
        let text = serde_json::to_string_pretty(&self.request.args).unwrap_or_default();
        if text.len() > LONGEST_EDIT {
            self.advice =
                Some("too long to edit here: n with a reason, and the model writes it anew".to_owned());
            return;
        }
        self.stage = Stage::Editing(Editing {
            editor: Editor::plain(&text),
            check: Ok(self.request.args.clone()),
            confirmed: None,
        });
    }
}

impl Editing {
    /// Reads the text again; called after every change.
    pub fn validate(&mut self) {
        self.check = match serde_json::from_str::<Value>(&self.editor.text()) {
            Ok(value) if value.is_object() => Ok(value),
            Ok(_) => Err("the arguments must be one JSON object: { … }".to_owned()),
            Err(error) => Err(format!("line {}: {}", error.line(), reason(&error))),
        };
    }
}

/// The parser's words without the place, which is said first.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// A yes with other arguments.
pub fn edited(request: &Request, args: Value) -> Approval {
    Approval::Approve { instead: Some((request.tool.clone(), args)), remember: Remember::Once }
}

impl Cards {
    pub fn count(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All that waits, those that are put aside too, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Card> {
        self.list.iter()
    }

    /// A request came, or came back.
    pub fn add(&mut self, request: Request) {
        match self.list.iter_mut().find(|card| card.request.id == request.id) {
            Some(card) => card.request = request,
            None => self.list.push(Card::new(request)),
        }
    }

    /// It is settled; gives the card, if there was one.
    pub fn remove(&mut self, id: &RequestId) -> Option<Card> {
        let index = self.list.iter().position(|card| card.request.id == *id)?;
        let gone = self.list.remove(index);
        let shown_before = self.list.iter().take(index).filter(|card| card.place == Place::Shown).count();
        if gone.place == Place::Shown && shown_before < self.at {
            self.at -= 1;
        }
        Some(gone)
    }

    /// Exactly these wait; what is known of them on the screen stays.
    pub fn replace(&mut self, requests: Vec<Request>) {
        let current = self.current().map(|card| card.request.id.clone());
        let mut old = std::mem::take(&mut self.list);
        for request in requests {
            match old.iter().position(|card| card.request.id == request.id) {
                Some(at) => {
                    let mut card = old.remove(at);
                    card.request = request;
                    self.list.push(card);
                }
                None => self.list.push(Card::new(request)),
            }
        }
        let at = self.shown().position(|card| Some(&card.request.id) == current.as_ref());
        self.at = at.unwrap_or(0);
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn shown(&self) -> impl Iterator<Item = &Card> {
        self.list.iter().filter(|card| card.place == Place::Shown)
    }

    /// The card on the screen.
    pub fn current(&self) -> Option<&Card> {
        let shown = self.shown().count();
        self.shown().nth(self.at.min(shown.saturating_sub(1)))
    }

    pub fn current_mut(&mut self) -> Option<&mut Card> {
        let shown = self.shown().count();
        let at = self.at.min(shown.saturating_sub(1));
        self.list.iter_mut().filter(|card| card.place == Place::Shown).nth(at)
    }

    /// Which of how many shown ones is on the screen, from 1.
    pub fn position(&self) -> (usize, usize) {
        let shown = self.shown().count();
        (self.at.min(shown.saturating_sub(1)) + 1, shown)
    }

    pub fn next(&mut self) {
        self.at = (self.at + 1).min(self.shown().count().saturating_sub(1));
    }

    pub fn previous(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Puts the card on the screen aside; what it was doing ends.
    pub fn put_aside(&mut self) {
        if let Some(card) = self.current_mut() {
            card.place = Place::Aside;
            card.stage = Stage::Asking;
            card.advice = None;
        }
    }

    /// The request was put off, here or elsewhere.
    pub fn put_off(&mut self, id: &RequestId) {
        let Some(index) = self.list.iter().position(|card| card.request.id == *id) else { return };
        let shown_before = self.list.iter().take(index).filter(|card| card.place == Place::Shown).count();
        let card = &mut self.list[index];
        if card.place == Place::Shown && shown_before < self.at {
            self.at -= 1;
        }
        card.place = Place::Aside;
        card.stage = Stage::Asking;
    }

    /// Nothing is on its way any more: what was sent and did not settle a request is to be said again.
    pub fn undecide(&mut self) {
        for card in &mut self.list {
            if let Stage::Deciding(_) = card.stage {
                card.stage = Stage::Asking;
                card.advice = Some("the decision did not count; it still waits".to_owned());
            }
        }
    }

    /// Shows what was put aside again.
    pub fn bring_back(&mut self) {
        if self.current().is_none() {
            self.at = 0;
        }
        for card in &mut self.list {
            card.place = Place::Shown;
        }
    }

    /// Notes since when the current card stands there; called with every message.
    pub fn look(&mut self, now_ms: u64) {
        let current = self.current().map(|card| card.request.id.clone());
        match (&self.appeared, current) {
            (Some((shown, _)), Some(id)) if *shown == id => {}
            (_, Some(id)) => self.appeared = Some((id, now_ms)),
            (_, None) => self.appeared = None,
        }
    }

    /// The card is to be looked at anew, e.g. because it was scrolled out of sight.
    pub fn guard_again(&mut self, now_ms: u64) {
        if let Some((_, since)) = &mut self.appeared {
            *since = now_ms;
        }
    }

    /// Until when the card takes no key.
    pub fn guarded_until(&self) -> Option<u64> {
        self.appeared.as_ref().map(|(_, since)| since + GUARD_MS)
    }

    /// A line was laid out at another width: what was seen of it is counted anew.
    pub fn unsee_partly(&mut self) {
        for card in &mut self.list {
            if card.seen != Seen::All {
                card.seen = Seen::UpTo(0);
                card.scroll = 0;
            }
        }
    }
}
