//! The plain face: a conversation as lines of text, for screen readers, dumb terminals and logs.
//!
//! No boxes, no colours, no cursor movement, no timers that anybody sees: each thing is printed once, in order. The
//! state is [`Plain`], which is pure; [`run()`] reads lines and signals and prints. Like the full screen it decides
//! nothing: lines, decisions and interrupts go to the session's owner as `Ask`s.
//!
//! An approval is a numbered question. It is answered only by a line that came after it was printed, and not within half
//! a second; lines that were there before never answer it, on a terminal and on a pipe alike. Scripts decide with
//! `co approvals yes`.

mod answers;
mod approvals;
mod cap;
mod events;
mod inbox;
mod input;
mod messages;
mod page;
mod run;
mod sessions;
mod state;
mod words;

pub use self::run::{PlainError, PlainOptions, run};
pub use self::state::{Echo, Input, Plain, Setup, Source, ThinkingShown, Turned};
