//! Writes the user's choice into their settings file: which model answers, and where a server is.
//!
//! Only the keys in question are changed; everything else stays as written, including comments. Never writes
//! a key of a service: those have their own file.

use std::path::{Path, PathBuf};

use toml_edit::value;

use crate::config::{WriteError, edit_settings, settings_section};

/// Sets the model to `service/model`, and the service's address to `base_url`, if given. Blocking.
pub fn write_choice(
    file: Option<&Path>,
    service: &str,
    base_url: Option<&str>,
    model: Option<&str>,
) -> Result<PathBuf, WriteError> {
    edit_settings(file, |document| {
        if let Some(model) = model {
            document.insert("model", value(format!("{service}/{model}")));
            // It would override the model's own provider.
            document.remove("provider");
            document.remove("llm_provider");
        }
        if let Some(url) = base_url {
            settings_section(document, "providers", service)?.insert("base_url", value(url));
        }
        Some(())
    })
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
