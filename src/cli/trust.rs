//! `co trust`: manages folders whose own settings, rules, hooks, tool servers, texts, memories and commands are in effect.
//!
//! The contents of a folder are shown before it is trusted. The list is a setting in the user's own file.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::args::{Flags, TrustArgs};
use super::console;
use super::error::{CliError, Kind, Result};
use super::secret::{UNCHANGED, confirm};
use crate::app::open_store;
use crate::config::{FolderTrust, LoadedSettings, names_folder};
use crate::stdx::text::sanitize_line;
use crate::store::AuditNote;
use crate::workspace::trust::{GatedContents, TrustError, is_in_effect, trust_in, trustable, write_trust};
use crate::workspace::{World, load_settings};

pub(super) async fn run(what: TrustArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags.clone())?;
    let folder = what.folder.as_deref().unwrap_or(Path::new("."));
    if what.list {
        return list(&loaded, what.json);
    }
    if what.revoke {
        return revoke(folder, world, &loaded, flags).await;
    }
    let folder = trustable(folder, world)?;
    if trust_in(&loaded.settings, world, &folder) == FolderTrust::Trusted {
        return console::out(&format!(
            "{} is already trusted with its current contents.\n",
            folder.display()
        ));
    }
    let found = GatedContents::of(&folder, world);
    console::out(&brings(&folder, &found))?;
    if !confirm(what.yes, "Trust this folder with its current contents? y/N ")? {
        return console::out(UNCHANGED);
    }
    let store = open_store(world, &loaded.settings).await?;
    let file = write_trust(world, &folder, Some(found.contents))?;
    store.note(AuditNote::FolderTrusted { folder: folder.clone() }).await?;
    console::out(&format!("{} is trusted, saved in {}.\n", folder.display(), file.display()))?;
    if !is_in_effect(world, &folder, flags) {
        console::note("co: CO_TRUSTED_FOLDERS or a flag overrides that file, so this has no effect here");
    }
    Ok(())
}

fn list(loaded: &LoadedSettings, json: bool) -> Result<()> {
    let folders = &loaded.settings.trusted_folders;
    if json {
        return console::json(&json!(folders));
    }
    if folders.is_empty() {
        return console::out("No folder is trusted.\n");
    }
    folders.iter().try_for_each(|folder| console::out(&format!("{}\n", folder.display())))
}

/// Describes what trusting the folder puts into effect, line by line.
fn brings(folder: &Path, found: &GatedContents) -> String {
    let some = |is_some: bool, line: String| is_some.then_some(line);
    let nothing = "no settings, rules, hooks, tool servers, texts, memories or commands found".to_owned();
    let (rules, memories, commands) = (found.rules, found.memories, found.commands);
    let head = if found.is_known { "changed since you trusted it:" } else { "contents of its files:" };
    let lines = some(found.is_empty(), nothing)
        .into_iter()
        .chain(found.settings.iter().map(|key| format!("setting  {key}")))
        .chain(some(rules > 0, format!("rules    {rules}; `co rules list` shows them")))
        .chain(some(memories > 0, format!("memories {memories}")))
        .chain(found.hooks.iter().map(|(name, events, command)| {
            format!("hook     {name} at {events}: {command} (runs after `co hooks trust {name}`)")
        }))
        .chain(
            found
                .servers
                .iter()
                .map(|(name, place)| format!("server   {name}: {place} (used after `co mcp enable {name}`)")),
        )
        .chain(found.texts.iter().map(|name| format!("text     {name} (goes to the model)")))
        .chain(some(commands > 0, format!("commands {commands}")))
        .chain(found.keys.iter().map(|key| format!("key      {key}")))
        .chain(some(!found.changes.is_empty(), head.to_owned()))
        .chain(found.changes.iter().map(|change| format!("  {change}")))
        .chain(found.problems.iter().map(|problem| format!("problem  {problem}")));
    let lines = lines.map(|line| format!("  {}\n", sanitize_line(&line)));
    std::iter::once(format!("{}\n", folder.display())).chain(lines).collect()
}

async fn revoke(folder: &Path, world: &World, loaded: &LoadedSettings, flags: Flags) -> Result<()> {
    // A folder that no longer exists can also be removed from the list.
    let path: PathBuf = world.workspace.join(folder);
    let path = path.canonicalize().unwrap_or(path);
    if !names_folder(&loaded.settings.trusted_folders, &path) {
        return console::out(&format!("{} was not trusted.\n", path.display()));
    }
    write_trust(world, &path, None)?;
    if names_folder(&load_settings(world, flags)?.settings.trusted_folders, &path) {
        let message = format!("{} is still in the list of trusted folders", path.display());
        let error = CliError::error(message);
        return Err(error.hint("CO_TRUSTED_FOLDERS or a flag also names it; change that"));
    }
    // After the change: a store that does not open must not keep a folder trusted.
    let store = open_store(world, &loaded.settings).await?;
    store.note(AuditNote::FolderUntrusted { folder: path.clone() }).await?;
    console::out(&format!(
        "{} is no longer trusted. In a running co there, what it brings stops counting with the next turn, its \
         settings and tool servers when that co exits.\n",
        path.display()
    ))
}

impl From<TrustError> for CliError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Store(error) => error.into(),
            TrustError::NoFolder { .. }
            | TrustError::TooMuch { .. }
            | TrustError::Unreadable { .. }
            | TrustError::Shared { .. } => Self::new(Kind::Usage, error),
            TrustError::Write(_) | TrustError::Changed { .. } | TrustError::Broken { .. } => {
                Self::new(Kind::Error, error)
            }
        }
    }
}
