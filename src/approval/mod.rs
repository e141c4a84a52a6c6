//! Who decides what: the policy, its decisions, grants, and a person's approval.
//!
//! [`Policy::decide`] is total and pure; it is the one place where a call is allowed, denied or sent to
//! a person. A person's yes settles an ask, never a deny. `stages` are what it goes through, `rules` what was decided for
//! good, `grants` what was for the session, `provenance` says whose words arguments carry.

mod grants;
mod policy;
mod provenance;
pub mod rules;
mod stages;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::grants::{Grant, Grants};
pub use self::policy::{CallFacts, Circling, FolderTrust, Mode, Place, Policy, Standing, WorkspaceKind};
pub use self::provenance::{Provenance, Reach, Taint};
pub use self::stages::{Found, Stage, Step};
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
    /// What settled it; of an ask, what asks.
    pub by: Decider,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    /// Ask, and put it off at once: nobody waits for the answer.
    Later,
    /// Not done: its preview is the return, and it becomes a request.
    Preview,
    Deny,
}

/// A call that was settled without a person, as it is kept for the audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What runs, or does not.
    pub tool: ToolName,
    pub args: Value,
    /// What the model wrote, where a hook made something else of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(ToolName, Value)>,
    pub verdict: Verdict,
    pub risk: Risk,
    pub because: Vec<String>,
    pub by: Decider,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
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
        /// The person's words to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// With [`Remember::Session`]: the rule that counts from now on, as TOML, in place of what is allowed else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
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
        Self::Approve { instead: None, remember: Remember::Once, note: None, rule: None }
    }

    /// A yes to other arguments, or to another call in its place.
    pub fn to(tool: ToolName, args: Value) -> Self {
        Self::Approve { instead: Some((tool, args)), remember: Remember::Once, note: None, rule: None }
    }

    /// A yes to this and to what is like it, for the session.
    pub fn for_session() -> Self {
        Self::Approve { instead: None, remember: Remember::Session, note: None, rule: None }
    }
}

/// How long a yes lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    Once,
    /// For the session: this tool, or for `shell` these command words in this folder.
    Session,
    /// For as long as the rule that was saved with it counts.
    Rule,
}

/// Who or what decided. Stored: only added to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Decider {
    /// At a card of the full screen.
    Tui,
    /// `co approvals` in some process.
    Cli,
    /// A scripted front end.
    Script,
    /// A rule of a file or of the session.
    Rule {
        id: String,
    },
    /// What was allowed for the session.
    Grant,
    Mode {
        mode: Mode,
    },
    Yolo,
    Hook,
    /// No rule: its risk, its words or what it is.
    Risk,
    /// Nobody, in time.
    Expiry,
}

impl Decider {
    /// Where the decision was made, in words.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tui => "in the full screen",
            Self::Cli => "with co approvals",
            Self::Script => "by a script",
            Self::Rule { .. } => "by a rule",
            Self::Grant => "by what you allowed for the session",
            Self::Mode { .. } => "by the mode",
            Self::Yolo => "by yolo",
            Self::Hook => "by a hook",
            Self::Risk => "by its risk",
            Self::Expiry => "by nobody in time",
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
    /// Calls that must have ended well before it runs, whether they wait or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<CallId>,
    /// Untrusted words that its arguments carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
    /// From then on nobody can decide it; `None`: it waits for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<jiff::Timestamp>,
    /// Why it is back: an edit that failed to plan, a basis that moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
}

/// What a deferred turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredToolRequests {
    pub requests: Vec<RequestId>,
}
