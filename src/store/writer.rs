//! What the writing thread owns, and the one way to a transaction.

use std::cell::{Cell, RefCell};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::StoreError;
use super::audit::{AuditHead, head};
use super::error::SqlResult as _;
use super::health::{Health, Presence};
use super::lane::Context;
use super::num::Num;
use super::schema;
use super::wake::Bell;
use crate::history::Durability;
use crate::stdx::clock::Clock;

/// Transactions after which the log is written back at the next pause.
const CHECKPOINT_EVERY: u32 = 200;

/// A log of at most so many bytes is left beside the database when it is closed: writing it back waits for the disk
/// three times, and the next to open reads it in a moment.
const KEPT_LOG: u64 = 1024 * 1024;

pub(super) struct Writer {
    connection: Connection,
    clock: Arc<dyn Clock>,
    bell: Arc<Bell>,
    data: PathBuf,
    /// The file that was opened: a path may name another one later.
    file: Option<(u64, u64)>,
    since_checkpoint: u32,
    /// The last row of the audit that is written and not yet kept beside the database.
    unkept: Option<AuditHead>,
    /// What is damaged, once anything was found to be: nothing more is written into such a file.
    damaged: Option<String>,
    /// Dropped last: it notes how the files were left.
    presence: Presence,
}

/// The connection of the reading thread.
pub(super) struct Reader {
    pub connection: Connection,
}

impl Reader {
    pub(super) fn open(data: &Path) -> Result<Self, StoreError> {
        Ok(Self { connection: schema::open_reader(data)? })
    }
}

impl Context for Reader {
    fn idle(&mut self) {}
}

/// A transaction under way.
pub(super) struct Write<'a> {
    pub sql: Transaction<'a>,
    /// Milliseconds since 1970.
    pub now: i64,
    /// Whether others are told of it.
    pub news: Cell<bool>,
    /// The last row that it added to the audit.
    pub audited: RefCell<Option<AuditHead>>,
}

impl Writer {
    /// Opens, creates or migrates the database of `data`.
    pub(super) fn open(
        data: &Path,
        max_pages: Option<u32>,
        clock: Arc<dyn Clock>,
        bell: Arc<Bell>,
    ) -> Result<Self, StoreError> {
        let (connection, presence) = schema::open_writer(data)?;
        if let Some(pages) = max_pages {
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).sql()?;
        }
        let file = schema::file_id(&schema::database(data));
        Ok(Self {
            connection,
            clock,
            bell,
            data: data.to_owned(),
            file,
            since_checkpoint: 0,
            unkept: None,
            damaged: None,
            presence,
        })
    }

    /// Runs `work` in one transaction that is there whole or not at all, as durable as asked. Other processes are told
    /// if it changed approvals, or where a turn stands.
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
            self.presence.health = Health::Damaged;
        }
        result
    }

    fn transact<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.check_file()?;
        let synchronous = match durability {
            Durability::Written => "NORMAL",
            Durability::Synced => "FULL",
        };
        // It has no effect inside a transaction.
        self.connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}")).sql()?;
        let sql = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).sql()?;
        let now = self.clock.now().as_millisecond();
        let (result, news, audited) = {
            let write = Write { sql, now, news: Cell::new(false), audited: RefCell::new(None) };
            let result = work(&write)?;
            let Write { sql, news, audited, .. } = write;
            sql.commit().sql()?;
            (result, news.get(), audited.into_inner())
        };
        self.since_checkpoint += 1;
        self.unkept = audited.or(self.unkept.take());
        match durability {
            Durability::Written => {}
            // All that was written before is on the disk with it.
            Durability::Synced => self.keep_head(),
        }
        if news {
            self.bell.ring();
        }
        Ok(result)
    }
}

impl Writer {
    /// Errs where the database that is open is not the one of the data folder any more: it would take what nobody finds.
    fn check_file(&self) -> Result<(), StoreError> {
        let path = schema::database(&self.data);
        if schema::file_id(&path) == self.file { Ok(()) } else { Err(StoreError::Replaced { path }) }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Brings what was written to the disk and keeps the audit's head, where it is not yet.
    fn seal(&mut self) -> Result<(), StoreError> {
        if self.unkept.is_some() && self.damaged.is_none() {
            self.sync()?;
            self.keep_head();
        }
        Ok(())
    }

    /// Brings all that was written to the disk, by other processes too.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).sql()
    }

    fn keep_head(&mut self) {
        if let Some(last) = self.unkept.take()
            && let Err(error) = head::keep(&self.data, &head::file(&self.data), &last)
        {
            // The rows themselves are safe; the next head makes up for it.
            tracing::warn!(%error, "the head of the audit was not kept");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Err(error) = self.seal() {
            tracing::debug!(%error, "the head of the audit was not kept");
        }
        let log = fs::metadata(schema::wal_path(&self.data)).map_or(0, |metadata| metadata.len());
        let stays = log <= KEPT_LOG || self.damaged.is_some();
        let kept = self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, stays);
        if let Err(error) = kept {
            tracing::debug!(%error, "the log is written back although it is short");
        }
    }
}

impl Context for Writer {
    fn idle(&mut self) {
        if self.since_checkpoint >= CHECKPOINT_EVERY && self.damaged.is_none() {
            self.since_checkpoint = 0;
            // A checkpoint that finds a reader in its way does what it can; the next one does the rest.
            if let Err(error) = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
                tracing::debug!(%error, "checkpoint");
            }
        }
    }
}

impl Write<'_> {
    /// The next number of the store-wide sequence of changes to approvals.
    pub(super) fn next_seq(&self) -> Result<u64, StoreError> {
        self.news.set(true);
        self.sql
            .prepare_cached("UPDATE store_seq SET seq = seq + 1 RETURNING seq")
            .sql()?
            .query_row([], |row| row.get::<_, Num>(0))
            .sql()
            .map(|seq| seq.0)
    }
}
