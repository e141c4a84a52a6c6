//! Trust in a folder's files: those of `.co`, the texts for the model and the commands; their current content, and the
//! content that the user trusted.
//!
//! Trust is bound to content: the list of trusted folders is a setting of the user, and a record beside the
//! settings keeps the files' content when they were trusted. Content that has changed since (by a pull, by
//! another program) is ignored until the user has looked at it. Used by the loader, and by `app`, which shows
//! differences and writes the record.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::places::user_file;
use super::texts::{
    INSTRUCTIONS, PROJECT_COMMANDS, PROJECT_KNOWLEDGE, markdown_below, read_bounded, read_inside,
};
use crate::stdx::beneath::BaseFolder;
use crate::stdx::fs::{lock_private, write_private};
use crate::stdx::paths::{PathError, confine};
use crate::stdx::text::binary_size;

/// Whether the user trusts what the folder in which `co` works brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FolderTrust {
    #[default]
    Untrusted,
    Trusted,
}

/// The files in a folder that configure `co`.
pub const PROJECT_FILES: [&str; 3] = [".co/config.toml", ".co/rules.toml", ".co/hooks.toml"];

/// The folders in it that hold memories, which count like those files. Those of the second are of seed 004.
pub const PROJECT_MEMORIES: [&str; 2] = [".co/knowledge/memories", ".co-cli/knowledge/memories"];

/// Files of memories that can be trusted, and their size in bytes, all together.
const MOST_MEMORIES: usize = 1_000;
const MOST_OF_MEMORIES: usize = 4 * 1024 * 1024;

/// File name of the record of trusted content, beside the user's settings.
const RECORD: &str = "trusted.json";

/// The texts of existing files, by their paths in the folder: those of [`PROJECT_FILES`], memories, and texts for the model.
pub type Contents = BTreeMap<String, String>;

/// Marks the content of a file that cannot be read; no trusted text begins with it.
const UNREADABLE: char = '\0';

/// Whether the current content is the trusted one, and all of it is readable.
pub fn is_as_trusted(contents: &Contents, trusted: &Contents) -> bool {
    contents == trusted && is_readable(contents)
}

/// Whether all files are readable, so that the user can be shown all of them.
pub fn is_readable(contents: &Contents) -> bool {
    contents.values().all(|text| is_readable_text(text))
}

/// Whether a text is a file's content, and not the reason why it cannot be read.
pub fn is_readable_text(text: &str) -> bool {
    !text.starts_with(UNREADABLE)
}

/// Whether a list of folders contains a folder, directly or through a link.
pub fn names_folder(list: &[PathBuf], folder: &Path) -> bool {
    list.iter().any(|one| one == folder || one.canonicalize().is_ok_and(|one| one == folder))
}

/// Returns the current content of a folder's files, and what is wrong with them. A file that configures `co` and is
/// unreadable gets a content that is never trusted; a text that is unreadable counts as missing, because it is never used.
pub fn contents_of(folder: &Path) -> (Contents, Vec<String>) {
    let (mut contents, mut problems) = (Contents::new(), Vec::new());
    let mut unreadable = |contents: &mut Contents, name: &str, why: String| {
        problems.push(format!("{name}: {why}"));
        contents.insert(name.to_owned(), format!("{UNREADABLE}{why}"));
    };
    let (memories, too_many) = memory_files(folder);
    if let Some((name, why)) = too_many {
        unreadable(&mut contents, name, why);
    }
    let mut room = MOST_OF_MEMORIES;
    for name in PROJECT_FILES.map(str::to_owned).into_iter().chain(memories) {
        let is_memory = !PROJECT_FILES.contains(&name.as_str());
        match read_bounded(&folder.join(&name)) {
            Ok(None) => {}
            Ok(Some(text)) if is_memory && text.len() > room => {
                let why = format!(
                    "the memories of the folder are larger than {} in all",
                    binary_size(MOST_OF_MEMORIES)
                );
                unreadable(&mut contents, &name, why);
                break;
            }
            Ok(Some(text)) => {
                room -= if is_memory { text.len() } else { 0 };
                contents.insert(name, text);
            }
            Err(error) => unreadable(&mut contents, &name, error.to_string()),
        }
    }
    let mut texts: Vec<String> =
        PROJECT_KNOWLEDGE.iter().chain(&INSTRUCTIONS).map(|&name| name.to_owned()).collect();
    for commands in PROJECT_COMMANDS {
        match confine(folder, commands) {
            Ok(root) => {
                let (names, problem) = markdown_below(&root);
                texts.extend(names.into_iter().map(|name| format!("{commands}/{name}")));
                problems.extend(problem.map(|problem| format!("{commands}: {problem}")));
            }
            Err(PathError::Outside { .. }) => {
                problems.push(format!("{commands}: it is a link that leads out of the folder"));
            }
            // Then there are none.
            Err(_) => {}
        }
    }
    for name in texts {
        match read_inside(folder, &name) {
            Ok(None) => {}
            Ok(Some(text)) => drop(contents.insert(name, text)),
            Err(error) => problems.push(format!("{name}: {error}")),
        }
    }
    (contents, problems)
}

/// Returns the paths of a folder's memories, sorted; and the folder that has too many of them, with the reason. None that
/// are reached through a link, which are no memories.
fn memory_files(folder: &Path) -> (Vec<String>, Option<(&'static str, String)>) {
    let mut found = Vec::new();
    for name in PROJECT_MEMORIES {
        let opened = BaseFolder::open(folder).and_then(|base| base.inside(Path::new(name))?.all_names());
        let names = opened.unwrap_or_default();
        let names = names
            .iter()
            .filter_map(|one| one.to_str())
            .filter(|one| one.ends_with(".md") && !one.starts_with('.'));
        found.extend(names.map(|one| format!("{name}/{one}")).filter(|path| !folder.join(path).is_symlink()));
        if found.len() > MOST_MEMORIES {
            let why = format!("it has more than {MOST_MEMORIES} memories; keep some with your own");
            return (Vec::new(), Some((name, why)));
        }
    }
    found.sort_unstable();
    (found, None)
}

/// Says why a folder cannot have a memory more, or one that grows by so many bytes: all of them could not be trusted any more.
/// Blocking.
pub fn no_room_for_memory(folder: &Path, is_new: bool, bytes: usize) -> Option<String> {
    let (files, too_many) = memory_files(folder);
    let advice = "forget some of them, or keep it with your own";
    if too_many.is_some() || files.len() + usize::from(is_new) > MOST_MEMORIES {
        return Some(format!("a project has at most {MOST_MEMORIES} memories; {advice}"));
    }
    let sizes = files.iter().filter_map(|name| folder.join(name).metadata().ok()).map(|file| file.len());
    let is_too_large = sizes.sum::<u64>().saturating_add(bytes as u64) > MOST_OF_MEMORIES as u64;
    is_too_large.then(|| {
        format!("the memories of a project have at most {} in all; {advice}", binary_size(MOST_OF_MEMORIES))
    })
}

/// Returns the names of the files that differ between two contents, sorted.
pub fn changed_names<'a>(before: &'a Contents, now: &'a Contents) -> Vec<&'a str> {
    let names: BTreeSet<&str> = before.keys().chain(now.keys()).map(String::as_str).collect();
    names.into_iter().filter(|name| before.get(*name) != now.get(*name)).collect()
}

/// The contents that the user trusted, by folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustRecord {
    path: Option<PathBuf>,
    folders: BTreeMap<PathBuf, Contents>,
}

impl TrustRecord {
    /// Reads the record beside the settings that this environment names. A damaged record trusts nothing.
    pub fn of(env: &BTreeMap<String, String>) -> Self {
        let path = user_file(env).and_then(|file| Some(file.parent()?.join(RECORD)));
        let text = path.as_deref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        Self { path, folders: serde_json::from_str(&text).unwrap_or_default() }
    }

    /// The folder's content when it was trusted; `None` if unknown.
    pub fn contents(&self, folder: &Path) -> Option<Contents> {
        self.folders.get(folder).cloned()
    }

    /// Returns the content of a folder of the list that is trusted with its current content, and what is wrong with other
    /// files there; `None` for any other folder. This covers only the folder itself, because folders below it may be from
    /// anyone.
    pub fn trusted_contents(&self, list: &[PathBuf], folder: &Path) -> Option<(Contents, Vec<String>)> {
        if !names_folder(list, folder) {
            return None;
        }
        let (contents, problems) = contents_of(folder);
        is_as_trusted(&contents, &self.contents(folder).unwrap_or_default()).then_some((contents, problems))
    }

    /// Changes the trusted content of a folder: `change` gets that of now, and what it returns is saved; `None` is none. Under a
    /// lock, so that no change of another process is lost. Blocking.
    pub fn change(
        env: &BTreeMap<String, String>,
        folder: &Path,
        change: impl FnOnce(Option<Contents>) -> Option<Contents>,
    ) -> io::Result<()> {
        let Some(path) = Self::of(env).path else { return Ok(()) };
        let _lock = lock_private(&path.with_extension("lock"))?;
        let mut folders = Self::of(env).folders;
        let before = folders.remove(folder);
        folders.extend(change(before).map(|contents| (folder.to_owned(), contents)));
        write_private(&path, &serde_json::to_vec(&folders)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_several_processes_are_all_kept() {
        let home = tempfile::tempdir().unwrap();
        let env: BTreeMap<String, String> = [("HOME".to_owned(), home.path().display().to_string())].into();
        // Each opens the lock anew, as another process does.
        std::thread::scope(|scope| {
            for number in 0..8 {
                let env = &env;
                scope.spawn(move || {
                    for file in 0..10 {
                        TrustRecord::change(env, Path::new(&format!("/p{}", number % 4)), |contents| {
                            let mut contents = contents.unwrap_or_default();
                            contents.insert(format!("{number}-{file}"), "x".to_owned());
                            Some(contents)
                        })
                        .unwrap();
                    }
                });
            }
        });
        let record = TrustRecord::of(&env);
        for number in 0..4 {
            assert_eq!(record.contents(Path::new(&format!("/p{number}"))).unwrap().len(), 20, "{number}");
        }
        TrustRecord::change(&env, Path::new("/p0"), |_| None).unwrap();
        assert_eq!(TrustRecord::of(&env).contents(Path::new("/p0")), None);
    }
}
