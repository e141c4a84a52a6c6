//! The current state of a file: found, read within bounds, identified by a version, and compared with what
//! the model saw.
//!
//! Blocking. Called by the tools that read and change files.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use super::place::ToolPath;
use super::work::{misuse, terminal};
use crate::stdx::fs::{fingerprint, if_exists};
use crate::stdx::text::{binary_size, nearest, sanitize_line};
use crate::tool::{Resource, SeenVersions, ToolError, Version};

/// The largest file, in bytes, that is held in memory to be changed.
pub const MAX_CHANGED: u64 = 8 * 1024 * 1024;

/// The current state of a file that is to be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Present {
    Absent,
    File { bytes: Vec<u8>, version: Version },
}

impl Present {
    pub fn version(&self) -> Version {
        match self {
            Self::Absent => Version("absent".to_owned()),
            Self::File { version, .. } => version.clone(),
        }
    }
}

pub fn resource(path: &Path) -> Resource {
    Resource(path.display().to_string())
}

pub fn version(bytes: &[u8]) -> Version {
    Version(fingerprint(bytes))
}

/// Reads the file at `path`. Errs if it is not a regular file, or is too large to be changed here.
pub fn present(place: &ToolPath, path: &Path) -> Result<Present, ToolError> {
    let shown = &place.display(path);
    let file = if_exists(place.open(path)).map_err(|error| unreadable(shown, &error))?;
    let Some(mut file) = file else { return Ok(Present::Absent) };
    let metadata = file.metadata().map_err(|error| unreadable(shown, &error))?;
    check_regular(&metadata, shown)?;
    if metadata.len() > MAX_CHANGED {
        return Err(misuse(format!(
            "{shown} has {} bytes; files above {} are changed with a command, not with this tool",
            metadata.len(),
            binary_size(MAX_CHANGED)
        )));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| unreadable(shown, &error))?;
    Ok(Present::File { version: version(&bytes), bytes })
}

/// Checks that `metadata` is that of a regular file: not a folder, and nothing that could block a reader.
pub fn check_regular(metadata: &Metadata, shown: &str) -> Result<(), ToolError> {
    if metadata.is_dir() {
        return Err(misuse(format!("{shown} is a folder; list_dir shows what is in it")));
    }
    if !metadata.is_file() {
        return Err(not_regular(shown));
    }
    Ok(())
}

/// Checks that the model saw the file's current version. A nonexistent file passes.
pub fn check_seen(seen: &SeenVersions, path: &Path, present: &Present, shown: &str) -> Result<(), ToolError> {
    let Present::File { version, .. } = present else { return Ok(()) };
    match seen.get(&resource(path)) {
        Some(known) if known == version => Ok(()),
        Some(_) => {
            Err(misuse(format!("{shown} changed since it was last read; read it again with read_file")))
        }
        None => Err(misuse(format!("{shown} exists and was not read yet; read it with read_file first"))),
    }
}

/// Returns the error for a nonexistent file; it suggests the most similar name in the same folder, if any.
pub fn not_found(path: &Path, shown: &str) -> ToolError {
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = path.parent().map(fs::read_dir);
    let names: Vec<OsString> = match folder {
        Some(Ok(entries)) => entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect(),
        Some(Err(_)) | None => Vec::new(),
    };
    if names.iter().any(|name| name.to_str().is_none() && name.to_string_lossy() == wanted) {
        return misuse(format!(
            "there is no {shown}; a name beside it is not UTF-8 and only looks like it: rename it with a command"
        ));
    }
    let mut names: Vec<&str> = names.iter().filter_map(|name| name.to_str()).collect();
    names.sort_unstable();
    match nearest(&wanted, names) {
        Some(near) => {
            misuse(format!("there is no {shown}; did you mean `{}` beside it?", sanitize_line(near)))
        }
        None => misuse(format!("there is no {shown}; find_files or list_dir show what there is")),
    }
}

fn not_regular(shown: &str) -> ToolError {
    misuse(format!("{shown} is not a regular file (a pipe, a socket or a device)"))
}

pub fn unreadable(shown: &str, error: &io::Error) -> ToolError {
    // Sockets and some devices cannot even be opened.
    if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::NXIO) {
        return not_regular(shown);
    }
    terminal(format!("{shown} cannot be read: {error}"))
}
