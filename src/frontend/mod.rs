//! Front ends without a screen (print, JSON, plain), and the link between an interactive front end and the
//! session's owner.

pub mod channel;
pub mod dialogue;
pub mod export;
pub mod external_editor;
pub mod fields;
pub mod images;
pub mod import;
pub mod json;
pub mod plain;
pub mod print;
pub mod protocol;

pub(crate) mod sentences;
pub mod traces;

/// Whether an interactive front end is closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifecycle {
    #[default]
    Open,
    /// The owner was notified and has until then to answer.
    Closing {
        until_ms: u64,
    },
    Over,
}

/// The owner's timeout for saving and sending its goodbye, after the user quit and after a hangup.
pub(crate) const GOODBYE_MS: u64 = 3_000;
pub(crate) const HANGUP_MS: u64 = 800;

/// The time for which a second Ctrl+C quits.
pub(crate) const ARMED_MS: u64 = 2_000;

impl Lifecycle {
    /// Begins to close, or shortens the owner's time; returns whether it was open, so that the owner must be notified.
    pub(crate) fn close(&mut self, now_ms: u64, within_ms: u64) -> bool {
        let (was_open, until_ms) = (*self == Self::Open, now_ms + within_ms);
        match self {
            Self::Open => *self = Self::Closing { until_ms },
            Self::Closing { until_ms: before } => *before = until_ms.min(*before),
            Self::Over => {}
        }
        was_open
    }
}
