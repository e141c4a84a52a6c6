//! `/trust`: puts what the session's folder brings into effect: settings, rules, hooks, servers, texts, memories, commands.

use super::{CommandEffect, CommandView, Commands, TrustAction};

pub(super) fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args.trim() {
        "" => return CommandEffect::Trust(TrustAction::Look),
        "yes" => return CommandEffect::Trust(TrustAction::Yes),
        _ => {}
    }
    let text = "`/trust` shows the settings, rules, hooks, tool servers, texts for the model, memories and commands of this folder, \
                `/trust yes` trusts them. `co trust FOLDER` trusts another one, `co trust --revoke` \
                revokes trust. Nothing was changed.";
    CommandEffect::warning("trust", text)
}
