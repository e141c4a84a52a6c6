//! The whole program: the real binary in a real terminal or a pipe, against a model service over real HTTP.
//!
//! Each module is a table of cases and one check. Every case has its own home, data and workspace; nothing is shared,
//! nothing sleeps, and nothing leaves the machine.

mod arriving;
mod bad_answers;
mod bad_places;
mod changes;
mod contract;
mod conversation;
mod documents;
mod edited;
mod endings;
mod five;
mod hostile;
pub mod kit;
mod onboarding;
mod plain;
mod questions;
mod recordings;
mod rounds;
mod secrets_nowhere;
mod sent_lines;
pub mod terminal_state;
