//! `--debug-file`: what the program logs, appended to a file. Without it log calls and spans go nowhere and cost nothing.
//!
//! Log lines hold no prompt, reply, argument or key: they name operations, ids, times and errors.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use super::error::{CliError, Kind, Result};
use crate::stdx::fs::open_private;

/// Logs to this file from now on, created for its owner only. Spans are logged as they close, with their times.
pub(super) fn log_to(path: &Path) -> Result<()> {
    let file = open(path).map_err(|error| {
        CliError::message(Kind::Usage, format!("--debug-file {}: {error}", path.display()))
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(Mutex::new(file))
        .with_filter(Targets::new().with_target("co", LevelFilter::DEBUG));
    // This fails only if a subscriber is set already, by a program that uses this crate.
    let _ = tracing_subscriber::registry().with(lines).try_init();
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    drop(open_private(path)?);
    OpenOptions::new().append(true).open(path)
}
