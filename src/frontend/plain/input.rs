//! Standard input as lines, and the input that is already available.
//!
//! It is read only when input is available, so that nothing blocks and no thread waits in a read. The
//! terminal itself edits lines. Called by this front end's loop only.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcgetpgrp, tcsetattr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::state::{Input, Source};

/// Bytes of the longest line.
const LONGEST: usize = 8 * 1024 * 1024;

/// Maximum bytes kept of input from before a question.
const MOST_BEFORE: usize = 1024 * 1024;

/// Bytes of one read.
const PIECE: usize = 16 * 1024;

pub(super) struct Stdin {
    /// `None` for a file, which is always ready.
    watched: Option<AsyncFd<OwnedFd>>,
    fd: OwnedFd,
    source: Source,
    buffer: Vec<u8>,
    state: InputState,
    /// The beginning of the buffer is from before the last question.
    torn: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputState {
    Open,
    Ended,
    Lost,
}

/// Input that was already available.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BufferedInput {
    pub(super) lines: Vec<String>,
    /// The beginning of a line, on a terminal: it has been removed there.
    pub(super) begun: String,
    pub(super) flood: bool,
}

impl Stdin {
    pub(super) fn open(source: Source) -> io::Result<Self> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        let watched = watch(fd.try_clone()?).ok();
        Ok(Self { watched, fd, source, buffer: Vec::new(), state: InputState::Open, torn: false })
    }

    /// Returns the next line, or why there is none. Cancel-safe: a partly read line is kept.
    pub(super) async fn next(&mut self) -> Input {
        loop {
            if let Some(line) = self.line() {
                return match std::mem::take(&mut self.torn) {
                    true => Input::Asked { before: vec![line], begun: String::new() },
                    false => Input::Line(line),
                };
            }
            if self.buffer.len() > LONGEST {
                return Input::Flood;
            }
            match self.state {
                InputState::Open => {}
                InputState::Ended if self.buffer.is_empty() => return Input::End,
                // The last line of a file may lack its line break.
                InputState::Ended => self.buffer.push(b'\n'),
                InputState::Lost => return Input::Hangup,
            }
            if self.state != InputState::Open {
                continue;
            }
            if let Some(watched) = &self.watched {
                let Ok(mut ready) = watched.readable().await else { return Input::Hangup };
                if !has_more(&self.fd) {
                    ready.clear_ready();
                    continue;
                }
            }
            self.read();
        }
    }

    fn line(&mut self) -> Option<String> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let rest = self.buffer.split_off(end + 1);
        let line = std::mem::replace(&mut self.buffer, rest);
        Some(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    /// Takes all complete lines.
    fn lines(&mut self) -> Vec<String> {
        let end = self.buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rest = self.buffer.split_off(end);
        let whole = std::mem::replace(&mut self.buffer, rest);
        let text = String::from_utf8_lossy(&whole);
        text.split_terminator('\n').map(str::to_owned).collect()
    }

    fn read(&mut self) {
        let mut piece = [0; PIECE];
        match rustix::io::read(&self.fd, &mut piece) {
            Ok(0) => self.state = InputState::Ended,
            Ok(length) => self.buffer.extend_from_slice(&piece[..length]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.state = InputState::Lost,
        }
    }

    /// Takes everything that is already available, without waiting.
    pub(super) fn drain(&mut self) -> BufferedInput {
        let mut drained = BufferedInput::default();
        let mut bytes = self.buffer.len();
        while self.state == InputState::Open && self.has_more() {
            let before = self.buffer.len();
            self.read();
            bytes += self.buffer.len() - before;
            if bytes > MOST_BEFORE {
                return BufferedInput { flood: true, ..BufferedInput::default() };
            }
        }
        drained.lines = self.lines();
        match self.source {
            Source::Terminal => {
                self.take_unfinished();
                drained.lines.extend(self.lines());
                drained.begun = String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned();
            }
            Source::Pipe => self.torn = !self.buffer.is_empty(),
        }
        drained
    }

    fn has_more(&self) -> bool {
        self.watched.is_none() || has_more(&self.fd)
    }

    /// Takes the line that is being typed on the terminal: it can be read only in non-canonical mode, which
    /// is set for a moment. A background process does not touch the terminal.
    fn take_unfinished(&mut self) {
        let ours = tcgetpgrp(&self.fd).is_ok_and(|group| group == rustix::process::getpgrp());
        let (true, Ok(modes)) = (ours && self.state == InputState::Open, tcgetattr(&self.fd)) else { return };
        if !modes.local_modes.contains(LocalModes::ICANON) {
            return;
        }
        let mut raw = modes.clone();
        raw.local_modes.remove(LocalModes::ICANON);
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        if tcsetattr(&self.fd, OptionalActions::Now, &raw).is_err() {
            return;
        }
        let mut piece = [0; PIECE];
        if let Ok(length) = rustix::io::read(&self.fd, &mut piece) {
            self.buffer.extend_from_slice(&piece[..length]);
        }
        let restored = tcsetattr(&self.fd, OptionalActions::Now, &modes);
        if let Err(error) = restored {
            tracing::warn!(%error, "the terminal's line mode could not be restored");
        }
    }
}

fn has_more(fd: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(fd, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    let wanted = PollFlags::IN | PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().intersects(wanted)
}

#[expect(
    deprecated,
    reason = "the one safe constructor; what is watched is owned, so it stays open meanwhile"
)]
fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}
