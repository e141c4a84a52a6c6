//! The agent: one user turn from prompt to end, and the ports it needs.
//!
//! `turn`, `calls`, `assemble`, `budget`, `caps`, `loop_guard`, `links` and `context` are pure; only `driver`
//! awaits.

pub mod assemble;
pub mod budget;
pub mod calls;
pub mod caps;

pub mod context;
pub mod driver;
pub mod effect;
pub mod links;
pub mod loop_guard;
pub mod port;
pub mod prompt;
pub mod statuses;
pub mod turn;

#[cfg(test)]
mod tests;
