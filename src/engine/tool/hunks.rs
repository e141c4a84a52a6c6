//! Derives the arguments of a file change without some of its hunks, from a call's arguments and preview.
//!
//! It never guesses. [`Parts::of`] returns a result only if it is certain which lines the new arguments leave
//! unchanged: for `write_file`, the old text reconstructed from the preview must have the fingerprint that
//! the plan depends on; for `edit_file`, the position of the piece in the file must follow from the preview
//! alone. Pure; called by the approval card.

mod piece;

use std::collections::BTreeSet;

use serde_json::Value;

use super::diff::{bare, split_lines};
use super::{CallPlan, DiffKind, DiffLine, Preview, TextArgs, TextKind};
use crate::stdx::fs::fingerprint;

/// A new text, split into unchanged parts and the changes of each hunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// The argument that has the new text.
    field: &'static str,
    steps: Vec<HunkStep>,
    count: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum HunkStep {
    Same(String),
    /// A change that belongs to the hunk of this number, from 1.
    Changed {
        hunk: usize,
        old: String,
        new: String,
    },
}

/// A run of changed lines in a preview.
#[derive(Debug, Clone, PartialEq, Default)]
struct Block<'a> {
    hunk: usize,
    /// Its line numbers in the old and the new text, from 1.
    old_at: usize,
    new_at: usize,
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

impl Parts {
    /// Returns the hunks of a call with these text arguments that can be skipped individually; `None` if there are fewer than two, or
    /// if the effect of the resulting call is not certain.
    pub fn of(texts: TextArgs, args: &Value, plan: &CallPlan) -> Option<Self> {
        let Preview::Diff { lines, .. } = &plan.preview else { return None };
        let count = count(lines);
        if count < 2 {
            return None;
        }
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let (field, steps) = match *texts {
            [(field, TextKind::File)] => (field, whole_text_steps(lines, text(field)?, plan)?),
            [(old, TextKind::Old), (new, TextKind::New)]
                if args.get("all").is_none_or(|all| *all != Value::Bool(true)) =>
            {
                (new, piece::steps(lines, text(old)?, text(new)?)?)
            }
            _ => return None,
        };
        Some(Self { field, steps, count })
    }

    /// Returns the number of hunks.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the arguments for all but the hunks of these numbers, counted from 1.
    pub fn without(&self, skipped: &BTreeSet<usize>, args: &Value) -> Value {
        let text = self.text(|hunk| skipped.contains(&hunk));
        let mut args = args.clone();
        if let Some(field) = args.get_mut(self.field) {
            *field = Value::String(text);
        }
        args
    }

    fn text(&self, is_skipped: impl Fn(usize) -> bool) -> String {
        let mut text = String::new();
        for step in &self.steps {
            text.push_str(match step {
                HunkStep::Same(same) => same,
                HunkStep::Changed { hunk, old, .. } if is_skipped(*hunk) => old,
                HunkStep::Changed { new, .. } => new,
            });
        }
        text
    }
}

/// Returns the number of hunks of a preview.
pub fn count(lines: &[DiffLine]) -> usize {
    lines.iter().filter(|line| line.kind == DiffKind::Hunk).count()
}

/// Returns the number of hunks that were asked for, if `applied` is some of them and not all.
pub fn asked_hunks(asked: &Preview, applied: &[DiffLine]) -> Option<usize> {
    let Preview::Diff { lines, .. } = asked else { return None };
    let of = changes(lines);
    let mut rest = of.iter();
    let some = changes(applied);
    let are_of_it = some.iter().all(|hunk| rest.any(|one| one == hunk));
    (are_of_it && some.len() < of.len()).then_some(of.len())
}

/// Returns the changed lines of each hunk, without their numbers.
fn changes(lines: &[DiffLine]) -> Vec<Vec<(DiffKind, &str)>> {
    let mut hunks = Vec::new();
    for line in lines {
        match line.kind {
            DiffKind::Hunk => hunks.push(Vec::new()),
            DiffKind::Context => {}
            DiffKind::Added | DiffKind::Removed => {
                hunks
                    .last_mut()
                    .into_iter()
                    .for_each(|hunk: &mut Vec<_>| hunk.push((line.kind, line.text.as_str())));
            }
        }
    }
    hunks
}

/// Returns the runs of changed lines, in order.
fn blocks(lines: &[DiffLine]) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut hunk, mut old_at, mut new_at) = (0, 1, 1);
    let mut open = false;
    for line in lines {
        match line.kind {
            DiffKind::Hunk => {
                hunk += 1;
                // Between hunks both texts are equal, so both line numbers advance by the same amount.
                old_at += line.number.saturating_sub(new_at);
                new_at = line.number;
                open = false;
            }
            DiffKind::Context => {
                (old_at, new_at) = (old_at + 1, new_at + 1);
                open = false;
            }
            DiffKind::Added | DiffKind::Removed => {
                if !open {
                    blocks.push(Block { hunk, old_at, new_at, ..Block::default() });
                    open = true;
                }
                let Some(block) = blocks.last_mut() else { continue };
                if line.kind == DiffKind::Added {
                    block.new.push(&line.text);
                    new_at += 1;
                } else {
                    block.old.push(&line.text);
                    old_at += 1;
                }
            }
        }
    }
    blocks
}

/// Returns the steps of a whole new text, if the old text that they imply is the one the plan depends on.
fn whole_text_steps(lines: &[DiffLine], content: &str, plan: &CallPlan) -> Option<Vec<HunkStep>> {
    let [(_, version)] = plan.basis.as_slice() else { return None };
    let new = split_lines(content);
    let blocks = blocks(lines);
    for end in ["\n", "\r\n"] {
        for last in [end, ""] {
            let steps = whole_with(&blocks, &new, end, last)?;
            let parts = Parts { field: "", steps, count: 0 };
            if fingerprint(parts.text(|_| true).as_bytes()) == version.0 {
                return Some(parts.steps);
            }
        }
    }
    None
}

/// The same, assuming `end` as the end of the old lines and `last` as that of the last line of the file.
fn whole_with(blocks: &[Block<'_>], new: &[&str], end: &str, last: &str) -> Option<Vec<HunkStep>> {
    let mut steps = Vec::new();
    let mut at = 0;
    for block in blocks {
        let from = block.new_at.checked_sub(1)?;
        let to = from + block.new.len();
        let changed = new.get(from..to)?;
        if !changed.iter().map(|line| bare(line)).eq(block.new.iter().copied()) {
            return None;
        }
        steps.push(HunkStep::Same(new.get(at..from)?.concat()));
        let mut old = block.old.join(end);
        if !block.old.is_empty() {
            old.push_str(if to == new.len() { last } else { end });
        }
        steps.push(HunkStep::Changed { hunk: block.hunk, old, new: changed.concat() });
        at = to;
    }
    steps.push(HunkStep::Same(new.get(at..)?.concat()));
    Some(steps)
}

#[cfg(test)]
mod tests {
    use super::super::diff::diff;
    use super::*;

    #[test]
    fn only_some_of_what_was_asked_is_some_of_it() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let with = |changed: &[&str]| {
            changed.iter().fold(old.clone(), |text, line| text.replace(&format!("\n{line}\n"), "\nx\n"))
        };
        let preview = Preview::Diff { path: "a".to_owned(), lines: diff(&old, &with(&["5", "20", "35"])) };
        for (applied, expected) in
            [(&["5", "20", "35"][..], None), (&["5", "35"], Some(3)), (&["20"], Some(3)), (&["21"], None)]
        {
            assert_eq!(asked_hunks(&preview, &diff(&old, &with(applied))), expected, "{applied:?}");
        }
        assert_eq!(asked_hunks(&Preview::None, &[]), None);
    }
}
