//! What a folder says about itself in `.co`, and what of it the person trusted.
//!
//! Trust is in a folder's content: the list of trusted folders is a setting of the person's, and beside their settings
//! lies what those folders said when they were trusted. What says something else by now (a pull, another program) does not
//! count until it was looked at. Used by the loader, and by `app`, which shows differences and writes the record.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::load::user_file;
use crate::stdx::fs::{create_private_dir, write_private};

/// The files of a folder that say something about `co`.
pub const PROJECT_FILES: [&str; 3] = [".co/config.toml", ".co/rules.toml", ".co/hooks.toml"];

/// The largest of them that is read, in bytes.
pub const LARGEST: u64 = 256 * 1024;

/// Where it is kept what was trusted, beside the person's settings.
const RECORD: &str = "trusted.json";

/// The texts of the files that exist, by their names in [`PROJECT_FILES`].
pub type Contents = BTreeMap<String, String>;

/// A file's text; `None` where there is none. Errs for what is no regular file, is too large, or is no UTF-8: whoever made
/// the folder may have put anything there.
pub fn read_bounded(path: &Path) -> io::Result<Option<String>> {
    // A pipe would wait for a writer.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} kB", LARGEST / 1024)));
    }
    Ok(Some(text))
}

/// What stands for a text that cannot be read; no text that was trusted begins so.
const UNREADABLE: char = '\0';

/// Whether what a folder says is what it said when the person trusted it, all of it readable.
pub fn is_as_trusted(contents: &Contents, trusted: &Contents) -> bool {
    contents == trusted && is_readable(contents)
}

/// Whether the person can be shown all of what a folder says.
pub fn is_readable(contents: &Contents) -> bool {
    contents.values().all(|text| is_readable_text(text))
}

/// Whether a text of a file is what the file says, and not why it cannot be read.
pub fn is_readable_text(text: &str) -> bool {
    !text.starts_with(UNREADABLE)
}

/// Whether a list of folders names one, perhaps through a link.
pub fn names_folder(list: &[PathBuf], folder: &Path) -> bool {
    list.iter().any(|one| one == folder || one.canonicalize().is_ok_and(|one| one == folder))
}

/// What a folder says now. What cannot be read is given as a problem, and as a content that nobody can trust.
pub fn contents_of(folder: &Path) -> (Contents, Vec<String>) {
    let (mut contents, mut problems) = (Contents::new(), Vec::new());
    for name in PROJECT_FILES {
        match read_bounded(&folder.join(name)) {
            Ok(None) => {}
            Ok(Some(text)) => drop(contents.insert(name.to_owned(), text)),
            Err(error) => {
                problems.push(format!("{name}: {error}"));
                contents.insert(name.to_owned(), format!("{UNREADABLE}{error}"));
            }
        }
    }
    (contents, problems)
}

/// What the person trusted, by folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRecord {
    path: Option<PathBuf>,
    folders: BTreeMap<PathBuf, Contents>,
}

impl TrustRecord {
    /// The record beside the settings that this environment names. A damaged one trusts nothing.
    pub fn of(env: &BTreeMap<String, String>) -> Self {
        let path = user_file(env).and_then(|file| Some(file.parent()?.join(RECORD)));
        let text = path.as_deref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        Self { path, folders: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// What a folder said when it was trusted; `None` where that is not known.
    pub fn contents(&self, folder: &Path) -> Option<Contents> {
        self.folders.get(folder).cloned()
    }

    /// Whether a folder of the list is trusted with what it says now. It is about the folder itself: what lies below may
    /// be anybody's.
    pub fn trusts(&self, list: &[PathBuf], folder: &Path) -> bool {
        names_folder(list, folder)
            && is_as_trusted(&contents_of(folder).0, &self.contents(folder).unwrap_or_default())
    }

    /// Keeps what a folder says; `None` forgets it.
    pub fn keep(&mut self, folder: &Path, contents: Option<Contents>) -> io::Result<()> {
        match contents {
            Some(contents) => drop(self.folders.insert(folder.to_owned(), contents)),
            None => drop(self.folders.remove(folder)),
        }
        let Some(path) = &self.path else { return Ok(()) };
        if let Some(parent) = path.parent() {
            create_private_dir(parent)?;
        }
        write_private(path, &serde_json::to_vec(&self.folders)?)
    }
}
