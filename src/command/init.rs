//! `/init`: lets the model draft the project's `AGENTS.md`, or update what is there.

use super::{CommandEffect, CommandView, Commands, Notice, code};

const NEW: &str = include_str!("../../prompts/init.md");
const UPDATE: &str = include_str!("../../prompts/init_update.md");

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match &view.guide {
        None => CommandEffect::Send {
            say: None,
            text: NEW.trim().to_owned(),
            typed: String::new(),
            of_project: None,
        },
        Some(file) => {
            let text = format!("There is {} already, so the model is asked to update it.", code(file));
            let update = UPDATE.trim().replace("{file}", file);
            CommandEffect::Send {
                say: Some(Notice::plain("init", text)),
                text: update,
                typed: String::new(),
                of_project: None,
            }
        }
    }
}
