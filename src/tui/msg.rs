//! What happens to the model, and what it wants done: the two ends of `update`.

use std::path::PathBuf;

use super::key::Key;
use super::markdown::Languages;
use crate::approval::RequestId;
use crate::frontend::images::{ImageError, SeenImage};
use crate::frontend::protocol::{ClientRequest, Update};

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
    Mouse(Mouse),
    /// A pasted text names images, or one that cannot be sent.
    Named {
        text: String,
        images: Result<Vec<SeenImage>, ImageError>,
    },
    /// What the clipboard holds, or why nothing of it is known.
    Clipboard(Result<Clip, String>),
    /// The person's own editor gave the text back.
    Edited(Edited),
    Update(Box<Update>),
    Resize {
        columns: u16,
        rows: u16,
    },
    /// The terminal's window gained or lost the focus.
    Window(Window),
    /// A moment the model asked for has come.
    Tick,
    /// Code in these can be drawn in colours from now on.
    Loaded(Languages),
    /// The screen is about to be drawn: lay out what is visible.
    Frame,
    /// The terminal is gone or the program is told to end.
    Hangup,
    /// What became of something the shell was told to do; shown for a moment.
    Word {
        text: String,
    },
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

/// Something the mouse did, in cells from the screen's left upper corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    pub what: MouseWhat,
    pub column: u16,
    pub row: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseWhat {
    WheelUp,
    WheelDown,
    /// The left button.
    Press,
    Drag,
    Release,
}

/// What was in the clipboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clip {
    /// An image; it lies in a file by now.
    Image(SeenImage),
    Text(String),
}

/// A text that was written in the person's own editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub target: Target,
    /// The text as it was saved, or why there is none.
    pub text: Result<String, String>,
}

/// Where a text that is edited outside belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Composer,
    /// The arguments of this request, as JSON.
    Arguments(RequestId),
    /// The reason of a no to this request.
    Reason(RequestId),
    /// The reason of a no to these requests of a list.
    Reasons(Vec<RequestId>),
    /// The rule that is about to be saved at this request's card.
    Rule(RequestId),
    /// All that this request would do, to be read only.
    Reading(RequestId),
}

impl Target {
    /// The ending of the file's name, by which editors know what they show.
    pub fn extension(&self) -> &'static str {
        match self {
            Self::Composer | Self::Reason(_) | Self::Reasons(_) => "md",
            Self::Arguments(_) => "json",
            Self::Rule(_) => "toml",
            Self::Reading(_) => "txt",
        }
    }
}

/// Who hears of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseMode {
    /// We do: wheel, clicks, our own marking.
    #[default]
    Ours,
    /// The terminal does, with its own marking.
    Terminals,
}

/// Why the person is called while looking elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Alert {
    NeedsYou,
    TurnEnded,
}

/// What `update` wants the shell to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Cmd {
    Send(ClientRequest),
    /// Stop the process, as Ctrl+Z does, and come back.
    Suspend,
    /// Draw every cell anew.
    Redraw,
    /// Let the person write this text in their own editor; the answer is [`Input::Edited`].
    Edit {
        text: String,
        target: Target,
    },
    /// Give this text to the terminal's clipboard; the shell says what became of it ([`Input::Word`]).
    Copy {
        text: String,
    },
    Mouse(MouseMode),
    /// Look whether this text, pasted into a composer of this folder, names images; if so the answer is
    /// [`Input::Named`].
    Name {
        text: String,
        folder: PathBuf,
    },
    /// Read the clipboard; the answer is [`Input::Clipboard`].
    ReadClipboard,
    /// Load these, slowly and elsewhere; the answer is [`Input::Loaded`].
    Load(Languages),
    /// Call the person; the shell does so in the way this terminal knows.
    Alert(Alert),
    /// Leave the screen.
    Exit,
}
