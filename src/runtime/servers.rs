//! Changes of the settings of tool servers, in the user's own file. Blocking.

use std::path::PathBuf;

use toml_edit::{Array, InlineTable, TableLike, value};

use crate::config::{ServerApproval, ServerPreset, WriteError, edit_settings, settings_section, user_file};
use crate::workspace::World;

/// The section of the settings.
const SECTION: &str = "mcp_servers";

/// A server to be added: a program with its arguments, or an address.
#[derive(Debug, Clone, Default)]
pub struct NewServer {
    pub url: Option<String>,
    pub command: Vec<String>,
    /// `NAME=text`, or `NAME` for the variable of that name.
    pub env: Vec<String>,
    pub never_ask: bool,
}

impl NewServer {
    #[must_use]
    pub fn of_preset(preset: &ServerPreset) -> Self {
        Self {
            url: None,
            command: preset.command.iter().map(|word| (*word).to_owned()).collect(),
            env: preset.env.iter().map(|(own, users)| format!("{own}=${{{users}}}")).collect(),
            never_ask: preset.approval == ServerApproval::Never,
        }
    }

    fn write(&self, section: &mut dyn TableLike) {
        if let Some(url) = &self.url {
            section.insert("url", value(url));
        } else if let Some((program, args)) = self.command.split_first() {
            section.insert("command", value(program));
            if !args.is_empty() {
                section.insert("args", value(args.iter().collect::<Array>()));
            }
        }
        if !self.env.is_empty() {
            let mut table = InlineTable::new();
            for pair in &self.env {
                // Without a value the variable of that name is meant, so that no token is written down.
                let (name, text) = match pair.split_once('=') {
                    Some((name, text)) => (name, text.to_owned()),
                    None => (pair.as_str(), format!("${{{pair}}}")),
                };
                table.insert(name, text.into());
            }
            section.insert("env", value(table));
        }
        if self.never_ask {
            section.insert("approval", value("never"));
        }
    }
}

/// Adds a server; returns the changed file.
pub fn add_server(world: &World, name: &str, new: &NewServer) -> Result<PathBuf, WriteError> {
    edit(world, name, |section| new.write(section))
}

/// Switches a server on or off; returns the changed file.
pub fn switch_server(world: &World, name: &str, on: bool) -> Result<PathBuf, WriteError> {
    edit(world, name, |section| drop(section.insert("enabled", value(on))))
}

/// Sets which tools of a server are used; returns the changed file.
pub fn set_tools(world: &World, name: &str, tools: &[String]) -> Result<PathBuf, WriteError> {
    edit(world, name, |section| match tools {
        [] => drop(section.remove("tools")),
        tools => drop(section.insert("tools", value(tools.iter().collect::<Array>()))),
    })
}

/// Removes a server; returns the changed file.
pub fn remove_server(world: &World, name: &str) -> Result<PathBuf, WriteError> {
    edit_settings(user_file(&world.env).as_deref(), |document| {
        document.get_mut(SECTION)?.as_table_like_mut()?.remove(name).map(drop)
    })
}

fn edit(world: &World, name: &str, change: impl FnOnce(&mut dyn TableLike)) -> Result<PathBuf, WriteError> {
    edit_settings(user_file(&world.env).as_deref(), |document| {
        settings_section(document, SECTION, name).map(change)
    })
}
