//! Reads the sources of settings from the disk, if they exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::file::SourceFile;
use super::load::Sources;
use super::places::user_file;
use super::problem::ConfigError;
use super::trust::{PROJECT_FILES, TrustRecord, contents_of, is_readable_text};
use crate::stdx::fs::is_missing;

/// Collects the sources for [`super::load()`]. A missing file is no error. The user's own file is an error if
/// it cannot be read or is not UTF-8. The project's file is read with a size limit, and problems with it are
/// warnings. `env` is the whole environment; if it lacks `HOME`, the caller adds it.
pub fn read_sources(
    workspace: &Path,
    env: BTreeMap<String, String>,
    flags: Vec<(String, String)>,
) -> Result<Sources, Vec<ConfigError>> {
    let user = user_file(&env).map_or(Ok(None), read);
    let (contents, unread) = contents_of(workspace);
    let trusted = TrustRecord::of(&env).contents(workspace);
    let [settings, ..] = PROJECT_FILES;
    let readable = contents.get(settings).filter(|text| is_readable_text(text));
    let project = readable.map(|text| SourceFile { path: workspace.join(settings), text: text.clone() });
    let user = user.map_err(|error| vec![error])?;
    Ok(Sources { workspace: workspace.to_path_buf(), user, project, contents, trusted, unread, env, flags })
}

fn read(path: PathBuf) -> Result<Option<SourceFile>, ConfigError> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(SourceFile { path, text })),
        // If `.co` or `co` is a file, there are no settings in it: the same as a missing file.
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { path, error }),
    }
}
