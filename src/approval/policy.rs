//! The policy: facts of a call in, a decision out; total, deterministic, no I/O.

use std::path::PathBuf;

use serde_json::Value;

use super::{Decision, Grants, Verdict};
use crate::message::{ToolName, Trust};
use crate::sandbox::Isolation;
use crate::tool::{Access, CallPlan, Category, HookVerdict, Risk, ToolSpec};

/// How calls are decided in this process.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub mode: Mode,
    /// `/yolo`: visible, never stored, ends with the process.
    pub standing: Standing,
    pub workspace: WorkspaceKind,
    /// The folder grants are bound to.
    pub folder: PathBuf,
    /// From rules files, a later capability; already decided by here.
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Reads run, the rest asks.
    #[default]
    Ask,
    /// Look only: everything with a side effect is denied.
    Plan,
}

/// Whether `/yolo` answers for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Standing {
    #[default]
    Asking,
    Yolo,
}

/// Where `co` was started: in the home folder itself or `/`, reads ask too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceKind {
    #[default]
    Project,
    HomeOrRoot,
}

/// Whether the person trusted the folder's own settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FolderTrust {
    #[default]
    Untrusted,
    Trusted,
}

/// One rule. Predicates on arguments come with rules files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// How it is named in reasons.
    pub id: String,
    pub tool: ToolName,
    pub effect: RuleEffect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleEffect {
    Allow,
    Ask,
    Deny,
}

/// Everything a decision rests on.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    pub spec: &'a ToolSpec,
    pub plan: &'a CallPlan,
    pub args: &'a Value,
    /// The least trusted words its arguments carry.
    pub provenance: Trust,
    pub isolation: Isolation,
    pub folder_trust: FolderTrust,
    pub hook: Option<&'a HookVerdict>,
}

impl Policy {
    /// Decides one call. Order: hard deny, mode, hook, ask rule, question, taint floor, allow rule,
    /// grant, standing yolo, risk. The first that applies decides; `because` names it.
    pub fn decide(&self, grants: &Grants, call: &CallFacts<'_>) -> Decision {
        let risk = risk_of(call);
        let decision = |verdict, because: String| Decision { verdict, risk, because: vec![because] };
        let name = &call.spec.name;
        if let Some(rule) = self.rule(name, RuleEffect::Deny) {
            return decision(Verdict::Deny, format!("rule {} denies {name}", rule.id));
        }
        if self.mode == Mode::Plan && !call.spec.side_effect.is_none() {
            return decision(Verdict::Deny, "plan mode only looks".to_owned());
        }
        match call.hook {
            Some(HookVerdict::Deny { reason }) => {
                return decision(Verdict::Deny, format!("hook: {reason}"));
            }
            Some(HookVerdict::Ask { reason }) => {
                return decision(Verdict::Ask, format!("hook: {reason}"));
            }
            Some(HookVerdict::Pass | HookVerdict::Rewrite { .. }) | None => {}
        }
        if let Some(rule) = self.rule(name, RuleEffect::Ask) {
            return decision(Verdict::Ask, format!("rule {} asks for {name}", rule.id));
        }
        if call.plan.question.is_some() {
            // Only a person can answer: no rule, grant or yolo has the words.
            return decision(Verdict::Ask, format!("{name} asks you something"));
        }
        let tainted = call.provenance == Trust::Untrusted && !call.spec.side_effect.is_none();
        if tainted {
            return decision(Verdict::Ask, "its arguments carry untrusted words".to_owned());
        }
        if let Some(rule) = self.rule(name, RuleEffect::Allow) {
            return decision(Verdict::Allow, format!("rule {} allows {name}", rule.id));
        }
        if risk < Risk::High
            && let Some(grant) = grants.covering(name, call.args, &self.folder)
        {
            return decision(Verdict::Allow, format!("you allowed {grant} for this session"));
        }
        self.by_standing_and_risk(call, risk)
    }

    fn by_standing_and_risk(&self, call: &CallFacts<'_>, risk: Risk) -> Decision {
        let decision = |verdict, because: String| Decision { verdict, risk, because: vec![because] };
        let name = &call.spec.name;
        let anything = call.plan.access == Access::Anything || call.spec.category == Category::Shell;
        let unshut = anything && call.isolation == Isolation::None;
        // Without isolation a HIGH change can lead to a command (a git hook), which yolo never covers.
        let reaches_out = unshut || (risk == Risk::High && call.isolation == Isolation::None);
        if self.standing == Standing::Yolo && !reaches_out {
            return decision(Verdict::Allow, "yolo is on".to_owned());
        }
        if unshut {
            return decision(Verdict::Ask, format!("{name} runs unsandboxed"));
        }
        if !call.spec.side_effect.is_none() {
            return decision(Verdict::Ask, format!("{name} changes something"));
        }
        if risk > Risk::Low {
            return decision(Verdict::Ask, format!("{name} is {} risk", risk.word()));
        }
        match self.workspace {
            WorkspaceKind::HomeOrRoot => {
                decision(Verdict::Ask, "reads ask in the home folder and in /".to_owned())
            }
            WorkspaceKind::Project => decision(Verdict::Allow, format!("{name} only looks")),
        }
    }

    fn rule(&self, name: &ToolName, effect: RuleEffect) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.effect == effect && rule.tool == *name)
    }
}

/// The plan's risk, at least the tool's own, one step up for untrusted words in a side effect.
fn risk_of(call: &CallFacts<'_>) -> Risk {
    let base = call.plan.risk.max(call.spec.risk);
    if call.provenance == Trust::Trusted || call.spec.side_effect.is_none() {
        return base;
    }
    match base {
        Risk::Low => Risk::Medium,
        Risk::Medium | Risk::High => Risk::High,
    }
}
