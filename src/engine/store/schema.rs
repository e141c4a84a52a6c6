//! Opens the database file: checks its owner and format, and migrates it to the current format.
//!
//! A file that is not of `co`, is damaged or comes from a newer `co` is refused before anything is written to
//! it. Called by the two database threads when they start.

use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::health::{Presence, quick_check};
use super::{Network, StoreError, audit, encode, search};
use crate::stdx::fs::{create_private_dir, open_private};
use crate::stdx::names::names;

/// The migrations from an empty database to the newest format; each one is final once released.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("v1.sql"),
    include_str!("v2.sql"),
    include_str!("v3.sql"),
    include_str!("v4.sql"),
    include_str!("v5.sql"),
];

/// The first format in which a request's hash covers the whole request as stored, with secrets redacted.
const HASHED_WHOLE: usize = 4;

/// The first format with an audit and its triggers.
pub(super) const AUDITED: usize = 3;

/// The first format with an index of words.
pub(super) const INDEXED: usize = 5;

/// The first format in which a file beside the database records what was pruned from the audit.
const WITNESSED: usize = 4;

/// Identifies a database of `co` in its header (`co.d`).
pub(super) const APPLICATION_ID: i32 = 0x636f_2e64;

/// How long a process waits for another process's transaction.
const BUSY: Duration = Duration::from_secs(10);

const MAGIC: &[u8] = b"SQLite format 3\0";

/// The database file of a data folder.
pub(super) fn database(data: &Path) -> PathBuf {
    data.join("co.db")
}

/// Returns the device and inode of a file; `None` if it does not exist.
pub fn file_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The write-ahead log of the database.
pub(super) fn wal_path(data: &Path) -> PathBuf {
    data.join("co.db-wal")
}

/// The log of a transaction in progress, in a folder on a network.
pub(super) fn journal_path(data: &Path) -> PathBuf {
    data.join("co.db-journal")
}

/// How changes are made atomic. A write-ahead log needs memory that all processes share by a file, which network file
/// systems do not offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Journal {
    Wal,
    Delete,
}

names! { Journal, word { Wal = "wal", Delete = "delete", } }

impl Journal {
    pub(super) fn on(network: Option<&str>) -> Self {
        if network.is_some() { Self::Delete } else { Self::Wal }
    }

    /// Returns the mode that the database has then, if it is another one.
    pub(super) fn set(self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        let set = format!("PRAGMA journal_mode = {}", self.word());
        let mode: String = connection.query_row(&set, [], |row| row.get(0))?;
        Ok((mode != self.word()).then_some(mode))
    }
}

/// Opens the database for writing, and creates or migrates it; all files are owner-only from creation. A
/// database that was not closed cleanly is checked first.
pub(super) fn open_writer(data: &Path, network: Network) -> Result<(Connection, Presence), StoreError> {
    let file = |error: std::io::Error| StoreError::file(data, &error);
    create_private_dir(data).map_err(file)?;
    create_private_dir(&data.join("locks")).map_err(file)?;
    let journal = Journal::on(network(data));
    // Only one process opens at a time: switching to WAL and migrating need exclusive access.
    let gate = open_private(&data.join("locks").join("open")).map_err(file)?;
    gate.lock().map_err(file)?;
    let path = database(data);
    let was_there = path.exists();
    let mut magic = Vec::new();
    let database = open_private(&path).map_err(file)?;
    (&database).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(file)?;
    drop(database);
    if !magic.is_empty() && magic != MAGIC {
        return Err(StoreError::NotADatabase { path });
    }
    if magic.is_empty() && was_there && audit::is_known(data) {
        let detail = "co.db is empty, but had content before".to_owned();
        return Err(StoreError::Corrupt { folder: PathBuf::new(), detail });
    }
    let mut connection = Connection::open_with_flags(
        &path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(BUSY)?;
    if journal == Journal::Delete {
        // A log that a local process left is then read without shared memory.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    // Closing a damaged file must not write into it either.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let version = check(&connection, &path)?;
    let (mut presence, is_unchecked) = Presence::enter(data).map_err(file)?;
    if is_unchecked && version > 0 {
        is_whole(&connection, data)?;
        quick_check(&connection)?;
    }
    configure(&connection, journal)?;
    migrate(&mut connection, version)?;
    if (AUDITED..WITNESSED).contains(&version) {
        audit::witness_pruning(&connection, data)?;
    }
    presence.is_sound = true;
    Ok((connection, presence))
}

/// Returns an error if the file is shorter than its header says and there is no log with the rest.
fn is_whole(connection: &Connection, data: &Path) -> Result<(), StoreError> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u64>(0));
    let wanted = number("page_count")? * number("page_size")?;
    let length = |path: PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    let (found, log) = (length(database(data)), length(wal_path(data)));
    if found >= wanted || log > 0 {
        return Ok(());
    }
    let detail = format!("the file has {found} bytes of {wanted}");
    Err(StoreError::Corrupt { folder: PathBuf::new(), detail })
}

/// Creates a database of an older format in an empty file.
pub(super) fn at_version(path: &Path, version: usize) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    for migration in MIGRATIONS.iter().take(version) {
        connection.execute_batch(migration)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", version)?;
    Ok(connection)
}

/// Opens a database file read-only.
pub(super) fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Opens the database read-only; the writer must have opened it before.
pub(super) fn open_reader(data: &Path) -> Result<Connection, StoreError> {
    let connection = open_read_only(&database(data))?;
    connection.busy_timeout(BUSY)?;
    // Only the writer decides whether the log is checkpointed on close.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA cache_size = -256;")?;
    Ok(connection)
}

/// Opens the database read-only in a folder that cannot be written.
pub(super) fn open_alone(data: &Path) -> Result<Connection, StoreError> {
    let path = database(data);
    let usable = |connection: Connection| -> Result<Connection, StoreError> {
        match check(&connection, &path)? {
            version if version == MIGRATIONS.len() => Ok(connection),
            _ => Err(StoreError::ReadOnly { folder: data.to_owned() }),
        }
    };
    if let Ok(connection) = open_reader(data).and_then(usable) {
        return Ok(connection);
    }
    // The log's index cannot be created there, and a change that was cut off cannot be taken back. Without a log
    // neither is needed.
    if [wal_path(data), journal_path(data)].iter().any(|log| log.metadata().is_ok_and(|log| log.len() > 0)) {
        return Err(StoreError::ReadOnly { folder: data.to_owned() });
    }
    let name: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                char::from(*byte).to_string()
            }
            other => format!("%{other:02x}"),
        })
        .collect();
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    usable(Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)?)
}

/// Returns the file's format. Fails if it is not a database of `co`, or of a newer one. Writes nothing.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let ours = application == i64::from(APPLICATION_ID);
    if (tables > 0 || version != 0) && !ours {
        return Err(StoreError::NotADatabase { path: path.to_owned() });
    }
    match usize::try_from(version) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) | Err(_) => Err(StoreError::Newer {
            path: path.to_owned(),
            found: u32::try_from(version).unwrap_or(u32::MAX),
            known: u32::try_from(MIGRATIONS.len()).expect("migrations are few"),
        }),
    }
}

/// Prepared statements that a connection keeps: one turn uses more than the library's default of 16.
const STATEMENTS: usize = 64;

fn configure(connection: &Connection, journal: Journal) -> Result<(), StoreError> {
    if let Some(mode) = journal.set(connection)? {
        let detail = format!("it cannot keep its log there (journal mode is {mode}, not {})", journal.word());
        return Err(StoreError::Failed { folder: PathBuf::new(), detail });
    }
    if journal == Journal::Delete {
        // The lock is given back by the next read.
        connection.pragma_update(None, "locking_mode", "NORMAL")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    }
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without it a statement is prepared anew for each value that an index's condition might depend on.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The log is checkpointed when the writer is idle; this limit applies if it is never idle. The cache is small (in KiB),
    // because the system keeps the file's pages too, for all connections.
    Ok(connection.execute_batch(
        "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -512;",
    )?)
}

fn migrate(connection: &mut Connection, version: usize) -> Result<(), StoreError> {
    if version == MIGRATIONS.len() {
        return Ok(());
    }
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in &MIGRATIONS[version..] {
        step.execute_batch(migration)?;
    }
    if version < HASHED_WHOLE {
        rehash(&step)?;
    }
    if version < INDEXED {
        search::index_all(&step)?;
    }
    step.pragma_update(None, "application_id", APPLICATION_ID)?;
    step.pragma_update(None, "user_version", MIGRATIONS.len())?;
    Ok(step.commit()?)
}

/// Rehashes old requests: earlier formats hashed the unredacted text, so these would count as changed.
fn rehash(step: &Transaction<'_>) -> Result<(), StoreError> {
    let mut select =
        step.prepare("SELECT id, request FROM approvals WHERE state NOT IN ('consumed', 'withdrawn')")?;
    let mut update = step.prepare("UPDATE approvals SET args_hash = ?2 WHERE id = ?1")?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(String, String)> = rows.collect::<rusqlite::Result<_>>()?;
    for (id, json) in rows {
        update.execute([id, encode::request_hash(&json)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
