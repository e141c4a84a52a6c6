//! What is known without asking anybody: services by name, models with their windows and prices.
//!
//! Tables, the search for a model server on this machine, and the reading of services' own lists. It reads no
//! environment and chooses nothing: `app` does, with these rows.

mod listing;
mod local;
mod models;
mod presets;

pub use self::listing::{ListEndpoint, ListForm, Listed, list};
pub use self::local::{Found, LocalServer, Probe, probe_local};
pub use self::models::{ModelRow, profile, rows};
pub use self::presets::{
    ANTHROPIC, AZURE_OPENAI, Codec, GEMINI, KeyNeed, LLAMACPP, LMSTUDIO, ModelNames, OLLAMA, OPENAI,
    OPENAI_COMPATIBLE, OPENROUTER, PRESETS, Preset, preset, reference_table,
};
