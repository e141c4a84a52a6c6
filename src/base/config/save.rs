//! Changes the user's settings file: only the keys in question; everything else stays as written, with its comments.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::stdx::fs::{create_private_dir, if_exists, write_atomic};

/// Why the settings were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("no settings folder, because HOME is not set")]
    NoFile,
    #[error("{} cannot be changed: {reason}", path.display())]
    Io { path: PathBuf, reason: String },
    #[error("{} is not a valid settings file; fix it first", path.display())]
    Damaged { path: PathBuf },
}

/// Reads the file, which may not exist, changes it and writes it; returns its path. `change` returns `None` if something
/// else is where a section must be: then nothing is written. Blocking.
pub fn edit_settings(
    file: Option<&Path>,
    change: impl FnOnce(&mut DocumentMut) -> Option<()>,
) -> Result<PathBuf, WriteError> {
    let path = file.ok_or(WriteError::NoFile)?;
    let io = |error: io::Error| WriteError::Io { path: path.to_path_buf(), reason: error.to_string() };
    let text = if_exists(std::fs::read_to_string(path)).map_err(io)?.unwrap_or_default();
    let damaged = || WriteError::Damaged { path: path.to_path_buf() };
    let mut document: DocumentMut = text.parse().map_err(|_| damaged())?;
    change(&mut document).ok_or_else(damaged)?;
    if document.to_string() == text {
        return Ok(path.to_path_buf());
    }
    if let Some(folder) = path.parent() {
        create_private_dir(folder).map_err(io)?;
    }
    write_atomic(path, document.to_string().as_bytes()).map_err(io)?;
    Ok(path.to_path_buf())
}

/// Returns the section `[outer.inner]`, made if it is missing; `None` if something else is there.
pub fn section<'a>(document: &'a mut DocumentMut, outer: &str, inner: &str) -> Option<&'a mut dyn TableLike> {
    let implicit = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let sections = document.entry(outer).or_insert_with(implicit).as_table_like_mut()?;
    sections.entry(inner).or_insert_with(|| Item::Table(Table::new())).as_table_like_mut()
}
