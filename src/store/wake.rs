//! Wake-ups between processes: a byte to each other `co` when approvals changed, or a turn began or ended.
//!
//! The byte is a hint and carries nothing; whoever hears it reads the store. A lost one is harmless, because an owner
//! also reads on keys and turn ends. Sockets lie in an owner-only folder; those of dead processes are removed by
//! whoever finds them. Nothing here blocks and nothing here fails loudly.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixDatagram;
use tokio::sync::watch;
use uuid::Uuid;

use crate::stdx::fs::{create_private_dir, fingerprint};

/// The shortest limit of a socket's path among the systems we know (macOS: 104, the final NUL included).
const LONGEST_PATH: usize = 103;

/// `/`, a process id, `-`, 8 digits, `.sock`.
const LONGEST_NAME: usize = 1 + 10 + 1 + 8 + 5;

const SUFFIX: &str = "sock";

/// Hears that approvals changed, or where a turn stands, in this process or another one. Each handle hears for itself.
pub struct Wakeups {
    bell: Arc<Bell>,
    changes: watch::Receiver<u64>,
}

impl Wakeups {
    pub(super) fn new(bell: Arc<Bell>) -> Self {
        let changes = bell.changes.subscribe();
        Self { bell, changes }
    }

    /// Resolves once any of that may have changed since the last call (or since the handle was made); several changes
    /// may count as one. Cancel-safe: a dropped call loses nothing. Never resolves without a change.
    pub async fn changed(&mut self) {
        let Some(socket) = &self.bell.socket else {
            return heard(&mut self.changes).await;
        };
        let mut byte = [0_u8; 1];
        tokio::select! {
            () = heard(&mut self.changes) => {}
            received = socket.socket.recv(&mut byte) => {
                if received.is_err() {
                    // The runtime is shutting down; only our own changes can still be heard.
                    return heard(&mut self.changes).await;
                }
                while socket.socket.try_recv(&mut byte).is_ok() {}
                // One handle of this process took the byte; the others hear it from the counter.
                self.bell.changes.send_modify(|count| *count += 1);
                self.changes.mark_unchanged();
            }
        }
    }
}

async fn heard(changes: &mut watch::Receiver<u64>) {
    // The sender lives in the bell that this handle holds.
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// This process's socket, and the way to all others.
pub(super) struct Bell {
    changes: watch::Sender<u64>,
    /// `None` where no socket could be bound: then other processes are not heard, and the store works without.
    socket: Option<Bound>,
}

struct Bound {
    socket: UnixDatagram,
    folder: PathBuf,
    path: PathBuf,
}

impl Drop for Bound {
    fn drop(&mut self) {
        // A leftover is removed by the next process that rings.
        let _ = fs::remove_file(&self.path);
    }
}

impl Bell {
    /// Binds a socket in `runtime` (made if missing), or in a short folder derived from it where the path would be
    /// too long for a socket. Must be called inside an async runtime.
    pub(super) fn hang(runtime: &Path) -> Self {
        let socket = match bind(runtime) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(%error, folder = %runtime.display(), "no wake-ups from other processes");
                None
            }
        };
        Self { changes: watch::Sender::new(0), socket }
    }

    /// One that nobody outside of this process hears or rings.
    pub(super) fn silent() -> Self {
        Self { changes: watch::Sender::new(0), socket: None }
    }

    /// Tells every handle of this process and every other process. Never blocks: a full socket already has its hint.
    pub(super) fn ring(&self) {
        self.changes.send_modify(|count| *count += 1);
        if let Some(own) = &self.socket
            && let Err(error) = ring_others(&own.folder, &own.path)
        {
            tracing::debug!(%error, "other processes were not woken");
        }
    }
}

fn bind(runtime: &Path) -> io::Result<Bound> {
    let folder = socket_folder(runtime);
    create_private_dir(&folder)?;
    check_private(&folder)?;
    let unique = Uuid::now_v7().simple().to_string();
    // The last digits of the id are its random ones.
    let random: String = unique.chars().skip(24).collect();
    let path = folder.join(format!("{}-{random}.{SUFFIX}", std::process::id()));
    let socket = UnixDatagram::bind(&path)?;
    Ok(Bound { socket, folder, path })
}

/// Where the sockets of `runtime` lie: there, or where the path is too long, in a short folder of the same meaning for
/// every process of this user.
fn socket_folder(runtime: &Path) -> PathBuf {
    let bytes = runtime.as_os_str().as_bytes();
    if bytes.len() + LONGEST_NAME <= LONGEST_PATH {
        return runtime.to_owned();
    }
    let user = rustix::process::geteuid().as_raw();
    let short: String = fingerprint(bytes).chars().take(16).collect();
    PathBuf::from(format!("/tmp/co-{user}-{short}"))
}

/// Refuses a folder that somebody else made or may enter.
fn check_private(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    if metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder for sockets is not private"))
}

fn ring_others(folder: &Path, own: &Path) -> io::Result<()> {
    let sender = std::os::unix::net::UnixDatagram::unbound()?;
    sender.set_nonblocking(true)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path == own || path.extension().is_none_or(|suffix| suffix != SUFFIX) {
            continue;
        }
        match sender.send_to(&[1], &path) {
            Ok(_) => {}
            // Bound by nobody: its process died.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => drop(fs::remove_file(&path)),
            Err(error) => tracing::debug!(%error, socket = %path.display(), "not woken"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    async fn hears(wakeups: &mut Wakeups) -> bool {
        tokio::time::timeout(SOON, wakeups.changed()).await.is_ok()
    }

    fn silent(wakeups: &mut Wakeups) -> bool {
        use futures::FutureExt as _;
        wakeups.changed().now_or_never().is_none()
    }

    async fn check(runtime: &Path) {
        let (here, there) = (Arc::new(Bell::hang(runtime)), Arc::new(Bell::hang(runtime)));
        let mut ears = [
            Wakeups::new(Arc::clone(&here)),
            Wakeups::new(Arc::clone(&there)),
            Wakeups::new(Arc::clone(&there)),
        ];
        assert!(ears.iter_mut().all(silent));
        here.ring();
        for ear in &mut ears {
            assert!(hears(ear).await, "{}", runtime.display());
        }
        assert!(ears.iter_mut().all(silent), "one ring is heard once");
        for _ in 0..3_000 {
            there.ring();
        }
        assert!(hears(&mut ears[0]).await, "a full socket neither blocks nor loses the hint");
    }

    #[tokio::test]
    async fn every_handle_of_every_process_hears() {
        let dir = tempfile::tempdir().unwrap();
        check(&dir.path().join("run")).await;
        let long = dir.path().join("x".repeat(120)).join("run");
        check(&long).await;
        assert!(!long.exists());
        fs::remove_dir(socket_folder(&long)).expect("empty again: the sockets went with their bells");
    }

    #[tokio::test]
    async fn sockets_of_the_dead_are_removed_and_open_folders_refused() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = dir.path().join("run");
        let bell = Bell::hang(&runtime);
        assert_eq!(fs::metadata(&runtime).unwrap().mode() & 0o777, 0o700);
        let stale = runtime.join("1-00000000.sock");
        drop(std::os::unix::net::UnixDatagram::bind(&stale).unwrap());
        fs::write(runtime.join("note.txt"), "").unwrap();
        bell.ring();
        let mut left: Vec<_> = fs::read_dir(&runtime).unwrap().map(|e| e.unwrap().path()).collect();
        left.retain(|path| bell.socket.as_ref().unwrap().path != *path);
        assert_eq!(left, [runtime.join("note.txt")]);

        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
        let deaf = Arc::new(Bell::hang(&runtime));
        assert!(deaf.socket.is_none());
        let mut own = Wakeups::new(Arc::clone(&deaf));
        deaf.ring();
        assert!(hears(&mut own).await, "a process without a socket still hears itself");
    }
}
