//! The plain front end: a conversation as lines of text, for screen readers, dumb terminals and logs.
//!
//! It has no boxes, colours or cursor movement; each thing is printed once, in order. The state is [`Plain`], which is
//! pure; [`run()`] reads lines and signals and prints. Lines, decisions and interrupts go to the session's owner as
//! `ClientRequest`s.
//!
//! An approval is a numbered question. Only a line that arrives at least half a second after the question was printed
//! answers it, on a terminal and on a pipe alike. Scripts decide with `co approvals yes`.

mod answers;
mod approvals;
mod arguments;
mod cap;
mod describe;
mod edit;
mod events;
mod inbox;
mod input;
mod messages;
mod page;
mod run;
mod sessions;
mod state;

pub use self::run::{PlainError, PlainOptions, run};
pub use self::state::{Input, Plain, PlainOutput, Setup, Source};
