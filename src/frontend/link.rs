//! What an interactive face and the owner of the session say to each other.
//!
//! The face sends [`Ask`]s; the owner (in `app`) sends [`Update`]s: a turn's events and, between and
//! beside turns, notices, in one ordered stream. Plain values only; both ends are bounded channels.

use std::path::PathBuf;
use std::time::Duration;

use crate::agent::port::{Event, Op};
use crate::approval::{Request, Standing};
pub use crate::command::Tone;
use crate::history::SessionId;
use crate::message::Message;

/// From the face to the session's owner.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// A line the person entered: dispatched as quit, `!cmd`, `/command` or prompt by the owner.
    Line { text: String },
    /// A word on the running turn, or on a request that waits between turns.
    Op(Op),
    /// The composer's text, to be kept across restarts.
    Draft { text: String },
    /// Stop the running `!cmd`.
    StopShell,
    /// The face is closing; the owner ends what runs, saves, and answers with [`Notice::Goodbye`].
    Close,
}

/// From the session's owner to the face, in order.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "updates pass through one bounded channel")]
pub enum Update {
    Event(Event),
    Notice(Notice),
}

/// What the owner says outside of a turn's events.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// The header and status lines' facts; replaces the ones before.
    Header(Header),
    /// The conversation so far, when a session is opened or cleared; replaces the transcript.
    Transcript {
        messages: Vec<Message>,
    },
    /// The composer's text kept from the last time.
    Draft {
        text: String,
    },
    /// Lines entered in earlier sessions, the oldest first: what Up brings back.
    Inputs {
        lines: Vec<String>,
    },
    /// A turn began (a prompt, a resume).
    TurnBegan,
    /// Nothing runs; the next line starts a turn.
    Idle,
    /// Output of a slash command or a piece of advice, as Markdown.
    Local {
        title: String,
        text: String,
        tone: Tone,
    },
    /// A `!cmd` began; its output follows.
    ShellBegan {
        command: String,
    },
    ShellOutput {
        text: String,
    },
    ShellEnded {
        outcome: String,
        took: Duration,
    },
    /// Requests that wait in this session, deferred and detached ones included; replaces the ones before.
    Waiting {
        requests: Vec<Request>,
    },
    /// The owner has saved everything; `lines` stand on the normal screen after exit.
    Goodbye {
        lines: Vec<String>,
    },
}

/// Facts of the header and the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub session: SessionId,
    /// "new session" until the first prompt names it.
    pub title: String,
    pub workspace: PathBuf,
    /// e.g. `offline`, `anthropic`.
    pub provider: String,
    pub model: String,
    /// `unsandboxed`, `sandboxed`.
    pub isolation: &'static str,
    pub standing: Standing,
    /// Another process owns this session: it can be read only; says who.
    pub read_only: Option<String>,
    /// Tokens of the last request's input against the window, where both are known.
    pub context_percent: Option<u8>,
}
