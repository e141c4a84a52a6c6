//! The records of sessions: appended in order, read in order.
//!
//! Only the owner of a session appends (`session::Session`); any process may load.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use rusqlite::{Connection, Rows, params};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::audit::chain;
use super::encode::{self, Change, Row};
use super::requests;
use super::search::IndexedText;
use super::statements::Statements as _;
use super::usage;
use super::writer::Write;
use super::{IdKind, Store, StoreError};
use crate::history::{Durability, Record, SessionId};
use crate::message::{Message, UserPart};

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

    /// Returns all records of a session in order; fails like [`Store::fold`].
    pub async fn load(&self, session: &SessionId) -> Result<Vec<Record>, StoreError> {
        self.fold(session, Vec::new(), Vec::push).await
    }

    /// Passes all records of a session to `take`, in order, and returns `start` as `take` changed it. A damaged or missing
    /// record becomes [`Record::Damaged`]. `take` runs on the store's reader thread: other reads wait for it, and a panic
    /// ends that thread. Once sent, the work runs to its end even if this future is dropped.
    ///
    /// Fails with [`StoreError::NotFound`] if there is no such session, with [`StoreError::NewerRecord`] if a newer
    /// version wrote a record, and with [`StoreError::Corrupt`] if a record's number cannot follow the one before it.
    pub async fn fold<T: Send + 'static>(
        &self,
        session: &SessionId,
        start: T,
        mut take: impl FnMut(&mut T, Record) + Send + 'static,
    ) -> Result<T, StoreError> {
        let session = session.clone();
        self.read(move |reader| {
            let mut folded = start;
            for_each(reader, &session, |record| take(&mut folded, record))?;
            Ok(folded)
        })
        .await
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
            requests::make_all_late(write, session)
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
    /// Written by a newer version; `detail` says what is unknown here.
    Newer {
        kind: String,
        detail: String,
    },
}

/// The `kind` of rows with a message: most of the bytes of a session.
const SAID: &str = "said";

/// [`Record::Said`] for the parser, which copies all of a tagged value before it knows which one it is.
#[derive(Deserialize)]
struct SaidRecord<'a> {
    record: RecordTag,
    #[serde(borrow)]
    message: &'a RawValue,
}

#[derive(Deserialize)]
struct UserMessage {
    parts: Vec<UserPart>,
}

/// Parses a message by its role, which this program writes first; `None` for any other text. It accepts what the parser of
/// all records refuses in fields that no message has.
fn read_message(json: &str) -> Option<Message> {
    if json.starts_with(r#"{"role":"assistant","#) {
        serde_json::from_str(json).map(Message::Assistant).ok()
    } else if json.starts_with(r#"{"role":"user","#) {
        serde_json::from_str(json).map(|UserMessage { parts }| Message::User { parts }).ok()
    } else {
        None
    }
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
        && let Some(message) = read_message(message.get())
    {
        return Ok(Record::said(message));
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
        RecordError::Newer { kind: kind.to_owned(), detail: error.to_string() }
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

/// The number of a row, and its record.
type ParsedRow = (u64, Result<Record, RecordError>);

/// Rows that one thread parses. A shorter session is parsed without other threads.
const CHUNK: usize = 1_000;

/// Maximum number of threads that parse while this one reads.
const PARSERS: usize = 3;

/// Passes the records of a session to `take`, in order. Other threads parse rows while more are read: parsing is most of
/// the time of opening a long session.
pub(super) fn for_each(
    reader: &Connection,
    session: &SessionId,
    take: impl FnMut(Record),
) -> Result<(), StoreError> {
    let place = "SELECT workspace FROM sessions WHERE id = ?1";
    let workspace: Option<String> = reader.first(place, [&session.0], |row| row.get(0))?;
    let Some(workspace) = workspace else {
        return Err(StoreError::NotFound { what: IdKind::Session, prefix: session.0.clone() });
    };
    let mut order = RecordOrder { session, workspace, passed: 0, take };
    let mut select =
        reader.prepare_cached("SELECT no, kind, json FROM records WHERE session = ?1 ORDER BY no")?;
    let mut rows = select.query([&session.0])?;
    thread::scope(|scope| {
        let mut parsing = VecDeque::new();
        loop {
            let chunk = read_chunk(&mut rows)?;
            if chunk.len() < CHUNK {
                let last = parse(&chunk);
                for thread in parsing {
                    order.pass(join(thread))?;
                }
                return order.pass(last);
            }
            if parsing.len() == PARSERS
                && let Some(first) = parsing.pop_front()
            {
                order.pass(join(first))?;
            }
            let rows = Arc::new(chunk);
            let shared = Arc::clone(&rows);
            match thread::Builder::new().spawn_scoped(scope, move || parse(&shared)) {
                Ok(thread) => parsing.push_back(thread),
                // The system has reached its number of threads.
                Err(_) => {
                    for thread in parsing.drain(..) {
                        order.pass(join(thread))?;
                    }
                    order.pass(parse(&rows))?;
                }
            }
        }
    })
}

fn read_chunk(rows: &mut Rows<'_>) -> rusqlite::Result<Vec<StoredRow>> {
    let mut chunk = Vec::new();
    while chunk.len() < CHUNK
        && let Some(row) = rows.next()?
    {
        // A value that is no text is a damaged record.
        let text = |at| row.get_ref(at).map(|value| value.as_str().unwrap_or_default().to_owned());
        chunk.push(StoredRow { no: row.get(0)?, kind: text(1)?, json: text(2)? });
    }
    Ok(chunk)
}

fn parse(rows: &[StoredRow]) -> Vec<ParsedRow> {
    rows.iter().map(|row| (row.no, read(&row.kind, &row.json))).collect()
}

fn join(thread: ScopedJoinHandle<'_, Vec<ParsedRow>>) -> Vec<ParsedRow> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Passes parsed rows on in order, and fills gaps with damaged records.
struct RecordOrder<'a, T> {
    session: &'a SessionId,
    workspace: String,
    /// The number of the last record.
    passed: u64,
    take: T,
}

impl<T: FnMut(Record)> RecordOrder<'_, T> {
    fn pass(&mut self, rows: Vec<ParsedRow>) -> Result<(), StoreError> {
        for (no, parsed) in rows {
            let missing = self.passed + 1..no;
            if no <= self.passed || missing.end.saturating_sub(missing.start) > MOST_MISSING {
                let detail = format!("session {} holds a record with the number {no}", self.session);
                return Err(StoreError::Corrupt { folder: PathBuf::new(), detail });
            }
            let record = match parsed {
                Ok(record) => record,
                Err(RecordError::Damaged) => Record::Damaged { no },
                Err(RecordError::Newer { kind, detail }) => {
                    return Err(StoreError::NewerRecord { session: self.session.clone(), no, kind, detail });
                }
            };
            missing.for_each(|no| self.pass_one(Record::Damaged { no }));
            self.pass_one(record);
        }
        Ok(())
    }

    fn pass_one(&mut self, record: Record) {
        self.passed += 1;
        (self.take)(match record {
            // The sessions table holds the same data as the first record.
            Record::Damaged { .. } if self.passed == 1 => {
                Record::Opened { workspace: std::mem::take(&mut self.workspace).into() }
            }
            record => record,
        });
    }
}
