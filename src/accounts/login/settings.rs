//! Writes the user's choice into their settings file: which model answers, and where a server is.
//!
//! Only the keys in question are changed; everything else stays as written, including comments. Never writes
//! a key of a service: those have their own file.

use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, value};

use crate::stdx::fs::{create_private_dir, write_atomic};

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

/// Sets the model to `service/model`, and the service's address to `base_url`, if given. Blocking.
pub fn write_choice(
    file: Option<&Path>,
    service: &str,
    base_url: Option<&str>,
    model: Option<&str>,
) -> Result<PathBuf, WriteError> {
    let path = file.ok_or(WriteError::NoFile)?;
    let io = |error: io::Error| WriteError::Io { path: path.to_path_buf(), reason: error.to_string() };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(io(error)),
    };
    let damaged = || WriteError::Damaged { path: path.to_path_buf() };
    let mut document: DocumentMut = text.parse().map_err(|_| damaged())?;
    if let Some(model) = model {
        document.insert("model", value(format!("{service}/{model}")));
        // It would override the model's own provider.
        document.remove("provider");
        document.remove("llm_provider");
    }
    if let Some(url) = base_url {
        let providers = document.entry("providers").or_insert_with(implicit).as_table_like_mut();
        let sections = providers.ok_or_else(damaged)?;
        let section = sections.entry(service).or_insert_with(|| Item::Table(Table::new()));
        section.as_table_like_mut().ok_or_else(damaged)?.insert("base_url", value(url));
    }
    if let Some(folder) = path.parent() {
        create_private_dir(folder).map_err(io)?;
    }
    write_atomic(path, document.to_string().as_bytes()).map_err(io)?;
    Ok(path.to_path_buf())
}

/// Creates a section that is written only through those inside it.
fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_chosen_is_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("co/config.toml");
        let text = || std::fs::read_to_string(&path).unwrap();
        write_choice(Some(&path), "groq", None, Some("llama")).unwrap();
        assert_eq!(text(), "model = \"groq/llama\"\n");
        std::fs::write(&path, "# mine\ntheme = \"dark\" # so\nprovider = \"openai\"\n[shell]\ntimeout = 5\n")
            .unwrap();
        write_choice(Some(&path), "work", Some("https://h/v1"), Some("m")).unwrap();
        let expected = "# mine\ntheme = \"dark\" # so\nmodel = \"work/m\"\n[shell]\ntimeout = 5\n\n\
                        [providers.work]\nbase_url = \"https://h/v1\"\n";
        assert_eq!(text(), expected);
        std::fs::write(&path, "= 5").unwrap();
        assert!(matches!(write_choice(Some(&path), "a", None, Some("b")), Err(WriteError::Damaged { .. })));
        assert!(matches!(write_choice(None, "a", None, None), Err(WriteError::NoFile)));
    }
}
