//! The knowledge that needs no request: services by name, models with their windows and prices.
//!
//! Holds tables, the search for a model server on this machine, and the reading of services' own model lists.
//! It reads no environment and chooses nothing: `app` chooses, from these rows.

mod listing;
mod local;
mod models;
mod presets;

pub use self::listing::{ListEndpoint, ListedModel, list};
pub use self::local::{Probe, RunningServer, probe_local};
pub use self::models::{ModelRow, profile, rows, vendor};
pub use self::presets::{
    ANTHROPIC, AZURE_OPENAI, GEMINI, LLAMACPP, LMSTUDIO, LocalServer, OLLAMA, OPENAI, OPENAI_COMPATIBLE,
    OPENROUTER, PRESETS, Preset, preset,
};
