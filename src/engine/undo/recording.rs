//! Records the states of files before and after a call.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use super::file::{self, FileChange};
use super::state::{Content, FileState, FileStates, Identify, UndoWorkspace, below, look};
use super::{ChangeOrigin, OpenLog, SnapshotScope, UndoError, UndoLog};
use crate::stdx::beneath::BaseFolder;
use crate::store::sidecar::FileError;

/// The states before a call that runs. If it is dropped, the call counts as cut off.
#[must_use]
pub struct Recording {
    log: UndoLog,
    origin: ChangeOrigin,
    began: i64,
    before: FileStates,
    scope: RecordedScope,
}

/// Where files may change.
enum RecordedScope {
    /// At and below these paths; the entry exists already.
    Paths { entry: i64, roots: Vec<PathBuf> },
    /// Anywhere in the workspace.
    Workspace,
}

impl UndoLog {
    /// Keeps what a call is about to change at these paths, which are absolute. `None` if it cannot be taken back. Errs if
    /// the file of changes fails; nothing is kept for a while then.
    pub fn begin(
        &self,
        origin: &ChangeOrigin,
        paths: &[&Path],
        keep: SnapshotScope,
    ) -> Result<Option<Recording>, UndoError> {
        if !self.covers(&origin.place, paths, keep) {
            return Ok(None);
        }
        let place = &origin.place;
        let io = |why| UndoError::Io { path: place.workspace.clone(), why };
        let base = place.open().map_err(io)?;
        let roots = roots(&base, place, paths).map_err(io)?;
        let (before, contents) = tree(&base, place, &roots, (&HashSet::new(), keep)).map_err(io)?;
        self.write(|inner, connection| {
            let began = inner.now();
            let entry = file::begin(connection, origin, false, began)?;
            for (path, state) in &before {
                file::put_change(
                    connection,
                    entry,
                    &FileChange { path: path.clone(), before: state.clone(), after: None },
                )?;
            }
            contents.iter().try_for_each(|(hash, bytes)| file::put_blob(connection, hash, bytes))?;
            Ok((entry, began))
        })
        .map(|(entry, began)| {
            let scope = RecordedScope::Paths { entry, roots };
            Some(Recording { log: self.clone(), origin: origin.clone(), began, before, scope })
        })
    }

    /// Keeps the whole workspace before a command. `None` if it is too large.
    pub fn begin_command(&self, origin: &ChangeOrigin) -> Result<Option<Recording>, UndoError> {
        if self.usable().is_none() || self.0.as_ref().is_none_or(|inner| inner.options.snapshot_mb == 0) {
            return Ok(None);
        }
        let kept = self.write(|inner, connection| {
            let began = inner.now();
            Ok(inner.snapshot(connection, &origin.place)?.map(|before| (began, before)))
        })?;
        Ok(kept.map(|(began, before)| Recording {
            log: self.clone(),
            origin: origin.clone(),
            began,
            before,
            scope: RecordedScope::Workspace,
        }))
    }

    pub(super) fn write<T>(
        &self,
        work: impl FnOnce(&OpenLog, &rusqlite::Connection) -> Result<T, FileError>,
    ) -> Result<T, UndoError> {
        let inner = self.inner()?;
        let done = inner.file.change(|connection| work(inner, connection));
        done.map_err(|why| {
            inner.give_up(&why);
            inner.undo_error(why)
        })
    }
}

impl Recording {
    /// Keeps what the call changed. If that fails, the call counts as cut off, and nothing is kept for a while.
    pub fn end(self) {
        let Self { log, origin, began, before, scope } = self;
        let place = &origin.place;
        let _ = log.write(|inner, connection| {
            match &scope {
                RecordedScope::Paths { entry, roots } => {
                    let known = before.values().filter_map(FileState::content).cloned().collect();
                    let after = tree(&place.open()?, place, roots, (&known, SnapshotScope::Places))?.0;
                    file::end(connection, *entry, &differences(&before, &after), inner.now())?;
                }
                RecordedScope::Workspace => {
                    // It may have become too large to be looked at.
                    let Some(after) = inner.snapshot(connection, place)? else { return Ok(()) };
                    let changes = by_command(connection, &before, &after, (place, began))?;
                    if !changes.is_empty() {
                        let entry = file::begin(connection, &origin, true, began)?;
                        file::end(connection, entry, &changes, inner.now())?;
                    }
                }
            }
            file::prune(connection, inner.options.max_mb, &place.workspace)
        });
    }
}

/// Returns what changed while a command ran, without what other calls did, and without files that only came into view or
/// went out of it because the ignore rules changed.
fn by_command(
    connection: &rusqlite::Connection,
    before: &FileStates,
    after: &FileStates,
    (place, began): (&UndoWorkspace, i64),
) -> Result<Vec<FileChange>, FileError> {
    let base = place.open()?;
    let gone = before.iter().filter(|(path, _)| !after.contains_key(*path));
    let gone: HashSet<&Content> = gone.filter_map(|(_, state)| state.content()).collect();
    let mut own = Vec::new();
    for mut change in differences(before, after) {
        if !after.contains_key(&change.path) {
            let (now, _) = look(&base, place, &change.path, Identify::ByHash)?;
            if now == change.before {
                continue;
            }
            change.after = Some(now);
        }
        // The files in a moved folder keep their times.
        let is_moved =
            change.after.as_ref().and_then(FileState::content).is_some_and(|one| gone.contains(one));
        if change.before == FileState::Absent && !is_moved && was_there(&base, &change.path, began)? {
            continue;
        }
        if !file::is_of_another(connection, (began, &place.workspace), &change)? {
            own.push(change);
        }
    }
    Ok(own)
}

/// Whether what is at a path has not changed since a time in milliseconds.
fn was_there(base: &BaseFolder, path: &Path, began: i64) -> Result<bool, FileError> {
    let Some(stat) = base.look(path)? else { return Ok(false) };
    let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
    let changed =
        stat.st_ctime.saturating_mul(1_000) + i64::try_from(stat.st_ctime_nsec).unwrap_or(0) / 1_000_000;
    // The clock of files is coarse.
    Ok(!is_folder && changed + 50 < began)
}

/// Returns where changes begin: at a path, or at the first of its folders that is missing.
fn roots(base: &BaseFolder, place: &UndoWorkspace, paths: &[&Path]) -> std::io::Result<Vec<PathBuf>> {
    let mut roots = BTreeSet::new();
    for path in paths {
        let relative = path.strip_prefix(&place.workspace).unwrap_or(path);
        let mut root = relative;
        for folder in relative.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if base.look(folder)?.is_none() {
                root = folder;
            }
        }
        roots.insert(root.to_path_buf());
    }
    Ok(roots.into_iter().collect())
}

/// Bytes of a folder beyond which its files are known by their numbers only.
const MOST_READ: usize = 256 * 1024 * 1024;

type Contents = Vec<(String, Vec<u8>)>;

/// Returns the states of all that is at and below the roots, and the contents to keep. A file that is `known` by its number
/// keeps that identity: it was moved.
fn tree(
    base: &BaseFolder,
    place: &UndoWorkspace,
    roots: &[PathBuf],
    (known, keep): (&HashSet<Content>, SnapshotScope),
) -> std::io::Result<(FileStates, Contents)> {
    let (mut states, mut contents) = (FileStates::new(), Contents::new());
    let mut read = 0;
    for root in roots {
        let Some(paths) = below(base, place, root)? else { continue };
        if paths.is_empty() {
            states.insert(root.clone(), FileState::Absent);
        }
        for path in paths {
            let (by_inode, _) = look(base, place, &path, Identify::ByInode)?;
            if by_inode.content().is_some_and(|content| known.contains(content)) {
                states.insert(path, by_inode);
                continue;
            }
            let identify = if read < MOST_READ { Identify::IfCopied } else { Identify::ByInode };
            let (state, bytes) = look(base, place, &path, identify)?;
            read += bytes.as_ref().map_or(0, Vec::len);
            if let (Some(hash), Some(bytes), SnapshotScope::Contents) = (state.hash(), bytes, keep) {
                contents.push((hash.to_owned(), bytes));
            }
            states.insert(path, state);
        }
    }
    Ok((states, contents))
}

/// Returns the paths whose states differ.
pub(super) fn differences(before: &FileStates, after: &FileStates) -> Vec<FileChange> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let state = |states: &FileStates, path: &PathBuf| states.get(path).cloned().unwrap_or(FileState::Absent);
    let changed = paths.into_iter().map(|path| FileChange {
        path: path.clone(),
        before: state(before, path),
        after: Some(state(after, path)),
    });
    changed.filter(|change| change.after.as_ref() != Some(&change.before)).collect()
}
