//! The built-in tools, one file each, and their shared code.
//!
//! A tool accesses only the workspace, the spill folder (to read it back) and, in `shell`, the given sandbox.
//! It never asks the user, never prints and cannot access the session. Built by the composition root.

mod edit_file;

mod find_files;

mod list_dir;

mod read_file;

mod search_text;

mod shell;

mod write_file;

mod args;

mod files;

mod output;

mod place;

mod walk;

mod work;

use std::sync::Arc;
use std::time::Duration;

use crate::sandbox::Sandbox;
use crate::tool::Tool;

pub use edit_file::EditFile;
pub use find_files::FindFiles;
pub use list_dir::ListDir;
pub use read_file::ReadFile;
pub use search_text::SearchText;
pub use shell::Shell;
pub use write_file::WriteFile;

/// The user's settings for the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltinOptions {
    /// How long a command may run if the model requests no other time.
    pub shell_timeout: Duration,
    /// The longest time that the model may request.
    pub shell_max_timeout: Duration,
    /// The whole environment of commands: [`crate::sandbox::env::child_env`].
    pub env: Vec<(String, String)>,
    /// The maximum number of output bytes sent to the model per call.
    pub output_limit: usize,
}

/// Returns all tools, in the order in which they are listed.
#[must_use]
pub fn all(sandbox: Arc<dyn Sandbox>, options: BuiltinOptions) -> Vec<Arc<dyn Tool>> {
    let limit = options.output_limit;
    vec![
        Arc::new(ReadFile::new(limit)),
        Arc::new(ListDir::new(limit)),
        Arc::new(FindFiles::new(limit)),
        Arc::new(SearchText::new(limit)),
        Arc::new(WriteFile::new(limit)),
        Arc::new(EditFile::new(limit)),
        Arc::new(Shell::new(sandbox, options)),
    ]
}

#[cfg(test)]
mod tests;
