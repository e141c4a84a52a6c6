//! `/export`: writes the session into a file.

use super::{CommandEffect, CommandView, Commands, ExportForm};

pub(super) fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args {
        "" | "markdown" => CommandEffect::Export(ExportForm::Markdown),
        name => ExportForm::named(name).map_or_else(
            || {
                CommandEffect::warning(
                    "export",
                    "The forms are `md`, `json` and `html`. Nothing was written.",
                )
            },
            CommandEffect::Export,
        ),
    }
}
