//! Undo: what calls and commands changed in files, kept so that it can be taken back.
//!
//! Before a call changes a file, its state and content go into a SQLite file of their own; afterwards its new state does.
//! [`UndoLog`] keeps, [`Restoration`] takes back, and does again. Nothing of a session depends on it: a file that is full,
//! damaged or deleted costs the way back, never the work. Secrets, and what git ignores, are never copied; what belongs to
//! git or `co` is neither recorded nor restored. Blocking. Called by the tools that change files, the commands and the CLI.

mod file;
mod origin;
mod recording;
mod request;
mod restore;
mod snapshot;
mod state;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

pub use self::file::{EntryFilter, FILE, UndoEntry};
pub use self::origin::ChangeOrigin;
pub use self::recording::Recording;
pub use self::request::{UndoOutcome, UndoScope, UndoTarget};
pub use self::restore::{Direction, Restoration};
pub use self::state::{FileState, UndoWorkspace};
pub use self::text::list;

use self::file::UndoFile;
use self::state::below;
use crate::stdx::clock::Clock;
use crate::store::sidecar::FileError;

/// How long nothing is kept after the file failed: work goes on without a way back.
const REST: Duration = Duration::from_secs(60);

/// Where states of files are kept, and how many.
#[derive(Clone)]
pub struct UndoOptions {
    /// The folder of the file.
    pub data: PathBuf,
    /// The size of the file in MiB, beyond which the oldest entries go.
    pub max_mb: u32,
    /// The size in MiB of a workspace that is kept before a command; 0: none is.
    pub snapshot_mb: u32,
    pub clock: Arc<dyn Clock>,
}

/// Why something cannot be kept or taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("undo is off: `undo.max_mb` is 0")]
    Off,
    #[error("{}: {why}", path.display())]
    File { path: PathBuf, why: FileError },
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: std::io::Error },
    #[error("there is no change {id}; `co undo --list` shows them")]
    NoEntry { id: i64 },
    #[error("these changes are of different folders; take them back one by one")]
    Folders,
    #[error("nothing is there to take back")]
    Nothing,
}

/// Whether a change destroys contents, or only moves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotScope {
    Contents,
    Places,
}

impl std::fmt::Debug for UndoLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = self.0.as_ref().map(|inner| inner.options.data.join(FILE));
        f.debug_tuple("UndoLog").field(&file).finish()
    }
}

/// The changes of this user's sessions. Clones share the file; the default keeps nothing.
#[derive(Clone, Default)]
pub struct UndoLog(Option<Arc<OpenLog>>);

struct OpenLog {
    options: UndoOptions,
    file: UndoFile,
    /// Why nothing is kept for a while, and since when.
    broken: Mutex<Option<(Instant, String)>>,
    fits: Mutex<Option<snapshot::SizeCheck>>,
}

impl UndoLog {
    /// The file is opened with the first change.
    #[must_use]
    pub fn new(options: UndoOptions) -> Self {
        let file = UndoFile::new(options.data.join(FILE));
        Self(Some(Arc::new(OpenLog { options, file, broken: Mutex::default(), fits: Mutex::default() })))
    }

    /// Why nothing is kept at the moment.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        self.0.as_ref()?.broken.lock().as_ref().map(|(_, why)| why.clone())
    }

    /// Whether a change of these paths, which are absolute, can be taken back exactly. Reads no contents.
    #[must_use]
    pub fn covers(&self, place: &UndoWorkspace, paths: &[&Path], scope: SnapshotScope) -> bool {
        self.usable().is_some() && paths.iter().all(|path| can_snapshot(place, path, scope))
    }

    fn usable(&self) -> Option<&Arc<OpenLog>> {
        let inner = self.0.as_ref()?;
        if inner.broken.lock().as_ref().is_some_and(|(since, _)| since.elapsed() < REST) {
            return None;
        }
        if let Err(why) = inner.file.with(|_| Ok(())) {
            inner.give_up(&why);
            return None;
        }
        *inner.broken.lock() = None;
        Some(inner)
    }

    fn inner(&self) -> Result<&Arc<OpenLog>, UndoError> {
        self.0.as_ref().ok_or(UndoError::Off)
    }

    /// Returns the changes, the newest first.
    pub fn entries(&self, filter: &EntryFilter) -> Result<Vec<UndoEntry>, UndoError> {
        self.inner()?.reading(|connection| file::entries(connection, filter))
    }

    /// Returns the notes that a session's model has not received yet. Creates no file.
    #[must_use]
    pub fn notes(&self, session: &str) -> Vec<(i64, String)> {
        let Some(inner) = &self.0 else { return Vec::new() };
        if !inner.file.exists() {
            return Vec::new();
        }
        // They are delivered once the file can be read.
        inner.reading(|connection| file::notes(connection, session)).unwrap_or_default()
    }

    /// Removes notes that a session's model received.
    pub fn remove_notes(&self, notes: &[(i64, String)]) {
        if let Some(inner) = &self.0 {
            // If it fails, they are delivered again.
            let _ = inner.reading(|connection| file::remove_notes(connection, notes));
        }
    }
}

/// Forgets the changes of a session, as kept in this data folder.
pub fn forget(data: &Path, session: &str) -> Result<(), FileError> {
    let file = UndoFile::new(data.join(FILE));
    if !file.exists() {
        return Ok(());
    }
    file.change(|connection| file::forget(connection, session))
}

impl OpenLog {
    /// Works with the file, if it exists; otherwise as with an empty one.
    fn reading<T: Default>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> Result<T, FileError>,
    ) -> Result<T, UndoError> {
        if !self.file.exists() {
            return Ok(T::default());
        }
        self.file.with(|connection| work(connection)).map_err(|why| self.undo_error(why))
    }

    fn undo_error(&self, why: FileError) -> UndoError {
        UndoError::File { path: self.options.data.join(FILE), why }
    }

    fn give_up(&self, why: &FileError) {
        let why = format!("{}: {why}", self.options.data.join(FILE).display());
        *self.broken.lock() = Some((Instant::now(), why));
    }

    fn now(&self) -> i64 {
        self.options.clock.now().as_millisecond()
    }
}

fn can_snapshot(place: &UndoWorkspace, path: &Path, scope: SnapshotScope) -> bool {
    let Ok(relative) = path.strip_prefix(&place.workspace) else { return false };
    if place.is_protected(relative) {
        return false;
    }
    let Ok(base) = place.open() else { return false };
    let Ok(stat) = base.look(relative) else { return false };
    let Some(stat) = stat else { return true };
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => scope == SnapshotScope::Places || place.may_copy(relative, size),
        rustix::fs::FileType::Directory => {
            scope == SnapshotScope::Contents || matches!(below(&base, place, relative), Ok(Some(_)))
        }
        rustix::fs::FileType::Symlink => true,
        _ => false,
    }
}
