//! Undo and redo: plans the changes, finds conflicts with later changes, and applies the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::file::{self, EntryFilter, FileChange, UndoEntry};
use super::state::{Content, FileState, Identify, UndoWorkspace, bytes_of, is_now, look};
use super::{OpenLog, UndoError, UndoLog};
use crate::message::DiffLine;
use crate::stdx::beneath::BaseFolder;
use crate::stdx::fs::if_exists;
use crate::store::sidecar::FileError;
use crate::tool::diff::diff;

/// The largest text, in bytes, of which a diff is shown.
const MAX_SHOWN: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Undoes changes.
    Undo,
    /// Applies undone changes again.
    Redo,
}

/// The plan of an undo or redo. Nothing is changed until [`Restoration::apply`].
pub struct Restoration {
    pub direction: Direction,
    /// In the order in which they are undone or redone.
    pub entries: Vec<UndoEntry>,
    pub steps: Vec<RestoreStep>,
    /// Paths that were changed since: nothing is done while there is one.
    pub conflicts: Vec<Conflict>,
    /// Paths that stay as they are, because their content was never kept.
    pub lost: Vec<PathBuf>,
    place: UndoWorkspace,
    log: UndoLog,
}

/// The change of one path, relative to the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct RestoreStep {
    pub path: PathBuf,
    pub now: FileState,
    pub then: FileState,
    /// The file that is moved here.
    pub from: Option<PathBuf>,
}

/// Later work that would be lost.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    pub path: PathBuf,
    pub why: &'static str,
    /// The change that an undo would make to the file as it is now.
    pub lines: Vec<DiffLine>,
}

/// The first and last state of a path over several changes.
struct Slot {
    now: FileState,
    then: FileState,
}

impl UndoLog {
    /// Plans the undo of these changes, or doing them again after an undo.
    pub fn restoration(
        &self,
        direction: Direction,
        ids: &[i64],
        own: &Arc<[PathBuf]>,
    ) -> Result<Restoration, UndoError> {
        let inner = self.inner()?;
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        if direction == Direction::Undo {
            ids.reverse();
        }
        let mut entries = Vec::new();
        for id in &ids {
            let filter = EntryFilter { id: Some(*id), ..EntryFilter::default() };
            let found = inner.reading(|connection| file::entries(connection, &filter))?;
            entries.push(found.into_iter().next().ok_or(UndoError::NoEntry { id: *id })?);
        }
        let Some(first) = entries.first() else { return Err(UndoError::Nothing) };
        let place = UndoWorkspace { workspace: first.workspace.clone(), own: Arc::clone(own) };
        if entries.iter().any(|entry| entry.workspace != place.workspace) {
            return Err(UndoError::Folders);
        }
        let base = place.open().map_err(|why| UndoError::Io { path: place.workspace.clone(), why })?;
        let mut restoration = Restoration {
            direction,
            entries,
            steps: Vec::new(),
            conflicts: Vec::new(),
            lost: Vec::new(),
            place,
            log: self.clone(),
        };
        let planned = inner.file.change(|connection| restoration.plan(connection, &base));
        planned.map_err(|why| inner.undo_error(why))?;
        Ok(restoration)
    }
}

impl Restoration {
    /// Whether others may have made some of the changes: the user is to see the list first.
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        self.direction == Direction::Undo
            && self.entries.iter().any(|entry| entry.is_command || entry.ended.is_none())
    }

    fn plan(&mut self, connection: &Connection, base: &BaseFolder) -> Result<(), FileError> {
        let mut slots: BTreeMap<PathBuf, Slot> = BTreeMap::new();
        for entry in &self.entries {
            for FileChange { path, before, after } in file::changes(connection, entry.id)? {
                if self.place.is_protected(&path) {
                    continue;
                }
                let (from, to) = match self.direction {
                    Direction::Undo => (after, before),
                    Direction::Redo => (Some(before), after.unwrap_or(FileState::Absent)),
                };
                let fits = match slots.get(&path) {
                    Some(slot) => from.as_ref().is_none_or(|from| slot.then == *from) || slot.then == to,
                    None => {
                        let now = self.now(base, &path, from.as_ref().unwrap_or(&to), &to)?;
                        let Some(now) = now else {
                            self.conflicts.push(Conflict {
                                path,
                                why: "it cannot be looked at",
                                lines: Vec::new(),
                            });
                            continue;
                        };
                        let fits = from.as_ref().is_none_or(|from| now == *from) || now == to;
                        slots.insert(path.clone(), Slot { now: now.clone(), then: now });
                        fits
                    }
                };
                if let Some(slot) = slots.get_mut(&path) {
                    slot.then = to;
                }
                if !fits {
                    self.conflicts.push(Conflict { path, why: "", lines: Vec::new() });
                }
            }
        }
        // The obstacle on a path is reported once.
        self.conflicts.dedup_by(|a, b| a.path == b.path);
        for conflict in self.conflicts.iter_mut().filter(|conflict| conflict.why.is_empty()) {
            if let Some(slot) = slots.get(&conflict.path) {
                conflict.why = "it was changed since";
                conflict.lines = would_change(connection, base, &conflict.path, &slot.then)?;
            }
        }
        slots.retain(|_, slot| slot.now != slot.then);
        self.find_contents(connection, slots)
    }

    /// Returns the state of a path, identified as one of these states is.
    fn now(
        &self,
        base: &BaseFolder,
        path: &Path,
        from: &FileState,
        to: &FileState,
    ) -> Result<Option<FileState>, FileError> {
        for known in [from, to] {
            match is_now(base, &self.place, path, known) {
                Ok(true) => return Ok(Some(known.clone())),
                Ok(false) => {}
                Err(_) => return Ok(None),
            }
        }
        Ok(look(base, &self.place, path, Identify::IfCopied).ok().map(|(state, _)| state))
    }

    /// Makes steps of the slots whose contents are at hand: kept, or in a file that goes away at the same time.
    fn find_contents(
        &mut self,
        connection: &Connection,
        slots: BTreeMap<PathBuf, Slot>,
    ) -> Result<(), FileError> {
        let mut leaving: BTreeMap<Content, Vec<PathBuf>> = BTreeMap::new();
        for (path, slot) in slots.iter().filter(|(_, slot)| slot.then == FileState::Absent) {
            if let Some(content) = slot.now.content() {
                leaving.entry(content.clone()).or_default().push(path.clone());
            }
        }
        let mut lost = BTreeSet::new();
        let by_command = self.entries.iter().any(|entry| entry.is_command);
        // Where files are moved to comes first: it says which of those that leave are only moved.
        let mut slots: Vec<(PathBuf, Slot)> = slots.into_iter().collect();
        slots.sort_by_key(|(_, slot)| slot.then == FileState::Absent);
        for (path, Slot { now, then }) in slots {
            let mut from = None;
            if let Some(content) = then.content()
                && now.content() != Some(content)
            {
                // A file that is moved keeps its number and its times.
                let moved =
                    (now == FileState::Absent).then(|| leaving.get_mut(content).and_then(Vec::pop)).flatten();
                let is_kept = match content {
                    Content::Hash(hash) => file::has_blob(connection, hash)?,
                    Content::Inode(_) => false,
                };
                if moved.is_none() && !is_kept {
                    lost.insert(path);
                    continue;
                }
                from = moved;
            }
            // Files that others may have made, or that no redo could bring back, are not removed.
            let is_moved = now
                .content()
                .is_some_and(|content| !leaving.get(content).is_some_and(|left| left.contains(&path)));
            if then == FileState::Absent
                && by_command
                && matches!(now.content(), Some(Content::Inode(_)))
                && !is_moved
            {
                lost.insert(path);
                continue;
            }
            if matches!(then, FileState::Other) || matches!(now, FileState::Other) {
                lost.insert(path);
                continue;
            }
            self.steps.push(RestoreStep { path, now, then, from });
        }
        self.steps.sort_by(|a, b| a.path.cmp(&b.path));
        self.lost.extend(lost);
        Ok(())
    }

    /// Does it. Errs if there is a conflict, or if a file cannot be changed: what was done until then stays, and the same can
    /// be called again. `note` is the text for the models of the sessions.
    pub fn apply(&self, note: &str) -> Result<(), UndoError> {
        let inner = self.log.inner()?;
        if !self.conflicts.is_empty() {
            return Err(UndoError::Nothing);
        }
        let base =
            self.place.open().map_err(|why| UndoError::Io { path: self.place.workspace.clone(), why })?;
        self.log.write(|_, connection| self.keep_present(connection, &base))?;
        let contents = self.contents(inner)?;
        apply(&base, &self.steps, &contents)
            .map_err(|(path, why)| UndoError::Io { path: self.place.workspace.join(path), why })?;
        let ids: Vec<i64> = self.entries.iter().map(|entry| entry.id).collect();
        self.log.write(|_, connection| {
            file::mark_undone(connection, &ids, self.direction == Direction::Undo)?;
            let sessions: BTreeSet<&str> = self.entries.iter().map(|entry| entry.session.as_str()).collect();
            sessions.iter().try_for_each(|session| file::put_note(connection, session, note))
        })
    }

    /// Keeps the files as they are now, so that this can be taken back in turn.
    fn keep_present(&self, connection: &Connection, base: &BaseFolder) -> Result<(), FileError> {
        for step in &self.steps {
            if let Some(hash) = step.now.hash()
                && !file::has_blob(connection, hash)?
                && let Some(bytes) = bytes_of(base, &step.path)?
                && self.place.may_copy(&step.path, bytes.len() as u64)
            {
                file::put_blob(connection, hash, &bytes)?;
            }
        }
        // The end of a call that was cut off is what it is now.
        for entry in self.entries.iter().filter(|entry| entry.ended.is_none()) {
            let mut changes = file::changes(connection, entry.id)?;
            for change in changes.iter_mut().filter(|change| change.after.is_none()) {
                let step = self.steps.iter().find(|step| step.path == change.path);
                change.after = Some(step.map_or_else(|| change.before.clone(), |step| step.now.clone()));
                file::put_change(connection, entry.id, change)?;
            }
        }
        Ok(())
    }

    fn contents(&self, inner: &OpenLog) -> Result<BTreeMap<String, Vec<u8>>, UndoError> {
        let mut contents = BTreeMap::new();
        let written =
            self.steps.iter().filter(|step| step.from.is_none() && step.now.content() != step.then.content());
        let hashes: BTreeSet<&str> = written.filter_map(|step| step.then.hash()).collect();
        for hash in hashes {
            let bytes = inner.reading(|connection| file::blob(connection, hash))?;
            let bytes = bytes.ok_or_else(|| inner.undo_error(FileError::Damaged))?;
            contents.insert(hash.to_owned(), bytes);
        }
        Ok(contents)
    }
}

/// Returns the diff from a file as it is to what would be restored; empty if it is no text.
fn would_change(
    connection: &Connection,
    base: &BaseFolder,
    path: &Path,
    then: &FileState,
) -> Result<Vec<DiffLine>, FileError> {
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let new = match then {
        FileState::Absent => Some(String::new()),
        _ => match then.hash() {
            Some(hash) => text(file::blob(connection, hash)?),
            None => None,
        },
    };
    let old = text(bytes_of(base, path).ok().flatten());
    Ok(match (old, new) {
        (Some(old), Some(new)) if old.len().max(new.len()) <= MAX_SHOWN => diff(&old, &new),
        _ => Vec::new(),
    })
}

type PathError = (PathBuf, io::Error);

/// Applies the steps in an order in which none blocks another. Idempotent.
fn apply(
    base: &BaseFolder,
    steps: &[RestoreStep],
    contents: &BTreeMap<String, Vec<u8>>,
) -> Result<(), PathError> {
    let each = |steps: Vec<&RestoreStep>, work: &dyn Fn(&RestoreStep) -> io::Result<()>| {
        steps.into_iter().try_for_each(|step| work(step).map_err(|why| (step.path.clone(), why)))
    };
    let moved: BTreeSet<&PathBuf> = steps.iter().filter_map(|step| step.from.as_ref()).collect();
    let is_file = |state: &FileState| matches!(state, FileState::File { .. } | FileState::Link { .. });
    let is_folder = |state: &FileState| matches!(state, FileState::Folder { .. });
    let chosen =
        |wanted: &dyn Fn(&RestoreStep) -> bool| steps.iter().filter(|step| wanted(step)).collect::<Vec<_>>();
    // Files are replaced as a whole, below; what is of another kind goes first.
    let goes = |step: &RestoreStep| {
        is_file(&step.now)
            && !moved.contains(&step.path)
            && !(matches!(step.now, FileState::File { .. }) && matches!(step.then, FileState::File { .. }))
    };
    // A folder that may not be written is opened up until all is done.
    each(chosen(&|step| is_folder(&step.now) && is_folder(&step.then)), &|step| {
        base.set_mode(&step.path, 0o700)
    })?;
    each(chosen(&goes), &|step| if_exists(base.remove_file(&step.path)).map(drop))?;
    each(chosen(&|step| is_folder(&step.then) && !is_folder(&step.now)), &|step| {
        match base.make_folder(&step.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        match step.then {
            FileState::Folder { mode } => base.set_mode(&step.path, mode | 0o700),
            _ => Ok(()),
        }
    })?;
    each(chosen(&|step| step.from.is_some()), &|step| match &step.from {
        Some(from) => base.rename(from, &step.path),
        None => Ok(()),
    })?;
    let mut folders = chosen(&|step| is_folder(&step.now) && !is_folder(&step.then));
    folders.reverse();
    each(folders, &|step| match base.remove_folder(&step.path) {
        // Something of somebody else is in it.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        removed => if_exists(removed).map(drop),
    })?;
    each(chosen(&|step| is_file(&step.then)), &|step| match &step.then {
        FileState::Link { target } => base.make_link(target, &step.path),
        FileState::File { content, mode } => {
            if step.from.is_none()
                && step.now.content() != Some(content)
                && let Content::Hash(hash) = content
                && let Some(bytes) = contents.get(hash)
            {
                if matches!(step.now, FileState::File { mode, .. } if mode & 0o222 == 0) {
                    // Its mode is set again below.
                    base.set_mode(&step.path, 0o600)?;
                }
                base.write(&step.path, bytes, mode & 0o666)?;
            }
            base.set_mode(&step.path, *mode)
        }
        FileState::Absent | FileState::Folder { .. } | FileState::Other => Ok(()),
    })?;
    // A folder that may not be written must have all that is in it.
    let mut folders = chosen(&|step| is_folder(&step.then));
    folders.reverse();
    each(folders, &|step| match step.then {
        FileState::Folder { mode } => base.set_mode(&step.path, mode),
        _ => Ok(()),
    })
}
