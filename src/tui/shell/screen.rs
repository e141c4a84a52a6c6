//! Manages the terminal's state: taken over on entry, restored exactly once on exit.
//!
//! A return, an error, a panic and a catchable signal all restore it. SIGKILL, SIGSEGV and an abort cannot be
//! caught by safe code; after those the user must run `reset`.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

use super::frame_writer::write;
use crate::tui::msg::MouseMode;

/// Push the window title on the terminal's stack, and pop it.
const PUSH_TITLE: &[u8] = b"\x1b[22;2t";
const POP_TITLE: &[u8] = b"\x1b[23;2t";

/// Reports presses, releases and moves with a button held, with coordinates of any size. Moves without a
/// button are not requested: they would wake the program for nothing.
///
/// Alternate scroll (1007), by which a terminal that handles the mouse itself sends arrows for the wheel, is
/// not changed: nearly all terminals that support it have it on, and a change could not be undone, because
/// the answer to a query of its state would reach the terminal library, which takes it for the start of a
/// key. `input` recognises the arrows.
const MOUSE_ON: &[u8] = b"\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &[u8] = b"\x1b[?1006l\x1b[?1002l";

pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Returns the columns and rows of the terminal; 80x24 if it does not know them.
pub fn size() -> io::Result<(u16, u16)> {
    let size = rustix::termios::tcgetwinsize(io::stdout())?;
    Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
}

/// Makes the terminal library look for keys again after it reported a change of the size.
///
/// The library leaves keys that arrive together with a change of the size unread until more arrive, because
/// it waits for an edge-triggered readiness event that has passed. Setting the terminal's state to its
/// current value causes another.
pub fn offer_keys_again() {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let terminal = io::stdin();
    let set = tcgetattr(&terminal).and_then(|state| tcsetattr(&terminal, OptionalActions::Now, &state));
    if let Err(error) = set {
        tracing::debug!(%error, "keys that came with another size may wait for the next one");
    }
}

/// The screen while this program uses it.
#[derive(Debug, Clone)]
pub struct Screen {
    modern: bool,
    /// Whether the terminal must be restored; shared with the panic hook.
    taken: Arc<AtomicBool>,
    /// Whether mouse reports are wanted while the screen is in use.
    mouse: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over. `modern` terminals are asked for bracketed paste, focus reports, unambiguous
    /// keys and the mouse; a terminal that does not know a request ignores it, so nothing waits for an
    /// answer.
    pub fn enter(modern: bool, mouse: MouseMode) -> io::Result<Self> {
        let mouse = Arc::new(AtomicBool::new(mouse == MouseMode::Ours));
        let screen = Self { modern, taken: Arc::new(AtomicBool::new(false)), mouse };
        screen.enter_again()?;
        Ok(screen)
    }

    pub fn enter_again(&self) -> io::Result<()> {
        enable_raw_mode()?;
        self.taken.store(true, Ordering::SeqCst);
        let mut out = io::stdout();
        if self.modern {
            write(PUSH_TITLE)?;
        }
        execute!(out, EnterAlternateScreen)?;
        if self.modern {
            let keys = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
            execute!(out, EnableBracketedPaste, EnableFocusChange, PushKeyboardEnhancementFlags(keys))?;
            if self.mouse.load(Ordering::SeqCst) {
                write(MOUSE_ON)?;
            }
        }
        Ok(())
    }

    /// Sets whether this program or the terminal handles the mouse, from now on and on every later entry.
    pub fn set_mouse(&self, mode: MouseMode) -> io::Result<()> {
        let wanted = mode == MouseMode::Ours;
        let was = self.mouse.swap(wanted, Ordering::SeqCst);
        if was == wanted || !self.modern || !self.taken.load(Ordering::SeqCst) {
            return Ok(());
        }
        write(if wanted { MOUSE_ON } else { MOUSE_OFF })
    }

    /// Restores the terminal, unless already done. A lost terminal cannot be restored and need not be.
    pub fn leave(&self) {
        if !self.taken.swap(false, Ordering::SeqCst) {
            return;
        }
        let asked = if self.modern { self.ask_no_more() } else { Ok(()) };
        let left = execute!(io::stdout(), LeaveAlternateScreen, Show);
        let title = if self.modern { write(POP_TITLE) } else { Ok(()) };
        let cooked = disable_raw_mode();
        for outcome in [asked, left, title, cooked] {
            if let Err(error) = outcome {
                tracing::debug!(%error, "the terminal could not be restored");
            }
        }
    }

    fn ask_no_more(&self) -> io::Result<()> {
        let mouse = if self.mouse.load(Ordering::SeqCst) { write(MOUSE_OFF) } else { Ok(()) };
        let asked =
            execute!(io::stdout(), PopKeyboardEnhancementFlags, DisableFocusChange, DisableBracketedPaste);
        mouse.and(asked)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}
