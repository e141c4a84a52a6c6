//! The safety rules for answers to requests, shared by all interactive front ends. Pure: the caller provides the time.
//!
//! - An approval counts only if the whole effect of the request was shown; the rest of a file's contents can be approved
//!   unread, by a key or a word of its own, once it was said that it was not shown.
//! - No answer counts before the request was shown for [`GUARD_MS`]; an earlier one restarts that time.
//! - Where answers are keys, each approval restarts that time, the first of two as well. Which key events are one press
//!   is for the front end to say.
//! - High risk needs the same approval twice. The proposals are compared, so that a second key never approves another
//!   one.
//! - Where one command approves, naming a high-risk request by enough of its id is the first approval, and the command the
//!   second.
//! - A high-risk request and a question are never allowed for a whole session.
//! - One approval of several counts only if each was shown whole, and needs what the riskiest of them needs. A high-risk
//!   one is marked only once it was shown whole, and never by a key that marks several; nor is untrusted text, unless the
//!   user marks what is low.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use crate::approval::{Approval, Remember, Request, RequestId};
use crate::tool::Risk;

/// The time for which something is shown before an answer to it counts, in milliseconds.
pub const GUARD_MS: u64 = 500;

/// The part of a request that was shown, without a gap from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeenPart {
    UpTo(usize),
    All,
}

impl SeenPart {
    /// Returns how many of `total` lines were not shown yet.
    pub fn lines_left(self, total: usize) -> usize {
        match self {
            Self::UpTo(to) => total.saturating_sub(to),
            Self::All => 0,
        }
    }

    /// Records that these of `total` lines are shown.
    pub fn show(&mut self, lines: &Range<usize>, total: usize) {
        if let Self::UpTo(to) = *self
            && lines.start <= to
        {
            let to = to.max(lines.end);
            *self = if to >= total { Self::All } else { Self::UpTo(to) };
        }
    }
}

/// A request of a list for which no decision was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenRequest {
    pub id: RequestId,
    pub risk: Risk,
    pub seen: SeenPart,
    /// Whether arguments have untrusted text.
    pub is_tainted: bool,
}

impl OpenRequest {
    /// Whether one key may mark or approve it with others, up to this risk.
    pub fn goes_with_others(&self, most: Risk) -> bool {
        self.risk <= most.min(Risk::Medium) && (most == Risk::Low || !self.is_tainted)
    }
}

/// Returns the first of these that was not shown whole.
pub fn unseen(these: &[OpenRequest]) -> Option<&OpenRequest> {
    these.iter().find(|one| one.seen != SeenPart::All)
}

/// The marked requests of a list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Marks(HashSet<RequestId>);

impl Marks {
    pub fn contains(&self, id: &RequestId) -> bool {
        self.0.contains(id)
    }

    pub fn remove(&mut self, id: &RequestId) {
        self.0.remove(id);
    }

    pub fn retain(&mut self, is_open: impl Fn(&RequestId) -> bool) {
        self.0.retain(is_open);
    }

    /// Marks or unmarks a request; returns `false` if it may not be marked yet.
    pub fn turn(&mut self, one: OpenRequest) -> bool {
        if one.risk == Risk::High && one.seen != SeenPart::All {
            return false;
        }
        if !self.0.remove(&one.id) {
            self.0.insert(one.id);
        }
        true
    }

    /// Marks those of these that may be marked together; returns whether there is one.
    pub fn add_all(&mut self, open: &[OpenRequest], most: Risk) -> bool {
        let ids = open.iter().filter(|one| one.goes_with_others(most)).map(|one| one.id.clone());
        let ids: Vec<RequestId> = ids.collect();
        let any = !ids.is_empty();
        self.0.extend(ids);
        any
    }

    /// Returns the marked ones of these, or else the chosen one.
    pub fn or_chosen(&self, mut open: Vec<OpenRequest>, chosen: Option<OpenRequest>) -> Vec<OpenRequest> {
        open.retain(|one| self.contains(&one.id));
        if open.is_empty() { chosen.into_iter().collect() } else { open }
    }
}

/// The state of the question on the screen. `Proposal` is what an approval would send.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialogue<Subject, Proposal> {
    /// The subject, and since when it is shown.
    shown: Option<(Subject, u64)>,
    /// Answers are lines, which do not repeat by themselves.
    by_lines: bool,
    /// The high-risk proposal that was approved once.
    approved_once: Option<Proposal>,
}

/// The effect of an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalEffect<Proposal> {
    /// It does not count: it came too early.
    TooSoon,
    /// It does not count: not all of the request was shown.
    Unseen,
    /// High risk: it counts when it is repeated.
    Once,
    /// To be sent.
    Send(Proposal),
}

/// A dialogue whose answers are single keys, which repeat while held down.
impl<Subject, Proposal> Default for Dialogue<Subject, Proposal> {
    fn default() -> Self {
        Self { shown: None, by_lines: false, approved_once: None }
    }
}

impl<Subject: PartialEq, Proposal: PartialEq> Dialogue<Subject, Proposal> {
    /// Creates a dialogue whose answers are lines.
    pub fn of_lines() -> Self {
        Self { by_lines: true, ..Self::default() }
    }

    /// Shows a subject; returns whether it is new on the screen. Replacing another one resets a first approval.
    pub fn show(&mut self, subject: Subject, now_ms: u64) -> bool {
        match &self.shown {
            Some((shown, _)) if *shown == subject => return false,
            Some(_) => self.approved_once = None,
            None => {}
        }
        self.shown = Some((subject, now_ms));
        true
    }

    /// Restarts the guard time, e.g. because the subject was out of sight.
    pub fn show_again(&mut self, now_ms: u64) {
        if let Some((_, since)) = &mut self.shown {
            *since = now_ms;
        }
    }

    /// Accepts no answer until something is shown.
    pub fn hide(&mut self) {
        self.shown = None;
    }

    pub fn subject(&self) -> Option<&Subject> {
        self.shown.as_ref().map(|(subject, _)| subject)
    }

    /// Whether the guard time is over.
    pub fn is_armed(&self, now_ms: u64) -> bool {
        self.shown.as_ref().is_some_and(|(_, since)| now_ms >= since + GUARD_MS)
    }

    /// Returns the rest of the guard time in milliseconds; 0 if it is over or nothing is shown.
    pub fn guard_left(&self, now_ms: u64) -> u64 {
        self.shown.as_ref().map_or(0, |(_, since)| (since + GUARD_MS).saturating_sub(now_ms))
    }

    /// Handles an approval that would send `proposal`; `risk` is the highest of its requests.
    pub fn yes(
        &mut self,
        proposal: Proposal,
        risk: Risk,
        seen: SeenPart,
        now_ms: u64,
    ) -> ApprovalEffect<Proposal> {
        if !self.is_armed(now_ms) {
            self.show_again(now_ms);
            return ApprovalEffect::TooSoon;
        }
        if seen != SeenPart::All {
            return ApprovalEffect::Unseen;
        }
        if !self.by_lines {
            self.show_again(now_ms);
        }
        if risk == Risk::High && self.approved_once.as_ref() != Some(&proposal) {
            self.approved_once = Some(proposal);
            return ApprovalEffect::Once;
        }
        self.approved_once = None;
        ApprovalEffect::Send(proposal)
    }

    /// Handles one approval of all of these, which would send `proposal`.
    pub fn yes_to_all(
        &mut self,
        proposal: Proposal,
        these: &[OpenRequest],
        now_ms: u64,
    ) -> ApprovalEffect<Proposal> {
        let risk = these.iter().map(|one| one.risk).max().unwrap_or(Risk::High);
        let seen = unseen(these).map_or(SeenPart::All, |one| one.seen);
        self.yes(proposal, risk, seen, now_ms)
    }

    /// Returns the high-risk proposal that was approved once.
    pub fn approved_once(&self) -> Option<&Proposal> {
        self.approved_once.as_ref()
    }

    /// Whether a high-risk proposal was approved once.
    pub fn is_approved_once(&self) -> bool {
        self.approved_once.is_some()
    }

    /// Withdraws the first approval; returns whether there was one.
    pub fn withdraw(&mut self) -> bool {
        self.approved_once.take().is_some()
    }
}

/// The least characters of its id by which a command names a high-risk request.
pub const HIGH_RISK_ID: usize = 8;

/// Whether a command that names a request by this part of its id may approve it.
pub fn is_named_enough(risk: Risk, id: &str) -> bool {
    risk != Risk::High || id.len() >= HIGH_RISK_ID
}

/// Returns the denial with this reason, which may be empty.
pub fn no(reason: &str) -> Approval {
    let reason = reason.trim();
    Approval::Deny { reason: (!reason.is_empty()).then(|| reason.to_owned()) }
}

/// Returns the approval of these arguments, which may be the requested ones.
pub fn yes_to(request: &Request, args: Value, note: Option<String>) -> Approval {
    let instead = (args != request.args).then(|| (request.tool.clone(), args));
    Approval::Approve { instead, remember: Remember::Once, note, rule: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A step of the random walk; the numbers are milliseconds, requests and lines.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Wait(u64),
        /// A key press, or this many repetitions while it is held down.
        Yes(usize),
        Arrive(u8, Risk),
        Edit(u8),
        Read(usize),
        Hide,
        Withdraw,
        OutOfSight,
    }

    fn step() -> impl Strategy<Value = Step> {
        let risk = prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High, Risk::High]);
        let first = prop::sample::select(vec![0, 5, 7]);
        prop_oneof![
            6 => (0_u64..2_000).prop_map(Step::Wait),
            6 => (1_usize..4).prop_map(Step::Yes),
            1 => (30_usize..50).prop_map(Step::Yes),
            1 => (0_u8..3, risk).prop_map(|(request, risk)| Step::Arrive(request, risk)),
            1 => (0_u8..3).prop_map(Step::Edit),
            4 => first.prop_map(Step::Read),
            1 => Just(Step::Hide),
            1 => Just(Step::Withdraw),
            1 => Just(Step::OutOfSight),
        ]
    }

    const LINES: usize = 10;
    const PAGE: usize = 5;

    /// Milliseconds between the repetitions of a held key.
    const REPEAT_MS: u64 = 30;

    /// The walk's own record of the state.
    struct Walk {
        now: u64,
        dialogue: Dialogue<u8, (u8, u8)>,
        request: u8,
        args: u8,
        risk: Risk,
        read: Vec<bool>,
        seen: SeenPart,
        /// Since when the request is shown; `None` while nothing is.
        shown: Option<u64>,
        /// The last approval that was sent, and the last that came too early or was the first of two.
        sent: Option<u64>,
        other: Option<u64>,
        /// The high-risk approval that was accepted once.
        once: Option<((u8, u8), u64)>,
    }

    impl Walk {
        fn arrive(&mut self, request: u8, risk: Risk) {
            let is_other = self.request != request;
            if is_other && self.shown.is_some() {
                self.once = None;
            }
            if is_other || self.shown.is_none() {
                self.shown = Some(self.now);
            }
            if is_other {
                (self.request, self.risk, self.args) = (request, risk, 0);
                (self.read, self.seen) = (vec![false; LINES], SeenPart::UpTo(0));
            }
            self.dialogue.show(request, self.now);
        }

        fn press(&mut self) -> Result<Option<(u8, u8)>, TestCaseError> {
            let proposal = (self.request, self.args);
            match self.dialogue.yes(proposal, self.risk, self.seen, self.now) {
                ApprovalEffect::Unseen => Ok(None),
                ApprovalEffect::TooSoon => {
                    self.other = Some(self.now);
                    Ok(None)
                }
                ApprovalEffect::Once => {
                    prop_assert_eq!(self.risk, Risk::High);
                    self.once = Some((proposal, self.now));
                    self.other = Some(self.now);
                    Ok(None)
                }
                ApprovalEffect::Send(sent) => {
                    prop_assert_eq!(sent, proposal);
                    prop_assert!(self.read.iter().all(|read| *read), "unseen");
                    let shown = self.shown.expect("something was shown");
                    prop_assert!(self.now >= shown + GUARD_MS, "early");
                    let once = self.once.take();
                    if self.risk == Risk::High {
                        let (once, at) = once.expect("HIGH by one key");
                        prop_assert_eq!(once, sent, "another one was approved once");
                        prop_assert!(self.now >= at + GUARD_MS, "HIGH by one press");
                    }
                    let is_past = |at: Option<u64>, ms| at.is_none_or(|at| self.now >= at + ms);
                    prop_assert!(is_past(self.sent, GUARD_MS) && is_past(self.other, GUARD_MS), "held down");
                    self.sent = Some(self.now);
                    Ok(Some(sent))
                }
            }
        }

        fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
            match step {
                Step::Wait(ms) => self.now += ms,
                Step::Yes(times) => {
                    let mut sent = 0;
                    for _ in 0..times {
                        sent += usize::from(self.press()?.is_some());
                        self.now += REPEAT_MS;
                    }
                    prop_assert!(sent <= 1, "twice by one press");
                }
                Step::Arrive(request, risk) => self.arrive(request, risk),
                Step::Edit(args) => self.args = args,
                Step::Read(from) => {
                    let lines = from..(from + PAGE).min(LINES);
                    self.read[lines.clone()].fill(true);
                    self.seen.show(&lines, LINES);
                }
                Step::Hide => {
                    self.dialogue.hide();
                    self.shown = None;
                }
                Step::Withdraw => prop_assert_eq!(self.dialogue.withdraw(), self.once.take().is_some()),
                Step::OutOfSight => {
                    self.dialogue.show_again(self.now);
                    self.shown = self.shown.map(|_| self.now);
                }
            }
            Ok(())
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Keys, time and arrivals in any order: nothing is approved unseen, early, twice by one press, or at high risk
        /// by one press.
        #[test]
        fn no_walk_approves_what_it_must_not(steps in prop::collection::vec(step(), 1..60)) {
            let mut walk = Walk {
                now: 0,
                dialogue: Dialogue::default(),
                request: 0,
                args: 0,
                risk: Risk::Low,
                read: vec![false; LINES],
                seen: SeenPart::UpTo(0),
                shown: None,
                sent: None,
                other: None,
                once: None,
            };
            for step in steps {
                walk.take(step)?;
            }
        }
    }

    /// A step of the walk over a list; the numbers are requests of it, and milliseconds.
    #[derive(Debug, Clone, Copy)]
    enum ListStep {
        Mark(usize),
        MarkAll(Risk),
        Show(usize),
        Choose(usize),
        Wait(u64),
        Yes,
    }

    fn list_step() -> impl Strategy<Value = ListStep> {
        let most = prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High]);
        prop_oneof![
            2 => (0_usize..5).prop_map(ListStep::Mark),
            1 => most.prop_map(ListStep::MarkAll),
            3 => (0_usize..5).prop_map(ListStep::Show),
            1 => (0_usize..5).prop_map(ListStep::Choose),
            3 => (0_u64..900).prop_map(ListStep::Wait),
            4 => Just(ListStep::Yes),
        ]
    }

    fn open_request() -> impl Strategy<Value = OpenRequest> {
        let risk = prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::High]);
        (risk, any::<bool>()).prop_map(|(risk, is_tainted)| OpenRequest {
            id: RequestId(String::new()),
            risk,
            seen: SeenPart::UpTo(0),
            is_tainted,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Marks, readings and keys in any order: of several, nothing is approved unseen, at high risk by one press, or
        /// because a key marked more than one may.
        #[test]
        fn no_walk_over_a_list_approves_what_it_must_not(
            mut open in prop::collection::vec(open_request(), 5),
            steps in prop::collection::vec(list_step(), 1..40),
        ) {
            open.iter_mut().enumerate().for_each(|(at, one)| one.id = RequestId(at.to_string()));
            let (mut marks, mut dialogue) = (Marks::default(), Dialogue::default());
            let (mut now, mut chosen) = (0, 0);
            // The marks of the user, and the first of two keys with its purpose.
            let mut own: HashSet<RequestId> = HashSet::new();
            let mut once: Option<(Vec<RequestId>, u64)> = None;
            dialogue.show((), now);
            for step in steps {
                match step {
                    ListStep::Mark(at) => {
                        let one = open[at].clone();
                        let is_marked = marks.turn(one.clone());
                        prop_assert_eq!(is_marked, one.risk != Risk::High || one.seen == SeenPart::All);
                        if is_marked && !own.remove(&one.id) && marks.contains(&one.id) {
                            own.insert(one.id);
                        }
                    }
                    ListStep::MarkAll(most) => {
                        let before = marks.clone();
                        marks.add_all(&open, most);
                        for one in open.iter().filter(|one| marks.contains(&one.id) && !before.contains(&one.id)) {
                            prop_assert!(one.risk <= most && one.risk != Risk::High);
                            prop_assert!(most == Risk::Low || !one.is_tainted, "untrusted text with others");
                        }
                    }
                    ListStep::Show(at) => open[at].seen = SeenPart::All,
                    ListStep::Choose(at) => chosen = at,
                    ListStep::Wait(ms) => now += ms,
                    ListStep::Yes => {
                        let these = marks.or_chosen(open.clone(), open.get(chosen).cloned());
                        let ids: Vec<RequestId> = these.iter().map(|one| one.id.clone()).collect();
                        match dialogue.yes_to_all(ids.clone(), &these, now) {
                            ApprovalEffect::TooSoon => {}
                            ApprovalEffect::Unseen => prop_assert!(unseen(&these).is_some()),
                            ApprovalEffect::Once => once = Some((ids, now)),
                            ApprovalEffect::Send(sent) => {
                                prop_assert_eq!(&sent, &ids);
                                prop_assert!(unseen(&these).is_none(), "unseen");
                                for one in these.iter().filter(|one| one.risk == Risk::High) {
                                    let (first, at) = once.clone().expect("HIGH by one key");
                                    prop_assert_eq!(&first, &ids);
                                    prop_assert!(now >= at + GUARD_MS, "HIGH by one press");
                                    let is_chosen = one.id == open[chosen].id && ids.len() == 1;
                                    prop_assert!(own.contains(&one.id) || is_chosen, "HIGH with others");
                                }
                                once = None;
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_early_yes_starts_the_time_anew() {
        let mut dialogue = Dialogue::default();
        dialogue.show(1, 0);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::All, 400), ApprovalEffect::TooSoon);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::All, 600), ApprovalEffect::TooSoon);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::UpTo(3), 1_100), ApprovalEffect::Unseen);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::All, 1_100), ApprovalEffect::Send("yes"));
        assert_eq!(dialogue.guard_left(1_300), 300);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::All, 1_599), ApprovalEffect::TooSoon);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::All, 2_098), ApprovalEffect::TooSoon);
        assert_eq!(dialogue.yes("yes", Risk::Low, SeenPart::All, 2_598), ApprovalEffect::Send("yes"));
    }

    #[test]
    fn high_wants_the_same_yes_twice() {
        let mut dialogue = Dialogue::of_lines();
        dialogue.show((), 0);
        assert_eq!(dialogue.yes("a", Risk::High, SeenPart::All, 500), ApprovalEffect::Once);
        assert_eq!(dialogue.yes("b", Risk::High, SeenPart::All, 600), ApprovalEffect::Once);
        assert_eq!(dialogue.yes("b", Risk::High, SeenPart::All, 700), ApprovalEffect::Send("b"));
        assert!(!dialogue.is_approved_once());
        assert_eq!(dialogue.yes("b", Risk::High, SeenPart::All, 800), ApprovalEffect::Once);
        assert!(dialogue.withdraw() && !dialogue.withdraw());
        assert_eq!(dialogue.yes("b", Risk::High, SeenPart::All, 900), ApprovalEffect::Once);
    }

    #[test]
    fn a_gap_is_not_seen() {
        let mut seen = SeenPart::UpTo(0);
        for (lines, expected) in [
            (5..9, SeenPart::UpTo(0)),
            (0..4, SeenPart::UpTo(4)),
            (4..8, SeenPart::UpTo(8)),
            (2..6, SeenPart::UpTo(8)),
            (6..10, SeenPart::All),
        ] {
            seen.show(&lines, 10);
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn an_empty_reason_is_none() {
        assert_eq!(no(" \n"), Approval::Deny { reason: None });
        assert_eq!(no(" not now "), Approval::Deny { reason: Some("not now".to_owned()) });
    }
}
