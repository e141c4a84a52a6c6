//! The one subscriber: the program's spans, and with `--debug` or `--debug-file` its log in a file.
//!
//! Log lines hold no prompt, reply, argument or key: they name operations, ids, times and errors. What still looks like a
//! key is masked. The file is turned over at a size; one older file stays beside it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use super::error::{CliError, Result};
use crate::config::default_data_dir;
use crate::stdx::fs::{create_private_dir, open_private};
use crate::stdx::secrecy::mask;
use crate::telemetry::{CRATES, Telemetry};

/// The size in bytes at which the file is turned over.
const MOST: u64 = 8 * 1024 * 1024;

/// Makes spans from now on, and logs if a file or a filter is given. The file is created for its owner only.
pub(super) fn subscribe(
    telemetry: &Telemetry,
    (filter, file): (Option<&str>, Option<&Path>),
    env: &BTreeMap<String, String>,
) -> Result<()> {
    let wants_log = filter.is_some() || file.is_some();
    let log = wants_log.then(|| log(filter.unwrap_or("co=debug"), file, env)).transpose()?;
    // This fails only if a subscriber is set already, by a program that uses this crate.
    let _ = tracing_subscriber::registry().with(log).with(telemetry.layer(env)).try_init();
    Ok(())
}

fn log<S>(
    filter: &str,
    file: Option<&Path>,
    env: &BTreeMap<String, String>,
) -> Result<impl tracing_subscriber::Layer<S> + use<S>>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let wrong = |flag: String, why: String| CliError::usage(format!("{flag}: {why}"));
    // A level alone is that of this program: what libraries log may hold whole messages.
    let own = filter.parse::<tracing::Level>().map(|level| format!("co={level}"));
    let known = EnvFilter::try_new(of_all_crates(own.as_deref().unwrap_or(filter))).map_err(|error| {
        wrong(format!("--debug={filter}"), error.to_string())
            .hint("a level, or levels of modules: `--debug=info`, `--debug=co::store=trace,co=info`")
    })?;
    let path = file.map_or_else(|| default_log(env), |file| Some(file.to_owned()));
    let path = path.ok_or_else(|| wrong("--debug".to_owned(), "there is no home folder".to_owned()))?;
    let writer = RotatingFile::open(&path)
        .map_err(|error| wrong(format!("--debug-file {}", path.display()), error.to_string()))?;
    Ok(tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(Mutex::new(writer))
        .with_filter(known))
}

/// Adds to each directive for a module `co::x` those for `x` in every crate of this program, so that a filter need not say
/// which crate a module is in. A directive for `co` matches them all by its prefix.
fn of_all_crates(filter: &str) -> String {
    let modules: Vec<&str> =
        filter.split(',').filter_map(|directive| directive.trim().strip_prefix("co::")).collect();
    let added = CRATES.iter().flat_map(|name| modules.iter().map(move |module| format!(",{name}::{module}")));
    std::iter::once(filter.to_owned()).chain(added).collect()
}

/// The file of `--debug` without `--debug-file`.
pub(super) fn default_log(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = env.get("CO_DATA_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    Some(named.or_else(|| default_data_dir(env))?.join("debug.log"))
}

/// A file that begins anew at a size; what it held stays in `NAME.1`.
struct RotatingFile {
    path: PathBuf,
    file: File,
    size: u64,
}

impl RotatingFile {
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) =
            path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        {
            create_private_dir(folder)?;
        }
        drop(open_private(path)?);
        let file = OpenOptions::new().append(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size })
    }

    fn turn_over(&mut self) -> io::Result<()> {
        let mut older = self.path.clone().into_os_string();
        older.push(".1");
        fs::rename(&self.path, PathBuf::from(older))?;
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

impl Write for RotatingFile {
    /// Writes one line, masked.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // A file that is no regular one, such as a pipe, has no size.
        if self.size >= MOST {
            self.turn_over()?;
        }
        let text = String::from_utf8_lossy(line);
        let text = mask(&text);
        self.file.write_all(text.as_bytes())?;
        self.size += text.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_masked_and_turned_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("co.log");
        let mut log = RotatingFile::open(&path).unwrap();
        let key = format!("sk-{}", "a1".repeat(16));
        log.write_all(format!("a request with {key} failed\n").as_bytes()).unwrap();
        log.size = MOST;
        log.write_all(b"after it\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after it\n");
        let older = fs::read_to_string(folder.path().join("new").join("co.log.1")).unwrap();
        assert_eq!(older, "a request with [masked] failed\n");
        assert_eq!(RotatingFile::open(&path).unwrap().size, 9, "it goes on where it ended");
    }
}
