//! `/quit`: exits. Pending requests stay pending.

use super::{Command, CommandEffect, CommandView, Commands};

pub(super) const COMMAND: Command =
    Command { name: "quit", usage: "", about: "leave; the session is kept", decide };

fn decide(_args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    CommandEffect::Quit
}
