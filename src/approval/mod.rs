//! Who decides what: the policy, its decisions, grants, and a person's approval.
//!
//! [`Policy::decide`] is total and pure; it is the one place where a call is allowed, denied or sent to
//! a person. A person's yes settles an ask, never a deny. Rules files come with a later capability; the
//! signatures are final.

mod grants;
mod policy;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::grants::{Grant, Grants};
pub use self::policy::{CallFacts, FolderTrust, Mode, Policy, Rule, RuleEffect, Standing, WorkspaceKind};
use crate::message::{CallId, ToolName};
use crate::tool::{CallPlan, Risk};

/// What the policy says of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// The risk as decided; never below the plan's own.
    pub risk: Risk,
    /// The chain of reasons, first cause first; shown and logged.
    pub because: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// A person's word on a request. Stored: only added to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "approval", rename_all = "snake_case")]
pub enum Approval {
    Approve {
        /// Corrected arguments, or another call in its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<(ToolName, Value)>,
        remember: Remember,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Not now: the request stays.
    Later,
}

impl Approval {
    /// A plain yes.
    pub fn yes() -> Self {
        Self::Approve { instead: None, remember: Remember::Once }
    }
}

/// How long a yes lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    Once,
    /// For the session: this tool, or for `shell` exactly this command in this folder.
    Session,
    /// Saved as a rule; comes with rules files.
    Rule,
}

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Decider {
    /// At a card of the full screen.
    Tui,
    /// `co approvals` in some process.
    Cli,
    /// A scripted front end.
    Script,
}

impl Decider {
    /// Where the decision was made, in words.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tui => "in the full screen",
            Self::Cli => "with co approvals",
            Self::Script => "by a script",
        }
    }
}

/// A request's id: 12 hex digits; people type any unique prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub String);

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that waits for a decision, as stored before it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub id: RequestId,
    pub call: CallId,
    /// What would run: the model's call, or what an edit or a hook made of it.
    pub tool: ToolName,
    pub args: Value,
    pub plan: CallPlan,
    /// As decided; at least the plan's.
    pub risk: Risk,
    /// Why it asks: the policy's chain of reasons.
    pub why: Vec<String>,
    /// Labels of unfinished calls it runs after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Why it is back: an edit that failed to plan, a basis that moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// What a deferred turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredToolRequests {
    pub requests: Vec<RequestId>,
}
