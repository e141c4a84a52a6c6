//! The integration tests, one binary: each module is data plus one check.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod cli;
mod co;
mod crash;
mod crash_points;
mod end_to_end;
mod frontend;
mod peer;
mod peers;
mod provider;
mod readme;
mod runtime;
mod sandbox;
mod skip;
mod store;
mod tidy;
mod tui;
mod turns;
