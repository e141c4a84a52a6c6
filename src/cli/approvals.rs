//! `co approvals`: list, show, decide, watch, in any process.
//!
//! A decision only writes the request's row; the process that owns the session runs the call, now or when it
//! is resumed. The first answer wins; later ones are rejected. Each command first expires due requests.

mod around;
mod decide;
mod edit;
mod list;
mod reading;
mod show;
pub(super) mod typed;
mod watch;
mod words;

use serde::Serialize;

use self::typed::{Approvals, Decide};
use super::args::Flags;
use super::console::Console;
use super::error::Result;
use crate::app::open_store_for_lists;
use crate::approval::Approval;
use crate::config::Settings;
use crate::frontend::json::Waits;
use crate::store::{Attachment, RequestState, Store, StoredRequest};
use crate::workspace::{World, load_settings};

/// The state that the commands share.
struct CommandContext<'a> {
    store: Store,
    settings: Settings,
    world: &'a World,
    console: &'a mut Console,
}

pub(super) async fn run(what: Approvals, world: &World, flags: Flags, console: &mut Console) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let store = open_store_for_lists(world, &settings).await?;
    store.expire_due().await?;
    let mut context = CommandContext { store, settings, world, console };
    match what.what.unwrap_or(Decide::List(what.listed)) {
        Decide::List(listed) => list::run(&mut context, listed).await,
        Decide::Show { id, json } => show::run(&mut context, id, format(json)).await,
        Decide::Yes(yes) => decide::yes(&mut context, yes).await,
        Decide::No { ids, all, note, json } => {
            let reason = note.filter(|note| !note.trim().is_empty());
            let ids = if all { decide::undecided(&context).await? } else { ids };
            decide::all(&mut context, &ids, &Approval::Deny { reason }, format(json)).await
        }
        Decide::Later { ids, json } => decide::all(&mut context, &ids, &Approval::Later, format(json)).await,
        Decide::Edit { id, note } => edit::run(&mut context, &id, note).await,
        Decide::Watch { json } => watch::run(&mut context, format(json)).await,
    }
}

#[derive(Clone, Copy)]
enum Format {
    Words,
    Json,
}

fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Words }
}

/// A request in the form for programs.
#[derive(Serialize)]
struct RequestRow<'a> {
    #[serde(flatten)]
    request: Waits,
    state: RequestState,
    attachment: Attachment,
    session: &'a str,
    title: Option<&'a str>,
    workspace: &'a std::path::Path,
    created: String,
}

fn listed(one: &StoredRequest) -> RequestRow<'_> {
    RequestRow {
        request: Waits::of(&one.request),
        state: one.state,
        attachment: one.attachment,
        session: &one.session.0,
        title: one.title.as_deref(),
        workspace: &one.workspace,
        created: one.created.to_string(),
    }
}
