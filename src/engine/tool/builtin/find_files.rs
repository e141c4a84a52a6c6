//! `find_files`: finds files whose path matches a glob, in path order.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::files::not_found;
use super::output::{amount, counted_lines};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::walk::{checked_glob, glob, walker};
use super::work::{interrupted_error, look_plan};
use crate::tool::{CallPlan, Category, SeenVersions, ToolError, ToolOutput};

/// The maximum number of files to list; further ones are only counted.
const MAX_FILES: usize = 1000;

/// How the report begins if nothing was found, and its remark if not all were listed.
const NONE: &str = "no files match ";
const FIRST: &str = "\n[the first ";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindFilesArgs {
    /// Glob such as `*.rs`, `src/**/*.ts` or `**/{a,b}.md`. Without `/` it is met by file names at any depth.
    pattern: String,
    /// Folder to look in, relative to the workspace; the whole workspace when absent.
    path: Option<String>,
}

/// Finds files of the workspace by name.
pub struct FindFiles;

impl TypedTool for FindFiles {
    const NAME: &'static str = "find_files";
    const ABOUT: &'static str =
        "Finds files by a glob pattern and returns their paths. Files hidden by .gitignore are not found.";
    const CATEGORY: Category = Category::Search;

    type Args = FindFilesArgs;

    fn plan(&self, args: FindFilesArgs, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        checked_glob(&args.pattern)?;
        let path = place.readable_or_all(args.path.as_deref())?;
        Ok(look_plan(format!("find {} in {}", args.pattern, place.display(&path)), path))
    }

    async fn run(&self, args: FindFilesArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.read(move |cx| {
            let root = cx.place.readable_or_all(args.path.as_deref())?;
            Ok(cx.output_from(&root, find(&cx.place, &root, &args.pattern, &cx.cancel)?))
        })
        .await
    }

    fn outcome(text: &str) -> String {
        if text.starts_with(NONE) {
            amount(0, "file", "files")
        } else if text.contains(FIRST) {
            format!("{}+ files", counted_lines(text))
        } else {
            amount(counted_lines(text), "file", "files")
        }
    }
}

fn find(
    place: &ToolPath,
    root: &Path,
    pattern: &str,
    cancel: &CancellationToken,
) -> Result<String, ToolError> {
    if !root.exists() {
        return Err(not_found(root, &place.display(root)));
    }
    let matcher = glob(pattern)?;
    let mut found = Vec::new();
    let (mut count, mut unreadable) = (0usize, 0usize);
    for entry in walker(place, root).build() {
        if cancel.is_cancelled() {
            return Err(interrupted_error());
        }
        let Ok(entry) = entry else {
            unreadable += 1;
            continue;
        };
        let is_folder = entry.file_type().is_none_or(|kind| kind.is_dir());
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if is_folder || !matcher.is_match(relative) {
            continue;
        }
        count += 1;
        if found.len() < MAX_FILES {
            found.push(place.display(entry.path()));
        }
    }
    if count == 0 {
        found.push(format!("{NONE}{pattern} (those hidden by .gitignore are not looked at)"));
    } else if count > found.len() {
        found.push(format!("[the first {MAX_FILES} of {count} files; use a narrower pattern]"));
    }
    if unreadable > 0 {
        found.push(format!("[{unreadable} entries could not be read]"));
    }
    found.push(String::new());
    Ok(found.join("\n"))
}
