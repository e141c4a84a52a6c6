//! The tool servers as front ends list them.

use std::time::Duration;

use crate::agent::context::ToolBudget;
use crate::agent::prompt;
use crate::app::{App, view_settings};
use crate::command::Tone;
use crate::config::{SERVER_PRESETS, ServerScope, ServerSettings};
use crate::frontend::protocol::{CommandLine, ServerLine, ServerList, ServerOrigin};
use crate::history::History;
use crate::stdx::moment::duration;
use crate::tool::mcp::{ServerPrompt, ServerState, ServerStatus, Servers};

/// Returns all servers: the configured ones by name, then those that are known.
pub(super) fn server_list(app: &App) -> ServerList {
    let window = app.settings.context_tokens.or(app.models.active().borrow().profile.window);
    let room = ToolBudget::of(view_settings(&app.settings), window, &History::default());
    let (policy, tools) = (app.permissions.policy(), app.tools.registry.tools());
    let (_, omitted) = prompt::tools(&tools, &policy, &app.world.workspace, &room);
    ServerList { lines: lines(app), omitted: omitted.map(|one| (one.tools, one.tokens)) }
}

fn lines(app: &App) -> Vec<ServerLine> {
    let settings = app.servers.settings();
    let one = |status: ServerStatus| {
        let settings = settings.get(&status.name);
        line(status, settings, &app.servers)
    };
    let configured = app.servers.status().into_iter().map(one);
    let known = SERVER_PRESETS.iter().filter(|preset| !settings.contains_key(preset.name));
    let known = known.map(|preset| ServerLine {
        name: preset.name.to_owned(),
        state: preset.about.to_owned(),
        tone: Tone::Plain,
        is_on: false,
        origin: ServerOrigin::Preset,
        facts: vec![preset.command.join(" ")],
        tools: Vec::new(),
    });
    configured.chain(known).collect()
}

fn line(status: ServerStatus, settings: Option<&ServerSettings>, servers: &Servers) -> ServerLine {
    let ServerStatus { name, place, state } = status;
    // The content that the user would agree to is shown as written, and whole.
    let is_held = matches!(state, ServerState::Held { .. });
    let mut facts = settings.filter(|_| is_held).map_or_else(|| vec![place], ServerSettings::written_lines);
    facts.extend(settings.map(ServerSettings::variables).unwrap_or_default());
    let words = state.line();
    let tone = match &state {
        ServerState::Failed { .. } => Tone::Error,
        ServerState::Held { .. } => Tone::Warning,
        ServerState::Off | ServerState::Unused | ServerState::Connecting | ServerState::Ready(_) => {
            Tone::Plain
        }
    };
    let is_used = !matches!(state, ServerState::Off | ServerState::Held { .. });
    if let ServerState::Ready(about) = &state {
        let took = duration(Duration::from_millis(about.took_ms));
        facts.push(format!("{}, protocol {}, {took}", about.title, about.protocol));
        facts.extend(about.left_out.iter().map(|tool| format!("left out: {tool}")));
        let of =
            |name: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{name}: {}", all.join(", ")));
        let prompts = servers.prompts().into_iter().filter(|one| one.server == name);
        facts.extend(of("prompts", prompts.map(|one| format!("/{}:{}", one.server, one.name)).collect()));
        let resources = servers.resources().into_iter().filter(|one| one.server == name);
        facts.extend(of("resources", resources.map(|one| one.uri).collect()));
    }
    let log = Servers::log_file(servers.place(), &name);
    if matches!(state, ServerState::Failed { .. }) && log.is_file() {
        facts.push(format!("what it printed is in {}", log.display()));
    }
    let origin = match settings.map(|one| &one.scope) {
        Some(ServerScope::Held { content, .. }) => ServerOrigin::Project { content: content.clone() },
        Some(ServerScope::Project { .. }) => ServerOrigin::Project { content: None },
        Some(ServerScope::User) | None => ServerOrigin::Settings,
    };
    let tools = servers.tools_of(&name);
    ServerLine { name, state: words, tone, is_on: is_used, origin, facts, tools }
}

/// Returns the prompts of servers as slash commands.
pub(super) fn prompt_lines(servers: &Servers) -> Vec<CommandLine> {
    let line = |prompt: ServerPrompt| CommandLine {
        name: format!("{}:{}", prompt.server, prompt.name),
        usage: prompt.usage(),
        args: prompt.arguments.iter().map(|one| format!("{}=", one.name)).collect(),
        about: prompt.about,
        source: prompt.server,
    };
    servers.prompts().into_iter().map(line).collect()
}
