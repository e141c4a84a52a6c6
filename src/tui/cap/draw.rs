//! The question at a cap: the amount used, the limit, the estimate for the next request, and the keys.
//!
//! It looks like a card but is not one: it approves no call. Called by the layout.

use crate::agent::caps::CapAnswer;
use crate::tui::cap::CapCard;
use crate::tui::cells::card::{CardLayout, LOW, Sheet, WIDEST, decide, fitting, keys_line};
use crate::tui::keys::{Action, Context};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::screen::{CardFocus, Screen};
use crate::tui::theme::Role;

/// The width of the labels of the figures, in cells.
const NAMES: usize = 6;

pub fn draw(cap: &CapCard, screen: &Screen<'_>) -> CardLayout {
    let width = screen.context.width.min(WIDEST);
    let mut sheet = Sheet::new(screen, width);
    let question = &cap.question;
    let title = Line::of(format!("{} ", screen.context.glyphs.waiting), Role::Waiting)
        .with("cap reached", Role::Text);
    sheet.border(&title, &Line::of(question.cap.setting(), Role::Dim), 0);
    let figures = if screen.rows < LOW { short_figures(cap) } else { figures(cap) };
    for (name, text) in figures {
        let first = Line::of(format!("{name:<NAMES$}"), Role::Dim);
        let margin = Margin::new(first, Line::of(" ".repeat(NAMES), Role::Text));
        sheet.put_all(wrap_spans(&[Span::new(text, Role::Text)], sheet.inner, &margin));
    }
    let word = cap.said.map(|said| match said {
        CapAnswer::GoOn => "continue: sending…",
        CapAnswer::Raise => "raise: sending…",
        CapAnswer::Stop => "stopping…",
    });
    let foot = match word {
        Some(word) => Line::of(word, Role::Waiting),
        None => keys(screen, sheet.keys_room()),
    };
    sheet.end(&foot);
    sheet.drawn
}

/// Returns the figures, each with its label.
fn figures(cap: &CapCard) -> Vec<(&'static str, String)> {
    let question = &cap.question;
    let mut rows = vec![("used", question.share_words())];
    if question.unpriced > 0 {
        rows.push(("", format!("not counting requests of unknown price: {}", question.unpriced)));
    }
    let next = match question.adds {
        Some(adds) => {
            format!("about {} for the next request ({})", question.cap.amount_text(adds), question.model)
        }
        None => format!("unknown: {} has no price", question.model),
    };
    rows.push(("next", next));
    rows.push(("raise", question.raise_words().replacen("raise it to", "to", 1)));
    rows
}

/// Returns the figures for a small screen; the cap's name is in the title.
fn short_figures(cap: &CapCard) -> Vec<(&'static str, String)> {
    let question = &cap.question;
    let at_least = if question.unpriced > 0 { "at least " } else { "" };
    let amount = |amount| question.cap.amount_text(amount);
    let next = question.adds.map_or("of unknown price".to_owned(), |adds| format!("about {}", amount(adds)));
    vec![
        ("used", format!("{at_least}{} of {}", amount(question.spent), amount(question.limit))),
        ("next", next),
        ("raise", question.raise_words().replacen("raise it to", "to", 1)),
    ]
}

fn keys(screen: &Screen<'_>, room: usize) -> Line {
    let (keymap, dot) = (screen.keymap, screen.context.glyphs.dot);
    if screen.focus == CardFocus::Nothing {
        return keys_line(&decide(keymap), dot);
    }
    let hints = |go_on, raise, stop, back| {
        keymap.hints(&[
            (Context::Cap, Action::Cap(CapAnswer::GoOn), go_on),
            (Context::Cap, Action::Cap(CapAnswer::Raise), raise),
            (Context::Cap, Action::Cap(CapAnswer::Stop), stop),
            (Context::Global, Action::Escape, back),
        ])
    };
    let long = hints("continue once", "raise the cap", "stop", "back");
    if keys_line(&long, dot).width() <= room {
        return keys_line(&long, dot);
    }
    fitting(hints("continue", "raise", "stop", ""), dot, room)
}
