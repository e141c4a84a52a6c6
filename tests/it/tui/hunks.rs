//! A change without some of its hunks: planned by the real tools against a real file, it does just what was kept.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use co::stdx::fs::fingerprint;
use co::tool::builtin::{EditFile, ToolAdapter, WriteFile, text_args};
use co::tool::diff::split_lines;
use co::tool::hunks::{Parts, count};
use co::tool::{CallPlan, DiffKind, DiffLine, PlanContext, Preview, Resource, Tool, Version};
use proptest::prelude::*;
use serde_json::{Value, json};

const FILE: &str = "a.txt";

/// A workspace with one file that the model has read.
struct HunkFixture {
    root: tempfile::TempDir,
    old: String,
}

impl HunkFixture {
    fn new(old: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(FILE), old).unwrap();
        Self { root, old: old.to_owned() }
    }

    fn plan(&self, tool: &str, args: &Value) -> Option<CallPlan> {
        let workspace = Path::canonicalize(self.root.path()).unwrap();
        let seen =
            (Resource(workspace.join(FILE).display().to_string()), Version(fingerprint(self.old.as_bytes())));
        let cx = PlanContext {
            spill: workspace.join("spill"),
            workspace,
            own: Arc::new([]),
            seen: Arc::new([seen].into()),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime
            .block_on(async {
                match tool {
                    "write_file" => ToolAdapter::new(WriteFile, 1_000).plan(args, &cx).await,
                    _ => ToolAdapter::new(EditFile, 1_000).plan(args, &cx).await,
                }
            })
            .ok()
    }
}

fn lines(plan: &CallPlan) -> &[DiffLine] {
    if let Preview::Diff { lines, .. } = &plan.preview { lines } else { &[] }
}

/// Applies the arguments to the old text.
fn result(tool: &str, old: &str, args: &Value) -> String {
    let text = |name: &str| args[name].as_str().unwrap().to_owned();
    if tool == "write_file" {
        return text("content");
    }
    let (before, after) = (text("old"), text("new"));
    if old.contains("\r\n") {
        return old.replacen(&before.replace('\n', "\r\n"), &after.replace('\n', "\r\n"), 1);
    }
    old.replacen(&before, &after, 1)
}

/// The old text with the hunks of a preview that are not skipped, by line numbers alone.
fn patched(old: &str, new: &str, lines: &[DiffLine], skipped: &BTreeSet<usize>) -> String {
    let (old, new) = (split_lines(old), split_lines(new));
    let mut out = String::new();
    let (mut hunk, mut at, mut shift) = (0, 0, 0_isize);
    for line in lines {
        match line.kind {
            DiffKind::Hunk => hunk += 1,
            DiffKind::Context => {}
            DiffKind::Removed => {
                out.push_str(&old[at..line.number - 1].concat());
                at = line.number;
                shift -= 1;
                if skipped.contains(&hunk) {
                    out.push_str(old[line.number - 1]);
                }
            }
            DiffKind::Added => {
                let place = usize::try_from(line.number as isize - 1 - shift).unwrap();
                if place > at {
                    out.push_str(&old[at..place].concat());
                    at = place;
                }
                shift += 1;
                if !skipped.contains(&hunk) {
                    out.push_str(new[line.number - 1]);
                }
            }
        }
    }
    out + &old[at..].concat()
}

/// Lines that a plan changes, without their numbers, which earlier hunks move.
fn changed(lines: &[DiffLine], skipped: &BTreeSet<usize>) -> Vec<(DiffKind, String)> {
    let mut hunk = 0;
    let mut changed = Vec::new();
    for line in lines {
        hunk += usize::from(line.kind == DiffKind::Hunk);
        let is_change = matches!(line.kind, DiffKind::Added | DiffKind::Removed);
        if is_change && !skipped.contains(&hunk) {
            changed.push((line.kind, line.text.clone()));
        }
    }
    changed
}

/// Whether the texts hold every line only once.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LineUniqueness {
    Distinct,
    Any,
}

/// Leaves out hunks and compares; gives how many choices there were.
fn check(tool: &str, old: &str, args: &Value, texts: LineUniqueness) -> usize {
    let place = HunkFixture::new(old);
    let Some(plan) = place.plan(tool, args) else { return 0 };
    let hunks = count(lines(&plan));
    let Some(parts) = Parts::of(text_args(tool), args, &plan) else { return 0 };
    let new = result(tool, old, args);
    for choice in 0..(1_usize << hunks.min(5)) - 1 {
        let skipped: BTreeSet<usize> = (1..=hunks).filter(|hunk| choice >> (hunk - 1) & 1 == 1).collect();
        let kept = parts.without(&skipped, args);
        let expected = patched(old, &new, lines(&plan), &skipped);
        assert_eq!(result(tool, old, &kept), expected, "{tool} {args} without {skipped:?}");
        let again = place.plan(tool, &kept).unwrap();
        if texts == LineUniqueness::Distinct {
            let (is, should) = (changed(lines(&again), &BTreeSet::new()), changed(lines(&plan), &skipped));
            assert_eq!(is, should, "{tool} {args} without {skipped:?}");
        }
    }
    hunks
}

fn edit(old: &str, new: &str) -> Value {
    json!({ "path": FILE, "old": old, "new": new })
}

fn write(content: &str) -> Value {
    json!({ "path": FILE, "content": content })
}

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn hunks_are_left_out_where_that_is_certain() {
    let long = numbered(40);
    let changed =
        long.replace("line 3\n", "three\n").replace("line 20\n", "").replace("line 38\n", "line 38\nnew\n");
    let mixed = long.replace("line 3\n", "line 3\r\n");
    let crlf = long.replace('\n', "\r\n");
    let piece = |from: usize, to: usize| {
        long.split_inclusive('\n').skip(from - 1).take(to + 1 - from).collect::<String>()
    };
    let inner = piece(2, 30);
    let edited = inner.replace("line 5\n", "five\n").replace("line 25\n", "");
    let cut = |text: &str| text.strip_prefix("li").unwrap().strip_suffix("30\n").unwrap().to_owned();
    let top = format!("new first\n{}", inner.replace("line 25\n", "25\n"));
    let cases: Vec<(&str, &str, &str, Value, usize)> = vec![
        ("a whole text", "write_file", &long, write(&changed), 3),
        ("CR LF", "write_file", &crlf, write(&changed.replace('\n', "\r\n")), 3),
        ("no end at the end", "write_file", long.trim_end(), write(&format!("first\n{long}")), 2),
        ("no end any more", "write_file", &long, write(format!("first\n{long}").trim_end()), 2),
        ("one hunk", "write_file", &long, write(&long.replace("line 3\n", "three\n")), 0),
        ("ends of both kinds", "write_file", &mixed, write(&changed), 0),
        ("a new file's", "write_file", "", write(&changed), 0),
        ("a piece", "edit_file", &long, edit(&inner, &edited), 2),
        ("a piece in CR LF", "edit_file", &crlf, edit(&inner, &edited), 2),
        ("a piece of lines' parts", "edit_file", &long, edit(&cut(&inner), &cut(&edited)), 2),
        ("before the piece", "edit_file", &long, edit(&inner, &top), 2),
        ("one occurrence", "edit_file", &long, edit("line 3\n", "three\n"), 0),
        (
            "all occurrences",
            "edit_file",
            &long,
            json!({ "path": FILE, "old": "ne 1", "new": "x", "all": true }),
            0,
        ),
    ];
    for (name, tool, old, args, hunks) in cases {
        assert_eq!(check(tool, old, &args, LineUniqueness::Distinct), hunks, "{name}");
    }
    let plan = HunkFixture::new(&long).plan("write_file", &write(&changed)).unwrap();
    assert_eq!(Parts::of(text_args("shell"), &write(&changed), &plan), None, "another tool");
    let mut moved = plan.clone();
    moved.basis[0].1 = Version("another".to_owned());
    assert_eq!(Parts::of(text_args("write_file"), &write(&changed), &moved), None, "another file");
}

/// Edits of one line each.
fn edits(lines: Vec<String>, edits: &[(usize, u8)]) -> Vec<String> {
    let mut lines = lines;
    for (count, (at, what)) in edits.iter().enumerate() {
        if lines.is_empty() {
            break;
        }
        let at = at % lines.len();
        match what % 3 {
            0 => lines[at] = format!("changed {count}"),
            1 => lines.insert(at, format!("inserted {count}")),
            _ => drop(lines.remove(at)),
        }
    }
    lines
}

fn joined(lines: &[String], end: &str, last: bool) -> String {
    let mut text = lines.join(end);
    if last {
        text.push_str(end);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Texts of distinct lines: the very lines of the hunks that were kept are changed again.
    #[test]
    fn distinct_lines(
        size in 20_usize..60,
        changes in prop::collection::vec((0_usize..60, any::<u8>()), 2..6),
        ends in (any::<bool>(), any::<bool>(), any::<bool>()),
        window in (0_usize..10, 0_usize..10),
        parts in any::<bool>(),
    ) {
        let end = if ends.0 { "\r\n" } else { "\n" };
        let old: Vec<String> = (0..size).map(|number| format!("line {number}")).collect();
        let new = edits(old.clone(), &changes);
        check("write_file", &joined(&old, end, ends.1), &write(&joined(&new, end, ends.2)), LineUniqueness::Distinct);
        let (from, to) = (window.0, size - window.1);
        let inner = edits(old[from..to].to_vec(), &changes);
        let (mut before, mut after) = (joined(&old[from..to], "\n", ends.2), joined(&inner, "\n", ends.2));
        if parts && before.starts_with("li") && after.starts_with("li") {
            (before, after) = (before.split_off(2), after.split_off(2));
        }
        check("edit_file", &joined(&old, end, true), &edit(&before, &after), LineUniqueness::Distinct);
    }

    /// Texts in which lines repeat: whatever is offered gives the right text.
    #[test]
    fn lines_that_repeat(
        old in prop::collection::vec("[a-e]", 8..60),
        changes in prop::collection::vec((0_usize..60, any::<u8>(), "[a-e]"), 1..6),
        window in (0_usize..12, 0_usize..12),
        last in any::<bool>(),
    ) {
        let lines: Vec<String> = old.clone();
        let mut new = lines.clone();
        for (at, what, text) in &changes {
            let at = at % new.len().max(1);
            match what % 3 {
                0 if at < new.len() => new[at] = text.clone(),
                1 => new.insert(at.min(new.len()), text.clone()),
                _ if at < new.len() => drop(new.remove(at)),
                _ => {}
            }
        }
        let whole = joined(&lines, "\n", last);
        check("write_file", &whole, &write(&joined(&new, "\n", last)), LineUniqueness::Any);
        // A piece that occurs once, with repeating lines in and around it.
        let (from, to) = (window.0.min(lines.len()), lines.len().saturating_sub(window.1).max(window.0.min(lines.len())));
        let file = format!("{}only\n{}\nb\na\nb\n", joined(&lines[..from], "\n", true), joined(&lines[from..to], "\n", true));
        let before = format!("only\n{}", joined(&lines[from..to], "\n", true));
        let after = format!("only\n{}", joined(&new, "\n", true));
        check("edit_file", &file, &edit(&before, &after), LineUniqueness::Any);
    }
}
