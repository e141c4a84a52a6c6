//! The completion popup, drawn upward from the composer over the transcript.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::tui::bordered_box::{BorderedBox, column};
use crate::tui::completion::{Popup, ROOMY, Row, WordKind};
use crate::tui::fuzzy::marked_line;
use crate::tui::line::{Line, TextStyle, cells};
use crate::tui::model::Model;
use crate::tui::theme::Role;

/// Returns its lines, at most `rows`; none while it is closed.
pub fn lines(model: &Model, rows: usize) -> Vec<Line> {
    let Some((popup, area)) = model.popup(rows) else { return Vec::new() };
    let (width, shown) = (area.width, area.shown);
    let count = format!("{}-{} of {}", shown.start + 1, shown.end, popup.found);
    let title = Line::of(title(popup), Role::Heading);
    let mut boxed = BorderedBox::new(model.glyphs, width, title, Line::new());
    let widths = Widths::of(&popup.rows[shown.clone()], boxed.room());
    for at in shown {
        boxed.push(row(model, popup, at, &widths));
    }
    if popup.is_loading {
        boxed.push(Line::of("  loading…", Role::Dim));
        return boxed.end(Line::new(), Line::new());
    }
    boxed.end(Line::new(), Line::of(count, Role::Dim))
}

/// Returns the word as written.
fn title(popup: &Popup) -> String {
    let text = &popup.word.text;
    match &popup.word.kind {
        WordKind::Command => format!("/{text}"),
        WordKind::Argument { command } => format!("/{command} {text}"),
        WordKind::Mention => format!("@{text}"),
        WordKind::ShellWord if text.is_empty() => "files".to_owned(),
        WordKind::ShellWord => text.clone(),
    }
}

/// Cells of the columns.
struct Widths {
    label: usize,
    usage: usize,
    source: usize,
    about: usize,
}

impl Widths {
    fn of(rows: &[Row], room: usize) -> Self {
        let widest = |of: fn(&Row) -> &str| rows.iter().map(|row| cells(of(row))).max().unwrap_or(0);
        let room = room.saturating_sub(2);
        let about = widest(|row| &row.about);
        if about == 0 {
            return Self { label: room, usage: 0, source: 0, about: 0 };
        }
        let label = (widest(|row| &row.label) + 2).min(room / 2);
        let source = if room >= 50 { widest(|row| &row.source) } else { 0 };
        let usage = if room + 6 >= ROOMY { (widest(|row| &row.usage) + 2).min(24) } else { 0 };
        Self { label, usage, source, about: room.saturating_sub(label + usage + source + 2) }
    }
}

fn row(model: &Model, popup: &Popup, at: usize, widths: &Widths) -> Line {
    let row = &popup.rows[at];
    let is_chosen = at == popup.chosen;
    let mark = if is_chosen { model.glyphs.folded } else { " " };
    let style = if is_chosen { TextStyle::of(Role::Text).bold() } else { TextStyle::of(Role::Text) };
    let label = match widths.about {
        0 => end_of(&row.label, &row.marks, style, widths.label),
        _ => marked_line(&row.label, &row.marks, style),
    };
    let line = Line::of(mark, Role::User).with(" ", Role::Text).joined(column(label, widths.label));
    if widths.about == 0 {
        return line;
    }
    let role = if is_chosen { Role::Text } else { Role::Dim };
    line.joined(column(Line::of(&row.about, role), widths.about))
        .with("  ", Role::Text)
        .joined(column(Line::of(&row.usage, Role::Dim), widths.usage))
        .joined(column(Line::of(&row.source, Role::Dim), widths.source))
}

/// Returns the end of a long path: the name matters more than the beginning.
fn end_of(label: &str, marks: &[usize], style: TextStyle, room: usize) -> Line {
    let line = marked_line(label, marks, style);
    if line.width() <= room {
        return line;
    }
    let graphemes: Vec<&str> = label.graphemes(true).collect();
    let mut from = graphemes.len();
    let mut used = 1;
    while from > 0 {
        used += Line::of(graphemes[from - 1], Role::Text).width();
        if used > room {
            break;
        }
        from -= 1;
    }
    let marks: Vec<usize> = marks.iter().filter_map(|mark| mark.checked_sub(from)).collect();
    Line::of("…", Role::Dim).joined(marked_line(&graphemes[from..].concat(), &marks, style))
}
