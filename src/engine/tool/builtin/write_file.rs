//! `write_file`: creates a file, or replaces the whole content of one that the model has read.
//!
//! It never overwrites content that the model has not seen, never leaves a partial file, and never writes
//! outside the workspace. Encoding, line ends and mode of a file that it replaces are kept.

use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{Change, NewText};
use super::files::{MAX_CHANGED, Present, check_seen, present};
use super::place::ToolPath;
use super::text_file::{Encoding, decode, with_ends_of};
use super::typed::{RunContext, TypedTool};
use super::work::misuse;
use crate::stdx::text::count;
use crate::tool::diff::UnchangedEnds;
use crate::tool::{CallPlan, Category, SeenVersions, SideEffect, TextArgs, TextKind, ToolError, ToolOutput};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteFileArgs {
    /// Path of the file, relative to the workspace. Missing folders are made.
    path: String,
    /// The whole new content.
    content: String,
}

/// Writes one file of the workspace.
pub struct WriteFile;

impl TypedTool for WriteFile {
    const NAME: &'static str = "write_file";
    const ABOUT: &'static str = "Creates a file, or replaces the whole content of one that you have read. For \
         small changes to a file use edit_file.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;
    const TEXTS: TextArgs = &[("content", TextKind::File)];

    type Args = WriteFileArgs;

    fn plan(
        &self,
        args: WriteFileArgs,
        place: &ToolPath,
        seen: &SeenVersions,
    ) -> Result<CallPlan, ToolError> {
        Ok(change(args, place, seen)?.plan(place))
    }

    async fn run(&self, args: WriteFileArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let change = change(args, &cx.place, &cx.seen)?;
            let done = match change.old {
                Present::Absent => "created",
                Present::File { .. } => "replaced",
            };
            let (lines, bytes) = (count(change.new.text.lines().count(), "line"), change.new.bytes.len());
            change.make(cx, Self::NAME, format!("{done} {}: {lines}, {bytes} bytes", change.shown))
        })
        .await
    }
}

fn change(args: WriteFileArgs, place: &ToolPath, seen: &SeenVersions) -> Result<Change, ToolError> {
    let path = place.writable(&args.path)?;
    let shown = place.display(&path);
    if args.content.len() as u64 > MAX_CHANGED {
        return Err(misuse(format!("the content has more than {MAX_CHANGED} bytes; write it in parts")));
    }
    let old = present(place, &path)?;
    check_seen(seen, &path, &old, &shown)?;
    let new = new_text(args.content, &old, &shown)?;
    if matches!(&old, Present::File { bytes, .. } if *bytes == new.bytes) {
        return Err(misuse(format!("{shown} already has exactly this content; nothing to write")));
    }
    Ok(Change { path, shown, old, new, untouched: UnchangedEnds::default() })
}

/// Returns the content in the form of the file that it replaces; what is no text has none.
fn new_text(content: String, old: &Present, shown: &str) -> Result<NewText, ToolError> {
    let form = match old {
        Present::Absent => None,
        Present::File { bytes, .. } => decode(bytes),
    };
    match form {
        None => NewText::new(content, Encoding::Utf8, shown),
        Some((text, encoding)) => {
            let content = with_ends_of(&text, encoding.without_mark(&content)).into_owned();
            NewText::new(content, encoding, shown)
        }
    }
}
