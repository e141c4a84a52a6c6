//! `/retry`: repeats the last prompt.

use super::{Command, CommandEffect, CommandView, Commands, Needs, SessionChange};

pub(super) fn command() -> Command {
    Command::new("retry", "", "repeat the last prompt", Needs::Nothing, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    view.busy("retry").unwrap_or(CommandEffect::Change(SessionChange::Retry))
}
