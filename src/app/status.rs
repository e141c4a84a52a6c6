//! The data of `co status` and `/status`: model, places, pending requests.

use std::path::Path;

use crate::accounts::{Models, Origin};
use crate::approval::WorkspaceKind;
use crate::config::{Settings, user_file};
use crate::sandbox::Sandbox as _;
use crate::sandbox::subprocess::Subprocess;
use crate::store::{SessionFilter, Store, StoreError};
use crate::workspace::World;

/// Maximum number of sessions counted.
const COUNTED: usize = 100_000;

/// Returns rows of a name and a value; values are not sanitized. A store that cannot be opened is a row too.
pub async fn status_rows(
    world: &World,
    settings: &Settings,
    models: &Models,
    store: Result<&Store, &StoreError>,
) -> Vec<(String, String)> {
    let choice = models.current();
    let origin = match &choice.origin {
        Origin::Setting => "from the settings".to_owned(),
        Origin::Key { title } => format!("a key or an address for {title} is set"),
        Origin::Found { server } => format!("{server}, found on this machine"),
        Origin::Switched => "switched to by you".to_owned(),
        Origin::Offline => "built in; no key, no server".to_owned(),
    };
    let folder = match world.kind_of(&world.workspace) {
        WorkspaceKind::Project => world.workspace.display().to_string(),
        WorkspaceKind::HomeOrRoot => format!("{} (not a project: reads ask too)", world.workspace.display()),
    };
    let mut rows = vec![
        row("version", env!("CARGO_PKG_VERSION")),
        row("model", format!("{}/{} ({origin})", choice.provider, choice.model)),
        row("commands", Subprocess.isolation().word()),
        row("folder", folder),
        row("settings", settings_file(world)),
        row("data", settings.data_dir.display().to_string()),
    ];
    match store {
        Ok(store) => rows.extend(store_rows(store, &settings.data_dir).await),
        Err(error) => rows.push(row("store", format!("cannot be used: {error}"))),
    }
    rows
}

async fn store_rows(store: &Store, data: &Path) -> Vec<(String, String)> {
    // The latest writes are in the WAL until a checkpoint.
    let sizes =
        ["co.db", "co.db-wal"].map(|name| std::fs::metadata(data.join(name)).map_or(0, |file| file.len()));
    let size: u64 = sizes.iter().sum();
    let counted = async {
        let sessions = store.listed_sessions(SessionFilter::All, COUNTED).await?.len();
        Ok::<_, StoreError>((sessions, store.waiting_count().await?))
    };
    match counted.await {
        Ok((sessions, waiting)) => vec![
            row("store", format!("{} KiB, sessions: {sessions}", size.div_ceil(1024))),
            row("waiting", format!("{waiting} for your approval")),
        ],
        Err(error) => vec![row("store", format!("cannot be read: {error}"))],
    }
}

fn settings_file(world: &World) -> String {
    match user_file(&world.env) {
        Some(path) if path.exists() => path.display().to_string(),
        Some(path) => format!("{} (not there: defaults)", path.display()),
        None => "none".to_owned(),
    }
}

fn row(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}
