//! `/trust`: puts the settings, rules, hooks, texts and commands of the session's folder into effect.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, Trusting};

pub(super) fn command() -> Command {
    Command::new(
        "trust",
        "[yes]",
        "show this folder's settings, rules and hooks, and trust it",
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
    let text = "`/trust` shows the settings, rules and hooks of this folder, `/trust yes` trusts them. `co trust FOLDER` trusts another one, `co trust --revoke` \
                revokes trust. Nothing was changed.";
    CommandEffect::Say(Say::warning("trust", text))
}
