//! `/help`: lists the commands and the prefixes of a line.

use super::{CommandEffect, CommandView, Commands, code};
use crate::stdx::text::sanitize_line;

pub(super) fn decide(_args: &str, commands: &Commands, _view: &CommandView) -> CommandEffect {
    let mut text = String::new();
    for command in commands.iter() {
        let gap = if command.usage.is_empty() { "" } else { " " };
        let from =
            if command.is_builtin() { String::new() } else { format!(" (from {})", code(&command.source)) };
        let (usage, about) = (sanitize_line(&command.usage), sanitize_line(&command.about));
        text.push_str(&format!("- `/{}{gap}{usage}`: {about}{from}\n", command.name));
    }
    text.push_str(
        "\nA line that begins with `!` runs as your own shell command, without approval; its output goes with \
         the next prompt. With `!!` it stays private. `!unsandboxed` before a command runs it outside of the \
         sandbox. `exit` or `quit` quits. Everything else is a prompt.\n",
    );
    CommandEffect::plain("commands", text)
}
