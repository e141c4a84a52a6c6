//! `move_file`, `copy_file`, `delete_file` and `create_dir`: files and folders as a whole.
//!
//! None of them overwrites anything, follows a link at the end of a path, or touches the workspace itself.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::change_plan;
use super::files::{MAX_CHANGED, Present, not_found, present, resource};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{interrupted_error, misuse, terminal};
use crate::stdx::beneath::BaseFolder;
use crate::stdx::secret_files::may_hold_secrets;
use crate::tool::diff::diff;
use crate::tool::{
    CallPlan, Category, Preview, Resource, Risk, SeenVersions, SideEffect, ToolError, ToolOutput, Version,
};
use crate::undo::SnapshotScope;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathPair {
    /// Path of what there is, relative to the workspace.
    from: String,
    /// The whole new path; nothing may be there. Missing folders are made.
    to: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnePath {
    /// Path relative to the workspace.
    path: String,
}

/// Something at a path that is not followed if it is a link.
struct PathEntry {
    /// Absolute.
    path: PathBuf,
    shown: String,
    /// `None`: nothing is there.
    kind: Option<FileType>,
    size: u64,
    version: Version,
}

impl PathEntry {
    fn of(place: &ToolPath, given: &str) -> Result<Self, ToolError> {
        let path = place.entry(given)?;
        let shown = place.display(&path);
        let blocked = |error: io::Error| misuse(format!("{shown} cannot be used: {error}"));
        let stat = place.base().and_then(|base| base.look(place.relative(&path))).map_err(blocked)?;
        let version = stat.as_ref().map_or_else(
            || "absent".to_owned(),
            |stat| format!("{}:{}:{}.{}", stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec),
        );
        Ok(Self {
            kind: stat.as_ref().map(|stat| FileType::from_raw_mode(stat.st_mode)),
            size: stat.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or_default()),
            version: Version(version),
            path,
            shown,
        })
    }

    /// Something that exists and is no folder of `co`.
    fn existing(place: &ToolPath, given: &str) -> Result<Self, ToolError> {
        let entry = Self::of(place, given)?;
        if entry.kind.is_none() {
            return Err(not_found(&entry.path, &entry.shown));
        }
        if place.own.iter().any(|own| own.starts_with(&entry.path) || entry.path.starts_with(own)) {
            let shown = &entry.shown;
            return Err(misuse(format!(
                "{shown} holds or belongs to what is co's own (settings, keys, data); only the user may change it"
            )));
        }
        Ok(entry)
    }

    /// A path at which nothing is.
    fn vacant(place: &ToolPath, given: &str) -> Result<Self, ToolError> {
        let entry = Self::of(place, given)?;
        match entry.kind {
            None => Ok(entry),
            Some(FileType::Directory) => {
                let shown = &entry.shown;
                Err(misuse(format!(
                    "{shown} is a folder that exists; give the whole new path, as {shown}/NAME"
                )))
            }
            Some(_) => Err(misuse(format!(
                "{} exists already; choose another path, or delete it first",
                entry.shown
            ))),
        }
    }

    fn is_folder(&self) -> bool {
        self.kind == Some(FileType::Directory)
    }

    fn basis(&self) -> (Resource, Version) {
        (resource(&self.path), self.version.clone())
    }

    fn check_movable(&self) -> Result<(), ToolError> {
        match self.kind {
            Some(FileType::RegularFile | FileType::Directory | FileType::Symlink) | None => Ok(()),
            Some(_) => Err(misuse(format!("{} is a pipe, a socket or a device; use a command", self.shown))),
        }
    }
}

impl ToolPath {
    pub fn base(&self) -> io::Result<BaseFolder> {
        BaseFolder::open(&self.workspace)
    }

    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.workspace).unwrap_or(path)
    }
}

/// The plan of a change of whole files.
fn plan(
    place: &ToolPath,
    summary: (String, Risk),
    (reads, writes): (&[&PathEntry], &[&PathEntry]),
    keep: SnapshotScope,
) -> CallPlan {
    let basis = reads.iter().chain(writes).map(|entry| entry.basis()).collect();
    let [reads, writes] =
        [reads, writes].map(|entries| entries.iter().map(|entry| entry.path.as_path()).collect::<Vec<_>>());
    CallPlan { basis, ..change_plan(place, summary, (&reads, &writes), keep) }
}

/// Whether a file would get a name that no longer tells that it holds secrets.
fn hides_secrets(from: &PathEntry, to: &PathEntry) -> bool {
    may_hold_secrets(&from.shown) && !may_hold_secrets(&to.shown)
}

fn pair(args: &PathPair, place: &ToolPath) -> Result<(PathEntry, PathEntry), ToolError> {
    let (from, to) = (PathEntry::existing(place, &args.from)?, PathEntry::vacant(place, &args.to)?);
    from.check_movable()?;
    if to.path.starts_with(&from.path) {
        return Err(misuse(format!("{} lies inside of {}", to.shown, from.shown)));
    }
    Ok((from, to))
}

fn both(from: &PathEntry, to: &PathEntry) -> Preview {
    let field = |name: &str, entry: &PathEntry| (name.to_owned(), entry.shown.clone());
    Preview::Fields { fields: vec![field("from", from), field("to", to)] }
}

/// Moves a file, a link or a folder.
pub struct MoveFile;

impl TypedTool for MoveFile {
    const NAME: &'static str = "move_file";
    const ABOUT: &'static str =
        "Moves or renames a file or a folder of the workspace. It never overwrites anything.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;
    const RISK: Risk = Risk::High;

    type Args = PathPair;

    fn plan(&self, args: PathPair, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let (from, to) = pair(&args, place)?;
        let folder = if from.is_folder() { "folder " } else { "" };
        let secret = if hides_secrets(&from, &to) { " (may hold secrets)" } else { "" };
        let summary = format!("move {folder}{} to {}{secret}", from.shown, to.shown);
        let plan = plan(place, (summary, Risk::High), (&[], &[&from, &to]), SnapshotScope::Places);
        Ok(CallPlan { preview: both(&from, &to), ..plan })
    }

    async fn run(&self, args: PathPair, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let (from, to) = pair(&args, &cx.place)?;
            let label = format!("moved {} to {}", from.shown, to.shown);
            let paths: [&Path; 2] = [&from.path, &to.path];
            cx.changing((Self::NAME, &label), (&paths, SnapshotScope::Places), |base| {
                base.rename(cx.place.relative(&from.path), cx.place.relative(&to.path))
            })?;
            let output = cx.output_from(&to.path, label.clone());
            // The lines read of it count at its new path.
            Ok(match cx.seen.get(&resource(&from.path)) {
                Some(version) => output.seeing(resource(&to.path), version.clone()),
                None => output,
            })
        })
        .await
    }
}

/// Copies a file.
pub struct CopyFile;

impl TypedTool for CopyFile {
    const NAME: &'static str = "copy_file";
    const ABOUT: &'static str = "Copies a file of the workspace, with its mode. It never overwrites anything; \
         folders are copied with a command.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;

    type Args = PathPair;

    fn plan(&self, args: PathPair, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let (from, to) = check_copy(&args, place)?;
        let (secret, risk) = match hides_secrets(&from, &to) {
            true => (" (may hold secrets)", Risk::High),
            false => ("", Risk::Medium),
        };
        let summary = format!("copy {} to {}{secret}", from.shown, to.shown);
        let plan = plan(place, (summary, risk), (&[&from], &[&to]), SnapshotScope::Contents);
        Ok(CallPlan { preview: both(&from, &to), ..plan })
    }

    async fn run(&self, args: PathPair, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let (from, to) = check_copy(&args, &cx.place)?;
            let label = format!("copied {} to {}", from.shown, to.shown);
            cx.changing((Self::NAME, &label), (&[&to.path], SnapshotScope::Contents), |base| {
                base.copy(cx.place.relative(&from.path), cx.place.relative(&to.path))
            })?;
            Ok(cx.output_from(&to.path, label.clone()))
        })
        .await
    }
}

fn check_copy(args: &PathPair, place: &ToolPath) -> Result<(PathEntry, PathEntry), ToolError> {
    let (from, to) = pair(args, place)?;
    match from.kind {
        Some(FileType::RegularFile) => Ok((from, to)),
        Some(FileType::Directory) => {
            Err(misuse(format!("{} is a folder; copy it with a command", from.shown)))
        }
        _ => Err(misuse(format!("{} is a link; copy the file that it leads to", from.shown))),
    }
}

/// Deletes a file, a link or an empty folder.
pub struct DeleteFile;

impl TypedTool for DeleteFile {
    const NAME: &'static str = "delete_file";
    const ABOUT: &'static str = "Deletes a file, a link or an empty folder of the workspace.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;
    const RISK: Risk = Risk::High;

    type Args = OnePath;

    fn plan(&self, args: OnePath, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let entry = check_deletion(&args, place)?;
        let what = match entry.kind {
            Some(FileType::Directory) => "empty folder ",
            Some(FileType::Symlink) => "link ",
            _ => "",
        };
        let summary = format!("delete {what}{}", entry.shown);
        let mut plan = plan(place, (summary, Risk::High), (&[], &[&entry]), SnapshotScope::Contents);
        // Text is shown as it goes; a secret is not.
        if entry.kind == Some(FileType::RegularFile) && !may_hold_secrets(&entry.shown) {
            plan.preview = match text_of(place, &entry) {
                Some(text) => Preview::Diff { path: entry.shown.clone(), lines: diff(&text, "") },
                None => Preview::Text { text: format!("{} bytes that are not text", entry.size) },
            };
        }
        Ok(plan)
    }

    async fn run(&self, args: OnePath, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let entry = check_deletion(&args, &cx.place)?;
            let label = format!("deleted {}", entry.shown);
            cx.changing((Self::NAME, &label), (&[&entry.path], SnapshotScope::Contents), |base| {
                let path = cx.place.relative(&entry.path);
                if entry.is_folder() { base.remove_folder(path) } else { base.remove_file(path) }
            })?;
            let absent = Present::Absent.version();
            Ok(cx.output_from(&entry.path, label.clone()).seeing(resource(&entry.path), absent))
        })
        .await
    }
}

fn check_deletion(args: &OnePath, place: &ToolPath) -> Result<PathEntry, ToolError> {
    let entry = PathEntry::existing(place, &args.path)?;
    entry.check_movable()?;
    if entry.is_folder() {
        let names = place.base().and_then(|base| base.names(place.relative(&entry.path)));
        match names {
            Ok(names) if names.is_empty() => {}
            Ok(_) => {
                return Err(misuse(format!(
                    "{} is a folder that is not empty; delete what is in it first, or use a command",
                    entry.shown
                )));
            }
            Err(error) => return Err(terminal(format!("{} cannot be read: {error}", entry.shown))),
        }
    }
    Ok(entry)
}

fn text_of(place: &ToolPath, entry: &PathEntry) -> Option<String> {
    if entry.size > MAX_CHANGED {
        return None;
    }
    match present(place, &entry.path) {
        Ok(Present::File { bytes, .. }) if !bytes.contains(&0) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

/// Makes a folder.
pub struct CreateDir;

impl TypedTool for CreateDir {
    const NAME: &'static str = "create_dir";
    const ABOUT: &'static str = "Makes a folder in the workspace, and the missing folders above it. write_file \
         makes the folders it needs itself.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;

    type Args = OnePath;

    fn plan(&self, args: OnePath, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let entry = check_creation(&args, place)?;
        let summary = format!("make folder {}", entry.shown);
        let preview = Preview::Fields { fields: vec![("folder".to_owned(), entry.shown.clone())] };
        Ok(CallPlan {
            preview,
            ..plan(place, (summary, Risk::Medium), (&[], &[&entry]), SnapshotScope::Contents)
        })
    }

    async fn run(&self, args: OnePath, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let entry = check_creation(&args, &cx.place)?;
            let label = format!("made folder {}", entry.shown);
            cx.changing((Self::NAME, &label), (&[&entry.path], SnapshotScope::Contents), |base| {
                base.make_folder(cx.place.relative(&entry.path))
            })?;
            Ok(cx.output_from(&entry.path, label.clone()))
        })
        .await
    }
}

fn check_creation(args: &OnePath, place: &ToolPath) -> Result<PathEntry, ToolError> {
    let entry = PathEntry::of(place, &args.path)?;
    match entry.kind {
        None => Ok(entry),
        Some(FileType::Directory) => Err(misuse(format!("the folder {} exists already", entry.shown))),
        Some(_) => Err(misuse(format!("{} exists already, and is no folder", entry.shown))),
    }
}

impl RunContext {
    /// Makes a change below the workspace that can be taken back, unless the call was cancelled. Blocking.
    fn changing(
        &self,
        named: (&str, &str),
        kept: (&[&Path], SnapshotScope),
        change: impl FnOnce(&BaseFolder) -> io::Result<()>,
    ) -> Result<(), ToolError> {
        if self.cancel.is_cancelled() {
            return Err(interrupted_error());
        }
        let failed = |error: io::Error| terminal(format!("nothing was changed: {error}"));
        self.record_change(named, kept, || self.place.base().and_then(|base| change(&base)).map_err(failed))
    }
}
