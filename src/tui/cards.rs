//! The requests that wait for the person, and how far each has been dealt with.
//!
//! Plain data: what a key does to it is `update::card`, how it looks is `cells::card`. It never decides anything by
//! itself, and no request is lost: one that is put aside still counts.

use super::batch::Face;
use super::cells::Fold;
use super::cells::card::{Body, DEPTH};
use super::composer::Editor;
use super::form::Form;
use super::hunks::{Hunks, Kept, Sides};
use super::rule::{RuleForm, Standing};
use crate::approval::{Approval, Request, RequestId};
use crate::tool::{Preview, Risk, ToolSpec};

/// For this long after a card appears it takes no key, so that no reflex decides.
pub const GUARD_MS: u64 = 500;

/// For this long after a yes no key decides: keyboards begin to repeat a key that is held down after up to two thirds
/// of a second, and what repeats is no second thought.
pub const HELD_MS: u64 = 1_000;

/// Lines of a body from which on it is better read elsewhere.
const LONG: usize = 400;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cards {
    list: Vec<Card>,
    /// Which one is shown, among those that are not put aside.
    at: usize,
    /// What stands on the screen, and since when.
    appeared: Option<(Face, u64)>,
    /// Until when the key that said yes may still be held down.
    held_until: u64,
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
    /// Cells of the lines that `seen` counts.
    seen_width: usize,
    /// Why the last key did nothing.
    pub advice: Option<String>,
    /// Whether it is marked in the list of several.
    pub mark: Mark,
    /// What the model calls this call, where others run after it.
    pub label: Option<String>,
    /// What has to end well before it runs, as people know it.
    pub after: Vec<String>,
    /// All of it was handed to the person's own editor, to be read.
    is_read_outside: bool,
    /// Bytes of what it would do that are laid out: of a long text only as much as was looked for.
    pub depth: usize,
    /// What it would do, as it was last laid out.
    pub body: Body,
    pub hunks: Hunks,
    /// The form as it was left.
    form: Option<Box<Form>>,
    /// The rule as it was left.
    rule: Option<Box<RuleForm>>,
    /// The reason of a no as it was left.
    pub reason: Editor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    On,
    Off,
}

/// How far the body has been on the screen, without a gap from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    UpTo(usize),
    All,
}

/// Whether what is on the screen is what was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Same,
    New,
}

/// Whether a rule has to be made for a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafts {
    Wanted,
    Kept,
}

/// Whether a request that was told again asks for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewed {
    Same,
    /// It asks for something else and is to be read anew.
    Anew,
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
    Editing(Box<Form>),
    /// A rule is being written that would allow this and what is like it.
    Rule(Box<RuleForm>),
    /// Sent; the word for it. The owner answers with the settlement.
    Deciding(&'static str),
}

impl Card {
    pub fn new(request: Request) -> Self {
        Self {
            hunks: Hunks::of(&request),
            form: None,
            rule: None,
            reason: Editor::default(),
            request,
            stage: Stage::Asking,
            place: Place::Shown,
            whole: Fold::Folded,
            why: Fold::Folded,
            scroll: 0,
            seen: Seen::UpTo(0),
            seen_width: 0,
            advice: None,
            mark: Mark::Off,
            label: None,
            after: Vec::new(),
            is_read_outside: false,
            depth: DEPTH,
            body: Body::default(),
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

    /// For later: what it was doing ends.
    fn put_aside(&mut self) {
        self.place = Place::Aside;
        self.rest();
        self.stage = Stage::Asking;
        self.advice = None;
        self.mark = Mark::Off;
    }

    /// The body stood on the screen, laid out at `width`, from `scroll` on for `room` of `total` lines.
    pub fn saw(&mut self, width: usize, room: usize, total: usize) {
        let Seen::UpTo(mut to) = self.seen else { return };
        // Lines of a text that is cut off may change when more of it is laid out.
        if self.body.more() > 0 {
            return;
        }
        if self.seen_width != width {
            // Lines of another width hold other words.
            self.seen_width = width;
            to = 0;
            self.seen = Seen::UpTo(0);
        }
        if self.scroll > to {
            return;
        }
        let to = to.max(self.scroll + room);
        self.seen = if to >= total { Seen::All } else { Seen::UpTo(to) };
    }

    /// It is laid out in another way: what was seen of it is counted anew, unless that is all.
    pub fn unsee_partly(&mut self) {
        if self.seen != Seen::All {
            self.seen = Seen::UpTo(0);
            self.scroll = 0;
        }
    }

    /// Shows every reason, or few of them; `lines` of the body stood before.
    pub fn turn_why(&mut self, lines: usize) {
        self.why = self.why.turned();
        if self.why == Fold::Open {
            // They stand behind all else: without a look at them the key would seem to do nothing.
            self.scroll = lines + 1;
        }
    }

    /// Opens the form, as it was left if it was open before.
    pub fn edit(&mut self, spec: Option<&ToolSpec>) {
        let form = self.form.take().unwrap_or_else(|| {
            let asked = &self.request.args;
            let now = match self.hunks.kept(asked) {
                Kept::Some(args) => args,
                Kept::All | Kept::Nothing => asked.clone(),
            };
            Box::new(Form::new(spec, asked, &now))
        });
        self.stage = Stage::Editing(form);
    }

    /// Opens the rule, as it was left if it was open before; says whether there is none yet.
    pub fn write_rule(&mut self) -> Drafts {
        let left = self.rule.take();
        let drafts = if left.is_some() { Drafts::Kept } else { Drafts::Wanted };
        self.stage = Stage::Rule(left.unwrap_or_default());
        drafts
    }

    /// The rule that is being written, or was left.
    pub fn rule_mut(&mut self) -> Option<&mut RuleForm> {
        match &mut self.stage {
            Stage::Rule(rule) => Some(rule),
            Stage::Asking
            | Stage::Confirming(_)
            | Stage::Reason(_)
            | Stage::Editing(_)
            | Stage::Deciding(_) => self.rule.as_deref_mut(),
        }
    }

    /// Whether something is being written in it.
    pub fn is_written_to(&self) -> bool {
        match self.stage {
            Stage::Reason(_) | Stage::Editing(_) | Stage::Rule(_) => true,
            Stage::Asking | Stage::Confirming(_) | Stage::Deciding(_) => false,
        }
    }

    /// Whether nobody wants to page through it.
    pub fn is_long(&self) -> bool {
        self.body.lines().len() > LONG || self.body.more() > 0
    }

    /// More of it is looked for than is laid out.
    pub fn deepen(&mut self) {
        if self.body.more() > 0 {
            self.depth = self.depth.saturating_mul(4);
        }
    }

    /// All of it is about to be shown elsewhere.
    pub fn read_outside(&mut self) {
        self.is_read_outside = true;
    }

    /// What was handed out was shown. A request that was told anew meanwhile asks for something else.
    pub fn saw_outside(&mut self) {
        if self.is_read_outside {
            self.seen = Seen::All;
        }
    }

    /// The yes to what is shown, without the hunks that are skipped; `None` where nothing is left of it.
    pub fn yes(&self) -> Option<Approval> {
        match self.hunks.kept(&self.request.args) {
            Kept::All => Some(Approval::yes()),
            Kept::Some(args) => Some(Approval::to(self.request.tool.clone(), args)),
            Kept::Nothing => None,
        }
    }

    /// Whether it makes good use of more width than text does.
    pub fn is_wide(&self) -> bool {
        let is_diff = matches!(self.request.plan.preview, Preview::Diff { .. });
        matches!(self.stage, Stage::Editing(_)) || (is_diff && self.hunks.sides != Sides::Unified)
    }

    /// Ends what was begun; what was written is kept.
    pub fn rest(&mut self) {
        match std::mem::replace(&mut self.stage, Stage::Asking) {
            Stage::Editing(mut form) => {
                form.confirmed = None;
                self.form = Some(form);
            }
            Stage::Rule(mut rule) => {
                rule.rest();
                self.rule = Some(rule);
            }
            Stage::Reason(editor) => self.reason = editor,
            Stage::Asking | Stage::Confirming(_) | Stage::Deciding(_) => {}
        }
    }

    /// The same request, told again. What was made of other arguments is void.
    fn renew(&mut self, request: Request) -> Renewed {
        if self.request == request {
            return Renewed::Same;
        }
        self.rest();
        *self = Self { place: self.place, reason: std::mem::take(&mut self.reason), ..Self::new(request) };
        Renewed::Anew
    }
}

/// The reply that a request's call belongs to, and which call of it it is.
pub fn place_in_reply(request: &Request) -> (&str, usize) {
    let id = request.call.0.as_str();
    let (reply, index) = id.rsplit_once('.').unwrap_or((id, ""));
    (reply, index.parse().unwrap_or(0))
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
            Some(card) => {
                if card.renew(request) == Renewed::Anew {
                    self.appeared = None;
                }
            }
            None => self.insert(Card::new(request)),
        }
    }

    /// Calls of one reply stand in call order, whichever was planned first; the card on the screen stays.
    fn insert(&mut self, card: Card) {
        let current = self.current().map(|card| card.request.id.clone());
        let (reply, index) = place_in_reply(&card.request);
        let later = |other: &Card| {
            let (other_reply, other_index) = place_in_reply(&other.request);
            other_reply == reply && other_index > index
        };
        let at = self.list.iter().position(later).unwrap_or(self.list.len());
        self.list.insert(at, card);
        if current.is_some() {
            self.go_to(current.as_ref());
        }
    }

    /// Notes what people know its calls by: what the model calls each, and what each runs after.
    pub fn name(&mut self, names: impl Fn(&Request) -> (Option<String>, Vec<String>)) {
        for card in &mut self.list {
            (card.label, card.after) = names(&card.request);
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
            if let Some(at) = old.iter().position(|card| card.request.id == request.id) {
                self.insert(old.remove(at));
            }
            self.add(request);
        }
        self.go_to(current.as_ref());
    }

    /// Makes this card the one on the screen, if it is shown; else the first.
    pub fn go_to(&mut self, id: Option<&RequestId>) {
        let at = self.shown().position(|card| Some(&card.request.id) == id);
        self.at = at.unwrap_or(0);
    }

    pub fn find(&self, id: &RequestId) -> Option<&Card> {
        self.list.iter().find(|card| card.request.id == *id)
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    pub fn shown(&self) -> impl Iterator<Item = &Card> {
        self.list.iter().filter(|card| card.place == Place::Shown)
    }

    pub fn shown_mut(&mut self) -> impl Iterator<Item = &mut Card> {
        self.list.iter_mut().filter(|card| card.place == Place::Shown)
    }

    /// The card on the screen.
    pub fn current(&self) -> Option<&Card> {
        let shown = self.shown().count();
        self.shown().nth(self.at.min(shown.saturating_sub(1)))
    }

    /// All of them, to be changed.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Card> {
        self.list.iter_mut()
    }

    /// The card of a request, wherever it is.
    pub fn find_mut(&mut self, id: &RequestId) -> Option<&mut Card> {
        self.list.iter_mut().find(|card| card.request.id == *id)
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

    pub fn to_first(&mut self) {
        self.at = 0;
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
            card.put_aside();
        }
    }

    /// Puts every card aside that is not being decided.
    pub fn put_all_aside(&mut self) {
        for card in &mut self.list {
            if !matches!(card.stage, Stage::Deciding(_)) {
                card.put_aside();
            }
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
        card.put_aside();
    }

    /// Nothing is on its way any more: what was sent and did not settle a request is to be said again.
    pub fn undecide(&mut self) {
        for card in &mut self.list {
            match &mut card.stage {
                Stage::Deciding(_) => card.stage = Stage::Asking,
                Stage::Rule(rule) if matches!(rule.standing, Standing::Saving(_)) => rule.unsave(),
                Stage::Asking
                | Stage::Confirming(_)
                | Stage::Reason(_)
                | Stage::Editing(_)
                | Stage::Rule(_) => continue,
            }
            card.advice = Some("the decision did not count; it still waits".to_owned());
        }
    }

    /// Shows what was put aside again.
    pub fn bring_back(&mut self) {
        let current = self.current().map(|card| card.request.id.clone());
        for card in &mut self.list {
            card.place = Place::Shown;
        }
        self.go_to(current.as_ref());
    }

    /// Notes since when `face` stands there; says whether it does so from now on.
    pub fn look(&mut self, face: Face, now_ms: u64) -> Change {
        match &self.appeared {
            Some((shown, _)) if *shown == face => Change::Same,
            Some(_) | None => {
                self.appeared = Some((face, now_ms));
                Change::New
            }
        }
    }

    /// A yes that was said once on another screen is not half said any more.
    pub fn unconfirm(&mut self, face: &Face) {
        for card in &mut self.list {
            if *face == Face::One(card.request.id.clone()) {
                continue;
            }
            match &mut card.stage {
                Stage::Confirming(_) => card.stage = Stage::Asking,
                Stage::Editing(form) => form.confirmed = None,
                Stage::Rule(rule) => rule.confirmed = None,
                Stage::Asking | Stage::Reason(_) | Stage::Deciding(_) => {}
            }
        }
    }

    /// The card is to be looked at anew, e.g. because it was scrolled out of sight.
    pub fn guard_again(&mut self, now_ms: u64) {
        if let Some((_, since)) = &mut self.appeared {
            *since = now_ms;
        }
    }

    /// A yes was said, once or for good, or its key came again: while one is held down no other yes counts.
    pub fn said_yes(&mut self, now_ms: u64) {
        self.held_until = now_ms + HELD_MS;
    }

    /// Whether a key that says yes may be the repetition of one that is held down.
    pub fn may_be_held(&self, now_ms: u64) -> bool {
        now_ms < self.held_until
    }

    /// Until when the card takes no key.
    pub fn guarded_until(&self) -> Option<u64> {
        match self.appeared.as_ref()? {
            (Face::Nothing, _) => None,
            (Face::One(_) | Face::List(_) | Face::Cap(_), since) => Some(since + GUARD_MS),
        }
    }

    /// A line was laid out at another width: what was seen of it is counted anew.
    pub fn unsee_partly(&mut self) {
        self.list.iter_mut().for_each(Card::unsee_partly);
    }
}
