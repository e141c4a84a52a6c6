//! `/undo` and `/redo`: take back what calls changed in files, and do it again.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, SessionChange};
use crate::stdx::text::code;
use crate::undo::UndoWhat;

pub(super) fn command() -> Command {
    let about = "take back changes of files";
    Command::new("undo", "[NUMBER], turn, list", about, Needs::Nothing, undo)
}

pub(super) fn redo() -> Command {
    let about = "do again what was taken back last";
    Command::new("redo", "", about, Needs::Nothing, again)
}

fn undo(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    if args == "list" {
        return CommandEffect::ListChanges;
    }
    let words = args.strip_suffix("yes").map(str::trim_end);
    // Without a number it is not certain that the list was of what is last now.
    let agreed = words.is_some_and(|words| !words.is_empty());
    let what = match words.unwrap_or(args) {
        "" => UndoWhat::Last,
        "turn" => UndoWhat::Turn,
        number => match number.parse() {
            Ok(number) => UndoWhat::Entry(number),
            Err(_) => {
                let text =
                    format!("{} is neither `turn`, `list` nor a number. Nothing was changed.", code(number));
                return CommandEffect::Say(Say::warning("undo", text));
            }
        },
    };
    allowed(view, "undo").unwrap_or(CommandEffect::Change(SessionChange::Undo { what, agreed }))
}

fn again(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    allowed(view, "redo")
        .unwrap_or(CommandEffect::Change(SessionChange::Undo { what: UndoWhat::Redo, agreed: true }))
}

/// Says why it cannot be done now.
fn allowed(view: &CommandView, name: &str) -> Option<CommandEffect> {
    let Some(owner) = &view.read_only else { return view.busy(name) };
    let text = format!("Only {owner} can do this here. `co undo` does it from a shell.");
    Some(CommandEffect::Say(Say::warning(name, text)))
}
