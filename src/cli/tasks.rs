//! `co tasks`: shows and ends commands that run in the background of any session.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::args::{Flags, Tasks, TasksAction};
use super::console;
use super::error::{CliError, Result};
use super::table::table;
use crate::config::Settings;
use crate::sandbox::survivors::end_survivors;
use crate::sandbox::tasks::{Task, output_file, tasks_in};
use crate::stdx::text::{one_line_summary, sanitize};
use crate::workspace::{World, load_settings};

/// The width of a command in the list, in terminal cells.
const COMMAND: usize = 60;

/// A task with the session that it belongs to.
#[derive(Serialize)]
struct ListedTask {
    session: String,
    #[serde(flatten)]
    task: Task,
    output: PathBuf,
}

impl ListedTask {
    fn id(&self) -> String {
        format!("{}/{}", self.session, self.task.number)
    }
}

pub(super) fn run(what: Tasks, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    match what.what {
        None => list(&settings, what.all, what.json),
        Some(TasksAction::Show { id }) => {
            let listed = one(&settings, &id)?;
            if !std::fs::symlink_metadata(&listed.output).is_ok_and(|found| found.is_file()) {
                return Err(CliError::error(format!("{} is not a file", listed.output.display())));
            }
            let bytes = std::fs::read(&listed.output)
                .map_err(|error| CliError::error(format!("{}: {error}", listed.output.display())))?;
            console::out(&sanitize(&String::from_utf8_lossy(&bytes)))
        }
        Some(TasksAction::End { id }) => {
            let listed = one(&settings, &id)?;
            if listed.task.end.is_none() && !end_survivors(&listed.task.mark).is_empty() {
                console::out(&format!("Ended {}.\n", listed.id()))
            } else {
                Err(CliError::error(format!("{} does not run: {}", listed.id(), listed.task.state())))
            }
        }
    }
}

fn list(settings: &Settings, all: bool, json: bool) -> Result<()> {
    let mut listed = every(settings);
    listed.retain(|one| all || one.task.end.is_none());
    if json {
        return console::json(&listed);
    }
    if listed.is_empty() {
        let more = if all { "" } else { "; `co tasks --all` lists those that ended" };
        return console::out(&format!("Nothing runs in the background{more}.\n"));
    }
    let row = |one: &ListedTask| {
        [one.id(), one.task.state().to_owned(), one_line_summary(&one.task.command, COMMAND)]
    };
    console::out(&table(["TASK", "STATE", "COMMAND"], listed.iter().map(row)))
}

/// Returns the tasks of all sessions, by session and number.
fn every(settings: &Settings) -> Vec<ListedTask> {
    let sessions = std::fs::read_dir(settings.data_dir.join("spill")).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = sessions.map(|entry| entry.path()).collect();
    folders.sort();
    folders.iter().flat_map(|folder| of(folder)).collect()
}

fn of(folder: &Path) -> Vec<ListedTask> {
    let session = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let listed =
        |task: Task| ListedTask { session: session.clone(), output: output_file(folder, task.number), task };
    // The mark decides what is ended: it must be one of this session.
    let is_own = |task: &Task| task.mark.strip_prefix(&session).is_some_and(|rest| rest.starts_with('/'));
    tasks_in(folder).into_iter().filter(is_own).map(listed).collect()
}

/// Returns the task of this id: `SESSION/NUMBER`, where the beginning of the session's id is enough.
fn one(settings: &Settings, id: &str) -> Result<ListedTask> {
    let (session, number) = id.rsplit_once('/').unwrap_or(("", id));
    let mut found: Vec<ListedTask> = every(settings)
        .into_iter()
        .filter(|one| one.session.starts_with(session) && one.task.number.to_string() == number)
        .collect();
    // Without a session the one that runs is meant.
    if found.len() > 1 {
        found.retain(|one| one.task.end.is_none());
    }
    match (found.len(), found.pop()) {
        (1, Some(one)) => Ok(one),
        (0, _) => {
            let error = CliError::usage(format!("there is no task {id}"));
            Err(error.hint("`co tasks --all` lists them"))
        }
        _ => {
            let error = CliError::usage(format!("{id} is the number of several tasks"));
            Err(error.hint("add the session: `co tasks end SESSION/1`"))
        }
    }
}
