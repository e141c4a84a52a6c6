//! Texts shown outside the screen: the window title and notifications. Pure.

use crate::tui::model::Model;
use crate::tui::msg::Alert;

/// Returns `co` and the number of pending requests. The title is never animated.
pub fn title(model: &Model) -> String {
    match model.waiting_count() {
        0 => "co".to_owned(),
        waiting => format!("co {}{waiting}", model.glyphs.waiting),
    }
}

/// Returns why the user is notified, and by which session.
pub fn call(model: &Model, alert: Alert) -> String {
    let why = match (alert, model.cards.count()) {
        (Alert::NeedsYou, 0 | 1) => "co needs you: a request is waiting".to_owned(),
        (Alert::NeedsYou, waiting) => format!("co needs you: {waiting} requests are waiting"),
        (Alert::TurnEnded, _) => "co: the turn ended".to_owned(),
    };
    match &model.header {
        Some(header) => format!("{why} ({})", header.title),
        None => why,
    }
}
