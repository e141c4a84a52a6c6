//! Line-by-line comparison of two texts, for previews and for the model after a change. Pure.

use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff, group_diff_ops};

use crate::tool::{DiffKind, DiffLine};

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// The time limit for an optimal diff; after it, a coarser but still correct one is returned.
const PATIENCE: Duration = Duration::from_millis(500);

/// The number of bytes at either end known to be unchanged. The diff reports no change there, even if a
/// change could be expressed in several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnchangedEnds {
    pub head: usize,
    pub tail: usize,
}

/// Returns the changes from `old` to `new`, in hunks. Empty if the texts are equal.
pub fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    diff_inside(old, new, UnchangedEnds::default())
}

/// Like [`diff`], with changes only in lines that are not entirely in the `untouched` parts.
pub fn diff_inside(old: &str, new: &str, untouched: UnchangedEnds) -> Vec<DiffLine> {
    let (old, new) = (split_lines(old), split_lines(new));
    let head = whole_lines(old.iter(), untouched.head);
    let tail = whole_lines(old.iter().rev(), untouched.tail).min(old.len() - head);
    let (old_end, new_end) = (old.len() - tail, new.len().saturating_sub(tail));
    let (Some(old_inside), Some(new_inside)) = (old.get(head..old_end), new.get(head..new_end)) else {
        return Vec::new();
    };
    let inside = TextDiff::configure().timeout(PATIENCE).diff_slices(old_inside, new_inside);
    let mut ops = Vec::new();
    push(&mut ops, DiffOp::Equal { old_index: 0, new_index: 0, len: head });
    inside.ops().iter().for_each(|op| push(&mut ops, shift(*op, head)));
    push(&mut ops, DiffOp::Equal { old_index: old_end, new_index: new_end, len: tail });
    let mut lines = Vec::new();
    for group in group_diff_ops(ops, CONTEXT) {
        hunk(&group, &old, &new, &mut lines);
    }
    lines
}

fn hunk(group: &[DiffOp], old: &[&str], new: &[&str], lines: &mut Vec<DiffLine>) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
    let (old_start, new_start) = (first.old_range().start, first.new_range().start);
    let (old_len, new_len) = (last.old_range().end - old_start, last.new_range().end - new_start);
    let text = format!("-{},{old_len} +{},{new_len}", old_start + 1, new_start + 1);
    lines.push(DiffLine { kind: DiffKind::Hunk, number: new_start + 1, text });
    for change in group.iter().flat_map(|op| op.iter_changes(old, new)) {
        let (kind, index) = match change.tag() {
            ChangeTag::Equal => (DiffKind::Context, change.new_index()),
            ChangeTag::Insert => (DiffKind::Added, change.new_index()),
            ChangeTag::Delete => (DiffKind::Removed, change.old_index()),
        };
        let text = bare(change.value()).to_owned();
        lines.push(DiffLine { kind, number: index.map_or(1, |index| index + 1), text });
    }
}

/// Splits a text into lines as the diff counts them, each with its end: LF, CR LF, or CR.
pub fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let (line, after) =
            rest.split_at(if rest.as_bytes().get(at..at + 2) == Some(b"\r\n") { at + 2 } else { at + 1 });
        lines.push(line);
        rest = after;
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// Returns a line without its end, as stored in a [`DiffLine`].
pub fn bare(line: &str) -> &str {
    line.trim_end_matches(['\n', '\r'])
}

/// Returns how many of the lines are entirely within the first `bytes`.
fn whole_lines<'a>(lines: impl Iterator<Item = &'a &'a str>, bytes: usize) -> usize {
    let mut left = bytes;
    lines.take_while(|line| left.checked_sub(line.len()).map(|after| left = after).is_some()).count()
}

/// Appends an operation, merging adjacent equal stretches as grouping requires.
fn push(ops: &mut Vec<DiffOp>, op: DiffOp) {
    match (ops.last_mut(), op) {
        (_, DiffOp::Equal { len: 0, .. }) => {}
        (Some(DiffOp::Equal { len, .. }), DiffOp::Equal { len: more, .. }) => *len += more,
        (Some(_) | None, op) => ops.push(op),
    }
}

fn shift(op: DiffOp, by: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + by, new_index: new_index + by, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + by, old_len, new_index: new_index + by }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + by, new_index: new_index + by, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => {
            DiffOp::Replace { old_index: old_index + by, old_len, new_index: new_index + by, new_len }
        }
    }
}

/// Returns the numbers of added and removed lines.
pub fn counts(lines: &[DiffLine]) -> (usize, usize) {
    let of = |kind: DiffKind| lines.iter().filter(|line| line.kind == kind).count();
    (of(DiffKind::Added), of(DiffKind::Removed))
}

/// Formats the diff as unified diff text, without file names.
pub fn as_text(lines: &[DiffLine]) -> String {
    let marked = |line: &DiffLine| match line.kind {
        DiffKind::Hunk => format!("@@ {} @@", line.text),
        DiffKind::Context => format!(" {}", line.text),
        DiffKind::Added => format!("+{}", line.text),
        DiffKind::Removed => format!("-{}", line.text),
    };
    lines.iter().map(marked).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn diffs_are_hunks_with_context() {
        let long: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let cases = [
            ("a\nb\n", "a\nb\n", ""),
            ("", "a\nb\n", "@@ -1,0 +1,2 @@\n+a\n+b"),
            ("a\n", "", "@@ -1,1 +1,0 @@\n-a"),
            ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"),
            (&long, &long.replace("10\n", "ten\n"), "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13"),
        ];
        for (old, new, expected) in cases {
            assert_eq!(as_text(&diff(old, new)), expected, "{old:?} {new:?}");
        }
        let lines = diff("a\nb\nc\n", "a\nx\ny\nc\n");
        assert_eq!(counts(&lines), (2, 1));
        let numbers: Vec<usize> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 1, 2, 2, 3, 4]);
    }

    #[test]
    fn what_is_untouched_has_no_change() {
        let inside = |head, tail| {
            as_text(&diff_inside("a\nx\nx\nb\n", "a\nx\nx\nx\nb\n", UnchangedEnds { head, tail }))
        };
        assert_eq!(inside(2, 4), "@@ -1,4 +1,5 @@\n a\n x\n+x\n x\n b");
        assert_eq!(inside(2, 6), "@@ -1,4 +1,5 @@\n a\n+x\n x\n x\n b");
        assert_eq!(inside(0, 0), as_text(&diff("a\nx\nx\nb\n", "a\nx\nx\nx\nb\n")));
        // More bytes than there are must change nothing and cause no error.
        inside(99, 99);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_diff(text in "[ab\r\n]{0,20}") {
            let ours: String = split_lines(&text).concat();
            prop_assert_eq!(&ours, &text);
            for line in split_lines(&text) {
                prop_assert!(!bare(line).contains(['\r', '\n']));
            }
        }
    }
}
