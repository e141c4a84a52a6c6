//! `/mcp`: lists the tool servers with their states, and connects one again.

use super::{CommandEffect, CommandView, Commands, code};
use crate::stdx::text::sanitize_line;
use crate::tool::mcp::{ServerState, ServerStatus};

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match args.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] if view.servers.is_empty() => {
            let text =
                "There are no tool servers. `co mcp add NAME -- COMMAND` adds one; `co help mcp` tells more.";
            CommandEffect::OpenServers(text.to_owned())
        }
        [] => {
            let rows: Vec<String> = view.servers.iter().map(row).collect();
            CommandEffect::OpenServers(rows.join("\n"))
        }
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

fn row(one: &ServerStatus) -> String {
    let mut row =
        format!("- {}: {} ({})", code(&one.name), sanitize_line(&one.state.line()), code(&one.place));
    if let ServerState::Ready(facts) = &one.state {
        let names: Vec<String> = facts.tools.iter().map(|name| code(name.as_str())).collect();
        row.push_str(&format!("\n  - {}", names.join(", ")));
        for left_out in &facts.left_out {
            row.push_str(&format!("\n  - left out: {}", sanitize_line(left_out)));
        }
    }
    row
}
