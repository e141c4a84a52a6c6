//! The owner of a session behind an interactive front end.

pub mod assembled;
pub mod branches;
pub mod hooks;
pub mod inbox;
pub mod interactive;
pub mod login;
pub mod memory;
pub mod prompts;
pub mod rules;
pub mod servers;
pub mod session_rules;
pub mod sessions;
pub mod tasks;
pub mod titles;
pub mod undo;
