//! Accounts with model services: which are set up, their keys, the models they offer, and which of them answers.
//!
//! Called by `app`, `runtime` and `cli`; it sends requests to services, and nothing here prints.

pub mod keys;
pub mod login;
mod models;
mod offers;
mod profiles;
mod services;

pub use self::keys::{KeyCommandError, KeyFile, KeyFileError, Keys, Put};
pub use self::models::{ModelChoice, ModelError, Models, Origin, mistaken, unused};
pub use self::offers::{Lists, Offer, OfferedModel, offers};
pub use self::profiles::{dollars, tokens};
pub use self::services::{Service, Target};
pub use crate::provider::offline::Pace;
