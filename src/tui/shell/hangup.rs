//! Hears that the terminal is gone where no signal says so: its line is hung up.
//!
//! The terminal library would read the end of the input again and again and never tell. Called by the shell's loop.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The terminal's line, watched; nothing is read from it.
pub struct Line {
    watched: Option<AsyncFd<OwnedFd>>,
}

impl Line {
    /// Watches standard input. One that cannot be watched is never heard of.
    pub fn open() -> Self {
        let line = io::stdin().as_fd().try_clone_to_owned();
        Self { watched: line.and_then(watch).ok() }
    }

    /// Resolves when the line is hung up. Cancel-safe. Wakes with every input, and with nothing else.
    pub async fn lost(&self) {
        let Some(watched) = &self.watched else { return std::future::pending().await };
        loop {
            let Ok(mut ready) = watched.readable().await else { return };
            if is_hung_up(watched.get_ref()) {
                return;
            }
            ready.clear_ready();
        }
    }
}

#[expect(
    deprecated,
    reason = "the one safe constructor; what is watched is owned, so it stays open meanwhile"
)]
fn watch(line: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(line, Interest::READABLE)
}

fn is_hung_up(line: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(line, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let answered = poll(&mut asked, Some(&at_once));
    answered.is_ok() && asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}
