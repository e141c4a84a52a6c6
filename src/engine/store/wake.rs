//! Wake-ups between processes: a byte to every other `co` when approvals changed, or a turn began or ended.
//!
//! The byte is a hint without content; the receiver reads the store. A lost byte is harmless, because a
//! session's owner also reads the store on key presses and turn ends. Sockets are in an owner-only folder;
//! those of dead processes are removed by the process that finds them. Nothing blocks; failures are only
//! logged.

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

/// The shortest limit of a socket path among the supported systems (macOS: 104, the final NUL included).
const LONGEST_PATH: usize = 103;

/// `/`, a process id, `-`, 8 digits, `.sock`.
const LONGEST_NAME: usize = 1 + 10 + 1 + 8 + 5;

const SUFFIX: &str = "sock";

/// Reports changes to approvals, and turns that began or ended, in any process. Each handle is notified.
pub struct ChangeListener {
    notifier: Arc<ChangeNotifier>,
    changes: watch::Receiver<u64>,
}

impl ChangeListener {
    /// Listens in a folder for [`wake_others`]; creates it if it is missing. Must be called inside an async runtime.
    #[must_use]
    pub fn listen(runtime: &Path) -> Self {
        Self::new(Arc::new(ChangeNotifier::listen(runtime)))
    }

    /// Whether no socket could be bound: then other processes cannot wake this one.
    #[must_use]
    pub fn is_local_only(&self) -> bool {
        self.notifier.socket.is_none()
    }

    pub(super) fn new(notifier: Arc<ChangeNotifier>) -> Self {
        let changes = notifier.changes.subscribe();
        Self { notifier, changes }
    }

    /// Resolves once something may have changed since the last call (or since the handle was created);
    /// several changes may count as one. Cancel-safe: a dropped call loses nothing. Never resolves without
    /// one.
    pub async fn changed(&mut self) {
        let Some(socket) = &self.notifier.socket else {
            return next_change(&mut self.changes).await;
        };
        let mut byte = [0_u8; 1];
        tokio::select! {
            () = next_change(&mut self.changes) => {}
            received = socket.socket.recv(&mut byte) => {
                if received.is_err() {
                    // The runtime is shutting down; only changes of this process can still be received.
                    return next_change(&mut self.changes).await;
                }
                while socket.socket.try_recv(&mut byte).is_ok() {}
                // One handle of this process received the byte; the others are notified by the counter.
                self.notifier.changes.send_modify(|count| *count += 1);
                self.changes.mark_unchanged();
            }
        }
    }
}

async fn next_change(changes: &mut watch::Receiver<u64>) {
    // Closed only if the notifier is gone, but this handle holds the notifier.
    if changes.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// This process's socket, and the sender to all others.
pub(super) struct ChangeNotifier {
    changes: watch::Sender<u64>,
    /// `None` if no socket could be bound: then other processes cannot wake this one; all else works.
    socket: Option<WakeSocket>,
}

struct WakeSocket {
    socket: UnixDatagram,
    folder: PathBuf,
    path: PathBuf,
}

impl Drop for WakeSocket {
    fn drop(&mut self) {
        // If this fails, the next process that notifies removes the file.
        let _ = fs::remove_file(&self.path);
    }
}

impl ChangeNotifier {
    /// Binds a socket in `runtime` (created if missing), or in a short folder derived from it if the path
    /// would be too long for a socket. Must be called inside an async runtime.
    pub(super) fn listen(runtime: &Path) -> Self {
        let socket = match bind(runtime) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(%error, folder = %runtime.display(), "no wake-ups from other processes");
                None
            }
        };
        Self { changes: watch::Sender::new(0), socket }
    }

    /// A notifier for this process only, without a socket.
    pub(super) fn silent() -> Self {
        Self { changes: watch::Sender::new(0), socket: None }
    }

    /// Notifies every handle of this process and every other process. Never blocks: a full socket has a byte
    /// already.
    pub(super) fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
        if let Some(own) = &self.socket
            && let Err(error) = ring_others(&own.folder, &own.path)
        {
            tracing::debug!(%error, "other processes were not woken");
        }
    }
}

fn bind(runtime: &Path) -> io::Result<WakeSocket> {
    let folder = socket_folder(runtime);
    create_private_dir(&folder)?;
    check_private(&folder)?;
    let unique = Uuid::now_v7().simple().to_string();
    // The last digits of the id are random.
    let random: String = unique.chars().skip(24).collect();
    let path = folder.join(format!("{}-{random}.{SUFFIX}", std::process::id()));
    let socket = UnixDatagram::bind(&path)?;
    Ok(WakeSocket { socket, folder, path })
}

/// Returns the folder for the sockets of `runtime`: `runtime` itself, or, if the path is too long, a short
/// folder that is the same for every process of this user.
fn socket_folder(runtime: &Path) -> PathBuf {
    let bytes = runtime.as_os_str().as_bytes();
    if bytes.len() + LONGEST_NAME <= LONGEST_PATH {
        return runtime.to_owned();
    }
    let user = rustix::process::geteuid().as_raw();
    let short: String = fingerprint(bytes).chars().take(16).collect();
    PathBuf::from(format!("/tmp/co-{user}-{short}"))
}

/// Returns an error for a folder that another user owns or may enter.
fn check_private(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    let user = rustix::process::geteuid().as_raw();
    if metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder for sockets is not private"))
}

/// Notifies the processes that listen in this folder; does nothing if there is none. Never blocks.
pub fn wake_others(runtime: &Path) {
    // A folder that is missing has no listener.
    let _ = ring_others(&socket_folder(runtime), Path::new(""));
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
            // No process has it bound: its process died.
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

    async fn is_notified(listener: &mut ChangeListener) -> bool {
        tokio::time::timeout(SOON, listener.changed()).await.is_ok()
    }

    fn silent(listener: &mut ChangeListener) -> bool {
        use futures::FutureExt as _;
        listener.changed().now_or_never().is_none()
    }

    async fn check(runtime: &Path) {
        let (here, there) =
            (Arc::new(ChangeNotifier::listen(runtime)), Arc::new(ChangeNotifier::listen(runtime)));
        let mut listeners = [
            ChangeListener::new(Arc::clone(&here)),
            ChangeListener::new(Arc::clone(&there)),
            ChangeListener::new(Arc::clone(&there)),
        ];
        assert!(listeners.iter_mut().all(silent));
        here.notify();
        for listener in &mut listeners {
            assert!(is_notified(listener).await, "{}", runtime.display());
        }
        assert!(listeners.iter_mut().all(silent), "one notification is received once");
        for _ in 0..3_000 {
            there.notify();
        }
        assert!(is_notified(&mut listeners[0]).await, "a full socket neither blocks nor loses the hint");
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
        let notifier = ChangeNotifier::listen(&runtime);
        assert_eq!(fs::metadata(&runtime).unwrap().mode() & 0o777, 0o700);
        let stale = runtime.join("1-00000000.sock");
        drop(std::os::unix::net::UnixDatagram::bind(&stale).unwrap());
        fs::write(runtime.join("note.txt"), "").unwrap();
        notifier.notify();
        let mut left: Vec<_> = fs::read_dir(&runtime).unwrap().map(|e| e.unwrap().path()).collect();
        left.retain(|path| notifier.socket.as_ref().unwrap().path != *path);
        assert_eq!(left, [runtime.join("note.txt")]);

        fs::set_permissions(&runtime, fs::Permissions::from_mode(0o755)).unwrap();
        let local = Arc::new(ChangeNotifier::listen(&runtime));
        assert!(local.socket.is_none());
        let mut own = ChangeListener::new(Arc::clone(&local));
        local.notify();
        assert!(is_notified(&mut own).await, "a process without a socket still notifies itself");
    }
}
