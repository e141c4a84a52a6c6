//! Lines of styled text: what cells are rendered to, before a theme gives them colours.
//!
//! A line knows roles, never colours, and holds only harmless text: [`Span::new`] sanitises. Wrapping never splits
//! a grapheme and never makes a line wider than told. Called by the Markdown renderer, the cells and the views.

use std::ops::Range;

use unicode_segmentation::{GraphemeIndices, UnicodeSegmentation as _};

use super::copied::{Copied, Join};
use super::link::Link;
use super::theme::Role;
use crate::stdx::text::{Token, sanitize_line, tokens, width};

/// How a piece of text is drawn: its role, and the marks of emphasis on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ink {
    pub role: Role,
    pub bold: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    /// Foreground and background changed places: marked, or found.
    pub reversed: bool,
}

impl Ink {
    pub const fn of(role: Role) -> Self {
        Self { role, bold: false, italic: false, underline: false, strike: false, reversed: false }
    }

    #[must_use]
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }
}

/// A piece of one line, drawn in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    text: String,
    pub ink: Ink,
    /// Where it leads.
    link: Option<Link>,
}

impl Span {
    /// Harmless text of one line: control characters, newlines included, are made visible.
    pub fn new(text: impl AsRef<str>, role: Role) -> Self {
        Self::inked(text, Ink::of(role))
    }

    pub fn inked(text: impl AsRef<str>, ink: Ink) -> Self {
        Self { text: sanitize_line(text.as_ref()).into_owned(), ink, link: None }
    }

    /// The same text, leading to `link`.
    #[must_use]
    pub fn leading_to(self, link: Option<Link>) -> Self {
        Self { link, ..self }
    }

    /// A forced line break among spans that are to be wrapped.
    pub fn line_break() -> Self {
        Self::harmless("\n", Ink::default())
    }

    /// Text that is known to be harmless.
    fn harmless(text: impl Into<String>, ink: Ink) -> Self {
        Self { text: text.into(), ink, link: None }
    }

    /// The pieces between `cuts`, each with its own ink: byte offsets where a piece ends, in order; what comes after
    /// the last keeps the ink of the whole. A cut within a grapheme moves to its start, so that no width changes.
    pub fn in_pieces(&self, cuts: &[(usize, Ink)]) -> Vec<Self> {
        let mut starts = Starts::of(&self.text);
        let mut pieces = Vec::new();
        let mut from = 0;
        let last = (self.text.len(), self.ink);
        for (end, ink) in cuts.iter().chain([&last]) {
            let end = starts.at_or_before(*end);
            if let Some(text) = self.text.get(from..end).filter(|text| !text.is_empty()) {
                pieces.push(Self { text: text.to_owned(), ink: *ink, link: self.link.clone() });
                from = end;
            }
        }
        pieces
    }

    /// Whether `other` is drawn in the same way and leads to the same place.
    fn continues_as(&self, other: &Self) -> bool {
        self.ink == other.ink && self.link == other.link
    }

    /// Appends what is drawn in the same way; gives back what is not.
    pub fn absorb(&mut self, other: Self) -> Option<Self> {
        if self.is_break() || other.is_break() || !self.continues_as(&other) {
            return Some(other);
        }
        self.text.push_str(&other.text);
        None
    }

    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    /// Another piece of text, drawn as this one.
    fn alike(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ink: self.ink, link: self.link.clone() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_break(&self) -> bool {
        self.text == "\n"
    }

    pub fn width(&self) -> usize {
        cells(&self.text)
    }
}

/// One line of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    pub spans: Vec<Span>,
    pub copied: Copied,
}

impl Line {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn of(text: impl AsRef<str>, role: Role) -> Self {
        Self { spans: vec![Span::new(text, role)], copied: Copied::default() }
    }

    #[must_use]
    pub fn with(mut self, text: impl AsRef<str>, role: Role) -> Self {
        self.push(Span::new(text, role));
        self
    }

    /// This line and then the other.
    #[must_use]
    pub fn joined(mut self, other: Self) -> Self {
        other.spans.into_iter().for_each(|span| self.push(span));
        self
    }

    pub fn push(&mut self, span: Span) {
        if span.text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.continues_as(&span) => last.text.push_str(&span.text),
            Some(_) | None => self.spans.push(span),
        }
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// The characters alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// Appends spaces until the line is `width` cells wide.
    pub fn pad_to(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        if missing > 0 {
            self.push(Span::harmless(" ".repeat(missing), Ink::default()));
        }
    }

    /// At most `width` cells of this line; a cut is marked by `…`.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut out = Self { spans: Vec::new(), copied: self.copied };
        let mut room = width;
        for span in self.spans {
            let needed = span.width();
            // One cell stays for the ellipsis, because something is certainly left out.
            if needed < room {
                room -= needed;
                out.push(span);
                continue;
            }
            let kept = take(&span.text, room.saturating_sub(1));
            out.push(span.alike(kept));
            if room > 0 {
                out.push(span.alike("…"));
            }
            break;
        }
        out
    }

    /// This line as a remark of the program's own, which is not copied.
    #[must_use]
    pub fn ours(mut self) -> Self {
        self.copied.join = Join::Ours;
        self
    }

    /// This line behind a margin.
    #[must_use]
    pub fn behind(&self, margin: &Self) -> Self {
        let mut line = margin.clone();
        line.copied = self.copied.clone();
        line.copied.margin += margin.width();
        line.copied.lead.insert_str(0, &margin.copied.lead);
        self.spans.iter().for_each(|span| line.push(span.clone()));
        line
    }

    /// The text in these cells; a wide grapheme counts where any of its cells does.
    pub fn slice(&self, columns: Range<usize>) -> String {
        self.graphemes()
            .filter(|(at, grapheme, _)| at + cells(grapheme).max(1) > columns.start && *at < columns.end)
            .map(|(_, grapheme, _)| grapheme)
            .collect()
    }

    /// Each grapheme with its first cell and the index of its span.
    pub fn graphemes(&self) -> impl Iterator<Item = (usize, &str, usize)> {
        let all = self.spans.iter().enumerate();
        let all = all.flat_map(|(index, span)| span.text.graphemes(true).map(move |one| (one, index)));
        all.scan(0, |at, (grapheme, index)| {
            let start = *at;
            *at += cells(grapheme);
            Some((start, grapheme, index))
        })
    }

    /// This line with the ink of these cells changed.
    #[must_use]
    pub fn painted(&self, columns: &Range<usize>, paint: impl Fn(Ink) -> Ink) -> Self {
        let mut line = Self { spans: Vec::new(), copied: self.copied.clone() };
        for (at, grapheme, index) in self.graphemes() {
            let mut span = self.spans[index].clone();
            grapheme.clone_into(&mut span.text);
            if columns.contains(&at) {
                span.ink = paint(span.ink);
            }
            line.push(span);
        }
        line
    }

    /// Another first cell in place of this line's own.
    #[must_use]
    pub fn beginning(&self, first: Self) -> Self {
        let mut line = Self { spans: first.spans, copied: self.copied.clone() };
        for (_, grapheme, index) in self.graphemes().skip(1) {
            let mut span = self.spans[index].clone();
            grapheme.clone_into(&mut span.text);
            line.push(span);
        }
        line
    }

    /// `left` at the left end and `right` at the right end of `width` cells; the left one gives way.
    pub fn spread(left: Self, right: Self, width: usize) -> Self {
        let right = right.cut(width);
        let taken = right.width();
        let room = width.saturating_sub(taken + usize::from(taken > 0));
        let mut line = left.cut(room);
        line.pad_to(width - taken);
        for span in right.spans {
            line.push(span);
        }
        line
    }
}

/// Cells of sanitised text; plain ASCII is counted without looking for graphemes.
pub fn cells(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { width(text) }
}

/// The starts of a text's graphemes, looked up from left to right in one pass.
#[expect(clippy::large_enum_variant, reason = "there is one, on the stack")]
enum Starts<'a> {
    /// Every byte is one.
    Ascii {
        end: usize,
    },
    Wide {
        rest: std::iter::Peekable<GraphemeIndices<'a>>,
        last: usize,
        end: usize,
    },
}

impl<'a> Starts<'a> {
    fn of(text: &'a str) -> Self {
        let end = text.len();
        if text.is_ascii() {
            return Self::Ascii { end };
        }
        Self::Wide { rest: text.grapheme_indices(true).peekable(), last: 0, end }
    }

    /// The last start up to `at`, but none before those already found; the end for what lies beyond.
    fn at_or_before(&mut self, at: usize) -> usize {
        match self {
            Self::Ascii { end } => at.min(*end),
            Self::Wide { end, .. } if at >= *end => *end,
            Self::Wide { rest, last, .. } => {
                while let Some((start, _)) = rest.next_if(|(start, _)| *start <= at) {
                    *last = start;
                }
                *last
            }
        }
    }
}

fn take(text: &str, room: usize) -> String {
    let mut used = 0;
    text.graphemes(true)
        .take_while(|grapheme| {
            used += cells(grapheme);
            used <= room
        })
        .collect()
}

/// What stands before the first and before every other line of a block.
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

    /// The same before every line.
    pub fn even(line: Line) -> Self {
        Self::new(line.clone(), line)
    }
}

/// Breaks spans into lines of at most `width` cells, the margin included.
///
/// Lines break at white space, which is dropped there, around wide graphemes, and at [`Span::line_break`]; a word
/// longer than a line is cut. A grapheme wider than a whole line becomes `…`. No spans make one line.
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

/// Breaks one line of text that keeps its spaces, such as code, cutting it where it is too long.
pub fn wrap_exact(span: &Span, width: usize, margin: &Margin) -> Vec<Line> {
    wrap_pieces(vec![span.clone()], width, margin)
}

/// As [`wrap_exact`], for a line in several pieces; it breaks where the same text in one piece would.
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

    /// A word at the start of a line, cut where it is longer than that.
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

    /// `join` is how the next line hangs on this one.
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

    #[test]
    fn lines_are_cut_and_spread() {
        let line = || Line::of("abc", Role::Text).with("def", Role::Dim);
        for (width, expected) in [(6, "abcdef"), (5, "abcd…"), (3, "ab…"), (1, "…"), (0, "")] {
            assert_eq!(line().cut(width).text(), expected, "in {width}");
        }
        let spread = |width| Line::spread(line(), Line::of("R1", Role::Dim), width).text();
        for (width, expected) in [(10, "abcdef  R1"), (8, "abcd… R1"), (3, " R1"), (2, "R1"), (1, "…")] {
            assert_eq!(spread(width), expected, "in {width}");
        }
    }

    #[test]
    fn pieces_keep_the_text_and_its_graphemes() {
        let dim = Ink::of(Role::Dim);
        let span = Span::new("ab👩\u{200d}👩c", Role::Text);
        for cut in 0..20 {
            let pieces = span.in_pieces(&[(cut, dim)]);
            let text: String = pieces.iter().map(Span::text).collect();
            assert_eq!(text, span.text(), "{cut}");
            assert_eq!(pieces.iter().map(Span::width).sum::<usize>(), span.width(), "{cut}");
        }
        let pieces = span.in_pieces(&[(1, dim), (1, dim), (0, dim)]);
        assert_eq!(pieces.iter().map(Span::text).collect::<Vec<_>>(), ["a", "b👩\u{200d}👩c"]);
    }

    #[test]
    fn a_link_survives_wrapping_and_cutting() {
        let link = Link::to("https://a.example");
        let spans =
            [Span::new("see ", Role::Text), Span::new("two words", Role::Link).leading_to(link.clone())];
        let lines = wrap_spans(&spans, 8, &Margin::default());
        let linked = |line: &Line| -> Vec<String> {
            line.spans.iter().filter(|s| s.link() == link.as_ref()).map(|s| s.text().to_owned()).collect()
        };
        assert_eq!(lines.iter().map(linked).collect::<Vec<_>>(), [vec!["two"], vec!["words"]]);
        assert_eq!(linked(&lines[1].clone().cut(3)), ["wo…"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_ink_is_lost(text in "[a-c 日本é👩\u{200d}\u{301}|]{0,40}", width in 4usize..14) {
            let lines = wrapped(&text, width);
            let ink = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let mut shown = String::new();
            for (index, line) in lines.iter().enumerate() {
                prop_assert!(cells(line) <= width, "{line:?} in {width}");
                shown.push_str(line.strip_prefix(if index == 0 { "* " } else { "  " }).unwrap_or(line));
            }
            let given: String = text.split('|').map(|piece| Span::new(piece, Role::Text).text).collect();
            prop_assert_eq!(ink(&shown), ink(&given));
        }
    }
}
