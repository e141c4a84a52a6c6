//! The environment of the process: variables, folder, clock. Read only here; other modules get values.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::approval::WorkspaceKind;
use crate::config::{self, ConfigError, Loaded, Settings, user_file};
use crate::stdx::clock::{Clock, SystemClock};
use crate::stdx::paths::normalize;

/// The environment of one run.
#[derive(Clone)]
pub struct World {
    /// Variables with a name and value in UTF-8; others are ignored.
    pub env: BTreeMap<String, String>,
    /// The workspace: the folder in which `co` was started; absolute, symlinks resolved.
    pub workspace: PathBuf,
    pub clock: Arc<dyn Clock>,
}

impl World {
    /// Reads the environment of this process, with these variables. Errs if its folder is gone or cannot be entered.
    pub fn of_process(mut env: BTreeMap<String, String>) -> io::Result<Self> {
        if env.get("HOME").is_none_or(String::is_empty)
            && let Some(home) = std::env::home_dir()
        {
            env.insert("HOME".to_owned(), home.display().to_string());
        }
        let workspace = std::env::current_dir()?.canonicalize()?;
        Ok(Self { env, workspace, clock: Arc::new(SystemClock) })
    }

    /// Returns the folders of `co` itself: settings, rules and hooks, and data with keys, spilled outputs and sockets.
    /// Each with and without symlinks resolved. Blocking.
    pub fn own_folders(&self, settings: &Settings) -> Arc<[PathBuf]> {
        let config = user_file(&self.env).and_then(|file| file.parent().map(Path::to_owned));
        // Each of these may link into a folder that does not belong to `co`.
        let linked = ["config.toml", "rules.toml", "hooks.toml"].into_iter().filter_map(|name| {
            let file = config.as_ref()?.join(name);
            file.is_symlink().then(|| file.canonicalize().ok())?
        });
        let linked: Vec<PathBuf> = linked.collect();
        let data = Some(settings.data_dir.clone()).filter(|data| data.is_absolute());
        let named = config.into_iter().chain(data).map(|folder| normalize(&folder));
        let folders = named.flat_map(|folder| [folder.canonicalize().ok(), Some(folder)]).flatten();
        folders.chain(linked).collect()
    }

    /// Returns the kind of a workspace. In the home folder itself, in its parents, in `/`, and if the home folder is
    /// unknown, reads ask too.
    pub fn kind_of(&self, workspace: &Path) -> WorkspaceKind {
        let Some(home) = self.env.get("HOME").filter(|home| !home.is_empty()) else {
            return WorkspaceKind::HomeOrRoot;
        };
        let home = Path::new(home);
        let holds = |folder: &Path| folder.starts_with(workspace);
        let holds_home = holds(&normalize(home)) || home.canonicalize().is_ok_and(|home| holds(&home));
        let config = user_file(&self.env);
        if holds_home || config.is_some_and(|file| holds(&normalize(&file))) || workspace.parent().is_none() {
            WorkspaceKind::HomeOrRoot
        } else {
            WorkspaceKind::Project
        }
    }
}

/// Reads the settings of this run: from the files that exist, the environment, and `flags` as pairs of name and text.
pub fn load_settings(world: &World, flags: Vec<(String, String)>) -> Result<Loaded, Vec<ConfigError>> {
    config::load(&config::read_sources(&world.workspace, world.env.clone(), flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_itself_and_the_root_are_no_projects() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let link = home.join("link");
        std::os::unix::fs::symlink(&home, &link).unwrap();
        for (home_as_set, workspace, kind) in [
            (home.clone(), home.clone(), WorkspaceKind::HomeOrRoot),
            (link, home.clone(), WorkspaceKind::HomeOrRoot),
            (home.clone(), home.join("project"), WorkspaceKind::Project),
            (home.clone(), PathBuf::from("/"), WorkspaceKind::HomeOrRoot),
            (home.clone(), home.parent().unwrap().to_owned(), WorkspaceKind::HomeOrRoot),
            (home.join("x/.."), home.clone(), WorkspaceKind::HomeOrRoot),
            (home.join("x"), home.clone(), WorkspaceKind::HomeOrRoot),
            // The home folder is unknown.
            (PathBuf::new(), home, WorkspaceKind::HomeOrRoot),
        ] {
            let env = [("HOME".to_owned(), home_as_set.display().to_string())].into();
            let world = World { env, workspace: PathBuf::from("/else"), clock: Arc::new(SystemClock) };
            assert_eq!(world.kind_of(&workspace), kind, "{}", workspace.display());
        }
    }
}
