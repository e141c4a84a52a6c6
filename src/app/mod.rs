//! The composition root: the only module that names concrete types of all layers and puts them together.
//!
//! [`World`] is what the process was given, [`App`] what is built from it once. Called by `runtime` and by `cli`, which
//! turns outcomes into exit codes; nothing here prints.

mod build;
mod hooks;
mod opening;
mod orphans;
pub mod rules;
mod status;
pub mod trust;
mod world;

pub mod images;

pub use self::build::{
    App, AppError, Tools, advice, advice_at_start, load_settings, open_store, open_store_for_lists,
    open_store_to_read, plan_context, planned, schema_of, tools,
};
pub use self::hooks::{FoundHook, FoundHooks, HookFiles};
pub use self::opening::{Opened, Opening};
pub use self::orphans::{orphaned_processes, own_mark};
pub use self::status::status_rows;
pub use self::world::World;
