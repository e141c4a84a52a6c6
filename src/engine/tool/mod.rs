//! The tool interface: how a tool describes itself, how a call is planned, and how it runs.
//!
//! A tool never asks the user and has no access to a front end: `plan` only reads, `run` acts. Whether a call
//! may run is decided between the two, elsewhere. Implementations are in `tool/builtin` (layer 5).

pub mod builtin;
pub mod cache;
pub mod diff;
pub mod hunks;
pub mod mcp;
pub mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::message::{Authorship, CallId, ReturnPart, ReturnStatus, Source, ToolName, Trust};
pub use crate::message::{DiffKind, DiffLine};
use crate::stdx::names::names;

/// The name of the tool that finds tools of servers.
pub const FIND_TOOLS: &str = "find_tools";

/// The name of the tool that fetches web pages.
pub const WEB_FETCH: &str = "web_fetch";

/// The name of the tool that runs commands.
pub const SHELL: &str = "shell";

/// The name of the tool that keeps the model's list of steps.
pub const TODO: &str = "todo";

/// The name of the tool that finds memories: the source of those that are added to a prompt.
pub const RECALL_MEMORY: &str = "recall_memory";

/// The kind of an argument whose text is written or run unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// The whole content of the file at the argument `path`.
    File,
    /// A text that is replaced in that file.
    Old,
    /// The text that replaces it.
    New,
    Command,
    Patch,
}

/// The arguments of a tool with such texts, from top to bottom.
pub type TextArgs = &'static [(&'static str, TextKind)];

/// A tool that the model may call.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Plans a call, without side effects. Errs with [`ToolError::Misuse`] if arguments are wrong: the model
    /// receives the hint and may repair its call. Cancel-safe: it may be dropped at any await.
    fn plan<'a>(&'a self, args: &'a Value, cx: &'a PlanContext)
    -> BoxFuture<'a, Result<CallPlan, ToolError>>;

    /// Runs a call with arguments that `plan` accepted. Returns soon after `cx.cancel` fires.
    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Says to people, in a few words, how a run ended: "3 matches", "exit 3". `text` is what the run returned for the
    /// model. Empty if there is nothing to say.
    fn outcome(&self, _status: ReturnStatus, _text: &str) -> String {
        String::new()
    }
}

/// A tool's description of itself. Pure data: the turn machine plans with it.
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
    /// The maximum number of output bytes sent to the model; longer output is also stored in a spill file
    /// that can be read back.
    pub output_limit: usize,
    pub timeout: Duration,
}

#[cfg(test)]
impl ToolSpec {
    /// A tool of the program for tests: LOW, without parameters.
    pub fn sample(name: &str, category: Category, side_effect: SideEffect) -> Self {
        Self {
            name: ToolName::new(name),
            description: String::new(),
            parameters: serde_json::json!({}),
            category,
            risk: Risk::Low,
            side_effect,
            origin: Origin::Builtin,
            output_limit: 1000,
            timeout: Duration::from_secs(9),
        }
    }
}

/// Where a tool comes from; rules can name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Builtin,
    /// A tool server, by its name in the settings.
    Server(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Files,
    Search,
    Git,
    Web,
    Shell,
    /// Commands that run in the background.
    Tasks,
    /// Questions to the user, and texts kept for the user to see.
    User,
    /// Knowledge kept beyond a session.
    Memory,
    /// Tools of other programs.
    Server,
}

names! {
    Category, word {
        Files = "files",
        Search = "search",
        Git = "git",
        Web = "web",
        Shell = "shell",
        Tasks = "tasks",
        User = "user",
        Memory = "memory",
        Server = "server",
    }
}

impl ToolSpec {
    /// The first sentence of its description.
    pub fn about(&self) -> &str {
        self.description.split_inclusive(". ").next().unwrap_or_default().trim()
    }

    /// Says in a few words whether its calls ask.
    pub fn asks(&self) -> &'static str {
        match (self.category, self.side_effect) {
            (Category::User, _) => "needs no approval",
            (Category::Web, _) if self.name.as_str() == WEB_FETCH => "asks unless you or a page named it",
            (Category::Web, _) => "only reads",
            (_, SideEffect::None { .. }) => "only reads",
            (Category::Server, SideEffect::External) => "asks first, leaves this machine",
            // Of commands, those that are HIGH whatever their words send or fetch.
            (_, SideEffect::External) if self.risk == Risk::High => "asks first, leaves this machine",
            (_, SideEffect::Local | SideEffect::External) => "asks first",
        }
    }
}

/// How much harm a call can do (seed 000's tiers). Stored: variants may only be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
}

names! { Risk, word { Low = "low", Medium = "medium", High = "HIGH", } }

/// The side effect of a tool. Only a tool without one can be cached or started early; the type says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    None {
        cache_for: Option<Duration>,
    },
    /// Changes this machine.
    Local,
    /// Can reach beyond this machine: a command, or a tool of a server.
    External,
}

impl SideEffect {
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None { .. })
    }
}

/// The effects of one call, as determined by planning. Stored with the request that results from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallPlan {
    /// One imperative line: "write 14 lines to notes/today.md".
    pub summary: String,
    pub preview: Preview,
    pub risk: Risk,
    pub access: Access,
    /// The resource versions that the plan depends on; checked again just before the call runs.
    pub basis: Vec<(Resource, Version)>,
    pub undo: Undo,
    /// The effect of this particular call, if it is less than its tool may have.
    #[serde(default, skip_serializing_if = "Effect::is_of_tool")]
    pub effect: Effect,
    /// For tools that ask the user: the answer becomes the return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Why only the user may approve: no rule, grant, hook, mode or `/yolo` may approve instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<String>,
}

impl CallPlan {
    /// A plan without preview, basis and undo, which anyone may approve.
    pub fn new(summary: String, risk: Risk, access: Access) -> Self {
        Self {
            summary,
            preview: Preview::None,
            risk,
            access,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
            question: None,
            needs_person: None,
        }
    }
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
    /// Returns the lines a diff adds or removes, without context: equal lines mean the same change.
    pub fn changed_lines(&self) -> Vec<&DiffLine> {
        match self {
            Self::Diff { lines, .. } => {
                lines.iter().filter(|line| matches!(line.kind, DiffKind::Added | DiffKind::Removed)).collect()
            }
            Self::None | Self::Text { .. } | Self::Fields { .. } => Vec::new(),
        }
    }
}

/// The things that a call accesses; the scheduler orders calls by them. Paths are absolute and normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Access {
    Paths {
        reads: Vec<PathBuf>,
        writes: Vec<PathBuf>,
    },
    /// A tool server, by its name: calls of one run in order, unless they only read.
    External {
        server: String,
        /// Whether it is a program that no sandbox holds.
        #[serde(default)]
        unsandboxed: bool,
    },
    /// Sends a request to a host on the web.
    Web {
        host: String,
        /// The whole address, if the model chose it: it is requested unasked only where somebody else named it.
        url: Option<String>,
        /// Whether the settings say that it asks.
        #[serde(default)]
        asks: bool,
    },
    Anything,
    Nothing,
}

impl Access {
    /// Returns the paths read and written; `None` if they are not known or there are none.
    pub fn paths(&self) -> Option<(&[PathBuf], &[PathBuf])> {
        match self {
            Self::Paths { reads, writes } => Some((reads, writes)),
            Self::External { .. } | Self::Web { .. } | Self::Anything | Self::Nothing => None,
        }
    }
}

/// A resource that a plan depends on: for files, the absolute path.
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
    /// That of the tool's description.
    #[default]
    OfTool,
    /// Known to be read-only. For a command this counts only if it is isolated; without isolation it only
    /// lowers the risk.
    #[serde(rename = "looks_only")]
    ReadOnly,
    /// A command that changes files of the workspace at most, as far as its words show. Counts only if a sandbox holds it
    /// to that.
    Confined,
}

impl Effect {
    fn is_of_tool(&self) -> bool {
        *self == Self::OfTool
    }
}

/// Whether and how a call can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    Exact,
    Compensating,
    Hold,
    None,
}

impl CallPlan {
    /// Whether it changes something, as far as the plan shows; the answer to a question does not.
    pub fn changes_something(&self) -> bool {
        let changes = match &self.access {
            Access::Paths { writes, .. } => !writes.is_empty(),
            Access::Anything => self.effect != Effect::ReadOnly,
            Access::Web { .. } => false,
            Access::External { .. } | Access::Nothing => true,
        };
        changes && self.question.is_none()
    }

    /// Says what of it can be undone; `None` if it changes nothing.
    pub fn undo_sentence(&self) -> Option<&'static str> {
        self.changes_something().then(|| self.undo.sentence())
    }
}

impl Undo {
    /// Says it of a call.
    fn sentence(self) -> &'static str {
        match self {
            Self::Exact => "can be undone",
            Self::Compensating => "files can be undone",
            Self::Hold => "held before it happens",
            Self::None => "cannot be undone",
        }
    }

    /// The same in the few cells of a column.
    pub fn in_short(self) -> &'static str {
        match self {
            Self::Exact => "undo: yes",
            Self::Compensating => "undo: files",
            Self::Hold => "delayed",
            Self::None => "undo: no",
        }
    }
}

/// A question to the user instead of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub text: String,
    pub options: Vec<String>,
    /// Whether several options may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub many: bool,
}

/// The argument of a question that the user fills in.
const ANSWER: &str = "answer";

impl Question {
    /// Whether these arguments have an answer.
    pub fn is_answered(args: &Value) -> bool {
        args.get(ANSWER).and_then(Value::as_str).is_some_and(|answer| !answer.trim().is_empty())
    }

    /// Returns the arguments of a call with these options chosen, by their numbers from 1.
    pub fn choosing(&self, args: &Value, numbers: &BTreeSet<usize>) -> Value {
        let chosen = numbers.iter().filter_map(|number| self.options.get(number.checked_sub(1)?));
        Self::with_answer(args, &chosen.map(String::as_str).collect::<Vec<_>>().join("; "))
    }

    /// The same with what was typed: numbers of options, or an answer in words. `None` if it is empty.
    pub fn answering(&self, args: &Value, text: &str) -> Option<Value> {
        let numbers: Option<BTreeSet<usize>> = text
            .split([',', ' ', ';'])
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        let numbers = numbers.filter(|numbers| {
            let are_options = numbers.iter().all(|number| (1..=self.options.len()).contains(number));
            are_options && (numbers.len() == 1 || self.many && !numbers.is_empty())
        });
        match numbers {
            Some(numbers) => Some(self.choosing(args, &numbers)),
            None if text.trim().is_empty() => None,
            None => Some(Self::with_answer(args, text.trim())),
        }
    }

    fn with_answer(args: &Value, answer: &str) -> Value {
        let mut args = args.clone();
        if let Some(fields) = args.as_object_mut() {
            fields.insert(ANSWER.to_owned(), Value::String(answer.to_owned()));
        }
        args
    }
}

/// Versions of resources as last seen by the model, including those the program wrote.
pub type SeenVersions = BTreeMap<Resource, Version>;

/// The information available to `plan`.
#[derive(Debug, Clone)]
pub struct PlanContext {
    /// The folder `co` was started in; absolute, symlinks resolved.
    pub workspace: PathBuf,
    /// The folder of spilled outputs; readable like the workspace.
    pub spill: PathBuf,
    /// Folders of `co` itself: settings, rules, hooks, keys, data. Absolute, links resolved where they exist.
    pub own: Arc<[PathBuf]>,
    pub seen: Arc<SeenVersions>,
}

/// The information and channels available to `run`.
#[derive(Clone)]
pub struct ToolContext {
    pub call: CallId,
    pub workspace: PathBuf,
    pub spill: PathBuf,
    /// As in [`PlanContext`].
    pub own: Arc<[PathBuf]>,
    pub seen: Arc<SeenVersions>,
    /// The state that the tool kept in this session last ([`ToolOutput::state`]).
    pub state: Option<Value>,
    /// The tools of now that no rule hides.
    pub tools: Toolset,
    /// The authorship of the arguments, for a tool that stores them.
    pub authorship: Authorship,
    /// Fires on interrupt; the tool returns soon after.
    pub cancel: CancellationToken,
    /// Live output for the screen; bounded, and dropped when the channel is full (`try_send`).
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
    /// Resources that the model has now seen, or that this call has just written.
    pub seen: Vec<(Resource, Version)>,
    /// The state that the tool keeps in this session from now on, stored with the return. Calls of one reply that run at
    /// the same time begin with the same state; the last to end wins.
    pub state: Option<Value>,
}

/// Why a tool did not complete a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The arguments are wrong; the hint says how to repair them.
    #[error("{0}")]
    Misuse(String),
    /// The call may succeed if repeated.
    #[error("{0}")]
    Transient(String),
    /// The call began, and whether it took effect is unknown.
    #[error("{0}")]
    Unknown(String),
    /// The tool cannot work until the settings change, so it is not offered again in this session.
    #[error("{0}")]
    Unavailable(String),
    /// The call will not succeed; the text has everything the model should know, including partial output.
    #[error("{0}")]
    Terminal(String),
}

/// The tools of one moment, by name. Immutable; cheap to clone and to compare.
#[derive(Clone, Default)]
pub struct Toolset(Arc<BTreeMap<ToolName, Arc<dyn Tool>>>);

impl Toolset {
    pub fn get(&self, name: &ToolName) -> Option<&Arc<dyn Tool>> {
        self.0.get(name)
    }

    /// Returns the descriptions by their names.
    pub fn specs_by_name(&self) -> BTreeMap<ToolName, ToolSpec> {
        self.specs().map(|spec| (spec.name.clone(), spec.clone())).collect()
    }

    /// Returns the descriptions, in the order of names.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.0.values().map(|tool| tool.spec())
    }

    /// Returns those that are wanted.
    #[must_use]
    pub fn filtered(&self, is_wanted: impl Fn(&ToolSpec) -> bool) -> Self {
        if self.specs().all(&is_wanted) {
            return self.clone();
        }
        let wanted = self.0.iter().filter(|(_, tool)| is_wanted(tool.spec()));
        Self(Arc::new(wanted.map(|(name, tool)| (name.clone(), Arc::clone(tool))).collect()))
    }

    /// Whether both were taken between two changes of the registry.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The tools of this process. They may change while it runs: a model request offers those of its moment, and a call
/// whose tool is gone by then fails. Clones share the tools.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Arc<Mutex<Toolset>>,
    /// The servers whose tools are not known yet.
    expected: Arc<watch::Sender<BTreeSet<String>>>,
    /// How long a turn waits for them.
    pub patience: Duration,
}

impl Registry {
    /// Creates a registry. Later tools replace earlier ones of the same name.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let registry = Self::default();
        tools.into_iter().for_each(|tool| registry.add(tool));
        registry
    }

    /// Returns the tools of now.
    #[must_use]
    pub fn tools(&self) -> Toolset {
        self.tools.lock().clone()
    }

    pub fn get(&self, name: &ToolName) -> Option<Arc<dyn Tool>> {
        self.tools.lock().get(name).cloned()
    }

    /// Adds a tool, in place of one of the same name.
    pub fn add(&self, tool: Arc<dyn Tool>) {
        Arc::make_mut(&mut self.tools.lock().0).insert(tool.spec().name.clone(), tool);
    }

    /// Adds a tool, unless one of another origin has its name; whether it was added.
    pub fn add_of(&self, tool: Arc<dyn Tool>) -> bool {
        let mut tools = self.tools.lock();
        let (name, origin) = (&tool.spec().name, &tool.spec().origin);
        let is_free = tools.get(name).is_none_or(|known| known.spec().origin == *origin);
        if is_free {
            Arc::make_mut(&mut tools.0).insert(name.clone(), tool);
        }
        is_free
    }

    /// Removes a tool if it is of this origin.
    pub fn remove_of(&self, name: &ToolName, origin: &Origin) {
        let mut tools = self.tools.lock();
        if tools.get(name).is_some_and(|known| known.spec().origin == *origin) {
            Arc::make_mut(&mut tools.0).remove(name);
        }
    }

    /// Removes a tool; calls of it that run already end as they would.
    pub fn remove(&self, name: &ToolName) {
        Arc::make_mut(&mut self.tools.lock().0).remove(name);
    }

    /// Notes that a server's tools are about to be added.
    pub fn expect_tools_of(&self, server: &str) {
        self.expected.send_if_modified(|expected| expected.insert(server.to_owned()));
    }

    /// Notes that a server's tools are added, or that it failed.
    pub fn settle_tools_of(&self, server: &str) {
        self.expected.send_if_modified(|expected| expected.remove(server));
    }

    /// Waits until no server's tools are expected any more, at most so long; returns those that still are. Cancel-safe.
    pub async fn wait_for_tools(&self, limit: Duration) -> Vec<String> {
        let mut expected = self.expected.subscribe();
        // The sender is in this registry.
        let _ = tokio::time::timeout(limit, expected.wait_for(BTreeSet::is_empty)).await;
        expected.borrow_and_update().iter().cloned().collect()
    }
}
