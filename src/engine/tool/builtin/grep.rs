//! Searches the lines of files, in the order of their paths, and reports them with their numbers.
//!
//! The search stops at a maximum number of matches, skips binary files and those that may hold secrets, and stops within a
//! file on cancel. Called by the search tools.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use tokio_util::sync::CancellationToken;

use super::files::not_found;
use super::output::{amount, counted_lines};
use super::place::ToolPath;
use super::walk::walker;
use super::work::interrupted_error;
use crate::stdx::paths::display_relative;
use crate::stdx::secret_files::may_hold_secrets;
use crate::tool::ToolError;

/// The number of matching lines at which the search stops.
const MAX_MATCHES: usize = 500;

/// How the report begins if nothing was found, and its remark at the limit.
const NONE: &str = "no matches ";
const STOPPED: &str = "\n[stopped at ";

/// The maximum number of characters to show of one line.
const MAX_LINE: usize = 300;

/// The maximum bytes held of one line; files with longer lines are counted as unreadable.
const MAX_LINE_HELD: usize = 16 * 1024 * 1024;

/// Says to people how many lines a report has, as `one` or `many` of something.
pub fn outcome(text: &str, (one, many): (&str, &str)) -> String {
    if text.starts_with(NONE) {
        amount(0, one, many)
    } else if text.contains(STOPPED) {
        format!("{MAX_MATCHES}+ {many}")
    } else {
        amount(counted_lines(text), one, many)
    }
}

/// Searches the files for which `pick`, given the path below `root`, returns what to look for.
pub fn search<'a>(
    place: &ToolPath,
    root: &Path,
    pick: &dyn Fn(&Path) -> Option<&'a RegexMatcher>,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    if !root.exists() {
        return Err(not_found(root, &place.display(root)));
    }
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_HELD))
        .build();
    let (mut lines, mut unreadable, mut skipped) = (Vec::new(), 0_usize, 0_usize);
    for entry in walker(place, root).build() {
        let Ok(entry) = entry else {
            unreadable += 1;
            continue;
        };
        let path = entry.path();
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let within = name_within(root, path);
        let Some(matcher) = pick(within).filter(|_| is_file) else { continue };
        // If the name of the search's root already indicates secrets, the user was asked.
        let is_secret_root = may_hold_secrets(&display_relative(&place.workspace, root));
        let is_secret = may_hold_secrets(&within.to_string_lossy())
            || (!is_secret_root && may_hold_secrets(&display_relative(&place.workspace, path)));
        if path != root && is_secret {
            skipped += 1;
            continue;
        }
        let mut sink = Matches { shown: place.display(path), lines: &mut lines };
        let reader = place.open(path).map(|file| CancellableFile { file, cancel });
        let searched = reader.and_then(|reader| searcher.search_reader(matcher, reader, &mut sink));
        if cancel.is_cancelled() {
            return Err(interrupted_error());
        }
        unreadable += usize::from(searched.is_err());
        if lines.len() >= MAX_MATCHES {
            lines.push(format!("[stopped at {MAX_MATCHES} matches; narrow the pattern, path or glob]"));
            break;
        }
    }
    Ok(report(lines, unreadable, skipped))
}

fn report(mut lines: Vec<String>, unreadable: usize, skipped: usize) -> String {
    if lines.is_empty() {
        lines.push(format!("{NONE}(files hidden by .gitignore are not searched)"));
    }
    if skipped > 0 {
        lines.push(format!(
            "[{skipped} files that may hold secrets were not searched; read_file asks for them]"
        ));
    }
    if unreadable > 0 {
        lines.push(format!("[{unreadable} entries could not be read]"));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Returns the path to match a glob against: the path below `root`, or the file name if `root` is the file.
fn name_within<'a>(root: &Path, path: &'a Path) -> &'a Path {
    match path.strip_prefix(root) {
        Ok(inner) if !inner.as_os_str().is_empty() => inner,
        Ok(_) | Err(_) => path.file_name().map_or(path, Path::new),
    }
}

/// A file whose reads fail once the call is cancelled.
struct CancellableFile<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for CancellableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// Collects the matching lines of one file.
struct Matches<'a> {
    shown: String,
    lines: &'a mut Vec<String>,
}

impl Sink for Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let text = String::from_utf8_lossy(found.bytes());
        let text = text.trim_end();
        let mut shown: String = text.chars().take(MAX_LINE).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        let number = found.line_number().unwrap_or_default();
        self.lines.push(format!("{}:{number}: {shown}", self.shown));
        Ok(self.lines.len() < MAX_MATCHES)
    }
}
