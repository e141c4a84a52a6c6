//! `/login`: sets up a model service.

use super::{Command, CommandEffect, CommandView, Commands, Needs};

pub(super) fn command() -> Command {
    Command::new(
        "login",
        "",
        "set up a model service: pick it, enter its key, choose a model",
        Needs::Nothing,
        decide,
    )
}

fn decide(_args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::PickService
}
