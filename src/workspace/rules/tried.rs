//! Applies rules to past calls: which calls a rule would have matched, and which rules repeated approvals suggest.
//!
//! Reads only. A rule is suggested for calls that the user repeatedly approved in one folder and never denied.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::save::in_folder;
use crate::approval::rules::{Fit, Rule, RuleEffect, RuleSet, RuleSource, Subject, draft};
use crate::frontend::protocol::PastCalls;
use crate::store::{PastCall, PastOutcome};
use crate::tool::{Access, Origin, Registry};

/// A suggested rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// As it can be put into the file.
    pub text: String,
    /// How often a user approved what it allows.
    pub allowed: usize,
}

/// Counts the past calls to which at least one of the rules applies.
#[must_use]
pub fn count_past_calls(rules: &[Rule], past: &[PastCall], registry: &Registry) -> PastCalls {
    let matched: Vec<&PastCall> =
        past.iter().filter(|call| rules.iter().any(|rule| applies(rule, call, registry))).collect();
    let denied = matched.iter().filter(|call| call.outcome == PastOutcome::Denied).count();
    PastCalls { matched: matched.len(), of: past.len(), denied }
}

fn applies(rule: &Rule, call: &PastCall, registry: &Registry) -> bool {
    let tool = registry.get(&call.tool);
    let origin = tool.as_ref().map_or(&Origin::Builtin, |tool| &tool.spec().origin);
    let subject = Subject {
        tool: &call.tool,
        origin,
        args: &call.args,
        folder: &call.workspace,
        access: &Access::Nothing,
    };
    matches!(rule.fit(&subject), Fit::Applies | Fit::AppliesInDoubt(_))
}

/// Returns rules for calls allowed at least `min` times, never denied, without a rule yet; most used first.
#[must_use]
pub fn suggestions(
    past: &[PastCall],
    min: usize,
    counting: &RuleSet,
    registry: &Registry,
) -> Vec<Suggestion> {
    let mut approved: BTreeMap<(String, PathBuf), usize> = BTreeMap::new();
    let covered = |call: &PastCall| {
        let mut allowing = counting.rules.iter().filter(|rule| rule.effect == RuleEffect::Allow);
        allowing.any(|rule| applies(rule, call, registry))
    };
    for call in past.iter().filter(|call| call.outcome == PastOutcome::Approved && !covered(call)) {
        let draft = draft(&call.tool, &call.args, &Access::Nothing, &call.workspace);
        *approved.entry((draft.rule, call.workspace.clone())).or_default() += 1;
    }
    let mut found: Vec<Suggestion> = approved
        .into_iter()
        .filter(|(_, allowed)| *allowed >= min)
        .map(|((rule, folder), allowed)| Suggestion { text: in_folder(&rule, &folder), allowed })
        .filter(|one| is_harmless(one, past, registry))
        .collect();
    found.sort_by(|a, b| b.allowed.cmp(&a.allowed).then_with(|| a.text.cmp(&b.text)));
    found
}

/// Whether nothing that it would allow was ever denied.
fn is_harmless(one: &Suggestion, past: &[PastCall], registry: &Registry) -> bool {
    let Ok(rules) = RuleSet::parse(&one.text, &RuleSource::Session, None) else { return false };
    past.iter().filter(|call| rules.iter().any(|rule| applies(rule, call, registry))).all(|call| {
        matches!(call.outcome, PastOutcome::Approved | PastOutcome::Allowed | PastOutcome::Undecided)
    })
}
