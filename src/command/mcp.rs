//! `/mcp`: lists the tool servers with their states, and connects one again.

use super::{CommandEffect, CommandView, Commands, code};
use crate::stdx::text::sanitize_line;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match args.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] => CommandEffect::ListServers,
        ["reconnect", name] if view.servers.iter().any(|one| one.name == *name) => {
            CommandEffect::ReconnectServer((*name).to_owned())
        }
        ["reconnect", name] => {
            let text = format!("There is no server {}; `/mcp` lists them.", code(&sanitize_line(name)));
            CommandEffect::warning("tool servers", text)
        }
        _ => CommandEffect::warning(
            "tool servers",
            "`/mcp` lists them, `/mcp reconnect NAME` connects one again.",
        ),
    }
}
