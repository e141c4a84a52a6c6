//! How tools do blocking work, and the words they share for how it went.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::place::Place;
use crate::stdx::paths::display_relative;
use crate::stdx::secret_files::may_hold_secrets;
use crate::tool::{Access, CallPlan, PlanContext, Preview, Risk, ToolContext, ToolError, Undo};

/// Longer than any look at a healthy disk.
pub const LOOK_TIMEOUT: Duration = Duration::from_secs(60);

/// Does blocking work off the async threads. Dropped, the work goes on unheard: only for looks, and for writes that
/// the caller awaits.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let broken = |error| terminal(format!("the tool itself failed: {error}"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(broken(error)))
}

/// A look that is given up on cancel; `work` watches the same token, so that its thread ends soon too.
pub async fn look<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(interrupted()),
        result = off_thread(work) => result,
    }
}

/// The plan of a call that only looks at one file or folder.
pub fn look_plan(summary: String, path: std::path::PathBuf) -> CallPlan {
    CallPlan {
        summary,
        preview: Preview::None,
        risk: Risk::Low,
        access: Access::Paths { reads: vec![path], writes: Vec::new() },
        basis: Vec::new(),
        undo: Undo::None,
        effect: crate::tool::Effect::OfTool,
        question: None,
        needs_person: None,
    }
}

/// The plan of a call that looks at what is in a file: one that may hold secrets asks.
pub fn read_plan(place: &Place, summary: String, path: std::path::PathBuf) -> CallPlan {
    if may_hold_secrets(&display_relative(&place.workspace, &path)) {
        let summary = format!("{summary} (may hold secrets)");
        return CallPlan { risk: Risk::Medium, ..look_plan(summary, path) };
    }
    look_plan(summary, path)
}

pub fn place_of_plan(cx: &PlanContext) -> Place {
    Place { workspace: cx.workspace.clone(), spill: cx.spill.clone(), own: Arc::clone(&cx.own) }
}

pub fn place_of_run(cx: &ToolContext) -> Place {
    Place { workspace: cx.workspace.clone(), spill: cx.spill.clone(), own: Arc::clone(&cx.own) }
}

pub fn misuse(hint: impl Into<String>) -> ToolError {
    ToolError::Misuse { hint: hint.into() }
}

pub fn terminal(message: impl Into<String>) -> ToolError {
    ToolError::Terminal { message: message.into() }
}

pub fn interrupted() -> ToolError {
    terminal("interrupted before it was done")
}
