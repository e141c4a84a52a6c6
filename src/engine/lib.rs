//! The layers L2 to L5 of `co`: everything below its front ends. The code map is in `src/lib.rs`.

pub use co_base::{bash, config, message, stdx};

pub mod approval;
pub mod history;
pub mod hook;
pub mod provider;
pub mod sandbox;
pub mod tool;

pub mod memory;
pub mod session;
pub mod store;
pub mod telemetry;
pub mod undo;

pub mod agent;
