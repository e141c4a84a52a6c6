//! `/quit` and `/exit`: exits. Pending requests stay pending.

use super::{Command, CommandEffect, CommandView, Commands, Needs};

pub(super) fn command() -> Command {
    Command::new("quit", "", "quit; the session is saved", Needs::Nothing, decide)
}

pub(super) fn exit() -> Command {
    Command::new("exit", "", "the same as /quit", Needs::Nothing, decide)
}

fn decide(_args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::Quit
}
