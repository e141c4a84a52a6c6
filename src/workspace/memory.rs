//! A folder in the machine's memory, for a session that is not kept. Linux only: elsewhere there is no such place.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

/// Where Linux mounts a file system in memory.
const MEMORY: &str = "/dev/shm";

/// The beginning of the folders' names.
const PREFIX: &str = "co-session-";

/// An owner-only folder in memory, removed when it is dropped. That of a process that was killed is removed by the next
/// one that is created.
#[derive(Debug)]
pub struct MemoryFolder {
    dir: TempDir,
    /// Tells other processes that the folder is in use.
    _lock: File,
}

impl MemoryFolder {
    /// Creates a folder. Errs if there is no file system in memory, or no room. Blocking, for a moment.
    pub fn create() -> io::Result<Self> {
        let memory = Path::new(MEMORY);
        if !is_in_memory(memory) {
            return Err(io::Error::other(format!("{MEMORY} is no file system in memory")));
        }
        remove_abandoned(memory);
        loop {
            let dir = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(memory)?;
            let lock = File::open(dir.path())?;
            lock.lock()?;
            // Another process may have taken it for an abandoned one before it was locked.
            if dir.path().is_dir() {
                return Ok(Self { dir, _lock: lock });
            }
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

#[cfg(target_os = "linux")]
fn is_in_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == libc::TMPFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_in_memory(_folder: &Path) -> bool {
    false
}

/// Removes the folders of this user's processes that are gone. Errors are ignored.
fn remove_abandoned(memory: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(memory).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
            && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if !is_ours {
            continue;
        }
        let Ok(folder) = File::open(entry.path()) else { continue };
        match folder.try_lock() {
            Ok(()) => drop(fs::remove_dir_all(entry.path())),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_and_the_abandoned_ones_with_the_next() {
        if !is_in_memory(Path::new(MEMORY)) {
            return println!("skipped: this machine has no file system in memory");
        }
        let first = MemoryFolder::create().unwrap();
        let abandoned = tempfile::Builder::new().prefix(PREFIX).tempdir_in(MEMORY).unwrap().keep();
        fs::write(abandoned.join("co.db"), "x").unwrap();
        let second = MemoryFolder::create().unwrap();
        assert!(first.path().is_dir() && !abandoned.exists(), "the one in use stays");
        assert_eq!(fs::metadata(second.path()).unwrap().mode() & 0o777, 0o700);
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }
}
