//! Errors in rebound keys; the `Display` form is the message for the user. Names and places are sanitized by the
//! settings.

use super::written::guess;
use super::{Binding, WrittenKeyError};
use crate::config::Source;
use crate::tui::key::Key;

/// An error or a likely mistake.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KeyProblem {
    #[error(
        "{place}: `keys.{name}` is not an action; write it as `keys.context.action`; `co keys` lists them"
    )]
    NoAction { place: Source, name: String },
    #[error(
        "{place}: `keys.{name}`: there is no context `{context}`{}; `co keys` lists them",
        guess(.nearest.as_deref())
    )]
    UnknownContext { place: Source, name: String, context: String, nearest: Option<String> },
    #[error("{place}: `keys.{name}` is not an action{}; `co keys` lists them", guess(.nearest.as_deref()))]
    UnknownAction { place: Source, name: String, nearest: Option<String> },
    #[error("{place}: `keys.{name}` keeps its default: {error}")]
    BadKey { place: Source, name: String, error: WrittenKeyError },
    #[error("{place}: `keys.{}` keeps its default: {}", .binding.path(), .why.sentence(*.key))]
    Refused { place: Source, binding: &'static Binding, key: Key, why: Refusal },
    #[error("{place}: `keys.{}` keeps its default: it needs a key in every context", .binding.path())]
    WayOut { place: Source, binding: &'static Binding },
    #[error(
        "{key} is set for both `{}` and `{}` ({place}); `{}` applies. Give one of them another key.",
        .has.path(),
        .lost.path(),
        .has.path()
    )]
    Twice { place: Source, key: Key, has: &'static Binding, lost: &'static Binding },
    #[error(
        "{key} now does `{}` ({place}), and `{}`, which had it by default, has no key. Give `{}` \
         another key, or [].",
        .has.path(),
        .lost.path(),
        .lost.path()
    )]
    Taken { place: Source, key: Key, has: &'static Binding, lost: &'static Binding },
    #[error(
        "{key} does `{}` {}, so `{}` cannot be reached there. Give one of them another key.",
        .has.path(),
        .has.context.about(),
        .lost.path()
    )]
    Shadowed { key: Key, has: &'static Binding, lost: &'static Binding },
}

/// Why a key must not have an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Keys that are pressed without looking approve nothing.
    Reflex,
    /// It is a letter where letters are text.
    IsText,
    /// It is a key of interrupt or Escape.
    IsWayOut,
}

impl Refusal {
    fn sentence(self, key: Key) -> String {
        match self {
            Self::Reflex => format!("{key} is too easy to press by accident and never approves"),
            Self::IsText => {
                format!("{key} types text there; use a key with Ctrl or Alt, or one such as F2")
            }
            Self::IsWayOut => format!("{key} always interrupts or closes"),
        }
    }
}
