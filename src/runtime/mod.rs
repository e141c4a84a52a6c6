//! What owns a session while it is worked on: behind a face ([`interactive`]) and where nobody watches ([`headless`]).
//!
//! Called by `cli` with what `app` built; nothing here draws or prints.

pub mod headless;
mod hooks;
pub mod interactive;
