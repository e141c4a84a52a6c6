//! Reads the sources of settings from the disk, as far as they are there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::load::{SourceFile, Sources, user_file};
use super::problem::ConfigError;
use super::trust::{PROJECT_FILES, TrustRecord, contents_of};

/// Collects the sources for [`super::load()`]. A missing file is no error; the person's own that cannot be read is, and
/// so is one that is no UTF-8. The project's is read within bounds, and what is wrong with it is a warning. `env` is the whole environment; where it names no `HOME` the caller adds it.
pub fn read_sources(
    workspace: &Path,
    env: BTreeMap<String, String>,
    flags: Vec<(String, String)>,
) -> Result<Sources, Vec<ConfigError>> {
    let user = user_file(&env).map_or(Ok(None), read);
    let (contents, unread) = contents_of(workspace);
    let trusted = TrustRecord::of(&env).contents(workspace);
    let [settings, ..] = PROJECT_FILES;
    let readable = contents.get(settings).filter(|text| !text.starts_with('\0'));
    let project = readable.map(|text| SourceFile { path: workspace.join(settings), text: text.clone() });
    let user = user.map_err(|error| vec![error])?;
    Ok(Sources { workspace: workspace.to_path_buf(), user, project, contents, trusted, unread, env, flags })
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
