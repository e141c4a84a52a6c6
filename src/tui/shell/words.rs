//! What the shell says outside of the screen: the window's title, and what a call says. Pure.

use crate::tui::model::Model;
use crate::tui::msg::Alert;

/// `co`, and how many requests wait. It never moves.
pub fn title(model: &Model) -> String {
    match model.waiting() {
        0 => "co".to_owned(),
        waiting => format!("co {}{waiting}", model.glyphs.waiting),
    }
}

/// Why the person is called, and by which session.
pub fn call(model: &Model, alert: Alert) -> String {
    let why = match (alert, model.cards.count()) {
        (Alert::NeedsYou, 0 | 1) => "co needs you: a request waits".to_owned(),
        (Alert::NeedsYou, waiting) => format!("co needs you: {waiting} requests wait"),
        (Alert::TurnEnded, _) => "co: the turn ended".to_owned(),
    };
    match &model.header {
        Some(header) => format!("{why} ({})", header.title),
        None => why,
    }
}
