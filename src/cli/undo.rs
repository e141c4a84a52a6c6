//! `co undo`: takes back what calls changed in files, in this folder, and does it again.

use super::args::{Flags, UndoArgs};
use super::console;
use super::error::{CliError, Result};
use crate::app::undo_log;
use crate::undo::{EntryFilter, UndoError, UndoOutcome, UndoScope, UndoTarget, list};
use crate::workspace::{World, load_settings};

/// Changes that are listed.
const LISTED: usize = 50;

/// Blocking.
pub(super) fn run(what: &UndoArgs, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let log = undo_log(world, &settings);
    if what.list {
        let workspace = (!what.all).then(|| world.workspace.clone());
        let filter = EntryFilter { workspace, limit: LISTED, ..EntryFilter::default() };
        let entries = log.entries(&filter).map_err(|error| undo_error(&error))?;
        if what.json {
            return console::json(&entries);
        }
        if entries.is_empty() {
            return console::out("Nothing that can be taken back was changed here.\n");
        }
        return console::out(&list(&entries));
    }
    let wanted = match what {
        UndoArgs { redo: true, .. } => UndoTarget::Redo,
        UndoArgs { turn: true, .. } => UndoTarget::Turn,
        UndoArgs { id: Some(id), .. } => UndoTarget::Entry(*id),
        UndoArgs { .. } => UndoTarget::Last,
    };
    let scope = UndoScope::Folder(world.workspace.clone());
    match log
        .carry_out(&scope, &wanted, what.yes, &world.own_folders(&settings))
        .map_err(|error| undo_error(&error))?
    {
        UndoOutcome::Done(text) => console::out(&format!("{text}\n")),
        UndoOutcome::Refused(text) => {
            console::note(&text);
            let error = CliError::error("nothing was changed");
            Err(error.hint("`co undo --list` shows what can be taken back"))
        }
        UndoOutcome::Asks { text, .. } => {
            console::note(&text);
            let error = CliError::usage("nothing was changed: these files are to be agreed to");
            Err(error.hint("add `--yes` to take them back"))
        }
    }
}

fn undo_error(error: &UndoError) -> CliError {
    CliError::error(error.to_string())
}
