//! The state of the writer thread, and the only way to a transaction.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::audit::chain::append;
use super::audit::entry::Entry;
use super::audit::{AuditHead, head};
use super::health::Presence;
use super::schema::{self, Journal};
use super::search::{self, IndexedText};
use super::statements::Statements as _;
use super::thread::Context;
use super::wake::ChangeNotifier;
use super::{Network, StoreError};
use crate::history::{Durability, SessionId};
use crate::stdx::clock::Clock;

/// Number of transactions after which the log is checkpointed when the writer is next idle.
const CHECKPOINT_EVERY: u32 = 200;

/// Maximum number of texts that wait for the index of the search.
const UNINDEXED: usize = 200;

/// A log of at most this many bytes is kept when the database is closed: a checkpoint waits for the disk
/// three times, and the next process reads a short log quickly. A longer one is written back and cut to nothing.
const KEPT_LOG: u64 = 1024 * 1024;

pub(super) struct Writer {
    connection: Connection,
    journal: Journal,
    clock: Arc<dyn Clock>,
    notifier: Arc<ChangeNotifier>,
    data: PathBuf,
    /// Device and inode of the opened file: the path may later name another file.
    file: Option<(u64, u64)>,
    since_checkpoint: u32,
    /// The connection's setting of this name; empty until the first transaction.
    synchronous: &'static str,
    /// Stored texts that are not in the index of the search yet.
    unindexed: Vec<IndexedText>,
    /// Whether the index has the texts that killed processes did not add.
    has_whole_index: bool,
    /// The last written audit row that is not yet saved in the file beside the database.
    unkept: Option<AuditHead>,
    /// Of another data folder, whose audit gets a hash of each row.
    audit_copy: Option<Box<Self>>,
    /// Description of damage found; from then on nothing more is written into the file.
    damaged: Option<String>,
    /// Dropped last: it records whether the files were closed cleanly.
    presence: Presence,
}

/// The reader thread needs only its connection.
impl Context for Connection {}

/// A row of the audit for another audit.
pub(super) struct CopiedRow {
    pub session: Option<SessionId>,
    pub entry: Entry,
}

/// A transaction in progress.
pub(super) struct Write<'a> {
    pub sql: Transaction<'a>,
    /// Milliseconds since 1970.
    pub now: i64,
    /// Whether other processes are notified after the commit, and what was said is indexed.
    pub news: Cell<bool>,
    /// Whether a turn starts: others are notified, and its end or its first approval request indexes what it began with.
    pub starts_turn: Cell<bool>,
    /// This transaction's additions to the index of the search, now or later.
    pub texts: RefCell<Vec<IndexedText>>,
    /// The last row that this transaction added to the audit.
    pub audited: RefCell<Option<AuditHead>>,
    /// The rows that this transaction added to the audit, if they are to be copied.
    pub copies: Option<RefCell<Vec<CopiedRow>>>,
}

impl Writer {
    /// Opens, creates or migrates the database of `data`.
    pub(super) fn open(
        data: &Path,
        network: Network,
        max_pages: Option<u32>,
        clock: Arc<dyn Clock>,
        notifier: Arc<ChangeNotifier>,
    ) -> Result<Self, StoreError> {
        let (connection, presence) = schema::open_writer(data, network)?;
        let journal = Journal::on(network(data));
        if let Some(pages) = max_pages {
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
        }
        let file = schema::file_id(&schema::database(data));
        Ok(Self {
            connection,
            journal,
            clock,
            notifier,
            data: data.to_owned(),
            file,
            since_checkpoint: 0,
            synchronous: "",
            unindexed: Vec::new(),
            has_whole_index: false,
            unkept: None,
            audit_copy: None,
            damaged: None,
            presence,
        })
    }

    /// Adds each row of the audit from now on to another audit, with a hash in place of its details.
    pub(super) fn copy_audit_to(&mut self, other: Self) {
        self.audit_copy = Some(Box::new(other));
    }

    /// Adds to the index of the search what is not in it yet; the first time also what killed processes did not add.
    pub(super) fn complete_index(&mut self) -> Result<(), StoreError> {
        self.index_texts()?;
        if !self.has_whole_index {
            self.transaction(Durability::Written, |write| search::index_missing(&write.sql))?;
            self.has_whole_index = true;
        }
        Ok(())
    }

    fn index_texts(&mut self) -> Result<(), StoreError> {
        let texts = mem::take(&mut self.unindexed);
        if texts.is_empty() {
            return Ok(());
        }
        let indexed = self.transaction(Durability::Written, |write| {
            texts.iter().try_for_each(|text| search::index(&write.sql, text))
        });
        if indexed.is_err() {
            self.unindexed = texts;
        }
        indexed
    }

    /// Runs `work` in one atomic transaction with the given durability. Notifies other processes if it
    /// changed approvals, or if a turn began or ended.
    pub(super) fn transaction<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(detail) = self.damaged.clone() {
            return Err(StoreError::Corrupt { folder: PathBuf::new(), detail });
        }
        let result = self.transact(durability, work);
        if let Err(StoreError::Corrupt { detail, .. }) = &result {
            self.damaged = Some(detail.clone());
            self.presence.is_sound = false;
        }
        result
    }

    fn transact<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.check_file()?;
        let synchronous = match (durability, self.journal) {
            (Durability::Written, Journal::Wal) => "NORMAL",
            // Less could damage the file in a power cut.
            (Durability::Written, Journal::Delete) | (Durability::Synced, Journal::Wal) => "FULL",
            // A commit is the removal of the journal, so its folder is synced too.
            (Durability::Synced, Journal::Delete) => "EXTRA",
        };
        if self.synchronous != synchronous {
            // This has no effect inside a transaction.
            self.connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
            self.synchronous = synchronous;
        }
        let sql = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = self.clock.now().as_millisecond();
        let (result, news, audited) = {
            let copies = self.audit_copy.as_ref().map(|_| RefCell::default());
            let (news, starts_turn) = (Cell::new(false), Cell::new(false));
            let (texts, audited) = (RefCell::default(), RefCell::new(None));
            let write = Write { sql, now, news, starts_turn, texts, audited, copies };
            let result = work(&write)?;
            let Write { sql, news, starts_turn, texts, audited, copies, .. } = write;
            let texts = texts.into_inner();
            let index_now = news.get() || self.unindexed.len() + texts.len() > UNINDEXED;
            if index_now {
                self.unindexed.iter().chain(&texts).try_for_each(|text| search::index(&sql, text))?;
            }
            let copies = copies.map(RefCell::into_inner).filter(|rows| !rows.is_empty());
            if let (Some(other), Some(rows)) = (&mut self.audit_copy, copies) {
                // First: a row too many there is harmless, a call without one is not.
                other.add_rows(&rows, durability)?;
            }
            sql.commit()?;
            match index_now {
                true => self.unindexed.clear(),
                false => self.unindexed.extend(texts),
            }
            (result, news.get() || starts_turn.get(), audited.into_inner())
        };
        self.since_checkpoint += 1;
        self.unkept = audited.or(self.unkept.take());
        match durability {
            Durability::Written => {}
            // The sync covers all earlier writes too.
            Durability::Synced => self.keep_head(),
        }
        if news {
            self.notifier.notify();
        }
        Ok(result)
    }

    /// Adds rows of another audit to this one.
    fn add_rows(&mut self, rows: &[CopiedRow], durability: Durability) -> Result<(), StoreError> {
        self.transaction(durability, |write| {
            rows.iter().try_for_each(|row| append(write, row.session.as_ref(), &row.entry))
        })
    }

    /// Returns an error if the open file is no longer the data folder's database: writes to it would be lost, and files
    /// next to it would describe another one.
    fn check_file(&self) -> Result<(), StoreError> {
        let path = schema::database(&self.data);
        if schema::file_id(&path) == self.file { Ok(()) } else { Err(StoreError::Replaced { path }) }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Syncs audit rows up to this one to disk and saves it as the audit's head.
    pub(super) fn seal_at(&mut self, head: AuditHead) -> Result<(), StoreError> {
        self.unkept = Some(head);
        self.seal()
    }

    /// Syncs written audit rows to disk and saves the audit's head, if that is not done yet.
    fn seal(&mut self) -> Result<(), StoreError> {
        if self.unkept.is_some() && self.damaged.is_none() {
            self.check_file()?;
            self.sync()?;
            self.keep_head();
        }
        Ok(())
    }

    /// Syncs all writes to disk, those of other processes included: what is not in the log was synced by a checkpoint.
    fn sync(&self) -> Result<(), StoreError> {
        if self.journal == Journal::Delete {
            return Ok(());
        }
        // No process locks the log, so closing it ends no lock. Its folder is synced because it may be new.
        let synced = match File::open(schema::wal_path(&self.data)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            log => log.and_then(|log| log.sync_data()).and_then(|()| File::open(&self.data)?.sync_all()),
        };
        synced.map_err(|error| StoreError::file(&self.data, &error))
    }

    /// Writes the log back. If a reader blocks part of it, the next checkpoint does the rest.
    fn checkpoint(&self, how: &str) {
        if let Err(error) =
            self.connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(()))
        {
            tracing::debug!(%error, "checkpoint");
        }
    }

    fn keep_head(&mut self) {
        if let Some(last) = self.unkept.take()
            && let Err(error) = head::keep(&self.data, &head::file(&self.data), &last)
        {
            // The rows themselves are safe; the next saved head replaces this one.
            tracing::warn!(%error, "the head of the audit was not kept");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.index_texts() {
            tracing::debug!(%error, "the latest texts were not indexed");
        }
        if let Err(error) = self.seal() {
            tracing::debug!(%error, "the head of the audit was not kept");
        }
        // The lengths of another database's files say nothing about this one.
        self.presence.is_sound &= self.check_file().is_ok();
        let log = fs::metadata(schema::wal_path(&self.data)).map_or(0, |metadata| metadata.len());
        if log > KEPT_LOG && self.damaged.is_none() {
            // Not by closing: other connections, the reader's among them, would prevent it.
            self.checkpoint("TRUNCATE");
        }
        if let Err(error) = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
            tracing::debug!(%error, "the log is written back although it is short");
        }
    }
}

impl Context for Writer {
    fn idle(&mut self) {
        if self.since_checkpoint >= CHECKPOINT_EVERY && self.damaged.is_none() {
            self.since_checkpoint = 0;
            self.checkpoint("PASSIVE");
        }
    }
}

impl Write<'_> {
    /// Returns the next number of the store-wide sequence of changes to approvals.
    pub(super) fn next_seq(&self) -> Result<u64, StoreError> {
        self.news.set(true);
        let next = "UPDATE store_seq SET seq = seq + 1 RETURNING seq";
        Ok(self.sql.one(next, [], |row| row.get(0))?)
    }
}
