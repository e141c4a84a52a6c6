//! The last line: what the keys do now at the left; activity, tokens and what waits always at the right.

use std::time::Duration;

use crate::tui::cards::Stage;
use crate::tui::cells::call::seconds;
use crate::tui::line::Line;
use crate::tui::model::{Activity, Focus, Life, Model, Overlay, Phase, RetryState, Stop, Turn};
use crate::tui::theme::Role;

pub fn line(model: &Model) -> Line {
    let width = usize::from(model.columns);
    let right = activity(model).with(" ", Role::Text);
    let room = width.saturating_sub(right.width() + 2);
    let (text, role) = hints(model);
    let left = Line::of(" ", Role::Text).with(fit(&text, room), role);
    Line::spread(left, right, width)
}

/// As many of the hints, which two spaces part, as there is room for; the first in any case.
fn fit(text: &str, room: usize) -> String {
    let mut shown = String::new();
    for hint in text.split("  ") {
        if shown.is_empty() {
            shown.push_str(hint);
        } else if shown.chars().count() + 2 + hint.chars().count() <= room {
            shown.push_str("  ");
            shown.push_str(hint);
        } else {
            break;
        }
    }
    shown
}

fn hints(model: &Model) -> (String, Role) {
    if let Life::Closing { .. } = model.life {
        return ("saving…  Ctrl+C leaves at once".to_owned(), Role::Waiting);
    }
    if let Some((text, _)) = &model.flash {
        return (text.clone(), Role::Waiting);
    }
    let text = if let Overlay::Help { .. } = model.overlay {
        "Up Down scroll  Esc close"
    } else if model.focus == Focus::Card {
        card_hints(model)
    } else if model.turn.as_ref().is_some_and(|turn| turn.stop == Stop::Asked) {
        return ("stopping…".to_owned(), Role::Waiting);
    } else if model.retry.is_some() {
        "Alt+R retry now  Esc stop"
    } else if model.cards.current().is_some() && !model.composer.is_empty() {
        "Tab: to the card  (you are typing: keys go to the text)"
    } else if model.cards.current().is_some() {
        "Tab: to the card  Alt+A: all that waits"
    } else if model.turn.is_some() {
        "Esc interrupt  Enter queue  Ctrl+O details"
    } else if model.shell == Activity::Running {
        "Ctrl+C stops the command"
    } else if let Some(owner) = model.header.as_ref().and_then(|header| header.read_only.as_ref()) {
        return (format!("read-only: {owner}"), Role::Waiting);
    } else {
        "? keys  / commands  ! shell"
    };
    (text.to_owned(), Role::Dim)
}

fn card_hints(model: &Model) -> &'static str {
    let stage = model.cards.current().map(|card| &card.stage);
    match stage {
        Some(Stage::Editing(_)) => "Ctrl+S approves what is written here",
        Some(Stage::Reason(_)) => "Enter sends the no, with or without a reason",
        Some(Stage::Asking | Stage::Confirming(_) | Stage::Deciding(_)) | None => {
            let (_, of) = model.cards.position();
            if of > 1 {
                "Up Down cards  PgDn scroll  Tab back to writing"
            } else {
                "PgDn scroll  Tab back to writing"
            }
        }
    }
}

fn activity(model: &Model) -> Line {
    let mut line = Line::new();
    if let Some(retry) = &model.retry {
        let left = match retry.state {
            RetryState::Counting => super::banner::clock(retry.seconds_left(model.now_ms)),
            RetryState::Sent => "again".to_owned(),
        };
        line = line.with(format!("{} {left}  ", model.glyphs.retry), Role::Waiting);
    } else if let Some(turn) = &model.turn {
        line = turn_line(model, turn);
    } else if model.shell == Activity::Running {
        line = line.with(format!("{} command  ", model.look().spinner()), Role::Tool);
    }
    let waiting = model.cards.count();
    let role = if waiting > 0 { Role::Waiting } else { Role::Dim };
    line.with(format!("{} {waiting}", model.glyphs.waiting), role)
}

fn turn_line(model: &Model, turn: &Turn) -> Line {
    let took = seconds(Duration::from_millis(model.now_ms.saturating_sub(turn.since_ms) / 1_000 * 1_000));
    let took = took.replace(".0s", "s");
    let words = match turn.phase {
        Phase::Paused if model.columns < 60 => return Line::new(),
        Phase::Paused => return Line::of("waiting for you  ", Role::Waiting),
        Phase::Asking => String::new(),
        Phase::Thinking => "thinking  ".to_owned(),
        Phase::Answering => String::new(),
        Phase::Tools => format!("{} run  ", turn.running),
    };
    let estimate = turn.streamed.div_ceil(4) as u64;
    let tokens = match (turn.tokens, estimate) {
        (None, 0) => String::new(),
        (Some(tokens), 0) => format!("{tokens} tok  "),
        (tokens, estimate) => format!("~{} tok  ", tokens.unwrap_or(0) + estimate),
    };
    let spinner = model.look().spinner();
    let words = if model.columns < 60 { String::new() } else { words };
    Line::of(format!("{spinner} {took}  "), Role::Tool).with(format!("{words}{tokens}"), Role::Dim)
}
