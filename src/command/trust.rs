//! `/trust`: lets the settings, rules and hooks of the session's folder count.

use super::{Command, CommandEffect, CommandView, Commands, Say};

pub(super) const COMMAND: Command = Command {
    name: "trust",
    usage: "",
    about: "trust this folder: its own settings, rules and hooks count",
    decide,
};

fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    if args.is_empty() {
        return CommandEffect::Trust;
    }
    let text = "`/trust` trusts the folder of this session. `co trust FOLDER` trusts another one, `co trust --revoke` \
                takes trust back. Nothing was changed.";
    CommandEffect::Say(Say::warning("trust", text))
}
