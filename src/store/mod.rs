//! The store: one SQLite database for everything that must outlive a process.
//!
//! It holds the records of sessions, the requests they wait for, and what was typed. What is written is there whole
//! or not at all; one transaction covers a record and the rows it implies. It never decides, never runs anything, and
//! lets no type of the database library out. Called by `session`, by the composition root and by faces that list.
//!
//! `lane` threads do the work; `writer` is the one way to a transaction; `encode` turns records into rows.

mod audit;
mod decide;
pub mod doctor;
mod encode;
mod error;
mod expiry;
mod health;
mod inbox;
mod index;
mod lane;
mod num;
mod records;
mod redact;
mod requests;
mod rows;
mod schema;
mod standing;
mod usage;
mod wake;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::audit::{
    AuditCheck, AuditFilter, AuditFinding, AuditHead, AuditKind, AuditNote, AuditRow, PastCall, PastFate,
    Pruned,
};
pub use self::decide::DecideOutcome;
pub use self::error::{Listed, StoreError};
pub use self::health::DatabaseCopy;
pub use self::inbox::{Attachment, RequestFilter, RequestState, StoredRequest};
pub use self::index::{InputScope, SessionFilter, SessionSummary, TypedLine};
pub use self::lane::wait_closed;
pub use self::redact::MARK;
pub use self::rows::RequestRow;
pub use self::usage::{Total, UsageOf, UsedModel, UsedSession};
pub use self::wake::Wakeups;

use self::lane::Lane;
use self::redact::Redactor;
use self::wake::Bell;
use self::writer::{Reader, Writer};
use crate::stdx::clock::{Clock, SystemClock};

/// Where and how to open a store. Has no `Debug`: it holds secrets.
pub struct StoreOptions {
    /// The data folder; made owner-only if missing.
    pub data: PathBuf,
    /// The folder for wake-ups, owner-only; made if missing. The same for all processes of one data folder.
    pub runtime: PathBuf,
    pub clock: Arc<dyn Clock>,
    /// Never written; those shorter than 8 bytes are ignored.
    pub secrets: Vec<String>,
    /// An upper bound for the database in pages of 4 KiB; beyond it writes fail with [`StoreError::Full`].
    pub max_pages: Option<u32>,
}

impl StoreOptions {
    /// The machine's clock, no secrets, no bound.
    pub fn new(data: impl Into<PathBuf>, runtime: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            runtime: runtime.into(),
            clock: Arc::new(SystemClock),
            secrets: Vec::new(),
            max_pages: None,
        }
    }
}

/// A handle on the open store; clones share it. The database is closed when the last one is dropped, after the
/// writes that were sent.
///
/// A method whose future is dropped may still take effect: a write that was sent is done.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` where the data folder may only be read.
    writer: Option<Lane<Writer>>,
    reader: Lane<Reader>,
    bell: Arc<Bell>,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
    data: PathBuf,
}

impl Store {
    /// Opens the database of a data folder, creating or migrating it. Refuses, without changing it, a file that is
    /// damaged, newer or not ours. Must be called inside an async runtime with I/O enabled.
    pub async fn open(options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { data, runtime, clock, secrets, max_pages } = options;
        let bell = Arc::new(Bell::hang(&runtime));
        let open_writer = {
            let (data, clock, bell) = (data.clone(), Arc::clone(&clock), Arc::clone(&bell));
            move || Writer::open(&data, max_pages, clock, bell)
        };
        let writer = Lane::start("store-write", &data, open_writer).await?;
        let path = data.clone();
        let reader = Lane::start("store-read", &data, move || Reader::open(&path)).await?;
        let redactor = Arc::new(Redactor::new(secrets));
        Ok(Self { inner: Arc::new(Inner { writer: Some(writer), reader, bell, redactor, clock, data }) })
    }

    /// Opens a database that may only be read: lists work, every write errs with [`StoreError::ReadOnly`], and nothing
    /// expires. Errs for one that would have to be made, migrated or repaired first.
    pub async fn open_read_only(options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { data, clock, secrets, .. } = options;
        let path = data.clone();
        let open = move || Ok(Reader { connection: schema::open_alone(&path)? });
        let reader = Lane::start("store-read", &data, open).await?;
        let (bell, redactor) = (Arc::new(Bell::silent()), Arc::new(Redactor::new(secrets)));
        Ok(Self { inner: Arc::new(Inner { writer: None, reader, bell, redactor, clock, data }) })
    }

    /// The folder that holds the database and the session locks.
    pub fn data_folder(&self) -> &Path {
        &self.inner.data
    }

    /// One more secret that is never written, from the next write on; those shorter than 8 bytes are ignored.
    pub fn conceal(&self, secret: &str) {
        self.inner.redactor.add(secret.to_owned());
    }

    /// The clock that stamps what is stored.
    pub fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    /// Hears of changes to approvals from now on, this process's own included.
    pub fn wakeups(&self) -> Wakeups {
        Wakeups::new(Arc::clone(&self.inner.bell))
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

    async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Reader) -> Result<T, StoreError> + Send + 'static,
    {
        self.inner.reader.run(work).await
    }
}
