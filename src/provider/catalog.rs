//! The services that are known by name: where they are, what key they want, which model they start with.
//!
//! Tables, and the search for a model server on this machine. It reads no environment and chooses nothing: `app` does,
//! with these rows. A provider that is known and not built is a row too, so that its key is named and never passed
//! over in silence.

mod listing;
mod local;
mod models;

pub use self::listing::{ListEndpoint, ListForm, Listed, list};
pub use self::local::{Found, LOCAL_SERVERS, LocalServer, Probe, probe_local};
pub use self::models::{ModelRow, profile, rows};
use super::http::KeyHeader;
use super::openai_chat::Quirks;

/// A service that can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceRow {
    /// As it is typed and stored.
    pub name: &'static str,
    /// As it is told to a person.
    pub title: &'static str,
    pub base_url: &'static str,
    /// The environment's name for the key.
    pub key_env: &'static str,
    pub key_header: KeyHeader,
    pub codec: Codec,
    pub default_model: &'static str,
}

/// The wire a service speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Anthropic,
    OpenAiChat(Quirks),
    OpenAiResponses,
    Gemini,
    Ollama,
}

pub const ANTHROPIC: ServiceRow = ServiceRow {
    name: "anthropic",
    title: "Anthropic",
    base_url: "https://api.anthropic.com",
    key_env: "ANTHROPIC_API_KEY",
    key_header: KeyHeader::XApiKey,
    codec: Codec::Anthropic,
    default_model: "claude-sonnet-5",
};

pub const OPENAI: ServiceRow = ServiceRow {
    name: "openai",
    title: "OpenAI",
    base_url: "https://api.openai.com/v1",
    key_env: "OPENAI_API_KEY",
    key_header: KeyHeader::Bearer,
    codec: Codec::OpenAiChat(Quirks::OPENAI),
    default_model: "gpt-5",
};

/// The services, in the order in which keys are looked for.
pub const SERVICES: &[ServiceRow] = &[ANTHROPIC, OPENAI];

/// A service that is known and has no provider of its own yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterRow {
    pub name: &'static str,
    pub title: &'static str,
    pub key_envs: &'static [&'static str],
    pub meanwhile: Meanwhile,
}

/// How a service can be used before it has a provider of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// It speaks Chat Completions at this address.
    Compatible {
        base_url: &'static str,
    },
    NotAtAll,
}

const fn compatible(
    name: &'static str,
    title: &'static str,
    key_envs: &'static [&'static str],
    base_url: &'static str,
) -> LaterRow {
    LaterRow { name, title, key_envs, meanwhile: Meanwhile::Compatible { base_url } }
}

/// The services that come later.
pub const LATER: &[LaterRow] = &[
    compatible(
        "gemini",
        "Gemini",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        "https://generativelanguage.googleapis.com/v1beta/openai",
    ),
    compatible("openrouter", "OpenRouter", &["OPENROUTER_API_KEY"], "https://openrouter.ai/api/v1"),
    compatible("groq", "Groq", &["GROQ_API_KEY"], "https://api.groq.com/openai/v1"),
    compatible("mistral", "Mistral", &["MISTRAL_API_KEY"], "https://api.mistral.ai/v1"),
    compatible("deepseek", "DeepSeek", &["DEEPSEEK_API_KEY"], "https://api.deepseek.com/v1"),
    compatible("xai", "xAI", &["XAI_API_KEY"], "https://api.x.ai/v1"),
    LaterRow {
        name: "azure",
        title: "Azure OpenAI",
        key_envs: &["AZURE_OPENAI_API_KEY"],
        meanwhile: Meanwhile::NotAtAll,
    },
    LaterRow {
        name: "cohere",
        title: "Cohere",
        key_envs: &["COHERE_API_KEY"],
        meanwhile: Meanwhile::NotAtAll,
    },
];

/// A key that is set and of no use yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnusedKey {
    pub row: &'static LaterRow,
    pub env: &'static str,
}

impl std::fmt::Display for UnusedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is set, but {} has no provider of its own yet", self.env, self.row.title)?;
        match self.row.meanwhile {
            Meanwhile::Compatible { base_url } => {
                write!(
                    f,
                    "; use it with provider = \"openai-compatible\", base_url = \"{base_url}\" and its key as api_key"
                )
            }
            Meanwhile::NotAtAll => Ok(()),
        }
    }
}

/// The keys of services that come later, as far as they are set.
pub fn unused_keys(is_set: impl Fn(&str) -> bool) -> Vec<UnusedKey> {
    let keys = LATER.iter().flat_map(|row| row.key_envs.iter().map(move |env| UnusedKey { row, env }));
    keys.filter(|key| is_set(key.env)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_and_keys_are_unique() {
        let names = SERVICES.iter().map(|row| row.name).chain(LATER.iter().map(|row| row.name));
        let names = names.chain(LOCAL_SERVERS.iter().map(|server| server.name));
        let keys = SERVICES
            .iter()
            .map(|row| row.key_env)
            .chain(LATER.iter().flat_map(|row| row.key_envs.iter().copied()));
        let all: Vec<&str> = names.chain(keys).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }

    #[test]
    fn a_key_without_provider_is_named() {
        let set = ["GROQ_API_KEY", "COHERE_API_KEY", "OPENAI_API_KEY"];
        let said: Vec<String> =
            unused_keys(|env| set.contains(&env)).iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "GROQ_API_KEY is set, but Groq has no provider of its own yet; use it with provider = \
                 \"openai-compatible\", base_url = \"https://api.groq.com/openai/v1\" and its key as api_key",
                "COHERE_API_KEY is set, but Cohere has no provider of its own yet",
            ]
        );
    }
}
