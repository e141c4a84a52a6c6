//! The steps from the piece that `edit_file` replaces to its replacement.
//!
//! The piece is known entirely, the file is not. The position of the piece is found by comparing it with
//! every line that the preview shows; only one position may fit. The tool's diff has no change outside of the
//! piece's lines, so the true position is always among those tried: if exactly one fits, it is the true one.

use std::collections::BTreeMap;

use super::{Block, HunkStep, blocks};
use crate::tool::{DiffKind, DiffLine};

/// Both texts in lines; the first and the last one may be only part of a line of the file.
struct Pieces<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
}

/// Whether a piece of text begins or ends at a line boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Whole,
    Unknown,
}

pub fn steps(lines: &[DiffLine], old: &str, new: &str) -> Option<Vec<HunkStep>> {
    // Such line ends may be parts of others, which the preview does not show.
    if old.contains('\r') || new.contains('\r') {
        return None;
    }
    let pieces = Pieces { old: split(old), new: split(new) };
    let blocks = blocks(lines);
    let shown = PreviewLines::of(lines, &blocks);
    let first = blocks.first()?;
    let lowest = first.old_at.saturating_sub(pieces.old.len()).max(1);
    let mut places = (lowest..=first.old_at).filter(|at| fits(&pieces, &blocks, &shown, *at));
    let (place, None) = (places.next()?, places.next()) else { return None };
    let start = match shown.old.get(&place) {
        Some(text) if pieces.old.first().is_some_and(|line| bare(line) == *text) => Edge::Whole,
        Some(_) | None => Edge::Unknown,
    };
    cut(&pieces, &blocks, place, start)
}

/// Splits into lines with their ends; the text after the last end is also a line, even if it is empty.
fn split(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    if text.is_empty() || text.ends_with('\n') {
        lines.push("");
    }
    lines
}

fn bare(line: &str) -> &str {
    line.strip_suffix('\n').unwrap_or(line)
}

/// Lines of the old and of the new text that the preview shows, by number.
struct PreviewLines<'a> {
    old: BTreeMap<usize, &'a str>,
    new: BTreeMap<usize, &'a str>,
}

impl<'a> PreviewLines<'a> {
    fn of(lines: &'a [DiffLine], blocks: &[Block<'a>]) -> Self {
        let mut shown = Self { old: BTreeMap::new(), new: BTreeMap::new() };
        for block in blocks {
            let numbered = |at: usize, lines: &[&'a str]| {
                lines.iter().enumerate().map(|(index, text)| (at + index, *text)).collect::<Vec<_>>()
            };
            shown.old.extend(numbered(block.old_at, &block.old));
            shown.new.extend(numbered(block.new_at, &block.new));
        }
        for line in lines.iter().filter(|line| line.kind == DiffKind::Context) {
            shown.new.insert(line.number, &line.text);
            shown.old.insert(old_number(blocks, line.number), &line.text);
        }
        shown
    }
}

/// Returns the old number of an unchanged line of the new text.
fn old_number(blocks: &[Block<'_>], new: usize) -> usize {
    let before = blocks.iter().rev().find(|block| block.new_at + block.new.len() <= new);
    before.map_or(new, |block| block.old_at + block.old.len() + (new - block.new_at - block.new.len()))
}

/// Whether the pieces may begin at line `at` of both texts.
fn fits(pieces: &Pieces<'_>, blocks: &[Block<'_>], shown: &PreviewLines<'_>, at: usize) -> bool {
    let inside = |from: usize, count: usize, lines: &[&str]| from >= at && from + count <= at + lines.len();
    let all_inside = blocks.iter().all(|block| {
        inside(block.old_at, block.old.len(), &pieces.old)
            && inside(block.new_at, block.new.len(), &pieces.new)
    });
    all_inside
        && agrees(&pieces.old, &shown.old, at)
        && agrees(&pieces.new, &shown.new, at)
        && unchanged_is_same(pieces, blocks, at)
}

/// Whether every shown line equals the piece's line there; the piece's first and last lines may be partial.
fn agrees(piece: &[&str], shown: &BTreeMap<usize, &str>, at: usize) -> bool {
    shown.range(at..at + piece.len()).all(|(number, text)| {
        let index = number - at;
        let line = bare(piece[index]);
        match (index == 0, index + 1 == piece.len()) {
            (false, false) => *text == line,
            (true, false) => text.ends_with(line),
            (false, true) => text.starts_with(line),
            (true, true) => text.contains(line),
        }
    })
}

/// Whether both pieces are equal wherever no block changes them. If only one of two lines is at an end of its
/// piece, the file extends one but not the other: such lines need not be equal.
fn unchanged_is_same(pieces: &Pieces<'_>, blocks: &[Block<'_>], at: usize) -> bool {
    let (old, new) = (&pieces.old, &pieces.new);
    let ends = |index: usize, lines: &[&str]| (index == 0, index + 1 == lines.len());
    let same = |from: (usize, usize), to: (usize, usize)| {
        to.0.checked_sub(from.0) == to.1.checked_sub(from.1)
            && (from.0..to.0)
                .zip(from.1..to.1)
                .all(|(i, j)| ends(i, old) != ends(j, new) || old.get(i) == new.get(j))
    };
    let mut from = (0, 0);
    for block in blocks {
        let to = (block.old_at - at, block.new_at - at);
        if !same(from, to) {
            return false;
        }
        from = (to.0 + block.old.len(), to.1 + block.new.len());
    }
    same(from, (old.len(), new.len()))
}

/// Returns the steps, provided that every choice of them begins and ends with the right part of a line.
fn cut(pieces: &Pieces<'_>, blocks: &[Block<'_>], place: usize, start: Edge) -> Option<Vec<HunkStep>> {
    let mut steps = Vec::new();
    let mut from = (0, 0);
    for block in blocks {
        let to = (block.old_at - place, block.new_at - place);
        steps.push(HunkStep::Same(same(pieces, from, to)?));
        from = (to.0 + block.old.len(), to.1 + block.new.len());
        let old = pieces.old.get(to.0..from.0)?;
        let new = pieces.new.get(to.1..from.1)?;
        let at_start = to == (0, 0) && start == Edge::Unknown;
        let at_end = from == (pieces.old.len(), pieces.new.len());
        if (at_start || at_end) && (old.is_empty() || new.is_empty()) {
            return None;
        }
        steps.push(HunkStep::Changed { hunk: block.hunk, old: old.concat(), new: new.concat() });
    }
    steps.push(HunkStep::Same(same(pieces, from, (pieces.old.len(), pieces.new.len()))?));
    Some(steps)
}

/// Returns the text of both pieces between two positions, if it is identical.
fn same(pieces: &Pieces<'_>, from: (usize, usize), to: (usize, usize)) -> Option<String> {
    let old = pieces.old.get(from.0..to.0)?;
    (old == pieces.new.get(from.1..to.1)?).then(|| old.concat())
}
