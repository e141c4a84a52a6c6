//! The hook interface: the user's own programs that examine what `co` does (seed 003).
//!
//! A hook may deny a call, make it ask, allow it, defer it or rewrite its arguments. Its verdict is one input
//! among those that the policy weighs, and never overrides a deny. This file holds only the trait and its
//! values; the hook that runs a program is in the same folder (layer 5): `file` parses definitions, `trust` decides
//! which may run (`words` finds the files named in a shell command line), `command` runs them through
//! `process` and parses their output with `answer`, `notices` reports to the user. Called by the driver and by
//! the code that opens and closes sessions.

pub mod answer;
pub mod command;
mod command_files;
pub mod file;
pub mod notices;
pub mod process;
pub mod trust;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{ToolCall, ToolName, ToolReturn};
use crate::stdx::names::names;

/// The event at which a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HookEvent {
    /// A session was opened, new or resumed.
    SessionStart,
    /// A prompt is about to start a turn. A deny returns it to the user.
    UserPromptSubmit,
    /// A call is planned and not yet decided.
    PreToolUse,
    /// A call succeeded.
    PostToolUse,
    /// A call failed.
    PostToolUseFailure,
    /// Older messages are about to be left out. A deny keeps them, if they fit.
    PreCompact,
    /// The model has finished its turn. A deny makes it continue, once per turn.
    Stop,
    /// The session is closed.
    SessionEnd,
}

names! {
    HookEvent, all {
        SessionStart = "SessionStart",
        UserPromptSubmit = "UserPromptSubmit",
        PreToolUse = "PreToolUse",
        PostToolUse = "PostToolUse",
        PostToolUseFailure = "PostToolUseFailure",
        PreCompact = "PreCompact",
        Stop = "Stop",
        SessionEnd = "SessionEnd",
    }
}

impl HookEvent {
    /// The verdict of a hook that could not decide: a planned call that it should have examined asks.
    pub(crate) fn undecided_verdict(self, reason: String) -> HookVerdict {
        if self == Self::PreToolUse { HookVerdict::Ask { reason } } else { HookVerdict::Pass }
    }

    /// Whether the event is about one call, and therefore one tool.
    pub fn is_about_a_call(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure)
    }
}

/// The input of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct HookInput {
    /// The session's id.
    pub session: String,
    /// The session's folder; absolute.
    pub workspace: PathBuf,
    pub subject: HookSubject,
}

/// The subject of a run; each variant belongs to one event.
#[derive(Debug, Clone, PartialEq)]
pub enum HookSubject {
    SessionStart {
        /// `new` or `resume`.
        source: &'static str,
    },
    UserPromptSubmit {
        prompt: String,
    },
    PreToolUse {
        call: ToolCall,
    },
    PostToolUse {
        call: ToolCall,
        returned: ToolReturn,
    },
    PostToolUseFailure {
        call: ToolCall,
        returned: ToolReturn,
    },
    PreCompact {
        /// Number of messages that would be left out.
        messages: usize,
    },
    Stop {
        /// The text of the last reply.
        answer: String,
    },
    SessionEnd {
        /// `quit`, `switched`, `ended`.
        reason: &'static str,
    },
}

impl HookSubject {
    pub fn event(&self) -> HookEvent {
        match self {
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
        }
    }
}

/// Examines an event and returns a verdict.
pub trait Hook: Send + Sync {
    /// The name used in reasons and in the audit.
    fn name(&self) -> &str;

    /// Whether the hook is run at this event; for events about a call, for this tool.
    fn wants(&self, event: HookEvent, tool: Option<&ToolName>) -> bool;

    /// Runs the hook. Cancel-safe: dropped at once on interrupt. If the hook fails or exceeds its time limit,
    /// a planned call asks; at other events the verdict is [`HookVerdict::Pass`].
    fn fire<'a>(&'a self, input: &'a HookInput) -> BoxFuture<'a, HookVerdict>;
}

/// The verdict of a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict {
    /// No opinion.
    Pass,
    /// Settles an ask by risk or mode; overrides no deny, no ask rule and no ask because of taint.
    Allow { reason: String },
    /// The user must see this call, whatever the rules allow.
    Ask { reason: String },
    /// Like ask, but does not wait for a decision: the request is set to later at once.
    Defer { reason: String },
    /// The call does not run; an event that is not a call is stopped.
    Deny { reason: String },
    /// Replaces the arguments: the call is planned and decided again; the hook is not run on its own rewrite.
    Rewrite { args: Value },
    /// A text for the model, at events without a decision.
    Note { text: String },
}
