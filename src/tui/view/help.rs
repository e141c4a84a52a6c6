//! The list of keys, made from the key table.

use crate::tui::keys::{Binding, Group, rows};
use crate::tui::line::Line;
use crate::tui::model::Model;
use crate::tui::theme::Role;

/// From this width on the list has two columns.
const TWO_COLUMNS: usize = 76;

/// Cells of the keys' names.
const KEYS: usize = 15;

pub fn lines(model: &Model, rows: usize, scroll: usize) -> Vec<Line> {
    let width = usize::from(model.columns);
    let body = if width >= TWO_COLUMNS { two_columns(width) } else { column(&Group::ALL) };
    let room = rows.saturating_sub(1);
    let from = scroll.min(body.len().saturating_sub(room));
    let left = body.len().saturating_sub(from + room);
    let hint = if left > 0 { format!("{left} more lines, PgDn ") } else { String::new() };
    let title = Line::of(" keys", Role::Heading);
    let mut lines = vec![Line::spread(title, Line::of(hint, Role::Waiting), width)];
    lines.extend(body.into_iter().skip(from).take(room));
    lines
}

fn two_columns(width: usize) -> Vec<Line> {
    let left = column(&[Group::Write]);
    let right = column(&[Group::Work, Group::Read, Group::Decide]);
    let half = width / 2;
    let height = left.len().max(right.len());
    (0..height)
        .map(|row| {
            let mut line = left.get(row).cloned().unwrap_or_default().cut(half - 1);
            line.pad_to(half);
            line.joined(right.get(row).cloned().unwrap_or_default().cut(width - half))
        })
        .collect()
}

fn column(groups: &[Group]) -> Vec<Line> {
    let mut lines = Vec::new();
    for group in groups {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.push(Line::of(format!(" {}", group.title()), Role::Heading));
        for binding in rows().filter(|binding| binding.group == *group && !binding.help.is_empty()) {
            lines.push(row(binding));
        }
    }
    lines
}

fn row(binding: &Binding) -> Line {
    let mut names = String::new();
    for key in binding.keys {
        let name = key.to_string();
        if !names.is_empty() && names.len() + 1 + name.len() > KEYS {
            break;
        }
        if !names.is_empty() {
            names.push(' ');
        }
        names.push_str(&name);
    }
    let mut line = Line::of(" ", Role::Text).with(names, Role::Key);
    line.pad_to(KEYS + 2);
    line.with(binding.help, Role::Text)
}
