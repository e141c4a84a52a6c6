//! Which paths a tool may touch, and how they are named to model and person.
//!
//! Reads reach the workspace and the spill folder, writes the workspace only; links and `..` are resolved before the
//! question is asked. Blocking: it looks at links. Called by every file tool, at planning and again when running.

use std::path::{Path, PathBuf};

use crate::stdx::paths::{PathError, confine, display_relative};
use crate::stdx::text::sanitize_line;
use crate::tool::ToolError;

/// The two folders of a call; both absolute.
#[derive(Debug, Clone)]
pub struct Place {
    pub workspace: PathBuf,
    pub spill: PathBuf,
}

impl Place {
    /// The real path of `given`, if it may be read.
    pub fn readable(&self, given: &str) -> Result<PathBuf, ToolError> {
        match confine(&self.workspace, given) {
            Err(error @ PathError::Outside { .. }) if Path::new(given).is_absolute() => {
                confine(&self.spill, given).map_err(|_| refused(&error))
            }
            Err(error) => Err(refused(&error)),
            Ok(path) => Ok(path),
        }
    }

    /// The real path of `given`, if it may be written.
    pub fn writable(&self, given: &str) -> Result<PathBuf, ToolError> {
        confine(&self.workspace, given).map_err(|error| refused(&error))
    }

    /// `path` on one line, relative inside the workspace, without control characters.
    pub fn shown(&self, path: &Path) -> String {
        sanitize_line(&display_relative(&self.workspace, path)).into_owned()
    }
}

fn refused(error: &PathError) -> ToolError {
    match error {
        // No other arguments would help: the workspace itself is gone.
        PathError::Root { .. } => ToolError::Terminal { message: error.to_string() },
        PathError::Empty { .. }
        | PathError::Nul { .. }
        | PathError::Tilde { .. }
        | PathError::Outside { .. }
        | PathError::ThroughFile { .. }
        | PathError::TooManyLinks { .. }
        | PathError::Lookup { .. } => ToolError::Misuse { hint: error.to_string() },
    }
}
