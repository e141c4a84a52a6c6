//! `co mcp`: lists, adds, removes, switches and tests tool servers.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::{Flags, ListCommand, McpAction};
use super::console;
use super::error::{CliError, Kind, Result};
use super::secret::{UNCHANGED, confirm};
use super::table::{columns, table};
use crate::app::{server_place, tools};
use crate::config::{SERVER_PRESETS, ServerApproval, ServerScope, ServerSettings, Settings, WriteError};
use crate::runtime::{NewServer, add_server, remove_server, switch_server};
use crate::stdx::moment::duration;
use crate::stdx::text::{one_line_summary, sanitize, sanitize_line};
use crate::tool::ToolSpec;
use crate::tool::mcp::{
    ServerEnvironment, ServerFacts, ServerState, ServerStatus, Servers, configured_servers, log_in, log_out,
};
use crate::workspace::{World, agree_to_server, load_settings};

/// The width of a description in a list, in terminal cells.
const ABOUT: usize = 70;

pub(super) async fn run(what: ListCommand<McpAction>, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    match what.what.unwrap_or(McpAction::List(what.listed)) {
        McpAction::List(listed) => list(listed.json, &settings),
        McpAction::Test { name, json } => test(&name, json, world, &settings).await,
        McpAction::Tools { name, json } => show_tools(&name, json, world, &settings).await,
        McpAction::Add { name, url, env, never_ask, command } => {
            if settings.mcp_servers.get(&name).is_some_and(|one| one.scope == ServerScope::User) {
                let text = format!("there is a server {} already", sanitize_line(&name));
                return Err(CliError::usage(text).hint(format!("`co mcp remove {name}` first")));
            }
            let preset = SERVER_PRESETS.iter().find(|preset| preset.name == name);
            let is_bare = url.is_none() && command.is_empty();
            let mut new = match (is_bare, preset) {
                (true, None) => {
                    let known: Vec<&str> = SERVER_PRESETS.iter().map(|preset| preset.name).collect();
                    let text = format!("{} is no known server", sanitize_line(&name));
                    return Err(CliError::usage(text).hint(format!(
                        "name its program after `--`, or its address with --url; known are {}",
                        known.join(", ")
                    )));
                }
                (true, Some(preset)) => NewServer::of_preset(preset),
                (false, _) => NewServer { url, command, ..NewServer::default() },
            };
            new.env.extend(env);
            new.never_ask |= never_ask;
            change_server(&name, "Added", || add_server(world, &name, &new))?;
            console::note(&format!("co: `co mcp test {name}` connects it and lists its tools"));
            Ok(())
        }
        McpAction::Remove { name } => {
            if server_settings(&name, &settings)?.scope != ServerScope::User {
                let error = CliError::usage(format!("{name} is a server of this project"));
                return Err(error.hint(format!("`co mcp disable {name}` ends its use")));
            }
            let path = remove_server(world, &name).map_err(|error| CliError::new(Kind::Error, error))?;
            console::out(&format!("Removed {name} from {}.\n", path.display()))
        }
        McpAction::Enable { name, yes } => match server_settings(&name, &settings)?.scope.clone() {
            ServerScope::User => change_server(&name, "Switched on", || switch_server(world, &name, true)),
            ServerScope::Project { .. } => {
                console::out(&format!("{name} of this project is used already.\n"))
            }
            ServerScope::Held { why, content: None } => Err(server_error(&name, "cannot be used", &why)),
            ServerScope::Held { content: Some(content), .. } => {
                let one = server_settings(&name, &settings)?;
                agree(&name, one, (&content, yes), world, &settings)
            }
        },
        McpAction::Disable { name } => match server_settings(&name, &settings)?.scope {
            ServerScope::User => change_server(&name, "Switched off", || switch_server(world, &name, false)),
            ServerScope::Project { .. } | ServerScope::Held { .. } => {
                let forgotten = agree_to_server(world, &settings.data_dir, &name, None);
                forgotten.map_err(|why| server_error(&name, "cannot be switched off", &why))?;
                console::out(&format!("{name} of this project is not used any more.\n"))
            }
        },
        McpAction::Login { name, scope, no_browser } => {
            let one = server_settings(&name, &settings)?;
            let place = place(world, &settings);
            let show = |address: &str| {
                console::note(&format!("co: log in at this address:\n{}", sanitize_line(address)));
                if !no_browser {
                    world.open_address(address);
                }
            };
            let done = log_in(&name, one, &place, &scope, show).await;
            done.map_err(|why| server_error(&name, "cannot be logged in to", &why))?;
            console::out(&format!("Logged in to {name}.\n"))
        }
        McpAction::Logout { name } => {
            let removed = log_out(&name, server_settings(&name, &settings)?, &place(world, &settings));
            match removed
                .map_err(|error| server_error(&name, "cannot be logged out of", &error.to_string()))?
            {
                true => console::out(&format!("The tokens of {name} are removed.\n")),
                false => console::out(&format!("There are no tokens of {name}.\n")),
            }
        }
    }
}

fn place(world: &World, settings: &Settings) -> ServerEnvironment {
    let tools = tools(world, settings);
    server_place(world, settings, &tools.child_env, &tools.sandbox)
}

fn server_error(name: &str, what: &str, why: &str) -> CliError {
    CliError::error(format!("{name} {what}: {}", sanitize_line(why)))
}

fn server_settings<'a>(name: &str, settings: &'a Settings) -> Result<&'a ServerSettings> {
    settings.mcp_servers.get(name).ok_or_else(|| {
        let text = format!("there is no server {}", sanitize_line(name));
        CliError::usage(text).hint("`co mcp list` lists them, `co mcp add` adds one")
    })
}

/// Changes the settings of a server, and says so.
fn change_server(
    name: &str,
    done: &str,
    change: impl FnOnce() -> std::result::Result<PathBuf, WriteError>,
) -> Result<()> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        let text = format!("{} is no name for a server", sanitize_line(name));
        return Err(CliError::usage(text).hint("use letters, digits, `-` and `_`"));
    }
    let path = change().map_err(|error| CliError::new(Kind::Error, error))?;
    console::out(&format!("{done} {name} in {}.\n", path.display()))
}

/// Shows what a project's server is, and uses it from now on if the user agrees.
fn agree(
    name: &str,
    one: &ServerSettings,
    (content, yes): (&str, bool),
    world: &World,
    settings: &Settings,
) -> Result<()> {
    console::out(&format!("{name}\n"))?;
    for line in one.written_lines().into_iter().chain(one.variables()) {
        console::out(&format!("  {}\n", sanitize_line(&line)))?;
    }
    if !confirm(yes, "Use this server of the project? y/N ")? {
        return console::out(UNCHANGED);
    }
    let done = agree_to_server(world, &settings.data_dir, name, Some(content));
    done.map_err(|why| server_error(name, "cannot be switched on", &why))?;
    console::out(&format!("{name} is used in this folder, until its definition changes.\n"))
}

fn list(json: bool, settings: &Settings) -> Result<()> {
    let all = configured_servers(&settings.mcp_servers);
    if json {
        return console::json(&all);
    }
    let row = |one: &ServerStatus| {
        let state = match one.state {
            ServerState::Off => "off",
            ServerState::Held { .. } => "held",
            _ => "on",
        };
        let asks = match settings.mcp_servers.get(&one.name).map(|one| one.approval) {
            Some(ServerApproval::Never) => "never",
            Some(ServerApproval::Ask) | None => "ask",
        };
        [one.name.clone(), state.to_owned(), asks.to_owned(), one.place.clone()]
    };
    match all.is_empty() {
        true => console::out("No tool servers. `co mcp add NAME -- COMMAND` adds one.\n")?,
        false => console::out(&table(["SERVER", "STATE", "APPROVAL", "PLACE"], all.iter().map(row)))?,
    }
    let others = SERVER_PRESETS.iter().filter(|preset| !settings.mcp_servers.contains_key(preset.name));
    let others = columns(others.map(|preset| [preset.name, preset.about].map(str::to_owned)));
    match others.is_empty() {
        true => Ok(()),
        false => console::out(&format!("\nKnown, for `co mcp add NAME`:\n{others}")),
    }
}

/// A server that was connected, with the descriptions of its tools.
struct ServerDescription {
    facts: ServerFacts,
    specs: Vec<ToolSpec>,
    log: std::path::PathBuf,
}

/// Connects one server, whether it is switched on or not.
async fn try_server(name: &str, world: &World, settings: &Settings) -> Result<ServerDescription> {
    let mut one = server_settings(name, settings)?.clone();
    one.enabled = true;
    if let ServerScope::Held { why, .. } = &one.scope {
        return Err(server_error(name, "is not used", why).hint(format!("`co mcp enable {name}` shows it")));
    }
    let tools = tools(world, settings);
    let place = server_place(world, settings, &tools.child_env, &tools.sandbox);
    let log = Servers::log_file(&place, name);
    let servers = Servers::new(&[(name.to_owned(), one)].into(), place, tools.registry.clone());
    servers.connect(None);
    match servers.settled_state(name).await {
        Some(ServerState::Ready(facts)) => {
            let found = facts.tools.iter().filter_map(|name| Some(tools.registry.get(name)?.spec().clone()));
            let specs = found.collect();
            Ok(ServerDescription { facts, specs, log })
        }
        Some(ServerState::Failed { why }) => {
            let error = CliError::error(format!("{name} cannot be connected: {}", sanitize_line(&why)));
            let is_there = log.is_file();
            Err(if is_there { error.hint(format!("what it printed is in {}", log.display())) } else { error })
        }
        _ => Err(CliError::error(format!("{name} was not connected"))),
    }
}

async fn test(name: &str, json: bool, world: &World, settings: &Settings) -> Result<()> {
    let ServerDescription { facts, log, .. } = try_server(name, world, settings).await?;
    if json {
        return console::json(&facts);
    }
    let ServerFacts { title, protocol, left_out, took_ms, .. } = &facts;
    let mut text = format!(
        "{name} answers: {}, protocol {}, {} in {}.\n",
        sanitize_line(title),
        sanitize_line(protocol),
        facts.tools_in_words(),
        duration(Duration::from_millis(*took_ms))
    );
    left_out.iter().for_each(|one| text.push_str(&format!("Left out: {}\n", sanitize_line(one))));
    if log.is_file() {
        text.push_str(&format!("What it prints on its standard error is in {}.\n", log.display()));
    }
    console::out(&text)
}

async fn show_tools(name: &str, json: bool, world: &World, settings: &Settings) -> Result<()> {
    let ServerDescription { specs, .. } = try_server(name, world, settings).await?;
    let row = |spec: &'_ ToolSpec| -> [String; 3] {
        let asks = if spec.side_effect.is_none() { "only reads" } else { spec.risk.word() };
        let about = one_line_summary(&sanitize(&spec.description), ABOUT);
        [spec.name.to_string(), asks.to_owned(), about]
    };
    if json {
        // Fields may only be added.
        let row = |spec: &ToolSpec| {
            json!({
                "name": spec.name,
                "description": spec.description,
                "risk": spec.risk.word(),
                "only_reads": spec.side_effect.is_none(),
                "parameters": spec.parameters,
            })
        };
        let rows: Vec<Value> = specs.iter().map(row).collect();
        return console::json(&rows);
    }
    console::out(&table(["TOOL", "RISK", "ABOUT"], specs.iter().map(row)))
}
