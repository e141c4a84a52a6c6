//! The list of keys, framed: a title with the filter above it, how to rebind below it.

use crate::tui::help::{Edge, Help, HelpArea};
use crate::tui::keys::{Action, Context, Nav};
use crate::tui::line::Line;
use crate::tui::model::Model;
use crate::tui::theme::Role;

pub fn lines(model: &Model, help: &Help, rows: usize) -> Vec<Line> {
    let area = HelpArea::of(usize::from(model.columns), rows);
    let body = help.lines(&model.keymap, area, model.glyphs);
    let from = help.scroll.min(body.len().saturating_sub(area.rows));
    let left = body.len().saturating_sub(from + area.rows);
    let shown = body.into_iter().skip(from).take(area.rows);
    match area.edge {
        Edge::Title => {
            let filter = filter(model, help).with(" ", Role::Text);
            let right = if help.is_filtered() || left == 0 {
                filter
            } else {
                more(model, left).with(" ", Role::Text)
            };
            let mut lines = vec![Line::spread(Line::of(" keys", Role::Heading), right, area.width)];
            lines.extend(shown.map(|line| Line::of(" ", Role::Text).joined(line)));
            lines
        }
        Edge::Border => {
            let mut lines =
                vec![border(model, area, Line::of("keys", Role::Heading), filter(model, help), 0)];
            lines.extend(shown.map(|line| inside(model, area, line)));
            while lines.len() <= area.rows && lines.len() + 1 < rows {
                lines.push(inside(model, area, Line::new()));
            }
            let how = format!("rebind: [keys] in config.toml {} co keys --check", model.glyphs.dot);
            let right = if left == 0 { Line::new() } else { more(model, left) };
            lines.push(border(model, area, Line::of(how, Role::Dim), right, 2));
            lines
        }
    }
}

fn filter(model: &Model, help: &Help) -> Line {
    Line::of("filter: ", Role::Dim).with(&help.filter, Role::User).with(model.glyphs.cursor, Role::Dim)
}

fn more(model: &Model, lines: usize) -> Line {
    let words = match model.keymap.shown(Context::Global, Action::Nav(Nav::PageDown)) {
        key if key.is_empty() => format!("{lines} more lines"),
        key => format!("{lines} more lines, {key}"),
    };
    Line::of(words, Role::Waiting)
}

fn inside(model: &Model, area: HelpArea, line: Line) -> Line {
    let side = model.glyphs.side;
    let before = Line::of(" ".repeat(area.margin), Role::Text).with(format!("{side} "), Role::Dim);
    let mut line = before.joined(line.cut(area.inside()));
    line.pad_to(area.margin + area.width - 1);
    line.with(side, Role::Dim)
}

/// An edge with words in it; `corner` is the index of its left corner.
fn border(model: &Model, area: HelpArea, left: Line, right: Line, corner: usize) -> Line {
    let glyphs = model.glyphs;
    let rule = |cells: usize| Line::of(glyphs.rule.repeat(cells), Role::Dim);
    let left = Line::of(format!("{}{} ", glyphs.corners[corner], glyphs.rule), Role::Dim)
        .joined(left)
        .with(" ", Role::Text);
    let right = if right.spans.is_empty() {
        right
    } else {
        Line::of(" ", Role::Text).joined(right).with(" ", Role::Text)
    };
    let right = right.joined(rule(1)).with(glyphs.corners[corner + 1], Role::Dim);
    let fill = area.width.saturating_sub(left.width() + right.width());
    let margin = Line::of(" ".repeat(area.margin), Role::Text);
    margin.joined(left).joined(rule(fill)).joined(right).cut(area.margin + area.width)
}
