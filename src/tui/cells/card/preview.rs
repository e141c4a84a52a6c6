//! Texts of requests, uncut; hidden characters are shown as visible marks.

use crate::stdx::text::expand_tabs;
use crate::tui::line::{Line, Margin, Span, wrap_pieces};
use crate::tui::theme::Role;

pub fn verbatim(text: &str, width: usize) -> Vec<Line> {
    let margin = Margin::even(Line::of("  ", Role::Text));
    let whole = text.strip_suffix('\n').unwrap_or(text);
    whole
        .split('\n')
        .flat_map(|line| wrap_pieces(vec![Span::new(expand_tabs(line), Role::Text)], width, &margin))
        .collect()
}

/// Lays out names in a column and values beside it; a name too long for the column is above its value. Tainted names
/// are followed by `mark`.
pub fn fields(
    fields: &[(&str, &str)],
    room: usize,
    mark: &str,
    is_tainted: impl Fn(&str) -> bool,
) -> Vec<Line> {
    let most = room / 3;
    let shown = |name: &str| {
        let line = Line::of(name, Role::Dim);
        if is_tainted(name) { line.with(format!(" {mark}"), Role::Waiting) } else { line }
    };
    let column = fields.iter().map(|(name, _)| shown(name).width()).filter(|cells| *cells <= most).max();
    let column = column.unwrap_or(0);
    let mut lines = Vec::new();
    for (name, value) in fields {
        let mut first = shown(name);
        if first.width() > column {
            lines.extend(wrap_pieces(vec![Span::new(first.text(), Role::Dim)], room, &Margin::default()));
            first = Line::new();
        }
        first.pad_to(column + 2);
        let mut margin = Margin::new(first, Line::of(" ".repeat(column + 2), Role::Text));
        for line in value.split('\n') {
            lines.extend(wrap_pieces(vec![Span::new(expand_tabs(line), Role::Text)], room, &margin));
            margin = Margin::even(margin.rest);
        }
    }
    lines
}
