//! `co approvals`: list, show, decide, watch, in any process.
//!
//! A decision only writes the request's row; the process that owns the session runs the call, now or when it
//! is resumed. The first answer wins; later ones are rejected. Each command first expires due requests.

mod context;
mod decide;
mod describe;
mod edit;
mod list;
mod reading;
mod show;
pub(super) mod typed;
mod watch;

use serde::Serialize;

use self::typed::{Decide, ListArgs};
use super::args::{Flags, ListCommand};
use super::error::Result;
use crate::app::open_store_for_lists;
use crate::approval::Approval;
use crate::config::Settings;
use crate::frontend::json::WaitingRequest;
use crate::store::{CallTiming, RequestState, Store, StoredRequest};
use crate::workspace::{World, load_settings};

/// The state that the commands share.
struct CommandContext<'a> {
    store: Store,
    settings: Settings,
    world: &'a World,
}

pub(super) async fn run(what: ListCommand<Decide, ListArgs>, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let store = open_store_for_lists(world, &settings).await?;
    store.expire_due().await?;
    let context = CommandContext { store, settings, world };
    match what.what.unwrap_or(Decide::List(what.listed)) {
        Decide::List(listed) => list::run(&context, listed).await,
        Decide::Show { id, json } => show::run(&context, id, json).await,
        Decide::Yes(yes) => decide::yes(&context, yes).await,
        Decide::No { ids, all, note, json } => {
            let reason = note.filter(|note| !note.trim().is_empty());
            let ids = if all { decide::undecided_ids(&context, |_| true).await? } else { ids };
            decide::all(&context, &ids, &Approval::Deny { reason }, json).await
        }
        Decide::Later { ids, json } => decide::all(&context, &ids, &Approval::Later, json).await,
        Decide::Edit { id, note } => edit::run(&context, &id, note).await,
        Decide::Watch { json } => watch::run(&context, json).await,
    }
}

/// A request in the form for programs.
#[derive(Serialize)]
struct RequestRow<'a> {
    #[serde(flatten)]
    request: WaitingRequest,
    state: RequestState,
    #[serde(rename = "attachment")]
    timing: CallTiming,
    session: &'a str,
    title: Option<&'a str>,
    workspace: &'a std::path::Path,
    created: String,
}

fn request_row(one: &StoredRequest) -> RequestRow<'_> {
    RequestRow {
        request: WaitingRequest::of(&one.request),
        state: one.state,
        timing: one.timing,
        session: &one.session.0,
        title: one.title.as_deref(),
        workspace: &one.workspace,
        created: one.created.to_string(),
    }
}
