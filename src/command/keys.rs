//! `/keys`: the keys as the face has them. Which those are only the face knows; it is told to show them.

use super::{Command, CommandEffect, CommandView, Commands};

pub(super) const COMMAND: Command = Command {
    name: "keys",
    usage: "[words]",
    about: "list the keys, or those that have these words",
    decide,
};

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::ShowKeys(args.to_owned())
}
