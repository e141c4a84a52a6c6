//! The hooks that count: those of the person's own `hooks.toml`, then those of a trusted folder, as far as their content
//! is trusted.
//!
//! What should run and cannot is never passed over in silence: the person is told once, and where a hook would have
//! looked at calls, those ask. Reading is blocking. Called at the start of each turn, and by `co hooks`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::World;
use crate::config::{FolderTrust, PROJECT_FILES, Settings, read_bounded, user_file};
use crate::hook::Hook;
use crate::hook::command::{CommandHook, Missing, Unfit};
use crate::hook::file::{HookDef, HookProblem, HookScope, parse};
use crate::hook::notices::HookNotices;
use crate::hook::trust::{HookState, TrustedHooks, Whereabouts};

/// A project's hooks, below its folder.
pub(super) const PROJECT_HOOKS: &str = PROJECT_FILES[2];

/// The person's own, beside their settings.
const USER_HOOKS: &str = "hooks.toml";

/// The contents that are trusted, in the data folder.
const TRUSTED: &str = "trusted_hooks.json";

/// Where hooks are written down, and what they run with. Cheap to clone.
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
    pub state: HookState,
}

/// What the files hold.
#[derive(Default)]
pub struct FoundHooks {
    pub hooks: Vec<FoundHook>,
    /// What is wrong with files; of such a file no hook is found.
    pub problems: Vec<String>,
    pub trusted: TrustedHooks,
}

impl HookFiles {
    pub fn new(
        world: &World,
        settings: &Settings,
        child_env: Vec<(String, String)>,
        notices: Arc<HookNotices>,
    ) -> Self {
        let user = user_file(&world.env).and_then(|file| Some(file.parent()?.join(USER_HOOKS)));
        let home = world.env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Self { user, trusted: settings.data_dir.join(TRUSTED), home, child_env, notices }
    }

    /// The person's own file; `None` without a home folder.
    pub fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// The list of trusted contents.
    pub fn trusted(&self) -> &Path {
        &self.trusted
    }

    /// Where words of commands point to in this folder.
    pub fn whereabouts(&self, folder: &Path) -> Whereabouts {
        Whereabouts { workspace: folder.to_owned(), home: self.home.clone() }
    }

    /// All hooks that are written down for a folder, run or not; of an untrusted folder only the person's own. Blocking.
    pub fn find(&self, folder: &Path, trust: FolderTrust) -> FoundHooks {
        let mut found = FoundHooks::default();
        match TrustedHooks::read(&self.trusted) {
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
            match defined(&path, scope) {
                Ok(defs) => found.hooks.extend(defs.into_iter().map(|def| {
                    let state = found.trusted.state(&def, &at);
                    FoundHook { def, state }
                })),
                Err(problems) => found.problems.extend(problems.iter().map(ToString::to_string)),
            }
        }
        found
    }

    /// The hooks that run in a folder, in their order; those that do not are told of. Blocking.
    pub fn load(&self, folder: &Path, trust: FolderTrust) -> Vec<Arc<dyn Hook>> {
        let FoundHooks { hooks: found, problems, trusted } = self.find(folder, trust);
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        if let Some(first) = problems.first() {
            hooks.push(Arc::new(Missing::file(first)));
        }
        for problem in problems {
            self.notices.tell(problem.clone(), format!("{problem}; every call asks until that is repaired"));
        }
        let at = self.whereabouts(folder);
        for FoundHook { def, state } in found {
            let unfit = match state {
                HookState::Trusted { hash } => {
                    let (env, notices) = (self.child_env.clone(), Arc::clone(&self.notices));
                    hooks.push(Arc::new(CommandHook::new(def, hash, at.clone(), env, notices)));
                    continue;
                }
                HookState::New { hash } => {
                    let name = &def.name;
                    let text = format!("hook {name} is new and does not run: `co hooks trust {name}`");
                    self.notices.tell(format!("{hash} new"), text);
                    continue;
                }
                HookState::Changed { hash } => Unfit::Changed { hash },
                HookState::Broken(broken) => Unfit::Broken(broken),
            };
            unfit.tell(&def, &self.notices);
            if trusted.knows(&def) {
                hooks.push(Arc::new(Missing::hook(&def, &unfit)));
            }
        }
        hooks
    }

    /// A hook as it would run, to be tried. The content `hash` must be trusted.
    pub fn command(&self, def: HookDef, hash: String, folder: &Path) -> CommandHook {
        let (env, notices) = (self.child_env.clone(), Arc::clone(&self.notices));
        CommandHook::new(def, hash, self.whereabouts(folder), env, notices)
    }
}

/// The hooks of a file; none where there is no file. Errs with all that is wrong with it.
pub(super) fn defined(path: &Path, scope: HookScope) -> Result<Vec<HookDef>, Vec<HookProblem>> {
    let problem = |what: String| vec![HookProblem { path: path.to_owned(), line: 1, what }];
    match read_bounded(path) {
        Ok(Some(text)) => parse(&text, path, scope),
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(problem(format!("this cannot be read: {error}"))),
    }
}
