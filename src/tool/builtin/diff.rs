//! Two texts compared by line, for previews and for what the model reads after a change. Pure.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use crate::tool::{DiffKind, DiffLine};

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// After this, a coarser but still true diff is taken.
const PATIENCE: Duration = Duration::from_millis(500);

/// The changes from `old` to `new`, in hunks. Empty when the texts are equal.
pub fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let (old_len, new_len) = (last.old_range().end - old_start, last.new_range().end - new_start);
        let text = format!("-{},{old_len} +{},{new_len}", old_start + 1, new_start + 1);
        lines.push(DiffLine { kind: DiffKind::Hunk, number: new_start + 1, text });
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let (kind, index) = match change.tag() {
                ChangeTag::Equal => (DiffKind::Context, change.new_index()),
                ChangeTag::Insert => (DiffKind::Added, change.new_index()),
                ChangeTag::Delete => (DiffKind::Removed, change.old_index()),
            };
            let text = change.value().trim_end_matches(['\n', '\r']).to_owned();
            lines.push(DiffLine { kind, number: index.map_or(1, |index| index + 1), text });
        }
    }
    lines
}

/// Lines added and lines removed.
pub fn counts(lines: &[DiffLine]) -> (usize, usize) {
    let of = |kind: DiffKind| lines.iter().filter(|line| line.kind == kind).count();
    (of(DiffKind::Added), of(DiffKind::Removed))
}

/// The diff as text in the usual form, without file names.
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
}
