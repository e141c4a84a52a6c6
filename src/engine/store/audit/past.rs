//! Past calls in the audit, used to try out new rules, and how often each rule answered.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::super::decide::parse;
use super::super::inbox::moment;
use super::super::statements::Statements as _;
use super::super::{Store, StoreError};
use super::AuditKind;
use crate::approval::{Decider, Verdict};
use crate::message::ToolName;

/// A past call, as rules are tried on it.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    pub tool: ToolName,
    /// The arguments that were decided on.
    pub args: Value,
    pub workspace: std::path::PathBuf,
    pub outcome: PastOutcome,
    pub at: Timestamp,
}

/// How a past call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastOutcome {
    /// The user approved it.
    Approved,
    /// The user denied it.
    Denied,
    /// It ran without asking the user.
    Allowed,
    /// A rule, a mode or a hook denied it.
    Refused,
    /// It was never decided.
    Undecided,
}

/// The fields of the details that are used here.
#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    args: Option<Value>,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    verdict: Option<Verdict>,
}

impl Store {
    /// Returns the latest decided calls, newest first, each once with its final outcome, at most `limit`.
    pub async fn past_calls(&self, limit: usize) -> Result<Vec<PastCall>, StoreError> {
        self.read(move |reader| {
            let mut select = reader.prepare_cached(
                "SELECT a.session, a.call, a.tool, a.kind, a.decider, a.details, a.at, s.workspace,
                     r.request -> '$.args'
                 FROM audit a JOIN sessions s ON s.id = a.session LEFT JOIN approvals r ON r.id = a.request
                 WHERE a.kind IN ('judged', 'decided', 'expired', 'withdrawn') AND a.tool IS NOT NULL
                 ORDER BY a.no DESC",
            )?;
            let mut rows = select.query([])?;
            let (mut calls, mut known) = (Vec::new(), HashSet::<(String, String)>::new());
            while calls.len() < limit
                && let Some(row) = rows.next()?
            {
                let details: Details = parse(&row.get::<_, String>(5)?)?;
                let decider: Option<String> = row.get(4)?;
                let decider = decider.map(|json| parse(&json)).transpose()?;
                let Some(outcome) = outcome(row.get(3)?, decider.as_ref(), &details) else { continue };
                if known.insert((row.get(0)?, row.get(1)?)) {
                    let asked: Option<String> = row.get(8)?;
                    let asked = asked.map(|json| parse(&json)).transpose()?;
                    calls.push(PastCall {
                        tool: ToolName(row.get(2)?),
                        args: details.args.or(asked).unwrap_or_default(),
                        workspace: row.get::<_, String>(7)?.into(),
                        outcome,
                        at: moment(row.get(6)?),
                    });
                }
            }
            Ok(calls)
        })
        .await
    }

    /// Returns how many calls each rule with a use count has answered so far, by rule id.
    pub async fn rule_uses(&self) -> Result<BTreeMap<String, u32>, StoreError> {
        self.read(|reader| {
            let uses = reader.all("SELECT rule, uses FROM rule_uses", [], |row| {
                Ok::<_, StoreError>((row.get(0)?, u32::try_from(row.get::<_, u64>(1)?).unwrap_or(u32::MAX)))
            })?;
            Ok(uses.into_iter().collect())
        })
        .await
    }
}

/// The outcome a row states for its call; `None` if the row is not final.
fn outcome(kind: AuditKind, decider: Option<&Decider>, details: &Details) -> Option<PastOutcome> {
    let person = decider.is_some_and(Decider::is_person);
    match kind {
        AuditKind::Judged => match details.verdict? {
            Verdict::Allow => Some(PastOutcome::Allowed),
            Verdict::Deny => Some(PastOutcome::Refused),
            Verdict::Ask | Verdict::Later | Verdict::Preview => None,
        },
        AuditKind::Decided => match (details.answer.as_deref()?, person) {
            ("approved" | "edited" | "replaced", true) => Some(PastOutcome::Approved),
            ("approved" | "edited" | "replaced", false) => Some(PastOutcome::Allowed),
            ("denied", true) => Some(PastOutcome::Denied),
            ("denied", false) => Some(PastOutcome::Refused),
            (_, _) => None,
        },
        AuditKind::Expired | AuditKind::Withdrawn => Some(PastOutcome::Undecided),
        AuditKind::Asked
        | AuditKind::Superseded
        | AuditKind::Started
        | AuditKind::Finished
        | AuditKind::RuleSaved
        | AuditKind::RuleRevoked
        | AuditKind::FolderTrusted
        | AuditKind::FolderUntrusted
        | AuditKind::HookTrusted
        | AuditKind::HookUntrusted
        | AuditKind::Stance
        | AuditKind::Pruned => None,
    }
}
