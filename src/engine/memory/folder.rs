//! The files of memories in one folder: names, contents, and changes that overwrite nothing by accident.
//!
//! Everything goes by descriptors and through no link, so that nothing outside of the folder is read or written. Changes are
//! made under a lock, which is on the folder itself; a number is never given twice. Blocking.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::{FileType, Stat};

use super::MemoryError;
use super::entry::{EntryError, LARGEST, LARGEST_NUMBER, Memory, file_name, number_of};
use crate::config::PROJECT_MEMORIES;
use crate::stdx::beneath::BaseFolder;
use crate::stdx::fs::{create_private_dir, fingerprint, if_exists};
use crate::stdx::names::names;

/// The folder of memories below a folder of knowledge.
pub const MEMORIES: &str = "memories";

/// The number that was given last.
const LAST: &str = ".last-id";

/// Whose folder it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryScope {
    User,
    Project,
}

names! { MemoryScope, word { User = "your memories", Project = "this project's memories", } }

/// A folder of memories. It may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub scope: MemoryScope,
    /// Absolute; links on the way to it are followed.
    base: PathBuf,
    /// Below it, through no link; empty if it is the base.
    inner: PathBuf,
}

/// The stamp by which a changed file is detected: time in nanoseconds, size, inode number.
pub type Stamp = (i64, i64, i64);

/// A file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundFile {
    pub name: String,
    pub stamp: Stamp,
    /// The fingerprint of its bytes; empty if they were not read.
    pub version: String,
    pub memory: Result<Memory, EntryProblem>,
}

/// Why a file of the folder does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    #[error(transparent)]
    Entry(#[from] EntryError),
    #[error("it is a link; memories are files of the folder itself")]
    Link,
    #[error("it is not a regular file")]
    NoFile,
    #[error("it cannot be read: {0}")]
    Io(String),
}

impl Folder {
    /// Returns the user's folder, in their folder of knowledge.
    #[must_use]
    pub fn of_user(knowledge: &Path) -> Self {
        Self { scope: MemoryScope::User, base: knowledge.join(MEMORIES), inner: PathBuf::new() }
    }

    /// Returns the folders of a project; new memories go to the first.
    #[must_use]
    pub fn of_project(project: &Path) -> [Self; 2] {
        PROJECT_MEMORIES.map(|inner| Self {
            scope: MemoryScope::Project,
            base: project.to_owned(),
            inner: inner.into(),
        })
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.inner)
    }

    /// Returns the name of a file relative to the project; the bare name in the user's folder.
    pub(super) fn relative(&self, name: &str) -> String {
        self.inner.join(name).display().to_string()
    }

    /// Opens it; `None` if it is missing.
    fn open(&self) -> io::Result<Option<BaseFolder>> {
        let opened = BaseFolder::open(&self.base).and_then(|base| match self.inner.as_os_str().is_empty() {
            true => Ok(base),
            false => base.inside(&self.inner),
        });
        if_exists(opened)
    }

    /// Opens it to change it, and creates it before. Errs with what to do.
    fn open_to_change(&self) -> Result<(BaseFolder, File), MemoryError> {
        let failed = |why: io::Error| self.memory_error(None, why);
        let open = || -> io::Result<BaseFolder> {
            if let Some(folder) = self.open()? {
                return Ok(folder);
            }
            match self.inner.as_os_str().is_empty() {
                true => create_private_dir(&self.base)?,
                false => BaseFolder::open(&self.base)?.make_folder(&self.inner)?,
            }
            self.open()?.ok_or_else(|| io::ErrorKind::NotFound.into())
        };
        let folder = open().map_err(failed)?;
        let lock = folder.lock().map_err(failed)?;
        Ok((folder, lock))
    }

    fn memory_error(&self, name: Option<&str>, why: io::Error) -> MemoryError {
        let path = name.map_or_else(|| self.path(), |name| self.path().join(name));
        MemoryError::Io { path, why }
    }

    /// Returns the names of memories with their stamps, sorted by number; at most `limit` of them, in that case of any. None if
    /// the folder is missing.
    pub fn names(&self, limit: usize) -> Result<Vec<(String, Stamp)>, MemoryError> {
        let failed = |why| self.memory_error(None, why);
        let Some(folder) = self.open().map_err(failed)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for name in folder.all_names().map_err(failed)? {
            if found.len() == limit {
                break;
            }
            let Some(name) = is_memory(&name) else { continue };
            // One that is gone by now is none.
            if let Ok(Some(stat)) = folder.look(Path::new(name)) {
                found.push((name.to_owned(), stamp(&stat)));
            }
        }
        found.sort_by_cached_key(|(name, _)| (number_of(name), name.clone()));
        Ok(found)
    }

    /// Reads a file of it; `None` if it is missing.
    pub fn read(&self, name: &str) -> Result<Option<FoundFile>, MemoryError> {
        let failed = |why| self.memory_error(Some(name), why);
        let Some(folder) = self.open().map_err(failed)? else { return Ok(None) };
        read_in(&folder, name).map_err(failed)
    }

    /// Creates the file of a memory whose number is greater than `known` and any that was given before; returns its name.
    pub fn create(&self, mut memory: Memory, known: u64) -> Result<(String, Memory), MemoryError> {
        let failed = |why| self.memory_error(None, why);
        let (folder, _lock) = self.open_to_change()?;
        let names = folder.all_names().map_err(failed)?;
        let highest = names.iter().filter_map(|name| number_of(is_memory(name)?)).max().unwrap_or(0);
        memory.number = highest.max(known).max(last_given(&folder)) + 1;
        let name = file_name(memory.number, &memory.text);
        folder.write(Path::new(LAST), memory.number.to_string().as_bytes(), 0o600).map_err(failed)?;
        folder.write(Path::new(&name), memory.file_text().as_bytes(), 0o600).map_err(failed)?;
        Ok((name, memory))
    }

    /// Whether this number was given to a memory of the folder, deleted or not.
    pub fn has_given(&self, number: u64) -> bool {
        matches!(self.open(), Ok(Some(folder)) if last_given(&folder) >= number)
    }

    /// Replaces a file that is still of this version. Errs without a change if it was changed or deleted since.
    pub fn replace(&self, name: &str, version: &str, memory: &Memory) -> Result<(), MemoryError> {
        let (folder, _lock) = self.open_unchanged(name, version)?;
        let written = folder.write(Path::new(name), memory.file_text().as_bytes(), 0o600);
        written.map_err(|why| self.memory_error(Some(name), why))
    }

    /// Deletes a file that is still of this version, in the same way.
    pub fn delete(&self, name: &str, version: &str) -> Result<(), MemoryError> {
        let (folder, _lock) = self.open_unchanged(name, version)?;
        folder.remove_file(Path::new(name)).map_err(|why| self.memory_error(Some(name), why))
    }

    fn open_unchanged(&self, name: &str, version: &str) -> Result<(BaseFolder, File), MemoryError> {
        let (folder, lock) = self.open_to_change()?;
        let found = read_in(&folder, name).map_err(|why| self.memory_error(Some(name), why))?;
        match found {
            Some(found) if found.version == version => {
                // A number that was deleted is not given again, even if it was the highest.
                let number = found.memory.map_or(0, |memory| memory.number);
                if number > last_given(&folder) {
                    let noted = folder.write(Path::new(LAST), number.to_string().as_bytes(), 0o600);
                    noted.map_err(|why| self.memory_error(None, why))?;
                }
                Ok((folder, lock))
            }
            Some(_) | None => Err(MemoryError::Changed { path: self.path().join(name) }),
        }
    }
}

/// Returns a file's name if it may be a memory.
fn is_memory(name: &OsStr) -> Option<&str> {
    name.to_str().filter(|name| name.ends_with(".md") && !name.starts_with('.'))
}

fn last_given(folder: &BaseFolder) -> u64 {
    let mut text = String::new();
    let read = folder.file(Path::new(LAST)).and_then(|file| file.take(32).read_to_string(&mut text));
    // Without it, the numbers of the files count.
    read.ok().and_then(|_| text.trim().parse().ok()).unwrap_or(0).min(LARGEST_NUMBER)
}

fn stamp(stat: &Stat) -> Stamp {
    let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    let number = stat.st_ino.cast_signed();
    (stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanoseconds), stat.st_size, number)
}

fn read_in(folder: &BaseFolder, name: &str) -> io::Result<Option<FoundFile>> {
    let Some(stat) = folder.look(Path::new(name))? else { return Ok(None) };
    let stamp = stamp(&stat);
    let problem = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => Some(EntryProblem::Link),
        FileType::RegularFile if stat.st_size > LARGEST as i64 => Some(EntryError::TooLarge.into()),
        FileType::RegularFile => None,
        _ => Some(EntryProblem::NoFile),
    };
    let found = |version, memory| Some(FoundFile { name: name.to_owned(), stamp, version, memory });
    if let Some(problem) = problem {
        return Ok(found(String::new(), Err(problem)));
    }
    let mut bytes = Vec::new();
    let read =
        folder.file(Path::new(name)).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    match if_exists(read) {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(None),
        Err(error) => return Ok(found(String::new(), Err(EntryProblem::Io(error.to_string())))),
    }
    let modified = Timestamp::from_second(stat.st_mtime).unwrap_or(Timestamp::UNIX_EPOCH);
    let memory = Memory::read(&bytes, name, modified).map_err(EntryProblem::from);
    Ok(found(fingerprint(&bytes), memory))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;
    use crate::message::Authorship;

    fn memory(text: &str) -> Memory {
        Memory {
            number: 0,
            text: text.to_owned(),
            tags: Vec::new(),
            category: None,
            created: Timestamp::UNIX_EPOCH,
            updated: None,
            expires: None,
            authorship: Authorship::Said,
            session: None,
            call: None,
            is_protected: false,
            other: serde_json::Map::new(),
        }
    }

    #[test]
    fn numbers_are_given_once_and_files_are_the_owners() {
        let dir = tempfile::tempdir().unwrap();
        let [folder, _] = Folder::of_project(dir.path());
        assert!(folder.names(10).unwrap().is_empty(), "nothing is created by looking");
        let create = |text: &str| folder.create(memory(text), 0).unwrap().0;
        assert_eq!([create("One"), create("Two")], ["001-one.md", "002-two.md"]);
        let version = folder.read("002-two.md").unwrap().unwrap().version;
        folder.delete("002-two.md", &version).unwrap();
        assert_eq!(create("Three"), "003-three.md");
        assert_eq!(folder.create(memory("Ten"), 9).unwrap().0, "010-ten.md");
        let mode = std::fs::metadata(folder.path().join("001-one.md")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        // One that was written by hand and deleted counts too.
        std::fs::write(folder.path().join("020-x.md"), "by hand").unwrap();
        let version = folder.read("020-x.md").unwrap().unwrap().version;
        folder.delete("020-x.md", &version).unwrap();
        assert_eq!(create("More"), "021-more.md");
    }

    #[test]
    fn saves_at_once_get_different_numbers() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::of_user(dir.path());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let folder = &folder;
                scope.spawn(move || {
                    for number in 0..10 {
                        folder.create(memory(&format!("{thread} {number}")), 0).unwrap();
                    }
                });
            }
        });
        let names = folder.names(100).unwrap();
        let mut numbers: Vec<u64> = names.iter().filter_map(|(name, _)| number_of(name)).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
    }

    #[test]
    fn a_file_that_was_changed_by_hand_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::of_user(dir.path());
        let (name, saved) = folder.create(memory("Old"), 0).unwrap();
        let version = folder.read(&name).unwrap().unwrap().version;
        let by_hand = saved.file_text().replace("Old", "By hand");
        std::fs::write(folder.path().join(&name), &by_hand).unwrap();
        for done in [folder.replace(&name, &version, &memory("New")), folder.delete(&name, &version)] {
            assert!(matches!(done, Err(MemoryError::Changed { .. })), "{done:?}");
        }
        assert_eq!(std::fs::read_to_string(folder.path().join(&name)).unwrap(), by_hand);
    }

    #[test]
    fn links_and_what_is_no_file_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside.md");
        std::fs::write(&outside, "---\nid: 1\n---\nsecret").unwrap();
        let folder = Folder::of_user(&dir.path().join("k"));
        std::fs::create_dir_all(folder.path().join("3.md")).unwrap();
        symlink(&outside, folder.path().join("1.md")).unwrap();
        std::fs::write(folder.path().join("4.md"), vec![b'x'; 10 * 1024 * 1024]).unwrap();
        let problem = |name: &str| folder.read(name).unwrap().unwrap().memory.unwrap_err();
        assert_eq!(problem("1.md"), EntryProblem::Link);
        assert_eq!(problem("3.md"), EntryProblem::NoFile);
        assert_eq!(problem("4.md"), EntryProblem::Entry(EntryError::TooLarge));
        // A project's folder that is a link leads nowhere.
        let project = dir.path().join("project");
        std::fs::create_dir_all(project.join(".co")).unwrap();
        symlink(dir.path().join("k"), project.join(".co/knowledge")).unwrap();
        let [linked, _] = Folder::of_project(&project);
        assert!(linked.names(10).is_err() && linked.create(memory("x"), 0).is_err());
        assert_eq!(std::fs::read_to_string(outside).unwrap(), "---\nid: 1\n---\nsecret");
    }

    #[test]
    fn a_folder_that_cannot_be_written_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::of_user(dir.path());
        std::fs::create_dir(folder.path()).unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o500)).unwrap();
        // Root may write everywhere.
        if !rustix::process::geteuid().is_root() {
            let error = folder.create(memory("x"), 0).unwrap_err().to_string();
            assert!(error.contains("memories"), "{error}");
        }
        std::fs::write(dir.path().join("file"), "x").unwrap();
        let folder = Folder::of_user(&dir.path().join("file"));
        assert!(matches!(folder.create(memory("x"), 0), Err(MemoryError::Io { .. })));
    }
}
