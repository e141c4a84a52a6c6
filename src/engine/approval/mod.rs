//! Approvals: the policy, its decisions, grants, and the user's approval.
//!
//! [`Policy::decide`] is total and pure. It is the only place where a call is allowed, denied or sent to the
//! user. The user's approval settles an ask, never a deny. `stages` are the steps of a decision, `rules` the
//! permanent decisions of the user, `grants` those for the session; `provenance` finds the sources of text in
//! arguments.

pub mod command_words;
mod grants;
mod policy;
mod provenance;
pub mod rules;
mod stages;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::grants::{Grant, Grants};
pub use self::policy::{AutoApprove, CallFacts, Policy, Repetition, Workspace, WorkspaceKind};
pub use self::provenance::{Provenance, Reach, Taint};
pub use self::stages::{Stage, StageOutcome, Step};
use crate::config::Mode;
use crate::message::{CallId, ToolName};
use crate::tool::{Access, CallPlan, Preview, Risk};

/// The policy's decision on one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub verdict: Verdict,
    /// The final risk; never below the plan's.
    pub risk: Risk,
    /// The chain of reasons, first cause first; shown and logged.
    pub because: Vec<String>,
    /// The origin of the decision; for an ask, the cause of the ask.
    pub by: Decider,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allow,
    Ask,
    /// Ask, but set to later at once, without waiting for the user.
    Later,
    /// Not run: its preview is the return, and it becomes a request.
    Preview,
    Deny,
}

/// A call that was settled without the user, as stored for the audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The tool that runs, or that was denied.
    pub tool: ToolName,
    pub args: Value,
    /// The call as the model wrote it, if a hook rewrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<(ToolName, Value)>,
    pub verdict: Verdict,
    pub risk: Risk,
    pub because: Vec<String>,
    pub by: Decider,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
}

/// The user's decision on a request. Stored: variants and fields may only be added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "approval", rename_all = "snake_case")]
pub enum Approval {
    Approve {
        /// Corrected arguments, or another call instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<(ToolName, Value)>,
        remember: Remember,
        /// The user's message to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// With [`Remember::Session`]: the session's new rule, as TOML, instead of the default grant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
    },
    Deny {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Not decided now: the request stays.
    Later,
}

impl Approval {
    /// A plain approval, once.
    pub fn yes() -> Self {
        Self::Approve { instead: None, remember: Remember::Once, note: None, rule: None }
    }

    /// An approval of other arguments, or of another call instead.
    pub fn to(tool: ToolName, args: Value) -> Self {
        Self::Approve { instead: Some((tool, args)), remember: Remember::Once, note: None, rule: None }
    }

    /// Says what was decided: "approved with changes", "answered". Without its request the kind of call is not known.
    pub fn verdict(&self, request: Option<&Request>) -> DecisionKind {
        match self {
            Self::Approve { .. } if request.is_some_and(Request::wants_answer) => DecisionKind::Answered,
            Self::Approve { instead: None, .. } => DecisionKind::Approved,
            Self::Approve { instead: Some((tool, _)), .. }
                if request.is_some_and(|request| request.tool != *tool) =>
            {
                DecisionKind::Replaced(Some(tool.clone()))
            }
            Self::Approve { instead: Some(_), .. } => DecisionKind::Edited,
            Self::Deny { .. } => DecisionKind::Denied,
            Self::Later => DecisionKind::Postponed,
        }
    }

    /// An approval of this call and similar ones for the session.
    pub fn for_session() -> Self {
        Self::Approve { instead: None, remember: Remember::Session, note: None, rule: None }
    }
}

/// The decision, as a sentence says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionKind {
    Answered,
    Approved,
    /// Approved by no person, or for more than one call.
    Allowed,
    /// Approved with other arguments.
    Edited,
    /// Approved as another call, of this tool.
    Replaced(Option<ToolName>),
    Denied,
    Postponed,
}

impl std::fmt::Display for DecisionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Answered => "answered",
            Self::Approved => "approved",
            Self::Allowed => "allowed",
            Self::Edited => "approved with changes",
            Self::Replaced(Some(tool)) => return write!(f, "approved as another call, {tool}"),
            Self::Replaced(None) => "approved as another call",
            Self::Denied => "denied",
            Self::Postponed => "postponed",
        })
    }
}

/// How long an approval lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    Once,
    /// For the session: this tool, or for `shell` these command words in this folder.
    Session,
    /// As long as the rule that was saved with it is in effect.
    Rule,
}

/// Who or what decided. Stored: variants may only be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Decider {
    /// The user, at a card of the full screen.
    Tui,
    /// The user, in the plain front end.
    Plain,
    /// The user, with `co approvals` in some process.
    Cli,
    /// A scripted front end.
    Script,
    /// A rule of a file or of the session.
    Rule {
        id: String,
    },
    /// A grant for the session.
    Grant,
    Mode {
        mode: Mode,
    },
    Yolo,
    Hook,
    /// No rule: the call's risk, taint or kind.
    Risk,
    /// The request timed out.
    Expiry,
}

impl Decider {
    /// Whether a person decided, at any front end.
    pub fn is_person(&self) -> bool {
        matches!(self, Self::Tui | Self::Plain | Self::Cli | Self::Script)
    }

    /// Names who or what decided, for use alone or after `by`.
    pub fn who(&self) -> String {
        match self {
            Self::Tui => "you (full screen)".to_owned(),
            Self::Plain => "you (plain)".to_owned(),
            Self::Cli => "you (co approvals)".to_owned(),
            Self::Script => "a script".to_owned(),
            Self::Rule { id } => format!("rule {id}"),
            Self::Grant => "a session approval".to_owned(),
            Self::Mode { mode } => format!("{} mode", mode.word()),
            Self::Yolo => "yolo".to_owned(),
            Self::Hook => "a hook".to_owned(),
            Self::Risk => "its risk".to_owned(),
            Self::Expiry => "expiry".to_owned(),
        }
    }

    /// Describes where the decision was made.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tui => "in the full screen",
            Self::Plain => "in plain mode",
            Self::Cli => "with co approvals",
            Self::Script => "by a script",
            Self::Rule { .. } => "by a rule",
            Self::Grant => "by a session approval",
            Self::Mode { .. } => "by the mode",
            Self::Yolo => "by yolo",
            Self::Hook => "by a hook",
            Self::Risk => "by its risk",
            Self::Expiry => "by expiry",
        }
    }
}

/// How requests ended without a decision, in words.
pub const WITHDRAWN: &str = "withdrawn because the turn was stopped";
pub const SUPERSEDED: &str = "replaced by a new request";
pub const EXPIRED: &str = "expired, not run";

/// A request's id: 12 hexadecimal digits; users may type any unique prefix.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub String);

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that waits for a decision, stored before it is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub id: RequestId,
    pub call: CallId,
    /// The tool that would run: of the model's call, or of a call changed by an edit or a hook.
    pub tool: ToolName,
    pub args: Value,
    pub plan: CallPlan,
    /// The risk as decided; at least the plan's.
    pub risk: Risk,
    /// Why it asks: the policy's chain of reasons.
    pub why: Vec<String>,
    /// Labels of unfinished calls that must run before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Calls that must have succeeded before it runs, whether they wait or not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<CallId>,
    /// Untrusted text that its arguments contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
    /// When it expires and can no longer be decided; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<jiff::Timestamp>,
    /// Why it is asked again: an edit that failed to plan, or a changed basis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// The JSON Schema of the tool's arguments when it was made, if a server offers the tool: its arguments can be changed
    /// while the server is not connected. `None` for tools of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Box<Value>>,
}

/// The tool of a question that a tool server asks the user; no tool can be called so, because those of servers contain `_`.
pub const QUESTION: &str = "question";

impl Request {
    /// A first request of the plan's risk, without reasons, dependencies and expiry. Its taint is empty: the caller sets it
    /// unless no model wrote the arguments.
    #[must_use]
    pub fn new(id: RequestId, call: CallId, tool: ToolName, args: Value, plan: CallPlan) -> Self {
        let (why, after, depends, taint) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (risk, expires, again, parameters) = (plan.risk, None, None, None);
        Self { id, call, tool, args, plan, risk, why, after, depends, taint, expires, again, parameters }
    }

    /// Returns why it is never allowed for a whole session; `None` if it may be.
    pub fn only_once(&self) -> Option<&'static str> {
        match self.risk {
            _ if self.plan.question.is_some() => Some("questions are answered each time"),
            Risk::High => Some("HIGH requests are never allowed for a whole session"),
            Risk::Low | Risk::Medium => None,
        }
    }

    /// Whether it is a question of a tool server: its arguments are the answer, and no call runs.
    pub fn is_question(&self) -> bool {
        self.tool.as_str() == QUESTION
    }

    /// Whether an approval is an answer: to the model, or to a tool server.
    pub fn wants_answer(&self) -> bool {
        self.is_question() || self.plan.question.is_some()
    }

    /// Returns the JSON Schema of its tool's arguments; `known` is asked for that of a tool of the program.
    pub fn schema(&self, known: impl FnOnce() -> Option<Value>) -> Option<Value> {
        self.parameters.as_deref().cloned().or_else(known)
    }

    /// Returns the reply that its call belongs to, and the index of the call in it.
    pub fn place_in_reply(&self) -> (&str, usize) {
        let id = self.call.0.as_str();
        let (reply, index) = id.rsplit_once('.').unwrap_or((id, ""));
        (reply, index.parse().unwrap_or(0))
    }

    /// Whether its call comes before that of another request of the same reply.
    pub fn precedes(&self, other: &Self) -> bool {
        let ((reply, index), (other_reply, other_index)) = (self.place_in_reply(), other.place_in_reply());
        reply == other_reply && index < other_index
    }

    /// Whether a person may approve it without having seen all of it: the contents of a file, not HIGH, and without
    /// untrusted text. Never a command. Each front end says first that not all was shown.
    pub fn may_be_unread(&self) -> bool {
        let is_file = matches!(self.plan.preview, Preview::Diff { .. })
            && matches!(self.plan.access, Access::Paths { .. });
        is_file && self.risk != Risk::High && self.taint.is_empty()
    }
}

/// The requests that a deferred turn waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredToolRequests {
    pub requests: Vec<RequestId>,
}
