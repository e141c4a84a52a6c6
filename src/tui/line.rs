//! Lines of styled text: the form in which cells are rendered before a theme gives them colours.
//!
//! A line holds roles, never colours, and only sanitized text: [`Span::new`] sanitizes. Wrapping never splits
//! a grapheme and never makes a line wider than the given width. Called by the Markdown renderer, the cells
//! and the views.

mod copied;
mod wrap;

use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

pub use self::copied::{CopyRules, Join, SourceLine};
pub use self::wrap::{Margin, wrap_pieces, wrap_spans};
use super::link::Link;
pub use super::theme::TextStyle;
use super::theme::{BackgroundRole, Role};
use crate::stdx::text::{sanitize_line, width};

/// A piece of one line with a single style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    text: String,
    pub style: TextStyle,
    /// The link of the text.
    link: Option<Link>,
}

impl Span {
    /// Creates a span of one line; control characters, including newlines, are made visible.
    pub fn new(text: impl AsRef<str>, role: Role) -> Self {
        Self::styled(text, TextStyle::of(role))
    }

    pub fn styled(text: impl AsRef<str>, style: TextStyle) -> Self {
        Self { text: sanitize_line(text.as_ref()).into_owned(), style, link: None }
    }

    /// Returns the same text with this link.
    #[must_use]
    pub fn leading_to(self, link: Option<Link>) -> Self {
        Self { link, ..self }
    }

    /// Returns a forced line break for spans that are to be wrapped.
    pub fn line_break() -> Self {
        Self::harmless("\n", TextStyle::default())
    }

    /// Creates a span of text that is known to be sanitized.
    fn harmless(text: impl Into<String>, style: TextStyle) -> Self {
        Self { text: text.into(), style, link: None }
    }

    /// Splits the span at `cuts`, each with its own style: byte offsets where a piece ends, in order; text
    /// after the last one keeps the span's style. A cut within a grapheme moves to its start, so that no width
    /// changes.
    pub fn in_pieces(&self, cuts: &[(usize, TextStyle)]) -> Vec<Self> {
        let mut pieces = Vec::new();
        let mut from = 0;
        let last = (self.text.len(), self.style);
        for (end, style) in cuts.iter().chain([&last]) {
            let end = grapheme_start(&self.text, *end);
            if let Some(text) = self.text.get(from..end).filter(|text| !text.is_empty()) {
                pieces.push(Self { text: text.to_owned(), style: *style, link: self.link.clone() });
                from = end;
            }
        }
        pieces
    }

    /// Whether `other` has the same style and the same link.
    fn continues_as(&self, other: &Self) -> bool {
        self.style == other.style && self.link == other.link
    }

    /// Appends `other` if it has the same style and link; otherwise returns it.
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

    /// Returns another piece of text with the same style and link.
    fn alike(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), style: self.style, link: self.link.clone() }
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
    pub copied: CopyRules,
}

impl Line {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn of(text: impl AsRef<str>, role: Role) -> Self {
        Self { spans: vec![Span::new(text, role)], copied: CopyRules::default() }
    }

    #[must_use]
    pub fn with(mut self, text: impl AsRef<str>, role: Role) -> Self {
        self.push(Span::new(text, role));
        self
    }

    /// Returns this line followed by the other.
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

    /// Returns the text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// Appends spaces until the line is `width` cells wide.
    pub fn pad_to(&mut self, width: usize) {
        let missing = width.saturating_sub(self.width());
        if missing > 0 {
            self.push(Span::harmless(" ".repeat(missing), TextStyle::default()));
        }
    }

    /// Returns this line with its background continued up to `width` cells.
    #[must_use]
    pub fn filled_to(mut self, width: usize, background: BackgroundRole) -> Self {
        let missing = width.saturating_sub(self.width());
        self.push(Span::harmless(" ".repeat(missing), TextStyle::default().on(background)));
        self.copied.padding = missing;
        self
    }

    /// Returns at most `width` cells of this line; a cut is marked by `…`.
    #[must_use]
    pub fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut out = Self { spans: Vec::new(), copied: self.copied };
        let mut room = width;
        for span in self.spans {
            let needed = span.width();
            // One cell is reserved for the ellipsis, because the line is certainly cut.
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

    /// Marks this line as the program's own remark, which is not copied.
    #[must_use]
    pub fn ours(mut self) -> Self {
        self.copied.join = Join::Ours;
        self
    }

    /// Returns this line behind a margin.
    #[must_use]
    pub fn behind(&self, margin: &Self) -> Self {
        let mut line = margin.clone();
        line.copied = self.copied.clone();
        line.copied.margin += margin.width();
        line.copied.lead.insert_str(0, &margin.copied.lead);
        self.spans.iter().for_each(|span| line.push(span.clone()));
        line
    }

    /// Returns the text in these cells; a wide grapheme is included if any of its cells is.
    pub fn slice(&self, columns: Range<usize>) -> String {
        self.graphemes()
            .filter(|(at, grapheme, _)| at + cells(grapheme).max(1) > columns.start && *at < columns.end)
            .map(|(_, grapheme, _)| grapheme)
            .collect()
    }

    /// Yields each grapheme with its first cell and the index of its span.
    pub fn graphemes(&self) -> impl Iterator<Item = (usize, &str, usize)> {
        let all = self.spans.iter().enumerate();
        let all = all.flat_map(|(index, span)| span.text.graphemes(true).map(move |one| (one, index)));
        all.scan(0, |at, (grapheme, index)| {
            let start = *at;
            *at += cells(grapheme);
            Some((start, grapheme, index))
        })
    }

    /// Returns this line with the style of these cells changed.
    #[must_use]
    pub fn painted(&self, columns: &Range<usize>, paint: impl Fn(TextStyle) -> TextStyle) -> Self {
        let mut line = Self { spans: Vec::new(), copied: self.copied.clone() };
        for (at, grapheme, index) in self.graphemes() {
            let mut span = self.spans[index].clone();
            grapheme.clone_into(&mut span.text);
            if columns.contains(&at) {
                span.style = paint(span.style);
            }
            line.push(span);
        }
        line
    }

    /// Returns this line with its first cell replaced.
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

    /// Places `left` at the left end and `right` at the right end of `width` cells; the left one is cut if
    /// needed.
    pub fn spread(left: Self, right: Self, width: usize) -> Self {
        let right = right.cut(width);
        let taken = right.width();
        let room = width.saturating_sub(taken + usize::from(taken > 0));
        let mut line = left.cut(room);
        line.pad_to(width - taken);
        line.joined(right)
    }
}

/// Returns the width of sanitized text in cells; plain ASCII is counted without looking for graphemes.
pub fn cells(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { width(text) }
}

/// Returns the last start of a grapheme up to `at`; the end of the text if `at` is beyond it.
fn grapheme_start(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        Ok(false) | Err(_) => cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let dim = TextStyle::of(Role::Dim);
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
}
