//! The data of `co status` and `/status`: model, places, pending requests.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::accounts::{Models, Origin};
use crate::app::{otlp_options, web_words};
use crate::approval::WorkspaceKind;
use crate::config::{Settings, user_file};
use crate::sandbox::{Backend, Sandbox};
use crate::stdx::secrecy::shown_address;
use crate::stdx::text::size;
use crate::store::{SessionFilter, Store, StoreError};
use crate::telemetry::file::FILE;
use crate::telemetry::otlp::OtlpOptions;
use crate::tool::mcp::ServerStatus;
use crate::workspace::World;

/// Maximum number of sessions counted.
const COUNTED: usize = 100_000;

/// The state of the program. Its JSON form is that of `co status --json`: fields may only be added.
#[derive(Debug, Serialize)]
pub struct Status {
    version: &'static str,
    model: ModelStatus,
    /// `unsandboxed`, `partly sandboxed` or `sandboxed`.
    commands: &'static str,
    sandbox: SandboxStatus,
    folder: PathBuf,
    /// `false` in the home folder itself and in `/`, where reads ask too.
    is_project: bool,
    /// The user's own file; it need not exist.
    settings: Option<PathBuf>,
    data: PathBuf,
    /// A warning about the data folder, if it is on no local disk.
    data_warning: Option<String>,
    /// The tool servers of the settings.
    servers: Vec<ServerStatus>,
    /// How the web is reached.
    web: String,
    spans: SpansStatus,
    /// `null` if the database cannot be used.
    store: Option<StoreStatus>,
    /// Why the database cannot be used.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct ModelStatus {
    provider: String,
    name: String,
    /// `setting`, `key`, `found`, `switched` or `offline`.
    origin: &'static str,
    #[serde(skip)]
    words: String,
}

/// The isolation of commands.
#[derive(Debug, Serialize)]
pub struct SandboxStatus {
    #[serde(skip)]
    word: &'static str,
    /// `none`, `landlock` or `bubblewrap`.
    backend: &'static str,
    /// The accesses that are not prevented for commands that write here.
    not_held: Vec<&'static str>,
    /// Why no better backend is used, with the remedy.
    remarks: Vec<String>,
}

impl SandboxStatus {
    #[must_use]
    pub fn of(sandbox: &dyn Sandbox, remarks: &[String]) -> Self {
        let isolation = sandbox.isolation();
        Self {
            word: isolation.word(),
            backend: isolation.backend.word(),
            not_held: isolation.not_held(),
            remarks: remarks.to_vec(),
        }
    }

    /// Describes it in one line.
    pub fn line(&self) -> String {
        let mut words = if self.backend == Backend::None.word() {
            "unsandboxed".to_owned()
        } else {
            format!("sandboxed by {}", self.backend)
        };
        if !self.not_held.is_empty() {
            words.push_str(&format!("; not held: {}", self.not_held.join(", ")));
        }
        if !self.remarks.is_empty() {
            words.push_str(&format!(" ({})", self.remarks.join("; ")));
        }
        words
    }
}

/// Where spans are kept, and where they are sent.
#[derive(Debug, Serialize)]
struct SpansStatus {
    /// Whether a file is written.
    kept: bool,
    days: u32,
    bytes: u64,
    /// Addresses of collectors.
    sent_to: Vec<String>,
    /// Whether messages, arguments and results are sent too.
    content_sent: bool,
    /// Why spans are lost or not sent.
    error: Option<String>,
}

impl SpansStatus {
    fn of(world: &World, settings: &Settings) -> Self {
        let is_private = world.private.is_some();
        let (kept, mut error) = (settings.telemetry.max_mb > 0 && !is_private, world.telemetry.trouble());
        let otlp = otlp_options(world, settings).unwrap_or_else(|why| {
            error.get_or_insert(format!("{why}."));
            None
        });
        let otlp = otlp.filter(|_| !is_private);
        Self {
            kept,
            days: settings.telemetry.days,
            bytes: bytes_of(&settings.data_dir.join(FILE)),
            sent_to: otlp.iter().flat_map(OtlpOptions::addresses).map(shown_address).collect(),
            content_sent: otlp.is_some_and(|otlp| otlp.content),
            error,
        }
    }

    fn line(&self) -> String {
        let mut words = match self.kept {
            true => format!("{}, kept for {} days", size(self.bytes), self.days),
            false => "not kept".to_owned(),
        };
        if !self.sent_to.is_empty() {
            let content = if self.content_sent { "with" } else { "without" };
            words.push_str(&format!("; sent to {} {content} content", self.sent_to.join(", ")));
        }
        if let Some(error) = &self.error {
            words.push_str(&format!(" ({})", error.trim_end_matches('.')));
        }
        words
    }
}

#[derive(Debug, Serialize)]
struct StoreStatus {
    bytes: u64,
    sessions: usize,
    /// Requests that wait for a decision, in all sessions.
    waiting: usize,
}

impl Status {
    pub async fn of(
        world: &World,
        settings: &Settings,
        models: &Models,
        sandbox: SandboxStatus,
        servers: Vec<ServerStatus>,
        store: Result<&Store, &StoreError>,
    ) -> Self {
        let data = settings.data_dir.clone();
        let data_warning = store.ok().and_then(Store::network_warning);
        let store = match store {
            Ok(store) => {
                StoreStatus::of(store, &data).await.map_err(|error| format!("cannot be read: {error}"))
            }
            Err(error) => Err(format!("cannot be used: {error}")),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            model: ModelStatus::of(models),
            commands: sandbox.word,
            sandbox,
            folder: world.workspace.clone(),
            is_project: world.kind_of(&world.workspace) == WorkspaceKind::Project,
            settings: user_file(&world.env),
            data,
            data_warning,
            servers,
            web: web_words(settings),
            spans: SpansStatus::of(world, settings),
            error: store.as_ref().err().cloned(),
            store: store.ok(),
        }
    }

    /// Returns rows of a name and a value; values are not sanitized.
    pub fn rows(&self) -> Vec<(String, String)> {
        let ModelStatus { provider, name, words, .. } = &self.model;
        let folder = self.folder.display();
        let note = if self.is_project { "" } else { " (not a project: reads ask too)" };
        let mut rows = vec![
            row("version", self.version),
            row("model", format!("{provider}/{name} ({words})")),
            row("commands", self.sandbox.line()),
            row("folder", format!("{folder}{note}")),
            row("settings", self.settings_file()),
            row("data", self.data.display().to_string()),
        ];
        rows.extend(self.data_warning.as_ref().map(|text| row("data", text.as_str())));
        if !self.servers.is_empty() {
            let one = |one: &ServerStatus| format!("{} ({})", one.name, one.state.line());
            rows.push(row("servers", self.servers.iter().map(one).collect::<Vec<_>>().join(", ")));
        }
        if let Some(StoreStatus { bytes, sessions, waiting }) = &self.store {
            rows.push(row("store", format!("{}, sessions: {sessions}", size(*bytes))));
            rows.push(row("waiting", format!("{waiting} for your approval")));
        }
        rows.push(row("web", self.web.as_str()));
        rows.push(row("spans", self.spans.line()));
        rows.extend(self.error.as_ref().map(|error| row("store", error.as_str())));
        rows
    }

    fn settings_file(&self) -> String {
        match &self.settings {
            Some(path) if path.exists() => path.display().to_string(),
            Some(path) => format!("{} (missing: defaults)", path.display()),
            None => "none".to_owned(),
        }
    }
}

impl ModelStatus {
    fn of(models: &Models) -> Self {
        let choice = models.current();
        let (origin, words) = match &choice.origin {
            Origin::Setting => ("setting", "from the settings".to_owned()),
            Origin::Key { title } => ("key", format!("a key or an address for {title} is set")),
            Origin::Found { server } => ("found", format!("{server}, found on this machine")),
            Origin::Switched => ("switched", "chosen by you".to_owned()),
            Origin::Offline => ("offline", "built in; no key, no server".to_owned()),
        };
        Self { provider: choice.provider.clone(), name: choice.model.clone(), origin, words }
    }
}

impl StoreStatus {
    async fn of(store: &Store, data: &Path) -> Result<Self, StoreError> {
        let bytes = bytes_of(&data.join("co.db"));
        let sessions = store.listed_sessions(SessionFilter::All, COUNTED).await?.len();
        Ok(Self { bytes, sessions, waiting: store.waiting_count().await? })
    }
}

/// Returns the size of a database; its latest writes are in the WAL until a checkpoint.
fn bytes_of(database: &Path) -> u64 {
    let mut wal = database.as_os_str().to_owned();
    wal.push("-wal");
    [database.as_os_str(), &wal].map(|file| std::fs::metadata(file).map_or(0, |file| file.len())).iter().sum()
}

fn row(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}
