//! A file change as lines with numbers, signs and colours; long lines wrap. Here old and new lines are below one
//! another; `split` puts them side by side and chooses between the two. If hunks can be skipped, each head shows the
//! choice. [`lay_out_change`] is for changes that were made.

use similar::{ChangeTag, TextDiff};

use crate::stdx::text::expand_tabs;
use crate::tool::{DiffKind, DiffLine, diff};
use crate::tui::copied::exactly;
use crate::tui::hunks::{Hunks, Sides};
use crate::tui::line::{Line, Margin, Span, TextStyle, wrap_pieces};
use crate::tui::markdown::{Highlighter, Language, Languages};
use crate::tui::theme::{BackgroundRole, Glyphs, Role};

/// Old and new are side by side by default from `WIDE` columns on, and never below `LEAST_SPLIT`.
const WIDE: usize = 120;
pub const LEAST_SPLIT: usize = 80;

/// Limits for comparing words: the changed lines in one place, and the bytes of such a line.
const MOST_COMPARED: usize = 40;
const LONGEST_COMPARED: usize = 1_000;

/// Cells for the choice in a hunk's head.
const CHOICE: usize = 12;

/// Draws the numbers of lines added and removed.
pub fn counts(lines: &[DiffLine]) -> Line {
    let (added, removed) = diff::counts(lines);
    Line::of(format!("+{added}"), Role::Added).with(format!(" -{removed}"), Role::Removed)
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

/// The colours of the code in a diff: its language, and those that are loaded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiffCode {
    pub language: Option<Language>,
    pub languages: Languages,
}

impl DiffCode {
    pub const PLAIN: Self = Self { language: None, languages: Languages::NONE };
}

/// How a diff is laid out.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub width: usize,
    pub hunks: &'a Hunks,
    pub glyphs: &'static Glyphs,
    pub code: DiffCode,
}

pub fn unified_page(diff: &[DiffLine], layout: &Layout<'_>) -> Page {
    let mut page = Page::default();
    let mut painter = DiffPainter::new(layout.code, digits(diff));
    for piece in pieces(diff) {
        match piece {
            DiffPiece::Head { hunk, line } => {
                painter.jump();
                page.head(hunk, line, layout);
            }
            DiffPiece::Same { line, .. } => {
                page.lines.extend(painter.lines(&DiffRow::same(line), layout.width));
            }
            DiffPiece::Changed { hunk, old, new } => {
                let (old, new) = change_rows(&old, &new, layout.hunks.is_skipped(hunk) == Some(true));
                for row in old.iter().chain(&new) {
                    page.lines.extend(painter.lines(row, layout.width));
                }
            }
        }
    }
    page
}

/// A laid-out change that was made.
#[derive(Default)]
pub struct LaidOutChange {
    pub lines: Vec<Line>,
    /// The number of lines of the diff that are not among them.
    pub hidden: usize,
}

/// Lays out a change that was made; from `most` lines on the rest is only counted.
pub fn lay_out_change(diff: &[DiffLine], code: DiffCode, width: usize, most: usize) -> LaidOutChange {
    let mut page = LaidOutChange::default();
    let mut painter = DiffPainter::new(code, digits(diff));
    let put = |row: &DiffRow<'_>, page: &mut LaidOutChange, painter: &mut DiffPainter| {
        if page.lines.len() < most {
            page.lines.extend(exactly(painter.lines(row, width), &row.line.text));
        } else {
            page.hidden += 1;
        }
    };
    for piece in pieces(diff) {
        match piece {
            DiffPiece::Head { hunk, .. } => {
                painter.jump();
                if hunk > 1 && page.lines.len() < most {
                    page.lines.push(Line::of("…", Role::Dim).ours());
                }
            }
            DiffPiece::Same { line, .. } => put(&DiffRow::same(line), &mut page, &mut painter),
            DiffPiece::Changed { old, new, .. } => {
                let (old, new) = change_rows(&old, &new, false);
                old.iter().chain(&new).for_each(|row| put(row, &mut page, &mut painter));
            }
        }
    }
    page.lines.truncate(most);
    page
}

/// The texts that a line of a diff belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Side {
    Old,
    New,
    Both,
}

impl Side {
    /// Returns the background of a line, and that of words in it that differ.
    pub(super) fn backgrounds(self) -> [BackgroundRole; 2] {
        match self {
            Self::Old => [BackgroundRole::Removed, BackgroundRole::RemovedWord],
            Self::New => [BackgroundRole::Added, BackgroundRole::AddedWord],
            Self::Both => [BackgroundRole::None, BackgroundRole::None],
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Old => "- ",
            Self::New => "+ ",
            Self::Both => "  ",
        }
    }
}

/// Lays out a line of code behind its number and its sign.
pub(super) fn code_lines(pieces: Vec<Span>, number: &str, side: Side, width: usize) -> Vec<Line> {
    let role = match side {
        Side::Old => Role::Removed,
        Side::New => Role::Added,
        Side::Both => Role::Text,
    };
    let [background, _] = side.backgrounds();
    lines_behind(pieces, (number, side.sign()), (role, background), width)
}

fn lines_behind(
    pieces: Vec<Span>,
    (number, sign): (&str, &str),
    (role, background): (Role, BackgroundRole),
    width: usize,
) -> Vec<Line> {
    let mut first = Line::new();
    first.push(Span::styled(number, TextStyle::of(Role::Dim).on(background)));
    first.push(Span::styled(sign, TextStyle::of(role).on(background)));
    let mut rest = Line::new();
    rest.push(Span::styled(" ".repeat(first.width()), TextStyle::of(Role::Dim).on(background)));
    let lines = wrap_pieces(pieces, width, &Margin::new(first, rest)).into_iter();
    match background {
        BackgroundRole::None => lines.collect(),
        background => lines.map(|line| line.filled_to(width, background)).collect(),
    }
}

/// One line of a diff, as it is drawn.
pub(super) struct DiffRow<'a> {
    line: &'a DiffLine,
    number: usize,
    side: Side,
    /// The texts in whose order it is highlighted: one of them where both stand beside each other.
    within: Side,
    /// Whether its hunk is skipped: it changes nothing.
    is_skipped: bool,
    words: Vec<DiffWord>,
}

impl<'a> DiffRow<'a> {
    pub fn same(line: &'a DiffLine) -> Self {
        Self::of(line, Side::Both, false, whole(line))
    }

    /// Returns the same line as a part of one of the texts, where it has this number.
    pub fn within(self, number: usize, within: Side) -> Self {
        Self { number, within, ..self }
    }

    fn of(line: &'a DiffLine, side: Side, is_skipped: bool, words: Vec<DiffWord>) -> Self {
        Self { line, number: line.number, side, within: side, is_skipped, words }
    }
}

/// Returns the rows of lines that were removed and added in one place.
pub(super) fn change_rows<'a>(
    old: &[&'a DiffLine],
    new: &[&'a DiffLine],
    is_skipped: bool,
) -> (Vec<DiffRow<'a>>, Vec<DiffRow<'a>>) {
    let (old_words, new_words) = compare_words(old, new);
    let rows = |lines: &[&'a DiffLine], words: Vec<Vec<DiffWord>>, side| {
        lines.iter().zip(words).map(|(line, words)| DiffRow::of(line, side, is_skipped, words)).collect()
    };
    (rows(old, old_words, Side::Old), rows(new, new_words, Side::New))
}

/// Draws the lines of a diff in their order: on the background of their side, with the colours of the code.
pub(super) struct DiffPainter {
    code: DiffCode,
    /// Digits of the line numbers; 0 for none.
    digits: usize,
    /// The state of the highlighting in the old and in the new text.
    texts: [Highlighter; 2],
}

impl DiffPainter {
    pub fn new(code: DiffCode, digits: usize) -> Self {
        let text = || Highlighter::new(code.language, code.languages);
        Self { code, digits, texts: [text(), text()] }
    }

    /// Goes on in another place of the file.
    pub fn jump(&mut self) {
        *self = Self::new(self.code, self.digits);
    }

    pub fn lines(&mut self, row: &DiffRow<'_>, width: usize) -> Vec<Line> {
        let DiffRow { side, words, .. } = row;
        let number = match self.digits {
            0 => String::new(),
            digits => format!("{:>digits$} ", row.number),
        };
        let text: String = words.iter().map(|word| word.text.as_str()).collect();
        if row.is_skipped {
            let pieces = vec![Span::new(text, Role::Dim)];
            return lines_behind(pieces, (&number, side.sign()), (Role::Dim, BackgroundRole::None), width);
        }
        let [background, marked] = side.backgrounds();
        let span = Span::styled(text, TextStyle::of(Role::CodeText).on(background));
        let roles = self.roles(span.text(), row.within);
        let pieces = span.in_pieces(&styles(words, &roles, [background, marked]));
        code_lines(pieces, &number, *side, width)
    }

    /// Returns the roles of a line of code; each text is highlighted in its own order.
    fn roles(&mut self, text: &str, side: Side) -> Vec<(usize, Role)> {
        let [old, new] = &mut self.texts;
        match side {
            Side::Old => old.line(text),
            Side::New => new.line(text),
            Side::Both => {
                old.line(text);
                new.line(text)
            }
        }
    }
}

/// Merges the marks of words with the colours of the code: byte offsets where a piece ends, each with its style. `backgrounds`
/// are those of words that are alike and of words that differ.
fn styles(
    words: &[DiffWord],
    code: &[(usize, Role)],
    backgrounds: [BackgroundRole; 2],
) -> Vec<(usize, TextStyle)> {
    let mut code = code.iter().copied().peekable();
    let mut styles = Vec::new();
    let mut end = 0;
    for word in words {
        end += Span::new(&word.text, Role::Text).text().len();
        let style = |role: Role| TextStyle {
            bold: word.differs,
            ..TextStyle::of(role).on(backgrounds[usize::from(word.differs)])
        };
        while let Some((at, role)) = code.next_if(|(at, _)| *at < end) {
            styles.push((at, style(role)));
        }
        styles.push((end, style(code.peek().map_or(Role::CodeText, |(_, role)| *role))));
    }
    styles
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
            None => return self.lines.extend(wrap_pieces(vec![span], layout.width, &Margin::default())),
            Some(false) => (Line::of(format!("[{hunk}]"), Role::Key), Line::of(" keep", Role::Text)),
            Some(true) => (Line::of(format!("[{hunk}]"), Role::Key), Line::of(" skip", Role::Waiting)),
        };
        let here = if layout.hunks.here() == hunk { layout.glyphs.folded } else { " " };
        let choice = Line::of(here, Role::Key).joined(choice.0).joined(choice.1);
        let mut lines = wrap_pieces(vec![span], layout.width.saturating_sub(CHOICE), &Margin::default());
        if let Some(first) = lines.first_mut() {
            *first = Line::spread(std::mem::take(first), choice, layout.width);
        }
        self.lines.extend(lines);
    }
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq)]
struct DiffWord {
    text: String,
    /// Whether it differs from the other line.
    differs: bool,
}

fn line_text(line: &DiffLine) -> String {
    match line.text.strip_suffix('\r') {
        Some(text) => expand_tabs(&format!("{text}␍")).into_owned(),
        None => expand_tabs(&line.text).into_owned(),
    }
}

fn whole(line: &DiffLine) -> Vec<DiffWord> {
    vec![DiffWord { text: line_text(line), differs: false }]
}

/// Returns the words of both sides; if as many lines were removed as added, differing words are marked.
fn compare_words(old: &[&DiffLine], new: &[&DiffLine]) -> (Vec<Vec<DiffWord>>, Vec<Vec<DiffWord>>) {
    let plain = |lines: &[&DiffLine]| lines.iter().map(|line| whole(line)).collect::<Vec<_>>();
    if old.len() != new.len() || old.len() > MOST_COMPARED {
        return (plain(old), plain(new));
    }
    old.iter().zip(new).map(|(old, new)| word_diff(old, new)).unzip()
}

fn word_diff(old: &DiffLine, new: &DiffLine) -> (Vec<DiffWord>, Vec<DiffWord>) {
    let (before, after) = (line_text(old), line_text(new));
    if before.len().max(after.len()) > LONGEST_COMPARED {
        return (whole(old), whole(new));
    }
    let diff = TextDiff::from_unicode_words(before.as_str(), after.as_str());
    // If lines have little in common, marking words is not useful.
    if diff.ratio() < 0.5 {
        return (whole(old), whole(new));
    }
    let side = |other: ChangeTag| -> Vec<DiffWord> {
        diff.iter_all_changes()
            .filter(|change| change.tag() != other)
            .map(|change| DiffWord {
                text: change.value().to_owned(),
                differs: change.tag() != ChangeTag::Equal,
            })
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
        let layout = Layout { width: 18, hunks: &hunks, glyphs: &Glyphs::UNICODE, code: DiffCode::PLAIN };
        let page = unified_page(&diff, &layout);
        let text: Vec<String> = page.lines.iter().map(|line| line.text().trim_end().to_owned()).collect();
        assert_eq!(
            text,
            ["@@ fn main", "  9   same", " 10 - old<U+202E>", " 10 + a new line t", "      hat is long",]
        );
        assert_eq!(page.hunks, [0]);
        assert_eq!(counts(&diff).text(), "+1 -1");
    }

    #[test]
    fn words_that_differ_are_told_where_the_rest_is_alike() {
        let line = |text: &str| DiffLine { kind: DiffKind::Added, number: 1, text: text.to_owned() };
        let differing = |old: &str, new: &str| {
            let (old, new) = word_diff(&line(old), &line(new));
            let text = |words: Vec<DiffWord>| {
                words.into_iter().filter(|word| word.differs).map(|word| word.text).collect::<String>()
            };
            (text(old), text(new))
        };
        assert_eq!(differing("the PO is 4471", "the PO is 4472"), ("4471".to_owned(), "4472".to_owned()));
        assert_eq!(differing("nothing", "alike here at all"), (String::new(), String::new()));
    }
}
