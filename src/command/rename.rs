//! `/rename`: gives the session a title.

use super::{CommandEffect, CommandView, Commands};
use crate::stdx::text::one_line_summary;

/// The maximum width of a title, in terminal cells.
pub const TITLE_WIDTH: usize = 60;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let title = one_line_summary(args, TITLE_WIDTH);
    if let Some(refused) = view.owner_refusal("rename", "rename this session") {
        return refused;
    }
    if title.is_empty() {
        return CommandEffect::warning("rename", "Add the title: `/rename the invoices of May`.");
    }
    CommandEffect::Rename(title)
}
