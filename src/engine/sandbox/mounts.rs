//! Mounts over protected paths, so that a command with a writable workspace can neither write nor replace them.
//!
//! Each protected path is mounted read-only, and each folder above it inside a writable one is mounted on itself, because a
//! mount point can be neither renamed nor removed. Shared by the backends with namespaces of their own. Blocking.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::policy::SandboxPolicy;
use crate::stdx::fs::{create_private_dir, fingerprint};

/// Keeps protected paths from being written or replaced.
#[derive(Debug)]
pub struct ProtectiveMounts {
    /// The folders between a writable one and a protected path: mounted, so that they stay where they are.
    pub held: BTreeSet<PathBuf>,
    pub read_only: BTreeSet<PathBuf>,
}

impl ProtectiveMounts {
    /// Errs if a link is in the place of a protected path.
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

    /// Makes what is missing of the protected paths, so that something can be mounted there. `locks` is a folder in
    /// which every `co` of the user locks files.
    pub fn make_points(&self, locks: &Path) -> io::Result<MountPoints> {
        let wanted = self.read_only.iter().filter(|path| is_wanted(path)).cloned().collect();
        MountPoints::make(wanted, locks)
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
/// processes that has them mounted: each holds the lock of their folder as long as it runs. Removed earlier, they would
/// come off in the other command's sandbox.
#[derive(Debug)]
pub struct MountPoints {
    /// The entries made in each folder, with the folder's lock.
    folders: Vec<(fs::File, Vec<PathBuf>)>,
}

impl Drop for MountPoints {
    fn drop(&mut self) {
        for (lock, paths) in &self.folders {
            if flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            // Something else may be there by now; only what was made goes, also by a process that was killed.
            for path in paths.iter().filter(|path| is_made(path)) {
                let _ = if is_file(path) { fs::remove_file(path) } else { fs::remove_dir(path) };
            }
        }
    }
}

impl MountPoints {
    /// Leaves all of them where they are.
    pub fn leave(&mut self) {
        self.folders.clear();
    }

    /// Makes what of this is missing; the folder that it is in must exist. `locks` is a folder in which every `co` of the
    /// user locks files; made if it is missing.
    fn make(paths: Vec<PathBuf>, locks: &Path) -> io::Result<Self> {
        let mut by_folder: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            let folder = path.parent().unwrap_or(&path).to_owned();
            by_folder.entry(folder).or_default().push(path);
        }
        let mut points = Self { folders: Vec::new() };
        for (folder, paths) in by_folder {
            create_private_dir(locks)?;
            let lock = locks.join(fingerprint(folder.as_os_str().as_encoded_bytes()));
            let lock = fs::OpenOptions::new().create(true).append(true).open(lock)?;
            flock(&lock, FlockOperation::LockShared)?;
            points.folders.push((lock, paths.clone()));
            for path in &paths {
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

/// Returns the content of a file that had to be created. In `commondir`: git's folder is its own, as without the file.
fn content(path: &Path) -> &'static [u8] {
    if path.ends_with("commondir") { b".\n" } else { b"" }
}
