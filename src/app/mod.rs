//! The composition root: the only module that names concrete types of all layers and puts them together.
//!
//! [`World`] is what the process was given, [`App`] what is built from it once, [`Models`] who answers,
//! [`conductor`] the owner of an interactive session, [`headless`] of one that nobody watches. Called by `cli`, which
//! turns outcomes into exit codes; nothing here prints.

mod build;
mod hooks;
mod keys;
mod left;
pub mod login;
mod models;
mod offers;
mod opening;
mod profiles;
pub mod rules;
mod services;
mod status;
pub mod trust;
mod world;

pub mod conductor;
pub mod headless;
pub mod images;

pub use self::build::{
    App, AppError, Tools, advice, advice_at_start, load_settings, open_store, open_store_for_lists,
    open_store_to_read, plan_context, planned, schema_of, tools,
};
pub use self::hooks::{FoundHook, FoundHooks, HookFiles};
pub use self::keys::{KeyCommandError, KeyFile, KeyFileError, Keys, Put};
pub use self::left::left_behind;
pub use self::models::{ModelChoice, ModelError, Models, Origin};
pub use self::offers::{Lists, Offer, OfferedModel, offers};
pub use self::opening::{Opened, Opening};
pub use self::profiles::{dollars, tokens};
pub use self::services::{Service, Target};
pub use self::status::status_rows;
pub use self::world::World;
pub use crate::provider::offline::Pace;
