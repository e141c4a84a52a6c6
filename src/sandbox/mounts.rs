//! What is mounted over protected paths, so that a command with a writable workspace can neither write nor replace them.
//!
//! Each protected path is mounted read-only, and each folder above it inside a writable one is mounted on itself, because a
//! mount point can be neither renamed nor removed. Shared by the backends with namespaces of their own. Blocking.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::policy::SandboxPolicy;

/// What keeps protected paths from being written or replaced.
#[derive(Debug)]
pub struct Guarded {
    /// The folders between a writable one and a protected path: mounted, so that they stay where they are.
    pub held: BTreeSet<PathBuf>,
    pub read_only: BTreeSet<PathBuf>,
}

impl Guarded {
    /// Errs if a link stands where something must be protected.
    pub fn of(policy: &SandboxPolicy) -> io::Result<Self> {
        let mut found = Self { held: BTreeSet::new(), read_only: BTreeSet::new() };
        for path in &policy.protected {
            let Some(root) = policy.writes.iter().find(|root| path.starts_with(root)) else { continue };
            let between: Vec<&Path> = path
                .ancestors()
                .skip(1)
                .take_while(|above| above != root && above.starts_with(root))
                .collect();
            if let Some(link) = between.iter().copied().chain([path.as_path()]).find(|one| one.is_symlink()) {
                return Err(io::Error::other(format!(
                    "{} is a symbolic link, which the sandbox cannot protect; replace it by what it leads to, or set \
                 `sandbox.backend = \"none\"`",
                    link.display()
                )));
            }
            // Where the folder itself is missing, there is nothing yet that git would read.
            if path.parent().is_some_and(Path::is_dir) && (path.exists() || is_wanted(path)) {
                found.held.extend(between.into_iter().map(Path::to_owned));
                found.read_only.insert(path.clone());
            }
        }
        Ok(found)
    }

    /// Makes what is missing of the protected paths, so that something can be mounted there. `lock` is a file that every
    /// `co` of the user can lock.
    pub fn make_points(&self, lock: &Path) -> io::Result<MountPoints> {
        let wanted = self.read_only.iter().filter(|path| is_wanted(path)).cloned().collect();
        MountPoints::make(wanted, lock)
    }
}

/// Whether a protected path that is missing must be kept from appearing: in each folder of git, all but `config`, which
/// every repository has.
fn is_wanted(path: &Path) -> bool {
    let in_git = path.parent().is_some_and(|above| above.ends_with(".git") || above.join("HEAD").exists());
    path.file_name().is_some_and(|name| match name.to_str() {
        Some(".co" | ".git") => true,
        Some("hooks" | "info" | "commondir" | "config.worktree") => in_git,
        Some(_) | None => false,
    })
}

/// Files and folders that had to be made as mount points. They are removed, when dropped, after the last command of all
/// processes in the workspace: each holds the lock as long as it runs.
#[derive(Debug)]
pub struct MountPoints {
    paths: Vec<PathBuf>,
    /// `None` without paths: such a command must not keep another one from removing its own.
    lock: Option<fs::File>,
}

impl Drop for MountPoints {
    fn drop(&mut self) {
        let Some(lock) = &self.lock else { return };
        if flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        // Something else may be there by now; only what was made goes, also by a process that was killed.
        for path in self.paths.iter().filter(|path| is_made(path)) {
            let _ = if is_file(path) { fs::remove_file(path) } else { fs::remove_dir(path) };
        }
    }
}

impl MountPoints {
    /// Makes what of this is missing; the folder that it is in must exist. `lock` is a file that every `co` of the user
    /// locks for this workspace; made if it is missing.
    fn make(paths: Vec<PathBuf>, lock: &Path) -> io::Result<Self> {
        if paths.is_empty() {
            return Ok(Self { paths, lock: None });
        }
        let lock = fs::OpenOptions::new().create(true).append(true).open(lock)?;
        flock(&lock, FlockOperation::LockShared)?;
        let points = Self { paths, lock: Some(lock) };
        for path in &points.paths {
            let made = if is_file(path) {
                fs::File::create_new(path).and_then(|mut file| file.write_all(content(path)))
            } else {
                fs::create_dir(path)
            };
            match made {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(points)
    }
}

/// Whether a protected path that had to be made is a file; all others are folders.
fn is_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "commondir" || name == "config.worktree")
}

/// Whether a mount point is as it is made.
fn is_made(path: &Path) -> bool {
    if is_file(path) {
        fs::read(path).is_ok_and(|found| found == content(path))
    } else {
        fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
    }
}

/// Returns what stands in a file that had to be made. In `commondir`: git's folder is its own, as without the file.
fn content(path: &Path) -> &'static [u8] {
    if path.ends_with("commondir") { b".\n" } else { b"" }
}
