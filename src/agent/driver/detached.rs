//! Late approvals: calls whose turn went on without them.
//!
//! Approved later, such a call runs once: at once between turns, within a turn just before the next
//! request. It asks no model; its outcome is a note for the next user message.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::looking::Looking;
use super::tools::{Happened, Running};
use super::{AgentEnv, calls};
use crate::agent::port::{Event, Frontend, Op, Settled};
use crate::agent::turn::Input;
use crate::approval::{
    Approval, CallFacts, Circling, Decision, Judgement, Provenance, Request, Taint, Verdict,
};
use crate::history::{Detached, Durability, Fate, History, Known, Record, SEEN};
use crate::hook::HookVerdict;
use crate::message::{CallId, Message, NoteKind, ReturnPart, ReturnStatus, ToolCall, ToolReturn, UserPart};
use crate::session::Session;
use crate::store::StoreError;
use crate::tool::{CallPlan, Seen, Tool, ToolError, ToolSpec};

const RISEN: &str = "its risk is higher than when you were asked";
const UNCOVERED: &str = "nothing says yes to it any more";

/// Consumes decisions and settles every detached call that has one, in call order: runs it once what it runs after
/// has run, denies it, or asks again. Gives what the person said meanwhile, for the caller to act upon: nothing of it
/// is lost. Errs where the store cannot be written.
pub async fn run_detached(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<VecDeque<Op>, StoreError> {
    session.store().expire_due().await?;
    session.consume_decisions().await?;
    let mut heard = VecDeque::new();
    run_ready(session, env, frontend, &cancel, &mut heard).await?;
    Ok(heard)
}

/// Whether something can be done with a detached call now: it is decided, and what it runs after has ended.
pub fn can_settle_late(session: &Session) -> bool {
    next_step(session.history(), &BTreeSet::new()).is_some()
}

/// As [`run_detached`], with the decisions already taken. What the person says meanwhile goes to `heard`.
pub(super) async fn run_ready(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: &CancellationToken,
    heard: &mut VecDeque<Op>,
) -> Result<(), StoreError> {
    // Each at most once: what one call does may let another run, or take its ground away.
    let mut tried = BTreeSet::new();
    while !cancel.is_cancelled() && !heard.iter().any(stops) {
        let Some((one, step)) = next_step(session.history(), &tried) else { break };
        tried.insert(one.call.id.clone());
        match step {
            Step::End(status, text) => {
                let returned = ToolReturn::program(one.call.id.clone(), status, text);
                finish(session, frontend, &one.call, Vec::new(), returned).await?;
                if let Some(settled) = settled_by_itself(&one.known) {
                    let request = one.request.id.clone();
                    let _closed = frontend.show(Event::ApprovalSettled { request, settled }).await;
                }
            }
            Step::Run(approval) => {
                approved(session, env, Face { frontend, cancel, heard }, &one, &approval).await?;
            }
        }
    }
    Ok(())
}

/// Whether the person wants no more of what goes on.
fn stops(op: &Op) -> bool {
    *op == Op::Interrupt || *op == Op::Close
}

/// How a request came to its end that nobody decided.
fn settled_by_itself(known: &Known) -> Option<Settled> {
    match known {
        Known::Waiting => Some(Settled::Withdrawn),
        Known::Expired => Some(Settled::Expired),
        Known::Returned | Known::Decided(_) | Known::NotStarted | Known::MayHaveRun => None,
    }
}

/// What is to be done with a detached call.
enum Step {
    End(ReturnStatus, String),
    Run(Approval),
}

/// The first call that something can be done with.
fn next_step(history: &History, tried: &BTreeSet<CallId>) -> Option<(Detached, Step)> {
    let mut untried = history.detached().iter().filter(|one| !tried.contains(&one.call.id));
    untried.find_map(|one| Some((one.clone(), step(history, one)?)))
}

fn step(history: &History, one: &Detached) -> Option<Step> {
    let fate = history.fate_of(&one.request.depends);
    match (&one.known, fate) {
        (Known::MayHaveRun, _) => Some(Step::End(ReturnStatus::Unknown, calls::OUTCOME_UNKNOWN.to_owned())),
        (Known::Expired, _) => Some(Step::End(ReturnStatus::Undecided, calls::EXPIRED.to_owned())),
        (Known::Decided(Approval::Deny { reason }), _) => {
            let text = calls::denial(reason.as_deref(), one.by.as_ref());
            Some(Step::End(ReturnStatus::Denied, text))
        }
        (Known::Waiting | Known::Decided(_), Fate::Badly) => {
            Some(Step::End(ReturnStatus::Failed, calls::DEPENDENCY.to_owned()))
        }
        (Known::Decided(approval @ Approval::Approve { .. }), Fate::Well) => {
            Some(Step::Run(approval.clone()))
        }
        (Known::Decided(Approval::Approve { .. }), Fate::Open)
        | (Known::Decided(Approval::Later) | Known::Waiting, Fate::Open | Fate::Well)
        | (Known::NotStarted | Known::Returned, _) => None,
    }
}

/// Tells the model what came of late approvals, where a turn is about to ask it.
pub(super) async fn say_outcomes(session: &mut Session, frontend: &dyn Frontend) -> Result<(), StoreError> {
    let parts: Vec<UserPart> = session
        .history()
        .notes()
        .iter()
        .filter(|(kind, _)| matches!(kind, NoteKind::LateOutcome { .. }))
        .map(|(kind, text)| UserPart::Note { kind: kind.clone(), text: text.clone() })
        .collect();
    if parts.is_empty() {
        return Ok(());
    }
    let message = Message::User { parts: parts.clone() };
    session.commit(&[Record::Said { message }], Durability::Written).await?;
    // A front end that is gone is noticed by the turn itself.
    let _closed = frontend.show(Event::Prompted { parts }).await;
    Ok(())
}

/// Who watches a late call and can stop it.
struct Face<'a> {
    frontend: &'a dyn Frontend,
    cancel: &'a CancellationToken,
    heard: &'a mut VecDeque<Op>,
}

/// The person said yes: what they said it to is looked at again.
async fn approved(
    session: &mut Session,
    env: &AgentEnv,
    mut face: Face<'_>,
    one: &Detached,
    approval: &Approval,
) -> Result<(), StoreError> {
    let (name, args) = match approval {
        Approval::Approve { instead: Some((name, args)), .. } => (name, args),
        Approval::Approve { instead: None, .. } | Approval::Deny { .. } | Approval::Later => {
            (&one.request.tool, &one.request.args)
        }
    };
    let call = ToolCall { name: name.clone(), args: calls::without_links(args), ..one.call.clone() };
    let edited = call.args != one.request.args || call.name != one.request.tool;
    let Some(tool) = env.registry.get(&call.name).cloned() else {
        if edited {
            let error = ToolError::Misuse { hint: format!("there is no tool `{}`", call.name) };
            return take_back_edit(session, env, face.frontend, one, &error).await;
        }
        let text = format!("There is no tool `{}` any more.", call.name);
        return failed(session, face.frontend, &call, text).await;
    };
    let verdict = if edited { hooked(&call, env, session, &mut face).await } else { Some(HookVerdict::Pass) };
    // Stopped before it ran: the yes stands.
    let Some(verdict) = verdict else { return Ok(()) };
    let call = match &verdict {
        HookVerdict::Rewrite { args } => ToolCall { args: args.clone(), ..call },
        HookVerdict::Pass
        | HookVerdict::Allow { .. }
        | HookVerdict::Ask { .. }
        | HookVerdict::Defer { .. }
        | HookVerdict::Deny { .. }
        | HookVerdict::Note { .. } => call,
    };
    let Some(planned) = planned(&call, env, session, &mut face).await else { return Ok(()) };
    match planned {
        Ok(plan) => {
            let found = Found { one, approval, edited, hook: verdict, tool, call, plan };
            decide_and_run(session, env, face, found).await
        }
        Err(error) if edited => take_back_edit(session, env, face.frontend, one, &error).await,
        Err(error) => {
            failed(session, face.frontend, &call, format!("It does not work any more: {error}")).await
        }
    }
}

/// An approved call as it would run now.
struct Found<'a> {
    one: &'a Detached,
    approval: &'a Approval,
    edited: bool,
    hook: HookVerdict,
    tool: Arc<dyn Tool>,
    call: ToolCall,
    plan: CallPlan,
}

/// Hooks see a call once, and edited arguments once more. `None`: stopped meanwhile.
async fn hooked(
    call: &ToolCall,
    env: &AgentEnv,
    session: &Session,
    face: &mut Face<'_>,
) -> Option<HookVerdict> {
    let mut looking = Looking::default();
    looking.hook(call.clone(), 0, env, session);
    let Input::Hooked { verdict, .. } = face.answered(&mut looking).await? else { return None };
    Some(verdict)
}

async fn planned(
    call: &ToolCall,
    env: &AgentEnv,
    session: &Session,
    face: &mut Face<'_>,
) -> Option<Result<CallPlan, ToolError>> {
    let mut looking = Looking::default();
    looking.plan(call.clone(), 0, env, session);
    let Input::Planned { result, .. } = face.answered(&mut looking).await? else { return None };
    Some(result)
}

impl Face<'_> {
    /// What was found, unless the person stops it first: what only looks may be dropped.
    async fn answered(&mut self, looking: &mut Looking) -> Option<Input> {
        loop {
            tokio::select! {
                input = looking.answered() => return Some(input),
                op = self.frontend.next_op() => {
                    let stop = stops(&op);
                    self.heard.push_back(op);
                    if stop {
                        return None;
                    }
                }
                () = self.cancel.cancelled() => return None,
            }
        }
    }
}

/// Looks again at what the person said yes to: the same is run, anything else asks again.
async fn decide_and_run(
    session: &mut Session,
    env: &AgentEnv,
    face: Face<'_>,
    found: Found<'_>,
) -> Result<(), StoreError> {
    let now = env.clock.now();
    let (decision, taint) = decided(session.history(), env, &found);
    if decision.verdict == Verdict::Deny {
        let text = calls::denied_by_policy(&decision.because.join("; "));
        let returned = ToolReturn::program(found.call.id.clone(), ReturnStatus::Denied, text);
        let judged = judged(&found, decision, taint);
        return finish(session, face.frontend, &found.call, vec![judged], returned).await;
    }
    let asks = match decision.verdict {
        Verdict::Ask | Verdict::Later | Verdict::Preview => true,
        Verdict::Allow | Verdict::Deny => false,
    };
    let Found { one, edited, ref plan, .. } = found;
    let over = one.request.expires.is_some_and(|expires| expires <= now);
    let moved = !edited && plan.basis != one.request.plan.basis;
    let again = if matches!(found.hook, HookVerdict::Rewrite { .. }) {
        Some(calls::REWRITTEN)
    } else if over {
        Some(calls::TOO_LATE)
    } else if asks && one.by.as_ref().is_some_and(|by| !calls::is_person(by)) {
        Some(UNCOVERED)
    } else if asks && moved {
        Some(calls::MOVED)
    } else if asks && decision.risk > one.request.risk {
        Some(RISEN)
    } else {
        None
    };
    match again {
        Some(because) => {
            let expires = calls::expires(env.expiry, now);
            let asked = Again { because, expires, taint };
            ask_again(session, face.frontend, found, decision, asked).await
        }
        None => run(session, env, face, &found).await,
    }
}

/// What the policy says now. The words of what was asked were traced then: since then the model may have read them
/// back, and that proves nothing. Other arguments are traced anew.
fn decided(history: &History, env: &AgentEnv, found: &Found<'_>) -> (Decision, Vec<Taint>) {
    let (spec, plan) = (found.tool.spec(), &found.plan);
    let facts = CallFacts {
        spec,
        plan,
        args: &found.call.args,
        taint: &[],
        isolation: env.isolation,
        place: &env.place,
        hook: Some(&found.hook),
        circling: Circling::No,
    };
    let asked = &found.one.request;
    let taint = if (&found.call.name, &found.call.args) == (&asked.tool, &asked.args) {
        asked.taint.clone()
    } else if facts.only_looks() {
        Vec::new()
    } else {
        traced(history, env, &found.call, spec, plan)
    };
    let policy = env.policy.borrow();
    let policy = calls::policy_at(&policy, env.clock.now());
    let decision = policy.decide(history.grants(), &CallFacts { taint: &taint, ..facts });
    (decision, taint)
}

fn traced(
    history: &History,
    env: &AgentEnv,
    call: &ToolCall,
    spec: &ToolSpec,
    plan: &CallPlan,
) -> Vec<Taint> {
    let mut heard = Provenance::default();
    for (_, message) in history.entries() {
        heard.hear(Arc::clone(message));
    }
    heard.taints(&call.args, calls::reach(spec, plan, &env.place))
}

fn judged(found: &Found<'_>, decision: Decision, taint: Vec<Taint>) -> Record {
    let Decision { verdict, risk, because, by } = decision;
    let rewritten = matches!(found.hook, HookVerdict::Rewrite { .. });
    let judgement = Judgement {
        tool: found.call.name.clone(),
        args: found.call.args.clone(),
        before: rewritten.then(|| (found.one.call.name.clone(), calls::without_links(&found.one.call.args))),
        verdict,
        risk,
        because,
        by,
        taint,
    };
    Record::Judged { call: found.call.id.clone(), judgement }
}

/// Why a request is back, and what is new of it.
struct Again {
    because: &'static str,
    expires: Option<jiff::Timestamp>,
    taint: Vec<Taint>,
}

async fn ask_again(
    session: &mut Session,
    frontend: &dyn Frontend,
    found: Found<'_>,
    decision: Decision,
    again: Again,
) -> Result<(), StoreError> {
    let Found { one, call, plan, .. } = found;
    let request = Request {
        id: calls::request_id(&one.call.id.0, &one.request.id.0),
        tool: call.name,
        args: call.args,
        plan,
        risk: decision.risk,
        why: decision.because,
        after: Vec::new(),
        taint: again.taint,
        expires: again.expires,
        again: Some(again.because.to_owned()),
        ..one.request.clone()
    };
    put(session, frontend, one, request).await
}

/// An edit that does not plan: what was asked before is asked again with the error, and the model hears nothing.
async fn take_back_edit(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    one: &Detached,
    error: &ToolError,
) -> Result<(), StoreError> {
    let request = Request {
        id: calls::request_id(&one.call.id.0, &one.request.id.0),
        after: Vec::new(),
        expires: calls::expires(env.expiry, env.clock.now()),
        again: Some(calls::edit_failed(error)),
        ..one.request.clone()
    };
    put(session, frontend, one, request).await
}

/// Puts a request in the place of the one before.
async fn put(
    session: &mut Session,
    frontend: &dyn Frontend,
    one: &Detached,
    request: Request,
) -> Result<(), StoreError> {
    let record = Record::Asked { call: one.call.clone(), request: request.clone() };
    session.commit(&[record], Durability::Written).await?;
    let old = one.request.id.clone();
    let _closed = frontend.show(Event::ApprovalSettled { request: old, settled: Settled::Superseded }).await;
    let _closed = frontend.show(Event::ApprovalNeeded { request }).await;
    Ok(())
}

/// Runs it as a turn would: contained, with its live output, stopped within a second.
async fn run(
    session: &mut Session,
    env: &AgentEnv,
    face: Face<'_>,
    found: &Found<'_>,
) -> Result<(), StoreError> {
    let Face { frontend, cancel, heard } = face;
    let call = found.call.clone();
    let started = Record::ToolStarted { call: call.id.clone() };
    session.commit(&[started], Durability::Synced).await?;
    let _closed = frontend.show(Event::ToolRunning { call: call.clone() }).await;
    let mut running = Running::new();
    running.start(call.clone(), env, session);
    let mut stopped = false;
    let ended = loop {
        tokio::select! {
            happened = running.next() => match happened {
                Happened::Progress(progress) => {
                    let _closed = frontend.show(Event::ToolProgress { progress }).await;
                }
                Happened::Ended(ended) => break ended,
            },
            op = frontend.next_op() => {
                if stops(&op) && !std::mem::replace(&mut stopped, true) {
                    running.cancel();
                }
                heard.push_back(op);
            }
            () = cancel.cancelled(), if !stopped => {
                stopped = true;
                running.cancel();
            }
        }
    };
    let Input::ToolDone { mut returned, seen } = ended else { return Ok(()) };
    if let Some(changed_by) = changed_by(found) {
        returned.content.insert(0, ReturnPart::Text { text: calls::what_ran(changed_by, &call) });
    }
    if let Approval::Approve { note: Some(note), .. } = found.approval {
        returned.content.insert(0, ReturnPart::Text { text: calls::told(note) });
    }
    let seen: Seen = seen.into_iter().collect();
    let seen = (!seen.is_empty()).then(|| serde_json::to_value(seen).ok()).flatten();
    let seen = seen.map(|value| Record::State { tool: SEEN.to_owned(), value });
    finish(session, frontend, &call, seen.into_iter().collect(), returned).await
}

/// Whose words ran, where they are not the model's.
fn changed_by(found: &Found<'_>) -> Option<calls::ChangedBy> {
    let written = &found.one.call;
    if found.call.name == written.name && found.call.args == calls::without_links(&written.args) {
        return None;
    }
    Some(if found.edited { calls::ChangedBy::Person } else { calls::ChangedBy::Hook })
}

async fn failed(
    session: &mut Session,
    frontend: &dyn Frontend,
    call: &ToolCall,
    text: String,
) -> Result<(), StoreError> {
    let returned = ToolReturn::program(call.id.clone(), ReturnStatus::Failed, text);
    finish(session, frontend, call, Vec::new(), returned).await
}

/// Records its return behind what else is to be recorded.
async fn finish(
    session: &mut Session,
    frontend: &dyn Frontend,
    call: &ToolCall,
    mut records: Vec<Record>,
    returned: ToolReturn,
) -> Result<(), StoreError> {
    records.push(Record::ToolFinished { returned: returned.clone() });
    session.commit(&records, Durability::Written).await?;
    let _closed = frontend.show(Event::ToolReturn { call: call.clone(), returned }).await;
    Ok(())
}
