//! The SQLite file of spans: batches in, oldest spans out.
//!
//! Several processes write to it. It is bounded in size and age; deleting goes in small steps, one with each batch, so that no
//! process ever stops for it. Called by the thread of `collect`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use opentelemetry_sdk::trace::SpanData;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, params};
use serde_json::Value;

use super::collect::{Loss, Sink};
use super::row::SpanRow;
use crate::stdx::fs::{create_private_dir, open_private};
use crate::store::wake_others;

/// The name of the file in the data folder.
pub const FILE: &str = "telemetry.db";

/// The version of the table.
pub(super) const VERSION: i64 = 1;

/// How long a batch waits for other processes, in all.
const BUSY: Duration = Duration::from_secs(2);

/// Spans deleted with one batch: twice as many as a batch may add.
const STEP: usize = 512;

/// Pages given back to the file system with one batch.
const FREED: usize = 256;

const DAY: i64 = 24 * 3600 * 1_000_000_000;

/// Where spans are kept, and how many.
#[derive(Clone)]
pub struct FileOptions {
    pub data: PathBuf,
    /// The folder in which `co tail` listens.
    pub listeners: PathBuf,
    pub max_mb: u32,
    pub days: u32,
}

/// Writes spans; the file is opened with the first batch.
pub(super) struct SpanWriter {
    options: FileOptions,
    resource: Value,
    text: Box<dyn Fn(&str) -> String + Send>,
    connection: Option<Connection>,
}

impl SpanWriter {
    pub fn new(options: FileOptions, resource: Value, text: Box<dyn Fn(&str) -> String + Send>) -> Self {
        Self { options, resource, text, connection: None }
    }

    fn insert(&mut self, batch: &[SpanData]) -> Result<(), FileError> {
        if self.connection.is_none() {
            self.connection = Some(open(&self.options.data)?);
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let step = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut insert = step.prepare_cached(
                "INSERT OR REPLACE INTO spans (id, trace_id, parent_id, name, kind, start_time, end_time, duration_ms,
                     status_code, status_description, attributes, events, resource)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?;
            for span in batch {
                let row = SpanRow::of(span, &self.resource, &self.text);
                insert.execute(params![
                    row.id,
                    row.trace_id,
                    row.parent_id,
                    row.name,
                    row.kind,
                    row.start_time,
                    row.end_time,
                    row.duration_ms,
                    row.status_code,
                    row.status_description,
                    Value::Object(row.attributes).to_string(),
                    row.events.to_string(),
                    row.resource.to_string(),
                ])?;
            }
        }
        prune(&step, &self.options)?;
        step.commit()?;
        Ok(())
    }
}

impl Sink for SpanWriter {
    fn write(&mut self, batch: Vec<SpanData>) -> Result<(), Loss> {
        let written = self.insert(&batch);
        if let Err(error) = written {
            // The next batch opens the file anew: it may have been replaced.
            self.connection = None;
            return Err(Loss::Spans(format!("{}: {error}", self.options.data.join(FILE).display())));
        }
        wake_others(&self.options.listeners);
        Ok(())
    }
}

/// Why spans cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("it was written by a newer version of co")]
    Newer,
    #[error("it is damaged; delete it to begin a new one")]
    Damaged,
    #[error("another program holds it locked")]
    Locked,
    #[error("the disk is full")]
    Full,
    #[error("it cannot be written: {0}")]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Other(rusqlite::Error),
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::Damaged,
            _ => Self::Other(error),
        }
    }
}

/// Opens the file to write; creates it for its owner only.
fn open(data: &Path) -> Result<Connection, FileError> {
    create_private_dir(data)?;
    let path = data.join(FILE);
    drop(open_private(&path)?);
    let connection = Connection::open(&path)?;
    connection.busy_timeout(BUSY)?;
    // A short log stays beside the file: writing it back would wait for the disk at the end of each process.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    match version(&connection)? {
        VERSION => {}
        newer if newer > VERSION => return Err(FileError::Newer),
        _ => {
            // Before the first table, or it has no effect.
            connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch(include_str!("schema.sql"))?;
            connection.pragma_update(None, "user_version", VERSION)?;
        }
    }
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304;")?;
    Ok(connection)
}

pub(super) fn version(connection: &Connection) -> Result<i64, FileError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Deletes some of the spans that are too old or too many.
fn prune(connection: &Connection, options: &FileOptions) -> Result<(), FileError> {
    let now = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
    let oldest = now.saturating_sub(DAY.saturating_mul(i64::from(options.days)));
    let mut deleted = connection
        .prepare_cached(
            "DELETE FROM spans WHERE rowid IN
                 (SELECT rowid FROM spans WHERE start_time < ?1 ORDER BY start_time LIMIT ?2)",
        )?
        .execute(params![oldest, STEP as i64])?;
    let number = |pragma: &str| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let used = number("PRAGMA page_count")? - number("PRAGMA freelist_count")?;
    if used * number("PRAGMA page_size")? > i64::from(options.max_mb) * 1024 * 1024 {
        deleted += connection
            .prepare_cached(
                "DELETE FROM spans WHERE rowid IN (SELECT rowid FROM spans ORDER BY start_time LIMIT ?1)",
            )?
            .execute([STEP as i64])?;
    }
    if deleted > 0 {
        connection.execute_batch(&format!("PRAGMA incremental_vacuum({FREED})"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

    use super::*;
    use crate::telemetry::{SpanFile, SpanFilter};

    /// Spans of a kilobyte each, that began at this time.
    fn batch(count: usize, start: SystemTime) -> Vec<SpanData> {
        let kept = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
        let tracer = provider.tracer("test");
        for number in 0..count {
            let builder = tracer.span_builder(format!("span {number}")).with_start_time(start);
            let mut span = builder.start(&tracer);
            span.set_attribute(opentelemetry::KeyValue::new("text", "x".repeat(1024)));
            span.end();
        }
        kept.get_finished_spans().unwrap()
    }

    fn writer(data: &Path, max_mb: u32, days: u32) -> SpanWriter {
        let options = FileOptions { data: data.to_owned(), listeners: data.join("run"), max_mb, days };
        SpanWriter::new(options, Value::Null, Box::new(ToOwned::to_owned))
    }

    #[test]
    fn the_file_is_bounded_and_its_owner_s_and_the_oldest_go_first() {
        let data = tempfile::tempdir().unwrap();
        let mut writer = writer(data.path(), 1, 30);
        let now = SystemTime::now();
        for age in (0..20).rev() {
            let spans = batch(256, now - Duration::from_secs(age * 60));
            assert!(writer.write(spans).is_ok());
        }
        let file = SpanFile::open(data.path()).unwrap();
        let kept = file.last(100_000, &SpanFilter::default()).unwrap();
        assert!((300..1500).contains(&kept.len()), "{}", kept.len());
        let (newest, oldest) = (kept.last().unwrap().1.start_time, kept[0].1.start_time);
        let minutes = (newest - oldest) / 60_000_000_000;
        assert!(minutes < 6, "{minutes}");
        use std::os::unix::fs::MetadataExt as _;
        for name in [FILE.to_owned(), format!("{FILE}-wal")] {
            let file = std::fs::metadata(data.path().join(&name)).unwrap();
            assert_eq!(file.mode() & 0o777, 0o600, "{name}");
            assert!(file.size() < 6 * 1024 * 1024, "{name}: {}", file.size());
        }
    }

    #[test]
    fn old_spans_go_in_small_steps() {
        let data = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_secs(3 * 24 * 3600);
        let mut many = writer(data.path(), 200, 30);
        for _ in 0..4 {
            assert!(many.write(batch(256, old)).is_ok());
        }
        let mut strict = writer(data.path(), 200, 2);
        let left =
            |data: &Path| SpanFile::open(data).unwrap().last(9999, &SpanFilter::default()).unwrap().len();
        assert!(strict.write(batch(1, SystemTime::now())).is_ok());
        assert_eq!(left(data.path()), 4 * 256 + 1 - STEP);
        assert!(strict.write(batch(1, SystemTime::now())).is_ok());
        assert_eq!(left(data.path()), 2, "all that are too old are gone");
    }
}
