//! The text that a screen line contributes to a copy: the source text, not the cells.
//!
//! Every line records where its margin ends and how it continues the line before it. So copied text has no
//! gutters, borders or padding, and a soft-wrapped paragraph is one line. Set where lines are wrapped; read
//! by marking and by the search in the transcript.

use std::ops::Range;

use super::line::{Join, Line, SourceLine};

/// A line and its selected cells; the end may be beyond the line.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedLine<'a> {
    pub line: &'a Line,
    pub columns: Range<usize>,
}

impl SelectedLine<'_> {
    /// Returns the cells drawn as selected: none of a margin or a remark, all of a row that is copied whole.
    pub fn drawn_cells(&self) -> Range<usize> {
        let copied = &self.line.copied;
        let width = self.line.width();
        if copied.join == Join::Ours {
            return 0..0;
        }
        let rows = copied.exact.as_ref().filter(|exact| !exact.columns().is_empty());
        if rows.is_some_and(|exact| !exact.is_within_a_column(&self.within())) {
            return copied.margin..width;
        }
        self.within()
    }

    /// Returns the selected cells that hold text.
    fn within(&self) -> Range<usize> {
        let start = self.columns.start.max(self.line.copied.margin);
        start..self.columns.end.min(self.end()).max(start)
    }

    fn has_start(&self) -> bool {
        self.columns.start <= self.line.copied.margin
    }

    /// Returns the source text of the margin, such as a bullet or a number, if the selection begins in the
    /// margin.
    fn lead(&self) -> &str {
        if self.columns.start < self.line.copied.margin { &self.line.copied.lead } else { "" }
    }

    fn has_end(&self) -> bool {
        self.columns.end >= self.end()
    }

    /// Returns the column after the text.
    fn end(&self) -> usize {
        self.line.width() - self.line.copied.padding.min(self.line.width())
    }

    fn text(&self) -> String {
        self.line.slice(self.within())
    }
}

/// Returns the text of selected lines of one cell. `after` is the line after the last one; it shows whether
/// the last line was cut.
pub fn text(marked: &[SelectedLine<'_>], after: Option<&Line>) -> String {
    let mut out: Vec<String> = Vec::new();
    let shown: Vec<&SelectedLine<'_>> =
        marked.iter().filter(|one| one.line.copied.join != Join::Ours).collect();
    let mut rest = shown.as_slice();
    while let Some((first, others)) = rest.split_first() {
        let more = others.iter().take_while(|one| one.line.copied.join != Join::Start).count();
        let (logical, next) = rest.split_at(more + 1);
        let goes_on = next.is_empty() && after.is_some_and(|line| matches!(line.copied.join, Join::Gap(_)));
        let ends = !goes_on && logical.last().is_some_and(|last| last.has_end());
        let line = match &first.line.copied.exact {
            Some(exact) if takes_exact(exact, logical, ends) => {
                format!("{}{}", first.lead(), exact.text())
            }
            Some(_) | None => pieces(logical),
        };
        out.push(line.trim_end_matches([' ', '\t']).to_owned());
        rest = next;
    }
    out.join("\n")
}

fn takes_exact(exact: &SourceLine, logical: &[&SelectedLine<'_>], ends: bool) -> bool {
    let Some(first) = logical.first() else { return false };
    if exact.columns().is_empty() {
        return ends && first.has_start() && first.line.copied.join == Join::Start;
    }
    logical.len() > 1 || !exact.is_within_a_column(&first.within())
}

fn pieces(logical: &[&SelectedLine<'_>]) -> String {
    let mut out = String::new();
    for (index, piece) in logical.iter().enumerate() {
        match &piece.line.copied.join {
            Join::Gap(gap) if index > 0 => out.push_str(gap),
            Join::Start => out.push_str(piece.lead()),
            Join::Gap(_) | Join::Ours => {}
        }
        out.push_str(&piece.text());
    }
    out
}

/// Records the source of one line whose tabs were drawn as spaces.
#[must_use]
pub fn exactly(mut lines: Vec<Line>, source: &str) -> Vec<Line> {
    if source.contains('\t')
        && let Some(first) = lines.first_mut()
    {
        first.copied.exact = Some(SourceLine::new(source, Vec::new()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::line::{CopyRules, Margin, Span, wrap_pieces, wrap_spans};
    use crate::tui::theme::Role;

    fn marked(lines: &[Line], from: (usize, usize), to: (usize, usize)) -> String {
        let all: Vec<SelectedLine<'_>> = lines
            .iter()
            .enumerate()
            .filter(|(at, _)| (from.0..=to.0).contains(at))
            .map(|(at, line)| {
                let start = if at == from.0 { from.1 } else { 0 };
                let end = if at == to.0 { to.1 + 1 } else { usize::MAX };
                SelectedLine { line, columns: start..end }
            })
            .collect();
        text(&all, lines.get(to.0 + 1))
    }

    fn margin() -> Margin {
        let mut first = Line::of(" • ", Role::Text);
        first.copied.lead = "- ".to_owned();
        Margin::new(first, Line::of("   ", Role::Text))
    }

    #[test]
    fn a_wrapped_line_comes_out_as_one() {
        let lines = wrap_spans(&[Span::new("one two  three abcdefghij", Role::Text)], 10, &margin());
        assert_eq!(lines.len(), 4, "{lines:?}");
        let cases = [
            ((0, 0), (3, 9), "- one two  three abcdefghij"),
            ((0, 2), (1, 9), "- one two  three"),
            ((0, 3), (1, 9), "one two  three"),
            ((0, 4), (1, 3), "ne two  t"),
            ((1, 0), (1, 99), "three"),
            ((2, 0), (3, 99), "abcdefghij"),
            ((0, 0), (0, 1), "-"),
        ];
        for (from, to, expected) in cases {
            assert_eq!(marked(&lines, from, to), expected, "{from:?} {to:?}");
        }
    }

    #[test]
    fn tabs_come_back_where_a_line_is_marked_whole() {
        let source = "\tif x:\ty";
        let shown = crate::stdx::text::expand_tabs(source);
        let margin = Margin::even(Line::of(" │ ", Role::Dim));
        let lines = exactly(wrap_pieces(vec![Span::new(shown, Role::Code)], 9, &margin), source);
        let last = lines.len() - 1;
        assert!(last > 0);
        assert_eq!(marked(&lines, (0, 0), (last, 99)), source);
        assert_eq!(marked(&lines, (0, 5), (last, 99)), "  if x:   y");
    }

    #[test]
    fn a_mark_across_columns_takes_the_row() {
        let mut line = Line::of(" │ ab │ c  │", Role::Text);
        line.copied = CopyRules {
            margin: 1,
            exact: Some(SourceLine::new("| ab | c |", vec![3..5, 8..10])),
            ..CopyRules::default()
        };
        let lines = [line];
        assert_eq!(marked(&lines, (0, 3), (0, 4)), "ab");
        assert_eq!(marked(&lines, (0, 8), (0, 9)), "c");
        assert_eq!(marked(&lines, (0, 4), (0, 8)), "| ab | c |");
    }
}
