//! The hook seam: programs of the person's own that look at what `co` does (seed 003).
//!
//! A hook may stop a call, ask for it, allow it, put it off or rewrite its arguments; what it says is one voice among
//! those that the policy weighs, and never passes a deny. The trait and its values only; the one that runs a program
//! is beside this file (layer 5): `file` reads definitions, `trust` knows which may run (`words` finds the files of a text for the shell), `command` runs them by
//! `process` and takes `answer`s, `told` is what the person hears. Called by the driver and by whoever opens and closes
//! sessions.

pub mod answer;
pub mod command;
pub mod file;
pub mod process;
pub mod told;
pub mod trust;
mod words;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{ToolCall, ToolName, ToolReturn};

/// When a hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HookEvent {
    /// A session was opened, new or again.
    SessionStart,
    /// A prompt is about to start a turn. A deny sends it back to the person.
    UserPromptSubmit,
    /// A call is planned and not decided yet.
    PreToolUse,
    /// A call ended well.
    PostToolUse,
    /// A call failed.
    PostToolUseFailure,
    /// Older messages are about to be left out. A deny keeps them, where they fit.
    PreCompact,
    /// The model has said its last word of a turn. A deny makes it go on, once a turn.
    Stop,
    /// The session is left.
    SessionEnd,
}

impl HookEvent {
    pub const ALL: [Self; 8] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PreCompact,
        Self::Stop,
        Self::SessionEnd,
    ];

    /// As it is written in files and told to hooks.
    pub fn word(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PreCompact => "PreCompact",
            Self::Stop => "Stop",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Whether it is about one call, and so about one tool.
    pub fn is_about_a_call(self) -> bool {
        match self {
            Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure => true,
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::PreCompact
            | Self::Stop
            | Self::SessionEnd => false,
        }
    }
}

/// What a hook is told.
#[derive(Debug, Clone, PartialEq)]
pub struct HookInput {
    /// The session's id.
    pub session: String,
    /// The session's folder; absolute.
    pub workspace: PathBuf,
    pub subject: HookSubject,
}

/// What it is about; each belongs to one event.
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
        /// Messages that would be left out.
        messages: usize,
    },
    Stop {
        /// The last reply's text.
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

/// Looks at one moment, and may have a word.
pub trait Hook: Send + Sync {
    /// How it is named in reasons and in the audit.
    fn name(&self) -> &str;

    /// Whether it is run at this event; for events about a call, of this tool.
    fn wants(&self, event: HookEvent, tool: Option<&ToolName>) -> bool;

    /// Cancel-safe: dropped at once on interrupt. A hook that takes too long has no opinion; one that breaks makes the
    /// call ask that it should have looked at.
    fn fire<'a>(&'a self, input: &'a HookInput) -> BoxFuture<'a, HookVerdict>;
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict {
    /// No opinion.
    Pass,
    /// Settles an ask by risk or mode; no deny, no ask rule and no taint floor.
    Allow { reason: String },
    /// A person must see this call whatever the rules allow.
    Ask { reason: String },
    /// As ask, and nobody waits for the answer: the request is put off at once.
    Defer { reason: String },
    /// The call does not run; what is not a call is stopped.
    Deny { reason: String },
    /// Other arguments: planned and decided again; the hook does not see its own rewrite.
    Rewrite { args: Value },
    /// Words for the model; of events where there is nothing to decide.
    Note { text: String },
}
