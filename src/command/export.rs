//! `/export`: writes the session into a file.

use super::{Command, CommandEffect, CommandView, Commands, ExportForm, Needs, Say};

pub(super) fn command() -> Command {
    let about = "write this session into a file; keys and tokens are masked";
    Command::new("export", "[md|json|html]", about, Needs::Nothing, decide)
}

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args {
        "" => CommandEffect::Export(ExportForm::default()),
        name => match ExportForm::named(name) {
            Some(form) => CommandEffect::Export(form),
            None => {
                let text = "The forms are `md`, `json` and `html`. Nothing was written.";
                CommandEffect::Say(Say::warning("export", text))
            }
        },
    }
}
