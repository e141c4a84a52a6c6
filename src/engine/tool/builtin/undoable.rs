//! Changes that can be taken back: what a plan says of it, and keeping what was there before the change is made.

use std::path::Path;
use std::sync::Arc;

use super::place::ToolPath;
use super::typed::RunContext;
use super::work::terminal;
use crate::tool::{ToolError, Undo};
use crate::undo::{ChangeOrigin, Recording, SnapshotScope, UndoError, UndoWorkspace};

impl ToolPath {
    fn undo_workspace(&self) -> UndoWorkspace {
        UndoWorkspace { workspace: self.workspace.clone(), own: Arc::clone(&self.own) }
    }

    /// Whether changes of these paths can be taken back.
    pub fn undo_of(&self, paths: &[&Path], keep: SnapshotScope) -> Undo {
        match self.undo.covers(&self.undo_workspace(), paths, keep) {
            true => Undo::Exact,
            false => Undo::None,
        }
    }

    /// Whether what a command does to files can be taken back.
    pub fn undo_of_command(&self) -> Undo {
        match self.undo.covers_commands(&self.undo_workspace()) {
            true => Undo::Compensating,
            false => Undo::None,
        }
    }
}

impl RunContext {
    fn origin(&self, tool: &str, label: &str) -> ChangeOrigin {
        let (tool, label) = (tool.to_owned(), label.to_owned());
        ChangeOrigin { call: self.call.clone(), place: self.place.undo_workspace(), tool, label }
    }

    /// Makes a change of these paths after keeping what is there. Errs without a change if that fails. Blocking.
    pub fn record_change<T>(
        &self,
        (tool, label): (&str, &str),
        (paths, keep): (&[&Path], SnapshotScope),
        change: impl FnOnce() -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let recording = self
            .place
            .undo
            .begin(&self.origin(tool, label), paths, keep)
            .map_err(|error| not_kept(&error))?;
        let changed = change();
        if let Some(recording) = recording {
            recording.end();
        }
        changed
    }

    /// Keeps the workspace before a command, if it can be. Blocking.
    pub fn record_command(&self, tool: &str, label: &str) -> Result<Option<Recording>, ToolError> {
        self.place.undo.begin_command(&self.origin(tool, label)).map_err(|error| not_kept(&error))
    }
}

fn not_kept(error: &UndoError) -> ToolError {
    let why = "what it would change could not be kept for undo";
    match error {
        // It may be kept the next time.
        UndoError::Io { .. } => terminal(format!("not done: {why}: {error}")),
        _ => terminal(format!("not done: {why}: {error}. Call it again to go on; it cannot be undone then.")),
    }
}
