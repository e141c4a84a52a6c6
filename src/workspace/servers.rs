//! The settings of a run, and with them the tool servers of a project: those of its file `.mcp.json`, if its folder is trusted, each by the content of its
//! definition and of the files that its command names. The user's own servers precede them by name. Blocking.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::reported::is_new;
use super::world::World;
use crate::command::code;
use crate::config::{
    self, ConfigError, ConfigWarning, FolderTrust, LoadedSettings, PROJECT_SERVERS, ProjectServers,
    ServerScope, ServerSettings, ServerTransport, Settings, Source, filled_in, project_servers, read_bounded,
};
use crate::hook::trust::{ContentHash, ContentState, PathRoots, ProgramError, TrustedContents};
use crate::tool::mcp::server_address;

/// The setting of the user's own servers. Its variable replaces all servers.
const SECTION: &str = "mcp_servers";

/// The list of folders whose servers were reported, in the data folder.
const REPORTED: &str = "told_servers.json";

/// The trusted contents, in the data folder.
const TRUSTED: &str = "trusted_servers.json";

/// The beginning of the hashed content; changes with the way of hashing.
const FORM: &[u8] = b"co server 1\n";

/// Reads the settings of this run: from the files that exist, the environment, and `flags` as pairs of name and text. The
/// servers of a trusted project are among them.
pub fn load_settings(
    world: &World,
    flags: Vec<(String, String)>,
) -> Result<LoadedSettings, Vec<ConfigError>> {
    let mut loaded = config::load(&config::read_sources(&world.workspace, world.env.clone(), flags)?)?;
    add_project_servers(&mut loaded, world);
    Ok(loaded)
}

fn add_project_servers(loaded: &mut LoadedSettings, world: &World) {
    let file = world.workspace.join(PROJECT_SERVERS);
    let warn = |loaded: &mut LoadedSettings, why: String| {
        loaded.warnings.push(ConfigWarning::ProjectError { why: format!("{}: {why}", file.display()) });
    };
    let are_replaced = loaded
        .values
        .iter()
        .any(|value| value.row.key == SECTION && matches!(value.source, Source::Environment { .. }));
    if loaded.trust == FolderTrust::Untrusted || are_replaced {
        return;
    }
    let found = match read(&file) {
        Ok(found) => found,
        Err(why) => return warn(loaded, why),
    };
    let trusted = TrustedContents::read(&list(&loaded.settings.data_dir));
    let mut found_here = BTreeMap::new();
    for (name, server) in found {
        let mut settings = match server {
            Ok(settings) => settings,
            Err(why) => {
                warn(loaded, format!("the server {name} is ignored: {why}"));
                continue;
            }
        };
        let alike = loaded.settings.mcp_servers.iter().find(|(_, own)| look_alike(&own.prefix, &name));
        settings.scope = match (&trusted, alike) {
            (_, Some((own, _))) if *own == name => continue,
            (_, Some((own, _))) => {
                let why = format!("its tools would be named like those of your server {own}");
                ServerScope::Held { why, content: None }
            }
            (Ok(trusted), None) => scope(trusted.state(&file, &name, content(&name, &settings, world))),
            (Err(why), None) => ServerScope::Held { why: why.clone(), content: None },
        };
        found_here.insert(name, settings);
    }
    for (name, settings) in found_here {
        loaded.settings.mcp_servers.entry(name).or_insert(settings);
    }
}

/// Whether names of tools with these prefixes could be mistaken for each other.
fn look_alike(one: &str, other: &str) -> bool {
    let (one, other) = (format!("{one}_"), format!("{other}_"));
    one.starts_with(&other) || other.starts_with(&one)
}

/// Reads a project's file; without one there are no servers.
fn read(file: &Path) -> Result<ProjectServers, String> {
    let text = read_bounded(file).map_err(|error| error.to_string())?;
    text.map_or_else(|| Ok(ProjectServers::new()), |text| project_servers(&text))
}

/// Returns the servers of a folder's file, each with its command or address; none if there is no file.
pub(super) fn servers_of(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let found = read(&folder.join(PROJECT_SERVERS)).map_err(|why| format!("{PROJECT_SERVERS}: {why}"))?;
    let place = |server: Result<ServerSettings, String>| {
        server.map_or_else(|why| format!("ignored: {why}"), |settings| server_address(&settings))
    };
    Ok(found.into_iter().map(|(name, server)| (name, place(server))).collect())
}

fn scope(state: ContentState) -> ServerScope {
    let held = |why: &str, hash| ServerScope::Held { why: why.to_owned(), content: Some(hash) };
    match state {
        ContentState::Trusted { hash } => ServerScope::Project { content: hash },
        ContentState::New { hash } => held("new in this project", hash),
        ContentState::Changed { hash } => held("changed since you agreed to it", hash),
        ContentState::Broken(broken) => ServerScope::Held { why: broken.to_string(), content: None },
    }
}

/// Checks that a project's server is still as the user agreed to it; errs with the reason. Blocking.
pub fn check_content(world: &World, name: &str, settings: &ServerSettings) -> Result<(), String> {
    let ServerScope::Project { content: agreed } = &settings.scope else { return Ok(()) };
    match content(name, settings, world) {
        Ok(now) if now == *agreed => Ok(()),
        Ok(_) => Err(format!("a file of it changed since you agreed to it; `co mcp enable {name}` shows it")),
        Err(broken) => Err(broken.to_string()),
    }
}

/// Returns the hash of what the user agrees to: what is written, and the files that it names.
fn content(name: &str, settings: &ServerSettings, world: &World) -> Result<String, ProgramError> {
    let mut hash = ContentHash::new(FORM);
    hash.part(name.as_bytes());
    settings.written_lines().iter().for_each(|line| hash.part(line.as_bytes()));
    if let ServerTransport::Program { command, args, env, .. } = &settings.how {
        let at = PathRoots { workspace: world.workspace.clone(), home: world.home() };
        let path = command.contains('/').then(|| world.workspace.join(command));
        let filled = |text: &str| {
            filled_in(text, &world.env).map_err(|_| ProgramError::Unclear { word: text.to_owned() })
        };
        let args = args.iter().map(|arg| filled(arg)).collect::<Result<Vec<_>, _>>()?;
        hash.program(path.as_deref(), command, &args, &at)?;
        for value in env.values() {
            hash.named_in(value.expose(), &at)?;
        }
    }
    Ok(hash.finish())
}

/// Returns a notice about a project's servers that the user did not agree to yet, once for each content. Blocking.
#[must_use]
pub fn held_notice(world: &World, settings: &Settings) -> Option<String> {
    let held = settings.mcp_servers.iter().filter_map(|(name, one)| match &one.scope {
        ServerScope::Held { content: Some(content), .. } => Some((name, content)),
        ServerScope::Held { content: None, .. } | ServerScope::User | ServerScope::Project { .. } => None,
    });
    let (names, contents): (Vec<String>, Vec<&str>) =
        held.map(|(name, content)| (code(name), content.as_str())).unzip();
    let list = settings.data_dir.join(REPORTED);
    let is_news = !names.is_empty() && is_new(&list, &world.workspace, &contents.join(" "));
    is_news.then(|| {
        format!(
            "This project wants to use tool servers that you did not agree to: {}. `/mcp` or `co mcp enable NAME` shows \
             what they run. This notice is not repeated until they change.",
            names.join(", ")
        )
    })
}

/// Agrees to this content of a project's server, or to none any more.
pub fn agree_to_server(
    world: &World,
    data_dir: &Path,
    name: &str,
    content: Option<&str>,
) -> Result<(), String> {
    let (list, file) = (list(data_dir), world.workspace.join(PROJECT_SERVERS));
    let mut trusted = TrustedContents::read(&list)?;
    match content {
        Some(content) => trusted.add(&file, name, content),
        None => drop(trusted.remove(&file, name)),
    }
    let wrong = |error: io::Error| format!("{} cannot be written: {error}", list.display());
    trusted.write(&list).map_err(wrong)
}

fn list(data_dir: &Path) -> PathBuf {
    data_dir.join(TRUSTED)
}
