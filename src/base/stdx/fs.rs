//! Atomic file writes (after a crash a file has the old or the new content), and private files with
//! owner-only access from creation on.
//!
//! Blocking: async callers use `spawn_blocking`. It checks no permissions of this program; callers decide
//! which writes are allowed. Called by tools, store and configuration.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use sha2::{Digest as _, Sha256};

/// The prefix of temporary files' names, before the id of the process that created them.
pub(super) const TEMPORARY: &str = ".co-";

/// The maximum number of consecutive symbolic links to follow before they count as a loop; the kernel uses
/// the same number.
const MAX_LINKS: usize = 40;

/// File systems whose files are on another machine or in another program, by the number that the system gives them.
#[cfg(target_os = "linux")]
const NETWORK: &[(u32, &str)] = &[
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb"),
    (0x517b, "smb"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x5346_414f, "afs"),
    (0x00c3_6400, "ceph"),
    (0x7375_7245, "coda"),
    (0x786f_4256, "vboxsf"),
];

/// Returns the type of a folder's file system if processes cannot share memory by its files: a network mount, or one
/// served by a program, unless that one is known to serve files of this machine. `None` for a local one, and if it is unknown. Blocking.
#[cfg(target_os = "linux")]
#[must_use]
pub fn network_file_system(folder: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(folder).ok()?.f_type;
    // The number has 32 bits; on some systems its field is wider, or signed.
    let number = u32::try_from(i128::from(found) & 0xffff_ffff).ok()?;
    let name = NETWORK.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)?;
    let is_local = || {
        let device = rustix::fs::stat(folder).ok()?.st_dev;
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        Some(is_local_mount(&mounts, &format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device))))
    };
    (name != "fuse" || is_local() != Some(true)).then_some(name)
}

/// Programs that serve a file system from files or a disk of the same machine, by the types of their mounts. Any other one
/// counts as a network mount: a wrong guess costs speed here, and the database there.
#[cfg(target_os = "linux")]
const LOCAL: &[&str] = &[
    "fuseblk",
    "fuse.bindfs",
    "fuse.cryfs",
    "fuse.encfs",
    "fuse.ext2",
    "fuse.ext4",
    "fuse.fuse-overlayfs",
    "fuse.fuse2fs",
    "fuse.gocryptfs",
    "fuse.securefs",
    "fuse.zfs",
];

/// Whether the mount of a device (`major:minor`) is served from this machine, by the lines of `mountinfo`.
#[cfg(target_os = "linux")]
fn is_local_mount(mounts: &str, device: &str) -> bool {
    // The device is the third field; the type follows the mark behind a varying number of fields.
    let kind = |line: &str| {
        let (fields, rest) = line.split_once(" - ")?;
        (fields.split(' ').nth(2) == Some(device))
            .then(|| rest.split(' ').next().unwrap_or_default().to_owned())
    };
    mounts.lines().find_map(kind).is_some_and(|kind| LOCAL.contains(&&*kind))
}

/// Returns the type of a folder's file system if it is mounted over a network; `None` if it is local or unknown. Blocking.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn network_file_system(folder: &Path) -> Option<&'static str> {
    // Bit 12 (MNT_LOCAL) is set for what is stored on the machine itself.
    let flags = rustix::fs::statfs(folder).ok()?.f_flags;
    (u64::from(flags) & 0x1000 == 0).then_some("network")
}

/// Replaces the content of `path`, or creates it, in one step that survives a power cut.
///
/// The bytes go to a temporary file in the same folder, which is synced and then renamed over the target; on
/// failure it is removed and the old content remains. An existing file keeps its mode, and its owner where
/// the system permits; a new one gets mode 0666 minus the umask. A symbolic link is kept and its target
/// replaced. Other hard links keep the old content. A file without any write permission is refused, although
/// a rename could replace it.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = follow_links(path)?;
    let existing = if_exists(fs::metadata(&target))?;
    if let Some(metadata) = &existing {
        if !metadata.is_file() {
            let message = format!("{} is not a regular file", target.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        if metadata.permissions().readonly() {
            let message = format!("{} is read-only", target.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
    }
    let mode = if existing.is_some() { 0o600 } else { 0o666 };
    replace(&target, bytes, mode, |file| match &existing {
        Some(metadata) => keep_owner_and_mode(file, metadata),
        None => Ok(()),
    })
}

/// Puts a file with this content in the place of `target`; `prepare` changes it before it gets its name.
fn replace(
    target: &Path,
    bytes: &[u8],
    mode: u32,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let mut temporary = tempfile::Builder::new()
        .prefix(&format!("{TEMPORARY}{}-", std::process::id()))
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    prepare(temporary.as_file())?;
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|failed| failed.error)?;
    File::open(folder)?.sync_all()
}

pub(super) fn keep_owner_and_mode(file: &File, old: &fs::Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may change a file's owner; without that right, writing the new content takes priority.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(old.permissions())
}

/// Returns the path that `path` points to after following symbolic links. The target may not exist yet.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            // Not a link, or nonexistent: in both cases the content belongs here.
            Err(_) => return Ok(target),
        }
    }
    let message = format!("{}: too many symbolic links in a row", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Creates a folder, and its missing parents, with owner-only access (0700).
///
/// An existing folder keeps its mode, since the user may share it on purpose. Errs if the name belongs to
/// something other than a folder.
pub fn create_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a new file that only its owner can read. Errs if there is one; a file that cannot be written whole is removed.
pub fn write_new_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file =
        std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create_new(true), 0o600).open(path)?;
    let written = io::Write::write_all(&mut file, bytes);
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// Opens a file for reading and writing, with owner-only access (0600) from its creation on. An existing file
/// keeps its content, and its mode is narrowed to 0600 if others had access.
pub fn open_private(path: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if file.metadata()?.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Whether a file could not be opened because there is none of its name.
#[must_use]
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns `None` in place of the error that there is no such file.
pub fn if_exists<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Takes the lock of a private file, which is made with its folder if it is missing. Processes that want it too wait until
/// the file is dropped. Blocking.
pub fn lock_private(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), create_private_dir)?;
    let file = open_private(path)?;
    file.lock()?;
    Ok(file)
}

/// Overwrites the file in place, and truncates it if it was longer. A file that is truncated to nothing first would be
/// written to the disk as soon as it is closed, on file systems that guard against power cuts that way. Readers may see the
/// new text with the end of the old one.
pub fn overwrite(file: &mut File, text: &str) -> io::Result<()> {
    let length = text.len() as u64;
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

/// Like [`write_atomic`], but the result is always a file with owner-only access (0600), from its first byte
/// on; a symbolic link is replaced.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, 0o600, |_| Ok(()))
}

/// Removes temporary files left by interrupted writes of processes that no longer exist. Errors are ignored.
pub fn remove_temporaries(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let inner = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)?.strip_suffix(".tmp"));
        if inner.is_some_and(is_of_dead_process) {
            // Another process may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a name begins with the number of a process that no longer exists, before a `-`.
pub fn is_of_dead_process(name: &str) -> bool {
    let pid = name.split('-').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Returns a short content hash: the first half of the SHA-256 digest, as 32 hexadecimal digits. Equal hashes
/// mean equal content.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut whole = Fingerprinter::default();
    whole.update(bytes);
    whole.finish()
}

/// Computes a [`fingerprint`] of content that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub struct Fingerprinter(Sha256);

impl Fingerprinter {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    #[must_use]
    pub fn finish(self) -> String {
        self.0.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn mounts_of_programs_are_local_only_if_they_are_known_to_be() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            40 22 0:45 / /mnt/a\\040b rw,nosuid shared:9 master:2 - fuse.sshfs me@there:/ rw\n\
            41 22 0:46 / /mnt/c rw - fuse.gocryptfs /cipher rw\n\
            42 22 0:47 / /mnt/d rw shared:3 - fuse.someone x rw\n\
            43 22 8:17 / /mnt/e rw - fuseblk /dev/sdb1 rw\n\
            44 22 0:48 / /mnt/f rw - fuse.rclone drive: rw\n";
        for (device, expected) in [
            ("0:45", false),
            ("0:46", true),
            ("0:47", false),
            ("8:17", true),
            ("0:48", false),
            ("0:99", false),
        ] {
            assert_eq!(is_local_mount(mounts, device), expected, "{device}");
        }
    }

    #[test]
    fn content_is_replaced_whole_and_the_mode_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.sh");
        write_atomic(&file, b"one").unwrap();
        assert_eq!(mode(&file) & 0o700, 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o754)).unwrap();
        write_atomic(&file, b"two").unwrap();
        assert_eq!((fs::read(&file).unwrap(), mode(&file)), (b"two".to_vec(), 0o754));
        assert_eq!(names(dir.path()), ["a.sh"]);
    }

    #[test]
    fn links_stay_and_their_targets_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/real"), "old").unwrap();
        symlink("sub/real", at("near")).unwrap();
        symlink("near", at("far")).unwrap();
        symlink("sub/new", at("dangling")).unwrap();
        write_atomic(&at("far"), b"new").unwrap();
        write_atomic(&at("dangling"), b"made").unwrap();
        assert_eq!(fs::read_to_string(at("sub/real")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("sub/new")).unwrap(), "made");
        assert!(["far", "near", "dangling"].iter().all(|name| at(name).is_symlink()));
    }

    #[test]
    fn failures_leave_everything_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("fixed"), "old").unwrap();
        fs::set_permissions(at("fixed"), Permissions::from_mode(0o444)).unwrap();
        symlink("loop", at("loop")).unwrap();
        let cases = [
            ("folder", "not a regular file"),
            ("fixed", "read-only"),
            ("loop", "symbolic links"),
            ("missing/file", "No such file"),
        ];
        for (name, expected) in cases {
            let error = write_atomic(&at(name), b"new").unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
        assert_eq!(fs::read_to_string(at("fixed")).unwrap(), "old");
        assert_eq!(names(dir.path()), ["fixed", "folder", "loop"]);
    }

    #[test]
    fn private_means_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        create_private_dir(&inner).unwrap();
        create_private_dir(&inner).unwrap();
        assert_eq!((mode(&inner), mode(&dir.path().join("a"))), (0o700, 0o700));
        let file = inner.join("f");
        open_private(&file).unwrap().write_all(b"keep").unwrap();
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        drop(open_private(&file).unwrap());
        assert_eq!((mode(&file), fs::read(&file).unwrap()), (0o600, b"keep".to_vec()));
        assert!(create_private_dir(&file).is_err());
    }

    #[test]
    fn temporary_files_of_the_dead_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let dead = std::process::Command::new("true").spawn().map(|mut child| {
            child.wait().unwrap();
            child.id()
        });
        let own = format!(".co-{}-x.tmp", std::process::id());
        let dead = format!(".co-{}-x.tmp", dead.unwrap());
        for name in [own.as_str(), &dead, ".co-x.tmp", ".co-1.txt", "a"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        remove_temporaries(dir.path());
        let mut kept = [own.as_str(), ".co-1.txt", ".co-x.tmp", "a"].map(str::to_owned);
        kept.sort();
        assert_eq!(names(dir.path()), kept);
    }

    #[test]
    fn fingerprints_are_the_start_of_sha256() {
        assert_eq!(fingerprint(b""), "e3b0c44298fc1c149afbf4c8996fb924");
        assert_eq!(fingerprint(b"abc"), "ba7816bf8f01cfea414140de5dae2223");
    }
}
