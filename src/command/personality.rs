//! `/personality`: shows or changes the tone of the answers for this run of the program.

use super::{CommandEffect, CommandView, Commands, Notice, code};

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let all: Vec<String> = view.personalities.iter().map(|name| code(name)).collect();
    let (all, now) = (all.join(", "), code(&view.personality));
    let wanted = args.to_lowercase();
    if wanted.is_empty() || wanted == view.personality {
        let text = format!("The personality is {now}; there are {all}. The setting `personality` keeps one.");
        return CommandEffect::plain("personality", text);
    }
    if !view.personalities.contains(&wanted) {
        let text = format!("There is no personality {}; there are {all}. Nothing was changed.", code(args));
        return CommandEffect::warning("personality", text);
    }
    let prefix = match &view.without_personality {
        None => {
            "The prefix of the prompt changes with it, so that the provider reads the conversation anew once."
                .to_owned()
        }
        Some(model) => {
            format!(
                "The prompt of {} has no personality, so it changes only with another model.",
                code(model)
            )
        }
    };
    let text = format!("The personality is {} from the next turn on. {prefix}", code(&wanted));
    CommandEffect::SetPersonality(wanted, Notice::plain("personality", text))
}
