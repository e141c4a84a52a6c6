//! The input and output of `update`: events for the model, and commands to the shell.

use std::path::PathBuf;

use super::key::Key;
use super::markdown::Languages;
use crate::approval::RequestId;
use crate::frontend::images::{ImageError, SeenImage};
use crate::frontend::protocol::{ClientQuery, ClientRequest, QueryAnswer, Update};

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Key(Key),
    /// A bracketed paste, as the terminal sent it.
    Paste(String),
    Mouse(Mouse),
    /// The images that a pasted text names, or why one cannot be sent.
    Named {
        text: String,
        images: Result<Vec<SeenImage>, ImageError>,
    },
    /// The content of the clipboard, or why it cannot be read.
    Clipboard(Result<PastedItem, String>),
    /// A text from the user's editor.
    Edited(EditedText),
    Update(Box<Update>),
    /// The owner's answer to a query.
    Answer(Box<(ClientQuery, QueryAnswer)>),
    Resize {
        columns: u16,
        rows: u16,
    },
    /// The terminal's window gained or lost the focus.
    Window(Window),
    /// The time returned by `wake_at` has come.
    Tick,
    /// Code in these languages can be highlighted from now on.
    Loaded(Languages),
    /// The screen is about to be drawn: lay out what is visible.
    Frame,
    /// The terminal is gone, or a signal ends the program.
    Hangup,
    /// The result of a command to the shell; shown for a moment.
    Word {
        text: String,
    },
    /// A failure outside the screen, to be shown.
    Trouble {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    #[default]
    Focused,
    Unfocused,
}

/// A mouse event, in cells from the screen's upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    pub what: PointerEvent,
    pub column: u16,
    pub row: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerEvent {
    WheelUp,
    WheelDown,
    /// The left button.
    Press,
    Drag,
    Release,
}

/// The content of the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastedItem {
    /// An image, already stored in a file.
    Image(SeenImage),
    Text(String),
}

/// A text from the user's editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    pub target: EditTarget,
    /// The text as saved, or why there is none.
    pub text: Result<String, String>,
}

/// The target of an edited text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditTarget {
    Composer,
    /// The arguments of this request, as JSON.
    Arguments(RequestId),
    /// The reason of a denial of this request.
    Reason(RequestId),
    /// The reason of a denial of these requests of a list.
    Reasons(Vec<RequestId>),
    /// The rule being written at this request's card.
    Rule(RequestId),
    /// The whole request, for reading only.
    Reading(RequestId),
}

impl EditTarget {
    /// Returns the extension of the file, by which editors detect the format.
    pub fn extension(&self) -> &'static str {
        match self {
            Self::Composer | Self::Reason(_) | Self::Reasons(_) => "md",
            Self::Arguments(_) => "json",
            Self::Rule(_) => "toml",
            Self::Reading(_) => "txt",
        }
    }
}

/// The receiver of mouse events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseMode {
    /// This program: wheel, clicks, its own marking.
    #[default]
    Ours,
    /// The terminal, with its own marking.
    Terminals,
}

/// Why the user is alerted while the window has no focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alert {
    NeedsYou,
    TurnEnded,
}

/// A command of `update` to the shell.
#[derive(Debug, Clone, PartialEq)]
pub enum Cmd {
    Send(ClientRequest),
    Ask(ClientQuery),
    /// Stop the process, as Ctrl+Z does, and continue later.
    Suspend,
    /// Draw every cell again.
    Redraw,
    /// Open this text in the user's editor; the answer is [`Input::Edited`].
    Edit {
        text: String,
        target: EditTarget,
    },
    /// Copy this text to the terminal's clipboard; the result arrives as [`Input::Word`].
    Copy {
        text: String,
    },
    Mouse(MouseMode),
    /// Check whether this text, pasted into a composer of this folder, names images; if so the answer is
    /// [`Input::Named`].
    Name {
        text: String,
        folder: PathBuf,
    },
    /// Read the clipboard; the answer is [`Input::Clipboard`].
    ReadClipboard,
    /// Load these in the background; the answer is [`Input::Loaded`].
    Load(Languages),
    /// Alert the user in the way this terminal supports.
    Alert(Alert),
    /// Leave the screen.
    Exit,
}
