//! Text measured and fitted in terminal cells, by grapheme.
//!
//! Input must be sanitized (a control character would count as one cell but be drawn differently). Called by
//! the front ends. It never splits a grapheme, and never returns a line wider than requested.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr;

use super::tokens::{Token, tokens};

const ELLIPSIS: &str = "…";

/// Columns between two tab stops.
const TAB_STOP: usize = 4;

/// Returns the number of terminal cells of `text` on one line. A tab counts as one: see [`expand_tabs`].
#[must_use]
pub fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.chars().count();
    }
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// Whether every character of a text takes one cell regardless of its neighbours: printable ASCII, letters of
/// Latin-1 and Latin Extended-A, box drawing, the screen's own symbols. Almost all text in a frame qualifies,
/// and grapheme segmentation would be the most expensive part of drawing it.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    text.chars().all(is_one_cell)
}

fn is_one_cell(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a1}'..='\u{a8}' | '\u{b0}'..='\u{17f}' | '\u{2500}'..='\u{259f}')
        || "…•●◆◇◐◑◒◓▮▯▸▾▪◦✓✗↓⟳".contains(c)
}

/// Replaces tabs by spaces up to the next multiple of four columns, counted from the last line break.
#[must_use]
pub fn expand_tabs(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut column = 0;
    for grapheme in text.graphemes(true) {
        match grapheme {
            "\t" => {
                let spaces = TAB_STOP - column % TAB_STOP;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            "\n" | "\r\n" => {
                out.push_str(grapheme);
                column = 0;
            }
            _ => {
                out.push_str(grapheme);
                column += grapheme.width();
            }
        }
    }
    Cow::Owned(out)
}

/// Shortens `text` to at most `width` cells, ending in `…` if it was cut. Width 0 gives an empty text. What follows the
/// first grapheme that does not fit is not read.
#[must_use]
pub fn truncate(text: &str, width: usize) -> String {
    if head(text, width).len() == text.len() {
        return text.to_owned();
    }
    width.checked_sub(1).map(|room| format!("{}{ELLIPSIS}", head(text, room))).unwrap_or_default()
}

/// Returns as many graphemes of the beginning of `text` as fit into `cells`.
fn head(text: &str, cells: usize) -> &str {
    for (count, (at, c)) in text.char_indices().enumerate() {
        if !is_one_cell(c) {
            let mut used = 0;
            let beyond = text.grapheme_indices(true).find(|(_, grapheme)| {
                used += grapheme.width();
                used > cells
            });
            return beyond.map_or(text, |(at, _)| text.split_at(at).0);
        }
        if count == cells {
            return text.split_at(at).0;
        }
    }
    text
}

/// Breaks `text` into lines of at most `width` cells (a width of 0 counts as 1).
///
/// `\n` always breaks. A line breaks at white space, which is dropped there, and between wide characters; a
/// longer word is cut between graphemes. Indentation of a line stays, tabs are expanded, a no-break space
/// does not break. A grapheme wider than the whole line becomes `…`. Empty text gives one empty line.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in expand_tabs(text).split('\n') {
        wrap_line(line, width.max(1), &mut lines);
    }
    lines
}

fn wrap_line(line: &str, width: usize, lines: &mut Vec<String>) {
    let mut current = Line::default();
    let mut gap = Line::default();
    for token in tokens(line) {
        match token {
            Token::Space(space) => gap.push(space),
            Token::Narrow(word) | Token::Wide(word) => {
                let needed = self::width(word);
                if current.cells + gap.cells + needed <= width {
                    current.append(&mut gap);
                    current.push(word);
                    continue;
                }
                gap = Line::default();
                if !current.text.is_empty() {
                    lines.push(current.take());
                }
                push_cut(word, width, &mut current, lines);
            }
        }
    }
    lines.push(current.text);
}

/// Appends a word at the start of a line, cutting it if it is longer than a line.
fn push_cut(word: &str, width: usize, current: &mut Line, lines: &mut Vec<String>) {
    for grapheme in word.graphemes(true) {
        let grapheme = if grapheme.width() > width { ELLIPSIS } else { grapheme };
        if current.cells + grapheme.width() > width {
            lines.push(current.take());
        }
        current.push(grapheme);
    }
}

/// A line being filled, with its width, so that nothing is measured twice.
#[derive(Default)]
struct Line {
    text: String,
    cells: usize,
}

impl Line {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.cells += width(text);
    }

    fn append(&mut self, other: &mut Line) {
        self.text.push_str(&other.text);
        self.cells += other.cells;
        other.text.clear();
        other.cells = 0;
    }

    fn take(&mut self) -> String {
        self.cells = 0;
        std::mem::take(&mut self.text)
    }
}

/// Formats a count with the thing counted: `1 turn`, `2 turns`, `3 replies`.
pub fn count(number: impl TryInto<u128>, one: &str) -> String {
    match (number.try_into().unwrap_or(u128::MAX), one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (number, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number} {stem}ies"),
        (number, _) => format!("{number} {one}s"),
    }
}

/// Formats a size in bytes: `812 B`, `1.2 kB`, `48 kB`, `10 MB`.
pub fn size(bytes: impl TryInto<u64>) -> String {
    let bytes = bytes.try_into().unwrap_or(u64::MAX);
    let scaled = |unit: u64, name: &str| match bytes / unit {
        whole @ 0..10 => format!("{whole}.{} {name}", bytes % unit * 10 / unit),
        whole => format!("{whole} {name}"),
    };
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => scaled(1_000, "kB"),
        _ => scaled(1_000_000, "MB"),
    }
}

/// Formats a limit of whole binary units, or a size in them, rounded down: `64 KiB`, `8 MiB`.
pub fn binary_size(bytes: impl TryInto<u64>) -> String {
    match bytes.try_into().unwrap_or(u64::MAX) >> 10 {
        kib @ 0..1_024 => format!("{kib} KiB"),
        kib => format!("{} MiB", kib >> 10),
    }
}

/// Formats a whole number with thousands separators: `1,234,567`.
pub fn group_digits(number: impl std::fmt::Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_read_them() {
        let sizes = [(0, "0 B"), (999, "999 B"), (1_234, "1.2 kB"), (48_310, "48 kB"), (3_456_789, "3.4 MB")];
        for (bytes, text) in sizes {
            assert_eq!(size(bytes), text);
        }
        for (bytes, text) in [(64 << 10, "64 KiB"), ((1 << 20) - 1, "1023 KiB"), (8 << 20, "8 MiB")] {
            assert_eq!(binary_size(bytes), text);
        }
        let counts = [(7, "7"), (1_204, "1,204"), (2_000_001, "2,000,001")];
        for (number, text) in counts {
            assert_eq!(group_digits(number), text);
        }
    }

    #[test]
    fn plain_characters_are_one_cell_beside_any_other() {
        let plain: Vec<char> = ('\0'..='\u{ffff}').filter(|c| is_one_cell(*c)).collect();
        assert!(plain.len() > 400, "{}", plain.len());
        for pair in plain.windows(2) {
            let text: String = pair.iter().chain(&['a', pair[0]]).collect();
            assert_eq!(text.graphemes(true).map(UnicodeWidthStr::width).sum::<usize>(), 4, "{text:?}");
            assert_eq!(text.graphemes(true).count(), 4, "{text:?}");
        }
        for text in ["日", "e\u{301}", "👩\u{200d}🚀", "◾", "\u{ad}", "a\tb", "\u{200b}"] {
            assert!(!is_plain(text), "{text:?}");
        }
    }
}
