//! The database, by itself and with several processes.

pub mod audit;
pub mod badge;
pub mod common;
pub mod expiry;
pub mod many;
pub mod power;
pub mod races;
pub mod requests;
pub mod retention;
pub mod search;
pub mod sessions;
