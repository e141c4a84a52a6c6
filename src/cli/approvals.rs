//! `co approvals`: list, show, decide, in any process.
//!
//! Deciding writes the request's row and nothing else; whoever owns the session runs the call, now or when it is
//! resumed. The first answer wins, and who comes later is told so.

mod show;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{Approvals, Decide};
use super::console::Console;
use super::error::{CliError, Kind};
use super::table::{age, table};
use crate::app::{World, load_settings, open_store};
use crate::approval::{Approval, Decider};
use crate::frontend::json::Waits;
use crate::stdx::text::sanitize_line;
use crate::store::{DecideOutcome, RequestFilter, Store, StoredRequest};

/// Requests that are listed at once.
const LISTED: usize = 1_000;

pub(super) async fn run(
    what: Approvals,
    world: &World,
    flags: Vec<(String, String)>,
    console: &mut Console,
) -> Result<(), CliError> {
    let loaded = load_settings(world, flags)?;
    let store = open_store(world, &loaded.settings).await?;
    match what.what.unwrap_or(Decide::List { json: what.json }) {
        Decide::List { json } => list(&store, format(json), console).await,
        Decide::Show { id, json } => show(&store, &id, format(json), console).await,
        Decide::Yes { ids, json } => decide(&store, &ids, &Approval::yes(), format(json), console).await,
        Decide::No { ids, note, json } => {
            let reason = note.filter(|note| !note.trim().is_empty());
            decide(&store, &ids, &Approval::Deny { reason }, format(json), console).await
        }
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

/// A request as a program reads it.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    request: Waits,
    state: crate::store::RequestState,
    attachment: crate::store::Attachment,
    session: &'a str,
    title: Option<&'a str>,
    workspace: &'a std::path::Path,
    created: String,
}

fn listed(one: &StoredRequest) -> Listed<'_> {
    Listed {
        request: Waits::of(&one.request),
        state: one.state,
        attachment: one.attachment,
        session: &one.session.0,
        title: one.title.as_deref(),
        workspace: &one.workspace,
        created: one.created.to_string(),
    }
}

async fn list(store: &Store, format: Format, console: &mut Console) -> Result<(), CliError> {
    let waiting = store.requests(RequestFilter::Undecided, LISTED).await?;
    match format {
        Format::Json => console.json(&waiting.iter().map(listed).collect::<Vec<_>>()),
        Format::Words if waiting.is_empty() => console.out("Nothing waits for your approval.\n"),
        Format::Words => {
            let now = store.clock().now();
            let rows: Vec<[String; 6]> = waiting
                .iter()
                .map(|one| {
                    [
                        one.id().to_string(),
                        one.request.risk.word().to_owned(),
                        age(one.created, now),
                        one.request.tool.to_string(),
                        one.request.plan.summary.clone(),
                        one.title.clone().unwrap_or_else(|| one.session.to_string()),
                    ]
                })
                .collect();
            console.out(&table(["ID", "RISK", "AGE", "TOOL", "WHAT", "SESSION"], &rows))?;
            console.note("co approvals show|yes|no ID");
            Ok(())
        }
    }
}

async fn show(store: &Store, id: &str, format: Format, console: &mut Console) -> Result<(), CliError> {
    let one = store.find_request(id).await?;
    match format {
        Format::Json => {
            let mut value = serde_json::to_value(listed(&one)).map_err(std::io::Error::from)?;
            value["preview"] = json!(one.request.plan.preview);
            value["decision"] = json!(one.decision.as_ref().map(|(approval, by)| json!([approval, by])));
            console.json(&value)
        }
        Format::Words => console.out(&show::in_words(&one)),
    }
}

/// Decides each; the first that cannot be decided ends it with an error, those before it stand.
async fn decide(
    store: &Store,
    ids: &[String],
    approval: &Approval,
    format: Format,
    console: &mut Console,
) -> Result<(), CliError> {
    let mut done = Vec::new();
    let mut failed = None;
    for id in ids {
        match decide_one(store, id, approval).await {
            Ok(one) => done.push(one),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    tell(&done, word(approval), format, console)?;
    failed.map_or(Ok(()), Err)
}

fn tell(done: &[StoredRequest], word: &str, format: Format, console: &mut Console) -> Result<(), CliError> {
    match format {
        Format::Json => {
            let rows: Vec<Value> = done
                .iter()
                .map(|one| json!({"id": one.id(), "decision": word, "session": one.session}))
                .collect();
            console.json(&rows)?;
        }
        Format::Words => {
            for one in done {
                console.out(&format!(
                    "{word} {}: {}\n",
                    one.id(),
                    sanitize_line(&one.request.plan.summary)
                ))?;
            }
            if let Some(last) = done.last() {
                console.note(&format!("An open co goes on by itself; else: co resume {}", last.session));
            }
        }
    }
    Ok(())
}

fn word(approval: &Approval) -> &'static str {
    match approval {
        Approval::Approve { .. } => "approved",
        Approval::Deny { .. } => "denied",
        Approval::Later => "put off",
    }
}

async fn decide_one(store: &Store, id: &str, approval: &Approval) -> Result<StoredRequest, CliError> {
    let one = store.find_request(id).await?;
    let failed = |message: String| CliError::message(Kind::Error, message);
    match store.decide(one.id(), approval.clone(), Decider::Cli).await? {
        DecideOutcome::Recorded => Ok(one),
        DecideOutcome::AlreadyDecided { approval, by } => {
            let word = word(&approval);
            let message = format!("request {} was already {word} {}; that stands", one.id(), by.word());
            Err(failed(message))
        }
        DecideOutcome::NotOpen { state } => {
            Err(failed(format!("request {} is {state} and takes no answer", one.id())))
        }
        DecideOutcome::Unknown => Err(failed(format!("request {} is not in the store any more", one.id()))),
    }
}
