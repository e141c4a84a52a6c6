//! `/status`: shows the state of this program and session.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, code};

pub(super) fn command() -> Command {
    Command::new("status", "", "show model, folder, sandbox and store", Needs::Status, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let rows: Vec<String> =
        view.status.iter().map(|(name, value)| format!("- {name}: {}", code(value))).collect();
    CommandEffect::Say(Say::plain("status", rows.join("\n")))
}
