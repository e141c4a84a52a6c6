//! `co approvals show`: one whole request, with all that is needed to decide it or to understand its outcome.
//!
//! Lines are sanitized one by one, so that text of several lines cannot look like rows of this program; the
//! console does the rest.

pub(super) mod body;

use serde_json::json;

use super::context::ApprovalContext;
use super::{CommandContext, describe, request_row};
use crate::approval::{Approval, Grants, RequestId};
use crate::cli::console;
use crate::cli::error::{CliError, Result};
use crate::frontend::sentences;
use crate::stdx::text::{one_line_summary, sanitize_line};
use crate::store::{CallTiming, StoredRequest};

/// Maximum number of requests in the error that asks for an id.
const LISTED: usize = 20;

/// Width of a call's summary in that error, in cells.
const WHAT: usize = 44;

pub(super) async fn run(context: &CommandContext<'_>, id: Option<String>, json: bool) -> Result<()> {
    let id = match id {
        Some(id) => id,
        None => only_one(context).await?.0,
    };
    let one = context.store.find_request(&id).await?;
    let around = ApprovalContext::of(&context.store, &one).await?;
    if !json {
        return console::out(&as_text(&one, &around));
    }
    let mut value = serde_json::to_value(request_row(&one)).map_err(std::io::Error::from)?;
    value["preview"] = json!(one.request.plan.preview);
    value["undo"] = json!(one.request.plan.undo);
    value["basis"] = json!(one.request.plan.basis);
    value["request_hash"] = json!(one.args_hash);
    value["session_yes_covers"] = json!(Grants::coverage(&one.request.tool, &one.request.args));
    value["depends_on"] = json!(around.depends);
    value["needed_by"] = json!(around.dependents);
    value["decision"] = json!(one.decision.as_ref().map(|(approval, by)| json!([approval, by])));
    value["decided"] = json!(one.decided_at.map(|at| at.to_string()));
    value["outcome"] = json!(describe::outcome(around.progress));
    console::json(&value)
}

/// Returns the one request that waits; errs with a list if none or several do.
async fn only_one(context: &CommandContext<'_>) -> Result<RequestId> {
    let mut rows = context.store.undecided_rows(LISTED + 1).await?;
    if rows.len() > 1 {
        let many = if rows.len() > LISTED { format!("more than {LISTED}") } else { rows.len().to_string() };
        let mut error = CliError::usage(format!("{many} requests wait; name the one to show"));
        rows.truncate(LISTED);
        error.hints.extend(rows.iter().map(|row| {
            let what = one_line_summary(&row.summary, WHAT);
            format!("co approvals show {}   {}: {what}", row.id, sanitize_line(row.tool.as_str()))
        }));
        return Err(error);
    }
    let nothing = || CliError::error("no requests are waiting");
    rows.pop().map(|row| row.id).ok_or_else(|| nothing().hint("`co approvals --all` lists decided requests"))
}

/// Formats everything, line by line; the console sanitizes it.
fn as_text(one: &StoredRequest, around: &ApprovalContext) -> String {
    facts(one, around) + &body::of(one)
}

/// Formats everything but the arguments and the preview.
pub(super) fn facts(one: &StoredRequest, around: &ApprovalContext) -> String {
    let line = |(name, value): (&str, String)| format!("{name:8} {}\n", sanitize_line(value.trim()));
    rows(one, around).into_iter().map(line).collect()
}

type Rows = Vec<(&'static str, String)>;

fn rows(one: &StoredRequest, around: &ApprovalContext) -> Rows {
    let request = &one.request;
    let mut rows: Rows = vec![
        ("request", request.id.to_string()),
        ("state", describe::state(one, around.progress)),
        ("tool", request.tool.to_string()),
        ("risk", request.risk.word().to_owned()),
        ("what", request.plan.summary.clone()),
    ];
    list(&mut rows, "why", &request.why);
    let taints = request.taint.iter().map(|taint| {
        let from = taint.from.as_ref().map_or_else(String::new, |call| format!(" (call {call})"));
        let place = if taint.arg.is_empty() { "the arguments" } else { taint.arg.trim_start_matches('/') };
        format!("▲ {place}: “{}” is text from {}{from}", taint.words, sentences::source(&taint.source))
    });
    list(&mut rows, "source", &taints.collect::<Vec<_>>());
    rows.extend(request.plan.undo_sentence().map(|undo| ("undo", undo.to_owned())));
    list(&mut rows, "after", &request.after);
    list(&mut rows, "needs", &around.depends);
    list(&mut rows, "needed", &around.dependents);
    let basis = request.plan.basis.iter().map(|(resource, version)| {
        let version: String = version.0.chars().take(12).collect();
        format!("{} as of {version}", resource.0)
    });
    list(&mut rows, "basis", &basis.collect::<Vec<_>>());
    rows.extend(request.again.clone().map(|again| ("again", again)));
    rows.extend(around.newer.as_ref().map(|newer| ("newer", newer.to_string())));
    rows.extend([
        ("folder", one.workspace.display().to_string()),
        ("session", format!("{} {}", one.session, one.title.as_deref().unwrap_or_default())),
        ("turn", turn(one)),
        ("asked", one.created.to_string()),
        ("expires", request.expires.map_or_else(|| "never".to_owned(), |at| at.to_string())),
        ("hash", one.args_hash.clone()),
    ]);
    if one.decision.is_none() {
        rows.push(("session yes", Grants::coverage(&request.tool, &request.args)));
    }
    decision(one, &mut rows);
    rows
}

fn decision(one: &StoredRequest, rows: &mut Rows) {
    let Some((approval, by)) = &one.decision else { return };
    let at = one.decided_at.map_or_else(String::new, |at| format!(", {at}"));
    let (verdict, by) = (approval.verdict(Some(&one.request)), sentences::decider(by, None));
    rows.push(("decided", format!("{verdict} by {by}{at}")));
    rows.extend(describe::note(approval).map(|note| ("note", note.to_owned())));
    if let Approval::Approve { rule: Some(rule), .. } = approval {
        rows.push(("rule", rule.clone()));
    } else {
        rows.extend(describe::coverage(one, approval).map(|covered| ("covers", covered)));
    }
}

/// Adds a row for each line; only the first has the name.
fn list(rows: &mut Rows, name: &'static str, lines: &[String]) {
    for (index, line) in lines.iter().enumerate() {
        rows.push((if index == 0 { name } else { "" }, line.clone()));
    }
}

fn turn(one: &StoredRequest) -> String {
    match one.timing {
        CallTiming::InTurn => one.turn.to_string(),
        CallTiming::Late => format!("{}; the conversation continued without it", one.turn),
    }
}
