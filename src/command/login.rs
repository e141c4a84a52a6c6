//! `/login`: sets up a model service.

use super::{Command, CommandEffect, CommandView, Commands};

pub(super) const COMMAND: Command = Command {
    name: "login",
    usage: "",
    about: "set up a model service: pick it, enter its key, try it, name the model",
    decide,
};

fn decide(_args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::PickService
}
