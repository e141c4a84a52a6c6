//! What the writing thread owns, and the one way to a transaction.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::StoreError;
use super::error::SqlResult as _;
use super::lane::Context;
use super::num::Num;
use super::schema;
use super::wake::Bell;
use crate::history::Durability;
use crate::stdx::clock::Clock;

/// Transactions after which the log is written back at the next pause.
const CHECKPOINT_EVERY: u32 = 200;

pub(super) struct Writer {
    connection: Connection,
    clock: Arc<dyn Clock>,
    bell: Arc<Bell>,
    since_checkpoint: u32,
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
}

impl Writer {
    /// Opens, creates or migrates the database of `data`.
    pub(super) fn open(
        data: &Path,
        max_pages: Option<u32>,
        clock: Arc<dyn Clock>,
        bell: Arc<Bell>,
    ) -> Result<Self, StoreError> {
        let connection = schema::open_writer(data)?;
        if let Some(pages) = max_pages {
            connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).sql()?;
        }
        Ok(Self { connection, clock, bell, since_checkpoint: 0 })
    }

    /// Runs `work` in one transaction that is there whole or not at all, as durable as asked. Other processes are told
    /// if it changed approvals, or where a turn stands.
    pub(super) fn transaction<T>(
        &mut self,
        durability: Durability,
        work: impl FnOnce(&Write<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let synchronous = match durability {
            Durability::Written => "NORMAL",
            Durability::Synced => "FULL",
        };
        // It has no effect inside a transaction.
        self.connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}")).sql()?;
        let sql = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).sql()?;
        let write = Write { sql, now: self.clock.now().as_millisecond(), news: Cell::new(false) };
        let result = work(&write)?;
        let news = write.news.get();
        write.sql.commit().sql()?;
        self.since_checkpoint += 1;
        if news {
            self.bell.ring();
        }
        Ok(result)
    }
}

impl Context for Writer {
    fn idle(&mut self) {
        if self.since_checkpoint >= CHECKPOINT_EVERY {
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
