//! A search query, and its matches in the text and in the laid-out lines of one cell.

use std::borrow::Cow;
use std::ops::Range;

use crate::tui::line::{Join, Line, cells};

/// A text to look for. A capital letter in it makes the search case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    text: String,
    /// The search distinguishes upper and lower case.
    pub is_exact: bool,
}

/// Whether a text has markup that is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    None,
    Markdown,
}

const MARKS: [char; 2] = ['*', '`'];

/// Characters that are not ASCII but have ASCII in their lower-case form.
const LOWER_TO_ASCII: [char; 2] = ['\u{130}', '\u{212a}'];

impl Query {
    pub fn new(text: &str) -> Self {
        let is_exact = text.chars().any(char::is_uppercase);
        Self { text: fold_case(text, is_exact).into_owned(), is_exact }
    }

    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Counts the matches in a text.
    pub fn count_in(&self, text: &str, marks: Marks) -> usize {
        if text.len() < self.text.len() {
            return 0;
        }
        if self.text.is_ascii() && (self.is_exact || !text.contains(LOWER_TO_ASCII)) {
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
        fold_case(&read, self.is_exact).matches(&self.text).count()
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
            let byte = if self.is_exact { byte } else { byte.to_ascii_lowercase() };
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
        let mut logical = LogicalLine::default();
        for (at, line) in lines.enumerate() {
            match &line.copied.join {
                Join::Ours => continue,
                Join::Gap(gap) if line.copied.exact.is_none() => logical.gap(gap),
                Join::Gap(_) | Join::Start => self.search(&std::mem::take(&mut logical), &mut found),
            }
            let columns = line.copied.exact.as_ref().map_or(&[][..], |exact| exact.columns());
            if columns.is_empty() {
                logical.take(self.is_exact, at, line, line.copied.margin..usize::MAX);
            }
            for column in columns {
                self.search(&std::mem::take(&mut logical), &mut found);
                logical.take(self.is_exact, at, line, column.clone());
            }
        }
        self.search(&logical, &mut found);
        found
    }

    fn search(&self, logical: &LogicalLine, found: &mut Vec<Vec<Piece>>) {
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
struct LogicalLine {
    text: String,
    marks: Vec<GraphemePosition>,
}

/// The position of a grapheme of the text.
#[derive(Debug)]
struct GraphemePosition {
    byte: usize,
    line: usize,
    columns: Range<usize>,
}

impl LogicalLine {
    fn gap(&mut self, gap: &str) {
        self.text.push_str(gap);
    }

    fn take(&mut self, is_exact: bool, at: usize, line: &Line, columns: Range<usize>) {
        for (column, grapheme, _) in line.graphemes() {
            if columns.contains(&column) {
                let place = GraphemePosition {
                    byte: self.text.len(),
                    line: at,
                    columns: column..column + cells(grapheme),
                };
                self.marks.push(place);
                self.text.push_str(&fold_case(grapheme, is_exact));
            }
        }
    }
}

fn fold_case(text: &str, is_exact: bool) -> Cow<'_, str> {
    if is_exact {
        Cow::Borrowed(text)
    } else if text.is_ascii() {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Owned(text.to_lowercase())
    }
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
