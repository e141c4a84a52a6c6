//! The records of sessions: appended in order, loaded as a whole.
//!
//! Only the owner of a session appends (`session::Session`); any process may load.

use std::thread;

use rusqlite::{Connection, params};
use serde::Deserialize;

use super::audit::chain;
use super::encode::{self, Change, Row};
use super::requests;
use super::search::IndexedText;
use super::statements::Statements as _;
use super::usage;
use super::writer::Write;
use super::{IdKind, Store, StoreError};
use crate::history::{Durability, Record, SessionId};
use crate::message::Message;

impl Store {
    /// Appends records to a session that has `after` records, and makes the changes to other tables that they
    /// imply, in one transaction. The first record of a session is [`Record::Opened`]. Fails with
    /// [`StoreError::OutOfStep`] if another process wrote to the session.
    pub async fn append(
        &self,
        session: &SessionId,
        after: u64,
        records: &[Record],
        durability: Durability,
    ) -> Result<(), StoreError> {
        let rows = encode::rows(records, &self.inner.redactor)?;
        let session = session.clone();
        self.transact(durability, move |write| append(write, &session, after, &rows)).await
    }

    /// Returns all records of a session in order. A damaged or missing record becomes [`Record::Damaged`].
    /// Fails with [`StoreError::NotFound`] if there is no such session, and with [`StoreError::NewerRecord`]
    /// if a newer version wrote a record.
    pub async fn load(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        let session = session.clone();
        self.read(move |reader| load(reader, &session)).await
    }
}

pub(super) fn append(
    write: &Write<'_>,
    session: &SessionId,
    after: u64,
    rows: &[Row],
) -> Result<(), StoreError> {
    let found = count(write, session)?;
    if found != after {
        return Err(StoreError::OutOfStep { session: session.clone(), expected: after, found });
    }
    let mut insert = write
        .sql
        .prepare_cached("INSERT INTO records (session, no, at, kind, json) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (no, row) in (after + 1..).zip(rows) {
        if let Some(change) = &row.implied {
            apply(write, session, no, change)?;
        }
        insert.execute(params![session.0, no, write.now, row.kind, row.json])?;
        if let Some(text) = &row.text {
            write.texts.borrow_mut().push(IndexedText { session: session.clone(), no, text: text.clone() });
        }
    }
    touch(write, session)
}

/// Returns the number of records of the session.
pub(super) fn count(write: &Write<'_>, session: &SessionId) -> Result<u64, StoreError> {
    let last = "SELECT coalesce(max(no), 0) FROM records WHERE session = ?1";
    Ok(write.sql.one(last, [&session.0], |row| row.get(0))?)
}

fn apply(write: &Write<'_>, session: &SessionId, no: u64, change: &Change) -> Result<(), StoreError> {
    match change {
        Change::Open { workspace } => {
            let insert = "INSERT INTO sessions (id, workspace, created, updated) VALUES (?1, ?2, ?3, ?3)";
            write.sql.change(insert, params![session.0, workspace, write.now])?;
            Ok(())
        }
        Change::StartTurn { turn } => {
            write.starts_turn.set(true);
            set(write, session, "UPDATE sessions SET turns = ?2, last_end = NULL WHERE id = ?1", turn)
        }
        Change::Suggest { title } => {
            set(write, session, "UPDATE sessions SET title = coalesce(title, ?2) WHERE id = ?1", title)
        }
        Change::Rename { title } => {
            set(write, session, "UPDATE sessions SET title = ?2 WHERE id = ?1", title)
        }
        Change::EndTurn { end } => {
            write.news.set(true);
            set(write, session, "UPDATE sessions SET last_end = ?2 WHERE id = ?1", end)
        }
        Change::Spend(spend) => usage::spend(write, session, no, spend),
        Change::Ask(ask) => requests::ask(write, session, ask),
        Change::Decide(verdict) => requests::settle(write, verdict),
        Change::Expire { request } => requests::expire(write, request),
        Change::Judge { rule, audit } => {
            if let Some(rule) = rule {
                let count = "INSERT INTO rule_uses (rule, uses) VALUES (?1, 1)
                    ON CONFLICT (rule) DO UPDATE SET uses = uses + 1";
                write.sql.change(count, [rule])?;
            }
            chain::append(write, Some(session), audit)
        }
        Change::Start { audit } => chain::append(write, Some(session), audit),
        Change::Finish { call, how, audit } => {
            requests::finish(write, session, call, *how)?;
            chain::append(write, Some(session), audit)
        }
        Change::Clear => {
            write.news.set(true);
            set(write, session, "UPDATE sessions SET last_end = ?2 WHERE id = ?1", &None::<String>)?;
            requests::detach_all(write, session)
        }
    }
}

fn set(
    write: &Write<'_>,
    session: &SessionId,
    update: &str,
    value: &dyn rusqlite::ToSql,
) -> Result<(), StoreError> {
    write.sql.change(update, params![session.0, value])?;
    Ok(())
}

/// Within this time, in milliseconds, the session that was used last is not marked again: the mark and its two indexes are
/// a third of what a small commit writes.
const TOUCHED: i64 = 1_000;

/// Marks the session as the last one used, also after the clock was set back by less than [`MAX_CLOCK_LEAD`].
fn touch(write: &Write<'_>, session: &SessionId) -> Result<(), StoreError> {
    let last: Option<i64> = write.sql.first(
        "SELECT updated FROM sessions WHERE updated <= ?1 AND id <> ?2 ORDER BY updated DESC LIMIT 1",
        params![write.now.saturating_add(MAX_CLOCK_LEAD), session.0],
        |row| row.get(0),
    )?;
    let own = "SELECT updated FROM sessions WHERE id = ?1";
    let own: i64 = write.sql.one(own, [&session.0], |row| row.get(0))?;
    if last.is_none_or(|last| own > last) && (0..TOUCHED).contains(&write.now.saturating_sub(own)) {
        return Ok(());
    }
    let used = last.map_or(write.now, |last| write.now.max(last.saturating_add(1)));
    set(write, session, "UPDATE sessions SET updated = ?2 WHERE id = ?1", &used)
}

/// Why a record cannot be read.
pub(super) enum RecordError {
    Damaged,
    /// Written by a newer version; the text says what is unknown here.
    Newer(String),
}

/// The `kind` of rows with a message: most of the bytes of a session.
const SAID: &str = "said";

/// [`Record::Said`] for the parser, which copies all of a record before it knows which of them it is.
#[derive(Deserialize)]
struct SaidRecord {
    record: RecordTag,
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordTag {
    Said,
}

/// Parses a record from its row.
pub(super) fn read(kind: &str, json: &str) -> Result<Record, RecordError> {
    if kind == SAID
        && let Ok(SaidRecord { record: RecordTag::Said, message }) = serde_json::from_str(json)
    {
        return Ok(Record::Said { message });
    }
    let error = match serde_json::from_str(json) {
        Ok(record) => return Ok(record),
        Err(error) => error,
    };
    // A newer version's record has an unknown tag or variant, and its row's `kind` equals the tag.
    let text: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let named = text.as_ref().and_then(|text| text.get("record")).and_then(serde_json::Value::as_str);
    let is_new = error.to_string().starts_with("unknown variant");
    Err(if named == Some(kind) && is_new {
        RecordError::Newer(error.to_string())
    } else {
        RecordError::Damaged
    })
}

/// A stored time further ahead than this, in milliseconds, is from a clock that was wrong, and does not count as the last
/// use.
pub(super) const MAX_CLOCK_LEAD: i64 = 2 * 24 * 3_600 * 1_000;

/// Maximum number of records missing between two; beyond that, the record number itself is damaged.
pub(super) const MOST_MISSING: u64 = 100_000;

struct StoredRow {
    no: u64,
    kind: String,
    json: String,
}

/// Rows that one thread parses in less time than starting another takes.
const ROWS_ALONE: usize = 1_000;

/// Parses rows, many of them on several threads: parsing is most of the time of opening a long session.
fn parsed(rows: &[StoredRow]) -> Vec<Result<Record, RecordError>> {
    let one = |row: &StoredRow| read(&row.kind, &row.json);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(rows.len() / ROWS_ALONE);
    if threads < 2 {
        return rows.iter().map(one).collect();
    }
    thread::scope(|scope| {
        let part = |part: &[StoredRow]| part.iter().map(one).collect::<Vec<_>>();
        let parts = rows.chunks(rows.len().div_ceil(threads));
        let running: Vec<_> = parts.map(|rows| (rows, scope.spawn(move || part(rows)))).collect();
        // A thread ends early only by a panic; its rows are then parsed here.
        running.into_iter().flat_map(|(rows, thread)| thread.join().unwrap_or_else(|_| part(rows))).collect()
    })
}

pub(super) fn load(reader: &Connection, session: &SessionId) -> Result<Vec<Record>, StoreError> {
    let place = "SELECT workspace FROM sessions WHERE id = ?1";
    let workspace: Option<String> = reader.first(place, [&session.0], |row| row.get(0))?;
    let Some(workspace) = workspace else {
        return Err(StoreError::NotFound { what: IdKind::Session, prefix: session.0.clone() });
    };
    let select = "SELECT no, kind, json FROM records WHERE session = ?1 ORDER BY no";
    let rows = reader.all(select, [&session.0], |row| -> rusqlite::Result<_> {
        // What is no text is a damaged record.
        let text = |at| row.get_ref(at).map(|value| value.as_str().unwrap_or_default().to_owned());
        Ok(StoredRow { no: row.get(0)?, kind: text(1)?, json: text(2)? })
    })?;
    let mut records = Vec::with_capacity(rows.len());
    for (StoredRow { no, kind, .. }, parsed) in rows.iter().zip(parsed(&rows)) {
        let no = *no;
        let missing = records.len() as u64 + 1..no;
        if missing.end.saturating_sub(missing.start) > MOST_MISSING {
            let detail = format!("session {session} holds a record with the number {no}");
            return Err(StoreError::Corrupt { folder: std::path::PathBuf::new(), detail });
        }
        records.extend(missing.map(|no| Record::Damaged { no }));
        match parsed {
            Ok(record) => records.push(record),
            Err(RecordError::Damaged) => records.push(Record::Damaged { no }),
            Err(RecordError::Newer(detail)) => {
                return Err(StoreError::NewerRecord {
                    session: session.clone(),
                    no,
                    kind: kind.clone(),
                    detail,
                });
            }
        }
    }
    // The sessions table holds the same data as the first record.
    if let Some(first @ Record::Damaged { .. }) = records.first_mut() {
        *first = Record::Opened { workspace: workspace.into() };
    }
    Ok(records)
}
