//! What happens to the model, and what it wants done: the two ends of `update`.

use super::key::Key;
use crate::frontend::link::{Ask, Update};

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Msg {
    /// Milliseconds of a clock that only goes forward; its zero means nothing.
    pub now_ms: u64,
    pub input: Input,
}

impl Msg {
    pub fn new(now_ms: u64, input: Input) -> Self {
        Self { now_ms, input }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Key(Key),
    /// A bracketed paste, as the terminal sent it.
    Paste(String),
    Update(Box<Update>),
    Resize {
        columns: u16,
        rows: u16,
    },
    /// The terminal's window gained or lost the focus.
    Window(Window),
    /// A moment the model asked for has come.
    Tick,
    /// The screen is about to be drawn: lay out what is visible.
    Frame,
    /// The terminal is gone or the program is told to end.
    Hangup,
    /// Something went wrong outside of the screen; to be shown.
    Trouble {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    Focused,
    Unfocused,
}

/// What `update` wants the shell to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Cmd {
    Send(Ask),
    /// Stop the process, as Ctrl+Z does, and come back.
    Suspend,
    /// Draw every cell anew.
    Redraw,
    /// Leave the screen.
    Exit,
}
