//! Full-text search over the records of all sessions.
//!
//! The words of the user and the model, the arguments of calls and the beginning of their results are indexed. The
//! index is half of what a small commit writes, so [`Writer`] keeps the texts of a running turn until the turn ends or asks
//! the user, or until this process searches. The first search of a process adds what killed processes did not add. The
//! index holds words only; the text around a hit is read from the record.

use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::{Connection, params};
use serde_json::Value;

use super::inbox::moment;
use super::records;
use super::statements::Statements as _;
use super::writer::Writer;
use super::{Store, StoreError};
use crate::history::{Record, SessionId};
use crate::message::{Message, PartKind, images};
use crate::stdx::secrecy::mask;
use crate::stdx::text::one_line_summary;

/// The number of bytes of a record that are indexed, and of a call's return.
const LONGEST: usize = 64 * 1024;
const RETURN: usize = 4_000;

/// The number of hits that are looked at, the latest first.
const HITS: u32 = 20_000;

/// The width of the text around a hit, in terminal cells.
const AROUND: usize = 100;

/// The number of characters before a hit that are shown.
const BEFORE: usize = 30;

/// A session in which words were found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSession {
    pub id: SessionId,
    pub workspace: PathBuf,
    pub title: Option<String>,
    /// When the latest hit was recorded.
    pub at: Timestamp,
    /// The text around the latest hit, on one line, with keys and tokens masked.
    pub snippet: String,
}

impl Store {
    /// Returns the sessions in which a record has all of these words, or words that begin with them; the latest hit first,
    /// at most `limit`. None without a word.
    pub async fn search(&self, text: &str, limit: usize) -> Result<Vec<FoundSession>, StoreError> {
        let text = text.to_owned();
        if let Err(error) = self.write(Writer::complete_index).await {
            // Indexed text is found.
            tracing::debug!(%error, "the latest texts were not indexed");
        }
        self.read(move |reader| search(reader, &text, limit)).await
    }
}

fn search(reader: &Connection, text: &str, limit: usize) -> Result<Vec<FoundSession>, StoreError> {
    let words: Vec<&str> =
        text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect();
    let query: Vec<String> = words.iter().map(|word| format!("\"{}\"*", word.replace('"', "\"\""))).collect();
    if query.is_empty() {
        return Ok(Vec::new());
    }
    let mut select = reader.prepare_cached(
        "SELECT s.session, s.no FROM words w JOIN searched s ON s.id = w.rowid
         WHERE words MATCH ?1 ORDER BY w.rowid DESC LIMIT ?2",
    )?;
    let mut hits = select.query(params![query.join(" "), HITS])?;
    let mut found: Vec<FoundSession> = Vec::new();
    while let Some(row) = hits.next()? {
        if found.len() == limit {
            break;
        }
        // Most hits are in a session that is found already.
        let session = row.get_ref(0)?;
        if !found.iter().any(|one| session.as_str() == Ok(one.id.0.as_str())) {
            found.extend(hit(reader, &SessionId(row.get(0)?), row.get(1)?, &words)?);
        }
    }
    Ok(found)
}

fn hit(
    reader: &Connection,
    session: &SessionId,
    no: i64,
    words: &[&str],
) -> Result<Option<FoundSession>, StoreError> {
    let select = "SELECT s.workspace, s.title, r.at, r.kind, r.json
        FROM records r JOIN sessions s ON s.id = r.session WHERE r.session = ?1 AND r.no = ?2";
    let found = reader.first(select, params![session.0, no], |row| {
        let (kind, json): (String, String) = (row.get(3)?, row.get(4)?);
        let text = records::read(&kind, &json).ok().and_then(|record| searchable(&record));
        Ok(FoundSession {
            id: session.clone(),
            workspace: row.get::<_, String>(0)?.into(),
            title: row.get(1)?,
            at: moment(row.get(2)?),
            snippet: text.map_or_else(String::new, |text| around(&mask(&text), words)),
        })
    });
    Ok(found?)
}

/// Returns the text around the first of the words that is found.
fn around(text: &str, words: &[&str]) -> String {
    let lower = text.to_lowercase();
    let at = words.iter().filter_map(|word| lower.find(&word.to_lowercase())).min().unwrap_or(0);
    let begin = text.floor_char_boundary(at.min(text.len()));
    let before = text.get(..begin).unwrap_or_default();
    let from = before.char_indices().rev().take(BEFORE).last().map_or(begin, |(from, _)| from);
    let dots = if from > 0 { "…" } else { "" };
    // The word may stand in a later line than what is before it.
    let line = text.get(from..).unwrap_or_default().replace(['\n', '\r'], " ");
    one_line_summary(&format!("{dots}{line}"), AROUND)
}

/// Returns what of a record can be searched, before anything is masked; `None` if nothing.
pub(super) fn searchable(record: &Record) -> Option<String> {
    let text = match record {
        Record::Said { message } => match &**message {
            Message::User { parts } => images::typed_text(parts),
            Message::Assistant(reply) => {
                let parts = reply.parts.iter().map(|part| match &part.kind {
                    PartKind::Text { text } => text.clone(),
                    PartKind::ToolCall(call) => format!("{} {}", call.name, strings(&call.args)),
                    PartKind::Thinking { .. } | PartKind::Native => String::new(),
                });
                parts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
            }
            Message::ToolReturns { .. } => return None,
        },
        Record::ToolFinished { returned } => beginning(&returned.text(), RETURN).to_owned(),
        Record::Renamed { title } => title.clone(),
        _ => return None,
    };
    (!text.trim().is_empty()).then(|| beginning(&text, LONGEST).to_owned())
}

/// Returns so many bytes of a text, in whole characters.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// Returns the texts in a value.
fn strings(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(strings).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => fields.values().map(strings).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// The text of a record for the index.
pub(super) struct IndexedText {
    pub session: SessionId,
    pub no: u64,
    pub text: String,
}

/// Adds the text of a record to the index, unless the record is gone.
pub(super) fn index(sql: &Connection, indexed: &IndexedText) -> Result<(), StoreError> {
    let IndexedText { session, no, text } = indexed;
    let place =
        "INSERT INTO searched (session, no) SELECT session, no FROM records WHERE session = ?1 AND no = ?2";
    if sql.change(place, params![session.0, no])? == 0 {
        return Ok(());
    }
    let id = sql.last_insert_rowid();
    let words = "INSERT INTO words (rowid, text) VALUES (?1, ?2)";
    sql.change(words, params![id, text])?;
    Ok(())
}

/// Removes a session from the index.
pub(super) fn forget(sql: &Connection, session: &SessionId) -> Result<(), StoreError> {
    for delete in [
        "DELETE FROM words WHERE rowid IN (SELECT id FROM searched WHERE session = ?1)",
        "DELETE FROM searched WHERE session = ?1",
    ] {
        sql.execute(delete, [&session.0])?;
    }
    Ok(())
}

/// Fills the index from all records, oldest first.
pub(super) fn index_all(sql: &Connection) -> Result<(), StoreError> {
    index_of(sql, "SELECT session, no, kind, json FROM records ORDER BY at, session, no")
}

/// Adds to the index the texts of the last 10,000 records that are not in it: a process that was killed did not add its
/// own. A text that a running process adds later is in the index twice, and [`search`] returns its session once.
pub(super) fn index_missing(sql: &Connection) -> Result<(), StoreError> {
    index_of(
        sql,
        // Materialized, because it then gets an index of its own: that of the table knows sessions only.
        "WITH known AS MATERIALIZED
             (SELECT session, no FROM searched WHERE id > (SELECT max(id) FROM searched) - 20000)
         SELECT r.session, r.no, kind, json FROM records r LEFT JOIN known k USING (session, no)
         WHERE r.rowid > (SELECT max(rowid) FROM records) - 10000
             AND kind IN ('said', 'tool_finished', 'renamed') AND k.no IS NULL
         ORDER BY r.rowid",
    )
}

fn index_of(sql: &Connection, select: &str) -> Result<(), StoreError> {
    let mut select = sql.prepare(select)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (session, no): (String, u64) = (row.get(0)?, row.get(1)?);
        let kind: String = row.get(2)?;
        let Ok(json) = row.get::<_, String>(3) else { continue };
        if let Ok(record) = records::read(&kind, &json)
            && let Some(text) = searchable(&record)
        {
            let text = mask(&text).into_owned();
            index(sql, &IndexedText { session: SessionId(session), no, text })?;
        }
    }
    Ok(())
}
