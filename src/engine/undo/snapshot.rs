//! A workspace before a command: the state of each file, and the contents that are not kept yet.
//!
//! A file whose metadata is as it was is not read again. What git ignores is left out; the content of secrets is not copied.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use rustix::fs::Stat;

use super::file::{self, Base};
use super::state::{FileState, FileStates, Identify, MAX_FILES, UndoWorkspace, look};
use super::{OpenLog, UndoLog};
use crate::stdx::ignored::walker;
use crate::store::sidecar::FileError;

/// How long the answer whether a workspace is small enough counts.
const FITS_FOR: Duration = Duration::from_secs(3);

/// A file that changed so shortly before it was read may change again without a trace in its metadata.
const SETTLED: Duration = Duration::from_millis(50);

/// Whether a workspace is small enough, as it was found a moment ago.
pub struct SizeCheck {
    workspace: PathBuf,
    at: Instant,
    fits: bool,
}

impl UndoLog {
    /// Whether the files of a workspace can be kept before a command.
    #[must_use]
    pub fn covers_commands(&self, place: &UndoWorkspace) -> bool {
        let Some(inner) = self.usable() else { return false };
        let mut known = inner.fits.lock();
        if let Some(known) = &*known
            && known.workspace == place.workspace
            && known.at.elapsed() < FITS_FOR
        {
            return known.fits;
        }
        let fits = inner.options.snapshot_mb > 0 && paths(place, inner.options.snapshot_mb).is_some();
        *known = Some(SizeCheck { workspace: place.workspace.clone(), at: Instant::now(), fits });
        fits
    }
}

/// Returns the paths of a workspace; `None` if it is too large.
fn paths(place: &UndoWorkspace, max_mb: u32) -> Option<Vec<PathBuf>> {
    let mut left = u64::from(max_mb) * 1024 * 1024;
    let mut found = Vec::new();
    let guard = place.clone();
    let wanted = move |entry: &ignore::DirEntry| {
        entry.path().strip_prefix(&guard.workspace).is_ok_and(|path| !guard.is_protected(path))
    };
    for entry in walker(&place.workspace, wanted).build() {
        // A folder that cannot be read is left out: the command, which has no more rights, cannot change it either.
        let Ok(entry) = entry else { continue };
        let Ok(relative) = entry.path().strip_prefix(&place.workspace) else { continue };
        if entry.depth() == 0 {
            continue;
        }
        if found.len() == MAX_FILES {
            return None;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            left = left.checked_sub(entry.metadata().ok()?.len())?;
        }
        found.push(relative.to_path_buf());
    }
    Some(found)
}

impl OpenLog {
    /// Returns the state of each file, and makes it the baseline; `None` if the workspace is too large.
    pub(super) fn snapshot(
        &self,
        connection: &Connection,
        place: &UndoWorkspace,
    ) -> Result<Option<FileStates>, FileError> {
        let Some(paths) = paths(place, self.options.snapshot_mb) else { return Ok(None) };
        let base = place.open()?;
        let mut known = file::baseline(connection, &place.workspace)?;
        let mut states = FileStates::new();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for path in paths {
            // It may be gone since.
            let Ok(Some(stat)) = base.look(&path) else { continue };
            let text = text_of(&stat, now);
            let state = match known.remove(&path) {
                Some(old) if text.as_ref() == Some(&old.stat) => old.state,
                old => {
                    let (state, bytes) = match look(&base, place, &path, Identify::IfCopied) {
                        Ok(looked) => looked,
                        Err(_) => continue,
                    };
                    if let (Some(hash), Some(bytes)) = (state.hash(), &bytes) {
                        file::put_blob(connection, hash, bytes)?;
                    }
                    let new = Base { stat: text.unwrap_or_default(), state };
                    if old.is_none_or(|old| old.stat != new.stat || old.state != new.state) {
                        file::put_base(connection, &place.workspace, &path, &new)?;
                    }
                    new.state
                }
            };
            if state != FileState::Absent {
                states.insert(path, state);
            }
        }
        known.keys().try_for_each(|gone| file::remove_base(connection, &place.workspace, gone))?;
        Ok(Some(states))
    }
}

/// Returns metadata that changes with the file; `None` if it changed only just now.
fn text_of(stat: &Stat, now: Duration) -> Option<String> {
    let seconds = u64::try_from(stat.st_ctime).unwrap_or_default();
    let nanos = u32::try_from(stat.st_ctime_nsec).unwrap_or_default();
    let changed = Duration::new(seconds, nanos);
    (changed + SETTLED < now).then(|| {
        format!("{}:{}:{}:{}:{seconds}.{nanos}", stat.st_dev, stat.st_ino, stat.st_mode, stat.st_size)
    })
}
