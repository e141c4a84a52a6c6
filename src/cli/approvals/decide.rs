//! `co approvals yes|no|later`: decides each request separately, regardless of the others' results.
//!
//! It reports every result: the decision, an earlier one, what the call still waits for, and who runs it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::reading::ReadingOutcome;
use super::typed::ApproveArgs;
use super::{CommandContext, context, describe, reading};
use crate::app::{plan_call, schema_of};
use crate::approval::{Approval, Decider, Remember, Request, RequestId};
use crate::cli::console;
use crate::cli::error::{CliError, Result};
use crate::frontend::dialogue::{HIGH_RISK_ID, is_named_enough};
use crate::frontend::fields;
use crate::history::SessionId;
use crate::message::ToolName;
use crate::session::holders;
use crate::stdx::text::sanitize_line;
use crate::store::{DecideOutcome, RequestRow, StoredRequest};
use crate::tool::schema::faults;
use crate::tool::{Preview, Risk};

/// Maximum number of requests that are searched for LOW ones.
const LOOKED_AT: usize = 20_000;

/// Returns the ids of those requests of all sessions that wait and are wanted.
pub(super) async fn undecided_ids(
    context: &CommandContext<'_>,
    is_wanted: impl Fn(&RequestRow) -> bool,
) -> Result<Vec<String>> {
    let rows = context.store.undecided_rows(LOOKED_AT).await?;
    Ok(rows.into_iter().filter(is_wanted).map(|row| row.id.0).collect())
}

/// Gives all of them the same answer.
pub(super) async fn all(
    context: &CommandContext<'_>,
    ids: &[String],
    approval: &Approval,
    json: bool,
) -> Result<()> {
    let mut done = DecisionResults::default();
    for id in ids {
        match context.store.find_request(id).await {
            Ok(one) => done.decide(context, one, approval.clone()).await?,
            Err(error) => done.failed.push((id.clone(), error.to_string())),
        }
    }
    done.tell_some(context, json, "No requests are waiting.\n").await
}

pub(super) async fn yes(context: &CommandContext<'_>, yes: ApproveArgs) -> Result<()> {
    if !yes.set.is_empty() && yes.ids.len() > 1 {
        let error = CliError::usage("`--set` changes the arguments of one request");
        return Err(error.hint("name one id, or leave out `--set`"));
    }
    let mut done = DecisionResults::default();
    if let Some(session) = &yes.all_low {
        let session = context.store.find_session(session).await?;
        let is_low = |row: &RequestRow| row.session == session && row.risk == Risk::Low;
        for id in undecided_ids(context, is_low).await? {
            done.approve(context, &id, &yes).await?;
        }
        return done.tell_some(context, yes.json, "No LOW requests are waiting in this session.\n").await;
    }
    for id in &yes.ids {
        done.approve(context, id, &yes).await?;
    }
    done.tell(context, yes.json).await
}

fn approval(yes: &ApproveArgs, instead: Option<(ToolName, Value)>) -> Approval {
    let remember = if yes.session { Remember::Session } else { Remember::Once };
    let note = yes.note.clone().filter(|note| !note.trim().is_empty());
    Approval::Approve { instead, remember, note, rule: None }
}

/// Returns the request with this id, and the call that runs in its place; errs with a sentence.
async fn request_and_call(
    context: &CommandContext<'_>,
    id: &str,
    yes: &ApproveArgs,
) -> Result<(StoredRequest, Option<(ToolName, Value)>), String> {
    let one = context.store.find_request(id).await.map_err(|error| error.to_string())?;
    let request = &one.request;
    check_named(request, id, "yes")?;
    if let Some(why) = request.only_once().filter(|_| yes.session) {
        return Err(format!("request {}: {why}; leave out --session", request.id));
    }
    let schema = request.schema(|| schema_of(&request.tool, context.world, &context.settings));
    let args = match yes.set.is_empty() {
        true => request.args.clone(),
        false => fields::with_changes(request.tool.as_str(), schema.as_ref(), &request.args, &yes.set)?,
    };
    if request.is_question()
        && let Some(fault) = schema.as_ref().and_then(|schema| faults(schema, &args).into_iter().next())
    {
        let id = &request.id;
        return Err(format!(
            "the answer does not fit: {fault}; fill the form in: co approvals yes {id} --set FIELD=VALUE"
        ));
    }
    let (one, instead) = with_args(context, one, args).await;
    check_named(&one.request, id, "yes")?;
    Ok((one, instead))
}

/// Errs with a sentence if a HIGH request was named by too few characters of its id.
pub(super) fn check_named(request: &Request, id: &str, command: &str) -> Result<(), String> {
    if is_named_enough(request.risk, id) {
        return Ok(());
    }
    let (whole, typed) = (&request.id, sanitize_line(id));
    Err(format!(
        "request {whole} is HIGH risk, so `{typed}` is too short; type at least {HIGH_RISK_ID} characters of its id: \
         co approvals {command} {whole}"
    ))
}

/// Returns the request as it runs with these arguments, and the call that runs in its place if they differ.
pub(super) async fn with_args(
    context: &CommandContext<'_>,
    mut one: StoredRequest,
    args: Value,
) -> (StoredRequest, Option<(ToolName, Value)>) {
    let request = &one.request;
    if args == request.args {
        return (one, None);
    }
    let instead = (request.tool.clone(), args);
    let plan = plan_call(context.world, &context.settings, &one.workspace, (&instead.0, &instead.1)).await;
    // The call that is shown and reported must be the one that runs now, not the one asked for.
    let request = &mut one.request;
    match plan {
        Some(plan) => {
            request.risk = request.risk.max(plan.risk);
            request.plan = plan;
        }
        // A server's question does not change.
        None if request.is_question() => {}
        None => request.plan.preview = Preview::None,
    }
    request.args.clone_from(&instead.1);
    (one, Some(instead))
}

/// The results of all decisions.
#[derive(Default)]
pub(super) struct DecisionResults {
    decided: Vec<(StoredRequest, Approval)>,
    /// The id as typed, and why it failed.
    failed: Vec<(String, String)>,
    seen: BTreeSet<RequestId>,
}

impl DecisionResults {
    /// Whether nothing was decided: it failed, or the user saw it and did not approve.
    pub(super) fn is_empty(&self) -> bool {
        self.decided.is_empty()
    }

    /// Approves the request with this id, if it was shown.
    async fn approve(&mut self, context: &CommandContext<'_>, id: &str, yes: &ApproveArgs) -> Result<()> {
        let (one, instead) = match request_and_call(context, id, yes).await {
            Ok(named) => named,
            Err(why) => {
                self.failed.push((id.to_owned(), why));
                return Ok(());
            }
        };
        if self.seen.contains(one.id()) || !one.state.is_undecided() {
            return self.decide(context, one, approval(yes, instead)).await;
        }
        self.approve_shown(context, one, approval(yes, instead), yes.unread).await
    }

    /// Approves a request once its effect was shown; `unread`: the user wants no look at contents of files.
    pub(super) async fn approve_shown(
        &mut self,
        context: &CommandContext<'_>,
        one: StoredRequest,
        approval: Approval,
        unread: bool,
    ) -> Result<()> {
        match reading::show(context, &one, unread).await? {
            ReadingOutcome::All => self.decide(context, one, approval).await,
            ReadingOutcome::Declined => {
                console::note(&format!("Not approved; request {} still waits.", one.id()));
                Ok(())
            }
            ReadingOutcome::Not(why) => {
                self.failed.push((one.id().0.clone(), why));
                Ok(())
            }
        }
    }

    /// Decides one request; a repeated one is skipped.
    pub(super) async fn decide(
        &mut self,
        context: &CommandContext<'_>,
        one: StoredRequest,
        approval: Approval,
    ) -> Result<()> {
        if !self.seen.insert(one.id().clone()) {
            return Ok(());
        }
        let id = one.id().clone();
        let why = match context.store.decide(&id, approval.clone(), Decider::Cli).await? {
            DecideOutcome::Recorded => {
                self.decided.push((one, approval));
                return Ok(());
            }
            lost => format!("request {id} {}", lost.describe(Some(&one.request))),
        };
        self.failed.push((id.0, why));
        Ok(())
    }

    /// Reports all results, or this text if there are none.
    async fn tell_some(self, context: &CommandContext<'_>, json: bool, none: &str) -> Result<()> {
        if !json && self.decided.is_empty() && self.failed.is_empty() {
            return console::out(none);
        }
        self.tell(context, json).await
    }

    /// Reports all results; errs if anything failed.
    pub(super) async fn tell(mut self, context: &CommandContext<'_>, json: bool) -> Result<()> {
        if json {
            self.as_json(context).await?;
        } else {
            self.print_text(context).await?;
        }
        let Some((_, last)) = self.failed.pop() else { return Ok(()) };
        console::notes(self.failed.iter().map(|(_, why)| format!("error: {}", sanitize_line(why))));
        Err(CliError::error(sanitize_line(&last)))
    }

    async fn as_json(&self, context: &CommandContext<'_>) -> Result<()> {
        let mut rows = Vec::new();
        let holders = holders(&context.store).await;
        for (one, approval) in &self.decided {
            let held_up = context::held_up(&context.store, one).await?;
            let open_in = holders.get(&one.session).map(|owner| owner.pid);
            rows.push(json!({
                "id": one.id(),
                "decision": approval.verdict(Some(&one.request)).to_string(),
                "session": one.session,
                "open_in_process": open_in,
                "held_up": if is_yes(approval) { held_up } else { Vec::new() },
            }));
        }
        rows.extend(self.failed.iter().map(|(id, why)| json!({"id": id, "error": why})));
        console::json(&rows)
    }

    async fn print_text(&self, context: &CommandContext<'_>) -> Result<()> {
        let mut sessions: Vec<&SessionId> = Vec::new();
        for (one, approval) in &self.decided {
            let verdict = approval.verdict(Some(&one.request)).to_string();
            let (verdict, summary) = (sanitize_line(&verdict), sanitize_line(&one.request.plan.summary));
            let covered = describe::coverage(one, approval);
            let covered = covered.map_or_else(String::new, |covered| format!(" ({covered})"));
            console::out(&format!("{verdict} {}: {summary}{covered}\n", one.id()))?;
            if *approval != Approval::Later && !sessions.contains(&&one.session) {
                sessions.push(&one.session);
            }
        }
        for (one, _) in self.decided.iter().filter(|(_, approval)| is_yes(approval)) {
            let held_up = context::held_up(&context.store, one).await?;
            console::notes(held_up.iter().map(|text| sanitize_line(text)));
        }
        let holders = holders(&context.store).await;
        for session in sessions {
            let line = match holders.get(session) {
                Some(owner) => format!("The co that has its session open ({owner}) continues by itself."),
                None => format!("Its session is not open anywhere; continue with: co resume {session}"),
            };
            console::note(&line);
        }
        Ok(())
    }
}

fn is_yes(approval: &Approval) -> bool {
    matches!(approval, Approval::Approve { .. })
}
