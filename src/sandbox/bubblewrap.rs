//! The command line of bubblewrap for a policy: which files are mounted where, in namespaces of their own.
//!
//! What is not mounted does not exist there. Protected paths are mounted read-only over the writable workspace, and so is
//! each folder above them inside it, because a mount point can be neither renamed nor removed. Blocking: it looks at
//! what exists.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::policy::SandboxPolicy;

/// Where this program is mounted.
const HELPER: &str = "/run/co-sandbox";

/// The private folder for temporary files is mounted here.
pub const TEMPORARY: &str = "/tmp";

/// Files and folders that had to be made as mount points. They are removed, when dropped, after the last command of all
/// processes: each holds the lock as long as it runs.
#[derive(Debug)]
pub struct MountPoints {
    paths: Vec<PathBuf>,
    lock: fs::File,
}

impl Drop for MountPoints {
    fn drop(&mut self) {
        if flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err() {
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
    /// can lock; made if it is missing.
    fn make(paths: Vec<PathBuf>, lock: &Path) -> io::Result<Self> {
        let lock = fs::OpenOptions::new().create(true).append(true).open(lock)?;
        flock(&lock, FlockOperation::LockShared)?;
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
        Ok(Self { paths, lock })
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

/// Returns the arguments of bubblewrap up to the command that it runs, and that command's beginning: this program.
pub fn arguments(
    policy: &SandboxPolicy,
    helper: &Path,
    lock: &Path,
) -> io::Result<(Vec<OsString>, MountPoints)> {
    let guarded = guarded(policy)?;
    let wanted = guarded.read_only.iter().filter(|path| is_wanted(path)).cloned().collect();
    let points = MountPoints::make(wanted, lock)?;
    let mut args = Arguments(Vec::new());
    args.flags(&["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]);
    if policy.has_network() {
        args.flags(&["--share-net"]);
    }
    // Root owns the settings of the kernel there, whatever its capabilities.
    args.flags(&["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]);
    args.mount("--bind", &policy.temporary, Path::new(TEMPORARY));
    for path in &policy.reads {
        args.same("--ro-bind", path);
    }
    for link in ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"] {
        if let Ok(target) = fs::read_link(link) {
            args.flags(&["--symlink"]);
            args.0.extend([target.into_os_string(), link.into()]);
        }
    }
    if policy.has_network() {
        // The addresses of name servers may stand behind a link out of `/etc`.
        let servers = fs::canonicalize("/etc/resolv.conf").ok();
        servers.iter().for_each(|path| args.same("--ro-bind-try", path));
    }
    for path in policy.writes.iter().filter(|path| **path != policy.temporary) {
        args.same("--bind", path);
    }
    guarded.held.iter().for_each(|path| args.same("--bind", path));
    guarded.read_only.iter().for_each(|path| args.same("--ro-bind", path));
    for path in &policy.hidden {
        if path.is_dir() {
            args.flags(&["--tmpfs"]);
            args.0.push(path.into());
        } else {
            args.mount("--ro-bind", Path::new("/dev/null"), path);
        }
    }
    args.mount("--ro-bind", helper, Path::new(HELPER));
    args.flags(&["--remount-ro", "/", "--chdir"]);
    args.0.push(policy.workspace.clone().into());
    args.flags(&["--", HELPER]);
    Ok((args.0, points))
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn mount(&mut self, how: &str, from: &Path, to: &Path) {
        self.0.extend([how.into(), from.into(), to.into()]);
    }

    fn same(&mut self, how: &str, path: &Path) {
        self.mount(how, path, path);
    }
}

/// What keeps protected paths from being written or replaced.
struct Guarded {
    /// The folders between a writable one and a protected path: mounted, so that they stay where they are.
    held: BTreeSet<PathBuf>,
    read_only: BTreeSet<PathBuf>,
}

fn guarded(policy: &SandboxPolicy) -> io::Result<Guarded> {
    let mut found = Guarded { held: BTreeSet::new(), read_only: BTreeSet::new() };
    for path in &policy.protected {
        let Some(root) = policy.writes.iter().find(|root| path.starts_with(root)) else { continue };
        let between: Vec<&Path> =
            path.ancestors().skip(1).take_while(|above| above != root && above.starts_with(root)).collect();
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
