//! `/resume` and `/sessions`: lists the sessions that can be continued.

use super::{Command, CommandEffect, CommandView, Commands};

pub(super) const COMMAND: Command = Command {
    name: "resume",
    usage: "[words]",
    about: "go on in another session, picked from a list",
    decide,
};

pub(super) const SESSIONS: Command =
    Command { name: "sessions", usage: "[words]", about: "the same as /resume", decide };

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::PickSession { query: args.to_owned() }
}
