//! Formats audit rows, short for the list and in full for one call.
//!
//! Lines are sanitized one by one, so that a text of several lines cannot imitate rows.

use jiff::tz::TimeZone;
use serde::Deserialize as _;
use serde_json::Value;

use crate::approval::{Decider, DecisionKind};
use crate::cli::table::short;
use crate::frontend::sentences;
use crate::message::ReturnStatus;
use crate::stdx::text::sanitize_line;
use crate::store::{AuditKind, AuditRow};

/// The details that the first line of a row already contains.
const DESCRIBED: [&str; 3] = ["answer", "verdict", "status"];

/// Returns the cells of one row: number, time, tool, what, who, request, session.
pub(super) fn in_short(row: &AuditRow, zone: &TimeZone) -> [String; 7] {
    let session = row.session.as_ref().map(|id| short(&id.0));
    [
        row.no.to_string(),
        time(row, zone),
        row.tool.as_ref().map(ToString::to_string).unwrap_or_default(),
        what(row),
        who(row).unwrap_or_default(),
        row.request.as_ref().map(ToString::to_string).unwrap_or_default(),
        row.title.clone().or(session).unwrap_or_default(),
    ]
}

/// Returns all rows of one call in order, with their details.
pub(super) fn as_text(rows: &[AuditRow], zone: &TimeZone) -> String {
    let mut out = String::new();
    if let Some(row) = rows.first() {
        let call = row.call.as_ref().map(|call| call.0.as_str()).unwrap_or_default();
        let session = row.session.as_ref().map(|session| session.0.as_str()).unwrap_or_default();
        let title = row.title.as_deref().unwrap_or_default();
        out.push_str(&format!("call     {}\n", sanitize_line(call)));
        out.push_str(format!("session  {} {}", sanitize_line(session), sanitize_line(title)).trim_end());
        out.push('\n');
    }
    for row in rows {
        let tool = row.tool.as_ref().map(|tool| format!("  {tool}")).unwrap_or_default();
        let by = who(row).map(|who| format!(", {who}")).unwrap_or_default();
        let line = format!("{}  {}{tool}  {}{by}", row.no, time(row, zone), what(row));
        out.push_str(&format!("\n{}\n", sanitize_line(&line)));
        let Value::Object(details) = &row.details else { continue };
        for (name, value) in details.iter().filter(|(name, _)| !DESCRIBED.contains(&name.as_str())) {
            out.push_str(&format!("    {:9} {}\n", sanitize_line(name), sanitize_line(&plain(value))));
        }
    }
    out
}

/// Returns the id for a row's call: the request's, if there is one.
pub(super) fn id(row: &AuditRow) -> Option<String> {
    let request = row.request.as_ref().map(|request| request.0.clone());
    request.or_else(|| row.call.as_ref().map(|call| call.0.clone()))
}

fn time(row: &AuditRow, zone: &TimeZone) -> String {
    row.at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Formats a value: text as it is, lists of texts separated by semicolons, the rest as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ")
        }
        _ => value.to_string(),
    }
}

/// Returns who or what decided, for a list.
fn who(row: &AuditRow) -> Option<String> {
    // A row without a call is about something that the user changed.
    row.decider.as_ref().map(Decider::who).or_else(|| row.call.is_none().then(|| "you".to_owned()))
}

/// Returns a short description of the event.
fn what(row: &AuditRow) -> String {
    let text = |name: &str| row.details.get(name).and_then(Value::as_str).unwrap_or_default();
    let risk = match text("risk") {
        "high" => "HIGH",
        other => other,
    };
    let taint = if row.details.get("taint").is_some() { " ▲" } else { "" };
    match row.kind {
        AuditKind::Asked => format!("asked ({risk}){taint}"),
        AuditKind::Judged => {
            let verdict = match text("verdict") {
                "allow" => "allowed",
                "deny" => "refused",
                "preview" => "preview only",
                other => other,
            };
            format!("{verdict} ({risk}){taint}")
        }
        AuditKind::Decided => match text("answer") {
            "edited" => DecisionKind::Edited.to_string(),
            "replaced" => DecisionKind::Replaced(None).to_string(),
            other => other.to_owned(),
        },
        AuditKind::Expired => sentences::EXPIRED.to_owned(),
        AuditKind::Withdrawn => match text("because") {
            "changed" => "refused: changed after the request".to_owned(),
            _ => "withdrawn".to_owned(),
        },
        AuditKind::Superseded => sentences::SUPERSEDED.to_owned(),
        AuditKind::Started => "started".to_owned(),
        AuditKind::Finished => {
            let known = ReturnStatus::deserialize(&row.details["status"]).map(sentences::status);
            format!("ended: {}", known.unwrap_or(text("status")))
        }
        AuditKind::RuleSaved => format!("saved the rule {}", text("rule")),
        AuditKind::RuleRevoked => format!("revoked the rule {}", text("rule")),
        AuditKind::FolderTrusted => format!("trusted the folder {}", text("folder")),
        AuditKind::FolderUntrusted => format!("untrusted the folder {}", text("folder")),
        AuditKind::HookUntrusted => format!("untrusted the hook {}", text("name")),
        AuditKind::HookTrusted => format!("trusted the hook {}", text("name")),
        AuditKind::Stance => text("text").to_owned(),
        AuditKind::Pruned => {
            let of = |name: &str| row.details.get(name).and_then(Value::as_u64).unwrap_or_default();
            format!("removed rows {} to {}", of("from"), of("to"))
        }
    }
}
