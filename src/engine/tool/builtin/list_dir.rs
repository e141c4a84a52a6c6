//! `list_dir`: lists one folder, subfolders first; entries hidden by `.gitignore` are counted, a few named.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::files::{not_found, unreadable};
use super::output::{amount, counted_lines};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::walk::walker;
use super::work::{interrupted_error, look_plan, misuse};
use crate::stdx::text::{count, sanitize_line};
use crate::tool::{CallPlan, Category, SeenVersions, ToolError, ToolOutput};

/// The maximum number of hidden entries to name; of the others only the number is reported.
const NAMED: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDirArgs {
    /// Path of the folder, relative to the workspace; the workspace itself when absent.
    path: Option<String>,
}

/// Lists one folder of the workspace.
pub struct ListDir;

impl TypedTool for ListDir {
    const NAME: &'static str = "list_dir";
    const ABOUT: &'static str =
        "Lists the files and folders in one folder, with sizes. What .gitignore hides is only counted.";
    const CATEGORY: Category = Category::Files;

    type Args = ListDirArgs;

    fn plan(&self, args: ListDirArgs, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let path = place.readable_or_all(args.path.as_deref())?;
        Ok(look_plan(format!("list {}", place.display(&path)), path))
    }

    async fn run(&self, args: ListDirArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.read(move |cx| {
            let path = cx.place.readable_or_all(args.path.as_deref())?;
            Ok(cx.output_from(&path, list(&cx.place, &path, &cx.cancel)?))
        })
        .await
    }

    fn outcome(text: &str) -> String {
        amount(counted_lines(text), "entry", "entries")
    }
}

fn list(place: &ToolPath, folder: &Path, cancel: &CancellationToken) -> Result<String, ToolError> {
    let all = names(folder, &place.display(folder))?;
    let mut entries = Vec::new();
    let mut visible = BTreeSet::new();
    for entry in walker(place, folder).max_depth(Some(1)).build().filter_map(Result::ok) {
        if cancel.is_cancelled() {
            return Err(interrupted_error());
        }
        if entry.depth() == 0 {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Ok(metadata) = entry.path().symlink_metadata() {
            entries.push((Reverse(metadata.is_dir()), name.clone(), line(entry.path(), &name, &metadata)));
        }
        visible.insert(name);
    }
    entries.sort();
    let hidden: Vec<&String> = all.iter().filter(|name| !visible.contains(*name)).collect();
    let mut lines: Vec<String> = entries.into_iter().map(|(_, _, line)| line).collect();
    if lines.is_empty() && hidden.is_empty() {
        lines.push("[the folder is empty]".to_owned());
    }
    lines.extend(hidden_note(&hidden));
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Returns the names of all entries in the folder, sorted.
fn names(folder: &Path, shown: &str) -> Result<Vec<String>, ToolError> {
    match fs::metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(misuse(format!("{shown} is a file; read_file shows what is in it"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(not_found(folder, shown)),
        Err(error) => return Err(unreadable(shown, &error)),
    }
    let entries = fs::read_dir(folder).map_err(|error| unreadable(shown, &error))?;
    let mut names: Vec<String> =
        entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
    names.sort_unstable();
    Ok(names)
}

fn line(path: &Path, name: &str, metadata: &Metadata) -> String {
    let name = sanitize_line(name);
    if metadata.is_dir() {
        return format!("{name}/");
    }
    if metadata.is_symlink() {
        let target = fs::read_link(path).map(|target| target.display().to_string()).unwrap_or_default();
        let broken = if path.exists() { "" } else { " (broken)" };
        return format!("{name} -> {}{broken}", sanitize_line(&target));
    }
    format!("{name}  {}", count(metadata.len(), "byte"))
}

fn hidden_note(hidden: &[&String]) -> Option<String> {
    if hidden.is_empty() {
        return None;
    }
    let named: Vec<_> = hidden.iter().take(NAMED).map(|name| sanitize_line(name)).collect();
    let more = if hidden.len() > NAMED { ", …" } else { "" };
    Some(format!("[{} hidden by ignore rules: {}{more}]", hidden.len(), named.join(", ")))
}
