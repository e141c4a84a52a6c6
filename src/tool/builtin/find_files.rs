//! `find_files`: finds files whose path matches a glob, in path order.

use std::path::Path;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::args;
use super::files::not_found;
use super::output::{Spill, cap, untrusted};
use super::place::Place;
use super::walk::{glob, walker};
use super::work::{LOOK_TIMEOUT, interrupted, look, look_plan, off_thread, place_of_plan, place_of_run};
use crate::message::{Source, ToolName};
use crate::tool::{
    CallPlan, Category, PlanContext, Risk, SideEffect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
};

/// The maximum number of files to list; further ones are only counted.
const MAX_FILES: usize = 1000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Glob such as `*.rs`, `src/**/*.ts` or `**/{a,b}.md`. Without `/` it is met by file names at any depth.
    pattern: String,
    /// Folder to look in, relative to the workspace; the whole workspace when absent.
    path: Option<String>,
}

impl Args {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

/// Finds files of the workspace by name.
pub struct FindFiles {
    spec: ToolSpec,
}

impl FindFiles {
    pub fn new(output_limit: usize) -> Self {
        Self {
            spec: ToolSpec {
                name: ToolName::new("find_files"),
                description:
                    "Finds files by a glob pattern and returns their paths. Files hidden by .gitignore \
                              are not found."
                        .to_owned(),
                parameters: args::schema::<Args>(),
                category: Category::Search,
                risk: Risk::Low,
                side_effect: SideEffect::None { cache_for: None },
                origin: crate::tool::Origin::Builtin,
                output_limit,
                timeout: LOOK_TIMEOUT,
            },
        }
    }
}

impl Tool for FindFiles {
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
            glob(&args.pattern)?;
            let place = place_of_plan(cx);
            off_thread(move || {
                let path = place.readable(args.path())?;
                Ok(look_plan(format!("find {} in {}", args.pattern, place.shown(&path)), path))
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
                let root = place.readable(args.path())?;
                let text = find(&place, &root, &args.pattern, &cancel)?;
                // The output consists of file names or file contents.
                let source = Source::File { path: place.shown(&root) };
                Ok(untrusted(cap(text, limit, &spill), source))
            })
            .await
        })
    }
}

fn find(place: &Place, root: &Path, pattern: &str, cancel: &CancellationToken) -> Result<String, ToolError> {
    if !root.exists() {
        return Err(not_found(root, &place.shown(root)));
    }
    let matcher = glob(pattern)?;
    let mut found = Vec::new();
    let (mut count, mut unreadable) = (0usize, 0usize);
    for entry in walker(place, root).build() {
        if cancel.is_cancelled() {
            return Err(interrupted());
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
            found.push(place.shown(entry.path()));
        }
    }
    if count == 0 {
        found.push(format!("no files match {pattern} (those hidden by .gitignore are not looked at)"));
    } else if count > found.len() {
        found.push(format!("[the first {MAX_FILES} of {count} files; use a narrower pattern]"));
    }
    if unreadable > 0 {
        found.push(format!("[{unreadable} entries could not be read]"));
    }
    found.push(String::new());
    Ok(found.join("\n"))
}
