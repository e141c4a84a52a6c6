//! Random walks over the machine: a simulated world that answers in any order, breaks off, crashes and
//! resumes, and a referee that checks every effect.

mod dice;
mod single;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use self::dice::Dice;
use super::{Audience, RequestedModel, RetryPolicy, Setup, StopHooks, Turn, TurnKind};
use crate::agent::calls::Rules;
use crate::agent::caps::{CapAnswer, Caps, Estimate, Figures};
use crate::agent::context::CompactionPlan;
use crate::agent::effect::{Effect, EstimateScope, Fit, Input, ModelRole};
use crate::agent::port::Event;
use crate::approval::rules::{Rule, RuleEffect, RuleSet, RuleSource};
use crate::approval::{
    Approval, AutoApprove, Decider, Grants, Policy, Provenance, RequestId, Verdict, Workspace,
};
use crate::config::{Cap, Mode};
use crate::history::{
    History, Limit, Limits, Record, SessionId, TurnEnd, UsageTotals, patch_dangling_tool_calls,
};
use crate::hook::HookVerdict;
use crate::message::{
    CallId, ReturnStatus, StopKind, StopReason, ToolCall, ToolName, ToolReturn, Usage, Usd, UserPart,
};
use crate::provider::{ErrorClass, Fallback, Price, ProviderError, RequestKind, StartKind, StreamEvent};
use crate::sandbox::Isolation;
use crate::tool::{Access, CallPlan, Category, Resource, Risk, SideEffect, ToolError, ToolSpec, Version};

/// Walks in one run of the test. A release build does more than this in a second.
const WALKS: u64 = 20_000;
/// A longer walk does not terminate.
const LONGEST: usize = 2_000;

/// One kind of event that can happen.
type Choice = fn(&mut Walk) -> Input;

/// The simulated state outside of the machine, and what the referee has observed.
struct Walk {
    dice: Dice,
    history: History,
    turn: Turn,
    /// Events that the running request will still send.
    stream: Option<Vec<Result<StreamEvent, ProviderError>>>,
    plans: Vec<(ToolCall, u32)>,
    hooks: Vec<(ToolCall, u32)>,
    running: Vec<ToolCall>,
    waiting: BTreeMap<RequestId, CallId>,
    /// Requests of calls whose turn goes on without them.
    inbox: BTreeMap<RequestId, CallId>,
    policy: Policy,
    now: jiff::Timestamp,
    waits: bool,
    compacts: bool,
    /// The running request is for a summary.
    summarizes: bool,
    /// The model that this turn's last request went to; `None` before the first.
    asked: Option<ModelRole>,
    fell_back: bool,
    takes_late: bool,
    weighs: Option<EstimateScope>,
    /// The cap that the user is asked about.
    capped: Option<Cap>,
    /// Hooks check the final reply; how often they did in this turn is in `stopped`.
    stops: bool,
    stopped: u32,
    ends: usize,
    said: BTreeSet<CallId>,
    approved: BTreeSet<CallId>,
    /// Calls that the policy allowed, by audit record or by answering their requests.
    allowed: BTreeSet<CallId>,
    /// Calls whose late outcome was reported to the model.
    reported: BTreeSet<CallId>,
    started: BTreeSet<CallId>,
    recorded_start: BTreeSet<CallId>,
    finished: BTreeMap<CallId, usize>,
    /// Written only when a failed walk is repeated.
    trace: Option<Vec<String>>,
}

fn specs() -> BTreeMap<ToolName, ToolSpec> {
    let spec = |name, side_effect, risk| ToolSpec {
        parameters: json!({"type": "object"}),
        risk,
        ..ToolSpec::sample(name, Category::Files, side_effect)
    };
    [
        spec("look", SideEffect::None { cache_for: None }, Risk::Low),
        spec("write", SideEffect::Local, Risk::Medium),
        spec("danger", SideEffect::External, Risk::High),
    ]
    .into_iter()
    .map(|spec| (spec.name.clone(), spec))
    .collect()
}

fn any_policy(dice: &mut Dice) -> Policy {
    let mode = *dice.pick(&[Mode::Ask, Mode::Ask, Mode::Auto, Mode::Plan, Mode::DryRun, Mode::DeferAll]);
    let auto_approve = if dice.one_in(4) { AutoApprove::Yolo } else { AutoApprove::Asking };
    let effects = [RuleEffect::Allow, RuleEffect::Ask, RuleEffect::Deny];
    let rule = dice.one_in(4).then(|| {
        let tool = *dice.pick(&["look", "write", "danger"]);
        let text = format!("[[rule]]\ntool = \"{tool}\"\neffect = \"{}\"", dice.pick(&effects).word());
        let rules = RuleSet::parse(&text, &RuleSource::Session, None).unwrap();
        Rule { id: "r".to_owned(), ..rules[0].clone() }
    });
    let rules = RuleSet { rules: rule.into_iter().collect(), ..RuleSet::default() };
    Policy { mode, auto_approve, rules: Arc::new(rules) }
}

fn setup(dice: &mut Dice, policy: Policy, grants: Grants) -> Setup {
    let hooked = if dice.one_in(4) { BTreeSet::from([ToolName::new("write")]) } else { BTreeSet::new() };
    Setup {
        session: SessionId("s".to_owned()),
        rules: Rules {
            policy,
            grants,
            specs: Arc::new(specs()),
            hooked,
            isolation: Isolation::NONE,
            place: Workspace { folder: "/w".into(), ..Workspace::default() },
            provenance: Provenance::default(),
            now: jiff::Timestamp::UNIX_EPOCH,
            expiry: dice.one_in(2).then(|| Duration::from_secs(5)),
            tool_retries: 2,
        },
        limits: Limits { requests: Some(6), tokens: None },
        caps: if dice.one_in(2) {
            Caps::new([(Cap::SessionTokens, 100), (Cap::DayUsd, 100)])
        } else {
            Caps::default()
        },
        retries: 2,
        overload_wait: Duration::ZERO,
        audience: if dice.one_in(4) { Audience::Absent } else { Audience::Present },
        patience: if dice.one_in(4) { RetryPolicy::Short } else { RetryPolicy::Usual },
        stop_hooks: if dice.one_in(3) { StopHooks::Present } else { StopHooks::Absent },
        seed: 7,
        trace: None,
    }
}

fn script(dice: &mut Dice) -> Vec<Result<StreamEvent, ProviderError>> {
    let mut events = vec![Ok(StreamEvent::Started { model: "m".to_owned() })];
    let mut calls = 0;
    for index in 0..dice.roll(5) {
        let (kind, text) = if dice.one_in(3) {
            (StartKind::Text, "words".to_owned())
        } else {
            calls += 1;
            let name = *dice.pick(&["look", "look", "write", "write", "danger", "fly"]);
            let path = *dice.pick(&["a", "b", "a/b", "c"]);
            let mut args = json!({"path": path, "label": format!("l{index}")});
            if dice.one_in(3) {
                args["after"] = json!([format!("l{}", dice.roll(5))]);
            }
            let text = if dice.one_in(12) { "{\"cut".to_owned() } else { args.to_string() };
            (StartKind::ToolCall { wire_id: format!("w{}", dice.roll(3)), name: name.to_owned() }, text)
        };
        events.push(Ok(StreamEvent::PartStarted { index, kind }));
        events.push(Ok(StreamEvent::PartDelta { index, delta: text }));
        events.push(Ok(StreamEvent::PartEnded { index, opaque: None }));
        if dice.one_in(12) {
            events.push(Err(failure(dice)));
            return events;
        }
    }
    let natural = if calls > 0 { StopKind::ToolUse } else { StopKind::EndTurn };
    let kind = *dice.pick(&[
        natural,
        natural,
        natural,
        natural,
        StopKind::MaxTokens,
        StopKind::Refusal,
        StopKind::PauseTurn,
        StopKind::Other,
    ]);
    let mut stop = StopReason::new(kind);
    if dice.one_in(4) {
        stop.raw = Some("model_context_window_exceeded".to_owned());
    }
    events.push(Ok(StreamEvent::Finished { stop, usage: Usage::default() }));
    events
}

fn failure(dice: &mut Dice) -> ProviderError {
    let class = *dice.pick(&[
        ErrorClass::BadRequest,
        ErrorClass::Overloaded,
        ErrorClass::Truncated,
        ErrorClass::ContextOverflow,
        ErrorClass::Auth,
        ErrorClass::RateLimited,
        ErrorClass::Quota,
        ErrorClass::BadReply,
    ]);
    ProviderError::new(class, "no")
}

fn plan(call: &ToolCall, dice: &mut Dice) -> Result<CallPlan, ToolError> {
    if dice.one_in(10) {
        return Err(ToolError::Misuse("no".to_owned()));
    }
    let place = std::path::PathBuf::from("/w").join(call.args["path"].as_str().unwrap_or("x"));
    let access = match call.name.as_str() {
        "look" => Access::Paths { reads: vec![place.clone()], writes: Vec::new() },
        "write" => Access::Paths { reads: Vec::new(), writes: vec![place.clone()] },
        _ => Access::Anything,
    };
    let version = Version(format!("v{}", dice.roll(20) / 19));
    let risk = if dice.one_in(10) { Risk::High } else { Risk::Low };
    let basis = vec![(Resource(place.display().to_string()), version)];
    Ok(CallPlan { basis, ..CallPlan::new(String::new(), risk, access) })
}

impl Walk {
    fn new(seed: u64, trace: Option<Vec<String>>) -> Self {
        let mut dice = Dice(seed);
        let mut history = History::default();
        history.apply(&Record::Opened { workspace: "/w".into() });
        let prompt = vec![UserPart::Text { text: "go".to_owned() }];
        let policy = if dice.one_in(2) { Policy::default() } else { any_policy(&mut dice) };
        let setup = setup(&mut dice, policy.clone(), Grants::default());
        let (turn, effects) = Turn::start(setup, &history, prompt);
        let mut walk = Self {
            dice,
            history,
            turn,
            stream: None,
            plans: Vec::new(),
            hooks: Vec::new(),
            running: Vec::new(),
            waiting: BTreeMap::new(),
            inbox: BTreeMap::new(),
            policy,
            now: jiff::Timestamp::UNIX_EPOCH,
            waits: false,
            compacts: false,
            summarizes: false,
            asked: None,
            fell_back: false,
            takes_late: false,
            weighs: None,
            capped: None,
            stops: false,
            stopped: 0,
            ends: 0,
            said: BTreeSet::new(),
            approved: BTreeSet::new(),
            allowed: BTreeSet::new(),
            reported: BTreeSet::new(),
            started: BTreeSet::new(),
            recorded_start: BTreeSet::new(),
            finished: BTreeMap::new(),
            trace,
        };
        walk.watch(effects);
        walk
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// The referee: checks each effect in order, then applies it to the world.
    fn watch(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            self.note(|| format!("  {effect:?}"));
            assert_eq!(self.ends, 0, "an effect after the end");
            match effect {
                Effect::Commit(records, _) => records.iter().for_each(|record| self.commit(record)),
                Effect::CallModel { who, .. } => {
                    self.ask(who);
                    assert_eq!(self.turn.kind(), TurnKind::Prompt, "a request between turns");
                    assert!(self.running.is_empty(), "a request while a call runs");
                    assert!(self.stream.is_none(), "two requests at once");
                    assert!(!self.stops, "a request while hooks look at the last word");
                    assert!(self.weighs.is_none() && self.capped.is_none(), "a request that was not let go");
                    assert!(self.history.open_calls().is_empty(), "a request with an unanswered call");
                    self.assert_whole();
                    (self.stream, self.summarizes) = (Some(script(&mut self.dice)), false);
                }
                Effect::CancelModel => self.stream = None,
                Effect::Plan { call, round } => self.plans.push((call, round)),
                Effect::Hook { call, round } => self.hooks.push((call, round)),
                Effect::StartTool { call, .. } => self.start(call),
                Effect::CancelTools => {
                    self.plans.clear();
                    self.hooks.clear();
                }
                Effect::Wait(_) => self.waits = true,
                Effect::PlanCompaction { .. } => self.compacts = true,
                Effect::Summarize { who, .. } => {
                    if who == ModelRole::Summarizer {
                        self.turn.asks(RequestedModel {
                            who,
                            model: "short".to_owned(),
                            ..RequestedModel::default()
                        });
                    } else {
                        self.ask(who);
                    }
                    assert!(self.running.is_empty(), "a summary while a call runs");
                    assert!(self.stream.is_none(), "two requests at once");
                    assert!(self.weighs.is_none() && self.capped.is_none(), "a summary that was not let go");
                    (self.stream, self.summarizes) = (Some(script(&mut self.dice)), true);
                }
                Effect::Show(Event::FellBack { class, .. }) => {
                    assert_eq!(self.asked, Some(ModelRole::Primary), "no model is behind the fallback");
                    let error = ProviderError::new(class, "");
                    assert_ne!(error.fallback(), Fallback::Never, "{class:?} is no reason to fall back");
                    self.fell_back = true;
                }
                Effect::HookStop => {
                    self.stopped += 1;
                    assert_eq!(self.stopped, 1, "hooks look at the last word twice in a turn");
                    self.stops = true;
                }
                Effect::TakeLate => self.takes_late = true,
                Effect::Weigh { what, .. } => self.weighs = Some(what),
                Effect::KeepCaps(_) => {}
                Effect::Show(Event::CapReached { question }) => {
                    assert_eq!(self.capped.replace(question.cap), None, "two questions at once");
                }
                Effect::Show(Event::CapAnswered { question, .. }) => {
                    assert_eq!(self.capped.take(), Some(question.cap), "an answer to another question");
                }
                Effect::Show(_) => {}
                Effect::End(end) => self.end(&end),
            }
        }
    }

    /// The first model is asked until it is given up, and then not again in this turn.
    fn ask(&mut self, who: ModelRole) {
        let expected = if self.fell_back { ModelRole::Fallback } else { ModelRole::Primary };
        assert_eq!(who, expected, "the wrong model is asked");
        let model = if who == ModelRole::Primary { "first" } else { "spare" };
        self.asked = Some(who);
        self.turn.asks(RequestedModel {
            who,
            provider: "p".to_owned(),
            model: model.to_owned(),
            price: None,
            fallback: (who == ModelRole::Primary && self.dice.one_in(2)).then(|| "p/spare".to_owned()),
        });
    }

    fn commit(&mut self, record: &Record) {
        if let Record::Said { .. } | Record::TurnEnded { .. } = record {
            assert_eq!(self.turn.kind(), TurnKind::Prompt, "a record of a turn between turns");
        }
        match record {
            Record::Said { .. } => {
                if let Some(reply) = record.reply() {
                    assert!(!self.summarizes, "a summary becomes a reply");
                    self.said.extend(reply.calls().map(|call| call.id.clone()));
                }
            }
            Record::Asked { call, request } => {
                assert!(self.said.contains(&call.id), "asked before its reply is committed");
                assert!(request.depends.iter().all(|dep| self.said.contains(dep)), "it depends on nothing");
                self.approved.remove(&call.id);
                self.allowed.remove(&call.id);
                self.waiting.retain(|_, waiting| *waiting != call.id);
                let place = if self.is_late(&call.id) { &mut self.inbox } else { &mut self.waiting };
                place.insert(request.id.clone(), call.id.clone());
            }
            Record::Decided { request, approval, .. } => {
                assert_eq!(*approval, Approval::Later, "the machine decides nothing else");
                assert!(self.waiting.contains_key(request), "postponed before it is asked");
            }
            Record::Judged { call, judgement } => {
                assert!(self.said.contains(call), "judged before its reply is committed");
                if judgement.verdict == Verdict::Allow {
                    // The call changed after its approval, and the policy allows the new version.
                    self.approved.remove(call);
                    self.allowed.insert(call.clone());
                }
            }
            Record::ToolStarted { call } => {
                assert!(self.recorded_start.insert(call.clone()), "recorded as started twice");
            }
            Record::ToolFinished { returned } => {
                assert!(self.said.contains(&returned.call), "a return before its reply is committed");
                if self.is_late(&returned.call) {
                    assert!(self.reported.insert(returned.call.clone()), "its outcome is reported twice");
                } else {
                    *self.finished.entry(returned.call.clone()).or_insert(0) += 1;
                    assert_eq!(self.finished[&returned.call], 1, "two returns for one call");
                }
                let (of_call, others) = std::mem::take(&mut self.waiting)
                    .into_iter()
                    .partition(|(_, call)| *call == returned.call);
                self.waiting = others;
                if returned.status == ReturnStatus::Undecided {
                    self.inbox.extend(of_call);
                }
            }
            Record::RequestEnded { purpose, .. } => {
                assert_eq!(*purpose == RequestKind::Summary, self.summarizes, "counted as another request");
            }
            _ => {}
        }
        self.history.apply(record);
    }

    /// Whether its turn went on without it, and it has not been settled since.
    fn is_late(&self, call: &CallId) -> bool {
        self.history.late_calls().iter().any(|one| one.call.id == *call)
    }

    fn start(&mut self, call: ToolCall) {
        if call.name.as_str() != "look" {
            assert!(self.said.contains(&call.id), "a side effect before its reply is committed");
            let (approved, allowed) = (self.approved.contains(&call.id), self.allowed.contains(&call.id));
            assert!(approved || allowed, "a call starts that was not allowed");
            match self.policy.mode {
                Mode::Plan => panic!("something runs in plan mode"),
                Mode::DryRun | Mode::DeferAll => assert!(approved, "it runs, and no person said yes"),
                Mode::Ask | Mode::Auto => {}
            }
            assert!(self.recorded_start.contains(&call.id), "a side effect without its record");
            assert!(self.started.insert(call.id.clone()), "a side effect runs twice");
        }
        let answered = self.finished.contains_key(&call.id) && !self.is_late(&call.id);
        assert!(!answered, "it runs, and it has its return");
        let approved = self.approved.contains(&call.id);
        assert!(approved || self.policy.mode != Mode::DeferAll, "it runs in defer-all mode");
        assert!(self.running.iter().all(|other| other.id != call.id), "it runs already");
        self.running.push(call);
    }

    fn end(&mut self, end: &TurnEnd) {
        self.ends += 1;
        if let TurnEnd::Failed { error } = end {
            assert_eq!(error.message.contains("before it p/first"), self.fell_back, "{error}");
        }
        if let Some(cap) = self.capped.take() {
            let reached = TurnEnd::LimitReached { limit: Limit::Cap(cap) };
            assert_eq!(*end, reached, "at a cap a turn ends there");
        }
        // The turn may end while a lookup is pending.
        (self.takes_late, self.weighs, self.stops) = (false, None, false);
        assert!(self.running.is_empty(), "the turn ends while a call runs");
        if *end == TurnEnd::Deferred {
            assert!(!self.waiting.is_empty(), "deferred, and nothing waits");
        } else {
            assert!(self.history.open_calls().is_empty(), "a call is left without its return");
            self.assert_whole();
        }
    }

    /// Every call has its return, in order: repair changes nothing.
    fn assert_whole(&self) {
        let messages: Vec<_> =
            self.history.entries().iter().map(|(_, message)| Arc::clone(message)).collect();
        assert_eq!(patch_dangling_tool_calls(&messages), messages, "the conversation needs repair");
    }

    /// Returns the next event, chosen at random among all that are possible. `None` when none is.
    fn input(&mut self) -> Option<Input> {
        if self.dice.one_in(40) {
            return Some(self.person_speaks());
        }
        if self.dice.one_in(30) {
            self.change_policy();
            if self.ends == 1 {
                return Some(Input::Checkpoint);
            }
        }
        self.now += Duration::from_millis(self.dice.roll(400) as u64);
        self.turn.tell_time(self.now);
        let mut can = Vec::new();
        let choices: [(bool, Choice); 12] = [
            (self.takes_late, Self::late),
            (self.stream.is_some(), Self::stream_event),
            (!self.plans.is_empty(), Self::planned),
            (!self.hooks.is_empty(), Self::hooked),
            (!self.running.is_empty(), Self::tool_done),
            (!self.waiting.is_empty(), Self::decided),
            (self.expiring().is_some(), Self::expired),
            (self.waits, Self::waited),
            (self.compacts, Self::compaction_planned),
            (self.weighs.is_some(), Self::weighed),
            (self.capped.is_some(), Self::cap_answered),
            (self.stops, Self::stop_hooked),
        ];
        for (possible, choice) in choices {
            if possible {
                can.push(choice);
            }
        }
        if can.is_empty() {
            return None;
        }
        let choice = *self.dice.pick(&can);
        Some(choice(self))
    }

    fn stream_event(&mut self) -> Input {
        let stream = self.stream.as_mut().expect("a request runs");
        let event = if stream.is_empty() { Err(failure(&mut self.dice)) } else { stream.remove(0) };
        if matches!(event, Err(_) | Ok(StreamEvent::Finished { .. })) {
            self.stream = None;
        }
        Input::Stream(event)
    }

    fn planned(&mut self) -> Input {
        let at = self.dice.roll(self.plans.len());
        let (call, round) = self.plans.remove(at);
        let result = plan(&call, &mut self.dice);
        Input::Planned { call: call.id, round, result }
    }

    fn hooked(&mut self) -> Input {
        let at = self.dice.roll(self.hooks.len());
        let (call, round) = self.hooks.remove(at);
        let verdict = match self.dice.roll(6) {
            4 => HookVerdict::Defer { reason: "not now".to_owned() },
            5 => HookVerdict::Allow { reason: "fine".to_owned() },
            0 => HookVerdict::Deny { reason: "no".to_owned() },
            1 => HookVerdict::Ask { reason: "look".to_owned() },
            2 => HookVerdict::Rewrite { args: json!({"path": "c"}) },
            _ => HookVerdict::Pass,
        };
        Input::Hooked { call: call.id, round, verdict }
    }

    fn stop_hooked(&mut self) -> Input {
        self.stops = false;
        let deny = HookVerdict::Deny { reason: "go on".to_owned() };
        Input::StopHooked { verdict: self.dice.pick(&[deny, HookVerdict::Pass]).clone() }
    }

    fn tool_done(&mut self) -> Input {
        let at = self.dice.roll(self.running.len());
        let call = self.running.remove(at);
        let status = *self.dice.pick(&[ReturnStatus::Ok, ReturnStatus::Ok, ReturnStatus::Failed]);
        let seen = vec![(Resource("/w/a".to_owned()), Version("v0".to_owned()))];
        Input::ToolDone { returned: ToolReturn::program(call.id, status, "done"), seen, state: None }
    }

    fn decided(&mut self) -> Input {
        let at = self.dice.roll(self.waiting.len());
        let (request, call) =
            self.waiting.iter().nth(at).map(|(a, b)| (a.clone(), b.clone())).expect("in bounds");
        let approval = match self.dice.roll(8) {
            0 => Approval::Deny { reason: None },
            1 => Approval::Later,
            2 => Approval::to(ToolName::new("write"), json!({"path": "b"})),
            _ => Approval::yes(),
        };
        match approval {
            Approval::Approve { .. } => {
                self.approved.insert(call.clone());
                self.waiting.remove(&request);
            }
            Approval::Deny { .. } => {
                self.waiting.remove(&request);
            }
            Approval::Later => {}
        }
        let by = Decider::Script;
        let record =
            Record::Decided { request: request.clone(), call, approval: approval.clone(), by: by.clone() };
        self.history.apply(&record);
        Input::Decided { request, approval, by }
    }

    /// Returns a request of the turn that has expired.
    fn expiring(&self) -> Option<(RequestId, CallId)> {
        let waiting = self.turn.waiting_requests();
        let over = waiting.iter().find(|one| one.expires.is_some_and(|expires| expires <= self.now))?;
        Some((over.id.clone(), over.call.clone()))
    }

    fn expired(&mut self) -> Input {
        let (request, call) = self.expiring().expect("one is over");
        self.waiting.remove(&request);
        self.history.apply(&Record::Expired { request: request.clone(), call });
        Input::Expired { request }
    }

    /// Changes the policy, and answers the waiting requests that the new one covers.
    fn change_policy(&mut self) {
        self.policy = any_policy(&mut self.dice);
        let policy = self.policy.clone();
        self.note(|| format!("{policy:?}"));
        let effects = self.turn.handle(Input::Policy(policy));
        self.watch(effects);
        for (request, approval, by) in self.turn.policy_decisions() {
            let Some(call) = self.waiting.remove(&request) else { panic!("it answers what does not wait") };
            if let Approval::Approve { .. } = approval {
                self.allowed.insert(call.clone());
            }
            let (approval, by, request) = (approval.clone(), by.clone(), request.clone());
            self.history.apply(&Record::Decided {
                request: request.clone(),
                call,
                approval: approval.clone(),
                by: by.clone(),
            });
            self.note(|| format!("covered {request:?} {approval:?}"));
            let effects = self.turn.handle(Input::Decided { request, approval, by });
            self.watch(effects);
        }
    }

    /// Decides some of the late calls at random; those that can be settled go to the machine.
    fn late(&mut self) -> Input {
        self.takes_late = false;
        for (request, call) in std::mem::take(&mut self.inbox) {
            if self.dice.one_in(2) {
                self.inbox.insert(request, call);
                continue;
            }
            let approval =
                if self.dice.one_in(3) { Approval::Deny { reason: None } } else { Approval::yes() };
            if let Approval::Approve { .. } = approval {
                self.approved.insert(call.clone());
            }
            self.history.apply(&Record::Decided { request, call, approval, by: Decider::Script });
        }
        let calls = self.history.settleable_late_calls();
        self.inbox.retain(|_, waiting| calls.iter().all(|(one, _)| one.call.id != *waiting));
        Input::Late { calls }
    }

    fn waited(&mut self) -> Input {
        self.waits = false;
        Input::BackoffElapsed
    }

    fn compaction_planned(&mut self) -> Input {
        self.compacts = false;
        let mut plan = CompactionPlan::of(&self.history, None, None).map(Box::new);
        if let (Some(plan), true) = (&mut plan, self.dice.one_in(2)) {
            // Long enough for a summary to be shorter.
            plan.tokens = 100_000;
        }
        Input::CompactionPlanned { plan, summarizer: self.dice.one_in(4), prevented: None }
    }

    fn weighed(&mut self) -> Input {
        let what = self.weighs.take();
        let fit = if self.dice.one_in(6) { Fit::TooLong } else { Fit::Fits };
        let mut used = |most| UsageTotals {
            tokens: self.dice.roll(most) as u64,
            usd: Usd(self.dice.roll(most) as u64),
            ..UsageTotals::default()
        };
        let (session, day) = (used(120), used(120));
        let usd = (!self.dice.one_in(4)).then_some(Usd(10));
        let next = Estimate { tokens: 10, usd };
        let figures = Figures { session, day, next, model: "m".to_owned() };
        Input::Weighed { fit, figures: (what == Some(EstimateScope::SizeAndUsage)).then_some(figures) }
    }

    fn cap_answered(&mut self) -> Input {
        let answer = *self.dice.pick(&[CapAnswer::GoOn, CapAnswer::Raise, CapAnswer::Raise, CapAnswer::Stop]);
        // Sometimes it is the answer to an earlier question.
        let cap = if self.dice.one_in(8) { Cap::TurnUsd } else { self.capped.expect("a cap is asked about") };
        Input::CapAnswered { cap, answer }
    }

    fn person_speaks(&mut self) -> Input {
        match self.dice.roll(6) {
            0 => Input::Interrupt,
            1 => Input::Close,
            2 => Input::Defer,
            3 => Input::Steer { parts: vec![UserPart::Text { text: "and".to_owned() }] },
            4 => Input::TakeBack { parts: vec![UserPart::Text { text: "and".to_owned() }] },
            _ => Input::Checkpoint,
        }
    }

    /// Simulates a crash: only records remain, and running calls are lost.
    fn crash_and_resume(&mut self) {
        self.note(|| "resume".to_owned());
        self.stream = None;
        self.plans.clear();
        self.hooks.clear();
        self.running.clear();
        self.waits = false;
        self.compacts = false;
        (self.takes_late, self.weighs) = (false, None);
        (self.stops, self.stopped) = (false, 0);
        self.capped = None;
        self.ends = 0;
        (self.asked, self.fell_back) = (None, false);
        let mut setup = setup(&mut self.dice, self.policy.clone(), self.history.grants().clone());
        setup.rules.now = self.now;
        if self.history.running_turn().is_none() {
            return self.between_turns();
        }
        let (turn, effects) = Turn::resume(setup, &self.history);
        self.turn = turn;
        self.watch(effects);
    }

    /// Settles late calls while no turn runs.
    fn between_turns(&mut self) {
        self.ends = 0;
        let mut setup = setup(&mut self.dice, self.policy.clone(), self.history.grants().clone());
        setup.rules.now = self.now;
        let compacts = self.history.running_turn().is_none() && self.dice.one_in(4);
        let (turn, effects) = match compacts {
            true => Turn::compaction(setup, &self.history),
            false => Turn::late_calls(setup, &self.history),
        };
        self.turn = turn;
        self.watch(effects);
    }

    fn go(&mut self) {
        for _ in 0..LONGEST {
            if self.ends == 1 {
                assert!(self.turn.handle(Input::Interrupt).is_empty(), "something after the end");
                let rests = matches!(
                    self.history.last_end(),
                    Some(TurnEnd::Deferred | TurnEnd::LimitReached { limit: Limit::Cap(_) })
                );
                if !rests && !self.inbox.is_empty() && self.dice.one_in(2) {
                    self.between_turns();
                    continue;
                }
                if !rests || self.dice.one_in(3) {
                    return;
                }
                while !self.waiting.is_empty() && !self.dice.one_in(4) {
                    let _consumed = self.decided();
                }
                self.crash_and_resume();
                continue;
            }
            if self.dice.one_in(60) {
                self.crash_and_resume();
                continue;
            }
            let Some(input) = self.input() else { panic!("nothing can happen, and the turn has not ended") };
            self.note(|| format!("{input:?}"));
            let effects = self.turn.handle(input);
            self.watch(effects);
        }
        panic!("the walk does not end");
    }
}

#[test]
fn random_walks_break_no_rule() {
    for seed in 0..WALKS {
        let walked = std::panic::catch_unwind(|| Walk::new(seed, None).go());
        if walked.is_err() {
            let mut again = Walk::new(seed, Some(Vec::new()));
            let _same = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| again.go()));
            panic!("walk {seed}:\n{}", again.trace.unwrap_or_default().join("\n"));
        }
    }
}
