//! `search_text`: finds lines that match a regular expression, in path order, with their numbers.
//!
//! The search stops at a maximum number of matches, skips binary files, and stops within a file on cancel.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::files::not_found;
use super::output::{amount, counted_lines};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::walk::{glob, walker};
use super::work::{interrupted, misuse, read_plan};
use crate::message::ReturnStatus;
use crate::stdx::paths::display_relative;
use crate::stdx::secret_files::may_hold_secrets;
use crate::stdx::text::one_line_summary;
use crate::tool::{CallPlan, Category, Seen, ToolError, ToolOutput};

/// The maximum length of a pattern, in bytes: preparing a longer one takes longer than searching with it.
const MAX_PATTERN: usize = 4 * 1024;

/// The number of matching lines at which the search stops.
const MAX_MATCHES: usize = 500;

/// How the report begins if nothing was found, and its remark at the limit.
const NONE: &str = "no matches ";
const STOPPED: &str = "\n[stopped at ";

/// The maximum number of characters to show of one line.
const MAX_LINE: usize = 300;

/// The maximum bytes held of one line; files with longer lines are counted as unreadable.
const MAX_LINE_HELD: usize = 16 * 1024 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchTextArgs {
    /// Regular expression in Rust's syntax, met within one line.
    pattern: String,
    /// File or folder to search, relative to the workspace; the whole workspace when absent.
    path: Option<String>,
    /// Glob that file paths must meet, such as `*.rs`.
    glob: Option<String>,
    /// Whether letter case counts; smart means: only if the pattern holds a capital. Default: sensitive.
    case: Option<Case>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

impl SearchTextArgs {
    fn check(&self) -> Result<(), ToolError> {
        if self.pattern.len() > MAX_PATTERN {
            return Err(misuse(format!(
                "the pattern has more than {MAX_PATTERN} bytes; search for a part of it"
            )));
        }
        self.matcher().map(drop)
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        builder.line_terminator(Some(b'\n'));
        match self.case.unwrap_or_default() {
            Case::Sensitive => {}
            Case::Insensitive => {
                builder.case_insensitive(true);
            }
            Case::Smart => {
                builder.case_smart(true);
            }
        }
        builder.build(&self.pattern).map_err(|error| {
            misuse(format!(
                "the pattern is not a valid regular expression; a literal ( [ . * needs a \\ before it: {error}"
            ))
        })
    }
}

/// Searches the text of the workspace.
pub struct SearchText;

impl TypedTool for SearchText {
    const NAME: &'static str = "search_text";
    const CATEGORY: Category = Category::Search;

    type Args = SearchTextArgs;

    fn description(&self) -> String {
        "Searches file contents by a regular expression and returns `path:line: text` for each matching line. Files \
         hidden by .gitignore and binary files are not searched."
            .to_owned()
    }

    fn plan(&self, args: SearchTextArgs, place: &ToolPath, _: &Seen) -> Result<CallPlan, ToolError> {
        args.check()?;
        args.glob.as_deref().map(glob).transpose()?;
        let path = place.readable_or_all(args.path.as_deref())?;
        let pattern = one_line_summary(&args.pattern, 60);
        let summary = format!("search for {pattern} in {}", place.shown(&path));
        Ok(read_plan(place, summary, path))
    }

    async fn run(&self, args: SearchTextArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.read(move |cx| {
            let root = cx.place.readable_or_all(args.path.as_deref())?;
            Ok(cx.output_from(&root, search(&cx.place, &root, &args, &cx.cancel)?))
        })
        .await
    }

    fn outcome(status: ReturnStatus, text: &str) -> String {
        if status != ReturnStatus::Ok {
            return String::new();
        }
        if text.starts_with(NONE) {
            amount(0, "match", "matches")
        } else if text.contains(STOPPED) {
            format!("{MAX_MATCHES}+ matches")
        } else {
            amount(counted_lines(text), "match", "matches")
        }
    }
}

fn search(
    place: &ToolPath,
    root: &Path,
    args: &SearchTextArgs,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    if !root.exists() {
        return Err(not_found(root, &place.shown(root)));
    }
    let matcher = args.matcher()?;
    let filter = args.glob.as_deref().map(glob).transpose()?;
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
        if !is_file || filter.as_ref().is_some_and(|filter| !filter.is_match(within)) {
            continue;
        }
        // If the name of the search's root already indicates secrets, the user was asked.
        let told = may_hold_secrets(&display_relative(&place.workspace, root));
        let is_secret = may_hold_secrets(&within.to_string_lossy())
            || (!told && may_hold_secrets(&display_relative(&place.workspace, path)));
        if path != root && is_secret {
            skipped += 1;
            continue;
        }
        let mut sink = Matches { shown: place.shown(path), lines: &mut lines };
        let reader = place.open(path).map(|file| Watched { file, cancel });
        let searched = reader.and_then(|reader| searcher.search_reader(&matcher, reader, &mut sink));
        if cancel.is_cancelled() {
            return Err(interrupted());
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
struct Watched<'a> {
    file: File,
    cancel: &'a CancellationToken,
}

impl Read for Watched<'_> {
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
