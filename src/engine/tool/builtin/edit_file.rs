//! `edit_file`: replaces a piece of text in a file that the model has read.
//!
//! It never guesses: the piece must occur exactly, and only once unless all occurrences are requested. Line
//! ends, encoding and mode of the file are kept.

use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{Change, NewText};
use super::files::{Present, check_seen, not_found, present};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::misuse;
use crate::tool::diff::as_text;
use crate::tool::{CallPlan, Category, SeenVersions, SideEffect, TextArgs, TextKind, ToolError, ToolOutput};

mod replace;

use replace::{Occurrences, replace, unchanged_ends};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditFileArgs {
    /// Path of the file, relative to the workspace.
    path: String,
    /// The text to replace, exactly as it is in the file, without line numbers. It must occur only once.
    old: String,
    /// The replacement.
    new: String,
    /// Replace every occurrence.
    all: Option<bool>,
}

/// Edits one file of the workspace.
pub struct EditFile;

impl TypedTool for EditFile {
    const NAME: &'static str = "edit_file";
    const ABOUT: &'static str = "Replaces an exact piece of text in a file that you have read. Give enough of \
         the surrounding lines to make the piece unique.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;
    const TEXTS: TextArgs = &[("old", TextKind::Old), ("new", TextKind::New)];

    type Args = EditFileArgs;

    fn plan(&self, args: EditFileArgs, place: &ToolPath, seen: &SeenVersions) -> Result<CallPlan, ToolError> {
        Ok(change(&args, place, seen)?.plan(place))
    }

    async fn run(&self, args: EditFileArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let change = change(&args, &cx.place, &cx.seen)?;
            change.make(cx, Self::NAME, format!("changed {}\n{}", change.shown, as_text(&change.lines())))
        })
        .await
    }
}

fn change(args: &EditFileArgs, place: &ToolPath, seen: &SeenVersions) -> Result<Change, ToolError> {
    let path = place.writable(&args.path)?;
    let shown = place.display(&path);
    let old = present(place, &path)?;
    if old == Present::Absent {
        return Err(not_found(&path, &shown));
    }
    check_seen(seen, &path, &old, &shown)?;
    let (text, encoding) = old.text(&shown)?;
    let occurrences = if args.all == Some(true) { Occurrences::All } else { Occurrences::One };
    let new = replace(&text, &args.old, &args.new, occurrences)
        .map_err(|fault| misuse(format!("{shown}: {fault}")))?;
    let untouched = unchanged_ends(&text, &args.old);
    let new = NewText::new(new, encoding, &shown)?;
    Ok(Change { new, path, shown, old, untouched })
}
