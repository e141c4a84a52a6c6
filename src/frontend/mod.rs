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
