//! Reads a patch: a unified diff, also as git writes it, or the envelope from `*** Begin Patch`. Pure.

use super::fit::{Hunk, HunkLine};
use crate::tool::DiffKind;

/// The change of one file.
#[derive(Debug, PartialEq)]
pub struct FilePatch {
    pub path: String,
    pub kind: PatchKind,
    pub hunks: Vec<Hunk>,
}

#[derive(Debug, PartialEq)]
pub enum PatchKind {
    Add,
    Change,
    Delete,
    /// It is renamed, and changed if there are hunks.
    Move {
        to: String,
    },
}

const NOTHING: &str =
    "the patch names no file; begin each with `--- a/PATH` and `+++ b/PATH`, or use `*** Begin Patch`";

/// Errs with what is wrong with its form.
pub fn parse(patch: &str) -> Result<Vec<FilePatch>, String> {
    let text = strip_fence(patch);
    let is_envelope = text.lines().any(|line| line.trim_end() == "*** Begin Patch");
    let files = if is_envelope { envelope(text)? } else { parse_unified(text)? };
    if files.is_empty() {
        return Err(NOTHING.to_owned());
    }
    for file in &files {
        if file.kind == PatchKind::Change && file.hunks.is_empty() {
            return Err(format!("there are no changes for {}", file.path));
        }
    }
    Ok(files)
}

/// Returns a patch without a fence of Markdown around it.
fn strip_fence(patch: &str) -> &str {
    let text = patch.trim_start_matches('\n');
    let inner = text.strip_prefix("```").and_then(|rest| rest.split_once('\n')).map(|(_, rest)| rest);
    inner.and_then(|rest| rest.trim_end().strip_suffix("```")).unwrap_or(text)
}

fn envelope(text: &str) -> Result<Vec<FilePatch>, String> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut lines = text.lines().skip_while(|line| line.trim_end() != "*** Begin Patch").skip(1);
    let mut ended = false;
    for line in lines.by_ref() {
        let named = |prefix: &str| line.strip_prefix(prefix).map(|path| path.trim().to_owned());
        let begin = |path, kind| FilePatch { path, kind, hunks: Vec::new() };
        if line.trim_end() == "*** End Patch" {
            ended = true;
            break;
        }
        if let Some(path) = named("*** Update File: ") {
            files.push(begin(path, PatchKind::Change));
        } else if let Some(path) = named("*** Add File: ") {
            files.push(begin(path, PatchKind::Add));
        } else if let Some(path) = named("*** Delete File: ") {
            files.push(begin(path, PatchKind::Delete));
        } else if let Some(to) = named("*** Move to: ") {
            let file = files.last_mut().ok_or("`*** Move to:` stands before any file")?;
            file.kind = PatchKind::Move { to };
        } else if line.trim_end() == "*** End of File" {
            // The position of a piece follows from its text.
        } else {
            let file = files.last_mut().ok_or_else(|| format!("unexpected before any file: {line}"))?;
            if let Some(under) = line.strip_prefix("@@") {
                let under = under.trim().trim_end_matches("@@").trim();
                let under = (!under.is_empty() && !is_range(under)).then(|| under.to_owned());
                file.hunks.push(Hunk { under, ..Hunk::default() });
                continue;
            }
            if file.hunks.is_empty() {
                file.hunks.push(Hunk::default());
            }
            let hunk = file.hunks.last_mut().ok_or("a line stands outside of any file")?;
            hunk.lines.push(hunk_line(line)?);
        }
    }
    if ended { Ok(files) } else { Err("`*** End Patch` is missing; the patch may be cut off".to_owned()) }
}

/// Whether the text after `@@` is that of a unified diff.
fn is_range(text: &str) -> bool {
    text.starts_with('-') && text.contains('+') && text.chars().all(|c| " -+,0123456789".contains(c))
}

fn hunk_line(line: &str) -> Result<HunkLine, String> {
    let kind = match line.as_bytes().first() {
        Some(b'+') => DiffKind::Added,
        Some(b'-') => DiffKind::Removed,
        Some(b' ') => DiffKind::Context,
        // An empty line of context that lost its space.
        None => return Ok(HunkLine { kind: DiffKind::Context, text: String::new(), ends: true }),
        Some(_) => {
            return Err(format!("this line begins with neither ` `, `+` nor `-`: {line}"));
        }
    };
    Ok(HunkLine { kind, text: line.get(1..).unwrap_or_default().to_owned(), ends: true })
}

/// The head of a file in a unified diff.
#[derive(Default)]
struct Head {
    old: Option<String>,
    new: Option<String>,
    from: Option<String>,
    to: Option<String>,
    /// A line that says what no hunk says; something must follow that does.
    special: Option<String>,
}

fn parse_unified(text: &str) -> Result<Vec<FilePatch>, String> {
    let mut files: Vec<FilePatch> = Vec::new();
    let mut head = Head::default();
    let mut lines = text.lines().peekable();
    // How many lines of the old and the new file the hunk still has.
    let (mut old, mut new) = (0_usize, 0_usize);
    while let Some(line) = lines.next() {
        if line.starts_with("\\ No newline") {
            let hunk = files.last_mut().and_then(|file| file.hunks.last_mut());
            if let Some(last) = hunk.and_then(|hunk| hunk.lines.last_mut()) {
                last.ends = false;
            }
            continue;
        }
        if old > 0 || new > 0 {
            let read = hunk_line(line)?;
            match read.kind {
                DiffKind::Added => new = new.saturating_sub(1),
                DiffKind::Removed => old = old.saturating_sub(1),
                DiffKind::Context | DiffKind::Hunk => {
                    (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                }
            }
            let hunk = files.last_mut().and_then(|file| file.hunks.last_mut());
            hunk.ok_or("a line stands outside of any hunk")?.lines.push(read);
            continue;
        }
        if line.starts_with("diff --git ") {
            add_rename(&mut head, &mut files)?;
            head = Head::default();
        } else if line.starts_with("old mode ")
            || line.starts_with("Binary files ")
            || line == "GIT binary patch"
        {
            return Err(cannot(line));
        } else if line.starts_with("new file mode ") || line.starts_with("deleted file mode ") {
            head.special = Some(line.to_owned());
        } else if let Some(path) = line.strip_prefix("rename from ") {
            head.from = Some(path.to_owned());
        } else if let Some(path) = line.strip_prefix("rename to ") {
            head.to = Some(path.to_owned());
        } else if let (Some(path), true) =
            (line.strip_prefix("--- "), lines.peek().is_some_and(|next| next.starts_with("+++ ")))
        {
            head.old = Some(head_path(path));
        } else if let (Some(path), true) = (line.strip_prefix("+++ "), head.old.is_some()) {
            head.new = Some(head_path(path));
            files.push(head.file()?);
            head = Head::default();
        } else if line.starts_with("@@ ") {
            let file = files.last_mut().ok_or(NOTHING)?;
            let range =
                ranges(line).ok_or_else(|| format!("this is not `@@ -LINE,COUNT +LINE,COUNT @@`: {line}"))?;
            (old, new) = (range.1, range.2);
            file.hunks.push(Hunk { line: Some(range.0), ..Hunk::default() });
        } else if let (Some(file), Some(b'+' | b'-' | b' ')) = (files.last_mut(), line.as_bytes().first())
            && let Some(hunk) = file.hunks.last_mut()
        {
            // The counts of models are often wrong; the lines are what they mean.
            hunk.lines.push(hunk_line(line)?);
        }
    }
    add_rename(&mut head, &mut files)?;
    if old > 0 || new > 0 {
        // As above; but at the end nothing may be missing that a cut-off call would have had.
        let short = files.last().and_then(|file| file.hunks.last()).is_none_or(|hunk| hunk.lines.is_empty());
        if short {
            return Err("the last hunk has no lines; the patch may be cut off".to_owned());
        }
    }
    Ok(files)
}

fn cannot(line: &str) -> String {
    format!(
        "this part cannot be applied: {line}; empty and binary files and modes are changed with other tools"
    )
}

/// Adds the file of a head that is a rename only. Errs if the head says something else that no hunk follows.
fn add_rename(head: &mut Head, files: &mut Vec<FilePatch>) -> Result<(), String> {
    if let Some(line) = head.special.take() {
        return Err(cannot(&line));
    }
    if let (Some(path), Some(to)) = (head.from.take(), head.to.take()) {
        files.push(FilePatch { path, kind: PatchKind::Move { to }, hunks: Vec::new() });
    }
    Ok(())
}

impl Head {
    fn file(&mut self) -> Result<FilePatch, String> {
        let (old, new) = (self.old.take().unwrap_or_default(), self.new.take().unwrap_or_default());
        let (path, kind) = match (old.as_str(), new.as_str(), self.from.take(), self.to.take()) {
            (_, _, Some(from), Some(to)) => (from, PatchKind::Move { to }),
            ("/dev/null", "/dev/null", ..) => return Err(NOTHING.to_owned()),
            ("/dev/null", ..) => (new, PatchKind::Add),
            (_, "/dev/null", ..) => (old, PatchKind::Delete),
            (from, to, ..) if from != to => (old, PatchKind::Move { to: new }),
            _ => (new, PatchKind::Change),
        };
        Ok(FilePatch { path, kind, hunks: Vec::new() })
    }
}

/// Returns the path of a head line, without the prefix of git and the time.
fn head_path(text: &str) -> String {
    let path = text.split('\t').next().unwrap_or_default().trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    path.to_owned()
}

/// Returns the line at which a hunk begins in the old file, and how many lines it has in the old and the new one.
fn ranges(line: &str) -> Option<(usize, usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ ")?.split_once("@@")?;
    let mut parts = ranges.split_whitespace();
    let part = |text: &str| -> Option<(usize, usize)> {
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((line.parse().ok()?, count.parse().ok()?))
    };
    let (at, old) = part(parts.next()?.strip_prefix('-')?)?;
    let (_, new) = part(parts.next()?.strip_prefix('+')?)?;
    Some((at, old, new))
}
