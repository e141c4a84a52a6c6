//! `/model`: lists the available models and switches between them.

use super::{CommandEffect, CommandView, Commands};

pub(super) fn decide(args: &str, _commands: &Commands, _view: &CommandView) -> CommandEffect {
    match args {
        "" => CommandEffect::ListModels,
        name => CommandEffect::SwitchModel(name.to_owned()),
    }
}
