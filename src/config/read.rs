//! The only place of this module that touches the disk: it reads the two files, if they are there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::load::{SourceFile, Sources, user_file};
use super::problem::ConfigError;

/// The project's settings file, below the workspace.
const PROJECT_FILE: &str = ".co/config.toml";

/// Collects the sources for [`super::load()`]. A missing file is no error; one that cannot be read is, and so is one
/// that is no UTF-8. `env` is the whole environment; where it names no `HOME` the caller adds it.
pub fn read_sources(
    workspace: &Path,
    env: BTreeMap<String, String>,
    flags: Vec<(String, String)>,
) -> Result<Sources, Vec<ConfigError>> {
    let user = user_file(&env).map_or(Ok(None), read);
    let project = read(workspace.join(PROJECT_FILE));
    match (user, project) {
        (Ok(user), Ok(project)) => {
            Ok(Sources { workspace: workspace.to_path_buf(), user, project, env, flags })
        }
        (user, project) => Err([user.err(), project.err()].into_iter().flatten().collect()),
    }
}

fn read(path: PathBuf) -> Result<Option<SourceFile>, ConfigError> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(SourceFile { path, text })),
        // `.co` or `co` being a file means as much as a missing file: there are no settings in it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(ConfigError::Unreadable { path, error }),
    }
}
