//! Why a model cannot answer.

use super::keys::KeyFileError;
use crate::provider::http::SetupError;

/// Why a model cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("{provider} needs a key: `co auth add {provider}` saves one{}", or_set(*env))]
    NoKey { provider: String, env: Option<&'static str> },
    #[error("{provider} takes its key from ${variable}, which is not set")]
    NoVariable { provider: String, variable: String },
    #[error(
        "{provider} needs its address, e.g. --set base_url=http://localhost:8000/v1, or `base_url` in a section \
         [providers.{provider}] of your settings"
    )]
    NoAddress { provider: String },
    #[error("{provider} needs a model name: --model {provider}/NAME; `co models {provider}` lists them")]
    NoModel { provider: String },
    #[error("no service is set up for the model `{model}`, and no server on this machine offers models{}", get(*vendor))]
    NoService { model: String, vendor: Option<&'static str> },
    #[error("`api_key` is set without a provider: set `provider` too")]
    KeyForNobody,
    #[error("there is no provider `{provider}`{}; `co auth list` lists them", guess(nearest.as_deref()))]
    NoProvider { provider: String, nearest: Option<String> },
    #[error("`providers.{provider}.preset` is `{preset}`, which is not a preset{}", guess(nearest.as_deref()))]
    NoPreset { provider: String, preset: String, nearest: Option<String> },
    #[error("`providers.{provider}.quirks`: {detail}")]
    Quirk { provider: String, detail: String },
    #[error("{provider} has no model `{model}`{}; `/model` lists all", guess(nearest.as_deref()))]
    NoSuchModel { provider: String, model: String, nearest: Option<String> },
    /// A second model that is configured.
    #[error("{setting} `{name}` cannot be used ({why}); {instead}")]
    Configured { setting: &'static str, name: String, why: String, instead: &'static str },
    #[error(transparent)]
    KeyFile(#[from] KeyFileError),
    #[error(transparent)]
    Setup(#[from] SetupError),
}

fn or_set(env: Option<&str>) -> String {
    let own = ", or set `api_key` in your settings".to_owned();
    env.map_or(own, |env| format!(", or set {env} in the environment"))
}

fn get(vendor: Option<&str>) -> String {
    vendor.map(|name| format!(": `co auth add {name}` saves a key for it")).unwrap_or_default()
}

fn guess(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
