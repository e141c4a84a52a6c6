//! Runs the tools' blocking work, and builds the plans and errors they share.

use std::io;
use std::time::Duration;

use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::place::ToolPath;
use crate::sandbox::{Command, ExecEvent, Exit, Sandbox};
use crate::stdx::moment::duration;
use crate::stdx::paths::display_relative;
use crate::stdx::secret_files::may_hold_secrets;
use crate::tool::{Access, CallPlan, Risk, ToolError};

/// Runs blocking work off the async threads. If the future is dropped, the work continues and its result is
/// lost: use it only for reads, and for writes that the caller awaits.
pub async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let broken = |error| terminal(format!("the tool itself failed: {error}"));
    // Boxed, so that the code of a task is generated per result and not per tool.
    let work: Box<dyn FnOnce() -> Result<T, ToolError> + Send> = Box::new(work);
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(broken(error)))
}

/// Runs a command and returns its output and how it ended. One that prints more than `most` bytes is ended, without an
/// exit.
pub async fn collect_output(
    sandbox: &dyn Sandbox,
    command: Command,
    cancel: &CancellationToken,
    most: usize,
) -> io::Result<(Vec<u8>, Option<Exit>)> {
    let mut events = sandbox.spawn(command, cancel.clone());
    let (mut bytes, mut exit) = (Vec::new(), None);
    while let Some(event) = events.next().await {
        match event? {
            ExecEvent::Output(more) => bytes.extend(more),
            ExecEvent::Exited(how) => exit = Some(how),
            ExecEvent::Survivors { .. } => {}
        }
        if bytes.len() > most {
            return Ok((bytes, None));
        }
    }
    Ok((bytes, exit))
}

/// Returns the line that says how a command ended.
pub fn exit_line(exit: Exit, timeout: Duration) -> String {
    match exit {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Signal(signal) => format!("ended by signal {signal}"),
        Exit::TimedOut => format!("timed out after {}", duration(timeout)),
        Exit::Cancelled => "interrupted".to_owned(),
    }
}

/// Returns the plan of a read-only call on one file or folder.
pub fn look_plan(summary: String, path: std::path::PathBuf) -> CallPlan {
    CallPlan::new(summary, Risk::Low, Access::Paths { reads: vec![path], writes: Vec::new() })
}

/// Returns the plan of a call that touches no file.
pub fn plan_without_access(summary: String, risk: Risk) -> CallPlan {
    CallPlan::new(summary, risk, Access::Nothing)
}

/// Returns the plan of a call that reads file contents: a path that may hold secrets raises the risk.
pub fn read_plan(place: &ToolPath, summary: String, path: std::path::PathBuf) -> CallPlan {
    if may_hold_secrets(&display_relative(&place.workspace, &path)) {
        let summary = format!("{summary} (may hold secrets)");
        return CallPlan { risk: Risk::Medium, ..look_plan(summary, path) };
    }
    look_plan(summary, path)
}

pub fn misuse(hint: impl Into<String>) -> ToolError {
    ToolError::Misuse(hint.into())
}

pub fn terminal(message: impl Into<String>) -> ToolError {
    ToolError::Terminal(message.into())
}

pub fn interrupted_error() -> ToolError {
    terminal("interrupted before it finished")
}
