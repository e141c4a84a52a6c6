//! A diff with the old text on the left and the new text on the right, line by line, both wrapped.
//!
//! Called by `diff` for cards that are wide enough, and by the form to show what an edit changes.

use super::diff::{
    DiffPainter, DiffPiece, DiffRow, Layout, Page, Side, change_rows, digits, is_split, pieces, unified_page,
};
use crate::tool::DiffLine;
use crate::tui::line::Line;
use crate::tui::theme::Role;

/// The width of the separator: a space, the rule and a space.
const BETWEEN: usize = 3;

/// Lays out the diff side by side, or one text below the other if `columns` are too few or the user chose so.
pub fn page(diff: &[DiffLine], layout: &Layout<'_>, columns: usize) -> Page {
    if is_split(layout.hunks.sides, columns) {
        both(diff, layout, digits(diff))
    } else {
        unified_page(diff, layout)
    }
}

/// Lays out the diff without line numbers and hunk heads.
pub fn bare(diff: &[DiffLine], layout: &Layout<'_>) -> Vec<Line> {
    both(diff, layout, 0).lines
}

/// Lays out with line numbers of so many digits; with none, the heads of hunks are left out too.
fn both(diff: &[DiffLine], layout: &Layout<'_>, digits: usize) -> Page {
    let left = (layout.width.saturating_sub(BETWEEN)) / 2;
    let right = layout.width.saturating_sub(BETWEEN + left);
    let mut page = Page::default();
    let mut painter = DiffPainter::new(layout.code, digits);
    let put =
        |old: Option<DiffRow<'_>>, new: Option<DiffRow<'_>>, page: &mut Page, painter: &mut DiffPainter| {
            let old = old.map_or(Vec::new(), |row| painter.lines(&row, left));
            let new = new.map_or(Vec::new(), |row| painter.lines(&row, right));
            for at in 0..old.len().max(new.len()) {
                let mut line = old.get(at).cloned().unwrap_or_default();
                line.pad_to(left);
                let line = line.with(format!(" {} ", layout.glyphs.side), Role::Dim);
                page.lines.push(line.joined(new.get(at).cloned().unwrap_or_default()));
            }
        };
    for piece in pieces(diff) {
        match piece {
            DiffPiece::Head { hunk, line } => {
                painter.jump();
                if digits > 0 {
                    page.head(hunk, line, layout);
                } else if line.number > 1 {
                    page.lines.push(Line::of("  …", Role::Dim));
                }
            }
            DiffPiece::Same { line, old_number } => {
                let old = DiffRow::same(line).within(old_number, Side::Old);
                let new = DiffRow::same(line).within(line.number, Side::New);
                put(Some(old), Some(new), &mut page, &mut painter);
            }
            DiffPiece::Changed { hunk, old, new } => {
                let (old, new) = change_rows(&old, &new, layout.hunks.is_skipped(hunk) == Some(true));
                let mut new = new.into_iter();
                for row in old {
                    put(Some(row), new.next(), &mut page, &mut painter);
                }
                for row in new {
                    put(None, Some(row), &mut page, &mut painter);
                }
            }
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::diff::diff;
    use crate::tui::cells::diff::DiffCode;
    use crate::tui::hunks::Hunks;
    use crate::tui::theme::Glyphs;

    #[test]
    fn old_and_new_stand_beside_each_other() {
        let lines = diff("a\nb\nc\nd\n", "a\nB and more\nx\nd\ne\n");
        let hunks = Hunks::default();
        let layout = Layout { width: 29, hunks: &hunks, glyphs: &Glyphs::UNICODE, code: DiffCode::PLAIN };
        let page = page(&lines, &layout, 120);
        let text: Vec<String> = page.lines.iter().map(|line| line.text().trim_end().to_owned()).collect();
        let expected = [
            "@@ -1,4 +1,5",
            "  1   a       │   1   a",
            "  2 - b       │   2 + B and m",
            "              │       ore",
            "  3 - c       │   3 + x",
            "  4   d       │   4   d",
            "              │   5 + e",
        ];
        assert_eq!(text, expected);
        assert!(bare(&lines, &layout).iter().all(|line| line.width() <= 29));
    }
}
