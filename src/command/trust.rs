//! `/trust`: puts the settings, rules and hooks of the session's folder into effect.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, Trusting};

pub(super) fn command() -> Command {
    Command::new(
        "trust",
        "[yes]",
        "show what this folder would bring, and trust it: its settings, rules and hooks count",
        Needs::Nothing,
        decide,
    )
}

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args.trim() {
        "" => return CommandEffect::Trust(Trusting::Look),
        "yes" => return CommandEffect::Trust(Trusting::Yes),
        _ => {}
    }
    let text = "`/trust` shows what the folder of this session would bring, `/trust yes` trusts it with that. `co trust FOLDER` trusts another one, `co trust --revoke` \
                takes trust back. Nothing was changed.";
    CommandEffect::Say(Say::warning("trust", text))
}
