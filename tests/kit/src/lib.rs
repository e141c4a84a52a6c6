//! The test kit: code shared by tests, benches and scripts that is not shipped.
//!
//! - [`replay`]: scripted replies, a provider that plays them in process, and a server that plays them over
//!   HTTP in five wire formats and checks every request.
//! - [`recording`]: a front end that records every event and answers from a script.
//! - [`turns`]: the runner of turn scripts (`evals/turns/*.turn`).
//! - [`any_bytes`]: properties that hold for any bytes from a server; also the entry point of `fuzz/`.
//! - [`structure`]: import circles and names of types, for the same two.
//! - [`source`]: Rust files without comments and literals, for the tidy test and `scripts/measure`.

#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

use co_engine::message::{Message, NoteKind, UserPart};

/// The message without the note on date, mode and sandbox.
pub fn without_situation(message: &Message) -> Message {
    let mut message = message.clone();
    if let Message::User { parts } = &mut message {
        parts.retain(|part| !matches!(part, UserPart::Note { kind: NoteKind::Situation, .. }));
    }
    message
}

pub mod any_bytes;
pub mod recording;
pub mod replay;
pub mod source;
pub mod structure;
pub mod turns;
