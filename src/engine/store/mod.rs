//! The store: one SQLite database for everything that must outlive a process.
//!
//! It holds the records of sessions, their requests for approval, and the input history. Writes are atomic:
//! one transaction covers a record and the rows it implies. The store never decides and never runs anything,
//! and exposes no type of the database library, save for the conversion of its errors and the files of [`sidecar`]. Called
//! by `session`, the composition root and front ends.
//!
//! `thread` threads do the work; `writer` is the only way to a transaction; `encode` turns records into rows;
//! `statements` runs prepared statements.

mod audit;
mod decide;
pub mod doctor;
mod encode;
mod error;
mod expiry;
mod health;
mod inbox;
mod index;
mod questions;
mod records;
mod redact;
mod request_rows;
mod requests;
mod retention;
mod rows;
mod schema;
mod search;
pub mod sidecar;
mod statements;
mod thread;
mod usage;
mod wake;
mod writer;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::Value;
use tokio::sync::oneshot;

pub use self::audit::{
    AuditCheck, AuditFilter, AuditFinding, AuditHead, AuditKind, AuditNote, AuditRow, PastCall, PastOutcome,
    PrunedRange,
};
pub use self::decide::DecideOutcome;
pub use self::error::{IdKind, StoreError};
pub use self::health::DatabaseCopy;
pub use self::inbox::{CallTiming, PastDecision, RequestFilter, RequestState, StoredRequest};
pub use self::index::{InputScope, SessionFilter, SessionSummary, TypedLine};
pub use self::questions::QuestionStatus;
pub use self::redact::MARK;
pub use self::retention::{RequestRetention, Retention, times_of_use};
pub use self::rows::RequestRow;
pub use self::schema::file_id;
pub use self::search::FoundSession;
pub use self::thread::wait_closed;
pub use self::usage::{StoredUsage, UsageOf, UsedModel, UsedSession};
pub use self::wake::{ChangeListener, wake_others};

use self::redact::Redactor;
use self::thread::DbThread;
use self::wake::ChangeNotifier;
use self::writer::{Write, Writer};
use crate::history::Durability;
use crate::stdx::clock::{Clock, SystemClock};
use crate::stdx::fs::network_file_system;

/// Returns the type of a folder's file system if it is no local one.
pub type Network = fn(&Path) -> Option<&'static str>;

/// Where and how to open a store. Not `Debug`, because it holds secrets.
pub struct StoreOptions {
    /// The data folder; created owner-only if missing.
    pub data: PathBuf,
    /// The owner-only folder for wake-ups; created if missing. The same for all processes of one data folder.
    pub runtime: PathBuf,
    pub clock: Arc<dyn Clock>,
    /// Secrets that are never written; those shorter than 8 bytes are ignored.
    pub secrets: Vec<String>,
    /// Maximum size of the database in pages of 4 KiB; beyond it writes fail with [`StoreError::Full`].
    pub max_pages: Option<u32>,
    /// Another data folder, to whose audit each row of the audit is added, with a hash in place of its details.
    pub audit_copy: Option<PathBuf>,
    pub network: Network,
}

impl StoreOptions {
    /// Uses the system clock, no secrets and no size limit.
    pub fn new(data: impl Into<PathBuf>, runtime: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            runtime: runtime.into(),
            clock: Arc::new(SystemClock),
            secrets: Vec::new(),
            max_pages: None,
            audit_copy: None,
            network: network_file_system,
        }
    }
}

/// Returns what to know about a data folder on a file system of this type.
pub fn network_warning(kind: &str) -> String {
    format!(
        "The data folder is not on a local disk ({kind}). Do not use it from two machines at the same time; `data_dir` \
         names another folder."
    )
}

/// A handle on the open store; clones share it. The database is closed when the last handle is dropped, after
/// the writes already sent.
///
/// Not cancel-safe: a write that was sent takes effect even if the method's future is dropped.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` if the data folder is read-only.
    writer: Option<DbThread<Writer>>,
    reader: DbThread<Connection>,
    notifier: Arc<ChangeNotifier>,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    data: PathBuf,
    /// The type of the data folder's file system, if it is no local one.
    network: Option<&'static str>,
}

impl Store {
    /// Opens the database of a data folder, creating or migrating it. Refuses, without changing it, a file
    /// that is damaged, from a newer `co`, or not a database of `co`. Must be called inside an async runtime
    /// with I/O enabled.
    pub async fn open(options: StoreOptions) -> Result<Self, StoreError> {
        Self::begin(options)?.opened().await
    }

    /// Begins to open a database as [`Store::open`] does, without waiting: what keeps it from opening is the error of
    /// [`Store::opened`], and nothing else works then.
    pub fn begin(options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { data, runtime, clock, secrets, max_pages, audit_copy, network } = options;
        let notifier = Arc::new(ChangeNotifier::listen(&runtime));
        let (opened, exists) = oneshot::channel();
        let open_writer = {
            let (data, clock, notifier) = (data.clone(), Arc::clone(&clock), Arc::clone(&notifier));
            move || {
                let mut writer = Writer::open(&data, network, max_pages, Arc::clone(&clock), notifier)?;
                if let Some(folder) = audit_copy {
                    let silent = Arc::new(ChangeNotifier::silent());
                    let copy = Writer::open(&folder, network, None, clock, silent);
                    writer.copy_audit_to(copy.map_err(|error| error.located(&folder))?);
                }
                let _ = opened.send(());
                Ok(writer)
            }
        };
        let writer = DbThread::start_soon("store-write", &data, open_writer)?;
        let path = data.clone();
        let open_reader = move || {
            exists.blocking_recv().map_err(|_closed| StoreError::Stopped)?;
            let connection = schema::open_reader(&path)?;
            // The log and the schema are read now rather than by the first caller; what fails here fails there again.
            let _ = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            Ok(connection)
        };
        let reader = DbThread::start_soon("store-read", &data, open_reader)?;
        let redactor = Arc::new(Redactor::new(secrets));
        let network = network(&data);
        let inner = Inner { writer: Some(writer), reader, notifier, redactor, clock, data, network };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Waits until the database is open; errs if it cannot be opened.
    pub async fn opened(self) -> Result<Self, StoreError> {
        self.write(|_| Ok(())).await?;
        Ok(self)
    }

    /// Opens a database read-only: lists work, every write fails with [`StoreError::ReadOnly`], and no
    /// request expires. Fails if the database would first have to be created, migrated or repaired.
    pub async fn open_read_only(options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { data, clock, secrets, network, .. } = options;
        let path = data.clone();
        let reader = DbThread::start("store-read", &data, move || schema::open_alone(&path)).await?;
        let (notifier, redactor) = (Arc::new(ChangeNotifier::silent()), Arc::new(Redactor::new(secrets)));
        let network = network(&data);
        let inner = Inner { writer: None, reader, notifier, redactor, clock, data, network };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns a sentence about the data folder if it is on no local file system.
    pub fn network_warning(&self) -> Option<String> {
        self.inner.network.map(network_warning)
    }

    /// The folder that holds the database and the session locks.
    pub fn data_folder(&self) -> &Path {
        &self.inner.data
    }

    /// Adds a secret that is never written, from the next write on; one shorter than 8 bytes is ignored.
    pub fn conceal(&self, secret: &str) {
        self.inner.redactor.add(secret.to_owned());
    }

    /// Whether a value contains one of the secrets: stored, it would be another value.
    pub fn conceals(&self, value: &Value) -> bool {
        self.inner.redactor.holds_any(value)
    }

    /// Returns a function that replaces the secrets in a text; it does not keep the store open.
    pub fn concealer(&self) -> impl Fn(&str) -> Cow<'_, str> + Send + Sync + use<> {
        let redactor = Arc::clone(&self.inner.redactor);
        move |text: &str| redactor.text(text)
    }

    /// The clock used for stored times.
    pub fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// Returns a handle that is notified of changes to approvals from now on, also by this process.
    pub fn change_listener(&self) -> ChangeListener {
        ChangeListener::new(Arc::clone(&self.inner.notifier))
    }

    async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Writer) -> Result<T, StoreError> + Send + 'static,
    {
        match &self.inner.writer {
            Some(writer) => writer.run(work).await,
            None => Err(StoreError::ReadOnly { folder: self.inner.data.clone() }),
        }
    }

    /// Runs `work` in a transaction of the writer.
    async fn transact<T, W>(&self, durability: Durability, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Write<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.write(move |writer| writer.transaction(durability, work)).await
    }

    async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.inner.reader.run(work).await
    }
}
