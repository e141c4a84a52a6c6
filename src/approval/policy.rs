//! The policy: facts of a call in, a decision out; total, deterministic, no I/O.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rules::{Rule, RuleEffect, RuleSet, RulesHealth, Subject};
use super::{Decider, Decision, Grants, Taint, Verdict};
use crate::hook::HookVerdict;
use crate::sandbox::Isolation;
use crate::tool::{Access, CallPlan, Category, Effect, Risk, SideEffect, ToolSpec};

/// How calls are decided in this process. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    pub mode: Mode,
    /// `/yolo`: visible, never stored, ends with the process.
    pub standing: Standing,
    /// Of all files and scopes; those of the session are among its grants.
    pub rules: Arc<RuleSet>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reads run, the rest asks.
    #[default]
    Ask,
    /// As ask, and files of the workspace are edited without asking.
    Auto,
    /// Look only: everything with a side effect is denied.
    Plan,
    /// What would ask or change something returns its preview and becomes a request.
    DryRun,
    /// Every call becomes a request and nothing runs; for evals.
    DeferAll,
}

impl Mode {
    pub const ALL: [Self; 5] = [Self::Ask, Self::Auto, Self::Plan, Self::DryRun, Self::DeferAll];

    /// As it is typed and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Auto => "auto",
            Self::Plan => "plan",
            Self::DryRun => "dry-run",
            Self::DeferAll => "defer-all",
        }
    }

    /// The mode of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.word() == word)
    }

    /// What one key makes of it: ask → auto → plan → dry-run → ask. It never leads to where nothing asks.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Ask => Self::Auto,
            Self::Auto => Self::Plan,
            Self::Plan => Self::DryRun,
            Self::DryRun | Self::DeferAll => Self::Ask,
        }
    }
}

/// Whether `/yolo` answers for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    #[default]
    Asking,
    Yolo,
}

/// The folder a session works in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Absolute; grants and paths in arguments are bound to it.
    pub folder: PathBuf,
    pub kind: WorkspaceKind,
    pub trust: FolderTrust,
}

/// Where `co` was started: in the home folder itself or `/`, reads ask too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceKind {
    #[default]
    Project,
    HomeOrRoot,
}

/// Whether the person trusted the folder's own settings, rules and hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FolderTrust {
    #[default]
    Untrusted,
    Trusted,
}

/// Whether the model turns in a circle with this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Circling {
    #[default]
    No,
    /// The same call gave the same result so often: a person must look.
    Times(u32),
}

/// Everything a decision rests on.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    pub spec: &'a ToolSpec,
    pub plan: &'a CallPlan,
    pub args: &'a Value,
    /// Untrusted words that its arguments carry.
    pub taint: &'a [Taint],
    pub isolation: Isolation,
    pub place: &'a Place,
    pub hook: Option<&'a HookVerdict>,
    pub circling: Circling,
}

impl CallFacts<'_> {
    /// Whether the call changes anything, as far as that is known.
    pub fn only_looks(&self) -> bool {
        let known = self.plan.effect == Effect::LooksOnly
            && (self.isolation != Isolation::None || !self.runs_commands());
        known || self.spec.side_effect.is_none()
    }

    fn runs_commands(&self) -> bool {
        self.plan.access == Access::Anything || self.spec.category == Category::Shell
    }

    /// A command that nothing shuts in.
    fn is_unshut(&self) -> bool {
        self.runs_commands() && self.isolation == Isolation::None
    }

    /// Whether it edits files of the workspace and does nothing else.
    fn edits_workspace(&self) -> bool {
        let inside = match &self.plan.access {
            Access::Paths { writes, .. } => writes.iter().all(|path| path.starts_with(&self.place.folder)),
            Access::Anything | Access::Nothing => false,
        };
        let local = matches!(self.spec.side_effect, SideEffect::Local);
        inside && local && self.place.kind == WorkspaceKind::Project
    }
}

impl Policy {
    /// Decides one call. Order: hard deny, mode, hook, ask rule, question, circling, taint floor, allow rule,
    /// grant, hook's allow, standing yolo, mode, risk. The first that applies decides; `because` names it.
    pub fn decide(&self, grants: &Grants, call: &CallFacts<'_>) -> Decision {
        let risk = risk_of(call);
        let decision =
            |verdict, by: Decider, because: String| Decision { verdict, risk, because: vec![because], by };
        let mode = Decider::Mode { mode: self.mode };
        let name = &call.spec.name;
        if let Some(rule) = self.rule(RuleEffect::Deny, call) {
            let because = match &rule.reason {
                Some(reason) => format!("rule {} denies {name}: {reason}", rule.id),
                None => format!("rule {} denies {name}", rule.id),
            };
            return decision(Verdict::Deny, by_rule(rule), because);
        }
        if self.mode == Mode::Plan && !call.only_looks() {
            return decision(Verdict::Deny, mode, "plan mode only looks".to_owned());
        }
        if let Some(HookVerdict::Deny { reason }) = call.hook {
            return decision(Verdict::Deny, Decider::Hook, format!("hook: {reason}"));
        }
        if self.mode == Mode::DeferAll {
            return decision(Verdict::Ask, mode, "defer-all mode asks for everything".to_owned());
        }
        let asked = self.asked(grants, call, risk);
        let question = call.plan.question.is_some();
        if self.mode == Mode::DryRun && !question && (!call.only_looks() || asked.verdict != Verdict::Allow) {
            return decision(Verdict::Preview, mode, "dry-run mode shows and does nothing".to_owned());
        }
        asked
    }

    fn asked(&self, grants: &Grants, call: &CallFacts<'_>, risk: Risk) -> Decision {
        let decision =
            |verdict, by: Decider, because: String| Decision { verdict, risk, because: vec![because], by };
        let name = &call.spec.name;
        match call.hook {
            Some(HookVerdict::Ask { reason }) => {
                return decision(Verdict::Ask, Decider::Hook, format!("hook: {reason}"));
            }
            Some(HookVerdict::Defer { reason }) => {
                return decision(Verdict::Later, Decider::Hook, format!("hook: {reason}"));
            }
            Some(
                HookVerdict::Pass
                | HookVerdict::Allow { .. }
                | HookVerdict::Deny { .. }
                | HookVerdict::Rewrite { .. }
                | HookVerdict::Note { .. },
            )
            | None => {}
        }
        if let RulesHealth::Broken { because } = &self.rules.health {
            return decision(Verdict::Ask, Decider::Risk, format!("the rules cannot be read: {because}"));
        }
        if let Some(rule) = self.rule(RuleEffect::Ask, call) {
            let because = match &rule.reason {
                Some(reason) => format!("rule {} asks for {name}: {reason}", rule.id),
                None => format!("rule {} asks for {name}", rule.id),
            };
            return decision(Verdict::Ask, by_rule(rule), because);
        }
        if call.plan.question.is_some() {
            // Only a person can answer: no rule, grant or yolo has the words.
            return decision(Verdict::Ask, Decider::Risk, format!("{name} asks you something"));
        }
        if let Circling::Times(times) = call.circling {
            let because = format!("the same call gave the same result {times} times");
            return decision(Verdict::Ask, Decider::Risk, because);
        }
        if !call.taint.is_empty() && !call.only_looks() {
            return decision(Verdict::Ask, Decider::Risk, "its arguments carry untrusted words".to_owned());
        }
        if let Some(rule) = self.rule(RuleEffect::Allow, call) {
            return decision(Verdict::Allow, by_rule(rule), format!("rule {} allows {name}", rule.id));
        }
        if risk < Risk::High
            && let Some(grant) = grants.covering(name, call.args, &call.place.folder)
        {
            let because = format!("you allowed {grant} for this session");
            return decision(Verdict::Allow, Decider::Grant, because);
        }
        if let Some(HookVerdict::Allow { reason }) = call.hook {
            return decision(Verdict::Allow, Decider::Hook, format!("hook: {reason}"));
        }
        self.by_standing_and_risk(call, risk)
    }

    fn by_standing_and_risk(&self, call: &CallFacts<'_>, risk: Risk) -> Decision {
        let decision =
            |verdict, by: Decider, because: String| Decision { verdict, risk, because: vec![because], by };
        let name = &call.spec.name;
        if self.standing == Standing::Yolo && !call.is_unshut() {
            return decision(Verdict::Allow, Decider::Yolo, "yolo is on".to_owned());
        }
        if call.is_unshut() {
            return decision(Verdict::Ask, Decider::Risk, format!("{name} runs unsandboxed"));
        }
        if self.mode == Mode::Auto && risk < Risk::High && call.edits_workspace() {
            let by = Decider::Mode { mode: Mode::Auto };
            return decision(Verdict::Allow, by, "auto mode edits files here without asking".to_owned());
        }
        if !call.only_looks() {
            return decision(Verdict::Ask, Decider::Risk, format!("{name} changes something"));
        }
        if risk > Risk::Low {
            return decision(Verdict::Ask, Decider::Risk, format!("{name} is {} risk", risk.word()));
        }
        match call.place.kind {
            WorkspaceKind::HomeOrRoot => {
                let because = "reads ask in the home folder and in /".to_owned();
                decision(Verdict::Ask, Decider::Risk, because)
            }
            WorkspaceKind::Project => decision(Verdict::Allow, Decider::Risk, format!("{name} only looks")),
        }
    }

    fn rule(&self, effect: RuleEffect, call: &CallFacts<'_>) -> Option<&Rule> {
        let subject = Subject { spec: call.spec, args: call.args, folder: &call.place.folder };
        self.rules.applying(effect, &subject)
    }
}

fn by_rule(rule: &Rule) -> Decider {
    Decider::Rule { id: rule.id.clone() }
}

/// The plan's risk, at least the tool's own, one step up for untrusted words in a side effect. What is known to only
/// look is LOW, whatever its tool may do.
fn risk_of(call: &CallFacts<'_>) -> Risk {
    let base = match call.plan.effect {
        Effect::LooksOnly => call.plan.risk,
        Effect::OfTool => call.plan.risk.max(call.spec.risk),
    };
    if call.taint.is_empty() || call.only_looks() {
        return base;
    }
    match base {
        Risk::Low => Risk::Medium,
        Risk::Medium | Risk::High => Risk::High,
    }
}
