//! The owners of sessions: with an interactive front end ([`interactive`]) and without a user ([`headless`]). Called by
//! `cli` with what `app` built; nothing here draws or prints.

pub mod headless;
mod hooks;
pub mod interactive;
