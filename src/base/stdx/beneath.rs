//! File access below a folder by descriptors: a folder replaced by a link meanwhile cannot lead outside.
//!
//! Every step opens one name below the previously opened folder and follows no link, so a path that was
//! inside when it was checked is inside when it is used. (`openat2` would do the same in one call, but exists
//! only on Linux.) Blocking. Paths are relative to that folder, normalized and without links: callers resolve
//! links first. Called by the file tools.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, Stat, mkdirat, openat, readlinkat, renameat, renameat_with,
    statat, symlinkat, unlinkat,
};
use uuid::Uuid;

use super::fs::{TEMPORARY, if_exists, keep_owner_and_mode};

/// A folder below which paths are resolved.
#[derive(Debug)]
pub struct BaseFolder {
    folder: OwnedFd,
}

/// The mode of a new file, less the umask.
pub const NEW: u32 = 0o666;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl BaseFolder {
    /// Opens `root` itself; links on the way to it are followed.
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self { folder: rustix::fs::open(root, flags, Mode::empty())? })
    }

    /// Opens a folder below this one.
    pub fn inside(&self, relative: &Path) -> io::Result<Self> {
        let (parent, name) = self.parent(relative, MissingFolders::Fail)?;
        Ok(Self { folder: openat(&parent, name, FOLDER, Mode::empty())? })
    }

    /// Waits until no other process holds the folder locked, and locks it until the returned file is dropped.
    pub fn lock(&self) -> io::Result<File> {
        let folder = File::from(openat(&self.folder, ".", FOLDER, Mode::empty())?);
        folder.lock()?;
        Ok(folder)
    }

    /// Opens a file below the folder for reading. It never blocks on anything other than a regular file.
    pub fn file(&self, relative: &Path) -> io::Result<File> {
        let (parent, name) = self.parent(relative, MissingFolders::Fail)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(openat(&parent, name, flags, Mode::empty())?))
    }

    /// Replaces a file below the folder as a whole, or creates it after its missing folders, as
    /// [`super::fs::write_atomic`] does by path. A new one gets at most this mode.
    pub fn write(&self, relative: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let (parent, name) = self.parent(relative, MissingFolders::Make)?;
        let existing = match self.file(relative) {
            Ok(file) => Some(file.metadata()?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // A file that cannot be read may still be writable.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        };
        if let Some(metadata) = &existing {
            check_writable(metadata)?;
        }
        let temporary = format!("{TEMPORARY}{}-{}.tmp", std::process::id(), Uuid::now_v7().simple());
        let mode = Mode::from_raw_mode(if existing.is_some() { 0o600 } else { mode });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&parent, &temporary, flags, mode)?);
        let written = fill(&mut file, bytes, existing.as_ref())
            .and_then(|()| Ok(renameat(&parent, &temporary, &parent, name)?));
        if let Err(error) = written {
            // If this fails, the next cleanup recognizes the file by its name and removes it.
            let _ = unlinkat(&parent, &temporary, AtFlags::empty());
            return Err(error);
        }
        File::from(parent).sync_all()
    }

    /// Returns what is at a path, without following a link there; `None` if nothing is.
    pub fn look(&self, relative: &Path) -> io::Result<Option<Stat>> {
        let parent = self.parent(relative, MissingFolders::Fail);
        if_exists(parent.and_then(|(parent, name)| Ok(statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?)))
    }

    /// Returns the target of a link.
    pub fn link_target(&self, relative: &Path) -> io::Result<Vec<u8>> {
        let (parent, name) = self.parent(relative, MissingFolders::Fail)?;
        Ok(readlinkat(&parent, name, Vec::new())?.into_bytes())
    }

    /// Returns the names in a folder, in no order.
    pub fn names(&self, relative: &Path) -> io::Result<Vec<OsString>> {
        self.inside(relative)?.all_names()
    }

    /// Returns the names in the folder itself, in no order.
    pub fn all_names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::new(openat(&self.folder, ".", FOLDER, Mode::empty())?)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// Creates a folder and its missing parents. Errs if there is something of that name.
    pub fn make_folder(&self, relative: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(relative, MissingFolders::Make)?;
        Ok(mkdirat(&parent, name, Mode::from_raw_mode(0o777))?)
    }

    /// Creates a link, after its missing folders. Errs if there is something of that name.
    pub fn make_link(&self, target: &[u8], relative: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(relative, MissingFolders::Make)?;
        Ok(symlinkat(target, &parent, name)?)
    }

    /// Removes a file or a link; never a folder.
    pub fn remove_file(&self, relative: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(relative, MissingFolders::Fail)?;
        unlinkat(&parent, name, AtFlags::empty())?;
        Ok(())
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, relative: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(relative, MissingFolders::Fail)?;
        Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves a file, a link or a folder, after creating the missing folders of its new place. Errs if there is something.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (parent, name) = self.parent(from, MissingFolders::Fail)?;
        let (new_parent, new_name) = self.parent(to, MissingFolders::Make)?;
        match renameat_with(&parent, name, &new_parent, new_name, RenameFlags::NOREPLACE) {
            // Some file systems lack the flag.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                if self.look(to)?.is_some() {
                    return Err(rustix::io::Errno::EXIST.into());
                }
                Ok(renameat(&parent, name, &new_parent, new_name)?)
            }
            moved => Ok(moved?),
        }
    }

    /// Copies a file with its mode, after creating the missing folders of its new place. Errs if there is something.
    pub fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut source = self.file(from)?;
        let metadata = source.metadata()?;
        let (parent, name) = self.parent(to, MissingFolders::Make)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = File::from(openat(&parent, name, flags, Mode::from_raw_mode(0o600))?);
        let copied = io::copy(&mut source, &mut copy)
            .and_then(|_| copy.set_permissions(metadata.permissions()))
            .and_then(|()| copy.sync_all());
        if copied.is_err() {
            // Half a copy is none.
            let _ = unlinkat(&parent, name, AtFlags::empty());
        }
        copied
    }

    /// Sets the mode of a file or a folder; not through a link.
    pub fn set_mode(&self, relative: &Path, mode: u32) -> io::Result<()> {
        let (parent, name) = self.parent(relative, MissingFolders::Fail)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&parent, name, flags, Mode::empty())?;
        Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?)
    }

    /// Opens the parent folder of a path; returns it with the file's name in it.
    fn parent<'a>(&self, relative: &'a Path, missing: MissingFolders) -> io::Result<(OwnedFd, &'a OsStr)> {
        let outside =
            || io::Error::new(io::ErrorKind::InvalidInput, "the path names no file below the folder");
        let mut names = Vec::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        let (last, folders) = names.split_last().ok_or_else(outside)?;
        let mut at = self.folder.try_clone()?;
        for name in folders {
            at = match openat(&at, *name, FOLDER, Mode::empty()) {
                Err(rustix::io::Errno::NOENT) if missing == MissingFolders::Make => {
                    match mkdirat(&at, *name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    openat(&at, *name, FOLDER, Mode::empty())?
                }
                opened => opened?,
            };
        }
        Ok((at, last))
    }
}

/// How to treat folders that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingFolders {
    Fail,
    Make,
}

fn fill(file: &mut File, bytes: &[u8], existing: Option<&Metadata>) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(metadata) = existing {
        keep_owner_and_mode(file, metadata)?;
    }
    file.sync_all()
}

fn check_writable(metadata: &Metadata) -> io::Result<()> {
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if metadata.mode() & 0o222 == 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Returns a scratch folder and two folders in it: the one that is opened, and another.
    fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        (dir, inside, outside)
    }

    #[test]
    fn files_are_read_and_written_below_and_nowhere_else() {
        let (_dir, inside, outside) = folders();
        fs::create_dir(inside.join("a")).unwrap();
        fs::write(outside.join("secret"), "s").unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        symlink("a", inside.join("near")).unwrap();
        symlink(outside.join("secret"), inside.join("leaf")).unwrap();
        let root = BaseFolder::open(&inside).unwrap();
        root.write(Path::new("a/b/c"), b"one", NEW).unwrap();
        fs::set_permissions(inside.join("a/b/c"), fs::Permissions::from_mode(0o754)).unwrap();
        root.write(Path::new("a/b/c"), b"two", NEW).unwrap();
        assert_eq!(fs::read_to_string(inside.join("a/b/c")).unwrap(), "two");
        assert_eq!(fs::metadata(inside.join("a/b/c")).unwrap().mode() & 0o777, 0o754);
        assert_eq!(fs::read_dir(inside.join("a/b")).unwrap().count(), 1, "no temporary file stays");
        for path in ["link/secret", "near/b/c", "leaf", "../out/secret", "/etc/passwd", "", "."] {
            assert!(root.file(Path::new(path)).is_err(), "{path}");
            assert!(root.write(Path::new(path), b"x", NEW).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "s");
        fs::set_permissions(inside.join("a/b/c"), fs::Permissions::from_mode(0o444)).unwrap();
        assert!(root.write(Path::new("a/b/c"), b"x", NEW).unwrap_err().to_string().contains("read-only"));
        assert!(
            root.write(Path::new("a"), b"x", NEW).unwrap_err().to_string().contains("not a regular file")
        );
    }

    /// A folder and a link that leads outside are exchanged continuously.
    #[test]
    fn a_race_with_a_link_leads_nowhere() {
        let (_dir, inside, outside) = folders();
        fs::create_dir(inside.join("d")).unwrap();
        fs::write(inside.join("d/f"), "inside").unwrap();
        fs::write(outside.join("f"), "outside").unwrap();
        symlink(&outside, inside.join("l")).unwrap();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let names = (inside.join("d"), inside.join("l"));
                while !over.load(Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    let here = rustix::fs::CWD;
                    rustix::fs::renameat_with(here, &names.0, here, &names.1, flags).unwrap();
                }
            });
            let tries =
                std::env::var("CO_TEST_RACES").ok().and_then(|tries| tries.parse().ok()).unwrap_or(4_000);
            let (mut read, mut written) = (0, 0);
            for _ in 0..tries {
                let root = BaseFolder::open(&inside).unwrap();
                if let Ok(file) = root.file(Path::new("d/f")) {
                    assert_ne!(io::read_to_string(file).unwrap(), "outside");
                    read += 1;
                }
                written += usize::from(root.write(Path::new("d/f"), b"inside", NEW).is_ok());
            }
            over.store(true, Ordering::Relaxed);
            assert!(read > 0 && written > 0, "{read} read and {written} written of {tries}");
        });
        assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "outside");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }
}
