//! `/keys`: makes the front end list its keys, which only the front end knows.

use super::{Command, CommandEffect, CommandView, Commands, Needs};

pub(super) fn command() -> Command {
    Command::new("keys", "[words]", "list the keys, or those that match", Needs::Nothing, decide)
}

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::ShowKeys(args.to_owned())
}
