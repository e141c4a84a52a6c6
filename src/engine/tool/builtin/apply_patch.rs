//! `apply_patch`: changes several files at once, all of them or none.
//!
//! It takes a unified diff, or the envelope that some models write. Each piece of context must stand in its file exactly, at
//! one place; the files as they will be are computed before the first one is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{NewText, change_plan};
use super::files::{MAX_CHANGED, Present, check_seen, not_found, present, resource, version};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{interrupted_error, misuse, terminal};
use crate::tool::diff::{as_text, counts, diff};
use crate::tool::{
    CallPlan, Category, DiffKind, DiffLine, Preview, Risk, SeenVersions, SideEffect, TextArgs, TextKind,
    ToolError, ToolOutput,
};
use crate::undo::SnapshotScope;

mod fit;
mod parse;

use parse::{FilePatch, PatchKind};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPatchArgs {
    /// A unified diff of one or more files, or text from `*** Begin Patch` to `*** End Patch`. Paths are relative to the
    /// workspace.
    patch: String,
}

/// Changes several files.
pub struct ApplyPatch;

/// One file as it is and as it will be.
struct PatchedFile {
    path: PathBuf,
    shown: String,
    old: Present,
    /// `None`: it goes.
    new: Option<NewText>,
    /// The mode that it has, or gets from where it was.
    mode: Option<u32>,
}

impl PatchedFile {
    fn lines(&self) -> Vec<DiffLine> {
        diff(&self.old.text_for_diff(), self.new.as_ref().map_or("", |new| &new.text))
    }

    fn verb(&self) -> &'static str {
        match (&self.old, &self.new) {
            (Present::Absent, _) => "new",
            (Present::File { .. }, None) => "deleted",
            (Present::File { .. }, Some(_)) => "changed",
        }
    }

    /// Makes the file what it will be, or what it was.
    fn put(&self, place: &ToolPath, content: Option<&[u8]>) -> std::io::Result<()> {
        let Some(bytes) = content else { return place.remove(&self.path) };
        place.write(&self.path, bytes)?;
        match self.mode {
            Some(mode) => place.base()?.set_mode(place.relative(&self.path), mode),
            None => Ok(()),
        }
    }
}

impl TypedTool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const ABOUT: &'static str = "Applies a patch to files that you have read: a unified diff, or the form from \
         `*** Begin Patch` to `*** End Patch`. It can change, create, rename and delete several files; if one \
         part does not fit, nothing is changed.";
    const CATEGORY: Category = Category::Files;
    const SIDE_EFFECT: SideEffect = SideEffect::Local;
    const TEXTS: TextArgs = &[("patch", TextKind::Patch)];

    type Args = ApplyPatchArgs;

    fn plan(
        &self,
        args: ApplyPatchArgs,
        place: &ToolPath,
        seen: &SeenVersions,
    ) -> Result<CallPlan, ToolError> {
        let files = files_after(&args.patch, place, seen)?;
        let mut lines = Vec::new();
        let (mut added, mut removed) = (0, 0);
        for file in &files {
            let changed = file.lines();
            let (plus, minus) = counts(&changed);
            (added, removed) = (added + plus, removed + minus);
            let text = format!("{} ({}) +{plus} -{minus}", file.shown, file.verb());
            lines.push(DiffLine { kind: DiffKind::Hunk, number: 1, text });
            lines.extend(changed);
        }
        let deletes = files.iter().any(|file| file.new.is_none());
        let least = if deletes { Risk::High } else { Risk::Medium };
        let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let named = match files.as_slice() {
            [file] => file.shown.clone(),
            files => format!("{} files", files.len()),
        };
        let summary = format!("patch {named}: +{added} -{removed}");
        Ok(CallPlan {
            preview: Preview::Diff { path: named, lines },
            basis: files.iter().map(|file| (resource(&file.path), file.old.version())).collect(),
            ..change_plan(place, (summary, least), (&[], &paths), SnapshotScope::Contents)
        })
    }

    async fn run(&self, args: ApplyPatchArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.change(move |cx| {
            let files = files_after(&args.patch, &cx.place, &cx.seen)?;
            if cx.cancel.is_cancelled() {
                return Err(interrupted_error());
            }
            let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
            let shown: Vec<&str> = files.iter().map(|file| file.shown.as_str()).collect();
            let label = format!("patched {}", shown.join(", "));
            cx.record_change((Self::NAME, &label), (&paths, SnapshotScope::Contents), || {
                write_all(&files, &cx.place)
            })?;
            let reports = files
                .iter()
                .map(|file| format!("{} {}\n{}", file.verb(), file.shown, as_text(&file.lines())));
            let report = reports.collect::<Vec<_>>().join("\n");
            let Some(first) = files.first() else { return Err(terminal("the patch is empty")) };
            let mut output = cx.output_from(&first.path, report);
            for file in &files {
                let now = match &file.new {
                    Some(new) => version(&new.bytes),
                    None => Present::Absent.version(),
                };
                output = output.seeing(resource(&file.path), now);
            }
            Ok(output)
        })
        .await
    }
}

/// Writes all files; if one fails, those before it get their old content back.
fn write_all(files: &[PatchedFile], place: &ToolPath) -> Result<(), ToolError> {
    for (done, file) in files.iter().enumerate() {
        let Err(error) = file.put(place, file.new.as_ref().map(|new| new.bytes.as_slice())) else { continue };
        let mut broken = Vec::new();
        for earlier in files.iter().take(done).rev() {
            let old = match &earlier.old {
                Present::Absent => None,
                Present::File { bytes, .. } => Some(bytes.as_slice()),
            };
            if earlier.put(place, old).is_err() {
                broken.push(earlier.shown.as_str());
            }
        }
        let rest = match broken.as_slice() {
            [] => "nothing was changed".to_owned(),
            broken => format!("these could not be changed back: {}", broken.join(", ")),
        };
        return Err(terminal(format!("{} could not be written: {error}; {rest}", file.shown)));
    }
    Ok(())
}

/// Returns the files that a patch names, for people; `None` if it is no patch.
#[must_use]
pub fn patched_files(patch: &str) -> Option<String> {
    let files = parse::parse(patch).ok()?;
    Some(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(", "))
}

/// Returns all files as they will be. Errs with every fault of the patch.
fn files_after(patch: &str, place: &ToolPath, seen: &SeenVersions) -> Result<Vec<PatchedFile>, ToolError> {
    let parsed = parse::parse(patch).map_err(misuse)?;
    let (mut files, mut faults, mut named) = (Vec::new(), Vec::new(), BTreeSet::new());
    for one in &parsed {
        match patched_one(one, place, seen) {
            Ok(made) => {
                for file in made {
                    if !named.insert(file.path.clone()) {
                        faults.push(format!(
                            "{} is in the patch twice; put all its changes into one part",
                            file.shown
                        ));
                    }
                    files.push(file);
                }
            }
            Err(ToolError::Misuse(hint)) => faults.push(hint),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() {
        Ok(files)
    } else {
        Err(misuse(format!("nothing was changed: {}", faults.join("; "))))
    }
}

fn patched_one(
    one: &FilePatch,
    place: &ToolPath,
    seen: &SeenVersions,
) -> Result<Vec<PatchedFile>, ToolError> {
    let path = place.writable(&one.path)?;
    let shown = place.display(&path);
    let old = present(place, &path)?;
    let stat = place.base().and_then(|base| base.look(place.relative(&path))).ok().flatten();
    let mode = stat.map(|stat| stat.st_mode & 0o7777);
    let new = match (&old, &one.kind) {
        (Present::File { .. }, PatchKind::Add) => {
            return Err(misuse(format!("{shown} exists already; change it instead of adding it")));
        }
        (Present::Absent, PatchKind::Add) => fit::apply("", &one.hunks),
        (Present::Absent, _) => return Err(not_found(&path, &shown)),
        (Present::File { .. }, kind) => {
            check_seen(seen, &path, &old, &shown)?;
            match kind {
                PatchKind::Delete => Ok(String::new()),
                _ => fit::apply(&old.text(&shown)?.0, &one.hunks),
            }
        }
    };
    let new = new.map_err(|fault| misuse(format!("{shown}: {fault}")))?;
    let new = NewText::new(new, old.text(&shown)?.1, &shown)?;
    if new.bytes.len() as u64 > MAX_CHANGED {
        return Err(misuse(format!("{shown} would have more than {MAX_CHANGED} bytes")));
    }
    Ok(match &one.kind {
        PatchKind::Add | PatchKind::Change => {
            if matches!(&old, Present::File { bytes, .. } if *bytes == new.bytes) {
                return Err(misuse(format!("{shown}: the patch changes nothing")));
            }
            vec![PatchedFile { path, shown, old, new: Some(new), mode }]
        }
        PatchKind::Delete => vec![PatchedFile { path, shown, old, new: None, mode }],
        PatchKind::Move { to } => {
            let to = place.writable(to)?;
            let to_shown = place.display(&to);
            let there = present(place, &to)?;
            if there != Present::Absent {
                return Err(misuse(format!("{to_shown} exists already; nothing is moved there")));
            }
            vec![
                PatchedFile { path: to, shown: to_shown, old: there, new: Some(new), mode },
                PatchedFile { path, shown, old, new: None, mode },
            ]
        }
    })
}
