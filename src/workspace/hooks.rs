//! The hooks in effect: those of the user's own `hooks.toml`, then those of a trusted folder, if their content is
//! trusted.
//!
//! A hook that should run and cannot is reported once; if it would have checked calls, these calls ask. Reading is
//! blocking.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::World;
use crate::config::{FolderTrust, PROJECT_FILES, Settings, read_bounded};
use crate::hook::Hook;
use crate::hook::command::{CommandHook, UnavailableHook, UnavailableReason};
use crate::hook::file::{HookDef, HookProblem, HookScope, parse};
use crate::hook::notices::HookNotices;
use crate::hook::trust::{ContentState, PathRoots, TrustedContents, content};

/// A project's hooks, below its folder.
pub(super) const PROJECT_HOOKS: &str = PROJECT_FILES[2];

/// The user's own file, beside the settings.
const USER_HOOKS: &str = "hooks.toml";

/// The trusted contents, in the data folder.
const TRUSTED: &str = "trusted_hooks.json";

/// The hook files and the environment of hooks. Cheap to clone.
#[derive(Clone)]
pub struct HookFiles {
    user: Option<PathBuf>,
    trusted: PathBuf,
    home: Option<PathBuf>,
    child_env: Vec<(String, String)>,
    notices: Arc<HookNotices>,
}

/// A hook of a file that could be read.
pub struct FoundHook {
    pub def: HookDef,
    pub state: ContentState,
}

/// The content of the files.
#[derive(Default)]
pub struct FoundHooks {
    pub hooks: Vec<FoundHook>,
    /// Errors in files; a file with an error provides no hooks.
    pub problems: Vec<String>,
    pub trusted: TrustedContents,
}

impl HookFiles {
    pub fn new(
        world: &World,
        settings: &Settings,
        child_env: Vec<(String, String)>,
        notices: Arc<HookNotices>,
    ) -> Self {
        let user = world.config_dir().map(|folder| folder.join(USER_HOOKS));
        Self { user, trusted: settings.data_dir.join(TRUSTED), home: world.home(), child_env, notices }
    }

    /// Returns the user's own file; `None` without a home folder.
    pub fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// Returns the list of trusted contents.
    pub fn trust_file(&self) -> &Path {
        &self.trusted
    }

    /// Returns the base folders of words in commands.
    pub fn whereabouts(&self, folder: &Path) -> PathRoots {
        PathRoots { workspace: folder.to_owned(), home: self.home.clone() }
    }

    /// Returns all hooks defined for a folder, in effect or not; for an untrusted folder only the user's own. Blocking.
    pub fn find(&self, folder: &Path, trust: FolderTrust) -> FoundHooks {
        let mut found = FoundHooks::default();
        match TrustedContents::read(&self.trusted) {
            Ok(trusted) => found.trusted = trusted,
            Err(problem) => found.problems.push(problem),
        }
        let project = match trust {
            FolderTrust::Trusted => Some((folder.join(PROJECT_HOOKS), HookScope::Project)),
            FolderTrust::Untrusted => None,
        };
        let at = self.whereabouts(folder);
        for (path, scope) in self.user.clone().map(|path| (path, HookScope::User)).into_iter().chain(project)
        {
            match read_hooks(&path, scope) {
                Ok(defs) => found.hooks.extend(defs.into_iter().map(|def| {
                    let state = found.trusted.state(&def.file, &def.name, content(&def, &at));
                    FoundHook { def, state }
                })),
                Err(problems) => found.problems.extend(problems.iter().map(ToString::to_string)),
            }
        }
        found
    }

    /// Returns the hooks that run in a folder, in their order; reports the others. Blocking.
    pub fn load(&self, folder: &Path, trust: FolderTrust) -> Vec<Arc<dyn Hook>> {
        let FoundHooks { hooks: found, problems, trusted } = self.find(folder, trust);
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        if let Some(first) = problems.first() {
            hooks.push(Arc::new(UnavailableHook::file(first)));
        }
        for problem in problems {
            self.notices.tell(problem.clone(), format!("{problem}; every call asks until this is fixed"));
        }
        for FoundHook { def, state } in found {
            let unfit = match state {
                ContentState::Trusted { hash } => {
                    hooks.push(Arc::new(self.command(def, hash, folder)));
                    continue;
                }
                ContentState::New { hash } => {
                    let name = &def.name;
                    let text = format!("hook {name} is new and does not run: `co hooks trust {name}`");
                    self.notices.tell(format!("{hash} new"), text);
                    continue;
                }
                ContentState::Changed { hash } => UnavailableReason::Changed { hash },
                ContentState::Broken(broken) => UnavailableReason::Broken(broken),
            };
            unfit.tell(&def, &self.notices);
            if trusted.knows(&def.file, &def.name) {
                hooks.push(Arc::new(UnavailableHook::hook(&def, &unfit)));
            }
        }
        hooks
    }

    /// Returns a runnable hook. The content `hash` must be trusted.
    pub fn command(&self, def: HookDef, hash: String, folder: &Path) -> CommandHook {
        let (env, notices) = (self.child_env.clone(), Arc::clone(&self.notices));
        CommandHook::new(def, hash, self.whereabouts(folder), env, notices)
    }
}

/// Returns the hooks of a file; none if it is missing. Errs with all mistakes in it.
pub(super) fn read_hooks(path: &Path, scope: HookScope) -> Result<Vec<HookDef>, Vec<HookProblem>> {
    let problem = |what: String| vec![HookProblem { path: path.to_owned(), line: 1, what }];
    match read_bounded(path) {
        Ok(Some(text)) => parse(&text, path, scope),
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(problem(format!("this cannot be read: {error}"))),
    }
}
