//! `/init`: lets the model draft the project's `AGENTS.md`, or update what is there.

use super::{CommandEffect, CommandView, Commands, Notice, code};

const NEW: &str = include_str!("../../prompts/init.md");
const UPDATE: &str = include_str!("../../prompts/init_update.md");

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let (say, text) = match &view.guide {
        None => (None, NEW.trim().to_owned()),
        Some(file) => {
            let say = format!("There is {} already, so the model is asked to update it.", code(file));
            (Some(Notice::plain("init", say)), UPDATE.trim().replace("{file}", file))
        }
    };
    CommandEffect::Send { say, text, typed: String::new(), of_project: None }
}
