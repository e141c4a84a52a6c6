//! A change to a file as lines: numbers, signs, colours; long lines wrap, none is clipped.

use crate::stdx::text::expand_tabs;
use crate::tool::{DiffKind, DiffLine};
use crate::tui::line::{Ink, Line, Margin, Span, wrap_exact};
use crate::tui::theme::Role;

/// Lines added and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
}

pub fn counts(lines: &[DiffLine]) -> Counts {
    let of = |kind| lines.iter().filter(|line| line.kind == kind).count();
    Counts { added: of(DiffKind::Added), removed: of(DiffKind::Removed) }
}

pub fn lines(diff: &[DiffLine], width: usize) -> Vec<Line> {
    let digits = diff.iter().map(|line| line.number).max().unwrap_or(0).to_string().len().max(3);
    let mut out = Vec::new();
    for line in diff {
        let (sign, role) = match line.kind {
            DiffKind::Hunk => {
                let span = Span::new(format!("@@ {}", line.text), Role::Dim);
                out.extend(wrap_exact(&span, width, &Margin::default()));
                continue;
            }
            DiffKind::Context => (" ", Role::Text),
            DiffKind::Added => ("+", Role::Added),
            DiffKind::Removed => ("-", Role::Removed),
        };
        let number = format!("{:>digits$} ", line.number);
        let first = Line::of(number, Role::Dim).with(format!("{sign} "), role);
        let rest = Line::of(" ".repeat(digits + 3), Role::Text);
        let text = line.text.strip_suffix('\r').map_or_else(|| line.text.clone(), |text| format!("{text}␍"));
        let span = Span::inked(expand_tabs(&text), Ink::of(role));
        out.extend(wrap_exact(&span, width, &Margin::new(first, rest)));
    }
    out
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
        let text: Vec<String> = lines(&diff, 18).iter().map(Line::text).collect();
        assert_eq!(
            text,
            ["@@ fn main", "  9   same", " 10 - old<U+202E>", " 10 + a new line t", "      hat is long",]
        );
        assert_eq!(counts(&diff), Counts { added: 1, removed: 1 });
    }
}
