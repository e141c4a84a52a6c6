//! `/export`: writes the session into a file.

use super::{CommandEffect, CommandView, Commands, ExportForm};

pub(super) fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args {
        "" => CommandEffect::Export(ExportForm::default()),
        name => match ExportForm::named(name) {
            Some(form) => CommandEffect::Export(form),
            None => {
                let text = "The forms are `md`, `json` and `html`. Nothing was written.";
                CommandEffect::warning("export", text)
            }
        },
    }
}
