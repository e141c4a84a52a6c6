//! The health of the database: the mark of a clean close, the check after an unclean one, and copies.
//!
//! Called when the database is opened and closed, and by `co doctor`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::Connection;

use super::statements::Statements as _;
use super::{Store, StoreError, schema};
use crate::stdx::fs::{create_private_dir, if_exists, open_private, overwrite};

/// Number of copies kept; the oldest is removed first.
const COPIES: usize = 3;

/// Minimum age of the newest copy before another one is made.
const COPY_AGE: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// Maximum number of faults reported per check.
const FAULTS: usize = 20;

/// File name of a copy in progress.
const UNFINISHED: &str = "unfinished.db";

/// Registers that this process has the database open. The last to close it records the lengths of its files.
pub(super) struct Presence {
    data: PathBuf,
    lock: File,
    /// No damage was found since the files were opened: they may be marked as cleanly closed.
    pub(super) is_sound: bool,
}

impl Presence {
    /// Registers that the database is open in this process; returns whether it must be checked first: it was not closed
    /// cleanly, or its files have changed since. Only one process at a time may call this.
    pub(super) fn enter(data: &Path) -> io::Result<(Self, bool)> {
        let lock = open_private(&users(data))?;
        let is_unchecked = match lock.try_lock() {
            Ok(()) => !closed_well(data),
            // Another process has it open and checked it when opening.
            Err(fs::TryLockError::WouldBlock) => false,
            Err(fs::TryLockError::Error(error)) => return Err(error),
        };
        lock.lock_shared()?;
        if_exists(fs::remove_file(mark(data)))?;
        Ok((Self { data: data.to_owned(), lock, is_sound: false }, is_unchecked))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.is_sound
            && self.lock.try_lock().is_ok()
            && let Err(error) = note(&self.data)
        {
            // The database is then checked at the next opening.
            tracing::debug!(%error, "the clean shutdown of the database was not recorded");
        }
    }
}

/// Records the lengths of the files. Not synced: a stale record only causes a check.
fn note(data: &Path) -> io::Result<()> {
    overwrite(&mut open_private(&mark(data))?, &lengths(data))
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

/// Returns an error if a database that was not closed cleanly is damaged. Reads every page: 100 MB take some
/// tenths of a second.
pub(super) fn quick_check(connection: &Connection) -> Result<(), StoreError> {
    match faults(connection, "quick_check")?.into_iter().next() {
        None => Ok(()),
        Some(detail) => Err(StoreError::Corrupt { folder: PathBuf::new(), detail }),
    }
}

/// Runs such a check and returns its faults.
pub(super) fn faults(connection: &Connection, check: &str) -> Result<Vec<String>, StoreError> {
    let check = format!("PRAGMA {check}({FAULTS})");
    let found: Vec<String> = connection.all(&check, [], |row| row.get(0))?;
    // A fault may be reported in several lines, below the name of what was checked.
    let is_fault = |line: &&str| *line != "ok" && !line.starts_with("*** in database");
    Ok(found.iter().flat_map(|report| report.lines().filter(is_fault)).map(str::to_owned).collect())
}

/// A copy of the database.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DatabaseCopy {
    pub path: PathBuf,
    pub bytes: u64,
    pub made: Timestamp,
}

/// The folder of the copies in a data folder.
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
    /// Makes a copy of the database if the newest is a day old, and removes surplus copies; `None` if none
    /// was due. A damaged database is not copied. If this future is dropped, the copy continues; an
    /// unfinished copy is never used.
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
    // A copy dated in the future, by a clock that was ahead, counts as old.
    let is_new = |made: Timestamp| made <= now && now.duration_since(made) < COPY_AGE;
    if known.iter().any(|copy| is_new(copy.made)) {
        return Ok(None);
    }
    let folder = folder(data);
    create_private_dir(&folder).map_err(io)?;
    let unfinished = folder.join(UNFINISHED);
    let _ = fs::remove_file(&unfinished);
    // Created owner-only before any data is written.
    drop(open_private(&unfinished).map_err(io)?);
    let connection = schema::open_read_only(&schema::database(data))?;
    quick_check(&connection)?;
    connection.execute("VACUUM INTO ?1", [unfinished.to_string_lossy()])?;
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
