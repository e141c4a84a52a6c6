//! Reading the file of spans: by trace, by what came last, by what came since.
//!
//! It is opened read-only and never created. Spans are numbered as they were written: a parent starts before its children and
//! is written after them, so that the number, and not a time, says what is new.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row, params};
use serde_json::Value;

use super::file::{FILE, VERSION};
use super::row::SpanRow;
use crate::store::file_id;
use crate::store::sidecar::{FileError, Statements as _, version_of};

const COLUMNS: &str = "rowid, id, trace_id, parent_id, name, kind, start_time, end_time, duration_ms, status_code, \
                       status_description, attributes, events, resource";

/// Why the spans cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("there are no spans yet: {path} does not exist")]
    Missing { path: PathBuf },
    #[error("{path}: {why}")]
    File { path: PathBuf, why: FileError },
    #[error("no trace begins with {id:?}")]
    NoTrace { id: String },
    #[error("several traces begin with {id:?}; type more digits")]
    ManyTraces { id: String },
}

/// Which spans are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpanFilter {
    /// A whole trace id.
    pub trace: Option<String>,
    pub kind: SpanKindFilter,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SpanKindFilter {
    #[default]
    All,
    Tools,
    Models,
    ToolsAndModels,
}

impl SpanKindFilter {
    fn sql(self) -> &'static str {
        match self {
            Self::All => "1",
            Self::Tools => "name LIKE 'execute_tool %'",
            Self::Models => "name LIKE 'chat %'",
            Self::ToolsAndModels => "(name LIKE 'execute_tool %' OR name LIKE 'chat %')",
        }
    }
}

/// A span and the number under which it was written.
pub type NumberedSpan = (i64, SpanRow);

/// The open file.
pub struct SpanFile {
    pub(super) connection: Connection,
    path: PathBuf,
    /// Device and number of the file.
    id: Option<(u64, u64)>,
}

impl SpanFile {
    /// Opens the file in this data folder. Blocking.
    pub fn open(data: &Path) -> Result<Self, ReadError> {
        let path = data.join(FILE);
        if !path.exists() {
            return Err(ReadError::Missing { path });
        }
        let opened = || -> Result<Connection, FileError> {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(Duration::from_secs(5))?;
            if version_of(&connection)? > VERSION {
                return Err(FileError::Newer);
            }
            connection.prepare(&format!("SELECT {COLUMNS} FROM spans"))?;
            Ok(connection)
        };
        match opened() {
            Ok(connection) => Ok(Self { connection, id: file_id(&path), path }),
            Err(why) => Err(ReadError::File { path, why }),
        }
    }

    /// Whether the path still names this file.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.id == file_id(&self.path)
    }

    /// Returns the last `count` spans, in the order in which they were written.
    pub fn last(&self, count: usize, filter: &SpanFilter) -> Result<Vec<NumberedSpan>, ReadError> {
        let tail = format!("AND {} ORDER BY rowid DESC LIMIT ?2", filter.kind.sql());
        let mut found = self.select(&tail, filter, i64::try_from(count).unwrap_or(i64::MAX))?;
        found.reverse();
        Ok(found)
    }

    /// Returns spans that were written after this number, oldest first; a bounded number of them.
    pub fn since(&self, number: i64, filter: &SpanFilter) -> Result<Vec<NumberedSpan>, ReadError> {
        let tail = format!("AND {} AND rowid > ?2 ORDER BY rowid LIMIT 1000", filter.kind.sql());
        self.select(&tail, filter, number)
    }

    fn select(&self, tail: &str, filter: &SpanFilter, number: i64) -> Result<Vec<NumberedSpan>, ReadError> {
        // Only a plain comparison uses the index.
        let of_trace = if filter.trace.is_some() { "trace_id = ?1" } else { "?1 IS NULL" };
        let sql = format!("SELECT {COLUMNS} FROM spans WHERE {of_trace} {tail}");
        self.query(|connection| connection.all(&sql, params![filter.trace, number], numbered_span))
    }

    /// Returns the number of the newest span; 0 if there is none.
    pub fn newest(&self) -> Result<i64, ReadError> {
        self.query(|connection| {
            connection.query_row("SELECT coalesce(max(rowid), 0) FROM spans", [], |row| row.get(0))
        })
    }

    /// Returns the whole id of the one trace that begins with these digits.
    pub fn trace_id(&self, digits: &str) -> Result<String, ReadError> {
        let id = digits.trim().to_ascii_lowercase();
        let is_hex = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let found: Vec<String> = if is_hex {
            self.query(|connection| {
                let sql = "SELECT DISTINCT trace_id FROM spans WHERE trace_id >= ?1 AND trace_id < ?1 || 'g' LIMIT 2";
                connection.all(sql, [&id], |row| row.get(0))
            })?
        } else {
            Vec::new()
        };
        match <[String; 1]>::try_from(found) {
            Ok([one]) => Ok(one),
            Err(found) if found.is_empty() => Err(ReadError::NoTrace { id: digits.to_owned() }),
            Err(_) => Err(ReadError::ManyTraces { id: digits.to_owned() }),
        }
    }

    /// Returns the spans of one trace, by their start; at most `most`.
    pub fn trace(&self, id: &str, most: usize) -> Result<Vec<SpanRow>, ReadError> {
        let filter = SpanFilter { trace: Some(id.to_owned()), kind: SpanKindFilter::All };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let found = self.select("ORDER BY start_time, rowid LIMIT ?2", &filter, most)?;
        Ok(found.into_iter().map(|(_, span)| span).collect())
    }

    /// Returns the ids of the traces of which a span was written last, newest first.
    pub fn latest_traces(&self, count: usize) -> Result<Vec<String>, ReadError> {
        self.query(|connection| {
            let mut statement = connection.prepare("SELECT trace_id FROM spans ORDER BY rowid DESC")?;
            let mut rows = statement.query([])?;
            let mut found: Vec<String> = Vec::new();
            // Read no further than needed: the file may hold a million spans.
            while found.len() < count
                && let Some(row) = rows.next()?
            {
                let id: String = row.get(0)?;
                if !found.contains(&id) {
                    found.push(id);
                }
            }
            Ok(found)
        })
    }

    pub(super) fn query<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, ReadError> {
        query(&self.connection)
            .map_err(|error| ReadError::File { path: self.path.clone(), why: error.into() })
    }
}

/// Reads a row; what another program wrote in an unknown form is empty.
fn numbered_span(row: &Row<'_>) -> rusqlite::Result<NumberedSpan> {
    let json = |column: &str| -> rusqlite::Result<Value> {
        let text: Option<String> = row.get(column)?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null))
    };
    let start_time: i64 = row.get("start_time")?;
    let span = SpanRow {
        id: row.get("id")?,
        trace_id: row.get("trace_id")?,
        parent_id: row.get("parent_id")?,
        name: row.get("name")?,
        kind: row.get::<_, Option<String>>("kind")?.unwrap_or_default(),
        start_time,
        end_time: row.get::<_, Option<i64>>("end_time")?.unwrap_or(start_time),
        duration_ms: row.get::<_, Option<f64>>("duration_ms")?.unwrap_or(0.0),
        status_code: row.get::<_, Option<String>>("status_code")?.unwrap_or_default(),
        status_description: row.get("status_description")?,
        attributes: match json("attributes")? {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        },
        events: json("events")?,
        resource: json("resource")?,
    };
    Ok((row.get("rowid")?, span))
}
