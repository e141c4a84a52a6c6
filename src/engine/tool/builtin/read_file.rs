//! `read_file`: returns numbered lines of one file, within the limit for one call; or an image.
//!
//! It holds a file in memory only if it is small enough to be changed, never outputs other binary data, and opens nothing
//! that could block it. After reading a file the model may change it: the result has the version.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::files::{MAX_CHANGED, check_regular, not_found, resource, unreadable, version};
use super::git::Git;
use super::output::{amount, counted_lines, untrusted_output};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{interrupted_error, read_plan};
use crate::message::{ReturnPart, Source};
use crate::stdx::fs::Fingerprinter;
use crate::tool::{CallPlan, Category, Resource, SeenVersions, ToolError, ToolOutput, Version};

mod kind;
mod lines;
mod notebook;
mod pdf;
mod whole;

use lines::{LineRange, Lines};
use pdf::{PdfReader, PdfText};
use whole::{FileContent, IMAGE, NO_TEXT, not_shown, number_lines};

/// The number of lines to read if the model gives none.
const DEFAULT_LINES: u64 = 2000;

/// Larger files, in bytes, are read only as far as requested: their version and length in lines stay unknown.
const MAX_WHOLE: u64 = 64 * 1024 * 1024;

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
    fn line_range(&self, room: usize) -> LineRange {
        let first = self.offset.unwrap_or(1);
        LineRange { first, last: first.saturating_add(self.limit.unwrap_or(DEFAULT_LINES) - 1), room }
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
pub struct ReadFile {
    pdf: PdfReader,
}

impl ReadFile {
    /// Creates the tool; documents are read by programs of the same sandbox and `PATH` as git.
    pub fn new(git: &Git) -> Self {
        let path = git.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        Self { pdf: PdfReader { sandbox: Arc::clone(&git.sandbox), path: path.unwrap_or_default() } }
    }

    /// Returns lines of the text of a PDF document.
    async fn pdf(
        &self,
        mut file: File,
        (shown, bytes): (&str, u64),
        wanted: LineRange,
        cx: &RunContext,
    ) -> Result<String, ToolError> {
        let what = not_shown(shown, kind::PDF, bytes);
        file.rewind().map_err(|error| unreadable(shown, &error))?;
        Ok(match self.pdf.read(file, shown, cx).await? {
            PdfText::NotInstalled => {
                format!(
                    "{what}: that needs pdftotext, which is not installed (package poppler-utils or poppler)"
                )
            }
            PdfText::Pages { text, .. } if text.is_empty() => {
                format!("{what}: there is no text in it, only pictures of pages")
            }
            PdfText::Pages { text, is_whole } => {
                let lines = number_lines(text.as_bytes(), shown, wanted)?;
                let rest =
                    if is_whole { "" } else { "[the text goes on; it is too long to be read whole]\n" };
                format!("{lines}{rest}[the text of a PDF document; its layout is approximate]\n")
            }
        })
    }
}

impl TypedTool for ReadFile {
    const NAME: &'static str = "read_file";
    const ABOUT: &'static str = "Reads a file and returns its lines with their numbers; of a notebook the \
         cells, of a PDF the text, of an image the image. Long files are read in parts with offset and limit. \
         Read a file before you change it.";
    const CATEGORY: Category = Category::Files;

    type Args = ReadFileArgs;

    fn plan(&self, args: ReadFileArgs, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let path = place.readable(&args.path)?;
        Ok(read_plan(place, args.summary(&place.display(&path)), path))
    }

    async fn run(&self, args: ReadFileArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let wanted = args.line_range(cx.output_limit);
        let found = cx.clone().read(move |cx| {
            let path = cx.place.readable(&args.path)?;
            find(&cx.place, &path, wanted, &cx.cancel)
        });
        let FoundFile { file, shown, bytes, content, seen } = found.await?;
        let source = Source::File { path: shown.clone() };
        let content = match content {
            FileContent::Parts(parts) => parts,
            FileContent::Pdf => {
                let text = self.pdf(file, (&shown, bytes), wanted, &cx).await?;
                vec![ReturnPart::Text { text }]
            }
        };
        Ok(ToolOutput { content, seen, ..untrusted_output(String::new(), source) })
    }

    fn outcome(text: &str) -> String {
        // The lines of a text have their numbers before them, and a tab.
        let report = (!text.contains(['\n', '\t'])).then_some(text);
        match report.and_then(|report| report.rsplit_once(IMAGE)) {
            Some((_, size)) => format!("image {}", size.split(',').next().unwrap_or_default()),
            None if report.is_some_and(|report| report.contains(NO_TEXT)) => "no text".to_owned(),
            None => amount(counted_lines(text), "line", "lines"),
        }
    }
}

/// A file that was found.
struct FoundFile {
    file: File,
    shown: String,
    bytes: u64,
    content: FileContent,
    /// Its version, if all of it was read.
    seen: Vec<(Resource, Version)>,
}

fn find(
    place: &ToolPath,
    path: &Path,
    wanted: LineRange,
    cancel: &CancellationToken,
) -> Result<FoundFile, ToolError> {
    let shown = place.display(path);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => not_found(path, &shown),
        _ => unreadable(&shown, &error),
    };
    let mut file = place.open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    check_regular(&metadata, &shown)?;
    let bytes = metadata.len();
    let mut all = Vec::new();
    if bytes <= MAX_CHANGED {
        (&mut file).take(MAX_CHANGED + 1).read_to_end(&mut all).map_err(failed)?;
    }
    // A file that grew or reports no length is read like a large one.
    let (content, version) = if bytes <= MAX_CHANGED && all.len() as u64 <= MAX_CHANGED {
        (whole::read(&all, &shown, wanted)?, Some(version(&all)))
    } else {
        file.rewind().map_err(failed)?;
        let extent = if bytes <= MAX_WHOLE { Extent::Whole } else { Extent::AsAsked };
        let scanned = scan(&mut file, wanted, extent, cancel).map_err(failed)?;
        scanned.ok_or_else(interrupted_error)?.content(&shown, bytes, extent)?
    };
    let seen = version.into_iter().map(|version| (resource(path), version)).collect();
    Ok(FoundFile { file, shown, bytes, content, seen })
}

/// How far a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// To its end, for its version and its number of lines.
    Whole,
    /// Only as far as the lines that are shown.
    AsAsked,
}

struct FileScan {
    /// The kind of data if it is not text.
    binary: Option<&'static str>,
    lines: Lines,
    /// The version of the bytes that were read.
    version: Version,
}

impl FileScan {
    /// Returns what is shown of it, and its version if it was read to its end.
    fn content(
        self,
        shown: &str,
        bytes: u64,
        extent: Extent,
    ) -> Result<(FileContent, Option<Version>), ToolError> {
        let is_whole = extent == Extent::Whole;
        let content = match self.binary {
            Some(kind::PDF) if is_whole => FileContent::Pdf,
            Some(kind) => FileContent::text(not_shown(shown, kind, bytes)),
            None => FileContent::text(self.lines.finished_text(shown, is_whole)?),
        };
        Ok((content, is_whole.then_some(self.version)))
    }
}

/// Reads chunk by chunk; `None` if it was cancelled.
fn scan(
    file: &mut File,
    wanted: LineRange,
    extent: Extent,
    cancel: &CancellationToken,
) -> io::Result<Option<FileScan>> {
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
    Ok(Some(FileScan { binary, lines, version: Version(version.finish()) }))
}
