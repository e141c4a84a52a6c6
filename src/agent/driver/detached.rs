//! Late approvals: calls whose turn went on without them.
//!
//! Approved later, such a call runs once: at once between turns, within a turn just before the next
//! request. It asks no model; its outcome is a note for the next user message.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::looking::Looking;
use super::tools::{Happened, Running};
use super::{AgentEnv, calls};
use crate::agent::port::{Event, Frontend, Op};
use crate::agent::turn::Input;
use crate::approval::{Approval, CallFacts, Circling, Decision, Request, Verdict};
use crate::history::{Detached, Durability, Known, Record, SEEN};
use crate::hook::HookVerdict;
use crate::message::{Message, NoteKind, ReturnStatus, ToolCall, ToolReturn, UserPart};
use crate::session::Session;
use crate::store::StoreError;
use crate::tool::{CallPlan, Seen, Tool, ToolError};

/// Consumes decisions and settles every detached call that has one: runs it, denies it, or asks again.
/// Gives what the person said meanwhile, for the caller to act upon: nothing of it is lost. Errs where the
/// store cannot be written.
pub async fn run_detached(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<VecDeque<Op>, StoreError> {
    session.consume_decisions().await?;
    let mut heard = VecDeque::new();
    run_ready(session, env, frontend, &cancel, &mut heard).await?;
    Ok(heard)
}

/// As [`run_detached`], with the decisions already taken. What the person says meanwhile goes to `heard`.
pub(super) async fn run_ready(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: &CancellationToken,
    heard: &mut VecDeque<Op>,
) -> Result<(), StoreError> {
    for one in session.history().detached().to_vec() {
        if cancel.is_cancelled() {
            break;
        }
        match one.known.clone() {
            Known::Waiting | Known::Expired | Known::NotStarted | Known::Returned => {}
            Known::MayHaveRun => {
                let text = calls::OUTCOME_UNKNOWN;
                let returned = ToolReturn::program(one.call.id.clone(), ReturnStatus::Unknown, text);
                finish(session, frontend, &one.call, returned, Seen::new()).await?;
            }
            Known::Decided(approval) => {
                let face = Face { frontend, cancel, heard };
                settle(session, env, face, &one, &approval).await?;
            }
        }
    }
    Ok(())
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

async fn settle(
    session: &mut Session,
    env: &AgentEnv,
    face: Face<'_>,
    one: &Detached,
    approval: &Approval,
) -> Result<(), StoreError> {
    let (name, args) = match approval {
        Approval::Later => return Ok(()),
        Approval::Deny { reason } => {
            let text = reason.as_ref().map_or_else(
                || "The user said no, it did not run.".to_owned(),
                |reason| format!("The user said no, it did not run. Reason: {reason}"),
            );
            let returned = ToolReturn::program(one.call.id.clone(), ReturnStatus::Denied, text);
            return finish(session, face.frontend, &one.call, returned, Seen::new()).await;
        }
        Approval::Approve { instead: Some((name, args)), .. } => (name.clone(), args.clone()),
        Approval::Approve { instead: None, .. } => (one.request.tool.clone(), one.request.args.clone()),
    };
    let call = ToolCall { name, args, ..one.call.clone() };
    let Some(tool) = env.registry.get(&call.name).cloned() else {
        return failed(session, face.frontend, &call, format!("There is no tool `{}` any more.", call.name))
            .await;
    };
    let edited = call.args != one.request.args || call.name != one.request.tool;
    let verdict = if edited { hooked(&call, env, session).await } else { HookVerdict::Pass };
    let rewritten = match &verdict {
        HookVerdict::Rewrite { args } => Some(args.clone()),
        HookVerdict::Pass
        | HookVerdict::Allow { .. }
        | HookVerdict::Ask { .. }
        | HookVerdict::Defer { .. }
        | HookVerdict::Deny { .. }
        | HookVerdict::Note { .. } => None,
    };
    let call = ToolCall { args: rewritten.unwrap_or(call.args), ..call };
    match planned(&call, env, session).await {
        Ok(plan) => decide_and_run(session, env, face, (tool, call, plan), (one, &verdict)).await,
        Err(error) => {
            failed(session, face.frontend, &call, format!("It does not work any more: {error}")).await
        }
    }
}

/// Hooks see a call once, and edited arguments once more.
async fn hooked(call: &ToolCall, env: &AgentEnv, session: &Session) -> HookVerdict {
    let mut looking = Looking::default();
    looking.hook(call.clone(), 0, env, session);
    let Input::Hooked { verdict, .. } = looking.answered().await else { return HookVerdict::Pass };
    verdict
}

async fn planned(call: &ToolCall, env: &AgentEnv, session: &Session) -> Result<CallPlan, ToolError> {
    let mut looking = Looking::default();
    looking.plan(call.clone(), 0, env, session);
    let Input::Planned { result, .. } = looking.answered().await else {
        return Err(ToolError::Terminal { message: "it was not planned; this is a bug in co".to_owned() });
    };
    result
}

/// Looks again at what the person said yes to: the same is run, anything else asks again.
async fn decide_and_run(
    session: &mut Session,
    env: &AgentEnv,
    face: Face<'_>,
    (tool, call, plan): (Arc<dyn Tool>, ToolCall, CallPlan),
    (one, hook): (&Detached, &HookVerdict),
) -> Result<(), StoreError> {
    let decision = env.policy.borrow().decide(
        session.history().grants(),
        &CallFacts {
            spec: tool.spec(),
            plan: &plan,
            args: &call.args,
            taint: &[],
            isolation: env.isolation,
            place: &env.place,
            hook: Some(hook),
            circling: Circling::No,
        },
    );
    if decision.verdict == Verdict::Deny {
        let text = format!("Denied by policy, not run: {}.", decision.because.join("; "));
        let returned = ToolReturn::program(call.id.clone(), ReturnStatus::Denied, text);
        return finish(session, face.frontend, &call, returned, Seen::new()).await;
    }
    let edited = call.args != one.request.args || call.name != one.request.tool;
    let moved = !edited && plan.basis != one.request.plan.basis;
    let risen = decision.risk > one.request.risk;
    let rewritten = matches!(hook, HookVerdict::Rewrite { .. });
    if rewritten || (decision.verdict == Verdict::Ask && (moved || risen)) {
        return ask_again(session, face.frontend, one, (call, plan, decision)).await;
    }
    run(session, env, face, call).await
}

async fn ask_again(
    session: &mut Session,
    frontend: &dyn Frontend,
    one: &Detached,
    (call, plan, decision): (ToolCall, CallPlan, Decision),
) -> Result<(), StoreError> {
    let request = Request {
        id: calls::request_id(&one.call.id.0, &one.request.id.0),
        call: one.call.id.clone(),
        tool: call.name.clone(),
        args: call.args,
        plan,
        risk: decision.risk,
        why: decision.because,
        after: Vec::new(),
        depends: Vec::new(),
        taint: Vec::new(),
        expires: None,
        again: Some("what it would change has changed since you were asked".to_owned()),
    };
    let record = Record::Asked { call: one.call.clone(), request: request.clone() };
    session.commit(&[record], Durability::Written).await?;
    let _closed = frontend.show(Event::ApprovalNeeded { request }).await;
    Ok(())
}

/// Runs it as a turn would: contained, with its live output, stopped within a second.
async fn run(
    session: &mut Session,
    env: &AgentEnv,
    face: Face<'_>,
    call: ToolCall,
) -> Result<(), StoreError> {
    let Face { frontend, cancel, heard } = face;
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
                if (op == Op::Interrupt || op == Op::Close) && !std::mem::replace(&mut stopped, true) {
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
    let Input::ToolDone { returned, seen } = ended else { return Ok(()) };
    finish(session, frontend, &call, returned, seen.into_iter().collect()).await
}

async fn failed(
    session: &mut Session,
    frontend: &dyn Frontend,
    call: &ToolCall,
    text: String,
) -> Result<(), StoreError> {
    let returned = ToolReturn::program(call.id.clone(), ReturnStatus::Failed, text);
    finish(session, frontend, call, returned, Seen::new()).await
}

async fn finish(
    session: &mut Session,
    frontend: &dyn Frontend,
    call: &ToolCall,
    returned: ToolReturn,
    seen: Seen,
) -> Result<(), StoreError> {
    let mut records = vec![Record::ToolFinished { returned: returned.clone() }];
    if let Some(value) = (!seen.is_empty()).then(|| serde_json::to_value(seen).ok()).flatten() {
        records.insert(0, Record::State { tool: SEEN.to_owned(), value });
    }
    session.commit(&records, Durability::Written).await?;
    let _closed = frontend.show(Event::ToolReturn { call: call.clone(), returned }).await;
    Ok(())
}
