//! The search in the transcript.
//!
//! Matches are counted in the cells' sources, so that ten thousand messages are searched within a key press;
//! screen positions are computed only for cells that are laid out. Changed by `update`, drawn by `view`.

use std::borrow::Cow;
use std::ops::Range;

use super::cells::{Cell, CellKind, Look};
use super::composer::Editor;
use super::keys::{Action, Context, FindKey, Nav, StatusHint};
use super::line::{Join, Line, cells};
use super::transcript::{Bookmark, Transcript};

const SEARCHING: &[StatusHint] = &[
    (Context::Find, &[Action::Nav(Nav::Down)], " then n/N next, previous"),
    (Context::Find, &[Action::Find(FindKey::Tools)], " tool output"),
    (Context::Global, &[Action::Escape], " close"),
];
const FOUND: &[StatusHint] = &[
    (Context::Found, &[Action::Nav(Nav::Down), Action::Nav(Nav::Up)], " next, previous"),
    (Context::Found, &[Action::Find(FindKey::Edit)], " edit"),
    (Context::Found, &[Action::Find(FindKey::Tools)], " tool output"),
    (Context::Global, &[Action::Escape], " close"),
    (Context::Global, &[Action::FoldDetails], " details"),
];

/// The query and its matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Find {
    pub editor: Editor,
    pub stage: FindStage,
    pub reach: Reach,
    /// The cell at the top when the search was opened; the first match shown is the first one from here on.
    pub from: usize,
    /// The scroll position at that time.
    pub start: Bookmark,
    /// Cells with matches, in order.
    pub hits: Vec<Hit>,
    pub current: Option<Current>,
    /// The revision at which each cell was counted.
    counted: Vec<u64>,
    /// The number of cells counted so far, repeats included.
    pub counts: usize,
    /// The transcript's shape when its cells were counted.
    pub shape: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindStage {
    /// The query is being typed.
    Writing,
    /// Keys move from match to match.
    Walking,
}

/// The scope of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Messages and calls, and the output of tools and commands.
    TextAndTools,
    /// Everything except the output of tools and commands.
    Text,
}

impl Reach {
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::TextAndTools => Self::Text,
            Self::Text => Self::TextAndTools,
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::TextAndTools => "text+tools",
            Self::Text => "text",
        }
    }

    /// Whether the text hidden by folding is searched in a cell.
    fn covers_folded(self, kind: &CellKind) -> bool {
        match kind {
            CellKind::Call(_) | CellKind::Shell(_) => self == Self::TextAndTools,
            CellKind::User { .. }
            | CellKind::Answer(_)
            | CellKind::Thinking(_)
            | CellKind::CallDraft(_)
            | CellKind::Settled { .. }
            | CellKind::Local { .. }
            | CellKind::Failure { .. }
            | CellKind::Waits { .. }
            | CellKind::Note { .. } => true,
        }
    }
}

/// Matches in one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub cell: usize,
    /// In the text that is always shown.
    pub shown: usize,
    /// In the text hidden by folding.
    pub folded: usize,
}

impl Hit {
    pub fn count(&self) -> usize {
        self.shown + self.folded
    }
}

/// The selected match: the `nth` of its cell, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current {
    pub cell: usize,
    pub nth: usize,
}

impl Find {
    pub fn new(transcript: &Transcript) -> Self {
        Self {
            editor: Editor::default(),
            stage: FindStage::Writing,
            reach: Reach::TextAndTools,
            from: transcript.seen().start,
            start: transcript.bookmark(),
            hits: Vec::new(),
            current: None,
            counted: Vec::new(),
            counts: 0,
            shape: transcript.shape,
        }
    }

    pub fn hints(&self) -> &'static [StatusHint] {
        match self.stage {
            FindStage::Writing => SEARCHING,
            FindStage::Walking => FOUND,
        }
    }

    pub fn query(&self) -> Query {
        Query::new(&self.editor.text())
    }

    /// Counts again in all cells.
    pub fn count(&mut self, cells: &[Cell]) {
        self.hits.clear();
        self.counted.clear();
        self.recount(cells);
    }

    /// Counts in the cells that are new or changed since they were counted.
    pub fn recount(&mut self, cells: &[Cell]) {
        let query = self.query();
        if query.is_empty() {
            return;
        }
        for (at, cell) in cells.iter().enumerate() {
            if self.counted.get(at) == Some(&cell.revision()) {
                continue;
            }
            match self.counted.get_mut(at) {
                Some(counted) => *counted = cell.revision(),
                None => self.counted.push(cell.revision()),
            }
            self.counts += 1;
            self.put(query.count(at, cell, self.reach));
        }
    }

    /// Replaces the stored matches of a cell.
    fn put(&mut self, hit: Hit) {
        let at = self.hits.partition_point(|other| other.cell < hit.cell);
        let is_known = self.hits.get(at).is_some_and(|other| other.cell == hit.cell);
        match (is_known, hit.count()) {
            (true, 0) => {
                self.hits.remove(at);
            }
            (true, _) => self.hits[at] = hit,
            (false, 0) => {}
            (false, _) => self.hits.insert(at, hit),
        }
    }

    pub fn total(&self) -> usize {
        self.hits.iter().map(Hit::count).sum()
    }

    /// Returns the number of the current match among all, from 1.
    pub fn number(&self) -> Option<usize> {
        let current = self.current?;
        let before: usize = self.hits.iter().take_while(|hit| hit.cell < current.cell).map(Hit::count).sum();
        Some(before + current.nth + 1)
    }

    /// Returns the first match at or after the cell where the search began; else the last one before it.
    pub fn first(&self) -> Option<Current> {
        let after = self.hits.iter().find(|hit| hit.cell >= self.from);
        let first = after.map(|hit| Current { cell: hit.cell, nth: 0 });
        first.or_else(|| self.last())
    }

    fn last(&self) -> Option<Current> {
        self.hits.last().map(|hit| Current { cell: hit.cell, nth: hit.count() - 1 })
    }

    /// Returns the match after the current one; after the last comes the first.
    pub fn next(&self) -> Option<Current> {
        let Some(current) = self.current else { return self.first() };
        let at = self.hits.partition_point(|hit| hit.cell < current.cell);
        let here = self.hits.get(at)?;
        if here.cell == current.cell && current.nth + 1 < here.count() {
            return Some(Current { nth: current.nth + 1, ..current });
        }
        let after = self.hits.get(at + 1).or_else(|| self.hits.first())?;
        Some(Current { cell: after.cell, nth: 0 })
    }

    /// Returns the match before the current one; before the first comes the last.
    pub fn previous(&self) -> Option<Current> {
        let Some(current) = self.current else { return self.first() };
        if current.nth > 0 {
            return Some(Current { nth: current.nth - 1, ..current });
        }
        let at = self.hits.partition_point(|hit| hit.cell < current.cell);
        match at.checked_sub(1).and_then(|before| self.hits.get(before)) {
            Some(hit) => Some(Current { cell: hit.cell, nth: hit.count() - 1 }),
            None => self.last(),
        }
    }

    /// Returns the matches of a cell.
    pub fn hit(&self, cell: usize) -> Option<&Hit> {
        let at = self.hits.partition_point(|hit| hit.cell < cell);
        self.hits.get(at).filter(|hit| hit.cell == cell)
    }

    /// Returns the matches' places in the lines of a cell; output outside the scope has none, unfolded or
    /// not.
    pub fn places(&self, at: usize, cell: &Cell) -> Vec<Vec<Piece>> {
        let mut places = self.query().places(cell.lines_from(0));
        if !self.reach.covers_folded(&cell.kind) {
            // A call's output is below its own words.
            places.truncate(self.hit(at).map_or(0, Hit::count));
        }
        places
    }
}

/// A text to look for. A capital letter in it makes the search case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    text: String,
    case: Case,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    Counts,
    Ignored,
}

/// Whether a text has markup that is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    None,
    Markdown,
}

const MARKS: [char; 2] = ['*', '`'];

/// Characters that are not ASCII but have ASCII in their lower-case form.
const LOWER_TO_ASCII: [char; 2] = ['\u{130}', '\u{212a}'];

impl Query {
    pub fn new(text: &str) -> Self {
        let case = if text.chars().any(char::is_uppercase) { Case::Counts } else { Case::Ignored };
        Self { text: folded(text, case).into_owned(), case }
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub fn case(&self) -> Case {
        self.case
    }

    fn count(&self, at: usize, cell: &Cell, reach: Reach) -> Hit {
        let words = cell.words();
        let marks = if cell.is_markdown() { Marks::Markdown } else { Marks::None };
        let covered = reach.covers_folded(&cell.kind);
        let folded = if covered { self.count_in(&words.folded, Marks::None) } else { 0 };
        Hit { cell: at, shown: self.count_in(&words.shown, marks), folded }
    }

    fn count_in(&self, text: &str, marks: Marks) -> usize {
        if text.len() < self.text.len() {
            return 0;
        }
        if self.text.is_ascii() && (self.case == Case::Counts || !text.contains(LOWER_TO_ASCII)) {
            return self.count_bytes(text.as_bytes(), marks);
        }
        self.count_folded(text, marks)
    }

    /// Counts in a normalised copy of the text.
    fn count_folded(&self, text: &str, marks: Marks) -> usize {
        let read = match marks {
            Marks::None => Cow::Borrowed(text),
            Marks::Markdown => self.without_marks(text),
        };
        folded(&read, self.case).matches(&self.text).count()
    }

    /// Counts an ASCII query in the text itself.
    fn count_bytes(&self, text: &[u8], marks: Marks) -> usize {
        let marks = if self.text.contains(MARKS) { Marks::None } else { marks };
        let (mut at, mut found) = (0, 0);
        while at < text.len() {
            match self.end_of_match(text, at, marks) {
                Some(end) => {
                    found += 1;
                    at = end;
                }
                None => at += 1,
            }
        }
        found
    }

    /// Returns the end of the match that begins at `from`.
    fn end_of_match(&self, text: &[u8], from: usize, marks: Marks) -> Option<usize> {
        let mut at = from;
        for wanted in self.text.bytes() {
            let mut byte = *text.get(at)?;
            if marks == Marks::Markdown {
                while matches!(byte, b'*' | b'`') {
                    at += 1;
                    byte = *text.get(at)?;
                }
                byte = if byte == b'\n' { b' ' } else { byte };
            }
            let byte = if self.case == Case::Ignored { byte.to_ascii_lowercase() } else { byte };
            if byte != wanted {
                return None;
            }
            at += 1;
        }
        Some(at)
    }

    /// Removes Markdown marks so that words separated by a mark or a line end are found together. If the
    /// query contains a mark, marks are kept.
    fn without_marks<'a>(&self, source: &'a str) -> Cow<'a, str> {
        if self.text.contains(MARKS) || !source.contains(['*', '`', '\n']) {
            return Cow::Borrowed(source);
        }
        let kept = source.chars().filter(|c| !MARKS.contains(c));
        Cow::Owned(kept.map(|c| if c == '\n' { ' ' } else { c }).collect())
    }

    /// Returns the matches in the lines of a cell: each as pieces of lines, since a wrap may divide it.
    pub fn places<'a>(&self, lines: impl Iterator<Item = &'a Line>) -> Vec<Vec<Piece>> {
        let mut found = Vec::new();
        if self.is_empty() {
            return found;
        }
        let mut logical = Logical::default();
        for (at, line) in lines.enumerate() {
            match &line.copied.join {
                Join::Ours => continue,
                Join::Gap(gap) if line.copied.exact.is_none() => logical.gap(gap),
                Join::Gap(_) | Join::Start => self.search(&std::mem::take(&mut logical), &mut found),
            }
            let columns = line.copied.exact.as_ref().map_or(&[][..], |exact| exact.columns());
            if columns.is_empty() {
                logical.take(self.case, at, line, line.copied.margin..usize::MAX);
            }
            for column in columns {
                self.search(&std::mem::take(&mut logical), &mut found);
                logical.take(self.case, at, line, column.clone());
            }
        }
        self.search(&logical, &mut found);
        found
    }

    fn search(&self, logical: &Logical, found: &mut Vec<Vec<Piece>>) {
        for (start, hit) in logical.text.match_indices(&self.text) {
            let range = start..start + hit.len();
            let mut pieces: Vec<Piece> = Vec::new();
            let first = logical.marks.partition_point(|mark| mark.byte < range.start);
            let marks = logical.marks.iter().skip(first).take_while(|mark| mark.byte < range.end);
            for mark in marks {
                match pieces.last_mut() {
                    Some(piece) if piece.line == mark.line => piece.columns.end = mark.columns.end,
                    Some(_) | None => pieces.push(Piece { line: mark.line, columns: mark.columns.clone() }),
                }
            }
            if !pieces.is_empty() {
                found.push(pieces);
            }
        }
    }
}

/// The part of a match on one line of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub line: usize,
    pub columns: Range<usize>,
}

/// A source line as it was laid out.
#[derive(Debug, Default)]
struct Logical {
    text: String,
    marks: Vec<FindPlace>,
}

/// The position of a grapheme of the text.
#[derive(Debug)]
struct FindPlace {
    byte: usize,
    line: usize,
    columns: Range<usize>,
}

impl Logical {
    fn gap(&mut self, gap: &str) {
        self.text.push_str(gap);
    }

    fn take(&mut self, case: Case, at: usize, line: &Line, columns: Range<usize>) {
        for (column, grapheme, _) in line.graphemes() {
            if columns.contains(&column) {
                let place =
                    FindPlace { byte: self.text.len(), line: at, columns: column..column + cells(grapheme) };
                self.marks.push(place);
                self.text.push_str(&folded(grapheme, case));
            }
        }
    }
}

fn folded(text: &str, case: Case) -> Cow<'_, str> {
    match case {
        Case::Counts => Cow::Borrowed(text),
        Case::Ignored if text.is_ascii() => Cow::Owned(text.to_ascii_lowercase()),
        Case::Ignored => Cow::Owned(text.to_lowercase()),
    }
}

/// The numbers of matches that are not visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Elsewhere {
    pub above: usize,
    pub below: usize,
    pub folded: usize,
}

impl Elsewhere {
    pub fn total(&self) -> usize {
        self.above + self.below + self.folded
    }
}

/// Counts the matches that are not visible; `seen` are the cells on the screen, `lines` returns the visible
/// lines of a cell.
pub fn elsewhere(
    find: &Find,
    all: &[Cell],
    look: &Look,
    seen: &Range<usize>,
    lines: impl Fn(usize) -> Range<usize>,
) -> Elsewhere {
    let mut out = Elsewhere::default();
    for hit in &find.hits {
        let Some(cell) = all.get(hit.cell) else { continue };
        let folded = if cell.is_folded(look) { hit.folded } else { 0 };
        let open = hit.count() - folded;
        if seen.contains(&hit.cell) {
            let range = lines(hit.cell);
            let places = find.places(hit.cell, cell);
            let line_of = |place: &&Vec<Piece>| place.first().map_or(0, |piece| piece.line);
            out.above += places.iter().filter(|place| line_of(place) < range.start).count();
            out.below += places.iter().filter(|place| line_of(place) >= range.end).count();
            out.folded += hit.count().saturating_sub(places.len()).min(folded);
        } else {
            out.folded += folded;
            *(if hit.cell < seen.start { &mut out.above } else { &mut out.below }) += open;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_these_have_ascii_in_their_small_form() {
        let is_such = |c: &char| !c.is_ascii() && c.to_lowercase().any(|small| small.is_ascii());
        assert_eq!(('\0'..=char::MAX).filter(is_such).collect::<Vec<_>>(), LOWER_TO_ASCII);
    }

    proptest! {
        /// Counting without a copy gives the same result as counting in a copy.
        #[test]
        fn bytes_are_counted_like_words(text in "[aAbB *`\nk\u{212a}\u{e9}]{0,24}", query in "[aAbk *`]{1,3}") {
            let query = Query::new(&query);
            for marks in [Marks::None, Marks::Markdown] {
                let expected =
                    if text.len() < query.text.len() { 0 } else { query.count_folded(&text, marks) };
                prop_assert_eq!(query.count_in(&text, marks), expected);
            }
        }
    }
}
