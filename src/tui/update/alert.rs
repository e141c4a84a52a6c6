//! When the person is called while looking elsewhere: something needs them, or the turn ended. Once each, until they
//! look.

use crate::agent::port::Event;
use crate::frontend::protocol::{ServerMessage, Update};
use crate::history::TurnEnd;
use crate::tui::model::Model;
use crate::tui::msg::{Alert, Cmd, Window};

/// What an update is about to bring that is worth a call. To be asked before it is taken.
pub fn of(model: &Model, update: &Update) -> Option<Alert> {
    match update {
        Update::Event(Event::ApprovalNeeded { .. } | Event::CapReached { .. }) => Some(Alert::NeedsYou),
        Update::Message(ServerMessage::Waiting { requests }) => {
            (requests.len() > model.cards.count()).then_some(Alert::NeedsYou)
        }
        // With a prompt queued the next turn begins at once.
        Update::Event(Event::TurnEnded { end }) if model.queue.is_empty() => match end {
            TurnEnd::Completed | TurnEnd::LimitReached { .. } | TurnEnd::Failed { .. } => {
                Some(Alert::TurnEnded)
            }
            // The first was called for already; the second is the person's own doing.
            TurnEnd::Deferred | TurnEnd::Interrupted => None,
        },
        Update::Event(_) | Update::Message(_) => None,
    }
}

/// A terminal that never reports its focus counts as looked at: then nobody is called.
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
