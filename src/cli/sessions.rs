//! `co sessions`: lists the sessions that can be continued.

use std::path::Path;

use serde::Serialize;

use super::args::{Flags, Sessions};
use super::console::Console;
use super::error::Result;
use super::table::{short, table};
use crate::app::open_store_for_lists;
use crate::history::{SessionId, TurnEnd};
use crate::stdx::moment::age;
use crate::store::{SessionFilter, SessionSummary};
use crate::workspace::{World, load_settings};

pub(super) async fn run(what: &Sessions, world: &World, flags: Flags, console: &mut Console) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let store = open_store_for_lists(world, &loaded.settings).await?;
    let filter = if what.all { SessionFilter::All } else { SessionFilter::Folder(world.workspace.clone()) };
    let sessions = store.listed_sessions(filter, usize::MAX).await?;
    if what.json {
        return console.json(&sessions.iter().map(listed).collect::<Vec<_>>());
    }
    if sessions.is_empty() {
        let place =
            if what.all { "yet" } else { "in this folder yet; `co sessions --all` lists all folders" };
        return console.out(&format!("No sessions {place}.\n"));
    }
    let now = store.clock().now();
    let rows: Vec<[String; 6]> = sessions
        .iter()
        .map(|one| {
            [
                short(&one.id.0),
                age(one.updated, now),
                one.turns.to_string(),
                end(one),
                one.title.clone().unwrap_or_default(),
                one.workspace.display().to_string(),
            ]
        })
        .collect();
    console.out(&table(["ID", "AGE", "TURNS", "LAST", "TITLE", "FOLDER"], &rows))
}

fn end(one: &SessionSummary) -> String {
    if one.waiting > 0 {
        return format!("◇ {} waiting", one.waiting);
    }
    let word = match &one.last_end {
        Some(TurnEnd::Completed) => "done",
        Some(TurnEnd::Deferred) => "decided",
        Some(TurnEnd::Interrupted) => "interrupted",
        Some(TurnEnd::LimitReached { .. }) => "limit",
        Some(TurnEnd::Failed { .. }) => "failed",
        None => "",
    };
    word.to_owned()
}

/// A session in the form for programs: fields may only be added.
#[derive(Serialize)]
struct SessionRow<'a> {
    id: &'a SessionId,
    title: Option<&'a str>,
    workspace: &'a Path,
    created: String,
    updated: String,
    turns: u32,
    /// `null` before the first turn, during a turn, and after one that was cut off.
    last_end: Option<&'a TurnEnd>,
    waiting: usize,
}

fn listed(one: &SessionSummary) -> SessionRow<'_> {
    SessionRow {
        id: &one.id,
        title: one.title.as_deref(),
        workspace: &one.workspace,
        created: one.created.to_string(),
        updated: one.updated.to_string(),
        turns: one.turns,
        last_end: one.last_end.as_ref(),
        waiting: one.waiting,
    }
}
