//! The adapter between [`Tool`], whose arguments are JSON, and a tool whose arguments are a Rust type.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::args;
use super::output::{Spill, cap, untrusted_output};
use super::place::ToolPath;
use super::work::{interrupted_error, off_thread};
use crate::message::{Authorship, CallId, ReturnStatus, Source, ToolName};
use crate::tool::{
    CallPlan, Category, Origin, PlanContext, Progress, Risk, SeenVersions, SideEffect, TextArgs, Tool,
    ToolContext, ToolError, ToolOutput, ToolSpec, Toolset,
};
use crate::undo::UndoLog;

/// Longer than any read of a healthy disk takes.
const DISK_TIMEOUT: Duration = Duration::from_secs(60);

/// A tool with typed arguments; [`ToolAdapter`] makes a [`Tool`] of it.
pub trait TypedTool: Send + Sync + 'static {
    const NAME: &'static str;
    /// The model reads this about it, unless [`Self::description`] says more.
    const ABOUT: &'static str = "";
    const CATEGORY: Category;
    const SIDE_EFFECT: SideEffect = SideEffect::None { cache_for: None };
    /// The arguments that front ends show while they stream.
    const TEXTS: TextArgs = &[];
    /// That of a usual call; a plan may say otherwise.
    const RISK: Risk = if Self::SIDE_EFFECT.is_none() { Risk::Low } else { Risk::Medium };

    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// The tool's description for the model.
    fn description(&self) -> String {
        Self::ABOUT.to_owned()
    }

    /// After how long a run is ended.
    fn timeout(&self) -> Duration {
        DISK_TIMEOUT
    }

    /// Plans a call, without side effects, with what the model has `seen`. Blocking.
    fn plan(&self, args: Self::Args, place: &ToolPath, seen: &SeenVersions) -> Result<CallPlan, ToolError>;

    /// Runs a call with arguments that `plan` accepted. Returns soon after `cx.cancel` fires.
    fn run(
        &self,
        args: Self::Args,
        cx: RunContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    /// As [`Tool::outcome`], for a run that succeeded.
    fn outcome(_text: &str) -> String {
        String::new()
    }

    /// As [`Tool::outcome`], for a run that failed or was interrupted.
    fn failure(_text: &str) -> String {
        String::new()
    }
}

/// The context of one call's run.
#[derive(Clone)]
pub struct RunContext {
    pub call: CallId,
    pub place: ToolPath,
    pub seen: Arc<SeenVersions>,
    /// As in [`ToolContext`].
    pub state: Option<Value>,
    pub cancel: CancellationToken,
    pub progress: mpsc::Sender<Progress>,
    /// For output that is longer than `output_limit` bytes.
    pub spill: Spill,
    pub output_limit: usize,
    /// As in [`ToolContext`].
    pub tools: Toolset,
    pub authorship: Authorship,
}

impl RunContext {
    /// Runs a blocking read, which is abandoned on cancel; `work` checks `cancel`, so that its thread ends soon
    /// too.
    pub async fn read<T: Send + 'static>(
        self,
        work: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let cancel = self.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(interrupted_error()),
            result = self.change(work) => result,
        }
    }

    /// Runs a blocking change, which is never abandoned halfway: a cancel may prevent it, but a later one lets
    /// it complete.
    pub async fn change<T: Send + 'static>(
        self,
        work: impl FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        off_thread(move || work(&self)).await
    }

    /// Creates an output of names or content of files at or below `path`, within the limit. Blocking.
    pub fn output_from(&self, path: &Path, text: String) -> ToolOutput {
        let source = Source::File { path: self.place.display(path) };
        untrusted_output(cap(text, self.output_limit, &self.spill), source)
    }
}

/// The [`Tool`] of a tool with typed arguments.
pub struct ToolAdapter<T> {
    tool: Arc<T>,
    spec: ToolSpec,
    undo: UndoLog,
}

impl<T: TypedTool> ToolAdapter<T> {
    /// Creates a tool whose output for the model has at most `output_limit` bytes per call.
    pub fn new(tool: T, output_limit: usize) -> Self {
        Self::shared(Arc::new(tool), output_limit)
    }

    /// The same, of a tool that others use too.
    pub fn shared(tool: Arc<T>, output_limit: usize) -> Self {
        let spec = ToolSpec {
            name: ToolName::new(T::NAME),
            description: tool.description(),
            parameters: args::schema::<T::Args>(),
            category: T::CATEGORY,
            risk: T::RISK,
            side_effect: T::SIDE_EFFECT,
            origin: Origin::Builtin,
            output_limit,
            timeout: tool.timeout(),
        };
        Self { tool, spec, undo: UndoLog::default() }
    }

    /// Keeps here what the tool changes.
    #[must_use]
    pub fn undoable(mut self, undo: &UndoLog) -> Self {
        self.undo = undo.clone();
        self
    }
}

/// Not generic, so that it is compiled once.
fn run_context(cx: &ToolContext, undo: UndoLog, output_limit: usize) -> RunContext {
    let ToolContext { call, workspace, spill, own, seen, state, tools, authorship, cancel, progress } =
        cx.clone();
    let spilled = Spill::new(&spill, &call);
    RunContext {
        call,
        place: ToolPath { workspace, spill, own, undo },
        seen,
        state,
        cancel,
        progress,
        spill: spilled,
        output_limit,
        tools,
        authorship,
    }
}

impl<T: TypedTool> Tool for ToolAdapter<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a PlanContext,
    ) -> BoxFuture<'a, Result<CallPlan, ToolError>> {
        Box::pin(async move {
            let args = args::parse(&self.spec, args)?;
            let (workspace, spill, own) = (cx.workspace.clone(), cx.spill.clone(), Arc::clone(&cx.own));
            let (tool, seen) = (Arc::clone(&self.tool), Arc::clone(&cx.seen));
            let undo = self.undo.clone();
            off_thread(move || tool.plan(args, &ToolPath { workspace, spill, own, undo }, &seen)).await
        })
    }

    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = args::parse(&self.spec, args)?;
            let cx = run_context(cx, self.undo.clone(), self.spec.output_limit);
            self.tool.run(args, cx).await
        })
    }

    fn outcome(&self, status: ReturnStatus, text: &str) -> String {
        match status {
            ReturnStatus::Ok => T::outcome(text),
            ReturnStatus::Failed | ReturnStatus::Interrupted => T::failure(text),
            ReturnStatus::Denied | ReturnStatus::Undecided | ReturnStatus::Unknown => String::new(),
        }
    }
}
