//! The rule above the composer during a search in the transcript, and the line about matches elsewhere.

use super::{Find, FindStage, elsewhere as count};
use crate::tui::composer::Rows;
use crate::tui::line::Line;
use crate::tui::model::Model;
use crate::tui::theme::Role;

/// Cells of the rule before the query.
const HEAD: usize = 9;

/// Below this width the rule shows only the query.
const NARROW: usize = 60;

pub fn rule(model: &Model, find: &Find) -> Line {
    let width = usize::from(model.columns);
    let glyphs = model.glyphs;
    let mut line = Line::of(glyphs.rule.repeat(2), Role::Dim).with(" find: ", Role::User);
    let rows = Rows::of(&find.editor, usize::MAX);
    let words = rows.line(&find.editor, 0);
    let room = room(width);
    let from = rows.cursor.column.saturating_sub(room.saturating_sub(1));
    line.push(crate::tui::line::Span::new(words.slice(from..from + room), Role::Text));
    line = line.with(" ", Role::Text);
    let right = right(model, find, width);
    let rest = width.saturating_sub(line.width() + right.width());
    line.with(glyphs.rule.repeat(rest), Role::Dim).joined(right)
}

fn right(model: &Model, find: &Find, width: usize) -> Line {
    if width < NARROW {
        return Line::new();
    }
    let case = if find.query().is_exact { "Aa exact" } else { "Aa smart" };
    let glyphs = model.glyphs;
    let reach = if find.in_tools { "text+tools" } else { "text" };
    Line::of(format!(" {case} {} {reach} ", glyphs.dot), Role::Dim).with(glyphs.rule.repeat(2), Role::Dim)
}

/// Returns the cells for the query.
fn room(width: usize) -> usize {
    let right = if width < NARROW { 0 } else { 26 };
    width.saturating_sub(HEAD + 2 + right).max(1)
}

/// Returns the cursor's column in the rule while the query is written.
pub fn cursor(model: &Model, find: &Find) -> Option<usize> {
    match find.stage {
        FindStage::Writing => {
            let room = room(usize::from(model.columns));
            let at = Rows::of(&find.editor, usize::MAX).cursor.column;
            Some(HEAD + at.min(room.saturating_sub(1)))
        }
        FindStage::Walking => None,
    }
}

/// Returns the line under the pane, about matches that are not visible.
pub fn elsewhere(model: &Model) -> Line {
    let Some(find) = &model.find else { return Line::new() };
    if find.query().is_empty() {
        return Line::new();
    }
    if find.total() == 0 {
        return Line::of("   no matches", Role::Waiting);
    }
    let transcript = &model.transcript;
    let seen = transcript.visible_cells();
    let out = count(find, transcript.cells(), &model.context(), &seen, |cell| transcript.seen_lines(cell));
    let parts = out.into_iter().zip(["above", "below", "in folded output"]);
    let parts = parts.filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, words)| format!("{number} {words}")).collect();
    let dot = format!(" {} ", model.glyphs.dot);
    let text = match out.iter().sum::<usize>() {
        0 => return Line::new(),
        1 => format!("   1 more match: {}", parts.join(&dot)),
        total => format!("   {total} more matches: {}", parts.join(&dot)),
    };
    Line::of(text, Role::Dim).cut(usize::from(model.columns))
}
