//! `/undo` and `/redo`: take back what calls changed in files, and do it again.

use super::{CommandEffect, CommandView, Commands, SessionChange};
use crate::stdx::text::code;
use crate::undo::UndoTarget;

pub(super) fn undo(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    if args == "list" {
        return CommandEffect::ListChanges;
    }
    let words = args.strip_suffix("yes").map(str::trim_end);
    // Without a number it is not certain that the list was of what is last now.
    let agreed = words.is_some_and(|words| !words.is_empty());
    let what = match words.unwrap_or(args) {
        "" => UndoTarget::Last,
        "turn" => UndoTarget::Turn,
        number => match number.parse() {
            Ok(number) => UndoTarget::Entry(number),
            Err(_) => {
                let text =
                    format!("{} is neither `turn`, `list` nor a number. Nothing was changed.", code(number));
                return CommandEffect::warning("undo", text);
            }
        },
    };
    change(view, "undo", what, agreed)
}

pub(super) fn again(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    change(view, "redo", UndoTarget::Redo, true)
}

/// Changes files, or says why it cannot be done now.
fn change(view: &CommandView, name: &str, what: UndoTarget, agreed: bool) -> CommandEffect {
    let refused = view.owner_refusal(name, "do this here. `co undo` does it from a shell");
    refused.unwrap_or_else(|| view.change(name, SessionChange::Undo { what, agreed }))
}
