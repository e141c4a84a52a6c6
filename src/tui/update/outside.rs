//! Text that is written in the person's own editor, and comes back.

use super::form;
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, Edited, Target};

pub fn open(model: &mut Model, cmds: &mut Vec<Cmd>) {
    match model.focus {
        Focus::Card => {
            if let Some(card) = model.cards.current() {
                form::open_outside(card, cmds);
            }
        }
        Focus::Composer | Focus::Transcript => {}
    }
}

pub fn take(model: &mut Model, edited: Edited) {
    match edited.target {
        Target::Composer => {}
        Target::Arguments(id) => form::take(model, &id, edited.text),
        Target::Reason(id) => form::take_reason(model, &id, edited.text),
    }
}
