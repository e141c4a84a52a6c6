//! `read_file`: returns numbered lines of one file, within the limit for one call.
//!
//! It never holds more than one chunk and the result in memory, never outputs binary data, and opens nothing
//! that could block it. After reading a file the model may change it: the result has the version.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::files::{check_regular, not_found, resource, unreadable};
use super::output::{amount, counted_lines, untrusted};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{interrupted, misuse, read_plan};
use crate::message::{ReturnStatus, Source};
use crate::stdx::fs::Fingerprinter;
use crate::tool::{CallPlan, Category, Seen, ToolError, ToolOutput, Version};

mod kind;

mod lines;

use lines::{Lines, Wanted};

/// The number of lines to read if the model gives none.
const DEFAULT_LINES: u64 = 2000;

/// Larger files, in bytes, are read only as far as requested: their version and length in lines stay unknown.
const MAX_WHOLE: u64 = 64 * 1024 * 1024;

/// Part of the report on a file that is not shown.
const NO_TEXT: &str = " is not text: ";

/// Maximum bytes per read.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFileArgs {
    /// Path of the file, relative to the workspace.
    path: String,
    /// First line to read, from 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// Number of lines to read; 2000 when absent.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

impl ReadFileArgs {
    fn wanted(&self, room: usize) -> Wanted {
        let first = self.offset.unwrap_or(1);
        Wanted { first, last: first.saturating_add(self.limit.unwrap_or(DEFAULT_LINES) - 1), room }
    }

    fn summary(&self, shown: &str) -> String {
        match (self.offset, self.limit) {
            (None, None) => format!("read {shown}"),
            (Some(first), None) => format!("read {shown} from line {first}"),
            (first, Some(count)) => {
                let first = first.unwrap_or(1);
                format!("read {shown}, lines {first}-{}", first.saturating_add(count - 1))
            }
        }
    }
}

/// Reads one file of the workspace, or a spilled output.
pub struct ReadFile;

impl TypedTool for ReadFile {
    const NAME: &'static str = "read_file";
    const CATEGORY: Category = Category::Files;

    type Args = ReadFileArgs;

    fn description(&self) -> String {
        "Reads a text file and returns its lines with their numbers. Long files are read in parts with offset and \
         limit. Read a file before you change it."
            .to_owned()
    }

    fn plan(&self, args: ReadFileArgs, place: &ToolPath, _: &Seen) -> Result<CallPlan, ToolError> {
        let path = place.readable(&args.path)?;
        Ok(read_plan(place, args.summary(&place.shown(&path)), path))
    }

    async fn run(&self, args: ReadFileArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.read(move |cx| {
            let path = cx.place.readable(&args.path)?;
            read(&cx.place, &path, args.wanted(cx.output_limit), &cx.cancel)
        })
        .await
    }

    fn outcome(status: ReturnStatus, text: &str) -> String {
        if status != ReturnStatus::Ok {
            return String::new();
        }
        if text.contains(NO_TEXT) && !text.contains('\n') {
            "no text".to_owned()
        } else {
            amount(counted_lines(text), "line", "lines")
        }
    }
}

fn read(
    place: &ToolPath,
    path: &Path,
    wanted: Wanted,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let shown = &place.shown(path);
    let file = match place.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(not_found(path, shown)),
        Err(error) => return Err(unreadable(shown, &error)),
    };
    let metadata = file.metadata().map_err(|error| unreadable(shown, &error))?;
    check_regular(&metadata, shown)?;
    let extent = if metadata.len() <= MAX_WHOLE { Extent::Whole } else { Extent::AsAsked };
    let scanned = scan(file, wanted, extent, cancel).map_err(|error| unreadable(shown, &error))?;
    let Some(Scanned { binary, mut lines, version }) = scanned else { return Err(interrupted()) };
    let length = lines.finish();
    let text = match (binary, extent) {
        (Some(kind), _) => {
            format!("{shown}{NO_TEXT}{kind}, {} bytes; its content is not shown", metadata.len())
        }
        (None, Extent::Whole) if wanted.first > length.max(1) => {
            let first = wanted.first;
            return Err(misuse(format!("{shown} has {length} lines; offset {first} is past its end")));
        }
        (None, Extent::Whole) => lines.text(Some(length)),
        (None, Extent::AsAsked) => lines.text(None),
    };
    let output = untrusted(text, Source::File { path: shown.to_owned() });
    Ok(match extent {
        Extent::Whole => output.seeing(resource(path), version),
        Extent::AsAsked => output,
    })
}

/// How far a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// To its end, for its version and its number of lines.
    Whole,
    /// Only as far as the lines that are shown.
    AsAsked,
}

struct Scanned {
    /// The kind of data if it is not text.
    binary: Option<&'static str>,
    lines: Lines,
    /// The version of the bytes that were read.
    version: Version,
}

/// Reads chunk by chunk; `None` if it was cancelled.
fn scan(
    mut file: File,
    wanted: Wanted,
    extent: Extent,
    cancel: &CancellationToken,
) -> io::Result<Option<Scanned>> {
    let mut lines = Lines::new(wanted);
    let mut version = Fingerprinter::default();
    let mut binary = None;
    let mut chunk = vec![0; CHUNK];
    let mut is_start = true;
    while extent == Extent::Whole || !(lines.is_done() || binary.is_some()) {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let count = file.read(&mut chunk)?;
        let bytes = &chunk[..count];
        if count == 0 {
            break;
        }
        if std::mem::take(&mut is_start) {
            binary = kind::binary(bytes);
        }
        version.update(bytes);
        if binary.is_none() {
            lines.feed(bytes);
        }
    }
    Ok(Some(Scanned { binary, lines, version: Version(version.finish()) }))
}
