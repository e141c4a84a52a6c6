//! The table of presets: services that are known by name.
//!
//! For each service: its address, its wire, its key and the key's header, how to check a key, its default
//! model. Data only: it reads no environment and chooses nothing. `app` chooses, and `co help models`
//! lists these rows. A row names a default model only where that model is certain to exist;
//! otherwise the service's list is requested.

use crate::config::Codec;
use crate::provider::http::KeyHeader;
use crate::provider::openai_chat::Quirks;

/// A service that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// The name in the settings and in storage.
    pub name: &'static str,
    /// The name for display.
    pub title: &'static str,
    pub codec: Codec,
    /// The codec for an address set by the user, where it differs.
    pub elsewhere: Codec,
    /// The service's deviations from Chat Completions.
    pub chat: Quirks,
    /// `None`: the user must set the address.
    pub base_url: Option<&'static str>,
    /// The path appended to an address set by the user that has none.
    pub path: &'static str,
    /// The environment variables for the key; messages name the first.
    pub key_envs: &'static [&'static str],
    pub key_header: KeyHeader,
    /// Whether it works with a key only.
    pub needs_key: bool,
    /// The page where the service's keys are made.
    pub keys_url: Option<&'static str>,
    pub default_model: Option<&'static str>,
    /// Whether its model names have the vendor's name before a slash: `openai/gpt-oss-120b`.
    pub names_have_slashes: bool,
    /// A path below the base URL for a cheap GET that checks a key, where the model list needs no key.
    pub check: Option<&'static str>,
    /// How to find it on this machine, if it is a local server.
    pub local: Option<LocalServer>,
}

/// How to recognize a local server of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalServer {
    /// Its usual port.
    pub port: u16,
    /// The path of its model list, below its host.
    pub(super) path: &'static str,
    pub(super) form: LocalForm,
}

/// The form that an answer must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalForm {
    /// `{"models": [{"name", "digest" or "details"}]}`
    Ollama,
    /// `{"data": [{"id", "type": "llm" | "vlm" | "embeddings", …}]}`
    LmStudio,
    /// `{"data": [{"id", "owned_by": "llamacpp"}]}`
    LlamaCpp,
}

/// Creates the preset of a service that speaks Chat Completions at this address, requires a key, and lists
/// its models at `/models`.
const fn hosted_preset(
    name: &'static str,
    title: &'static str,
    base_url: &'static str,
    key_envs: &'static [&'static str],
    chat: Quirks,
) -> Preset {
    Preset {
        name,
        title,
        codec: Codec::OpenAiChat,
        elsewhere: Codec::OpenAiChat,
        chat,
        base_url: Some(base_url),
        path: "",
        key_envs,
        key_header: KeyHeader::Bearer,
        needs_key: true,
        keys_url: None,
        default_model: None,
        names_have_slashes: false,
        check: None,
        local: None,
    }
}

/// Creates the preset of a self-hosted server that speaks Chat Completions below `/v1`.
const fn own(
    name: &'static str,
    title: &'static str,
    base_url: &'static str,
    key_envs: &'static [&'static str],
) -> Preset {
    Preset {
        needs_key: false,
        names_have_slashes: true,
        path: "/v1",
        ..hosted_preset(name, title, base_url, key_envs, Quirks::COMPATIBLE)
    }
}

impl Preset {
    const fn model(mut self, model: &'static str) -> Self {
        self.default_model = Some(model);
        self
    }

    const fn keys_at(mut self, url: &'static str) -> Self {
        self.keys_url = Some(url);
        self
    }

    /// Returns an address set by the user in the form for requests: with the default path if it has none,
    /// without a slash at its end.
    #[must_use]
    pub fn at(&self, address: &str, codec: Codec) -> String {
        let address = address.trim();
        let (place, query) = address.find('?').map_or((address, ""), |at| address.split_at(at));
        format!("{}{query}", self.place_at(place.trim_end_matches('/'), codec))
    }

    /// Does the same for the part before the query.
    fn place_at(&self, address: &str, codec: Codec) -> String {
        let has_path = address.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        match codec {
            // These codecs add the version themselves.
            Codec::Ollama => address.strip_suffix("/v1").unwrap_or(address).to_owned(),
            Codec::Gemini => address.strip_suffix("/v1beta").unwrap_or(address).to_owned(),
            Codec::Anthropic => address.to_owned(),
            Codec::OpenAiChat | Codec::OpenAiResponses if !has_path => format!("{address}{}", self.path),
            Codec::OpenAiChat | Codec::OpenAiResponses => address.to_owned(),
        }
    }

    /// Marks a service that serves the models of other vendors.
    const fn with_other_vendors(mut self) -> Self {
        self.names_have_slashes = true;
        self
    }
}

pub const ANTHROPIC: Preset = Preset {
    codec: Codec::Anthropic,
    elsewhere: Codec::Anthropic,
    key_header: KeyHeader::XApiKey,
    ..hosted_preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        &["ANTHROPIC_API_KEY"],
        Quirks::COMPATIBLE,
    )
    .model("claude-sonnet-5")
    .keys_at("https://console.anthropic.com/settings/keys")
};

/// Most servers set through `OPENAI_BASE_URL` speak only Chat Completions.
pub const OPENAI: Preset = Preset {
    codec: Codec::OpenAiResponses,
    ..hosted_preset("openai", "OpenAI", "https://api.openai.com/v1", &["OPENAI_API_KEY"], Quirks::OPENAI)
        .model("gpt-5")
        .keys_at("https://platform.openai.com/api-keys")
};

pub const GEMINI: Preset = Preset {
    codec: Codec::Gemini,
    elsewhere: Codec::Gemini,
    key_header: KeyHeader::XGoogApiKey,
    ..hosted_preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        Quirks::COMPATIBLE,
    )
    .model("gemini-2.5-flash")
    .keys_at("https://aistudio.google.com/apikey")
};

pub const OPENROUTER: Preset = Preset {
    // Its model list needs no key.
    check: Some("/key"),
    ..hosted_preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
        Quirks::OPENROUTER,
    )
    .model("openrouter/auto")
    .keys_at("https://openrouter.ai/settings/keys")
    .with_other_vendors()
};

pub const AZURE_OPENAI: Preset = Preset {
    base_url: None,
    path: "/openai/v1",
    key_header: KeyHeader::ApiKey,
    ..hosted_preset("azure-openai", "Azure OpenAI", "", &["AZURE_OPENAI_API_KEY"], Quirks::AZURE)
        .keys_at("https://portal.azure.com")
};

pub const OLLAMA: Preset = Preset {
    codec: Codec::Ollama,
    elsewhere: Codec::Ollama,
    local: Some(LocalServer { port: 11_434, path: "/api/tags", form: LocalForm::Ollama }),
    ..own("ollama", "Ollama", "http://127.0.0.1:11434", &[])
};

pub const LMSTUDIO: Preset = Preset {
    local: Some(LocalServer { port: 1_234, path: "/api/v0/models", form: LocalForm::LmStudio }),
    ..own("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", &[])
};

pub const LLAMACPP: Preset = Preset {
    local: Some(LocalServer { port: 8_080, path: "/v1/models", form: LocalForm::LlamaCpp }),
    ..own("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", &[])
};

/// Any server that speaks Chat Completions; supplies the defaults for settings that a section leaves out.
pub const OPENAI_COMPATIBLE: Preset =
    Preset { base_url: None, path: "", ..own("openai-compatible", "OpenAI-compatible server", "", &[]) };

/// All presets, in the order in which keys are looked up and lists are shown.
pub const PRESETS: &[Preset] = &[
    ANTHROPIC,
    OPENAI,
    GEMINI,
    OPENROUTER,
    hosted_preset("groq", "Groq", "https://api.groq.com/openai/v1", &["GROQ_API_KEY"], Quirks::GROQ)
        .with_other_vendors()
        .keys_at("https://console.groq.com/keys"),
    hosted_preset("mistral", "Mistral", "https://api.mistral.ai/v1", &["MISTRAL_API_KEY"], Quirks::MISTRAL)
        .model("mistral-large-latest")
        .keys_at("https://console.mistral.ai/api-keys"),
    hosted_preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com",
        &["DEEPSEEK_API_KEY"],
        Quirks::DEEPSEEK,
    )
    .model("deepseek-chat")
    .keys_at("https://platform.deepseek.com/api_keys"),
    hosted_preset("xai", "xAI", "https://api.x.ai/v1", &["XAI_API_KEY"], Quirks::XAI)
        .keys_at("https://console.x.ai"),
    hosted_preset(
        "together",
        "Together AI",
        "https://api.together.xyz/v1",
        &["TOGETHER_API_KEY"],
        Quirks::COMPATIBLE,
    )
    .with_other_vendors()
    .keys_at("https://api.together.ai/settings/api-keys"),
    hosted_preset(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        &["FIREWORKS_API_KEY"],
        Quirks::COMPATIBLE,
    )
    .with_other_vendors()
    .keys_at("https://app.fireworks.ai/settings/users/api-keys"),
    hosted_preset(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        &["CEREBRAS_API_KEY"],
        Quirks::CEREBRAS,
    )
    .keys_at("https://cloud.cerebras.ai"),
    AZURE_OPENAI,
    OLLAMA,
    LMSTUDIO,
    LLAMACPP,
    own("vllm", "vLLM", "http://127.0.0.1:8000/v1", &["VLLM_API_KEY"]),
    Preset {
        chat: Quirks::LITELLM,
        ..own("litellm", "LiteLLM", "http://127.0.0.1:4000/v1", &["LITELLM_API_KEY"])
    },
    OPENAI_COMPATIBLE,
];

/// Returns the preset of that name.
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::config::SettingRow;

    #[test]
    fn rows_are_one_of_a_kind_and_sound() {
        let names: HashSet<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), PRESETS.len());
        assert!(!names.contains("auto") && !names.contains("offline"));
        let envs: Vec<&str> = PRESETS.iter().flat_map(|preset| preset.key_envs.iter().copied()).collect();
        assert_eq!(envs.iter().collect::<HashSet<_>>().len(), envs.len());
        for one in PRESETS {
            let local = one.base_url.is_some_and(|url| url.starts_with("http://127.0.0.1:"));
            let secure = one.base_url.is_none_or(|url| url.starts_with("https://"));
            assert!(local || secure, "{}", one.name);
            assert!(one.check.is_none_or(|path| path.starts_with('/')), "{}", one.name);
            assert_eq!(local, !one.needs_key && one.base_url.is_some(), "{}", one.name);
            let hosted = !local && one.needs_key;
            assert_eq!(hosted, one.keys_url.is_some_and(|url| url.starts_with("https://")), "{}", one.name);
            if let Some(server) = one.local {
                assert!(one.base_url.is_some_and(|url| url.contains(&format!(":{}", server.port))));
            }
        }
    }

    /// Claude behind the proxy refuses a conversation with calls and no list of tools, as that of a summary.
    #[test]
    fn a_proxy_gets_its_empty_list_of_tools() {
        assert_eq!(preset("litellm").map(|preset| preset.chat), Some(Quirks::LITELLM));
    }

    #[test]
    fn an_address_gets_its_path() {
        let chat = Codec::OpenAiChat;
        let cases = [
            (&AZURE_OPENAI, chat, "https://n.azure.test", "https://n.azure.test/openai/v1"),
            (&AZURE_OPENAI, chat, " https://n.azure.test/ ", "https://n.azure.test/openai/v1"),
            (
                &AZURE_OPENAI,
                chat,
                "https://n.azure.test?api-version=x",
                "https://n.azure.test/openai/v1?api-version=x",
            ),
            (&AZURE_OPENAI, chat, "https://n.azure.test/?a=b/c", "https://n.azure.test/openai/v1?a=b/c"),
            (&AZURE_OPENAI, chat, "https://n.azure.test/own/?a=b", "https://n.azure.test/own?a=b"),
            (&LLAMACPP, chat, "http://h:1?k=v", "http://h:1/v1?k=v"),
            (&OLLAMA, Codec::Ollama, "http://h:1/v1/?k=v", "http://h:1?k=v"),
            (&OLLAMA, Codec::Ollama, "http://h:1/v1", "http://h:1"),
            (&GEMINI, Codec::Gemini, "https://g.test/v1beta?k=v", "https://g.test?k=v"),
            (&ANTHROPIC, Codec::Anthropic, "https://a.test/", "https://a.test"),
        ];
        for (preset, codec, address, expected) in cases {
            assert_eq!(preset.at(address, codec), expected);
        }
    }

    /// The table of settings has every preset's key variables, so that `co config` reports which one is used.
    #[test]
    fn settings_know_the_keys_of_every_preset() {
        for one in PRESETS.iter().filter(|preset| !preset.key_envs.is_empty()) {
            let row = SettingRow::find(&format!("{}.api_key", one.name));
            assert_eq!(row.map(|row| row.env), Some(one.key_envs), "{}", one.name);
        }
    }
}
