//! What stands on the screen before anything was said: where one is, who answers, how to begin. Only what exists.

use super::header::place;
use crate::tui::keys::{Action, Context};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::model::Model;
use crate::tui::theme::Role;

pub fn lines(model: &Model) -> Vec<Line> {
    let width = usize::from(model.columns).min(crate::tui::model::WIDEST_TEXT);
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
        let isolation = match header.isolation {
            "unsandboxed" => "  unsandboxed: every command asks first",
            _ => "",
        };
        fact("Workspace", vec![Span::new(place(header), Role::Text), Span::new(isolation, Role::Waiting)]);
        fact("Model", vec![Span::new(format!("{} {}", header.provider, header.model), Role::Text)]);
        if let Some(owner) = &header.read_only {
            fact("Read-only", vec![Span::new(owner, Role::Waiting)]);
        }
    }
    match model.cards.count() {
        0 => {}
        count => {
            let words =
                if count == 1 { "1 request waits".to_owned() } else { format!("{count} requests wait") };
            let key = model.keymap.shown(Context::Global, Action::FocusCard);
            let key = if key.is_empty() { key } else { format!(": {key}") };
            fact("Waiting", vec![Span::new(format!("{words} for you{key}"), Role::Waiting)]);
        }
    }
    gap(&mut lines);
    let help = model.keymap.shown(Context::Composer, Action::Help);
    let help = if help.is_empty() { "/keys".to_owned() } else { help };
    let starts = [
        ("Write", "what you want done, then Enter"),
        ("/help", "the commands"),
        ("!ls", "runs a command yourself, no model involved"),
        (help.as_str(), "the keys"),
    ];
    for (key, words) in starts {
        let line = Line::of("    ", Role::Text).with(format!("{key:<11}"), Role::Key).with(words, Role::Dim);
        lines.push(line.cut(width));
    }
    if model.header.as_ref().is_some_and(|header| header.provider == "offline") {
        gap(&mut lines);
        let margin = Margin::even(Line::of("    ", Role::Text));
        let text = "No language model is connected: the built-in tour answers. Set ANTHROPIC_API_KEY or \
                    OPENAI_API_KEY, or start a local server, then /model.";
        lines.extend(wrap_spans(&[Span::new(text, Role::Waiting)], width.min(76), &margin));
    }
    lines
}
