//! Sidecar files: SQLite files next to the database, for data whose loss does not harm a session.
//!
//! Blocking. Used for spans, undo and the index of memories.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

pub use super::retention::used_bytes;
use super::schema::Journal;
pub use super::statements::Statements;
use crate::stdx::fs::{create_private_dir, network_file_system, open_private};

/// Why such a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("it was written by a newer version of co")]
    Newer,
    #[error("it is damaged; delete it to begin a new one")]
    Damaged,
    #[error("another program holds it locked")]
    Locked,
    #[error("the disk is full")]
    Full,
    #[error("it cannot be written: {0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Other(rusqlite::Error),
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged,
            _ => Self::Other(error),
        }
    }
}

/// Opens a file to write, with the log that its file system allows; creates it for its owner only, with this schema. `busy` is how long it
/// waits for other processes.
pub fn open_sidecar(
    path: &Path,
    version: i64,
    schema: &str,
    busy: Duration,
) -> Result<Connection, FileError> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder)?;
    }
    drop(open_private(path)?);
    let journal = Journal::on(network_file_system(path));
    let connection = Connection::open(path)?;
    connection.busy_timeout(busy)?;
    match version_of(&connection)? {
        known if known == version => {}
        newer if newer > version => return Err(FileError::Newer),
        _ => {
            // Before the first table, or it has no effect.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            journal.set(&connection)?;
            connection.execute_batch(schema)?;
            connection.pragma_update(None, "user_version", version)?;
        }
    }
    journal.set(&connection)?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -256;")?;
    Ok(connection)
}

/// Returns the version of a file's schema.
pub fn version_of(connection: &Connection) -> Result<i64, FileError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}
