//! The terminal's state: taken over on entry, given back exactly once however the program leaves.

use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Columns and rows, as the terminal says; 80x24 where it does not know.
pub fn size() -> io::Result<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout())?;
    Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
}

/// The screen while it is ours. Mouse reports stay off, so that the terminal's own selection works.
#[derive(Debug, Clone)]
pub struct Screen {
    modern: bool,
    /// Whether there is something to give back; shared with the panic hook.
    taken: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over. `modern` terminals are asked for paste marks, focus reports and unambiguous keys;
    /// one that does not know a request ignores it, so nothing waits for an answer.
    pub fn enter(modern: bool) -> io::Result<Self> {
        let screen = Self { modern, taken: Arc::new(AtomicBool::new(false)) };
        screen.enter_again()?;
        Ok(screen)
    }

    pub fn enter_again(&self) -> io::Result<()> {
        enable_raw_mode()?;
        self.taken.store(true, Ordering::SeqCst);
        let mut out = io::stdout();
        execute!(out, EnterAlternateScreen)?;
        if self.modern {
            let keys = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
            execute!(out, EnableBracketedPaste, EnableFocusChange, PushKeyboardEnhancementFlags(keys))?;
        }
        Ok(())
    }

    /// Gives the terminal back, if it was not yet. A terminal that is gone cannot be restored, and need not.
    pub fn leave(&self) {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return;
        }
        let mut out = io::stdout();
        let modern = || {
            let mut out = io::stdout();
            execute!(out, PopKeyboardEnhancementFlags, DisableFocusChange, DisableBracketedPaste)
        };
        let asked = if self.modern { modern() } else { Ok(()) };
        let left = execute!(out, LeaveAlternateScreen, Show);
        let cooked = disable_raw_mode();
        for outcome in [asked, left, cooked] {
            if let Err(error) = outcome {
                tracing::debug!(%error, "the terminal could not be restored");
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Collects a frame and sends it in one write, between the marks of a synchronized update.
///
/// Copies share the frame: one is the drawing library's, the other sends.
#[derive(Debug, Clone, Default)]
pub struct Out {
    frame: Arc<Mutex<Vec<u8>>>,
}

/// CSI 2026: terminals that know it show the frame at once; others ignore it.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Nothing leaves before the frame is whole.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Out {
    /// Sends what was drawn since the last time, if anything was.
    pub fn send(&self) -> io::Result<()> {
        let mut frame = self.frame.lock().unwrap_or_else(PoisonError::into_inner);
        if frame.is_empty() {
            return Ok(());
        }
        let whole = [BEGIN, &frame, END].concat();
        frame.clear();
        let mut out = io::stdout().lock();
        out.write_all(&whole)?;
        out.flush()
    }
}
