//! The layers L0 and L1 of `co`. The code map is in `src/lib.rs`.

pub mod stdx;

pub mod bash;
pub mod config;
pub mod message;
