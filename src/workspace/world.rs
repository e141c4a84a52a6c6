//! The environment of the process: variables, folder, clock. Read only here; other modules get values.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::approval::WorkspaceKind;
use crate::config::{Settings, user_file};
use crate::stdx::clock::{Clock, SystemClock};
use crate::stdx::paths::normalize;
use crate::telemetry::Telemetry;
use crate::workspace::MemoryFolder;

/// The environment of one run.
#[derive(Clone)]
pub struct World {
    /// Variables with a name and value in UTF-8; others are ignored.
    pub env: BTreeMap<String, String>,
    /// The workspace: the folder in which `co` was started; absolute, symlinks resolved.
    pub workspace: PathBuf,
    pub clock: Arc<dyn Clock>,
    /// Where sessions of this run are, if they are not kept.
    pub private: Option<Arc<MemoryFolder>>,
    /// The spans of this process.
    pub telemetry: Telemetry,
}

impl World {
    /// Returns the folder for sessions: their database, outputs and pasted files.
    #[must_use]
    pub fn sessions<'a>(&'a self, settings: &'a Settings) -> &'a Path {
        self.private.as_ref().map_or(&settings.data_dir, |private| private.path())
    }

    /// Reads the environment of this process, with these variables. Errs if its folder is gone or cannot be entered.
    pub fn of_process(mut env: BTreeMap<String, String>) -> io::Result<Self> {
        if env.get("HOME").is_none_or(String::is_empty)
            && let Some(home) = std::env::home_dir()
        {
            env.insert("HOME".to_owned(), home.display().to_string());
        }
        let workspace = std::env::current_dir()?.canonicalize()?;
        Ok(Self {
            env,
            workspace,
            clock: Arc::new(SystemClock),
            private: None,
            telemetry: Telemetry::default(),
        })
    }

    /// Returns the user's home folder, if it is known.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        self.env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
    }

    /// Returns the folder of the user's settings; `None` without a home folder.
    #[must_use]
    pub fn config_dir(&self) -> Option<PathBuf> {
        user_file(&self.env)?.parent().map(Path::to_owned)
    }

    /// Returns the folders of `co` itself: settings, rules and hooks, and data with keys, spilled outputs and sockets.
    /// Each with and without symlinks resolved. Blocking.
    pub fn own_folders(&self, settings: &Settings) -> Arc<[PathBuf]> {
        let config = self.config_dir();
        // Each of these may link into a folder that does not belong to `co`.
        let linked = ["config.toml", "rules.toml", "hooks.toml"].into_iter().filter_map(|name| {
            let file = config.as_ref()?.join(name);
            file.is_symlink().then(|| file.canonicalize().ok())?
        });
        let linked: Vec<PathBuf> = linked.collect();
        let private = self.private.as_ref().map(|private| private.path().to_owned());
        let data =
            Some(settings.data_dir.clone()).into_iter().chain(private).filter(|data| data.is_absolute());
        let named = config.into_iter().chain(data).map(|folder| normalize(&folder));
        let folders = named.flat_map(|folder| [folder.canonicalize().ok(), Some(folder)]).flatten();
        folders.chain(linked).collect()
    }

    /// Returns the editor that `VISUAL` or `EDITOR` names.
    pub fn named_editor(&self) -> Option<String> {
        self.program_from("VISUAL").or_else(|| self.program_from("EDITOR"))
    }

    /// Returns the words of a program that a variable names.
    fn program_from(&self, variable: &str) -> Option<String> {
        self.env.get(variable).filter(|words| !words.trim().is_empty()).cloned()
    }

    /// Returns the named editor, else the first that is installed of `vi`, `nano` and `less`, which can at least show a
    /// text. For a terminal: these programs wait for keys. Blocking.
    pub fn editor(&self) -> Option<String> {
        self.text_editor().or_else(|| self.first_installed(&["less"]))
    }

    /// Returns the same, but no program that only shows a text.
    pub fn text_editor(&self) -> Option<String> {
        self.named_editor().or_else(|| self.first_installed(&["vi", "nano"]))
    }

    /// Returns the pager that `PAGER` names, else `less` if it is installed. Blocking.
    pub fn pager(&self) -> Option<String> {
        self.program_from("PAGER").or_else(|| self.first_installed(&["less"]))
    }

    /// Returns the program that opens an address of the web: the one that `BROWSER` names, or that of the desktop. `None`
    /// without a desktop.
    pub fn browser(&self) -> Option<String> {
        let is_set = |name: &str| self.env.get(name).is_some_and(|value| !value.is_empty());
        match self.env.get("BROWSER").filter(|named| !named.is_empty()) {
            Some(named) => Some(named.clone()),
            None if cfg!(target_os = "macos") => Some("open".to_owned()),
            None if is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") => self.first_installed(&["xdg-open"]),
            None => None,
        }
    }

    /// Opens an address of the web, if there is a browser. One that does not start is no failure: the address is shown too.
    pub fn open_address(&self, address: &str) {
        if address.starts_with("https://") || address.starts_with("http://") {
            self.browse(address.as_ref());
        }
    }

    /// Opens a page in the browser, if there is one.
    pub fn browse(&self, page: &OsStr) {
        if let Some(browser) = self.browser() {
            let mut command = Command::new(browser);
            command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = command.spawn();
        }
    }

    /// Returns the first of these programs that is in the `PATH`.
    pub fn first_installed(&self, names: &[&str]) -> Option<String> {
        let path = self.env.get("PATH").cloned().unwrap_or_default();
        let is_there = |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        names.iter().find(is_there).map(|name| (*name).to_owned())
    }

    /// Returns the kind of a workspace. In the home folder itself, in its parents, in `/`, and if the home folder is
    /// unknown, reads ask too.
    pub fn kind_of(&self, workspace: &Path) -> WorkspaceKind {
        let Some(home) = self.home() else { return WorkspaceKind::HomeOrRoot };
        let holds = |folder: &Path| folder.starts_with(workspace);
        let holds_home = holds(&normalize(&home)) || home.canonicalize().is_ok_and(|home| holds(&home));
        let config = user_file(&self.env);
        if holds_home || config.is_some_and(|file| holds(&normalize(&file))) || workspace.parent().is_none() {
            WorkspaceKind::HomeOrRoot
        } else {
            WorkspaceKind::Project
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_editor_is_the_named_one_or_one_that_is_installed() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let path = format!("/nowhere:{}", bin.display());
        let editor = |visual: &str, editor: &str| {
            let env = [("VISUAL", visual), ("EDITOR", editor), ("PATH", &path)];
            let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
            World {
                env,
                workspace: PathBuf::from("/"),
                clock: Arc::new(SystemClock),
                private: None,
                telemetry: Telemetry::default(),
            }
            .editor()
        };
        assert_eq!(editor("", " "), None);
        for (installed, found) in [("less", "less"), ("nano", "nano"), ("vi", "vi")] {
            std::fs::write(bin.join(installed), "").unwrap();
            assert_eq!(editor("", ""), Some(found.to_owned()));
        }
        assert_eq!(editor("", "ed"), Some("ed".to_owned()));
        assert_eq!(editor("code -w", "ed"), Some("code -w".to_owned()));
    }

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
            let world = World {
                env,
                workspace: PathBuf::from("/else"),
                clock: Arc::new(SystemClock),
                private: None,
                telemetry: Telemetry::default(),
            };
            assert_eq!(world.kind_of(&workspace), kind, "{}", workspace.display());
        }
    }
}
