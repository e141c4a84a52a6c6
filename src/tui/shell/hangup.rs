//! Detects a lost terminal where no signal reports it: its line is hung up.
//!
//! The terminal library reads the end of such an input again and again, never reports it, and never returns,
//! neither in its own thread nor in the caller's poll. So nothing here runs in the shell's loop, which may
//! itself be blocked: a separate task replaces standard input with a silent one, which ends the reading
//! wherever it goes on.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::dup2_stdin;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Watches the terminal's line until dropped; reads nothing from it.
pub struct Line {
    gone: Arc<Notify>,
    /// `None` if the line cannot be watched; a hangup is then not detected.
    watch: Option<JoinHandle<()>>,
}

impl Line {
    /// Watches standard input. Needs a runtime with more than one thread, for the reason above.
    pub fn open() -> Self {
        let gone = Arc::new(Notify::new());
        let line = io::stdin().as_fd().try_clone_to_owned();
        let watch = line.and_then(watch).ok().map(|watched| {
            let tell = Arc::clone(&gone);
            tokio::spawn(async move {
                hung_up(&watched).await;
                if let Err(error) = silence() {
                    tracing::debug!(%error, "the input could not be silenced");
                }
                tell.notify_one();
            })
        });
        Self { gone, watch }
    }

    /// Resolves once when the line is hung up; from then on standard input yields nothing. Cancel-safe.
    pub async fn wait_for_hangup(&self) {
        self.gone.notified().await;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
    }
}

/// The interest with which a hangup is reported. The system reports it with any, and input would wake a thread that does
/// not read it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const HANGUP: Interest = Interest::PRIORITY;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const HANGUP: Interest = Interest::READABLE;

/// Waits for the hangup.
async fn hung_up(line: &AsyncFd<OwnedFd>) {
    loop {
        let Ok(mut ready) = line.ready(HANGUP).await else { return std::future::pending().await };
        if is_hung_up(line.get_ref()) {
            return;
        }
        ready.clear_ready();
    }
}

/// Replaces standard input by one that never has data and never ends: an unconnected socket.
fn silence() -> io::Result<()> {
    let sink = UnixDatagram::unbound()?;
    sink.set_nonblocking(true)?;
    Ok(dup2_stdin(&sink)?)
}

#[expect(
    deprecated,
    reason = "the one safe constructor; what is watched is owned, so it stays open meanwhile"
)]
fn watch(line: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(line, HANGUP)
}

fn is_hung_up(line: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(line, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let answered = poll(&mut asked, Some(&at_once));
    answered.is_ok() && asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}
