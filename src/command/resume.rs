//! `/resume` and `/sessions`: lists the sessions that can be continued.

use super::{Command, CommandEffect, CommandView, Commands, Needs};

pub(super) fn command() -> Command {
    Command::new("resume", "[words]", "continue another session from a list", Needs::Nothing, decide)
}

pub(super) fn sessions() -> Command {
    Command::new("sessions", "[words]", "the same as /resume", Needs::Nothing, decide)
}

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::PickSession { query: args.to_owned() }
}
