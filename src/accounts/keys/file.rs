//! The file of keys that `co auth` maintains: `auth/keys.toml` in the data folder.
//!
//! Not beside the settings, because those are often shared or under version control. Private to its owner
//! from its creation, written atomically, rejected if others can read it. Blocking and short.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use toml_edit::{DocumentMut, Item, Value};

use crate::config::Secret;
use crate::stdx::fs::{is_missing, lock_private, write_private};

/// The maximum size that is read, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// The first line of the file.
const HEAD: &str = "# Keys saved by `co auth add`. Only you may read this file; `co` refuses it otherwise.\n";

/// The file of keys, which may not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFile {
    path: PathBuf,
}

/// Why the file must not be used. No text contains any of its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    #[error(
        "other users can read or change {} (mode {mode:03o}), so its keys are not used; run `chmod {} {}`, and \
         consider new keys",
        path.display(), needed, path.display()
    )]
    Exposed { path: PathBuf, mode: u32, needed: &'static str },
    #[error("{} is not owned by you, so its keys are not used; move it away", path.display())]
    NotYours { path: PathBuf },
    #[error("{} cannot be used: {reason}", path.display())]
    Io { path: PathBuf, reason: String },
    #[error("{} is damaged; repair it or move it away, then `co auth add` your keys again", path.display())]
    Damaged { path: PathBuf },
}

impl KeyFile {
    /// Returns the file of a data folder.
    #[must_use]
    pub fn of(data_dir: &Path) -> Self {
        Self { path: data_dir.join("auth/keys.toml") }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns all keys by the name of their service; none if there is no file.
    pub fn read(&self) -> Result<BTreeMap<String, Secret>, KeyFileError> {
        let document: DocumentMut = self.text()?.parse().map_err(|_| self.damage_error())?;
        let mut keys = BTreeMap::new();
        for (name, item) in document.iter() {
            let key =
                item.as_str().filter(|key| !key.trim().is_empty()).ok_or_else(|| self.damage_error())?;
            keys.insert(name.to_owned(), Secret::new(key.trim().to_owned()));
        }
        Ok(keys)
    }

    /// Stores a key; returns whether it replaced one.
    pub fn put(&self, name: &str, key: &Secret) -> Result<bool, KeyFileError> {
        let _locked = self.lock()?;
        let mut keys = self.read()?;
        let replaced = keys.insert(name.to_owned(), key.clone()).is_some();
        self.write(&keys)?;
        Ok(replaced)
    }

    /// Removes a key; returns whether there was one.
    pub fn remove(&self, name: &str) -> Result<bool, KeyFileError> {
        let _locked = self.lock()?;
        let mut keys = self.read()?;
        let there = keys.remove(name).is_some();
        if there {
            self.write(&keys)?;
        }
        Ok(there)
    }

    /// Returns the file's text; an empty one if there is no file. Checks and reads the same opened file, even if its name
    /// changes meanwhile.
    fn text(&self) -> Result<String, KeyFileError> {
        let io = |error: io::Error| self.io(&error);
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&self.path) {
            Err(error) if is_missing(&error) => return Ok(String::new()),
            opened => opened.map_err(io)?,
        };
        let facts = file.metadata().map_err(io)?;
        check_private(&self.path, &facts, "600")?;
        self.check_folder()?;
        if !facts.is_file() {
            return Err(KeyFileError::NotYours { path: self.path.clone() });
        }
        let mut text = String::new();
        match file.take(LONGEST).read_to_string(&mut text) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(self.damage_error()),
            read => read.map(|_| text).map_err(io),
        }
    }

    fn check_folder(&self) -> Result<(), KeyFileError> {
        let folder = self.folder();
        let facts = std::fs::metadata(folder).map_err(|error| self.io(&error))?;
        check_private(folder, &facts, "700")
    }

    /// Takes the lock that serializes changes by all processes.
    fn lock(&self) -> Result<File, KeyFileError> {
        let lock = lock_private(&self.folder().join("lock")).map_err(|error| self.io(&error))?;
        self.check_folder()?;
        Ok(lock)
    }

    fn write(&self, keys: &BTreeMap<String, Secret>) -> Result<(), KeyFileError> {
        let mut document = DocumentMut::new();
        for (name, key) in keys {
            document.insert(name, Item::Value(Value::from(key.expose())));
        }
        let text = format!("{HEAD}{document}");
        write_private(&self.path, text.as_bytes()).map_err(|error| self.io(&error))
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    fn io(&self, error: &io::Error) -> KeyFileError {
        KeyFileError::Io { path: self.path.clone(), reason: error.to_string() }
    }

    fn damage_error(&self) -> KeyFileError {
        KeyFileError::Damaged { path: self.path.clone() }
    }
}

/// Errs if a file or a folder belongs to others, or if they can read it.
fn check_private(path: &Path, facts: &Metadata, needed: &'static str) -> Result<(), KeyFileError> {
    let mode = facts.mode() & 0o777;
    if facts.uid() != rustix::process::geteuid().as_raw() {
        Err(KeyFileError::NotYours { path: path.to_path_buf() })
    } else if mode & 0o077 != 0 {
        Err(KeyFileError::Exposed { path: path.to_path_buf(), mode, needed })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn key(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn keys_are_kept_private_and_in_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::of(dir.path());
        assert!(file.read().unwrap().is_empty());
        assert_eq!(file.put("groq", &key("gsk-1")), Ok(false));
        assert_eq!(file.put("groq", &key("gsk-\"2\\")), Ok(true));
        assert_eq!(file.put("openai", &key("sk-3")), Ok(false));
        assert_eq!((mode(file.path()), mode(file.folder())), (0o600, 0o700));
        let read: Vec<(String, String)> =
            file.read().unwrap().into_iter().map(|(name, key)| (name, key.expose().to_owned())).collect();
        let expected = [("groq", "gsk-\"2\\"), ("openai", "sk-3")];
        assert_eq!(read, expected.map(|(name, key)| (name.to_owned(), key.to_owned())));
        assert_eq!((file.remove("groq"), file.remove("groq")), (Ok(true), Ok(false)));
        let names: Vec<_> =
            fs::read_dir(file.folder()).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "no half-written file is left: {names:?}");
        assert!(fs::read_to_string(file.path()).unwrap().starts_with(HEAD));
    }

    #[test]
    fn what_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = KeyFile::of(dir.path());
        file.put("groq", &key("gsk-hunter2")).unwrap();
        for (path, narrow, wide) in
            [(file.path(), 0o600, 0o640), (file.path(), 0o600, 0o604), (file.folder(), 0o700, 0o755)]
        {
            fs::set_permissions(path, Permissions::from_mode(wide)).unwrap();
            let message = file.read().err().unwrap().to_string();
            assert!(message.contains("chmod") && !message.contains("hunter2"), "{message}");
            assert!(file.put("x", &key("y")).is_err());
            fs::set_permissions(path, Permissions::from_mode(narrow)).unwrap();
        }
        fs::write(file.path(), "groq = [\"hunter2").unwrap();
        assert_eq!(file.read().err(), Some(file.damage_error()));
        fs::write(file.path(), "groq = 5\n").unwrap();
        assert_eq!(file.read().err(), Some(file.damage_error()));
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(file.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file.path()).unwrap();
        assert!(matches!(file.read().err(), Some(KeyFileError::Io { .. })), "a link is not followed");
    }
}
