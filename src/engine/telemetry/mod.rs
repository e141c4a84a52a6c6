//! Spans: what turns did, how long it took and what it used.
//!
//! Spans of `tracing` become spans of OpenTelemetry by the GenAI conventions; a thread writes them in batches to a SQLite
//! file of their own, and a second one sends them to an OTLP collector, if one is set. Nothing ever waits for either: what
//! cannot be written is lost and reported once. Any layer above makes spans with `spans`; the command line reads the file
//! with `reader`.

pub mod collect;
pub mod content;
pub mod file;
pub mod otlp;
pub mod reader;
pub mod row;
mod sink;
pub mod spans;
pub mod stats;

pub use self::collect::{CRATES, Telemetry, TelemetryOptions};
pub use self::reader::{SpanFile, SpanFilter, SpanKindFilter};
pub use self::row::SpanRow;
