//! `/model`: lists the available models and switches between them.

use super::{CommandEffect, CommandView, Commands, code};

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    if !args.is_empty() {
        return CommandEffect::SwitchModel(args.to_owned());
    }
    let mut text = String::new();
    for model in &view.models {
        let mark = if model.current { " **(in use)**" } else { "" };
        text.push_str(&format!("- {}{mark}: {}\n", code(&model.name), model.note));
    }
    text.push_str("\n`/model provider/model` switches directly; a bare name keeps the current provider.\n");
    CommandEffect::PickModel(text)
}
