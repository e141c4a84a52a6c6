//! `list_dir`: lists one folder, subfolders first; entries hidden by `.gitignore` are counted, a few named.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::path::Path;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::args;
use super::files::{not_found, unreadable};
use super::output::{Spill, cap, untrusted};
use super::place::Place;
use super::walk::walker;
use super::work::{
    LOOK_TIMEOUT, interrupted, look, look_plan, misuse, off_thread, place_of_plan, place_of_run,
};
use crate::message::{Source, ToolName};
use crate::stdx::text::sanitize_line;
use crate::tool::{
    CallPlan, Category, PlanContext, Risk, SideEffect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};

/// The maximum number of hidden entries to name; of the others only the number is reported.
const NAMED: usize = 5;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the folder, relative to the workspace; the workspace itself when absent.
    path: Option<String>,
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

/// Lists one folder of the workspace.
pub struct ListDir {
    spec: ToolSpec,
}

impl ListDir {
    pub fn new(output_limit: usize) -> Self {
        Self {
            spec: ToolSpec {
                name: ToolName::new("list_dir"),
                description:
                    "Lists the files and folders in one folder, with sizes. What .gitignore hides is \
                              only counted."
                        .to_owned(),
                parameters: args::schema::<Args>(),
                category: Category::Files,
                risk: Risk::Low,
                side_effect: SideEffect::None { cache_for: None },
                origin: crate::tool::Origin::Builtin,
                output_limit,
                timeout: LOOK_TIMEOUT,
            },
        }
    }
}

impl Tool for ListDir {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a PlanContext,
    ) -> BoxFuture<'a, Result<CallPlan, ToolError>> {
        Box::pin(async move {
            let args: Args = args::parse(&self.spec, args)?;
            let place = place_of_plan(cx);
            off_thread(move || {
                let path = place.readable(args.path())?;
                Ok(look_plan(format!("list {}", place.shown(&path)), path))
            })
            .await
        })
    }

    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = args::parse(&self.spec, args)?;
            let (place, cancel) = (place_of_run(cx), cx.cancel.clone());
            let (spill, limit) = (Spill::new(&cx.spill, &cx.call), self.spec.output_limit);
            look(&cx.cancel, move || {
                let path = place.readable(args.path())?;
                let text = list(&place, &path, &cancel)?;
                // The output consists of file names or file contents.
                let source = Source::File { path: place.shown(&path) };
                Ok(untrusted(cap(text, limit, &spill), source))
            })
            .await
        })
    }
}

fn list(place: &Place, folder: &Path, cancel: &CancellationToken) -> Result<String, ToolError> {
    let all = names(folder, &place.shown(folder))?;
    let mut entries = Vec::new();
    let mut visible = BTreeSet::new();
    for entry in walker(place, folder).max_depth(Some(1)).build().filter_map(Result::ok) {
        if cancel.is_cancelled() {
            return Err(interrupted());
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
    let unit = if metadata.len() == 1 { "byte" } else { "bytes" };
    format!("{name}  {} {unit}", metadata.len())
}

fn hidden_note(hidden: &[&String]) -> Option<String> {
    if hidden.is_empty() {
        return None;
    }
    let named: Vec<_> = hidden.iter().take(NAMED).map(|name| sanitize_line(name)).collect();
    let more = if hidden.len() > NAMED { ", …" } else { "" };
    Some(format!("[{} hidden by ignore rules: {}{more}]", hidden.len(), named.join(", ")))
}
