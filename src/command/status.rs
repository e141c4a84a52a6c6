//! `/status`: shows the state of this program and session.

use super::{Command, CommandEffect, CommandView, Commands, Say, code};

pub(super) const COMMAND: Command =
    Command { name: "status", usage: "", about: "show model, folder, sandbox and store", decide };

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let rows: Vec<String> =
        view.status.iter().map(|(name, value)| format!("- {name}: {}", code(value))).collect();
    CommandEffect::Say(Say::plain("status", rows.join("\n")))
}
