//! One user turn as a state machine: no I/O, no clock, no async.
//!
//! Inputs go in ([`Turn::handle`]), effects come out, to be carried out in order; a commit must have
//! succeeded before the effects behind it. What holds by construction, and is tested by random walks:
//! no unapproved call starts; no side effect starts before its reply is committed; no model request is
//! sent while a call runs; no request is repeated after one of its side effects started; every call of
//! a committed reply gets one return, in order, unless the turn ends deferred; there is one `End`.

mod end;
mod failure;
mod reply;
mod request;
mod spend;
mod stop;
#[cfg(test)]
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

pub use self::stop::StopHooks;
use super::assemble::Assembler;
use super::budget::Budget;
use super::calls::{Calls, Covered, Rules};
use super::caps::Caps;
use super::effect::{Effect, Input, ModelRole};
use super::loop_guard::RepeatDetector;
use super::port::Event;
use crate::approval::{Approval, Decider, RequestId};
use crate::config::Cap;
use crate::history::{Durability, History, Limits, Record, SessionId, TurnEnd};
use crate::message::{Message, PartKind, StopKind, UserPart, images};
use crate::provider::{Price, ProviderError};

/// What a turn is set up with; pure data.
#[derive(Debug, Clone)]
pub struct Setup {
    pub session: SessionId,
    pub rules: Rules,
    pub limits: Limits,
    pub caps: Caps,
    /// Retries after a failed request; a reply that arrives whole resets the count.
    pub retries: u32,
    pub audience: Audience,
    pub patience: Patience,
    pub stop_hooks: StopHooks,
    /// For the jitter of waits.
    pub seed: u64,
}

/// How long the first model is tried before another takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// As often as the settings say.
    Usual,
    /// It was given up a short while ago: its first failure is its last, if another stands ready.
    Short,
}

/// Whether somebody can answer requests while the turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Present,
    Absent,
}

/// The machine.
#[derive(Debug)]
pub struct Turn {
    setup: Setup,
    number: u32,
    budget: Budget,
    attempt: u32,
    /// Failed attempts in a row.
    failures: u32,
    compaction: Compaction,
    phase: Phase,
    kind: TurnKind,
    stopping: Stopping,
    calls: Calls,
    queued: Vec<Vec<UserPart>>,
    wire_ids: BTreeSet<String>,
    /// ModelRole the next request goes to.
    who: ModelRole,
    /// What the model that was given up failed with, in words.
    given_up: Option<String>,
    asked: Asked,
    model: String,
    /// What a provider had to say beside its reply, as it was shown last.
    noticed: Option<String>,
    /// Caps that the person let the request go over: it may be sent again, until its reply is there.
    passed: BTreeSet<Cap>,
}

/// What a turn is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnKind {
    /// A prompt: requests, replies and their calls.
    Prompt,
    /// Late calls between turns: no request, and no record of a turn.
    LateCalls,
}

/// Who was asked last: what its requests are recorded and counted with.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub who: ModelRole,
    pub provider: String,
    /// As the service knows it.
    pub model: String,
    pub price: Option<Price>,
    /// Who is asked once this one is given up, as `provider/model`; nobody stands behind a fallback.
    pub fallback: Option<String>,
}

impl Default for Asked {
    fn default() -> Self {
        let (provider, model) = (String::new(), String::new());
        Self { who: ModelRole::Primary, provider, model, price: None, fallback: None }
    }
}

impl Asked {
    /// `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

#[derive(Debug)]
enum Phase {
    /// A request runs.
    Streaming(Box<Assembler>),
    /// The attempt is void; its early calls must end before what comes next.
    Draining(Next),
    BackingOff,
    Compacting(Overflow),
    /// Late calls are being looked up.
    TakingLate,
    /// What is used is being looked up.
    Weighing,
    /// At a cap: the person is asked.
    Capped(Box<spend::Capped>),
    /// The reply is committed, its calls are on their way.
    Working,
    /// The last word is committed, and hooks look at it.
    Completing,
    Ended,
}

/// What follows once the early calls of a void attempt have ended.
#[derive(Debug, Clone, PartialEq)]
enum Next {
    Request,
    Wait(Duration),
    Compact(Overflow),
    /// The end of a turn that went well.
    Complete,
    End(TurnEnd),
}

/// What asked for less of the conversation.
#[derive(Debug, Clone, PartialEq)]
enum Overflow {
    /// This refusal; it is how the turn ends where nothing can be left out.
    Refused(ProviderError),
    /// A reply that the window cut off.
    Cut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compaction {
    Unused,
    Used,
}

/// Whether the turn is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    No,
    /// Waits are for later: the turn ends once nothing else moves.
    Defer,
    Interrupt,
    /// As interrupt for what runs, as defer for what waits.
    Close,
}

impl Turn {
    /// Starts a turn with a prompt whose session has no open turn (`close_open` has seen to it).
    pub fn start(setup: Setup, history: &History, prompt: Vec<UserPart>) -> (Self, Vec<Effect>) {
        let number = history.turns() + 1;
        let limits = setup.limits;
        let mut turn = Self::new(setup, history, number, Budget::new(limits), 0);
        let mut records = vec![
            Record::TurnStarted { turn: number, limits },
            Record::Said { message: Message::User { parts: prompt.clone() } },
        ];
        // A prompt that was queued leaves the queue as it is said.
        if turn.queued.first().is_some_and(|first| ends_with(&prompt, first)) {
            turn.queued.remove(0);
            records.push(Record::Queued { prompts: turn.queued.clone() });
        }
        let mut out = vec![
            Effect::Commit(records, Durability::Written),
            Effect::Show(Event::Prompted { parts: prompt }),
        ];
        turn.request(&mut out);
        (turn, out)
    }

    /// Takes up the deferred or cut-off turn of a session. Budget and attempts go on where they were.
    pub fn resume(setup: Setup, history: &History) -> (Self, Vec<Effect>) {
        let mut out = Vec::new();
        let (number, budget, attempt) = match history.running() {
            Some(turn) => (turn.number, Budget { limits: turn.limits, used: turn.used }, turn.attempts),
            None => (history.turns(), Budget::new(setup.limits), 0),
        };
        let mut turn = Self::new(setup, history, number, budget, attempt);
        if history.open_calls().is_empty() {
            match history.messages().last() {
                Some(Message::Assistant(reply)) if reply.stop.kind != StopKind::PauseTurn => {
                    turn.end(TurnEnd::Completed, &mut out);
                }
                Some(Message::Assistant(_) | Message::User { .. } | Message::ToolReturns { .. }) => {
                    turn.request(&mut out);
                }
                None => turn.end(TurnEnd::Completed, &mut out),
            }
        } else {
            turn.phase = Phase::Working;
            turn.calls =
                Calls::resume(history.open_calls(), RepeatDetector::of(history), &turn.setup.rules, &mut out);
            turn.go_on(&mut out);
        }
        (turn, out)
    }

    /// Settles the late calls of a session between its turns.
    pub fn late_calls(setup: Setup, history: &History) -> (Self, Vec<Effect>) {
        let budget = Budget::new(setup.limits);
        let mut turn = Self::new(setup, history, history.turns(), budget, 0);
        turn.kind = TurnKind::LateCalls;
        let mut out = Vec::new();
        turn.request(&mut out);
        (turn, out)
    }

    fn new(mut setup: Setup, history: &History, number: u32, budget: Budget, attempt: u32) -> Self {
        for (_, message) in history.entries() {
            setup.rules.heard.hear(Arc::clone(message));
        }
        Self {
            setup,
            number,
            budget,
            attempt,
            failures: 0,
            compaction: Compaction::Unused,
            phase: Phase::Working,
            kind: TurnKind::Prompt,
            stopping: Stopping::No,
            calls: Calls::default(),
            queued: history.queued().to_vec(),
            wire_ids: wire_ids(history),
            who: ModelRole::Primary,
            given_up: None,
            asked: Asked::default(),
            model: String::new(),
            noticed: None,
            passed: BTreeSet::new(),
        }
    }

    /// Says who gets the request that [`Effect::CallModel`] stands for; before any of its events. It may be the first
    /// model in the fallback's place: the person has chosen another meanwhile.
    pub fn asks(&mut self, asked: Asked) {
        self.who = asked.who;
        self.model.clone_from(&asked.model);
        self.asked = asked;
    }

    /// Tells the time; before every input.
    pub fn tell_time(&mut self, now: Timestamp) {
        self.setup.rules.now = now;
    }

    /// A message of the conversation that the next request holds, and none before; in order. What a call is decided
    /// on must be known before the model is asked: no reply holds words that came after it.
    pub fn hear(&mut self, message: Arc<Message>) {
        self.setup.rules.heard.hear(message);
    }

    /// Takes one input. Inputs that are stale, or come after the end, do nothing.
    #[must_use]
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.has_ended() {
            return out;
        }
        match input {
            Input::Stream(Ok(event)) => self.on_event(event, &mut out),
            Input::Stream(Err(error)) => self.on_failure(&error, &mut out),
            Input::Planned { call, round, result } => {
                self.calls.planned(&call, round, result, &self.setup.rules, &mut out);
                self.go_on(&mut out);
            }
            Input::Hooked { call, round, verdict } => {
                self.calls.hooked(&call, round, verdict, &self.setup.rules, &mut out);
                self.go_on(&mut out);
            }
            Input::StopHooked { verdict } => self.on_stop_hooked(verdict, &mut out),
            Input::Decided { request, approval, by } => self.on_decided(&request, &approval, &by, &mut out),
            Input::Expired { request } => {
                self.calls.expired(&request, &mut out);
                self.go_on(&mut out);
            }
            Input::ToolDone { returned, seen } => {
                self.calls.tool_done(returned, seen, &mut out);
                self.go_on(&mut out);
            }
            Input::Steer { parts } => self.on_steer(parts, &mut out),
            Input::TakeBack { parts } => self.on_take_back(&parts, &mut out),
            Input::BackoffElapsed => {
                if let Phase::BackingOff = self.phase {
                    self.request(&mut out);
                }
            }
            Input::Compacted { dropped } => self.on_compacted(dropped, &mut out),
            Input::Weighed { figures } => self.on_weighed(figures, &mut out),
            Input::CapAnswered { cap, answer } => self.on_cap_answer(cap, answer, &mut out),
            Input::Late { calls } => self.on_late(&calls, &mut out),
            Input::Checkpoint => self.on_checkpoint(&mut out),
            Input::Policy(policy) => self.setup.rules.policy = policy,
            Input::Defer => self.stop(Stopping::Defer, &mut out),
            Input::Interrupt => self.stop(Stopping::Interrupt, &mut out),
            Input::Close => self.stop(Stopping::Close, &mut out),
        }
        out
    }

    pub fn kind(&self) -> TurnKind {
        self.kind
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Whether text arrives now, so that checkpoints make sense.
    pub fn is_streaming(&self) -> bool {
        matches!(self.phase, Phase::Streaming(_))
    }

    pub fn waiting_requests(&self) -> Vec<crate::approval::Request> {
        self.calls.waiting_requests()
    }

    /// Requests that the policy, as it is now, answers in the person's place.
    pub fn covered(&self) -> Vec<Covered> {
        self.calls.covered(&self.setup.rules)
    }

    fn on_decided(&mut self, request: &RequestId, approval: &Approval, by: &Decider, out: &mut Vec<Effect>) {
        if let Some(asked) = self.calls.waiting_requests().iter().find(|asked| asked.id == *request) {
            let folder = self.setup.rules.place.folder.clone();
            self.setup.rules.grants.apply(asked, approval, &folder);
        }
        self.calls.decided(request, approval, by, &self.setup.rules, out);
        self.go_on(out);
    }

    /// The newest queued prompt of these words leaves the queue; too late, and it is said so.
    fn on_take_back(&mut self, parts: &[UserPart], out: &mut Vec<Effect>) {
        let Some(at) = self.queued.iter().rposition(|queued| images::words(queued) == images::words(parts))
        else {
            let text = "That prompt has gone to the model already.".to_owned();
            return out.push(Effect::Show(Event::Status { text }));
        };
        self.queued.remove(at);
        let record = Record::Queued { prompts: self.queued.clone() };
        out.push(Effect::Commit(vec![record], Durability::Written));
    }

    /// A prompt typed meanwhile is stored; where only cards wait it means later to all of them.
    fn on_steer(&mut self, parts: Vec<UserPart>, out: &mut Vec<Effect>) {
        self.queued.push(parts);
        let record = Record::Queued { prompts: self.queued.clone() };
        out.push(Effect::Commit(vec![record], Durability::Written));
        if matches!(self.phase, Phase::Working) && self.calls.only_persons_can_move() {
            self.stop(Stopping::Defer, out);
        }
    }
}

/// Wire ids the conversation holds; a new call never repeats one.
fn wire_ids(history: &History) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for message in history.messages() {
        if let Message::Assistant(reply) = message {
            ids.extend(reply.parts.iter().filter_map(|part| match &part.kind {
                PartKind::ToolCall(call) => Some(call.wire_id.clone()),
                PartKind::Text { .. } | PartKind::Thinking { .. } | PartKind::Native => None,
            }));
        }
    }
    ids
}

/// Whether a prompt is this queued one, perhaps with notes before it.
fn ends_with(prompt: &[UserPart], queued: &[UserPart]) -> bool {
    prompt.len() >= queued.len() && prompt[prompt.len() - queued.len()..] == *queued
}
