//! The command line of bubblewrap for a policy: which files are mounted where, in namespaces of their own.
//!
//! A path that is not mounted does not exist there. Protected paths are mounted read-only over the writable workspace,
//! and so is each folder above them inside it, because a mount point can be neither renamed nor removed. Blocking: it looks at
//! what exists.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use super::mounts::{MountPoints, ProtectiveMounts};
use super::policy::SandboxPolicy;

/// Where this program is mounted.
const HELPER: &str = "/run/co-sandbox";

/// The private folder for temporary files is mounted here.
pub const TEMPORARY: &str = "/tmp";

/// Returns the arguments of bubblewrap up to the command that it runs, and that command's beginning: this program.
pub fn arguments(
    policy: &SandboxPolicy,
    helper: &Path,
    locks: &Path,
) -> io::Result<(Vec<OsString>, MountPoints)> {
    let mounts = ProtectiveMounts::of(policy)?;
    let points = mounts.make_points(locks)?;
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
    mounts.held.iter().for_each(|path| args.same("--bind", path));
    mounts.read_only.iter().for_each(|path| args.same("--ro-bind", path));
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
