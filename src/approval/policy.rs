//! The policy: facts of a call in, a decision out; total, deterministic, no I/O.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rules::{RuleSet, Subject};
use super::stages::{self, Step};
use super::{Decider, Decision, Grants, Taint};
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

impl<'a> CallFacts<'a> {
    /// Whether the call changes anything, as far as that is known.
    pub fn only_looks(&self) -> bool {
        let known = self.plan.effect == Effect::LooksOnly
            && (self.isolation != Isolation::None || !self.runs_commands());
        known || self.spec.side_effect.is_none()
    }

    fn runs_commands(&self) -> bool {
        self.plan.access == Access::Anything || self.spec.category == Category::Shell
    }

    /// A command that nothing shuts in. No rule, grant or mode changes that.
    pub(super) fn is_unshut(&self) -> bool {
        self.runs_commands() && self.isolation == Isolation::None
    }

    /// Whether it edits files of the workspace and does nothing else.
    pub(super) fn edits_workspace(&self) -> bool {
        let inside = match &self.plan.access {
            Access::Paths { writes, .. } => writes.iter().all(|path| path.starts_with(&self.place.folder)),
            Access::Anything | Access::Nothing => false,
        };
        let local = matches!(self.spec.side_effect, SideEffect::Local);
        inside && local && self.place.kind == WorkspaceKind::Project
    }

    /// What rules see of it.
    pub(super) fn subject(&self) -> Subject<'a> {
        let Self { spec, plan, args, place, .. } = *self;
        Subject { tool: &spec.name, origin: &spec.origin, args, folder: &place.folder, access: &plan.access }
    }

    /// The plan's risk, at least the tool's own, one step up for untrusted words in a side effect. What is known to
    /// only look is as risky as its plan says, whatever its tool may do.
    pub(super) fn risk(&self) -> Risk {
        let base = match self.plan.effect {
            Effect::LooksOnly => self.plan.risk,
            Effect::OfTool => self.plan.risk.max(self.spec.risk),
        };
        if self.taint.is_empty() || self.only_looks() {
            return base;
        }
        match base {
            Risk::Low => Risk::Medium,
            Risk::Medium | Risk::High => Risk::High,
        }
    }
}

impl Policy {
    /// Decides one call: the first stage that decides does.
    pub fn decide(&self, grants: &Grants, call: &CallFacts<'_>) -> Decision {
        stages::decided(stages::walk(self, grants, call), call)
    }

    /// How [`Policy::decide`] gets there: every stage up to the one that decides, in order.
    pub fn explain(&self, grants: &Grants, call: &CallFacts<'_>) -> Vec<Step> {
        stages::walk(self, grants, call)
    }

    /// A rule answered one more call, before the files are looked at again.
    pub fn count(&mut self, by: &Decider) {
        let Decider::Rule { id } = by else { return };
        if self.rules.rules.iter().any(|rule| rule.id == *id && rule.uses.is_some()) {
            Arc::make_mut(&mut self.rules).count(id);
        }
    }
}
