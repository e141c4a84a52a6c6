//! Which paths a tool may access, and how they are displayed to model and user.
//!
//! Reads may access the workspace and the spill folder, writes the workspace only; links and `..` are
//! resolved before the check. Blocking: it reads links. Called by every file tool, to plan and to run.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::stdx::beneath::{BaseFolder, NEW};
use crate::stdx::fs::if_exists;
use crate::stdx::paths::{PathError, confine, display_relative};
use crate::stdx::text::sanitize_line;
use crate::tool::ToolError;
use crate::undo::UndoLog;

/// The folders of a call; all absolute.
#[derive(Debug, Clone)]
pub struct ToolPath {
    pub workspace: PathBuf,
    pub spill: PathBuf,
    /// Folders of `co` itself: nothing in them may be read, except spilled output.
    pub own: Arc<[PathBuf]>,
    /// Files are kept here before they are changed.
    pub undo: UndoLog,
}

impl ToolPath {
    /// Returns the real path of `given`, if it may be read.
    pub fn readable(&self, given: &str) -> Result<PathBuf, ToolError> {
        match confine(&self.workspace, given) {
            Err(error @ PathError::Outside { .. }) if Path::new(given).is_absolute() => {
                confine(&self.spill, given).map_err(|_| path_error(&error))
            }
            Err(error) => Err(path_error(&error)),
            Ok(path) if self.withholds(&path) => {
                let shown = self.display(&path);
                Err(ToolError::Misuse(format!(
                    "{shown} belongs to co itself (settings, keys, data): its tools do not read it"
                )))
            }
            Ok(path) => Ok(path),
        }
    }

    /// Returns the real path of `given`, if it may be read; by default that of the workspace.
    pub fn readable_or_all(&self, given: Option<&str>) -> Result<PathBuf, ToolError> {
        self.readable(given.unwrap_or("."))
    }

    /// Whether a path belongs to `co` and may not be read by any tool.
    pub fn withholds(&self, path: &Path) -> bool {
        self.is_own(path) && !path.starts_with(&self.spill)
    }

    /// Whether a path belongs to `co`.
    pub fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// Opens a file that [`ToolPath::readable`] returned, without following a link created since.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        let root = if path.starts_with(&self.workspace) { &self.workspace } else { &self.spill };
        let Ok(relative) = path.strip_prefix(root) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is no longer in the folder"));
        };
        BaseFolder::open(root)?.file(relative)
    }

    /// Writes a whole file that [`ToolPath::writable`] returned, after creating missing folders, without
    /// following a link created since.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let Ok(relative) = path.strip_prefix(&self.workspace) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is no longer in the folder"));
        };
        BaseFolder::open(&self.workspace)?.write(relative, bytes, NEW)
    }

    /// Removes a file that [`ToolPath::writable`] returned; what is gone already is no error.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let Ok(relative) = path.strip_prefix(&self.workspace) else { return Ok(()) };
        if_exists(BaseFolder::open(&self.workspace)?.remove_file(relative)).map(drop)
    }

    /// Returns the real path of `given`, if it may be written.
    pub fn writable(&self, given: &str) -> Result<PathBuf, ToolError> {
        confine(&self.workspace, given).map_err(|error| path_error(&error))
    }

    /// Returns the path of what is named, which may be a link, with the links of its folders resolved. Errs for the workspace
    /// itself.
    pub fn entry(&self, given: &str) -> Result<PathBuf, ToolError> {
        let whole = self.writable(given)?;
        let (folder, name) = match (Path::new(given).parent(), Path::new(given).file_name()) {
            (Some(folder), Some(name)) if whole != self.workspace => (folder, name),
            _ => {
                return Err(ToolError::Misuse(format!(
                    "`{given}` is not the path of a file or folder inside of the workspace"
                )));
            }
        };
        let folder = match folder.to_str() {
            None | Some("") => ".",
            Some(folder) => folder,
        };
        Ok(self.writable(folder)?.join(name))
    }

    /// Formats `path` on one line, relative inside the workspace, without control characters.
    pub fn display(&self, path: &Path) -> String {
        sanitize_line(&display_relative(&self.workspace, path)).into_owned()
    }
}

fn path_error(error: &PathError) -> ToolError {
    if matches!(error, PathError::Root { .. }) {
        // No other arguments would help: the workspace itself is gone.
        return ToolError::Terminal(error.to_string());
    }
    ToolError::Misuse(error.to_string())
}
