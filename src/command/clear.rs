//! `/clear` and `/new`: starts a new session. The current one stays, with its pending requests.

use super::{Activity, Command, CommandEffect, CommandView, Commands, Needs, Say};

pub(super) fn command() -> Command {
    Command::new("clear", "", "start a new session; this one stays in /resume", Needs::Nothing, decide)
}

pub(super) fn new() -> Command {
    Command::new("new", "", "the same as /clear", Needs::Nothing, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match view.activity {
        Activity::Idle => CommandEffect::Clear,
        Activity::Running => {
            let text = "A turn is running. Stop it with Ctrl+C first, then `/clear`.";
            CommandEffect::Say(Say::warning("clear", text))
        }
    }
}
