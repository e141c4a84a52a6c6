//! `/keys`: makes the front end list its keys, which only the front end knows.

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
