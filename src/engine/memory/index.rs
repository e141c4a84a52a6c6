//! The full-text index of memories: a SQLite file that follows from the files of memories and is made again at any time.
//!
//! A file that is damaged is replaced; where none can be kept (a full disk, a data folder that cannot be written), there is one
//! in memory. Blocking.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior, params, params_from_iter};

use super::MemoryError;
use super::folder::{Folder, FoundFile, Stamp};
use super::recall::{Candidate, Corpus, HITS, applies, rank, weight};
use crate::store::file_id;
use crate::store::sidecar::{FileError, Statements as _, open_sidecar};

/// The name of the file in the data folder.
pub const FILE: &str = "memory.db";

const VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");

/// How long a change waits for other processes.
const BUSY: Duration = Duration::from_secs(2);

/// Files that are looked at each time; of folders with more, changes by others are found in the background.
pub const LOOKED_AT: usize = 2_000;

/// Files that are read in one transaction.
const BATCH: usize = 500;

/// Memories that are ranked in full.
const RANKED: usize = 64;

/// The index. It is opened when it is first used, and again if the file was replaced.
pub struct Index {
    path: PathBuf,
    open: Mutex<Option<OpenIndex>>,
}

struct OpenIndex {
    connection: Connection,
    /// Device and number of the file; `None` in memory.
    id: Option<(u64, u64)>,
}

/// A memory that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedMemory {
    pub folder: String,
    pub name: String,
    /// The words of the query that it has, by their numbers.
    pub words: BTreeSet<usize>,
    rank: f64,
}

/// How often a memory was used, and when last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub uses: u32,
    pub used: Option<Timestamp>,
}

impl Index {
    pub fn new(data: &Path) -> Self {
        Self { path: data.join(FILE), open: Mutex::default() }
    }

    /// Works with the index; if it is damaged, again with a new one.
    fn with<T>(&self, work: impl Fn(&mut Connection) -> Result<T, FileError>) -> Result<T, MemoryError> {
        let failed = |why| MemoryError::Index { path: self.path.clone(), why };
        let mut open = self.open.lock();
        if open.as_ref().is_some_and(|open| open.id.is_some() && open.id != file_id(&self.path)) {
            *open = None;
        }
        let mut is_renewed = false;
        loop {
            let index = match &mut *open {
                Some(index) => index,
                none => none.insert(self.open_index().map_err(failed)?),
            };
            let was_kept = index.id.is_some();
            match work(&mut index.connection) {
                Err(FileError::Damaged) if !is_renewed => {
                    is_renewed = true;
                    *open = None;
                    self.remove();
                }
                Err(FileError::Full | FileError::Io(_) | FileError::Other(_)) if was_kept => {
                    *open = Some(in_memory().map_err(failed)?);
                }
                done => return done.map_err(failed),
            }
        }
    }

    fn open_index(&self) -> Result<OpenIndex, FileError> {
        let open = || open_sidecar(&self.path, VERSION, SCHEMA, BUSY);
        let opened = match open() {
            Err(FileError::Damaged) => {
                self.remove();
                open()
            }
            opened => opened,
        };
        match opened {
            Ok(connection) => Ok(OpenIndex { connection, id: file_id(&self.path) }),
            Err(why) => {
                tracing::warn!("{}: {why}; memories are indexed in memory", self.path.display());
                in_memory()
            }
        }
    }

    fn remove(&self) {
        for end in ["", "-wal", "-shm"] {
            let mut path = self.path.clone().into_os_string();
            path.push(end);
            // Opening it reports the problem.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Brings the index up to date with a small folder; of a large one nothing is looked at. Returns whether it was.
    pub fn look(&self, folder: &Folder) -> Result<bool, MemoryError> {
        let key = key(folder);
        let is_large = self.with(|connection| {
            let mut select =
                connection.prepare_cached("SELECT 1 FROM entries WHERE folder = ?1 LIMIT 1 OFFSET ?2")?;
            Ok(select.exists(params![key, LOOKED_AT as i64])?)
        })?;
        if is_large {
            return Ok(false);
        }
        let names = folder.names(LOOKED_AT + 1)?;
        let is_small = names.len() <= LOOKED_AT;
        if is_small {
            self.with(|connection| take(connection, folder, &names))?;
        }
        Ok(is_small)
    }

    /// Brings the index up to date with all of a folder, batch by batch, through a connection of its own.
    pub fn scan(&self, folder: &Folder) -> Result<(), MemoryError> {
        let names = folder.names(usize::MAX)?;
        let apart = open_sidecar(&self.path, VERSION, SCHEMA, BUSY);
        match apart.and_then(|mut connection| take(&mut connection, folder, &names)) {
            Ok(()) => Ok(()),
            Err(_) => self.with(|connection| take(connection, folder, &names)),
        }
    }

    /// Takes one file as it is now; `None`: it is gone.
    pub fn take_file(&self, folder: &Folder, name: &str, file: Option<FoundFile>) -> Result<(), MemoryError> {
        let (key, files) = (key(folder), [(name, file)]);
        self.with(|connection| put(connection, &key, &files))
    }

    /// Returns the memories of these folders that have words of a query, the best first. With prefixes, longer words count
    /// too; without, only what applies to a text that did not ask for it.
    pub fn search(
        &self,
        folders: &[Folder],
        words: &[String],
        (prefixes, now): (Prefixes, Timestamp),
    ) -> Result<Vec<RankedMemory>, MemoryError> {
        let keys: Vec<String> = folders.iter().map(key).collect();
        self.with(|connection| search(connection, &keys, words, (prefixes, now)))
    }

    /// Returns the names of the files of a folder with this number.
    pub fn file_names(&self, folder: &Folder, number: u64) -> Result<Vec<String>, MemoryError> {
        self.strings("SELECT name FROM entries WHERE folder = ?1 AND number = ?2", folder, number)
    }

    /// Returns the names of the memories of a folder that were written last, at most `limit`.
    pub fn latest(&self, folder: &Folder, limit: usize) -> Result<Vec<String>, MemoryError> {
        let sql = "SELECT name FROM entries WHERE folder = ?1 AND number IS NOT NULL ORDER BY touched DESC, number DESC LIMIT ?2";
        self.strings(sql, folder, limit as u64)
    }

    /// Returns what is wrong with files of a folder: sentences that begin with their paths.
    pub fn problems(&self, folder: &Folder, limit: usize) -> Result<Vec<String>, MemoryError> {
        let sql = "SELECT name || ': ' || problem FROM entries WHERE folder = ?1 AND problem IS NOT NULL ORDER BY name LIMIT ?2";
        let path = folder.path();
        let found = self.strings(sql, folder, limit as u64)?;
        let mut found: Vec<String> = found.iter().map(|text| format!("{}/{text}", path.display())).collect();
        let sql = "SELECT 'the id ' || number || ' is in ' || COUNT(*) || ' files: ' || group_concat(name, ', ')
                   FROM entries WHERE folder = ?1 AND number IS NOT NULL GROUP BY number HAVING COUNT(*) > 1 LIMIT ?2";
        let twice = self.strings(sql, folder, limit as u64)?;
        found.extend(
            twice.iter().map(|text| format!("{}: {text}; give one of them another id", path.display())),
        );
        Ok(found)
    }

    fn strings(&self, sql: &str, folder: &Folder, number: u64) -> Result<Vec<String>, MemoryError> {
        let (key, number) = (key(folder), i64::try_from(number).unwrap_or(i64::MAX));
        self.with(|connection| connection.all(sql, params![key, number], |row| Ok(row.get(0)?)))
    }

    /// Returns how many memories a folder has.
    pub fn count(&self, folder: &Folder) -> Result<usize, MemoryError> {
        let keys = [key(folder)];
        Ok(self.with(|connection| corpus(connection, &keys))?.memories as usize)
    }

    /// Returns the highest number of a folder.
    pub fn highest(&self, folder: &Folder) -> Result<u64, MemoryError> {
        let key = key(folder);
        self.with(|connection| {
            let sql = "SELECT COALESCE(MAX(number), 0) FROM entries WHERE folder = ?1";
            Ok(connection.one(sql, [&key], |row| row.get(0))?)
        })
    }

    /// Notes that memories were used.
    pub fn note_use(&self, memories: &[(&Folder, u64)], now: Timestamp) -> Result<(), MemoryError> {
        self.with(|connection| {
            let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for (folder, number) in memories {
                step.change(
                    "INSERT INTO uses VALUES (?1, ?2, 1, ?3) ON CONFLICT DO UPDATE SET uses = uses + 1, used = ?3",
                    params![key(folder), number, now.as_second()],
                )?;
            }
            Ok(step.commit()?)
        })
    }

    pub fn usage(&self, folder: &Folder, number: u64) -> Result<Usage, MemoryError> {
        let key = key(folder);
        self.with(|connection| usage(connection, &key, number))
    }

    /// Forgets the use of a memory that is gone.
    pub fn forget_use(&self, folder: &Folder, number: u64) -> Result<(), MemoryError> {
        let key = key(folder);
        self.with(|connection| {
            connection.execute("DELETE FROM uses WHERE folder = ?1 AND number = ?2", params![key, number])?;
            Ok(())
        })
    }
}

/// Whether words that only begin with those of a query count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefixes {
    Count,
    DoNot,
}

fn in_memory() -> Result<OpenIndex, FileError> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    Ok(OpenIndex { connection, id: None })
}

fn key(folder: &Folder) -> String {
    folder.path().display().to_string()
}

/// Brings the index up to date with the files of a folder, which have these stamps.
fn take(connection: &mut Connection, folder: &Folder, names: &[(String, Stamp)]) -> Result<(), FileError> {
    let key = key(folder);
    let sql = "SELECT name, mtime, size, inode FROM entries WHERE folder = ?1";
    let known = connection.all(sql, [&key], |row| -> rusqlite::Result<(String, Stamp)> {
        Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?)))
    })?;
    let mut known: HashMap<String, Stamp> = known.into_iter().collect();
    let mut changed = Vec::new();
    for (name, stamp) in names {
        if known.remove(name).as_ref() != Some(stamp) {
            changed.push(name.clone());
        }
    }
    // Those that are gone: there is nothing to read, and their entries go.
    changed.extend(known.into_keys());
    for batch in changed.chunks(BATCH) {
        // Read before others have to wait.
        let files: Vec<(&str, Option<FoundFile>)> =
            batch.iter().map(|name| (name.as_str(), folder.read(name).ok().flatten())).collect();
        put(connection, &key, &files)?;
    }
    Ok(())
}

/// Puts files in place of what is known of them, in one transaction; `None`: it is gone.
fn put(connection: &mut Connection, key: &str, files: &[(&str, Option<FoundFile>)]) -> Result<(), FileError> {
    let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (name, file) in files {
        let known = "SELECT id FROM entries WHERE folder = ?1 AND name = ?2";
        if let Some(id) = step.first(known, params![key, name], |row| row.get::<_, i64>(0))? {
            step.change("DELETE FROM entries WHERE id = ?1", [id])?;
            step.change("DELETE FROM words WHERE rowid = ?1", [id])?;
        }
        if let Some(file) = file {
            insert(&step, key, file)?;
        }
    }
    Ok(step.commit()?)
}

fn insert(connection: &Connection, key: &str, file: &FoundFile) -> Result<(), FileError> {
    let (mtime, size, inode) = file.stamp;
    let (number, touched, tags, text, problem) = match &file.memory {
        Ok(memory) => {
            let touched = memory.last_write().as_second();
            (Some(memory.number), touched, memory.tags.join(" "), memory.text.as_str(), None)
        }
        Err(problem) => (None, 0, String::new(), "", Some(problem.to_string())),
    };
    let length = text.split_whitespace().count();
    connection.change(
        "INSERT INTO entries (folder, name, number, mtime, size, inode, touched, length, tags, problem)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![key, file.name, number, mtime, size, inode, touched, length, tags, problem],
    )?;
    if problem.is_none() {
        let words = "INSERT INTO words (rowid, text, tags) VALUES (?1, ?2, ?3)";
        connection.change(words, params![connection.last_insert_rowid(), text, tags])?;
    }
    Ok(())
}

fn corpus(connection: &Connection, keys: &[String]) -> Result<Corpus, FileError> {
    let sql = "SELECT memories, length FROM totals WHERE folder = ?1";
    let (mut memories, mut length) = (0_i64, 0_i64);
    for key in keys {
        let row = connection.first(sql, [key], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
        let (more, longer) = row.unwrap_or_default();
        (memories, length) = (memories + more, length + longer);
    }
    Ok(Corpus { memories: memories as f64, length: length as f64 / (memories.max(1) as f64) })
}

fn usage(connection: &Connection, key: &str, number: u64) -> Result<Usage, FileError> {
    let sql = "SELECT uses, used FROM uses WHERE folder = ?1 AND number = ?2";
    let found = connection.first(sql, params![key, number], |row| {
        Ok(Usage { uses: row.get(0)?, used: Timestamp::from_second(row.get(1)?).ok() })
    });
    Ok(found?.unwrap_or_default())
}

/// Returns the rows that match, the latest first, at most [`HITS`]. The words are looked up first: by folder, all rows would be.
fn rows(connection: &Connection, keys: &[String], query: &str) -> Result<Vec<i64>, FileError> {
    let folders = vec!["?"; keys.len()].join(", ");
    let select = format!(
        "SELECT w.rowid FROM words w CROSS JOIN entries e ON e.id = w.rowid
         WHERE words MATCH ? AND e.folder IN ({folders}) ORDER BY w.rowid DESC LIMIT {HITS}"
    );
    let params = std::iter::once(query).chain(keys.iter().map(String::as_str));
    connection.all(&select, params_from_iter(params), |row| Ok(row.get(0)?))
}

fn search(
    connection: &Connection,
    keys: &[String],
    words: &[String],
    (prefixes, now): (Prefixes, Timestamp),
) -> Result<Vec<RankedMemory>, FileError> {
    let quoted = |word: &String| format!("\"{word}\"");
    let mut found: BTreeMap<i64, BTreeSet<usize>> = BTreeMap::new();
    let mut hits = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let mut ids = rows(connection, keys, &quoted(word))?;
        if prefixes == Prefixes::Count && ids.len() < HITS && word.chars().nth(2).is_some() {
            ids = rows(connection, keys, &format!("{}*", quoted(word)))?;
        }
        hits.push(ids.len());
        for id in ids {
            found.entry(id).or_default().insert(at);
        }
    }
    // Of common words, the latest that have one may not be those that have all.
    if words.len() > 1 && hits.contains(&HITS) && !hits.contains(&0) {
        let all: Vec<String> = words.iter().map(quoted).collect();
        for id in rows(connection, keys, &all.join(" "))? {
            found.entry(id).or_default().extend(0..words.len());
        }
    }
    let corpus = corpus(connection, keys)?;
    let weights: Vec<f64> = hits.iter().map(|hits| weight(*hits, corpus)).collect();
    let sum = |words: &BTreeSet<usize>| words.iter().filter_map(|at| weights.get(*at)).sum::<f64>();
    let mut found: Vec<(i64, BTreeSet<usize>)> = found.into_iter().collect();
    found.sort_by(|(id, one), (other_id, other)| sum(other).total_cmp(&sum(one)).then(other_id.cmp(id)));
    found.truncate(RANKED);
    let mut ranked = Vec::new();
    for (id, has) in found {
        let (folder, name, one) = candidate(connection, id, has, (words, now))?;
        if prefixes == Prefixes::Count || applies(&one, &hits, corpus) {
            let rank = rank(&one, &weights, corpus);
            ranked.push(RankedMemory { folder, name, words: one.words, rank });
        }
    }
    ranked.sort_by(|one, other| other.rank.total_cmp(&one.rank));
    Ok(ranked)
}

/// Returns the folder and the name of a memory, and what it is ranked by.
fn candidate(
    connection: &Connection,
    id: i64,
    has: BTreeSet<usize>,
    (words, now): (&[String], Timestamp),
) -> Result<(String, String, Candidate), FileError> {
    let sql = "SELECT folder, name, number, touched, length, tags FROM entries WHERE id = ?1";
    let (folder, name, number, touched, length, tags): (String, String, u64, i64, u32, String) =
        connection.one(sql, [id], |row| row.try_into())?;
    let usage = usage(connection, &folder, number)?;
    let last = usage.used.map_or(touched, |used| used.as_second().max(touched));
    let is_tag = |at: &usize| {
        let word = words.get(*at).map_or("", String::as_str);
        tags.split(|c: char| !c.is_alphanumeric()).any(|tag| tag == word)
    };
    let candidate = Candidate {
        tagged: has.iter().copied().filter(is_tag).collect(),
        words: has,
        length,
        days: (now.as_second() - last) as f64 / 86_400.0,
        uses: usage.uses,
    };
    Ok((folder, name, candidate))
}
