//! Alerts for a user whose terminal window has no focus: a request needs them, or the turn ended. Each is sent once
//! until the focus returns.

use crate::agent::port::Event;
use crate::frontend::protocol::{ServerMessage, Update};
use crate::history::TurnEnd;
use crate::tui::model::Model;
use crate::tui::msg::{Alert, Cmd, Window};

/// Returns the alert that an update deserves. Must be called before the update is applied.
pub fn of(model: &Model, update: &Update) -> Option<Alert> {
    match update {
        Update::Event(Event::ApprovalNeeded { .. } | Event::CapReached { .. }) => Some(Alert::NeedsYou),
        Update::Message(ServerMessage::Waiting { requests }) => {
            (requests.len() > model.cards.count()).then_some(Alert::NeedsYou)
        }
        // With a prompt queued, the next turn begins at once.
        Update::Event(Event::TurnEnded { end }) if model.queue.is_empty() => match end {
            TurnEnd::Completed | TurnEnd::LimitReached { .. } | TurnEnd::Failed { .. } => {
                Some(Alert::TurnEnded)
            }
            // `Deferred` already raised an alert; `Interrupted` was the user's own action.
            TurnEnd::Deferred | TurnEnd::Interrupted => None,
        },
        Update::Event(_) | Update::Message(_) => None,
    }
}

/// Sends an alert. A terminal that never reports its focus counts as focused and gets none.
pub fn call(model: &mut Model, alert: Alert, cmds: &mut Vec<Cmd>) {
    if model.window == Window::Unfocused && !model.called.contains(&alert) {
        model.called.push(alert);
        cmds.push(Cmd::Alert(alert));
    }
}

pub fn focus(model: &mut Model, window: Window) {
    model.window = window;
    model.called.clear();
}
