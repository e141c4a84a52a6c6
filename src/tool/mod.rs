//! The tool seam: what a tool says of itself, how a call is planned, how it runs.
//!
//! A tool never asks a person and never sees a front end; it looks (`plan`) and it does (`run`).
//! Whether it may is decided between the two, elsewhere. Implementations are in `tool/builtin` (layer 5).

pub mod builtin;
pub mod diff;
pub mod hunks;
pub mod schema;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::message::{CallId, ReturnPart, Source, ToolName, Trust};

/// Something the model may call.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Looks, never touches. Errs with [`ToolError::Misuse`] where arguments are wrong: the model reads
    /// the hint and may repair its call. Cancel-safe: it may be dropped at any await.
    fn plan<'a>(&'a self, args: &'a Value, cx: &'a PlanContext)
    -> BoxFuture<'a, Result<CallPlan, ToolError>>;

    /// Does it, with arguments that `plan` accepted. Returns soon after `cx.cancel` fires.
    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// What a tool says of itself. Pure data: the turn machine plans with it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: ToolName,
    pub description: String,
    /// JSON Schema of an object, derived from a Rust type.
    pub parameters: Value,
    pub category: Category,
    pub risk: Risk,
    pub side_effect: SideEffect,
    pub origin: Origin,
    /// Bytes of output the model gets; the rest is spilled to a file that can be read back.
    pub output_limit: usize,
    pub timeout: Duration,
}

/// Where a tool comes from; rules can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Builtin,
    /// A tool server, by the name it has in the settings.
    Server(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    Files,
    Search,
    Shell,
}

/// How much harm a call can do (seed 000's tiers). Stored: only added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
}

impl Risk {
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "HIGH",
        }
    }
}

/// Only a tool without side effects can be cached or started early: the type says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    None {
        cache_for: Option<Duration>,
    },
    /// Changes this machine.
    Local,
    /// Leaves this machine.
    External,
}

impl SideEffect {
    pub fn is_none(self) -> bool {
        match self {
            Self::None { .. } => true,
            Self::Local | Self::External => false,
        }
    }
}

/// What one call would do, found by looking. Stored with the request it leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallPlan {
    /// One imperative line: "write 14 lines to notes/today.md".
    pub summary: String,
    pub preview: Preview,
    pub risk: Risk,
    pub access: Access,
    /// What the plan rests on; checked again just before the call runs.
    pub basis: Vec<(Resource, Version)>,
    pub undo: Undo,
    /// What this very call does, where that is less than its tool may do.
    #[serde(default, skip_serializing_if = "Effect::is_of_tool")]
    pub effect: Effect,
    /// For tools that ask the person: the answer is the return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Why only a person may say yes: no rule, grant, hook, mode or yolo does in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Preview {
    None,
    Text {
        text: String,
    },
    /// A change to one file as lines, with three lines of context around each hunk.
    Diff {
        path: String,
        lines: Vec<DiffLine>,
    },
    Fields {
        fields: Vec<(String, String)>,
    },
}

impl Preview {
    /// The lines a diff adds or removes, without context: two plans with the same ones do the same.
    pub fn changed_lines(&self) -> Vec<&DiffLine> {
        match self {
            Self::Diff { lines, .. } => lines
                .iter()
                .filter(|line| match line.kind {
                    DiffKind::Added | DiffKind::Removed => true,
                    DiffKind::Context | DiffKind::Hunk => false,
                })
                .collect(),
            Self::None | Self::Text { .. } | Self::Fields { .. } => Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    pub kind: DiffKind,
    /// Line number from 1: in the old text for removed lines, in the new one otherwise; of hunks, the new one's first.
    pub number: usize,
    /// Without its line end.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// A hunk's head; `text` says where it lies.
    Hunk,
    Context,
    Added,
    Removed,
}

/// What a call touches; the scheduler orders calls by it. Paths are absolute and normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Access {
    Paths { reads: Vec<PathBuf>, writes: Vec<PathBuf> },
    Anything,
    Nothing,
}

/// A thing a plan rests on: for files, the absolute path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resource(pub String);

/// A state of a resource: for files, a hash of the bytes, or `absent`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(pub String);

/// How much of its tool's side effect a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// As the tool says of itself.
    #[default]
    OfTool,
    /// Known to only look; of a command this counts where it is shut in, and lowers its risk elsewhere.
    LooksOnly,
}

impl Effect {
    fn is_of_tool(&self) -> bool {
        *self == Self::OfTool
    }
}

/// What can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    Exact,
    Compensating,
    Hold,
    None,
}

/// A question to the person in place of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
}

/// Versions of resources as the model last saw them, our own writes included.
pub type Seen = BTreeMap<Resource, Version>;

/// What `plan` may know.
#[derive(Debug, Clone)]
pub struct PlanContext {
    /// The folder `co` was started in; absolute, symlinks resolved.
    pub workspace: PathBuf,
    /// Where spilled outputs lie; readable like the workspace.
    pub spill: PathBuf,
    /// Folders of `co` itself: settings, rules, hooks, keys, data. Absolute, links resolved where they exist.
    pub own: Arc<[PathBuf]>,
    pub seen: Arc<Seen>,
}

/// What `run` may know and use.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub call: CallId,
    pub workspace: PathBuf,
    pub spill: PathBuf,
    /// As in [`PlanContext`].
    pub own: Arc<[PathBuf]>,
    pub seen: Arc<Seen>,
    /// Fires on interrupt; the tool returns soon after.
    pub cancel: CancellationToken,
    /// Live output for the screen; bounded, and dropped when full (`try_send`).
    pub progress: mpsc::Sender<Progress>,
}

/// A piece of live output of a running call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub call: CallId,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    pub content: Vec<ReturnPart>,
    pub source: Source,
    pub trust: Trust,
    /// Resources the model has now seen, or that this call has just written.
    pub seen: Vec<(Resource, Version)>,
}

/// Why a tool did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The arguments are wrong; the hint says how to repair them.
    #[error("{hint}")]
    Misuse { hint: String },
    /// It may work when called again.
    #[error("{message}")]
    Transient { message: String },
    /// It will not work; `message` holds everything the model should know, partial output included.
    #[error("{message}")]
    Terminal { message: String },
}

/// The tools of this process, by name. Frozen once built.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<ToolName, Arc<dyn Tool>>,
}

impl Registry {
    /// Later tools replace earlier ones of the same name.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect() }
    }

    pub fn get(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| tool.spec())
    }
}
