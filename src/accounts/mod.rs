//! Accounts with model services: which are set up, their keys, the models they offer, and which of them answers.
//!
//! Called by `app`, `runtime` and `cli`; it sends requests to services, and nothing here prints.

mod choice;
mod error;
pub mod keys;
pub mod login;
mod models;
mod offers;
mod profiles;
mod services;

pub use self::choice::{Origin, mistaken, unused_keys};
pub use self::error::ModelError;
pub use self::keys::{KeyCommandError, KeyFile, KeyFileError, Keys};
pub use self::models::{ModelCheck, ModelChoice, Models};
pub use self::offers::{ListSource, Offer, OfferedModel, offers};
pub use self::profiles::{dollars, tokens};
pub use self::services::{HttpService, Service};
pub use crate::provider::offline::Pace;
