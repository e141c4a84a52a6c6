//! The recent sessions on the first screen: keys of an empty composer choose one and open it.

use super::panel;
use crate::tui::keys::{Action, Move};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;

/// Executes an action if it concerns the recent sessions, and returns whether it does; any other one leaves them.
pub fn act(model: &mut Model, action: Action, cmds: &mut Vec<Cmd>) -> bool {
    let chosen = model.recent.take();
    let writes = model.focus == Focus::Composer && model.find.is_none();
    let last = match model.recent().count().checked_sub(1) {
        Some(last) if writes && model.composer.is_empty() => last,
        Some(_) | None => return false,
    };
    model.recent = match (action, chosen) {
        (Action::Move(Move::Down) | Action::ToggleFocus, None) => Some(0),
        (Action::Move(Move::Down), Some(at)) => Some(last.min(at + 1)),
        (Action::Move(Move::Up), Some(at)) => at.checked_sub(1),
        (Action::ToggleFocus | Action::Escape, Some(_)) => None,
        (Action::Send, Some(at)) => {
            let session = model.recent().nth(at).map(|one| one.id.clone());
            if let Some(session) = session {
                panel::open_session(model, session, cmds);
            }
            None
        }
        _ => return false,
    };
    true
}
