//! The runner of turn scripts: a scripted model, a scripted user, a real driver, session and database.

mod frontend;
pub mod run;
pub mod script;
mod world;
