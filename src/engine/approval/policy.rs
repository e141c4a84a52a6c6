//! The policy: from the facts of a call to a decision. Total, deterministic, no I/O.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::rules::{RuleSet, Subject};
use super::{Decider, Taint};
use crate::config::{FolderTrust, Mode};
use crate::hook::HookVerdict;
use crate::sandbox::{Backend, Confinement, Isolation};
use crate::stdx::names::names;
use crate::tool::{Access, CallPlan, Category, Effect, Risk, SideEffect, ToolSpec};

/// How calls are decided in this process. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy {
    pub mode: Mode,
    /// Whether `/yolo` is on: visible, never stored, ends with the process.
    pub auto_approve: AutoApprove,
    /// The rules of all files and scopes; those of the session are in its grants.
    pub rules: Arc<RuleSet>,
}

/// Whether `/yolo` answers instead of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AutoApprove {
    #[default]
    Asking,
    /// All but commands that run without a sandbox.
    Yolo,
    /// Commands too: the user typed a `yes` for them.
    YoloUnsandboxed,
}

names! { AutoApprove, word { Asking = "asking", Yolo = "yolo", YoloUnsandboxed = "yolo unsandboxed", } }

/// The folder a session works in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workspace {
    /// Absolute; grants and paths in arguments are relative to it.
    pub folder: PathBuf,
    pub kind: WorkspaceKind,
    pub trust: FolderTrust,
}

/// Where `co` was started. In the home folder itself and in `/`, reads ask too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceKind {
    #[default]
    Project,
    HomeOrRoot,
}

/// Whether the model repeats this call without progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repetition {
    #[default]
    No,
    /// The same call gave the same result this many times: the user must decide.
    Times(u32),
}

/// Everything a decision is based on.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    pub spec: &'a ToolSpec,
    pub plan: &'a CallPlan,
    pub args: &'a Value,
    /// Untrusted text that its arguments contain.
    pub taint: &'a [Taint],
    pub isolation: Isolation,
    pub place: &'a Workspace,
    pub hook: Option<&'a HookVerdict>,
    pub repetition: Repetition,
    /// Whether the user's text or a result from the web contains the web address that it requests.
    pub is_named: bool,
}

impl<'a> CallFacts<'a> {
    /// Whether the call is known to be read-only.
    pub fn only_looks(&self) -> bool {
        let known = self.plan.effect == Effect::ReadOnly && !self.is_unheld();
        known || self.spec.side_effect.is_none()
    }

    fn runs_commands(&self) -> bool {
        self.plan.access == Access::Anything || self.spec.category == Category::Shell
    }

    /// Whether the call is a command, or one of a server's program, that no sandbox holds to what it may do unasked. No rule, grant or mode changes that.
    pub(super) fn is_unheld(&self) -> bool {
        let confinement = match self.plan.effect {
            Effect::ReadOnly => Confinement::ReadOnly,
            Effect::Confined => Confinement::Workspace,
            Effect::OfTool => Confinement::Unsandboxed,
        };
        self.is_of_unheld_server() || self.runs_commands() && !self.isolation.holds(confinement)
    }

    /// Whether a program outside of the sandbox does it, on behalf of a server. One that only reads is trusted to do no more.
    fn is_of_unheld_server(&self) -> bool {
        matches!(self.plan.access, Access::External { unsandboxed: true, .. })
            && !self.spec.side_effect.is_none()
    }

    /// Whether it requests an address that the model made up, in which anything may leave this machine.
    pub(super) fn sends_out(&self) -> bool {
        !self.is_named && matches!(self.plan.access, Access::Web { url: Some(_), .. })
    }

    /// Whether untrusted text in its arguments does no harm.
    pub fn may_be_tainted(&self) -> bool {
        self.only_looks() && !self.sends_out()
    }

    /// Says why a request to the web asks, if it does.
    pub(super) fn why_web_asks(&self) -> Option<String> {
        match &self.plan.access {
            Access::Web { asks: true, .. } => Some("the settings ask about the web".to_owned()),
            Access::Web { host, url: Some(_), .. } if !self.is_named => {
                Some(format!("not named by you or a web page: an address of {host}"))
            }
            Access::Web { .. }
            | Access::Paths { .. }
            | Access::External { .. }
            | Access::Anything
            | Access::Nothing => None,
        }
    }

    /// Whether the call is a command that a sandbox holds to the workspace.
    pub(super) fn is_held_command(&self) -> bool {
        self.runs_commands() && !self.is_unheld()
    }

    /// Says of a command why no sandbox makes it harmless.
    pub(super) fn why_unheld(&self) -> String {
        match (self.isolation.backend, self.plan.effect) {
            _ if self.is_of_unheld_server() => "is of a server outside of the sandbox".to_owned(),
            (Backend::None, _) => "runs unsandboxed".to_owned(),
            (_, Effect::OfTool) => "reaches out of the sandbox".to_owned(),
            (backend, Effect::Confined | Effect::ReadOnly) => {
                format!(
                    "can write to {}, which {} does not prevent",
                    self.isolation.not_held().join(" and "),
                    backend.word()
                )
            }
        }
    }

    /// Whether it edits files of the workspace and does nothing else.
    pub(super) fn edits_workspace(&self) -> bool {
        let is_inside = |path: &PathBuf| path.starts_with(&self.place.folder);
        let inside = self.plan.access.paths().is_some_and(|(_, writes)| writes.iter().all(is_inside));
        let local = matches!(self.spec.side_effect, SideEffect::Local);
        inside && local && self.place.kind == WorkspaceKind::Project
    }

    /// The part of the call that rules see.
    pub(super) fn subject(&self) -> Subject<'a> {
        let Self { spec, plan, args, place, .. } = *self;
        Subject { tool: &spec.name, origin: &spec.origin, args, folder: &place.folder, access: &plan.access }
    }

    /// The plan's risk, at least the tool's own, and one step higher if a call with a side effect is tainted.
    /// A call known to be read-only has its plan's risk, whatever its tool may do.
    pub(super) fn risk(&self) -> Risk {
        let base = match self.plan.effect {
            Effect::ReadOnly => self.plan.risk,
            Effect::OfTool | Effect::Confined => self.plan.risk.max(self.spec.risk),
        };
        if self.taint.is_empty() || self.may_be_tainted() {
            return base;
        }
        match base {
            Risk::Low => Risk::Medium,
            Risk::Medium | Risk::High => Risk::High,
        }
    }
}

impl Policy {
    /// Counts a call that a rule answered, before the rules' files are read again.
    pub fn count(&mut self, by: &Decider) {
        let Decider::Rule { id } = by else { return };
        if self.rules.rules.iter().any(|rule| rule.id == *id && rule.uses.is_some()) {
            Arc::make_mut(&mut self.rules).count(id);
        }
    }
}
