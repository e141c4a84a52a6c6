//! The requests that wait for the person, and how far each has been dealt with.
//!
//! Plain data: what a key does to it is `update::card`, how it looks is `cells::card`. It never decides anything by
//! itself, and no request is lost: one that is put aside still counts.

mod body;

pub use self::body::{Body, BodyBasis, DEPTH};
use super::cells::Fold;
use super::composer::Editor;
use super::form::Form;
use super::hunks::{Hunks, Kept, Sides};
use super::list::OpenRequest;
use super::rule::{RuleForm, RuleStanding};
use crate::approval::{Approval, Request, RequestId};
use crate::frontend::dialogue::Seen;
use crate::tool::{Access, Preview, Risk, ToolSpec};

/// Lines of a body from which on it is better read elsewhere.
const LONG: usize = 400;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cards {
    list: Vec<Card>,
    /// Which one is shown, among those that are not put aside.
    at: usize,
    /// Requests that were told again and ask for something else.
    renewed: Vec<RequestId>,
}

/// One request and its state on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub request: Request,
    pub stage: CardStage,
    pub place: CardPlace,
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
pub enum CardPlace {
    Shown,
    /// For later: counted, and shown again on demand.
    Aside,
}

/// Where the decision stands.
#[derive(Debug, Clone, PartialEq)]
pub enum CardStage {
    Asking,
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
            stage: CardStage::Asking,
            place: CardPlace::Shown,
            whole: Fold::Folded,
            why: Fold::Folded,
            scroll: 0,
            seen: Seen::UpTo(0),
            seen_width: 0,
            advice: None,
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

    /// Whether it may be approved before all of it was on the screen: the contents of a file, not HIGH, and without
    /// untrusted words. Never a command.
    pub fn may_be_unread(&self) -> bool {
        let Request { plan, taint, .. } = &self.request;
        let is_file =
            matches!(plan.preview, Preview::Diff { .. }) && matches!(plan.access, Access::Paths { .. });
        is_file && !self.is_high() && taint.is_empty()
    }

    /// What a list has to know of it, as long as no decision was sent.
    pub fn open(&self) -> Option<OpenRequest> {
        let Request { id, risk, .. } = &self.request;
        (!self.is_decided()).then(|| OpenRequest { id: id.clone(), risk: *risk, seen: self.seen })
    }

    /// Whether a decision was sent.
    pub fn is_decided(&self) -> bool {
        matches!(self.stage, CardStage::Deciding(_))
    }

    /// For later: what it was doing ends.
    fn put_aside(&mut self) {
        self.place = CardPlace::Aside;
        self.rest();
        self.stage = CardStage::Asking;
        self.advice = None;
    }

    /// The body is on the screen, laid out at `width`, from `scroll` on for `room` of `total` lines.
    pub fn saw(&mut self, width: usize, room: usize, total: usize) {
        // Lines of a text that is cut off may change when more of it is laid out.
        if self.body.more() > 0 {
            return;
        }
        if self.seen_width != width && !self.is_seen() {
            // Lines of another width hold other words.
            self.seen = Seen::UpTo(0);
        }
        self.seen_width = width;
        self.seen.show(&(self.scroll..self.scroll + room), total);
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
        self.stage = CardStage::Editing(form);
    }

    /// Opens the rule, as it was left if it was open before; says whether there is none yet.
    pub fn write_rule(&mut self) -> Drafts {
        let left = self.rule.take();
        let drafts = if left.is_some() { Drafts::Kept } else { Drafts::Wanted };
        self.stage = CardStage::Rule(left.unwrap_or_default());
        drafts
    }

    /// The rule that is being written, or was left.
    pub fn rule_mut(&mut self) -> Option<&mut RuleForm> {
        match &mut self.stage {
            CardStage::Rule(rule) => Some(rule),
            CardStage::Asking | CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Deciding(_) => {
                self.rule.as_deref_mut()
            }
        }
    }

    /// Whether something is being written in it.
    pub fn is_written_to(&self) -> bool {
        match self.stage {
            CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_) => true,
            CardStage::Asking | CardStage::Deciding(_) => false,
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
        matches!(self.stage, CardStage::Editing(_)) || (is_diff && self.hunks.sides != Sides::Unified)
    }

    /// Ends what was begun; what was written is kept.
    pub fn rest(&mut self) {
        match std::mem::replace(&mut self.stage, CardStage::Asking) {
            CardStage::Editing(form) => self.form = Some(form),
            CardStage::Rule(mut rule) => {
                rule.unsave();
                self.rule = Some(rule);
            }
            CardStage::Reason(editor) => self.reason = editor,
            CardStage::Asking | CardStage::Deciding(_) => {}
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
                    self.renewed.push(card.request.id.clone());
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
        self.leave(index);
        Some(self.list.remove(index))
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

    pub fn shown(&self) -> impl Iterator<Item = &Card> {
        self.list.iter().filter(|card| card.place == CardPlace::Shown)
    }

    pub fn shown_mut(&mut self) -> impl Iterator<Item = &mut Card> {
        self.list.iter_mut().filter(|card| card.place == CardPlace::Shown)
    }

    /// The index of the card on the screen among those that are shown.
    fn index(&self) -> usize {
        self.at.min(self.shown().count().saturating_sub(1))
    }

    /// The card on the screen.
    pub fn current(&self) -> Option<&Card> {
        self.shown().nth(self.index())
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
        let at = self.index();
        self.shown_mut().nth(at)
    }

    /// Which of how many shown ones is on the screen, from 1.
    pub fn position(&self) -> (usize, usize) {
        (self.index() + 1, self.shown().count())
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
            if !card.is_decided() {
                card.put_aside();
            }
        }
    }

    /// The request was put off, here or elsewhere.
    pub fn put_off(&mut self, id: &RequestId) {
        let Some(index) = self.list.iter().position(|card| card.request.id == *id) else { return };
        self.leave(index);
        self.list[index].put_aside();
    }

    /// A card leaves the screen; the one that is shown stays.
    fn leave(&mut self, index: usize) {
        let shown_before = self.list.iter().take(index).filter(|card| card.place == CardPlace::Shown).count();
        if self.list[index].place == CardPlace::Shown && shown_before < self.at {
            self.at -= 1;
        }
    }

    /// Nothing is on its way any more: what was sent and did not settle a request is to be said again.
    pub fn undecide(&mut self) {
        for card in &mut self.list {
            match &mut card.stage {
                CardStage::Deciding(_) => card.stage = CardStage::Asking,
                CardStage::Rule(rule) if matches!(rule.standing, RuleStanding::Saving(_)) => rule.unsave(),
                CardStage::Asking | CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_) => {
                    continue;
                }
            }
            card.advice = Some("the decision did not count; it still waits".to_owned());
        }
    }

    /// Shows what was put aside again.
    pub fn bring_back(&mut self) {
        let current = self.current().map(|card| card.request.id.clone());
        for card in &mut self.list {
            card.place = CardPlace::Shown;
        }
        self.go_to(current.as_ref());
    }

    /// A decision on these was sent.
    pub fn send(&mut self, these: &[RequestId], word: &'static str) {
        for card in self.list.iter_mut().filter(|card| these.contains(&card.request.id)) {
            card.stage = CardStage::Deciding(word);
        }
    }

    /// Requests that were told again since the last call and ask for something else.
    pub fn take_renewed(&mut self) -> Vec<RequestId> {
        std::mem::take(&mut self.renewed)
    }

    /// A line was laid out at another width: what was seen of it is counted anew.
    pub fn unsee_partly(&mut self) {
        self.list.iter_mut().for_each(Card::unsee_partly);
    }
}
