//! `write_file`: creates a file, or replaces the whole content of one that the model has read.
//!
//! It never overwrites content that the model has not seen, never leaves a partial file, and never writes
//! outside the workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::args;
use super::files::{MAX_CHANGED, Present, check_seen, present, resource, version};
use super::output::untrusted;
use super::place::Place;
use super::work::{LOOK_TIMEOUT, interrupted, misuse, off_thread, place_of_plan, place_of_run, terminal};
use crate::message::{Source, ToolName};
use crate::tool::diff::{Untouched, counts, diff_inside};
use crate::tool::{
    Access, CallPlan, Category, DiffLine, PlanContext, Preview, Risk, Seen, SideEffect, Tool, ToolContext,
    ToolError, ToolOutput, ToolSpec, Undo,
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, relative to the workspace. Missing folders are made.
    path: String,
    /// The whole new content.
    content: String,
}

/// Writes one file of the workspace.
pub struct WriteFile {
    spec: ToolSpec,
}

impl WriteFile {
    pub fn new(output_limit: usize) -> Self {
        Self {
            spec: ToolSpec {
                name: ToolName::new("write_file"),
                description:
                    "Creates a file, or replaces the whole content of one that you have read. For small \
                              changes to a file use edit_file."
                        .to_owned(),
                parameters: args::schema::<Args>(),
                category: Category::Files,
                risk: Risk::Medium,
                side_effect: SideEffect::Local,
                origin: crate::tool::Origin::Builtin,
                output_limit,
                timeout: LOOK_TIMEOUT,
            },
        }
    }
}

impl Tool for WriteFile {
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
            let (place, seen) = (place_of_plan(cx), Arc::clone(&cx.seen));
            off_thread(move || {
                let change = look(&args, &place, &seen)?;
                Ok(change.plan(&place))
            })
            .await
        })
    }

    /// Never abandoned halfway: a cancel before the write prevents it, and a later one lets it complete.
    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = args::parse(&self.spec, args)?;
            let (place, seen, cancel) = (place_of_run(cx), Arc::clone(&cx.seen), cx.cancel.clone());
            off_thread(move || {
                let change = look(&args, &place, &seen)?;
                if cancel.is_cancelled() {
                    return Err(interrupted());
                }
                store(&place, &change.path, change.new.as_bytes())?;
                let done = match change.old {
                    Present::Absent => "created",
                    Present::File { .. } => "replaced",
                };
                let (lines, bytes) = (change.new.lines().count(), change.new.len());
                let text = format!("{done} {}: {}, {bytes} bytes", change.shown, counted(lines));
                let version = version(change.new.as_bytes());
                let source = Source::File { path: change.shown };
                Ok(untrusted(text, source).seeing(resource(&change.path), version))
            })
            .await
        })
    }
}

/// A permitted change of one file.
pub struct Change {
    pub path: PathBuf,
    pub shown: String,
    pub old: Present,
    pub new: String,
    /// The parts of the old content that certainly stay unchanged.
    pub untouched: Untouched,
}

impl Change {
    /// Returns the old content as text; invalid UTF-8 is replaced.
    fn old_text(&self) -> String {
        match &self.old {
            Present::Absent => String::new(),
            Present::File { bytes, .. } => String::from_utf8_lossy(bytes).into_owned(),
        }
    }

    pub fn lines(&self) -> Vec<DiffLine> {
        diff_inside(&self.old_text(), &self.new, self.untouched)
    }

    pub fn plan(&self, place: &Place) -> CallPlan {
        let lines = self.lines();
        let (added, removed) = counts(&lines);
        let shown = &self.shown;
        let summary = match &self.old {
            Present::Absent => format!("write {} to {shown} (new file)", counted(added)),
            Present::File { .. } => format!("change {shown}: +{added} -{removed}"),
        };
        let (risk, needs_person) = guard(place, &self.path);
        CallPlan {
            summary,
            preview: Preview::Diff { path: shown.clone(), lines },
            risk,
            access: Access::Paths { reads: Vec::new(), writes: vec![self.path.clone()] },
            basis: vec![(resource(&self.path), self.old.version())],
            undo: Undo::None,
            effect: crate::tool::Effect::OfTool,
            question: None,
            needs_person,
        }
    }
}

fn look(args: &Args, place: &Place, seen: &Seen) -> Result<Change, ToolError> {
    let path = place.writable(&args.path)?;
    let shown = place.shown(&path);
    if args.content.len() as u64 > MAX_CHANGED {
        return Err(misuse(format!("the content has more than {MAX_CHANGED} bytes; write it in parts")));
    }
    let old = present(place, &path)?;
    check_seen(seen, &path, &old, &shown)?;
    if matches!(&old, Present::File { bytes, .. } if bytes == args.content.as_bytes()) {
        return Err(misuse(format!("{shown} already has exactly this content; nothing is to be written")));
    }
    Ok(Change { path, shown, old, new: args.content.clone(), untouched: Untouched::default() })
}

/// Returns the risk of a write to a path, and why only the user may approve it, if so. Files in `.git` can
/// run as a program when git is used next. Settings, rules and hooks of `co` decide what it asks for: only
/// the user may change those. Letter case is ignored, as on some file systems.
fn guard(place: &Place, path: &Path) -> (Risk, Option<String>) {
    let inner = path.strip_prefix(&place.workspace).unwrap_or(path);
    let has = |name: &str| inner.components().any(|part| part.as_os_str().eq_ignore_ascii_case(name));
    if place.is_own(path) || has(".co") {
        (Risk::High, Some("it changes settings, rules, hooks or data of co itself".to_owned()))
    } else if has(".git") {
        (Risk::High, None)
    } else {
        (Risk::Medium, None)
    }
}

/// Writes the whole file, after creating its missing folders.
pub fn store(place: &Place, path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
    let failed = |error| terminal(format!("{} was not written: {error}", place.shown(path)));
    place.write(path, bytes).map_err(failed)
}

/// Formats a number of lines.
fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}
