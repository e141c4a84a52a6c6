//! Whether the database is sound: what tells that the last `co` closed it well, the check after one that did not, and
//! the copies that are kept.
//!
//! Called as the database is opened and closed, and by `co doctor`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::error::SqlResult as _;
use super::{Store, StoreError, schema};
use crate::stdx::fs::{create_private_dir, open_private};

/// Copies that are kept; the oldest goes first.
const COPIES: usize = 3;

/// How old the newest copy is before another one is made.
const COPY_AGE: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// Faults of one check that are told.
const FAULTS: usize = 20;

/// What a copy that is being made is called.
const UNFINISHED: &str = "unfinished.db";

/// That this process has the database open. The last to close it writes down how long its files are.
pub(super) struct Presence {
    data: PathBuf,
    lock: File,
    /// What was found of the files, or of one of them since.
    pub(super) health: Health,
}

/// Whether files may be noted as closed well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Unchecked,
    Sound,
    Damaged,
}

/// How a database was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseState {
    Clean,
    /// Another process has it open: it was checked then.
    OpenElsewhere,
    /// Nobody closed it, or its files are not as they were.
    NotClosed,
}

impl Presence {
    /// Says that the database is open here. Called by one process at a time.
    pub(super) fn enter(data: &Path) -> io::Result<(Self, CloseState)> {
        let lock = open_private(&users(data))?;
        let left = match lock.try_lock() {
            Ok(()) if closed_well(data) => CloseState::Clean,
            Ok(()) => CloseState::NotClosed,
            Err(fs::TryLockError::WouldBlock) => CloseState::OpenElsewhere,
            Err(fs::TryLockError::Error(error)) => return Err(error),
        };
        lock.lock_shared()?;
        match fs::remove_file(mark(data)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        Ok((Self { data: data.to_owned(), lock, health: Health::Unchecked }, left))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.health == Health::Sound
            && self.lock.try_lock().is_ok()
            && let Err(error) = note(&self.data)
        {
            // Then it is checked when it is opened again.
            tracing::debug!(%error, "that the database was closed well is not noted");
        }
    }
}

/// Notes the lengths of the files. Not synced: one that is behind means a check.
fn note(data: &Path) -> io::Result<()> {
    let mut file = open_private(&mark(data))?;
    file.set_len(0)?;
    file.write_all(lengths(data).as_bytes())
}

fn users(data: &Path) -> PathBuf {
    data.join("locks").join("users")
}

fn mark(data: &Path) -> PathBuf {
    data.join("co.db-closed")
}

/// The lengths of the database and its log.
fn lengths(data: &Path) -> String {
    let length = |path: PathBuf| fs::metadata(path).map_or(0, |file| file.len());
    format!("{} {}\n", length(schema::database(data)), length(schema::wal_path(data)))
}

fn closed_well(data: &Path) -> bool {
    fs::read_to_string(mark(data)).is_ok_and(|noted| noted == lengths(data))
}

/// Errs where a database that nobody closed is damaged. A look at each page: 100 MB take some tenths of a second.
pub(super) fn quick_check(connection: &Connection) -> Result<(), StoreError> {
    match faults(connection, "quick_check")?.into_iter().next() {
        None => Ok(()),
        Some(detail) => Err(StoreError::Corrupt { folder: PathBuf::new(), detail }),
    }
}

/// What such a check finds.
pub(super) fn faults(connection: &Connection, check: &str) -> Result<Vec<String>, StoreError> {
    let mut select = connection.prepare(&format!("PRAGMA {check}({FAULTS})")).sql()?;
    let rows = select.query_map([], |row| row.get::<_, String>(0)).sql()?;
    let found = rows.collect::<rusqlite::Result<Vec<String>>>().sql()?;
    // A fault may be told in several lines, below the name of what was looked at.
    let is_fault = |line: &&str| *line != "ok" && !line.starts_with("*** in database");
    Ok(found.iter().flat_map(|told| told.lines().filter(is_fault)).map(str::to_owned).collect())
}

/// A copy of the database.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DatabaseCopy {
    pub path: PathBuf,
    pub bytes: u64,
    pub made: Timestamp,
}

/// The folder of the copies, in a data folder.
pub(super) fn folder(data: &Path) -> PathBuf {
    data.join("copies")
}

/// The copies of a data folder, newest first. Blocking.
#[must_use]
pub fn copies(data: &Path) -> Vec<DatabaseCopy> {
    let entries = fs::read_dir(folder(data)).into_iter().flatten().flatten();
    let mut found: Vec<DatabaseCopy> = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("co-"))
        .filter_map(|entry| {
            let file = entry.metadata().ok()?;
            let made = Timestamp::try_from(file.modified().ok()?).ok()?;
            Some(DatabaseCopy { path: entry.path(), bytes: file.len(), made })
        })
        .collect();
    found.sort_by_key(|copy| std::cmp::Reverse((copy.made, copy.path.clone())));
    found
}

impl Store {
    /// Makes a copy of the database where the newest is a day old, and removes those that are too many; `None` where
    /// nothing was due. A damaged database is not copied. Dropped, it goes on; a copy that did not end counts for nothing.
    pub async fn copy_if_due(&self) -> Result<Option<PathBuf>, StoreError> {
        let (data, now) = (self.inner.data.clone(), self.inner.clock.now());
        let task = tokio::task::spawn_blocking(move || {
            copy_if_due(&data, now).map_err(|error| error.located(&data))
        });
        task.await.unwrap_or(Err(StoreError::Stopped))
    }
}

fn copy_if_due(data: &Path, now: Timestamp) -> Result<Option<PathBuf>, StoreError> {
    let io = |error: io::Error| StoreError::file(data, &error);
    let one_at_a_time = open_private(&data.join("locks").join("copy")).map_err(io)?;
    if one_at_a_time.try_lock().is_err() {
        return Ok(None);
    }
    let known = copies(data);
    // One that a clock made that was ahead counts as old.
    let is_new = |made: Timestamp| made <= now && now.duration_since(made) < COPY_AGE;
    if known.iter().any(|copy| is_new(copy.made)) {
        return Ok(None);
    }
    let folder = folder(data);
    create_private_dir(&folder).map_err(io)?;
    let unfinished = folder.join(UNFINISHED);
    let _ = fs::remove_file(&unfinished);
    // Owner-only from its first byte on.
    drop(open_private(&unfinished).map_err(io)?);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(schema::database(data), flags).sql()?;
    quick_check(&connection)?;
    connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()]).sql()?;
    File::open(&unfinished).and_then(|file| file.sync_all()).map_err(io)?;
    let copy = folder.join(format!("co-{}.db", now.strftime("%Y%m%dT%H%M%SZ")));
    fs::rename(&unfinished, &copy).map_err(io)?;
    for old in known.iter().skip(COPIES - 1) {
        fs::remove_file(&old.path).map_err(io)?;
    }
    Ok(Some(copy))
}

#[cfg(test)]
pub(super) mod tests;
