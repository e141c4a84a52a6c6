//! The test kit: what tests, benches and scripts share and the program does not ship.
//!
//! - [`replay`]: scripted replies, the provider that gives them in process, and a server that gives them over HTTP in
//!   five wire formats and checks every request.
//! - [`recording`]: a front end that keeps every event and answers from a script.
//! - [`turns`]: the runner of turn scripts (`evals/turns/*.turn`).
//! - [`any_bytes`]: what holds for any bytes that a server sends; also the entry of `fuzz/`.
//! - [`source`]: Rust files without comments and literals, for the tidy test and `scripts/measure`.

#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

pub mod any_bytes;
pub mod recording;
pub mod replay;
pub mod source;
pub mod turns;
