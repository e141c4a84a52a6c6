//! The pending requests and their state on the screen. Plain data: keys are handled by `update::card`, drawing by
//! `cells::card`. A postponed request still counts.

mod body;

use std::collections::BTreeSet;
use std::ops::Range;

pub use self::body::{Body, BodyBasis, BodyForm, DEPTH};
use super::cells::Fold;
use super::composer::Editor;
use super::form::Form;
use super::hunks::{Hunks, RemainingChange, Sides};
use super::markdown::Language;
use super::rule::{RuleForm, RuleStatus};
use crate::agent::port::Op;
use crate::approval::rules::RuleScope;
use crate::approval::{Approval, Request, RequestId};
use crate::frontend::dialogue::{OpenRequest, SeenPart};
use crate::frontend::protocol::ClientRequest;
use crate::frontend::sentences;
use crate::tool::{Preview, Risk, ToolSpec};

/// Up to this many lines of a change its code is coloured.
const MOST_COLOURED: usize = 500;

/// From this many body lines on, reading in an editor is offered.
const LONG: usize = 400;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cards {
    list: Vec<Card>,
    /// The index of the current card among those that are shown.
    at: usize,
    /// Requests that arrived again with other content.
    pub renewed: Vec<RequestId>,
}

/// One request and its state on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub request: Request,
    pub stage: CardStage,
    /// Postponed: counted, and shown again on demand.
    pub is_postponed: bool,
    /// Whether it was postponed before. New requests come before it.
    pub was_postponed: bool,
    /// `w`: every reason on its own line.
    pub why: Fold,
    /// First line of the body that is shown.
    pub scroll: usize,
    pub seen: SeenPart,
    /// Whether its top was on the screen.
    pub is_shown: bool,
    /// Whether the key that approves it unread was shown.
    pub is_offered_unread: bool,
    /// The line width at which `seen` was counted.
    seen_width: usize,
    /// Why the last key did nothing.
    pub advice: Option<String>,
    /// The model's label of this call, if others run after it.
    pub label: Option<String>,
    /// The names of the calls that must succeed first.
    pub after: Vec<String>,
    /// Whether all of it was opened in the user's editor for reading.
    pub is_read_outside: bool,
    /// Bytes of the body to be laid out: of a long text only the part the user scrolled to.
    pub depth: usize,
    /// The body as last laid out.
    pub body: Body,
    pub hunks: Hunks,
    /// The chosen options of a question, from 1.
    pub chosen: BTreeSet<usize>,
    /// The form as it was left.
    form: Option<Box<Form>>,
    /// The rule as it was left.
    rule: Option<Box<RuleForm>>,
    /// The reason of a denial as it was left.
    pub reason: Editor,
}

/// The progress of the decision.
#[derive(Debug, Clone, PartialEq)]
pub enum CardStage {
    Asking,
    /// An optional reason for a denial is being written.
    Reason(Editor),
    Editing(Box<Form>),
    /// A rule that would allow this call and similar ones is being written.
    Rule(Box<RuleForm>),
    /// Sent; the owner answers with the settlement.
    Deciding(SentDecision),
}

/// A decision that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentDecision {
    Approve,
    ApproveWithNote,
    ApproveEdited,
    ApproveSomeHunks,
    Answer,
    Deny,
}

impl SentDecision {
    pub fn word(self) -> &'static str {
        self.texts().0
    }

    /// Describes it until the owner answers.
    pub fn sending(self) -> String {
        let (word, how) = self.texts();
        format!("{word}{how}: sending…")
    }

    /// Returns its word, and what an approval differs in.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Approve => ("yes", ""),
            Self::ApproveWithNote => ("yes", ", with a note"),
            Self::ApproveEdited => ("yes", ", edited"),
            Self::ApproveSomeHunks => ("yes", ", without skipped hunks"),
            Self::Answer => ("answer", ""),
            Self::Deny => ("no", ""),
        }
    }
}

impl Card {
    pub fn new(request: Request) -> Self {
        Self {
            hunks: Hunks::of(&request),
            chosen: BTreeSet::new(),
            form: None,
            rule: None,
            reason: Editor::default(),
            request,
            stage: CardStage::Asking,
            is_postponed: false,
            was_postponed: false,
            why: Fold::Folded,
            scroll: 0,
            seen: SeenPart::UpTo(0),
            is_shown: false,
            is_offered_unread: false,
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
        self.request.risk == Risk::High
    }

    /// Whether arguments have untrusted text.
    pub fn is_tainted(&self) -> bool {
        !self.request.taint.is_empty()
    }

    /// Whether it may be approved: all of it was shown.
    pub fn is_seen(&self) -> bool {
        self.seen == SeenPart::All
    }

    /// Whether it may be approved before all of it was on the screen; its top must have been.
    pub fn may_be_unread(&self) -> bool {
        self.is_shown && self.request.may_be_unread()
    }

    /// Returns the language of the code that it changes.
    pub fn language(&self) -> Option<Language> {
        match &self.request.plan.preview {
            // A long change is laid out again whenever a hunk is chosen.
            Preview::Diff { path, lines } if lines.len() <= MOST_COLOURED => Language::of_file(path),
            Preview::Diff { .. } | Preview::None | Preview::Text { .. } | Preview::Fields { .. } => None,
        }
    }

    /// Returns its data for a list, unless a decision was sent.
    pub fn open(&self) -> Option<OpenRequest> {
        let (Request { id, risk, .. }, is_tainted) = (&self.request, self.is_tainted());
        (!self.is_decided()).then(|| OpenRequest { id: id.clone(), risk: *risk, seen: self.seen, is_tainted })
    }

    /// Whether a decision was sent.
    pub fn is_decided(&self) -> bool {
        matches!(self.stage, CardStage::Deciding(_))
    }

    /// Postpones the request and ends its current stage.
    pub fn postpone(&mut self) {
        self.is_postponed = true;
        self.was_postponed = true;
        self.rest();
        self.stage = CardStage::Asking;
        self.advice = None;
    }

    /// Records that these of `total` lines of the body, laid out at `width`, are visible.
    pub fn saw(&mut self, width: usize, lines: Range<usize>, total: usize) {
        self.is_shown |= lines.start == 0;
        // Lines of a cut text may change when more of it is laid out.
        if self.body.more > 0 {
            return;
        }
        if self.seen_width != width && !self.is_seen() {
            // At another width lines contain other words.
            self.seen = SeenPart::UpTo(0);
        }
        self.seen_width = width;
        self.seen.show(&lines, total);
    }

    /// Resets what was seen after a change of layout, unless that was everything.
    pub fn unsee_partly(&mut self) {
        if self.seen != SeenPart::All {
            self.seen = SeenPart::UpTo(0);
            self.scroll = 0;
        }
    }

    /// Shows or hides the reasons; `lines` is the height of the body before.
    pub fn turn_why(&mut self, lines: usize) {
        self.why = self.why.turned();
        if self.why == Fold::Open {
            // They are at the end: without scrolling the key would seem to do nothing.
            self.scroll = lines + 1;
        }
    }

    /// Opens the form, as it was left if it was open before.
    pub fn edit(&mut self, spec: Option<&ToolSpec>) {
        let form = self.form.take().unwrap_or_else(|| {
            let asked = &self.request.args;
            let now = match self.hunks.remaining_change(asked) {
                RemainingChange::Some(args) => args,
                RemainingChange::All | RemainingChange::Nothing => asked.clone(),
            };
            let known = || spec.map(|spec| spec.parameters.clone());
            Box::new(Form::new(self.request.schema(known), asked, &now))
        });
        self.stage = CardStage::Editing(form);
    }

    /// Opens the rule, as it was left if it was open before; returns whether a draft is needed. A text that was
    /// changed is shown again, otherwise the widths.
    pub fn open_rule(&mut self, scope: RuleScope) -> bool {
        let left = self.rule.take().filter(|rule| !rule.wants_draft());
        let wants_draft = left.is_none();
        let mut rule = left.unwrap_or_default();
        rule.scope = scope;
        rule.is_written = !rule.is_as_drafted();
        self.stage = CardStage::Rule(rule);
        wants_draft
    }

    /// Closes and drops the rule.
    pub fn end_rule(&mut self) {
        if let CardStage::Rule(_) = self.stage {
            self.stage = CardStage::Asking;
        }
        self.rule = None;
    }

    /// Returns the rule that is being written or was left.
    pub fn rule_mut(&mut self) -> Option<&mut RuleForm> {
        if let CardStage::Rule(rule) = &mut self.stage { Some(rule) } else { self.rule.as_deref_mut() }
    }

    /// Whether something is shown in place of its question: a reason, a form, or a rule.
    pub fn is_opened(&self) -> bool {
        matches!(self.stage, CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_))
    }

    /// Whether a text is being written in it.
    pub fn is_written_to(&self) -> bool {
        match &self.stage {
            CardStage::Reason(_) | CardStage::Editing(_) => true,
            CardStage::Rule(rule) => rule.is_written,
            CardStage::Asking | CardStage::Deciding(_) => false,
        }
    }

    /// Whether it is too long for paging.
    pub fn is_long(&self) -> bool {
        self.body.lines().len() > LONG || self.body.more > 0
    }

    /// Increases the part to be laid out, if the body is cut.
    pub fn deepen(&mut self) {
        if self.body.more > 0 {
            self.depth = self.depth.saturating_mul(4);
        }
    }

    /// Returns the approval of what is shown, without skipped hunks; `None` if nothing is left. Of a question: with the
    /// chosen options; `None` if it has no answer yet.
    pub fn yes(&self) -> Option<Approval> {
        if let Some(question) = &self.request.plan.question {
            if self.chosen.is_empty() {
                return crate::tool::Question::is_answered(&self.request.args).then(Approval::yes);
            }
            let args = question.choosing(&self.request.args, &self.chosen);
            return Some(Approval::to(self.request.tool.clone(), args));
        }
        match self.hunks.remaining_change(&self.request.args) {
            RemainingChange::All => Some(Approval::yes()),
            RemainingChange::Some(args) => Some(Approval::to(self.request.tool.clone(), args)),
            RemainingChange::Nothing => None,
        }
    }

    /// Whether it benefits from more width than text does.
    pub fn is_wide(&self) -> bool {
        let is_diff = matches!(self.request.plan.preview, Preview::Diff { .. });
        matches!(self.stage, CardStage::Editing(_)) || (is_diff && self.hunks.sides != Sides::Unified)
    }

    /// Ends the current stage; written text is kept.
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

    /// Takes the request as it arrived again; returns whether it asks for something else, and must be read again. Then
    /// only its place and the written reason are kept.
    fn renew(&mut self, request: Request) -> bool {
        if self.request == request {
            return false;
        }
        self.rest();
        *self = Self {
            is_postponed: self.is_postponed,
            was_postponed: self.was_postponed,
            reason: std::mem::take(&mut self.reason),
            ..Self::new(request)
        };
        true
    }
}

impl Cards {
    pub fn count(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns all cards including postponed ones, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Card> {
        self.list.iter()
    }

    /// Adds a request, or renews it.
    pub fn add(&mut self, request: Request) {
        match self.list.iter_mut().find(|card| card.request.id == request.id) {
            Some(card) => {
                if card.renew(request) {
                    self.renewed.push(card.request.id.clone());
                }
            }
            None => self.insert(Card::new(request)),
        }
    }

    /// Inserts a card. Calls of one reply are in call order, whichever was planned first; the current card stays.
    fn insert(&mut self, card: Card) {
        let current = self.current().map(|card| card.request.id.clone());
        let later = |other: &Card| card.request.precedes(&other.request);
        let postponed = |other: &Card| other.was_postponed && !card.was_postponed;
        let at = self.list.iter().position(later).or_else(|| self.list.iter().position(postponed));
        let at = at.unwrap_or(self.list.len());
        self.list.insert(at, card);
        if current.is_some() {
            self.go_to(current.as_ref());
        }
    }

    /// Sets the label of each card's call and the names of the calls it runs after.
    pub fn name(&mut self, names: impl Fn(&Request) -> (Option<String>, Vec<String>)) {
        for card in &mut self.list {
            (card.label, card.after) = names(&card.request);
        }
    }

    /// Removes and returns the card of a settled request.
    pub fn remove(&mut self, id: &RequestId) -> Option<Card> {
        let index = self.list.iter().position(|card| card.request.id == *id)?;
        self.leave(index);
        let removed = self.list.remove(index);
        let is_new = |card: &Card| !card.was_postponed && !card.is_decided();
        if self.current().is_some_and(|card| card.was_postponed) && !removed.was_postponed {
            let new = self.visible().position(is_new);
            self.at = new.unwrap_or(self.at);
        }
        Some(removed)
    }

    /// Replaces the cards by these requests; known ones keep their state.
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

    /// Makes this card the current one if it is shown, else the first.
    pub fn go_to(&mut self, id: Option<&RequestId>) {
        let at = self.visible().position(|card| Some(&card.request.id) == id);
        self.at = at.unwrap_or(0);
    }

    /// Returns the approval of these requests, without skipped hunks, or the first of which nothing is left.
    pub fn approvals(&self, these: &[RequestId]) -> Result<ClientRequest, RequestId> {
        let one = |id: &RequestId| {
            let approval = self.find(id).and_then(Card::yes).ok_or_else(|| id.clone())?;
            Ok((id.clone(), approval))
        };
        let decisions = these.iter().map(one).collect::<Result<_, _>>()?;
        Ok(ClientRequest::Op(Op::Decide { decisions }))
    }

    pub fn find(&self, id: &RequestId) -> Option<&Card> {
        self.list.iter().find(|card| card.request.id == *id)
    }

    pub fn visible(&self) -> impl Iterator<Item = &Card> {
        self.list.iter().filter(|card| !card.is_postponed)
    }

    pub fn visible_mut(&mut self) -> impl Iterator<Item = &mut Card> {
        self.list.iter_mut().filter(|card| !card.is_postponed)
    }

    /// Returns the index of the current card among those that are shown.
    fn index(&self) -> usize {
        self.at.min(self.visible().count().saturating_sub(1))
    }

    /// Returns the current card.
    pub fn current(&self) -> Option<&Card> {
        self.visible().nth(self.index())
    }

    /// Returns all cards for changes.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Card> {
        self.list.iter_mut()
    }

    /// Returns the card of a request, shown or postponed.
    pub fn find_mut(&mut self, id: &RequestId) -> Option<&mut Card> {
        self.list.iter_mut().find(|card| card.request.id == *id)
    }

    pub fn current_mut(&mut self) -> Option<&mut Card> {
        let at = self.index();
        self.visible_mut().nth(at)
    }

    /// Returns the number of the current card, from 1, and the number of those shown.
    pub fn position(&self) -> (usize, usize) {
        (self.index() + 1, self.visible().count())
    }

    /// Goes to the next card without a sent decision, or else to the first such one.
    pub fn to_open(&mut self) {
        let here = self.index();
        let is_open = |(_, card): &(usize, &Card)| !card.is_decided();
        let is_new = |one: &(usize, &Card)| is_open(one) && !one.1.was_postponed;
        let first = |from: usize, wanted: &dyn Fn(&(usize, &Card)) -> bool| {
            self.visible().enumerate().skip(from).find(wanted).map(|(at, _)| at)
        };
        let new = first(here, &is_new).or_else(|| first(0, &is_new));
        let open = || first(here, &is_open).or_else(|| first(0, &is_open));
        self.at = new.or_else(open).unwrap_or(here);
    }

    pub fn next(&mut self) {
        self.at = (self.at + 1).min(self.visible().count().saturating_sub(1));
    }

    pub fn previous(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Postpones every card without a sent decision.
    pub fn postpone_all(&mut self) {
        for card in &mut self.list {
            if !card.is_decided() {
                card.postpone();
            }
        }
    }

    /// Handles a request that was postponed, here or elsewhere.
    pub fn postpone(&mut self, id: &RequestId) {
        let Some(index) = self.list.iter().position(|card| card.request.id == *id) else { return };
        self.leave(index);
        self.list[index].postpone();
    }

    /// Keeps the current card when another one leaves the screen.
    fn leave(&mut self, index: usize) {
        let shown_before = self.list.iter().take(index).filter(|card| !card.is_postponed).count();
        if !self.list[index].is_postponed && shown_before < self.at {
            self.at -= 1;
        }
    }

    /// Resets decisions that were sent but did not settle their request.
    pub fn undecide(&mut self) {
        for card in &mut self.list {
            match &mut card.stage {
                CardStage::Deciding(_) => card.stage = CardStage::Asking,
                CardStage::Rule(rule) if matches!(rule.status, RuleStatus::Saving(_)) => rule.unsave(),
                CardStage::Asking | CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_) => {
                    continue;
                }
            }
            card.advice = Some(sentences::NOT_RECORDED.to_owned());
        }
    }

    /// Shows the postponed cards again, after the others.
    pub fn bring_back(&mut self) {
        let current = self.current().map(|card| card.request.id.clone());
        self.list.sort_by_key(|card| card.is_postponed);
        for card in &mut self.list {
            card.is_postponed = false;
        }
        self.go_to(current.as_ref());
    }

    /// Records that decisions on these requests were sent.
    pub fn send(&mut self, these: &[RequestId], decision: SentDecision) {
        for card in self.list.iter_mut().filter(|card| these.contains(&card.request.id)) {
            card.stage = CardStage::Deciding(decision);
        }
    }

    /// Resets what was seen of the cards after a change of the width.
    pub fn unsee_partly(&mut self) {
        self.list.iter_mut().for_each(Card::unsee_partly);
    }
}
