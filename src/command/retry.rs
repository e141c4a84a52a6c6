//! `/retry`: repeats the last prompt.

use super::{Activity, Command, CommandEffect, CommandView, Commands, Needs, Say};

pub(super) fn command() -> Command {
    Command::new("retry", "", "repeat the last prompt", Needs::Nothing, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match view.activity {
        Activity::Idle => CommandEffect::Retry,
        Activity::Running => {
            let text = "A turn is running. Stop it with Ctrl+C first, then `/retry`.";
            CommandEffect::Say(Say::warning("retry", text))
        }
    }
}
