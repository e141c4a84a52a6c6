//! Ownership of a session: an OS lock on a dedicated file, released when its process dies.
//!
//! The file's content names the owner for display; only the lock counts. Called by [`super::Session`].

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::history::SessionId;
use crate::stdx::fs::{create_private_dir, if_exists, open_private, overwrite};

/// The process that owns a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// When it opened the session.
    pub since: Timestamp,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} since {}", self.pid, self.since.strftime("%Y-%m-%d %H:%M UTC"))
    }
}

/// Ownership of one session; dropping it releases the session.
#[derive(Debug)]
pub(super) struct SessionLock {
    /// Holds the OS lock while it is open.
    _file: File,
    path: PathBuf,
}

/// Why a session could not be locked.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process holds it; the owner, if the file's content could be read.
    Held(Option<Owner>),
    File(PathBuf, io::Error),
}

impl SessionLock {
    /// Takes the lock of a session if it is free. Never waits. Blocking file operations.
    pub(super) fn acquire(folder: &Path, id: &SessionId, now: Timestamp) -> Result<Self, LockError> {
        let path = folder.join(format!("{id}.lock"));
        let failed = |error: io::Error| LockError::File(path.clone(), error);
        create_private_dir(folder).map_err(failed)?;
        loop {
            let mut file = open_private(&path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(read_owner(&mut file))),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The last owner may have removed the file between the open and the lock; then the lock is void.
            if is_still(&path, &file).map_err(failed)? {
                write_owner(&mut file, now).map_err(failed)?;
                return Ok(Self { _file: file, path });
            }
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // Removed while still locked, so that no other process loses its lock. A leftover file is harmless.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    let (there, ours) = (if_exists(fs::metadata(path))?, file.metadata()?);
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

fn write_owner(file: &mut File, now: Timestamp) -> io::Result<()> {
    overwrite(file, &format!("{} {now}\n", std::process::id()))
}

/// Parses the content of a lock file, if possible.
pub(super) fn read_owner(file: &mut File) -> Option<Owner> {
    let mut words = String::new();
    file.take(100).read_to_string(&mut words).ok()?;
    let (pid, since) = words.trim_end().split_once(' ')?;
    Some(Owner { pid: pid.parse().ok()?, since: since.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time_named_to_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId("a".to_owned());
        let now: Timestamp = "2026-11-21T12:30:00Z".parse().unwrap();
        for _ in 0..2 {
            let first = SessionLock::acquire(dir.path(), &id, now).unwrap();
            let Err(LockError::Held(Some(owner))) = SessionLock::acquire(dir.path(), &id, now) else {
                panic!("a second lock must be refused");
            };
            assert_eq!(owner, Owner { pid: std::process::id(), since: now });
            assert_eq!(
                owner.to_string(),
                format!("process {} since 2026-11-21 12:30 UTC", std::process::id())
            );
            drop(first);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_dead_process_left_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId("a".to_owned());
        fs::write(dir.path().join("a.lock"), "12345678901234567890 some very old words, and no more\n")
            .unwrap();
        let lock = SessionLock::acquire(dir.path(), &id, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(
            fs::read_to_string(&lock.path).unwrap(),
            format!("{} 1970-01-01T00:00:00Z\n", std::process::id())
        );
        assert_eq!(fs::metadata(&lock.path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_was_removed_or_replaced_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let file = open_private(&path).unwrap();
        assert!(is_still(&path, &file).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_still(&path, &file).unwrap());
        let _other = open_private(&path).unwrap();
        assert!(!is_still(&path, &file).unwrap());
    }

    #[test]
    fn threads_that_race_never_hold_it_together() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let id = SessionId("a".to_owned());
        let (inside, entered) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while entered.load(Ordering::SeqCst) < 1_000 {
                        let Ok(_lock) = SessionLock::acquire(dir.path(), &id, Timestamp::UNIX_EPOCH) else {
                            continue;
                        };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two owners");
                        entered.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
    }
}
