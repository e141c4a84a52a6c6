//! The screen before the first message: place, model and first steps. Shows only what exists.

use crate::sandbox::Backend;
use crate::stdx::moment::ago;
use crate::stdx::text::{count, short_path};
use crate::tui::keys::{Action, CompleteKey, Context, Move};
use crate::tui::line::{Line, Margin, Span, TextStyle, wrap_spans};
use crate::tui::model::Model;
use crate::tui::theme::Role;

pub fn lines(model: &Model) -> Vec<Line> {
    let width = model.context().width;
    let mut lines = Vec::new();
    let roomy = model.rows >= 20;
    let gap = |lines: &mut Vec<Line>| {
        if roomy {
            lines.push(Line::new());
        }
    };
    gap(&mut lines);
    gap(&mut lines);
    let mut fact = |name: &str, spans: Vec<Span>| {
        let first = Line::of(format!("    {name:<11}"), Role::Dim);
        let margin = Margin::new(first, Line::of(" ".repeat(15), Role::Text));
        lines.extend(wrap_spans(&spans, width, &margin));
    };
    if let Some(header) = &model.header {
        let isolation = match header.isolation.backend {
            // On a narrow screen only the header says so.
            _ if width < 60 => "",
            Backend::None => "  unsandboxed: commands ask, or a rule decides",
            Backend::Landlock | Backend::Bubblewrap | Backend::Docker => {
                "  sandboxed: read-only commands run at once"
            }
        };
        fact(
            "Workspace",
            vec![
                Span::new(short_path(&header.workspace, 60), Role::Text),
                Span::new(isolation, Role::Waiting),
            ],
        );
        fact("Model", vec![Span::new(format!("{} {}", header.provider, header.model), Role::Text)]);
        if let Some(owner) = &header.read_only {
            fact("Read-only", vec![Span::new(owner, Role::Waiting)]);
        }
    }
    if let Some(words) = waiting_line(model) {
        let key = model.keymap.around(": ", Context::Global, Action::FocusCard, "");
        fact("Waiting", vec![Span::new(format!("{words}{key}"), Role::Waiting)]);
    }
    gap(&mut lines);
    recent(model, width, &mut lines);
    let help = model.keymap.key_label(Context::Composer, Action::Help);
    let help = if help.is_empty() { "/keys".to_owned() } else { help };
    let accept = Action::Complete(CompleteKey::Accept);
    let commands = model.keymap.around("; ", Context::Completion, accept, " completes");
    let commands = format!("commands{commands}");
    let send = model.keymap.around(", then ", Context::Composer, Action::Send, "");
    let write = format!("your request{send}");
    let starts = [
        ("Write", write.as_str()),
        ("/help", commands.as_str()),
        ("@", "mentions a file in this folder"),
        ("!ls", "runs a command yourself, no model involved"),
        (help.as_str(), "keys"),
    ];
    for (key, words) in starts {
        let line = Line::of("    ", Role::Text).with(format!("{key:<11}"), Role::Key).with(words, Role::Dim);
        lines.push(line.cut(width));
    }
    if model.header.as_ref().is_some_and(|header| header.provider == "offline") {
        gap(&mut lines);
        let margin = Margin::even(Line::of("    ", Role::Text));
        let text = "No language model is connected: the built-in tour answers. /login sets up a service; a key in \
                    the environment or a server on this machine does too.";
        lines.extend(wrap_spans(&[Span::new(text, Role::Waiting)], width.min(76), &margin));
    }
    lines
}

/// Describes what is pending, and where.
fn waiting_line(model: &Model) -> Option<String> {
    let words = |number: usize| count(number, "request");
    match (model.cards.count(), model.elsewhere) {
        (0, 0) => None,
        (here, 0) => Some(words(here)),
        (0, elsewhere) => Some(format!("{} in other sessions", words(elsewhere))),
        (here, elsewhere) => Some(format!("{}, {elsewhere} in other sessions", words(here))),
    }
}

/// Adds the most recent sessions of this folder, the chosen one marked.
fn recent(model: &Model, width: usize, lines: &mut Vec<Line>) {
    let before = lines.len();
    for (at, one) in model.recent().enumerate() {
        let name = if at == 0 { "Recent" } else { "" };
        let is_chosen = model.recent == Some(at);
        let mark = if is_chosen { model.glyphs.folded } else { " " };
        let head = Line::of(format!("    {name:<9}"), Role::Dim).with(mark, Role::User).with(" ", Role::Text);
        let mut right = Line::of(ago(one.updated, model.now(), model.clock.time_zone()), Role::Dim);
        right.pad_to(16);
        if width >= 90 {
            let turns = if one.turns == 1 { "turn" } else { "turns" };
            right = right.with(format!("{:>4} {turns:<7}", one.turns), Role::Dim);
        }
        if one.waiting > 0 {
            right = right.with(format!("{} {} waiting", model.glyphs.waiting, one.waiting), Role::Waiting);
        }
        let tail = if width >= 90 { 40 } else { 28 };
        right.pad_to(tail);
        let room = width.saturating_sub(15 + tail);
        let style = if is_chosen { TextStyle::of(Role::Text).bold() } else { TextStyle::of(Role::Text) };
        let mut title = Line::new();
        title.push(Span::styled(&one.title, style));
        let mut title = title.cut(room.saturating_sub(2));
        title.pad_to(room);
        lines.push(head.joined(title).joined(right).cut(width));
    }
    if lines.len() > before {
        let down = model.keymap.key_label(Context::Composer, Action::Move(Move::Down));
        let tab = model.keymap.key_label(Context::Global, Action::ToggleFocus);
        let keys = [down, tab].into_iter().filter(|key| !key.is_empty()).collect::<Vec<_>>().join(" or ");
        let hint = if keys.is_empty() { keys } else { format!("{keys} picks one, ") };
        let line = Line::of(" ".repeat(15), Role::Text).with(hint, Role::Dim).with("/resume", Role::Key);
        lines.push(line.with(" lists all", Role::Dim).cut(width));
        lines.push(Line::new());
    }
}
