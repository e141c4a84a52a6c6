//! A file change as lines with numbers, signs and colours; long lines wrap. Here old and new lines are below one
//! another; `split` puts them side by side and chooses between the two. If hunks can be skipped, each head shows the
//! choice.

use similar::{ChangeTag, TextDiff};

use crate::stdx::text::expand_tabs;
use crate::tool::{DiffKind, DiffLine, diff};
use crate::tui::hunks::{Hunks, Sides};
use crate::tui::line::{Ink, Line, Margin, Span, wrap_exact, wrap_pieces};
use crate::tui::theme::{Glyphs, Role};

/// Old and new are side by side by default from `WIDE` columns on, and never below `LEAST_SPLIT`.
const WIDE: usize = 120;
pub const LEAST_SPLIT: usize = 80;

/// Limits for comparing words: the changed lines in one place, and the bytes of such a line.
const MOST_COMPARED: usize = 40;
const LONGEST_COMPARED: usize = 1_000;

/// Cells for the choice in a hunk's head.
const CHOICE: usize = 12;

/// Lines added and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
}

pub fn counts(lines: &[DiffLine]) -> Counts {
    let (added, removed) = diff::counts(lines);
    Counts { added, removed }
}

/// Whether old and new are side by side at this many columns.
pub fn is_split(sides: Sides, columns: usize) -> bool {
    match sides {
        Sides::Fitting => columns >= WIDE,
        Sides::Split => columns >= LEAST_SPLIT,
        Sides::Unified => false,
    }
}

/// A laid-out diff.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    pub lines: Vec<Line>,
    /// The indices of the lines that are heads of hunks.
    pub hunks: Vec<usize>,
}

/// How a diff is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub width: usize,
    pub hunks: &'a Hunks,
    pub glyphs: &'static Glyphs,
}

pub fn unified(diff: &[DiffLine], layout: &Layout<'_>) -> Page {
    let mut page = Page::default();
    let digits = digits(diff);
    for piece in pieces(diff) {
        match piece {
            DiffPiece::Head { hunk, line } => page.head(hunk, line, layout),
            DiffPiece::Same { line, .. } => {
                let row = DiffRow { number: line.number, sign: " ", role: Role::Text, words: whole(line) };
                page.lines.extend(row.lines(layout.width, digits));
            }
            DiffPiece::Changed { hunk, old, new } => {
                let [removed, added] = roles(layout.hunks, hunk);
                let (old_words, new_words) = compared(&old, &new);
                for (line, words) in old.iter().zip(old_words) {
                    let row = DiffRow { number: line.number, sign: "-", role: removed, words };
                    page.lines.extend(row.lines(layout.width, digits));
                }
                for (line, words) in new.iter().zip(new_words) {
                    let row = DiffRow { number: line.number, sign: "+", role: added, words };
                    page.lines.extend(row.lines(layout.width, digits));
                }
            }
        }
    }
    page
}

/// A part of a diff that is drawn as a unit.
pub(super) enum DiffPiece<'a> {
    Head { hunk: usize, line: &'a DiffLine },
    Same { line: &'a DiffLine, old_number: usize },
    Changed { hunk: usize, old: Vec<&'a DiffLine>, new: Vec<&'a DiffLine> },
}

pub(super) fn pieces(diff: &[DiffLine]) -> Vec<DiffPiece<'_>> {
    let mut pieces = Vec::new();
    let (mut hunk, mut added, mut removed) = (0, 0, 0);
    for line in diff {
        match (line.kind, pieces.last_mut()) {
            (DiffKind::Hunk, _) => {
                hunk += 1;
                pieces.push(DiffPiece::Head { hunk, line });
            }
            (DiffKind::Context, _) => {
                let old_number = (line.number + removed).saturating_sub(added);
                pieces.push(DiffPiece::Same { line, old_number });
            }
            (DiffKind::Removed, Some(DiffPiece::Changed { old, .. })) => old.push(line),
            (DiffKind::Added, Some(DiffPiece::Changed { new, .. })) => new.push(line),
            (DiffKind::Removed, _) => {
                pieces.push(DiffPiece::Changed { hunk, old: vec![line], new: Vec::new() });
            }
            (DiffKind::Added, _) => {
                pieces.push(DiffPiece::Changed { hunk, old: Vec::new(), new: vec![line] });
            }
        }
        added += usize::from(line.kind == DiffKind::Added);
        removed += usize::from(line.kind == DiffKind::Removed);
    }
    pieces
}

/// Returns the roles of removed and of added lines; a skipped hunk changes nothing and is dimmed.
pub(super) fn roles(hunks: &Hunks, hunk: usize) -> [Role; 2] {
    if hunks.is_skipped(hunk) == Some(true) { [Role::Dim; 2] } else { [Role::Removed, Role::Added] }
}

/// Returns the width of the line numbers, in cells.
pub(super) fn digits(diff: &[DiffLine]) -> usize {
    diff.iter().map(|line| line.number).max().unwrap_or(0).to_string().len().max(3)
}

impl Page {
    /// Adds the head of a hunk, with its choice at the right.
    pub(super) fn head(&mut self, hunk: usize, line: &DiffLine, layout: &Layout<'_>) {
        self.hunks.push(self.lines.len());
        let span = Span::new(format!("@@ {}", line.text), Role::Dim);
        let choice = match layout.hunks.is_skipped(hunk) {
            None => return self.lines.extend(wrap_exact(&span, layout.width, &Margin::default())),
            Some(false) => (Line::of(format!("[{hunk}]"), Role::Key), Line::of(" keep", Role::Text)),
            Some(true) => (Line::of(format!("[{hunk}]"), Role::Key), Line::of(" skip", Role::Waiting)),
        };
        let here = if layout.hunks.here() == hunk { layout.glyphs.folded } else { " " };
        let choice = Line::of(here, Role::Key).joined(choice.0).joined(choice.1);
        let mut lines = wrap_exact(&span, layout.width.saturating_sub(CHOICE), &Margin::default());
        if let Some(first) = lines.first_mut() {
            *first = Line::spread(std::mem::take(first), choice, layout.width);
        }
        self.lines.extend(lines);
    }
}

/// One line of one side.
pub(super) struct DiffRow {
    pub number: usize,
    pub sign: &'static str,
    pub role: Role,
    pub words: Vec<Word>,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Word {
    text: String,
    /// Whether it differs from the other line.
    differs: bool,
}

impl DiffRow {
    pub fn lines(&self, width: usize, digits: usize) -> Vec<Line> {
        let number = if digits > 0 { format!("{:>digits$} ", self.number) } else { String::new() };
        let first = Line::of(&number, Role::Dim).with(format!("{} ", self.sign), self.role);
        let rest = Line::of(" ".repeat(number.len() + 2), Role::Text);
        let ink = |word: &Word| Ink { bold: word.differs, underline: word.differs, ..Ink::of(self.role) };
        let spans: Vec<Span> = self.words.iter().map(|word| Span::inked(&word.text, ink(word))).collect();
        wrap_pieces(spans, width, &Margin::new(first, rest))
    }
}

fn shown(line: &DiffLine) -> String {
    match line.text.strip_suffix('\r') {
        Some(text) => expand_tabs(&format!("{text}␍")).into_owned(),
        None => expand_tabs(&line.text).into_owned(),
    }
}

pub(super) fn whole(line: &DiffLine) -> Vec<Word> {
    vec![Word { text: shown(line), differs: false }]
}

/// Returns the words of both sides; if as many lines were removed as added, differing words are marked.
pub(super) fn compared(old: &[&DiffLine], new: &[&DiffLine]) -> (Vec<Vec<Word>>, Vec<Vec<Word>>) {
    let plain = |lines: &[&DiffLine]| lines.iter().map(|line| whole(line)).collect::<Vec<_>>();
    if old.len() != new.len() || old.len() > MOST_COMPARED {
        return (plain(old), plain(new));
    }
    old.iter().zip(new).map(|(old, new)| words(old, new)).unzip()
}

fn words(old: &DiffLine, new: &DiffLine) -> (Vec<Word>, Vec<Word>) {
    let (before, after) = (shown(old), shown(new));
    if before.len().max(after.len()) > LONGEST_COMPARED {
        return (whole(old), whole(new));
    }
    let diff = TextDiff::from_unicode_words(before.as_str(), after.as_str());
    // If lines have little in common, marking words is not useful.
    if diff.ratio() < 0.5 {
        return (whole(old), whole(new));
    }
    let side = |other: ChangeTag| -> Vec<Word> {
        diff.iter_all_changes()
            .filter(|change| change.tag() != other)
            .map(|change| Word { text: change.value().to_owned(), differs: change.tag() != ChangeTag::Equal })
            .collect()
    };
    (side(ChangeTag::Insert), side(ChangeTag::Delete))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_numbered_and_marked() {
        let line = |kind, number, text: &str| DiffLine { kind, number, text: text.to_owned() };
        let diff = [
            line(DiffKind::Hunk, 9, "fn main"),
            line(DiffKind::Context, 9, "same"),
            line(DiffKind::Removed, 10, "old\u{202e}"),
            line(DiffKind::Added, 10, "a new line that is long"),
        ];
        let hunks = Hunks::default();
        let layout = Layout { width: 18, hunks: &hunks, glyphs: &Glyphs::UNICODE };
        let page = unified(&diff, &layout);
        let text: Vec<String> = page.lines.iter().map(Line::text).collect();
        assert_eq!(
            text,
            ["@@ fn main", "  9   same", " 10 - old<U+202E>", " 10 + a new line t", "      hat is long",]
        );
        assert_eq!(page.hunks, [0]);
        assert_eq!(counts(&diff), Counts { added: 1, removed: 1 });
    }

    #[test]
    fn words_that_differ_are_told_where_the_rest_is_alike() {
        let line = |text: &str| DiffLine { kind: DiffKind::Added, number: 1, text: text.to_owned() };
        let differing = |old: &str, new: &str| {
            let (old, new) = words(&line(old), &line(new));
            let text = |words: Vec<Word>| {
                words.into_iter().filter(|word| word.differs).map(|word| word.text).collect::<String>()
            };
            (text(old), text(new))
        };
        assert_eq!(differing("the PO is 4471", "the PO is 4472"), ("4471".to_owned(), "4472".to_owned()));
        assert_eq!(differing("nothing", "alike here at all"), (String::new(), String::new()));
    }
}
