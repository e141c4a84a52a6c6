//! `/rename`: gives the session a title.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say};
use crate::stdx::text::one_line_summary;

/// The maximum width of a title, in terminal cells.
pub const TITLE_WIDTH: usize = 60;

pub(super) fn command() -> Command {
    Command::new("rename", "TITLE", "give this session a title", Needs::Nothing, decide)
}

fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let title = one_line_summary(args, TITLE_WIDTH);
    if let Some(owner) = &view.read_only {
        return CommandEffect::Say(Say::warning("rename", format!("Only {owner} can rename this session.")));
    }
    if title.is_empty() {
        return CommandEffect::Say(Say::warning("rename", "Add the title: `/rename the invoices of May`."));
    }
    CommandEffect::Rename(title)
}
