//! Errors of the store, worded so that they say what to do next.
//!
//! No type of the database library leaves this module: its errors are converted immediately. Used by
//! every file of `store`; read by `session`, the agent and the edge.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::approval::RequestId;
use crate::history::SessionId;

/// A failure of the store. After a failed write, nothing of that write is in the database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("the data folder {} cannot be used: {detail}; make it a folder of your own, or choose another one", folder.display())]
    Folder { folder: PathBuf, detail: String },
    #[error("the data folder {} cannot be written; give yourself write permission there, or choose another data folder", folder.display())]
    ReadOnly { folder: PathBuf },
    #[error("no space left in the data folder {}; free some disk space and start again: stored data is safe", folder.display())]
    Full { folder: PathBuf },
    #[error("{} is not a co database and was not changed; `co doctor` shows whether there is a backup, or move it away", path.display())]
    NotADatabase { path: PathBuf },
    #[error("{} was written by a newer co (format {found}, this one supports up to {known}) and was not changed; use the newer co, or choose another data folder", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("the database in {} is damaged ({detail}) and no longer written to; `co doctor` shows what can be saved", folder.display())]
    Corrupt { folder: PathBuf, detail: String },
    #[error("another co has the database in {} open; quit it first", folder.display())]
    InUse { folder: PathBuf },
    #[error("another process locked the database in {} for too long; end the co that hangs, then try again", folder.display())]
    Busy { folder: PathBuf },
    #[error("the database in {} failed: {detail}; check the disk and its free space, then start co again", folder.display())]
    Failed { folder: PathBuf, detail: String },
    #[error(
        "session {session} holds a `{kind}` (record {no}) that this co cannot read ({detail}); it was written by a newer co: open the session with that one"
    )]
    NewerRecord { session: SessionId, no: u64, kind: String, detail: String },
    #[error(
        "session {session} changed outside this process: {expected} records were expected, {found} are stored; open it again"
    )]
    OutOfStep { session: SessionId, expected: u64, found: u64 },
    #[error("this cannot be stored: {detail}")]
    Unstorable { detail: String },
    #[error("the id {id} is already taken by another request; ask again under a new one")]
    RequestIdTaken { id: RequestId },
    #[error("request {id} {}", state.describe_closed(false))]
    NotDecidable { id: RequestId, state: super::RequestState },
    #[error("no {what} begins with `{prefix}`; {list}", list = what.how_to_list())]
    NotFound { what: IdKind, prefix: String },
    #[error("`{prefix}` matches {}; type more of the id", candidates.join(", "))]
    Ambiguous { what: IdKind, prefix: String, candidates: Vec<String> },
    #[error(
        "the database {} was deleted, moved away or replaced while co was running: nothing more can be saved, and nothing \
         more runs. Restore it, or start co again",
        path.display()
    )]
    Replaced { path: PathBuf },
    #[error(
        "an earlier write of this session failed ({cause}); nothing more is recorded: open the session again"
    )]
    Poisoned { cause: String },
    #[error("the store has stopped; start co again")]
    Stopped,
}

/// An item that the user names by a prefix of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    Session,
    Request,
}

impl IdKind {
    fn how_to_list(self) -> &'static str {
        match self {
            Self::Session => "`co sessions` lists them",
            Self::Request => "`co approvals` lists them",
        }
    }
}

impl std::fmt::Display for IdKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Session => "session",
            Self::Request => "request",
        })
    }
}

impl StoreError {
    /// Converts an I/O error in the data folder.
    pub fn file(folder: &Path, error: &io::Error) -> Self {
        let folder = folder.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { folder },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { folder },
            _ => Self::Folder { folder, detail: error.to_string() },
        }
    }

    /// Whether the same write may succeed later without any repair of the store.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::ReadOnly { .. }
                | Self::Full { .. }
                | Self::Busy { .. }
                | Self::Failed { .. }
                | Self::Poisoned { .. }
        )
    }

    /// Fills in the folder, which is unknown where database errors are converted.
    pub(super) fn located(mut self, data: &Path) -> Self {
        if let Self::ReadOnly { folder }
        | Self::Full { folder }
        | Self::Busy { folder }
        | Self::Corrupt { folder, .. }
        | Self::Failed { folder, .. } = &mut self
            && folder.as_os_str().is_empty()
        {
            data.clone_into(folder);
        }
        self
    }
}

/// The index of the write-ahead log could not grow: the only place where SQLite reports a full disk this way.
const NO_ROOM_FOR_INDEX: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// The folder is filled in by `StoreError::located`.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let (folder, detail) = (PathBuf::new(), error.to_string());
        if error.sqlite_error().is_some_and(|error| error.extended_code == NO_ROOM_FOR_INDEX) {
            return Self::Full { folder };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { folder },
            Some(ErrorCode::DiskFull) => Self::Full { folder },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { folder },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt { folder, detail },
            Some(_) | None => Self::Failed { folder, detail },
        }
    }
}
