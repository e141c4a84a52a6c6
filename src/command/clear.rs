//! `/clear` and `/new`: starts a new session. The current one stays, with its pending requests.

use super::{Command, CommandEffect, CommandView, Commands, Needs, SessionChange};

pub(super) fn command() -> Command {
    Command::new("clear", "", "start a new session; this one stays in /resume", Needs::Nothing, decide)
}

pub(super) fn new() -> Command {
    Command::new("new", "", "the same as /clear", Needs::Nothing, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    view.busy("clear").unwrap_or(CommandEffect::Change(SessionChange::Clear))
}
