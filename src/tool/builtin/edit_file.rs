//! `edit_file`: replaces a piece of text in a file that the model has read.
//!
//! It never guesses: the piece must occur exactly, and only once unless all occurrences are requested. Line
//! ends and mode of the file are kept.

use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::args;
use super::files::{Present, check_seen, not_found, present, resource, version};
use super::output::{Spill, cap, untrusted};
use super::place::Place;
use super::work::{LOOK_TIMEOUT, interrupted, misuse, off_thread, place_of_plan, place_of_run};
use super::write_file::{Change, store};
use crate::message::{Source, ToolName};
use crate::tool::diff::as_text;
use crate::tool::{
    CallPlan, Category, PlanContext, Risk, Seen, SideEffect, Tool, ToolContext, ToolError, ToolOutput,
    ToolSpec,
};

mod replace;

use replace::{replace, untouched};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Path of the file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as it is in the file, without line numbers. It must occur only once.
    old: String,
    /// What stands there instead.
    new: String,
    /// Replace every occurrence.
    all: Option<bool>,
}

impl Args {
    fn occurrences(&self) -> replace::Occurrences {
        match self.all {
            Some(true) => replace::Occurrences::All,
            Some(false) | None => replace::Occurrences::One,
        }
    }
}

/// Edits one file of the workspace.
pub struct EditFile {
    spec: ToolSpec,
}

impl EditFile {
    pub fn new(output_limit: usize) -> Self {
        Self {
            spec: ToolSpec {
                name: ToolName::new("edit_file"),
                description:
                    "Replaces an exact piece of text in a file that you have read. Give enough of the \
                              surrounding lines to make the piece unique."
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

impl Tool for EditFile {
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
            off_thread(move || Ok(look(&args, &place, &seen)?.plan(&place))).await
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
            let (spill, limit) = (Spill::new(&cx.spill, &cx.call), self.spec.output_limit);
            off_thread(move || {
                let change = look(&args, &place, &seen)?;
                if cancel.is_cancelled() {
                    return Err(interrupted());
                }
                store(&place, &change.path, change.new.as_bytes())?;
                let text = format!("changed {}\n{}", change.shown, as_text(&change.lines()));
                let source = Source::File { path: change.shown.clone() };
                let version = version(change.new.as_bytes());
                Ok(untrusted(cap(text, limit, &spill), source).seeing(resource(&change.path), version))
            })
            .await
        })
    }
}

fn look(args: &Args, place: &Place, seen: &Seen) -> Result<Change, ToolError> {
    let path = place.writable(&args.path)?;
    let shown = place.shown(&path);
    let old = present(place, &path)?;
    let Present::File { bytes, .. } = &old else {
        return Err(not_found(&path, &shown));
    };
    check_seen(seen, &path, &old, &shown)?;
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(misuse(format!("{shown} is not UTF-8 text; change it with a command instead")));
    };
    let new = replace(text, &args.old, &args.new, args.occurrences())
        .map_err(|fault| misuse(format!("{shown}: {fault}")))?;
    let untouched = untouched(text, &args.old);
    Ok(Change { new, path, shown, old, untouched })
}
