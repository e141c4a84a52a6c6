//! `/clear`: starts a new conversation. Pending requests are kept.

use super::{Activity, Command, CommandEffect, CommandView, Commands, Needs, Say};

pub(super) fn command() -> Command {
    Command::new("clear", "", "start the conversation afresh; approvals keep waiting", Needs::Nothing, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    if let Some(who) = &view.read_only {
        return CommandEffect::Say(Say::warning("clear", format!("Only {who} can clear this session.")));
    }
    match view.activity {
        Activity::Idle => CommandEffect::Clear,
        Activity::Running => {
            let text = "A turn is running. Stop it with Ctrl+C first, then `/clear`.";
            CommandEffect::Say(Say::warning("clear", text))
        }
    }
}
