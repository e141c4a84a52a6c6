//! What the process was given: environment, folder, clock. Read once, here; everybody else gets values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::AppError;
use crate::approval::WorkspaceKind;
use crate::stdx::clock::{Clock, SystemClock};

/// The surroundings of one run.
#[derive(Clone)]
pub struct World {
    /// Variables whose name and value are text; others mean nothing to us.
    pub env: BTreeMap<String, String>,
    /// The workspace: where `co` was started; absolute, symlinks resolved.
    pub workspace: PathBuf,
    pub clock: Arc<dyn Clock>,
}

impl World {
    /// The world of this process. Errs where its folder is gone or cannot be entered.
    pub fn of_process() -> Result<Self, AppError> {
        let mut env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        if env.get("HOME").is_none_or(String::is_empty)
            && let Some(home) = std::env::home_dir()
        {
            env.insert("HOME".to_owned(), home.display().to_string());
        }
        let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
        let workspace = folder.map_err(|error| AppError::Workspace { detail: error.to_string() })?;
        Ok(Self { env, workspace, clock: Arc::new(SystemClock) })
    }

    /// What kind of workspace a folder is: in the home folder itself and in `/`, reads ask too.
    pub fn kind_of(&self, workspace: &Path) -> WorkspaceKind {
        let home = self.env.get("HOME").filter(|home| !home.is_empty());
        let is_home = home.is_some_and(|home| {
            let home = Path::new(home);
            home == workspace || home.canonicalize().is_ok_and(|home| home == workspace)
        });
        if is_home || workspace.parent().is_none() {
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
            (PathBuf::new(), home, WorkspaceKind::Project),
        ] {
            let env = [("HOME".to_owned(), home_as_set.display().to_string())].into();
            let world = World { env, workspace: PathBuf::from("/else"), clock: Arc::new(SystemClock) };
            assert_eq!(world.kind_of(&workspace), kind, "{}", workspace.display());
        }
    }
}
