//! The SQLite file of changes: entries, their states, contents, and the baseline of each workspace.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};

use super::origin::ChangeOrigin;
use super::state::{FileState, MAX_COPIED};
use crate::stdx::text::one_line_summary;
use crate::store::file_id;
use crate::store::sidecar::{FileError, open_sidecar, used_bytes};

/// The name of the file in the data folder.
pub const FILE: &str = "undo.db";

const VERSION: i64 = 1;

/// The width of a label, in terminal cells.
const LABEL: usize = 300;

/// How long a change waits for other processes.
const BUSY: Duration = Duration::from_secs(5);

/// Pages given back to the file system at a time.
const FREED: usize = 4096;

/// The file; it is opened when it is first used, and again if it was replaced.
pub struct UndoFile {
    path: PathBuf,
    open: Mutex<Option<OpenFile>>,
}

struct OpenFile {
    connection: Connection,
    /// Device and number: a file that was deleted takes nothing more.
    id: Option<(u64, u64)>,
}

impl UndoFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path, open: Mutex::new(None) }
    }

    pub fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Works with the file, which is created if it is missing.
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, FileError>,
    ) -> Result<T, FileError> {
        let mut open = self.open.lock();
        if open.as_ref().is_some_and(|open| open.id.is_none() || open.id != file_id(&self.path)) {
            *open = None;
        }
        let file = match &mut *open {
            Some(file) => file,
            none => {
                let connection = open_sidecar(&self.path, VERSION, include_str!("schema.sql"), BUSY)?;
                none.insert(OpenFile { connection, id: file_id(&self.path) })
            }
        };
        work(&mut file.connection)
    }

    /// The same in one transaction.
    pub fn change<T>(&self, work: impl FnOnce(&Connection) -> Result<T, FileError>) -> Result<T, FileError> {
        self.with(|connection| {
            let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&step)?;
            step.commit()?;
            Ok(done)
        })
    }
}

/// One call that changed files, or one command.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct UndoEntry {
    pub id: i64,
    pub session: String,
    /// The id of the call: session, turn, attempt, index.
    pub call: String,
    pub workspace: PathBuf,
    pub tool: String,
    pub label: String,
    /// Whether others may have made some of the changes: it is known only what changed while a command ran.
    pub is_command: bool,
    /// Milliseconds of the Unix epoch.
    pub began: i64,
    /// `None`: the call was cut off.
    pub ended: Option<i64>,
    /// The number of the undo that took it back.
    pub undone: Option<i64>,
    pub files: usize,
}

impl UndoEntry {
    /// The session and the turn of its call.
    #[must_use]
    pub fn turn(&self) -> &str {
        self.call.split_once('.').map_or(self.call.as_str(), |(turn, _)| turn)
    }

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            call: row.get(2)?,
            workspace: path_of(&row.get::<_, Vec<u8>>(3)?),
            tool: row.get(4)?,
            label: row.get(5)?,
            is_command: row.get(6)?,
            began: row.get(7)?,
            ended: row.get(8)?,
            undone: row.get(9)?,
            files: usize::try_from(row.get::<_, i64>(10)?).unwrap_or_default(),
        })
    }
}

/// Which changes are wanted.
#[derive(Debug, Clone, Default)]
pub struct EntryFilter {
    pub session: Option<String>,
    pub workspace: Option<PathBuf>,
    pub id: Option<i64>,
    /// The most that are returned; 0: all.
    pub limit: usize,
}

pub fn entries(connection: &Connection, filter: &EntryFilter) -> Result<Vec<UndoEntry>, FileError> {
    let mut select = connection.prepare_cached(
        "SELECT id, session, call, workspace, tool, label, is_command, began, ended, undone,
            (SELECT COUNT(*) FROM changes WHERE entry = entries.id)
         FROM entries WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR workspace = ?2) AND (?3 IS NULL OR id = ?3)
         ORDER BY id DESC LIMIT ?4",
    )?;
    let limit = if filter.limit == 0 { -1 } else { i64::try_from(filter.limit).unwrap_or(-1) };
    let workspace = filter.workspace.as_deref().map(bytes_of);
    let rows = select.query_map(params![filter.session, workspace, filter.id, limit], UndoEntry::of)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A change of one path, relative to the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct FileChange {
    pub path: PathBuf,
    pub before: FileState,
    /// `None` if the call was cut off.
    pub after: Option<FileState>,
}

pub fn changes(connection: &Connection, entry: i64) -> Result<Vec<FileChange>, FileError> {
    let mut select = connection
        .prepare_cached("SELECT path, before, after FROM changes WHERE entry = ?1 ORDER BY path")?;
    let rows = select.query_map([entry], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
    })?;
    rows.map(|row| {
        let (path, before, after) = row?;
        let after = after.map(|after| state_of(&after)).transpose()?;
        Ok(FileChange { path: path_of(&path), before: state_of(&before)?, after })
    })
    .collect()
}

pub fn begin(
    connection: &Connection,
    origin: &ChangeOrigin,
    is_command: bool,
    began: i64,
) -> Result<i64, FileError> {
    let session = origin.call.0.split('/').next().unwrap_or_default();
    let label = one_line_summary(&origin.label, LABEL);
    connection.execute(
        "INSERT INTO entries (session, call, workspace, tool, label, is_command, began) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![session, origin.call.0, bytes_of(&origin.place.workspace), origin.tool, label, is_command, began],
    )?;
    Ok(connection.last_insert_rowid())
}

pub fn put_change(connection: &Connection, entry: i64, change: &FileChange) -> Result<(), FileError> {
    let mut insert = connection.prepare_cached(
        "INSERT OR REPLACE INTO changes (entry, path, before, after, before_hash, after_hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let after = change.after.as_ref();
    insert.execute(params![
        entry,
        bytes_of(&change.path),
        text_of(&change.before),
        after.map(text_of),
        change.before.hash(),
        after.and_then(FileState::hash),
    ])?;
    Ok(())
}

/// Ends an entry with these changes; without any it goes.
pub fn end(connection: &Connection, entry: i64, changes: &[FileChange], ended: i64) -> Result<(), FileError> {
    connection.execute("DELETE FROM changes WHERE entry = ?1", [entry])?;
    // It may have gone with the oldest ones.
    if !connection.prepare_cached("SELECT 1 FROM entries WHERE id = ?1")?.exists([entry])? {
        return Ok(());
    }
    if changes.is_empty() {
        connection.execute("DELETE FROM entries WHERE id = ?1", [entry])?;
        return Ok(());
    }
    changes.iter().try_for_each(|change| put_change(connection, entry, change))?;
    connection.execute("UPDATE entries SET ended = ?2 WHERE id = ?1", params![entry, ended])?;
    Ok(())
}

/// Whether another call, which was at work at the same time, made just this change.
pub fn is_of_another(
    connection: &Connection,
    (began, workspace): (i64, &Path),
    change: &FileChange,
) -> Result<bool, FileError> {
    let mut select = connection.prepare_cached(
        "SELECT 1 FROM changes JOIN entries ON entries.id = entry
         WHERE path = ?1 AND after = ?2 AND workspace = ?3 AND ended >= ?4 AND undone IS NULL AND NOT is_command",
    )?;
    let after = change.after.as_ref().map(text_of);
    Ok(select.exists(params![bytes_of(&change.path), after, bytes_of(workspace), began])?)
}

pub fn put_blob(connection: &Connection, hash: &str, bytes: &[u8]) -> Result<(), FileError> {
    if has_blob(connection, hash)? {
        return Ok(());
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    let packed = encoder.finish()?;
    connection
        .prepare_cached("INSERT OR IGNORE INTO blobs (hash, bytes) VALUES (?1, ?2)")?
        .execute(params![hash, packed])?;
    Ok(())
}

pub fn has_blob(connection: &Connection, hash: &str) -> Result<bool, FileError> {
    Ok(connection.prepare_cached("SELECT 1 FROM blobs WHERE hash = ?1")?.exists([hash])?)
}

/// Returns a content; `None` if it is not kept or not what its hash says.
pub fn blob(connection: &Connection, hash: &str) -> Result<Option<Vec<u8>>, FileError> {
    let packed: Option<Vec<u8>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))
        .optional()?;
    let Some(packed) = packed else { return Ok(None) };
    let mut bytes = Vec::new();
    let unpacked = ZlibDecoder::new(packed.as_slice()).take(MAX_COPIED + 1).read_to_end(&mut bytes);
    Ok((unpacked.is_ok() && crate::stdx::fs::fingerprint(&bytes) == hash).then_some(bytes))
}

/// A file of a baseline: what its metadata was, and its state.
pub struct Base {
    pub stat: String,
    pub state: FileState,
}

pub fn baseline(connection: &Connection, workspace: &Path) -> Result<HashMap<PathBuf, Base>, FileError> {
    let mut select =
        connection.prepare_cached("SELECT path, stat, state FROM baseline WHERE workspace = ?1")?;
    let rows = select.query_map([bytes_of(workspace)], |row| {
        Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    rows.map(|row| {
        let (path, stat, state) = row?;
        Ok((path_of(&path), Base { stat, state: state_of(&state)? }))
    })
    .collect()
}

pub fn put_base(
    connection: &Connection,
    workspace: &Path,
    path: &Path,
    base: &Base,
) -> Result<(), FileError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO baseline (workspace, path, stat, state, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            bytes_of(workspace),
            bytes_of(path),
            base.stat,
            text_of(&base.state),
            base.state.hash()
        ])?;
    Ok(())
}

pub fn remove_base(connection: &Connection, workspace: &Path, path: &Path) -> Result<(), FileError> {
    connection
        .prepare_cached("DELETE FROM baseline WHERE workspace = ?1 AND path = ?2")?
        .execute(params![bytes_of(workspace), bytes_of(path)])?;
    Ok(())
}

/// Marks entries as taken back, or as done again.
pub fn mark_undone(connection: &Connection, ids: &[i64], is_undone: bool) -> Result<(), FileError> {
    let next: i64 =
        connection.query_row("SELECT COALESCE(MAX(undone), 0) + 1 FROM entries", [], |row| row.get(0))?;
    let undone = is_undone.then_some(next);
    let mut update = connection.prepare_cached("UPDATE entries SET undone = ?2 WHERE id = ?1")?;
    ids.iter().try_for_each(|id| update.execute(params![id, undone]).map(drop))?;
    Ok(())
}

pub fn put_note(connection: &Connection, session: &str, text: &str) -> Result<(), FileError> {
    connection.execute("INSERT INTO notes (session, text) VALUES (?1, ?2)", params![session, text])?;
    Ok(())
}

pub fn notes(connection: &Connection, session: &str) -> Result<Vec<(i64, String)>, FileError> {
    let mut select =
        connection.prepare_cached("SELECT id, text FROM notes WHERE session = ?1 ORDER BY id")?;
    let rows = select.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub fn remove_notes(connection: &Connection, notes: &[(i64, String)]) -> Result<(), FileError> {
    let mut delete = connection.prepare_cached("DELETE FROM notes WHERE id = ?1")?;
    notes.iter().try_for_each(|(id, _)| delete.execute([id]).map(drop))?;
    Ok(())
}

pub fn forget(connection: &Connection, session: &str) -> Result<(), FileError> {
    connection.execute(
        "DELETE FROM changes WHERE entry IN (SELECT id FROM entries WHERE session = ?1)",
        [session],
    )?;
    connection.execute("DELETE FROM entries WHERE session = ?1", [session])?;
    connection.execute("DELETE FROM notes WHERE session = ?1", [session])?;
    sweep(connection)
}

/// Deletes the contents that nothing needs any more.
fn sweep(connection: &Connection) -> Result<(), FileError> {
    connection.execute("DELETE FROM changes WHERE entry NOT IN (SELECT id FROM entries)", [])?;
    connection.execute(
        "DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM changes WHERE before_hash = hash)
            AND NOT EXISTS (SELECT 1 FROM changes WHERE after_hash = hash)
            AND NOT EXISTS (SELECT 1 FROM baseline WHERE baseline.hash = blobs.hash)",
        [],
    )?;
    connection.execute_batch(&format!("PRAGMA incremental_vacuum({FREED})"))?;
    Ok(())
}

/// Deletes the oldest entries, by their order and whatever the clock said, until the file has at most this size; never the newest, nor this workspace's baseline.
pub fn prune(connection: &Connection, max_mb: u32, workspace: &Path) -> Result<(), FileError> {
    let is_full = || used_bytes(connection).map(|used| used > u64::from(max_mb) << 20);
    if !is_full()? {
        return Ok(());
    }
    connection.execute("DELETE FROM baseline WHERE workspace <> ?1", [bytes_of(workspace)])?;
    sweep(connection)?;
    while is_full()? {
        // A quarter of them each time: finding what nothing needs reads all of them.
        let old = "SELECT id FROM entries WHERE id < (SELECT MAX(id) FROM entries) ORDER BY id
                   LIMIT 1 + (SELECT COUNT(*) / 4 FROM entries)";
        connection.execute(&format!("DELETE FROM changes WHERE entry IN ({old})"), [])?;
        if connection.execute(&format!("DELETE FROM entries WHERE id IN ({old})"), [])? == 0 {
            break;
        }
        sweep(connection)?;
    }
    Ok(())
}

fn bytes_of(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn text_of(state: &FileState) -> String {
    serde_json::to_string(state).unwrap_or_default()
}

fn state_of(text: &str) -> Result<FileState, FileError> {
    serde_json::from_str(text).map_err(|_| FileError::Damaged)
}
