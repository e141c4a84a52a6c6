//! A permitted change of one file: its plan, and its making.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::files::{Present, resource, version};
use super::place::ToolPath;
use super::text_file::{Encoding, decode};
use super::typed::RunContext;
use super::work::{interrupted_error, misuse, terminal};
use crate::stdx::text::count;
use crate::tool::diff::{UnchangedEnds, counts, diff_inside};
use crate::tool::{Access, CallPlan, DiffLine, Preview, Risk, ToolError, ToolOutput};
use crate::undo::SnapshotScope;

/// The new content of a file: a text, and its bytes in the encoding of the file.
pub struct NewText {
    pub text: String,
    pub bytes: Vec<u8>,
}

impl NewText {
    /// Errs if the encoding lacks a character of the text.
    pub fn new(text: String, encoding: Encoding, shown: &str) -> Result<Self, ToolError> {
        let bytes = encoding.encode(&text).map_err(|fault| misuse(format!("{shown}: {fault}")))?;
        Ok(Self { text, bytes })
    }
}

impl Present {
    /// Returns the content as text, and its encoding. Errs if it is no text that could be written back.
    pub fn text(&self, shown: &str) -> Result<(Cow<'_, str>, Encoding), ToolError> {
        match self {
            Self::Absent => Ok((Cow::Borrowed(""), Encoding::Utf8)),
            Self::File { bytes, .. } => decode(bytes).ok_or_else(|| {
                misuse(format!(
                    "{shown} is no text in UTF-8, UTF-16 or Windows-1252; change it with a command instead"
                ))
            }),
        }
    }

    /// Returns the content for people to compare; what is no text is replaced.
    pub fn text_for_diff(&self) -> Cow<'_, str> {
        match self {
            Self::Absent => Cow::Borrowed(""),
            Self::File { bytes, .. } => {
                decode(bytes).map_or_else(|| String::from_utf8_lossy(bytes), |(text, _)| text)
            }
        }
    }
}

/// A permitted change of one file.
pub struct Change {
    pub path: PathBuf,
    pub shown: String,
    pub old: Present,
    pub new: NewText,
    /// The parts of the old content that certainly stay unchanged.
    pub untouched: UnchangedEnds,
}

impl Change {
    pub fn lines(&self) -> Vec<DiffLine> {
        diff_inside(&self.old.text_for_diff(), &self.new.text, self.untouched)
    }

    pub fn plan(&self, place: &ToolPath) -> CallPlan {
        let lines = self.lines();
        let (added, removed) = counts(&lines);
        let shown = &self.shown;
        let summary = match &self.old {
            Present::Absent => format!("write {} to {shown} (new file)", count(added, "line")),
            Present::File { .. } => format!("change {shown}: +{added} -{removed}"),
        };
        CallPlan {
            preview: Preview::Diff { path: shown.clone(), lines },
            basis: vec![(resource(&self.path), self.old.version())],
            ..change_plan(place, (summary, Risk::Medium), (&[], &[&self.path]), SnapshotScope::Contents)
        }
    }

    /// Writes the whole file, after creating its missing folders, unless the call was cancelled. `report` is
    /// for the model.
    pub fn make(&self, cx: &RunContext, tool: &str, report: String) -> Result<ToolOutput, ToolError> {
        if cx.cancel.is_cancelled() {
            return Err(interrupted_error());
        }
        let failed = |error| terminal(format!("{} was not written: {error}", self.shown));
        let verb = if self.old == Present::Absent { "created" } else { "changed" };
        let label = format!("{verb} {}", self.shown);
        cx.record_change((tool, &label), (&[&self.path], SnapshotScope::Contents), || {
            cx.place.write(&self.path, &self.new.bytes).map_err(failed)
        })?;
        let version = version(&self.new.bytes);
        Ok(cx.output_from(&self.path, report).seeing(resource(&self.path), version))
    }
}

/// Returns the plan of a change of paths, without preview and basis; its risk is at least this one.
pub fn change_plan(
    place: &ToolPath,
    (summary, least): (String, Risk),
    (reads, writes): (&[&Path], &[&Path]),
    keep: SnapshotScope,
) -> CallPlan {
    let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
    let guards: Vec<_> = writes.iter().map(|path| guard(place, path)).collect();
    let risk = guards.iter().map(|(risk, _)| *risk).fold(least, Ord::max);
    CallPlan {
        undo: place.undo_of(writes, keep),
        needs_person: guards.into_iter().find_map(|(_, why)| why),
        ..CallPlan::new(summary, risk, Access::Paths { reads: owned(reads), writes: owned(writes) })
    }
}

/// Returns the risk of a write to a path, and why only the user may approve it, if so. Files in `.git` can
/// run as a program when git is used next. Settings, rules and hooks of `co` decide what it asks for, and instructions
/// and commands the model's instructions: only the user may change those. Letter case is ignored, as on some file systems.
fn guard(place: &ToolPath, path: &Path) -> (Risk, Option<String>) {
    let inner = path.strip_prefix(&place.workspace).unwrap_or(path);
    let has = |name: &str| inner.components().any(|part| part.as_os_str().eq_ignore_ascii_case(name));
    let is_file = |name: &str| inner.file_name().is_some_and(|file| file.eq_ignore_ascii_case(name));
    let is_command = has(".claude") && has("commands");
    if place.is_own(path) || has(".co") || has(".co-cli") {
        (Risk::High, Some("it changes settings, rules, hooks or data of co".to_owned()))
    } else if is_file("AGENTS.md") || is_file("CLAUDE.md") || is_command {
        (Risk::High, Some("it changes what models are told in this project".to_owned()))
    } else if has(".git") {
        (Risk::High, None)
    } else {
        (Risk::Medium, None)
    }
}
