//! One user turn as a state machine: no I/O, no clock, no async.
//!
//! Inputs go into [`Turn::handle`], effects come out and must be executed in order; a commit must have
//! succeeded before the effects after it. Invariants, tested by random walks: no unapproved call starts; no
//! side effect starts before its reply is committed; no model request is sent while a call runs; no request
//! is repeated after one of its side effects started; every call of a committed reply gets one return, in
//! order, unless the turn ends deferred; there is one `End`.

mod compact;
mod end;
mod failure;
mod reply;
mod request;
mod spend;
mod stop;
#[cfg(test)]
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

pub use self::stop::StopHooks;
use super::assemble::Assembler;
use super::budget::Budget;
use super::calls::{Calls, PolicyDecision, Rules};
use super::caps::{CapQuestion, Caps};
use super::effect::{Effect, Input, ModelRole};
use super::loop_guard::RepeatDetector;
use super::port::Event;
use crate::agent::statuses;
use crate::approval::{Approval, Decider, RequestId};
use crate::config::Cap;
use crate::history::{Durability, History, Limits, Record, SessionId, TurnEnd};
use crate::message::{Message, PartKind, StopKind, ToolName, UserPart, images};
use crate::provider::{Price, ProviderError};
use crate::tool::ToolSpec;

/// The setup that a turn is created with; pure data.
#[derive(Debug, Clone)]
pub struct Setup {
    pub session: SessionId,
    pub rules: Rules,
    pub limits: Limits,
    pub caps: Caps,
    /// Retries after a failed request; a complete reply resets the count.
    pub retries: u32,
    /// How long an overloaded service is asked again, in all, if no other model can take over.
    pub overload_wait: Duration,
    pub audience: Audience,
    pub patience: RetryPolicy,
    pub stop_hooks: StopHooks,
    /// For the jitter of waits.
    pub seed: u64,
    /// The span of the turn, to be recorded with its start.
    pub trace: Option<String>,
}

/// How long the first model is tried before another takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryPolicy {
    /// As often as configured.
    Usual,
    /// It was given up recently: its first failure is final, if another model can take over.
    Short,
}

/// Whether a user can answer requests while the turn runs.
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
    /// Whether a request was repeated with a shorter conversation in this turn; once is enough.
    compacted_after_refusal: bool,
    phase: Phase,
    kind: TurnKind,
    stopping: StopState,
    calls: Calls,
    queued: Vec<Vec<UserPart>>,
    wire_ids: BTreeSet<String>,
    /// The model that the next request goes to.
    who: ModelRole,
    /// The name and error of the model that was given up.
    given_up: Option<String>,
    asked: RequestedModel,
    model: String,
    /// The provider's notice that was shown last.
    noticed: Option<String>,
    /// How often the conversation was compacted since the last complete reply.
    compactions: u32,
    /// Caps that the user let the request exceed: it may be repeated until its reply is complete.
    passed: BTreeSet<Cap>,
}

/// The purpose of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnKind {
    /// A prompt: requests, replies and their calls.
    Prompt,
    /// Late calls between turns: no request, and no record of a turn.
    LateCalls,
    /// A compaction that the user asked for between turns: a request for a summary, and no record of a turn.
    Compaction,
}

/// The model that was asked last; its requests are recorded and priced with this.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedModel {
    pub who: ModelRole,
    pub provider: String,
    /// The name that the provider uses.
    pub model: String,
    pub price: Option<Price>,
    /// The model asked after this one is given up, as `provider/model`; a fallback has none.
    pub fallback: Option<String>,
}

impl Default for RequestedModel {
    fn default() -> Self {
        let (provider, model) = (String::new(), String::new());
        Self { who: ModelRole::Primary, provider, model, price: None, fallback: None }
    }
}

impl RequestedModel {
    /// Returns `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }
}

#[derive(Debug)]
enum Phase {
    /// A request runs.
    Streaming(Box<Assembler>),
    /// The attempt is void; its early calls must end before the next step.
    Draining(NextStep),
    /// Waiting before the request is repeated: of the summary, if one is being written.
    BackingOff(Option<Box<compact::RunningCompaction>>),
    /// Messages that can be compacted are being looked up.
    PlanningCompaction(Overflow),
    /// The request for a summary runs.
    Summarizing(Box<Assembler>, Box<compact::RunningCompaction>),
    /// Late calls are being looked up.
    TakingLate,
    /// The usage is being looked up.
    Weighing,
    /// At a cap: the user is asked.
    Capped(CapQuestion),
    /// The reply is committed and its calls are in progress.
    Working,
    /// The final reply is committed, and hooks check it.
    Completing,
    Ended,
}

/// The next step once the early calls of a void attempt have ended.
#[derive(Debug, Clone, PartialEq)]
enum NextStep {
    Request,
    Wait(Duration),
    Compact(Overflow),
    /// The end of a successful turn.
    Complete,
    End(TurnEnd),
}

/// Why the conversation must be shortened.
#[derive(Debug, Clone, PartialEq)]
enum Overflow {
    /// This refusal; the turn ends with it if nothing can be left out.
    Refused(ProviderError),
    /// A reply that the window cut off.
    Cut,
    /// The next request is too long by our estimate; it is sent as it is if nothing can be left out.
    Estimated,
    /// The user asked for it.
    Asked,
}

/// Whether and how the turn is stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopState {
    No,
    /// Waiting calls are postponed: the turn ends once nothing else moves.
    Defer,
    Interrupt,
    /// Like an interrupt for running calls, like `Defer` for waiting ones.
    Close,
}

impl Turn {
    /// Starts a turn with a prompt. The session must have no open turn (`close_open` ensures it).
    pub fn start(setup: Setup, history: &History, prompt: Vec<UserPart>) -> (Self, Vec<Effect>) {
        let number = history.turns() + 1;
        let limits = setup.limits;
        let mut turn = Self::new(setup, history, number, Budget::new(limits), 0);
        let mut records = vec![
            Record::TurnStarted { turn: number, limits, trace: turn.setup.trace.clone() },
            Record::said(Message::User { parts: prompt.clone() }),
        ];
        // A queued prompt leaves the queue in the commit that adds it to the conversation.
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

    /// Resumes the deferred or cut-off turn of a session. Budget and attempts continue.
    pub fn resume(setup: Setup, history: &History) -> (Self, Vec<Effect>) {
        let mut out = Vec::new();
        let (number, budget, attempt) = match history.running_turn() {
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
        Self::without_prompt(TurnKind::LateCalls, setup, history, Self::request)
    }

    /// Compacts the conversation of a session between its turns.
    pub fn compaction(setup: Setup, history: &History) -> (Self, Vec<Effect>) {
        Self::without_prompt(TurnKind::Compaction, setup, history, Self::weigh)
    }

    fn without_prompt(
        kind: TurnKind,
        setup: Setup,
        history: &History,
        begin: fn(&mut Self, &mut Vec<Effect>),
    ) -> (Self, Vec<Effect>) {
        let budget = Budget::new(setup.limits);
        let mut turn = Self { kind, ..Self::new(setup, history, history.turns(), budget, 0) };
        let mut out = Vec::new();
        begin(&mut turn, &mut out);
        (turn, out)
    }

    fn new(mut setup: Setup, history: &History, number: u32, budget: Budget, attempt: u32) -> Self {
        // Compaction does not change where a text came from.
        for message in history.archived_messages().chain(history.entries().iter().map(|(_, message)| message))
        {
            setup.rules.provenance.add(Arc::clone(message));
        }
        Self {
            setup,
            number,
            budget,
            attempt,
            failures: 0,
            compacted_after_refusal: false,
            phase: Phase::Working,
            kind: TurnKind::Prompt,
            stopping: StopState::No,
            calls: Calls::default(),
            queued: history.queued_prompts().to_vec(),
            wire_ids: wire_ids(history),
            who: ModelRole::Primary,
            given_up: None,
            asked: RequestedModel::default(),
            model: String::new(),
            noticed: None,
            compactions: 0,
            passed: BTreeSet::new(),
        }
    }

    /// Reports the model that gets the request of [`Effect::CallModel`]; called before any of its events. It
    /// may be the first model instead of the fallback, if the user has chosen another one meanwhile.
    pub fn asks(&mut self, asked: RequestedModel) {
        match asked.who {
            ModelRole::Primary | ModelRole::Fallback => self.who = asked.who,
            // Only for the summary.
            ModelRole::Summarizer => {}
        }
        self.model.clone_from(&asked.model);
        self.asked = asked;
    }

    /// Sets the time; called before every input.
    pub fn tell_time(&mut self, now: Timestamp) {
        self.setup.rules.now = now;
    }

    /// Sets the tools that the next request offers: its calls are judged by these descriptions.
    pub fn offer(&mut self, specs: Arc<BTreeMap<ToolName, ToolSpec>>, hooked: BTreeSet<ToolName>) {
        self.setup.rules.provenance.offer(Arc::clone(&specs));
        self.setup.rules.specs = specs;
        self.setup.rules.hooked = hooked;
    }

    /// Adds a message that the next request contains and no earlier one did; in order. Called before the
    /// model is asked, because decisions on its calls depend on the messages before them.
    pub fn observe(&mut self, message: Arc<Message>) {
        self.setup.rules.provenance.add(message);
    }

    /// Handles one input. Inputs that are stale, or come after the end, do nothing.
    #[must_use]
    pub fn handle(&mut self, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.has_ended() {
            return out;
        }
        match input {
            Input::Stream(event) => match (event, &self.phase) {
                (Ok(event), Phase::Summarizing(..)) => self.on_summary_event(event, &mut out),
                (Err(error), Phase::Summarizing(..)) => self.on_summary_failure(&error, &mut out),
                (Ok(event), _) => self.on_event(event, &mut out),
                (Err(error), _) => self.on_failure(&error, &mut out),
            },
            Input::Planned { call, round, result } => {
                self.calls.on_plan(&call, round, result, &self.setup.rules, &mut out);
                self.go_on(&mut out);
            }
            Input::Hooked { call, round, verdict } => {
                self.calls.on_hook_verdict(&call, round, verdict, &self.setup.rules, &mut out);
                self.go_on(&mut out);
            }
            Input::StopHooked { verdict } => self.on_stop_hooked(verdict, &mut out),
            Input::Decided { request, approval, by } => self.on_decided(&request, &approval, &by, &mut out),
            Input::Expired { request } => {
                self.calls.on_expiry(&request, &mut out);
                self.go_on(&mut out);
            }
            Input::ToolDone { returned, seen, state } => {
                self.calls.on_tool_end(returned, (seen, state), &mut out);
                self.go_on(&mut out);
            }
            Input::Steer { parts } => self.on_steer(parts, &mut out),
            Input::TakeBack { parts } => self.on_take_back(&parts, &mut out),
            Input::Revoked { request } => {
                self.setup.rules.grants.revoke(&request);
                out.push(Effect::Commit(vec![Record::Revoked { request }], Durability::Synced));
            }
            Input::BackoffElapsed => {
                if let Phase::BackingOff(summary) = &mut self.phase {
                    match summary.take() {
                        Some(compacting) => self.summarize(*compacting, &mut out),
                        None => self.request(&mut out),
                    }
                }
            }
            Input::CompactionPlanned { plan, summarizer, prevented } => {
                self.on_compaction_planned(plan, summarizer, prevented, &mut out);
            }
            Input::Weighed { fit, figures } => self.on_weighed(fit, figures, &mut out),
            Input::CapAnswered { cap, answer } => self.on_cap_answer(cap, answer, &mut out),
            Input::Late { calls } => self.on_late(&calls, &mut out),
            Input::Checkpoint => self.on_checkpoint(&mut out),
            Input::Policy(policy) => self.setup.rules.policy = policy,
            Input::Defer => self.stop(StopState::Defer, &mut out),
            Input::Interrupt => self.stop(StopState::Interrupt, &mut out),
            Input::Close => self.stop(StopState::Close, &mut out),
        }
        out
    }

    pub fn kind(&self) -> TurnKind {
        self.kind
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    pub fn waiting_requests(&self) -> Vec<crate::approval::Request> {
        self.calls.waiting_requests()
    }

    /// Returns the requests that the current policy answers instead of the user.
    pub fn policy_decisions(&self) -> Vec<PolicyDecision> {
        self.calls.policy_decisions(&self.setup.rules)
    }

    fn on_decided(&mut self, request: &RequestId, approval: &Approval, by: &Decider, out: &mut Vec<Effect>) {
        if let Some(asked) = self.calls.waiting_requests().iter().find(|asked| asked.id == *request) {
            let folder = self.setup.rules.place.folder.clone();
            self.setup.rules.grants.apply(asked, approval, &folder);
        }
        self.calls.on_decision(request, approval, by, &self.setup.rules, out);
        self.go_on(out);
    }

    /// Removes the newest queued prompt with this text; if it was sent already, a status line says so.
    fn on_take_back(&mut self, parts: &[UserPart], out: &mut Vec<Effect>) {
        let Some(at) =
            self.queued.iter().rposition(|queued| images::typed_text(queued) == images::typed_text(parts))
        else {
            return out.push(Effect::status(statuses::SENT_ALREADY));
        };
        self.queued.remove(at);
        let record = Record::Queued { prompts: self.queued.clone() };
        out.push(Effect::Commit(vec![record], Durability::Written));
    }

    /// Queues a prompt typed meanwhile; if only requests wait, it postpones all of them.
    fn on_steer(&mut self, parts: Vec<UserPart>, out: &mut Vec<Effect>) {
        self.queued.push(parts);
        let record = Record::Queued { prompts: self.queued.clone() };
        out.push(Effect::Commit(vec![record], Durability::Written));
        if matches!(self.phase, Phase::Working) && self.calls.only_persons_can_move() {
            self.stop(StopState::Defer, out);
        }
    }
}

/// Returns the wire ids of the conversation; a new call never repeats one.
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

/// Whether a prompt is this queued one, possibly with notes before it.
fn ends_with(prompt: &[UserPart], queued: &[UserPart]) -> bool {
    prompt.len() >= queued.len() && prompt[prompt.len() - queued.len()..] == *queued
}
