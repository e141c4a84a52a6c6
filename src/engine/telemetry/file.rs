//! The SQLite file of spans: batches in, oldest spans out.
//!
//! Several processes write to it. It is bounded in size and age; deleting goes in small steps, one with each batch, so that no
//! process ever stops for it. Called by the thread of `collect`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use opentelemetry_sdk::trace::SpanData;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use serde_json::Value;

use super::row::SpanRow;
use super::sink::{Loss, Sink};
use crate::store::sidecar::{FileError, Statements as _, open_sidecar, used_bytes};
use crate::store::{file_id, times_of_use, wake_others};

/// The name of the file in the data folder.
pub const FILE: &str = "telemetry.db";

/// Spans after which some old ones are deleted.
const EVERY: i64 = 64;

/// The size in bytes beyond which the write-ahead log is written back: a process that opens the file reads all of it.
const LOG: u64 = 256 * 1024;

/// The version of the table.
pub(super) const VERSION: i64 = 1;

/// How long a batch waits for other processes; less than the end of a process waits for it.
const BUSY: Duration = Duration::from_millis(400);

/// Spans deleted at a time: more than can be added meanwhile.
const STEP: i64 = 512;

/// Spans deleted between two looks at the size: some are a hundred kilobytes long.
const FEW: i64 = 16;

/// Pages given back to the file system with one batch.
const FREED: usize = 256;

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
    /// Device and number of the open file: a file that was deleted takes no further span.
    file: Option<(u64, u64)>,
}

impl SpanWriter {
    pub fn new(options: FileOptions, resource: Value, text: Box<dyn Fn(&str) -> String + Send>) -> Self {
        Self { options, resource, text, connection: None, file: None }
    }

    fn open(&mut self) -> Result<&mut Connection, FileError> {
        let path = self.options.data.join(FILE);
        if self.file != file_id(&path) {
            self.connection = None;
        }
        match &mut self.connection {
            Some(connection) => Ok(connection),
            none => {
                let connection = open(&self.options.data)?;
                self.file = file_id(&path);
                Ok(none.insert(connection))
            }
        }
    }

    fn insert(&mut self, batch: &[SpanData]) -> Result<(), FileError> {
        let rows: Vec<SpanRow> =
            batch.iter().map(|span| SpanRow::of(span, &self.resource, &self.text)).collect();
        let options = self.options.clone();
        let connection = self.open()?;
        let step = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        {
            let mut insert = step.prepare_cached(
                "INSERT OR REPLACE INTO spans (id, trace_id, parent_id, name, kind, start_time, end_time, duration_ms,
                     status_code, status_description, attributes, events, resource)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?;
            for row in rows {
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
        let (last, count) = (step.last_insert_rowid(), i64::try_from(batch.len()).unwrap_or(i64::MAX));
        let before = last.saturating_sub(count);
        if before / EVERY != last / EVERY {
            prune(&step, &options, before)?;
        }
        step.commit()?;
        Ok(())
    }
}

impl Sink for SpanWriter {
    fn maintain(&mut self) {
        // The first batch reports the fault.
        let data = self.options.data.clone();
        if let Ok(connection) = self.open() {
            let _ = write_back(connection, &data);
        }
    }

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

/// Opens the file to write; creates it for its owner only.
fn open(data: &Path) -> Result<Connection, FileError> {
    let connection = open_sidecar(&data.join(FILE), VERSION, include_str!("schema.sql"), BUSY)?;
    // A short log is kept: writing it back would wait for the disk at the end of each process.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 262144;")?;
    Ok(connection)
}

/// Writes a long log back. It waits for the disk, which the end of a process must not.
fn write_back(connection: &Connection, data: &Path) -> Result<(), FileError> {
    let log = std::fs::metadata(data.join(format!("{FILE}-wal"))).map_or(0, |log| log.len());
    if log > LOG {
        connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    }
    Ok(())
}

/// Deletes some of the spans that are too old or too many; of those up to this number only.
fn prune(connection: &Connection, options: &FileOptions, upto: i64) -> Result<(), FileError> {
    let now = Timestamp::now();
    let days = SignedDuration::from_hours(24 * i64::from(options.days));
    let oldest = now.checked_sub(days).unwrap_or(Timestamp::MIN);
    let times = times_of_use(now, oldest).map(|time| i64::try_from(time.as_nanosecond()).unwrap_or(i64::MIN));
    let any = "SELECT EXISTS (SELECT 1 FROM spans WHERE start_time >= ?1 AND start_time < ?2)";
    let is_in_use: bool = connection.one(any, times, |row| row.get(0))?;
    let oldest = if is_in_use { times[0] } else { i64::MIN };
    let delete = "DELETE FROM spans WHERE rowid IN
        (SELECT rowid FROM spans WHERE start_time < ?1 AND rowid <= ?2 ORDER BY start_time LIMIT ?3)";
    let mut delete = connection.prepare_cached(delete)?;
    let mut deleted = delete.execute(params![oldest, upto, STEP])?;
    for _ in 0..STEP / FEW {
        if used_bytes(connection)? <= u64::from(options.max_mb) << 20 {
            break;
        }
        deleted += delete.execute(params![i64::MAX, upto, FEW])?;
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
            writer.maintain();
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
    fn a_span_never_ends_before_it_began() {
        let data = tempfile::tempdir().unwrap();
        let start = SystemTime::now() + Duration::from_secs(3_600);
        assert!(writer(data.path(), 200, 30).write(batch(1, start)).is_ok());
        let (_, span) =
            SpanFile::open(data.path()).unwrap().last(1, &SpanFilter::default()).unwrap().remove(0);
        assert_eq!((span.end_time, span.duration_ms), (span.start_time, 0.0));
    }

    #[test]
    fn many_spans_are_read_from_their_end_and_deleted_in_small_steps() {
        let data = tempfile::tempdir().unwrap();
        let mut full = writer(data.path(), 200, 30);
        assert!(full.write(batch(1, SystemTime::now())).is_ok());
        let many = "INSERT INTO spans (id, trace_id, name, start_time)
            SELECT printf('%016x', value), printf('%032x', value / 10), 'x', value FROM numbers";
        let numbers = "WITH RECURSIVE numbers (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers LIMIT 200000)";
        full.open().unwrap().execute_batch(&format!("{numbers} {many}")).unwrap();
        let file = SpanFile::open(data.path()).unwrap();
        assert_eq!(file.last(20, &SpanFilter::default()).unwrap().len(), 20);
        let latest = file.latest_traces(3).unwrap();
        assert_eq!(latest[0], format!("{:032x}", 20_000));
        assert_eq!(file.trace(&latest[1], 100).unwrap().len(), 10);
        let count = |file: &SpanFile| -> i64 {
            file.connection.query_row("SELECT count(*) FROM spans", [], |row| row.get(0)).unwrap()
        };
        let before = count(&file);
        let mut small = writer(data.path(), 1, 30);
        assert!(small.write(batch(64, SystemTime::now())).is_ok());
        assert_eq!(count(&file), before + 64 - STEP);
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
        assert!(strict.write(batch(64, SystemTime::now())).is_ok());
        assert_eq!(left(data.path()), 4 * 256 + 64, "the clock may have leapt ahead of all that is kept");
        // Something of the day before yesterday says that it has not.
        assert!(strict.write(batch(1, SystemTime::now() - Duration::from_secs(36 * 3600))).is_ok());
        assert!(strict.write(batch(64, SystemTime::now())).is_ok());
        assert_eq!(left(data.path()), 4 * 256 + 2 * 64 + 1 - 512);
        assert!(strict.write(batch(64, SystemTime::now())).is_ok());
        assert_eq!(left(data.path()), 3 * 64 + 1, "all that are too old are gone");
        // A file that was deleted is begun anew.
        std::fs::remove_file(data.path().join(FILE)).unwrap();
        assert!(strict.write(batch(3, SystemTime::now())).is_ok());
        assert_eq!(left(data.path()), 3);
    }
}
