//! Writes to the terminal: frames, each in one write, and single sequences between them.
//!
//! While the screen is in use, only this and the code that enters and leaves the screen write to the
//! terminal.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;

/// Collects a frame and sends it in one write, as a synchronized update.
///
/// Copies share the frame: the drawing library writes to one, and another sends it.
#[derive(Debug, Clone, Default)]
pub struct FrameWriter {
    frame: Arc<Mutex<Vec<u8>>>,
}

/// CSI 2026: terminals that know it show the frame at once; others ignore it.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

impl Write for FrameWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Does nothing: a frame is sent only when it is complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FrameWriter {
    /// Takes the bytes drawn since the last time, so that they are not sent.
    #[cfg(test)]
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.frame.lock())
    }

    /// Sends the bytes drawn since the last time, if any.
    pub fn send(&self) -> io::Result<()> {
        let mut frame = self.frame.lock();
        if frame.is_empty() {
            return Ok(());
        }
        let whole = [BEGIN, &frame, END].concat();
        frame.clear();
        write(&whole)
    }
}

/// Sends a sequence that draws nothing, between frames.
pub fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
