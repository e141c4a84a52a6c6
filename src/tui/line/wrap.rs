//! Wraps styled text into lines of a width, each behind its margin.
//!
//! Never splits a grapheme and never exceeds the given width. Records how each line continues the one before,
//! so that wrapped text is copied as it was written.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Join, Line, Span, cells};
use crate::stdx::text::{Token, tokens};

/// The prefixes of the first line and of every other line of a block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Margin {
    pub first: Line,
    pub rest: Line,
}

impl Margin {
    pub fn new(mut first: Line, mut rest: Line) -> Self {
        first.copied.margin = first.width();
        rest.copied.margin = rest.width();
        Self { first, rest }
    }

    /// Creates a margin with the same prefix for every line.
    pub fn even(line: Line) -> Self {
        Self::new(line.clone(), line)
    }
}

/// Wraps spans into lines of at most `width` cells, including the margin.
///
/// Lines break at white space, which is dropped there, around wide graphemes, and at [`Span::line_break`]; a
/// word longer than a line is cut. A grapheme wider than a whole line becomes `…`. No spans make one line.
pub fn wrap_spans(spans: &[Span], width: usize, margin: &Margin) -> Vec<Line> {
    let mut wrapper = Wrapper::new(width, margin);
    for span in spans {
        if span.is_break() {
            wrapper.end_word();
            wrapper.end_line(Join::Start);
            continue;
        }
        for token in tokens(&span.text) {
            wrapper.take(token, span);
        }
    }
    wrapper.end_word();
    wrapper.end_line(Join::Start);
    wrapper.lines
}

/// Wraps one line of text that keeps its spaces, such as code, cutting it where it is too long. A line in several pieces
/// breaks where the same text in one piece would.
pub fn wrap_pieces(pieces: Vec<Span>, width: usize, margin: &Margin) -> Vec<Line> {
    let mut wrapper = Wrapper::new(width, margin);
    wrapper.word = pieces;
    wrapper.end_word();
    wrapper.end_line(Join::Start);
    wrapper.lines
}

struct Wrapper<'a> {
    margin: &'a Margin,
    width: usize,
    lines: Vec<Line>,
    line: Line,
    used: usize,
    /// Whether the line holds more than its margin.
    begun: bool,
    gap: Vec<Span>,
    word: Vec<Span>,
}

impl<'a> Wrapper<'a> {
    fn new(width: usize, margin: &'a Margin) -> Self {
        let line = margin.first.clone();
        let used = line.width();
        let room = margin.first.width().max(margin.rest.width()) + 1;
        Self {
            margin,
            width: width.max(room),
            lines: Vec::new(),
            line,
            used,
            begun: false,
            gap: Vec::new(),
            word: Vec::new(),
        }
    }

    fn take(&mut self, token: Token<'_>, span: &Span) {
        match token {
            Token::Space(text) => {
                self.end_word();
                self.gap.push(span.alike(text));
            }
            Token::Narrow(text) => self.word.push(span.alike(text)),
            Token::Wide(text) => {
                self.end_word();
                self.word.push(span.alike(text));
                self.end_word();
            }
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let gap = std::mem::take(&mut self.gap);
        let gap_cells = total(&gap);
        let word_cells = total(&word);
        if self.used + gap_cells + word_cells <= self.width {
            for span in gap.into_iter().chain(word) {
                self.line.push(span);
            }
            self.used += gap_cells + word_cells;
            self.begun = true;
            return;
        }
        if self.begun {
            let dropped = gap.into_iter().map(|span| span.text).collect();
            self.end_line(Join::Gap(dropped));
        }
        self.push_cut(word);
    }

    /// Adds a word at the start of a line, cut if it is longer than the line.
    fn push_cut(&mut self, word: Vec<Span>) {
        for span in word {
            let needed = span.width();
            if self.used + needed <= self.width {
                self.used += needed;
                self.begun = true;
                self.line.push(span);
                continue;
            }
            for grapheme in span.text.graphemes(true) {
                let fits = self.used + cells(grapheme) <= self.width;
                if !fits && self.begun {
                    self.end_line(Join::Gap(String::new()));
                }
                let grapheme = if self.used + cells(grapheme) > self.width { "…" } else { grapheme };
                self.used += cells(grapheme);
                self.begun = true;
                self.line.push(span.alike(grapheme));
            }
        }
    }

    /// Ends the line; `join` is how the next line continues it.
    fn end_line(&mut self, join: Join) {
        self.gap.clear();
        let mut next = self.margin.rest.clone();
        next.copied.join = join;
        self.used = next.width();
        self.begun = false;
        self.lines.push(std::mem::replace(&mut self.line, next));
    }
}

fn total(pieces: &[Span]) -> usize {
    pieces.iter().map(Span::width).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tui::theme::Role;

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let margin = Margin::new(Line::of("* ", Role::Text), Line::of("  ", Role::Text));
        let spans: Vec<Span> = text.split('|').map(|piece| Span::new(piece, Role::Text)).collect();
        wrap_spans(&spans, width, &margin).iter().map(Line::text).collect()
    }

    #[test]
    fn spans_wrap_with_hanging_margins() {
        let cases: &[(&str, usize, &[&str])] = &[
            ("", 10, &["* "]),
            ("one two three", 9, &["* one two", "  three"]),
            ("on|e tw|o three", 9, &["* one two", "  three"]),
            ("abcdefgh", 5, &["* abc", "  def", "  gh"]),
            ("日本語", 6, &["* 日本", "  語"]),
            ("日本", 3, &["* …", "  …"]),
            ("ab", 0, &["* a", "  b"]),
            ("\u{1b}[2J", 20, &["* ␛[2J"]),
        ];
        for (text, width, expected) in cases {
            assert_eq!(wrapped(text, *width), *expected, "{text:?} in {width}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_text_is_lost(text in "[a-c 日本é👩\u{200d}\u{301}|]{0,40}", width in 4usize..14) {
            let lines = wrapped(&text, width);
            let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let mut shown = String::new();
            for (index, line) in lines.iter().enumerate() {
                prop_assert!(cells(line) <= width, "{line:?} in {width}");
                shown.push_str(line.strip_prefix(if index == 0 { "* " } else { "  " }).unwrap_or(line));
            }
            let given: String = text.split('|').map(|piece| Span::new(piece, Role::Text).text).collect();
            prop_assert_eq!(visible(&shown), visible(&given));
        }
    }
}
