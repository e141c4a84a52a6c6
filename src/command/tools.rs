//! `/tools`: lists the tools that the model may call, and which of them ask for approval.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, code};
use crate::tool::{SideEffect, ToolSpec};

pub(super) fn command() -> Command {
    Command::new("tools", "", "list the tools and which of them ask", Needs::Tools, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let rows: Vec<String> = view.tools.iter().map(row).collect();
    CommandEffect::Say(Say::plain("tools", rows.join("\n")))
}

fn row(spec: &ToolSpec) -> String {
    let asks = match spec.side_effect {
        SideEffect::None { .. } => "only reads",
        SideEffect::Local => "asks first",
        SideEffect::External => "asks first, leaves this machine",
    };
    let about = spec.description.split_inclusive(['.', '\n']).next().unwrap_or_default().trim();
    format!("- {} ({} risk, {asks}): {about}", code(spec.name.as_str()), spec.risk.word())
}
