//! `co sessions`: lists, finds, shows, exports, imports, renames, prunes and deletes sessions.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::args::{Flags, ListCommand, SessionsAction, SessionsListArgs};
use super::console;
use super::day::begin;
use super::error::{CliError, Result};
use super::table::{short, table};
use crate::app::{AppError, open_store, open_store_for_lists};
use crate::command::{ExportForm, TITLE_WIDTH};
use crate::config::Settings;
use crate::frontend::export::{ExportHead, export};
use crate::frontend::import::{self, ImportedConversation};
use crate::frontend::sentences;
use crate::history::{Conversation, CopyOf, Durability, Record};
use crate::message::Message;
use crate::runtime::{remove_session, remove_sessions, retention};
use crate::session::Session;
use crate::stdx::clock::system_zone;
use crate::stdx::fs::write_new_private;
use crate::stdx::moment::age;
use crate::stdx::text::{binary_size, group_digits, one_line_summary, sanitize_line};
use crate::store::{FoundSession, RequestRetention, Retention, SessionFilter, SessionSummary, Store};
use crate::workspace::{World, load_settings};

pub(super) async fn run(
    what: ListCommand<SessionsAction, SessionsListArgs>,
    world: &World,
    flags: Flags,
) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    match what.what.unwrap_or(SessionsAction::List(what.listed)) {
        SessionsAction::List(listed) => list(listed, world, &settings).await,
        SessionsAction::Search { words, json, limit } => {
            search(&words.join(" "), json, limit, world, &settings).await
        }
        SessionsAction::Show(session) => {
            let text = document(&session.id, ExportForm::Markdown, world, &settings).await?;
            console::out(&text)
        }
        SessionsAction::Export { session, format, output } => {
            let form = ExportForm::named(&format).unwrap_or_default();
            let text = document(&session.id, form, world, &settings).await?;
            match output {
                None => console::out(&text),
                Some(path) => write(&path, &text),
            }
        }
        SessionsAction::Import { file } => import(&file, world, &settings).await,
        SessionsAction::Rename { session, title } => {
            let store = open_store(world, &settings).await?;
            let mut owned = take_ownership(&store, &session.id).await?;
            let title = one_line_summary(&title.join(" "), TITLE_WIDTH);
            if title.is_empty() {
                return Err(CliError::usage("the title is empty"));
            }
            owned.commit(&[Record::Renamed { title }], Durability::Synced).await.map_err(AppError::from)?;
            Ok(())
        }
        SessionsAction::Prune { before, max_mb, yes } => {
            let store = open_store(world, &settings).await?;
            let of_settings = retention(&settings, store.clock());
            let wanted = match (&before, max_mb) {
                (None, None) => of_settings.ok_or_else(|| {
                    let error = CliError::usage("nothing says which sessions are old");
                    error.hint("add `--before 90d` or `--max-mb 500`, or set `history.keep_days` or `history.max_mb`")
                })?,
                (before, size) => {
                    let now = store.clock().now();
                    let begin = |text| begin("--before", text, now, &system_zone());
                    let before = before.as_deref().map(begin).transpose()?;
                    Retention { before, max_bytes: size.map(|size| u64::from(size) << 20) }
                }
            };
            prune(&store, wanted, yes, &settings).await
        }
        SessionsAction::Delete { session, yes } => delete(&session.id, yes, world, &settings).await,
    }
}

/// Takes ownership of a session, so that no other process writes to it meanwhile.
async fn take_ownership(store: &Store, prefix: &str) -> Result<Session> {
    let id = store.find_session(prefix).await?;
    Ok(Session::open(store, &id).await.map_err(AppError::from)?)
}

async fn document(prefix: &str, form: ExportForm, world: &World, settings: &Settings) -> Result<String> {
    let store = open_store_for_lists(world, settings).await?;
    let id = store.find_session(prefix).await?;
    let history = Session::read(&store, &id).await?;
    let head = ExportHead {
        id: &id,
        title: history.name().unwrap_or("untitled"),
        workspace: history.workspace(),
        exported: store.clock().now(),
    };
    let messages: Vec<Arc<Message>> = history.shown_messages().collect();
    Ok(export(form, &head, &messages))
}

/// The largest file that is imported, in bytes.
const LARGEST: u64 = 256 << 20;

async fn import(path: &Path, world: &World, settings: &Settings) -> Result<()> {
    let text = read(path)?;
    let imported = import::import(&text).map_err(|error| {
        let error = CliError::usage(format!("{} cannot be imported: {error}", path.display()));
        error.hint("`co sessions import --help` names the kinds of files")
    })?;
    drop(text);
    let ImportedConversation { format, title, messages, left_out } = imported;
    let count = messages.len();
    let title = title.map(|title| one_line_summary(&title, TITLE_WIDTH)).filter(|title| !title.is_empty());
    let of = CopyOf::File { format: format.to_owned() };
    let workspace = world.workspace.clone();
    let conversation = Conversation {
        of,
        workspace,
        title,
        messages,
        started: BTreeSet::new(),
        notes: Vec::new(),
        summary: None,
    };
    let store = open_store(world, settings).await?;
    let session = Session::copy(&store, conversation).await.map_err(AppError::from)?;
    console::out(&format!("Imported {} messages ({format}) as {}.\n", group_digits(count), session.id()))?;
    console::notes(left_out.iter().map(|(what, count)| format!("left out {} {what}", group_digits(*count))));
    Ok(())
}

/// Reads a text of bounded size from a regular file or standard input.
fn read(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| {
        CliError::error(format!("{}: {error}", path.display())).hint("name a text file")
    };
    let mut bytes = Vec::new();
    let mut size = 0;
    if path == Path::new("-") {
        std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    } else {
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if !metadata.is_file() {
            let text = format!("{} is not a regular file", path.display());
            return Err(CliError::usage(text).hint("name a text file"));
        }
        size = metadata.len();
        // Of a file that is too large nothing is read.
        let most = if size > LARGEST { 0 } else { LARGEST + 1 };
        std::fs::File::open(path).map_err(failed)?.take(most).read_to_end(&mut bytes).map_err(failed)?;
    }
    if size.max(bytes.len() as u64) > LARGEST {
        let text = format!("{} is larger than {}", path.display(), binary_size(LARGEST));
        return Err(CliError::usage(text).hint("split it, or leave its images out"));
    }
    String::from_utf8(bytes).map_err(|error| {
        CliError::usage(format!("{} is no UTF-8 text: {error}", path.display())).hint("convert it to UTF-8")
    })
}

fn write(path: &Path, text: &str) -> Result<()> {
    write_new_private(path, text.as_bytes()).map_err(|error| {
        let error = CliError::error(format!("{}: {error}", path.display()));
        error.hint("name a file that does not exist yet, in a folder that can be written")
    })
}

async fn delete(prefix: &str, yes: bool, world: &World, settings: &Settings) -> Result<()> {
    let store = open_store(world, settings).await?;
    let session = take_ownership(&store, prefix).await?;
    let (id, title) = (session.id().clone(), session.history().name().unwrap_or("untitled").to_owned());
    if !yes {
        let text = format!("deleting {} ({}) cannot be undone", id, sanitize_line(&title));
        return Err(CliError::usage(text).hint("add `--yes` to delete it"));
    }
    remove_session(session, &settings.data_dir, RequestRetention::Deleted).await?;
    console::out(&format!("Deleted {} ({}).\n", id, sanitize_line(&title)))
}

async fn prune(store: &Store, wanted: Retention, yes: bool, settings: &Settings) -> Result<()> {
    let found = store.beyond(wanted).await?;
    if found.is_empty() {
        return console::out("No session is that old; nothing was deleted.\n");
    }
    if !yes {
        console::out(&sessions_table(&found, store.clock().now()))?;
        let text = format!("deleting {} cannot be undone", sessions(found.len()));
        return Err(CliError::usage(text).hint("add `--yes` to delete them"));
    }
    let wanted = found.len();
    let removed = remove_sessions(store, &settings.data_dir, found).await?.len();
    store.compact().await?;
    let kept = match wanted - removed {
        0 => String::new(),
        kept => format!(" {} in use or waiting for you by now were kept.", sessions(kept)),
    };
    console::out(&format!("Deleted {}.{kept}\n", sessions(removed)))
}

fn sessions(count: usize) -> String {
    if count == 1 { "1 session".to_owned() } else { format!("{} sessions", group_digits(count)) }
}

async fn search(words: &str, json: bool, limit: usize, world: &World, settings: &Settings) -> Result<()> {
    let store = open_store_for_lists(world, settings).await?;
    let found = store.search(words, limit).await?;
    if json {
        return console::json(&found.iter().map(hit).collect::<Vec<_>>());
    }
    if found.is_empty() {
        return console::out("Nothing was found.\n");
    }
    let now = store.clock().now();
    let row = |one: &FoundSession| {
        let title = one.title.clone().unwrap_or_else(|| "untitled".to_owned());
        [short(&one.id.0), age(one.at, now), one_line_summary(&title, 30), one.snippet.clone()]
    };
    console::out(&table(["ID", "AGE", "TITLE", "FOUND"], found.iter().map(row)))
}

/// A hit in the form for programs: fields may only be added.
fn hit(one: &FoundSession) -> Value {
    json!({
        "id": one.id,
        "title": one.title,
        "workspace": one.workspace.display().to_string(),
        "at": one.at.to_string(),
        "snippet": one.snippet,
    })
}

async fn list(listed: SessionsListArgs, world: &World, settings: &Settings) -> Result<()> {
    let store = open_store_for_lists(world, settings).await?;
    let all = listed.all;
    let filter = if all { SessionFilter::All } else { SessionFilter::Folder(world.workspace.clone()) };
    let sessions = store.listed_sessions(filter, usize::MAX).await?;
    if listed.form.json {
        return console::json(&sessions.iter().map(listed_json).collect::<Vec<_>>());
    }
    if sessions.is_empty() {
        let place = if all { "yet" } else { "in this folder yet; `co sessions --all` lists all folders" };
        return console::out(&format!("No sessions {place}.\n"));
    }
    console::out(&sessions_table(&sessions, store.clock().now()))
}

fn sessions_table(sessions: &[SessionSummary], now: Timestamp) -> String {
    let row = |one: &SessionSummary| {
        [
            short(&one.id.0),
            age(one.updated, now),
            one.turns.to_string(),
            end(one),
            one.title.clone().unwrap_or_default(),
            one.workspace.display().to_string(),
        ]
    };
    table(["ID", "AGE", "TURNS", "LAST", "TITLE", "FOLDER"], sessions.iter().map(row))
}

fn end(one: &SessionSummary) -> String {
    if one.waiting > 0 {
        return format!("◇ {} waiting", one.waiting);
    }
    one.last_end.as_ref().map_or_else(String::new, |end| sentences::turn_end(end).to_owned())
}

/// A session in the form for programs: fields may only be added. `last_end` is `null` before the first turn, during a
/// turn, and after one that was cut off.
fn listed_json(one: &SessionSummary) -> Value {
    json!({
        "id": one.id,
        "title": one.title,
        "workspace": one.workspace.display().to_string(),
        "created": one.created.to_string(),
        "updated": one.updated.to_string(),
        "turns": one.turns,
        "last_end": one.last_end,
        "waiting": one.waiting,
    })
}
