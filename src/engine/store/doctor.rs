//! The work of `co doctor`: diagnoses the database, restores a copy, or salvages what can still be read.
//!
//! Diagnosing writes nothing. Replaced files are moved to a new folder of the data folder, never removed. Blocking; called only by the
//! CLI.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use serde::Serialize;

use super::audit::TRIGGERS;
use super::health::{self, DatabaseCopy, copies};
use super::{StoreError, records, schema, search};
use crate::history::SessionId;
use crate::stdx::fs::{create_private_dir, if_exists, network_file_system, open_private};

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DamagedRecord {
    pub session: SessionId,
    pub no: u64,
}

/// The result of a diagnosis.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub database: PathBuf,
    /// The type of the data folder's file system, if it is no local one.
    pub network: Option<&'static str>,
    /// Size of the database and its write-ahead log.
    pub bytes: u64,
    pub sessions: u64,
    pub records: u64,
    /// Faults of the database itself, as SQLite words them.
    pub faults: Vec<String>,
    pub damaged: Vec<DamagedRecord>,
    /// Newest first.
    pub copies: Vec<DatabaseCopy>,
}

impl Diagnosis {
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && self.damaged.is_empty()
    }
}

/// The rows salvaged from a damaged database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Number of rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Tables with rows that could not be read.
    pub incomplete: Vec<String>,
    /// The folder the damaged files were moved to.
    pub old_folder: PathBuf,
}

/// The tables, each with its sort key, ordered so that rows refer only to earlier tables.
const TABLES: &[(&str, &str)] = &[
    ("sessions", "id"),
    ("records", "rowid"),
    ("approvals", "rowid"),
    ("usage", "session, no"),
    ("input_history", "rowid"),
    ("rule_uses", "rule"),
    ("audit", "no"),
];

/// The message when nothing can be salvaged.
const LOST: &str = "nothing in it can be read; restore a backup, or move co.db away to start over";

const WITHOUT_TRIGGERS: &str = "DROP TRIGGER IF EXISTS audit_grows_at_its_end;
     DROP TRIGGER IF EXISTS audit_never_changes; DROP TRIGGER IF EXISTS audit_keeps_its_rows;";

/// Checks the whole database of a data folder.
pub fn diagnose(data: &Path) -> Result<Diagnosis, StoreError> {
    let mut found = Diagnosis {
        database: schema::database(data),
        network: network_file_system(data),
        copies: copies(data),
        ..Diagnosis::default()
    };
    let file = if_exists(fs::metadata(&found.database)).map_err(|error| StoreError::file(data, &error))?;
    let Some(file) = file else {
        // Before the first session there is no database; that is no fault.
        if !found.copies.is_empty() {
            found.faults.push("there is no database".to_owned());
        }
        return Ok(found);
    };
    found.bytes = file.len() + fs::metadata(schema::wal_path(data)).map_or(0, |log| log.len());
    found.faults = match look(&mut found) {
        Ok(faults) => faults,
        Err(StoreError::Corrupt { detail, .. }) => vec![detail],
        Err(error @ StoreError::NotADatabase { .. }) => vec![error.to_string()],
        Err(error) => return Err(error.located(data)),
    };
    Ok(found)
}

/// Counts what is in the database; returns its faults.
fn look(found: &mut Diagnosis) -> Result<Vec<String>, StoreError> {
    let connection = schema::open_read_only(&found.database)?;
    if schema::check(&connection, &found.database)? == 0 {
        return Ok(vec!["the database is empty".to_owned()]);
    }
    let mut faults = health::faults(&connection, "integrity_check")?;
    let rows = |table: &str| count(&connection, table);
    match rows("pragma_foreign_key_check")? {
        0 => {}
        broken => faults.push(format!("{broken} rows refer to missing rows")),
    }
    found.sessions = rows("sessions")?;
    found.records = rows("records")?;
    found.damaged = damaged_records(&connection)?;
    Ok(faults)
}

/// Returns the number of rows of a table.
fn count(connection: &Connection, table: &str) -> rusqlite::Result<u64> {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
}

/// Restores missing audit triggers.
pub fn protect_audit(data: &Path) -> Result<(), StoreError> {
    let put_back = || -> rusqlite::Result<()> {
        let connection = Connection::open(schema::database(data))?;
        connection.execute_batch(&format!("BEGIN; {WITHOUT_TRIGGERS} {TRIGGERS} COMMIT"))
    };
    put_back().map_err(|error| StoreError::from(error).located(data))
}

/// Returns the column as text; an empty string if it is not text.
fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    Ok(row.get_ref(at)?.as_str().unwrap_or_default().to_owned())
}

fn damaged_records(connection: &Connection) -> Result<Vec<DamagedRecord>, StoreError> {
    let mut found = Vec::new();
    let mut select =
        connection.prepare("SELECT session, no, kind, json FROM records ORDER BY session, no")?;
    let mut rows = select.query([])?;
    let mut last: Option<(String, u64)> = None;
    while let Some(row) = rows.next()? {
        let (session, no): (String, u64) = (text(row, 0)?, row.get(1)?);
        let before = last.as_ref().filter(|(of, _)| *of == session).map_or(0, |(_, no)| *no);
        let kind = text(row, 2)?;
        let json = row.get_ref(3)?.as_str().unwrap_or_default();
        let missing = (before + 1).max(no.saturating_sub(records::MOST_MISSING))..no;
        let broken = matches!(records::read(&kind, json), Err(records::RecordError::Damaged)).then_some(no);
        found.extend(
            missing.chain(broken).map(|no| DamagedRecord { session: SessionId(session.clone()), no }),
        );
        last = Some((session, no));
    }
    Ok(found)
}

/// Exclusive access to the database: while this lives, no other process has it open.
struct ExclusiveAccess {
    _gate: File,
    _users: File,
}

impl ExclusiveAccess {
    fn with(data: &Path) -> Result<Self, StoreError> {
        let io = |error: std::io::Error| StoreError::file(data, &error);
        let locks = data.join("locks");
        create_private_dir(&locks).map_err(io)?;
        let gate = open_private(&locks.join("open")).map_err(io)?;
        gate.lock().map_err(io)?;
        let users = open_private(&locks.join("users")).map_err(io)?;
        users.try_lock().map_err(|_| StoreError::InUse { folder: data.to_owned() })?;
        Ok(Self { _gate: gate, _users: users })
    }
}

/// Puts a copy in place of the database. The previous files are moved to the returned folder. Fails,
/// with nothing changed, if the copy is itself damaged or another `co` has the database open.
pub fn restore(data: &Path, copy: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    let _alone = ExclusiveAccess::with(data)?;
    let fresh = fresh_file(data)?;
    let copied = || -> Result<(), StoreError> {
        let connection = schema::open_read_only(copy)?;
        if schema::check(&connection, copy)? == 0 {
            return Err(StoreError::NotADatabase { path: copy.to_owned() });
        }
        if let Some(detail) = health::faults(&connection, "integrity_check")?.into_iter().next() {
            return Err(StoreError::Corrupt { folder: copy.to_owned(), detail });
        }
        // `VACUUM INTO` includes the content of a log beside the copy.
        connection.execute("VACUUM INTO ?1", [fresh.to_string_lossy()])?;
        Ok(())
    };
    copied().map_err(|error| error.located(copy))?;
    put_in_place(data, &fresh, now)
}

/// Creates an empty owner-only file for a new database.
fn fresh_file(data: &Path) -> Result<PathBuf, StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(data.join(format!("co.db.new{suffix}")));
    }
    let fresh = data.join("co.db.new");
    open_private(&fresh).map_err(|error| StoreError::file(data, &error))?;
    Ok(fresh)
}

/// Creates a new folder for the replaced files.
fn create_old_folder(data: &Path, now: Timestamp) -> std::io::Result<PathBuf> {
    let moment = now.strftime("%Y%m%dT%H%M%SZ");
    let mut number = 1;
    loop {
        let folder = data.join(format!("damaged-{moment}-{number}"));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

fn put_in_place(data: &Path, fresh: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    let io = |error: std::io::Error| StoreError::file(data, &error);
    File::open(fresh).and_then(|file| file.sync_all()).map_err(io)?;
    let old_folder = create_old_folder(data, now).map_err(io)?;
    // The head and pruning files refer to the audit that is being replaced.
    for name in
        ["co.db-wal", "co.db-shm", "co.db-journal", "co.db-closed", "audit.head", "audit.pruned", "co.db"]
    {
        if_exists(fs::rename(data.join(name), old_folder.join(name))).map_err(io)?;
    }
    fs::rename(fresh, schema::database(data)).map_err(io)?;
    Ok(old_folder)
}

/// Salvages the readable part of a damaged database into a new one in its place, table by table and row by
/// row; the damaged files are moved to a new folder of the data folder. Fails, with nothing changed, if nothing can be read.
pub fn salvage(data: &Path, now: Timestamp) -> Result<SalvageReport, StoreError> {
    let _alone = ExclusiveAccess::with(data)?;
    salvage_alone(data, now).map_err(|error| error.located(data))
}

fn salvage_alone(data: &Path, now: Timestamp) -> Result<SalvageReport, StoreError> {
    let fresh = fresh_file(data)?;
    let path = schema::database(data);
    let old = schema::open_read_only(&path)?;
    let lost = || StoreError::Corrupt { folder: data.to_owned(), detail: LOST.to_owned() };
    let version = schema::check(&old, &path).map_err(|error| match error {
        StoreError::Corrupt { .. } => lost(),
        other => other,
    })?;
    let new = schema::at_version(&fresh, version)?;
    let mut saved = SalvageReport::default();
    new.execute_batch(&format!("{WITHOUT_TRIGGERS} PRAGMA foreign_keys = OFF; BEGIN"))?;
    for (table, order) in TABLES {
        if !new.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?1")?.exists([table])? {
            continue;
        }
        if copy_table(&old, &new, table, order)? == CopyResult::Partly {
            saved.incomplete.push((*table).to_owned());
        }
    }
    name_sessions(&new)?;
    if version >= schema::INDEXED {
        search::index_all(&new)?;
    }
    new.execute_batch(
        "UPDATE store_seq SET seq = max(seq, (SELECT coalesce(max(seq), 0) FROM approvals)); COMMIT",
    )?;
    if version >= schema::AUDITED {
        new.execute_batch(TRIGGERS)?;
    }
    for (table, _) in TABLES {
        saved.rows.insert((*table).to_owned(), count(&new, table).unwrap_or(0));
    }
    drop((old, new));
    if saved.rows.values().all(|rows| *rows == 0) {
        return Err(lost());
    }
    saved.old_folder = put_in_place(data, &fresh, now)?;
    Ok(saved)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyResult {
    Whole,
    /// Some rows could not be read.
    Partly,
}

/// Copies rows from both ends of a table as far as they are readable; records between them one by one.
fn copy_table(
    old: &Connection,
    new: &Connection,
    table: &str,
    order: &str,
) -> Result<CopyResult, StoreError> {
    for direction in ["ASC", "DESC"] {
        let by: Vec<String> = order.split(", ").map(|column| format!("{column} {direction}")).collect();
        let select = format!("SELECT * FROM {table} NOT INDEXED ORDER BY {}", by.join(", "));
        let select = if order == "rowid" { select } else { select.replace(" NOT INDEXED", "") };
        if copy_rows(old, new, table, &select)? == CopyResult::Whole {
            return Ok(CopyResult::Whole);
        }
    }
    if table == "records" {
        for session in texts(old, "SELECT DISTINCT session FROM records")
            .into_iter()
            .chain(texts(new, "SELECT id FROM sessions"))
        {
            let last =
                format!("SELECT max(no) FROM records WHERE session = '{}'", session.replace('\'', "''"));
            let last: u64 = old.query_row(&last, [], |row| row.get(0)).unwrap_or(0);
            for no in 1..=last.min(records::MOST_MISSING) {
                let one = format!(
                    "SELECT * FROM records WHERE session = '{}' AND no = {no}",
                    session.replace('\'', "''")
                );
                copy_rows(old, new, table, &one)?;
            }
        }
    }
    Ok(CopyResult::Partly)
}

/// Copies the rows of a query until it fails. Returns an error only if the new database fails.
fn copy_rows(
    old: &Connection,
    new: &Connection,
    table: &str,
    select: &str,
) -> Result<CopyResult, StoreError> {
    let Ok(mut select) = old.prepare(select) else { return Ok(CopyResult::Partly) };
    let columns = select.column_count();
    let marks = vec!["?"; columns].join(", ");
    let mut insert = new.prepare_cached(&format!("INSERT OR IGNORE INTO {table} VALUES ({marks})"))?;
    let Ok(mut rows) = select.query([]) else { return Ok(CopyResult::Partly) };
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(CopyResult::Whole),
            Err(_) => return Ok(CopyResult::Partly),
        };
        let values: rusqlite::Result<Vec<Value>> = (0..columns).map(|at| row.get(at)).collect();
        let Ok(values) = values else { continue };
        // A row that the new database rejects was damaged.
        let _ = insert.execute(params_from_iter(values));
    }
}

fn texts(connection: &Connection, select: &str) -> Vec<String> {
    let Ok(mut select) = connection.prepare(select) else { return Vec::new() };
    let Ok(rows) = select.query_map([], |row| row.get(0)) else { return Vec::new() };
    rows.map_while(Result::ok).collect()
}

/// Recreates lost rows of sessions from their records.
fn name_sessions(new: &Connection) -> Result<(), StoreError> {
    Ok(new.execute_batch(
        "INSERT INTO sessions (id, workspace, created, updated, turns)
         SELECT session, coalesce(max(CASE kind WHEN 'opened' THEN
                    CASE json_valid(json) WHEN 1 THEN json_extract(json, '$.workspace') END END), '/'),
                min(at), max(at), sum(kind = 'turn_started')
         FROM records WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session",
    )?)
}

#[cfg(test)]
mod tests;
