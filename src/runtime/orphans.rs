//! The remains of a killed `co`: calls with an unknown outcome, and orphaned processes.
//!
//! Each new owner of a session looks for them once, before it continues. Processes of such calls are killed, because
//! their output is lost; those of the user's own commands (`!cmd`) are only reported, because the user may want them to
//! run. No call is run again.

use std::path::PathBuf;

use serde_json::Value;

use crate::command::code;
use crate::history::{History, RecordedState, SessionId};
use crate::message::{CallId, ToolCall, ToolName};
use crate::sandbox::Survivor;
use crate::sandbox::survivors::{end_survivors, survivors_under};
use crate::session::Session;
use crate::stdx::fs::remove_temporaries;
use crate::stdx::text::one_line_summary;

/// Cells of a call's summary.
const SUMMARY: usize = 100;

/// Returns the mark of the processes of one user command; `count` distinguishes those of this process.
pub fn own_mark(session: &SessionId, count: usize) -> String {
    format!("{}{}.{count}", own_prefix(session), std::process::id())
}

fn own_prefix(session: &SessionId) -> String {
    format!("{session}/!")
}

/// Kills the orphaned processes of interrupted calls, and returns sanitized lines about what was found. Only the
/// session's owner may call it, before it starts a call.
pub async fn orphaned_processes(session: &Session) -> Vec<String> {
    if session.is_new() {
        return Vec::new();
    }
    let cut_off = cut_off(session.history());
    let calls: Vec<CallId> = cut_off.iter().map(|one| one.call.clone()).collect();
    let own = own_prefix(session.id());
    let workspace = session.history().workspace();
    let written: Vec<PathBuf> = cut_off
        .iter()
        .filter_map(|one| Some(workspace.join(one.path.as_ref()?).parent()?.to_owned()))
        .collect();
    let look = move || {
        written.iter().for_each(|folder| remove_temporaries(folder));
        let ended: Vec<_> = calls.iter().map(|call| end_survivors(&call.0)).collect();
        (ended, survivors_under(&own))
    };
    // Reading all of `/proc` blocks. The task fails only at the end of the runtime.
    let (ended, own) = tokio::task::spawn_blocking(look).await.unwrap_or_default();
    let mut lines: Vec<String> = cut_off.iter().map(OrphanedCall::line).collect();
    for (line, ended) in lines.iter_mut().zip(ended).filter(|(_, ended)| !ended.is_empty()) {
        line.push_str(&format!(" It was still running and was ended: {}.", process_list(&ended)));
    }
    if !own.is_empty() {
        lines
            .push(format!("Your own commands from an earlier co are still running: {}.", process_list(&own)));
    }
    lines
}

/// A call that had started and has no return.
struct OrphanedCall {
    call: CallId,
    tool: ToolName,
    /// From its request, else from its arguments.
    summary: Option<String>,
    /// The file that it may have been writing.
    path: Option<PathBuf>,
}

/// Describes a call by its arguments: one that a rule allowed has no request.
fn summary(call: &ToolCall) -> Option<String> {
    let argument = ["command", "path"].into_iter().find_map(|name| call.args.get(name)?.as_str())?;
    Some(format!("{} {argument}", call.name))
}

impl OrphanedCall {
    fn line(&self) -> String {
        let what = self.summary.as_deref().unwrap_or(self.tool.as_str());
        format!(
            "Outcome unknown: co ended while {} ran. It is not run again; look before you repeat it.",
            code(&one_line_summary(what, SUMMARY))
        )
    }
}

fn cut_off(history: &History) -> Vec<OrphanedCall> {
    let open = history.open_calls().iter().map(|one| (&one.call, &one.known, one.request.as_ref()));
    let late = history.late_calls().iter().map(|one| (&one.call, &one.known, Some(&one.request)));
    open.chain(late)
        .filter(|(_, known, _)| **known == RecordedState::MayHaveRun)
        .map(|(call, _, request)| OrphanedCall {
            call: call.id.clone(),
            tool: call.name.clone(),
            summary: request.map(|request| request.plan.summary.clone()).or_else(|| summary(call)),
            path: call.args.get("path").and_then(Value::as_str).map(PathBuf::from),
        })
        .collect()
}

/// Lists processes, each with its command.
pub(super) fn process_list(found: &[Survivor]) -> String {
    let one = |survivor: &Survivor| format!("{} ({})", survivor.pid, code(&survivor.command));
    found.iter().map(one).collect::<Vec<_>>().join(", ")
}
