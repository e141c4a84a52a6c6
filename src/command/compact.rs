//! `/compact`: replaces older messages by a summary, shows what that would replace, and takes it back.

use super::{CommandEffect, CommandView, Commands, SessionChange};
use crate::agent::statuses;
use crate::stdx::text::group_digits;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let warning = |text: String| CommandEffect::warning("compact", text);
    let refused = || view.owner_refusal("compact", "compact this session").or_else(|| view.busy("compact"));
    if args != "preview"
        && let Some(refused) = refused()
    {
        return refused;
    }
    match args {
        "undo" if view.context.compactions == 0 => {
            warning("This session has no compaction that can be undone.".to_owned())
        }
        "undo" => CommandEffect::Change(SessionChange::UndoCompaction),
        "preview" => CommandEffect::plain("compact", preview(view)),
        "" => CommandEffect::Change(SessionChange::Compact { focus: None }),
        focus => CommandEffect::Change(SessionChange::Compact { focus: Some(focus.to_owned()) }),
    }
}

fn preview(view: &CommandView) -> String {
    match view.context.compactable {
        Some((messages, tokens)) => format!(
            "`/compact` would replace the oldest {} messages, about {} tokens, by a summary. Your prompts in them, \
             the calls that changed something, refusals, and requests that wait are kept word for word. The transcript \
             keeps everything, and `/compact undo` brings them back.",
            group_digits(messages),
            group_digits(tokens)
        ),
        None => statuses::NOT_ENOUGH_TO_COMPACT.to_owned(),
    }
}
