//! The table of settings. Adding a setting means adding a row; the loader, `co config` and the README derive
//! from it.
//!
//! All settings of seed 004 are here, under the names of `co` with the original names as aliases. Settings
//! whose feature is not implemented yet are rows too, so that setting one produces a warning and is never
//! silently ignored.

use super::models::{self, MODEL_FIELDS};
use super::providers;
use super::typed::{ModeName, Notify, Settings, ThemeChoice, Thinking};
use super::value::Value;

/// One setting.
pub struct SettingRow {
    /// The key in a file, dotted.
    pub key: &'static str,
    /// Other file keys with the same meaning, those of seed 004 among them.
    pub aliases: &'static [&'static str],
    /// Environment names; the first one that is set counts.
    pub env: &'static [&'static str],
    /// The command line flag, with its dashes.
    pub flag: Option<&'static str>,
    pub kind: Kind,
    /// In the form used in the environment; empty for "unset".
    pub default: &'static str,
    /// What it does, in one line without a full stop. If the default is "unset", it says what happens then.
    pub doc: &'static str,
    pub project: ProjectTrust,
    /// Values that no project's file may set, trusted or not.
    pub refused: &'static [&'static str],
    pub status: Status,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Text,
    /// `http://` or `https://`, without a password.
    Url,
    /// Like [`Kind::Url`], or a host with or without a port; `port` is the default.
    Host {
        port: u16,
    },
    /// Bounds are inclusive.
    Integer {
        min: i64,
        max: i64,
    },
    /// Bounds are inclusive.
    Number {
        min: f64,
        max: f64,
    },
    Bool,
    /// One of the names, or a whole number within the inclusive bounds.
    Level {
        names: &'static [&'static str],
        min: i64,
        max: i64,
    },
    Choice {
        names: &'static [&'static str],
        later: &'static [LaterChoice],
    },
    /// Separated by commas in the environment.
    List,
    Path,
    /// Separated by commas in the environment.
    PathList,
    /// A key: itself, `$NAME`, or, in the user's own file, `$(command)`.
    Secret,
    /// Nested sections of providers: `[providers.NAME]`.
    Providers,
    /// A section with free keys, each set to a text or a list of texts.
    Table,
    /// A section of named sections, each with some of these fields.
    Records(&'static [Field]),
}

/// One field of a named section.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    pub name: &'static str,
    /// The kind of one value, so neither [`Kind::Table`] nor [`Kind::Records`].
    pub kind: Kind,
}

impl Kind {
    /// Whether it is a section whose keys the user chooses.
    pub fn is_section(self) -> bool {
        match self {
            Self::Table | Self::Records(_) | Self::Providers => true,
            Self::Text
            | Self::Url
            | Self::Integer { .. }
            | Self::Number { .. }
            | Self::Bool
            | Self::Choice { .. }
            | Self::List
            | Self::Path
            | Self::PathList
            | Self::Host { .. }
            | Self::Level { .. }
            | Self::Secret => false,
        }
    }
}

/// A value that will become a choice when its feature is implemented.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaterChoice {
    pub name: &'static str,
    /// What to write until then.
    pub meanwhile: &'static str,
}

/// Whether a project's file may set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectTrust {
    Always,
    /// Only in a folder that the user trusts.
    WhenTrusted,
    /// Only the user: the setting is needed before any project's file is used, or it decides which of them
    /// are used.
    Never,
}

/// Whether a setting has an effect yet.
#[derive(Clone, Copy)]
pub enum Status {
    /// Writes the value, which is of the row's kind, to its field.
    Built(fn(&mut Settings, Value)),
    /// Comes with the named feature. `meanwhile` says what to use until then; empty if there is nothing.
    Later { with: &'static str, meanwhile: &'static str },
    /// Will never be a setting; the text says what to do instead.
    Replaced(&'static str),
}

impl SettingRow {
    /// Returns the row of a file key or of one of its aliases.
    #[must_use]
    pub fn find(key: &str) -> Option<&'static SettingRow> {
        SETTINGS.iter().find(|row| row.names().any(|name| name == key))
    }

    /// Returns the row of the section with free keys that contains this key, and the rest of the key.
    pub(super) fn around(key: &str) -> Option<(&'static SettingRow, &str)> {
        let inside = |row: &'static SettingRow| Some((row, key.strip_prefix(row.key)?.strip_prefix('.')?));
        SETTINGS.iter().filter(|row| row.kind.is_section()).find_map(inside)
    }

    /// The key and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.key).chain(self.aliases.iter().copied())
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    /// Sets what to use until a later setting is implemented.
    const fn meanwhile(mut self, meanwhile: &'static str) -> Self {
        if let Status::Later { with, .. } = self.status {
            self.status = Status::Later { with, meanwhile };
        }
        self
    }

    const fn project(mut self, project: ProjectTrust) -> Self {
        self.project = project;
        self
    }

    /// Sets the values that only the user may choose.
    const fn refused(mut self, refused: &'static [&'static str]) -> Self {
        self.refused = refused;
        self
    }
}

type Env = &'static [&'static str];

/// An implemented setting; by default unset, and allowed for projects only in a trusted folder.
const fn built(
    key: &'static str,
    env: Env,
    kind: Kind,
    doc: &'static str,
    set: fn(&mut Settings, Value),
) -> SettingRow {
    SettingRow {
        key,
        aliases: &[],
        env,
        flag: None,
        kind,
        default: "",
        doc,
        project: ProjectTrust::WhenTrusted,
        refused: &[],
        status: Status::Built(set),
    }
}

/// A setting of seed 004 whose feature is not implemented yet.
const fn later(key: &'static str, env: Env, kind: Kind, with: &'static str, doc: &'static str) -> SettingRow {
    SettingRow {
        key,
        aliases: &[],
        env,
        flag: None,
        kind,
        default: "",
        doc,
        project: ProjectTrust::WhenTrusted,
        refused: &[],
        status: Status::Later { with, meanwhile: "" },
    }
}

/// A whole number from `min` to `max`.
const fn int(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max }
}

const fn choice(names: &'static [&'static str]) -> Kind {
    Kind::Choice { names, later: &[] }
}

/// Kinds of caps of tokens and of dollars.
const TOKENS: Kind = int(1, 1_000_000_000_000);
const DOLLARS: Kind = Kind::Number { min: 0.000_001, max: 1_000_000.0 };

/// A day in seconds: the maximum of any timeout.
const DAY: i64 = 86_400;

/// The API key of one provider.
const fn key_of(key: &'static str, env: Env, doc: &'static str, set: fn(&mut Settings, Value)) -> SettingRow {
    built(key, env, Kind::Secret, doc, set)
}

/// All settings, in the order in which `co config` and the README list them.
// One row per paragraph is easier to read and to change than one argument per line.
#[rustfmt::skip]
pub static SETTINGS: &[SettingRow] = &[
    // --- the model
    built("model", &["CO_MODEL"], Kind::Text,
        "The model, as `provider/model` or a bare name; unset: the provider's default",
        |s, v| s.model = v.text()).flag("--model"),
    built("provider", &["CO_PROVIDER", "LLM_PROVIDER"], Kind::Text,
        "Who answers: a name of the table of providers or of a section `[providers.NAME]`, or `offline`; `auto` takes the first that is ready: a key, a server on this machine, else offline",
        |s, v| s.provider = v.text().map(|name| name.trim().to_ascii_lowercase()).filter(|name| name != "auto"))
        .aliases(&["llm_provider"]).default("auto"),
    built("fallback_model", &["CO_FALLBACK_MODEL"], Kind::Text,
        "Who answers, as `provider/model`, when the model is overloaded, unreachable or out of quota; unset: nobody",
        |s, v| s.fallback_model = v.text()),
    built("base_url", &["CO_BASE_URL"], Kind::Url,
        "Address of the chosen provider's API; unset: the provider's own",
        |s, v| s.endpoint.base_url = v.text()),
    built("api_key", &["CO_API_KEY"], Kind::Secret,
        "Key for the chosen provider: itself, `$NAME` of a variable, or `$(command)` in your own file; unset: the provider's own",
        |s, v| s.endpoint.api_key = v.key()),
    built("providers", &[], Kind::Providers,
        "Services, as `[providers.NAME]` with `preset`, `wire`, `base_url`, `api_key`, `headers`, `quirks`, `model`, `models`, `num_ctx`; NAME changes a preset or is a new one. The settings of one provider below go before it",
        |s, v| s.providers = providers::gather(v.providers())),
    key_of("anthropic.api_key", &["ANTHROPIC_API_KEY"], "Key for Anthropic",
        |s, v| s.set_key("anthropic", v)).aliases(&["anthropic_api_key"]),
    built("anthropic.base_url", &["ANTHROPIC_BASE_URL"], Kind::Url,
        "Address of Anthropic's API; unset: the public one",
        |s, v| s.set_address("anthropic", v)),
    key_of("openai.api_key", &["OPENAI_API_KEY"], "Key for OpenAI",
        |s, v| s.set_key("openai", v)).aliases(&["openai_api_key"]),
    built("openai.base_url", &["OPENAI_BASE_URL"], Kind::Url,
        "Address of OpenAI's API or of a server that speaks it; unset: the public one",
        |s, v| s.set_address("openai", v)),
    key_of("gemini.api_key", &["GEMINI_API_KEY", "GOOGLE_API_KEY"], "Key for Gemini",
        |s, v| s.set_key("gemini", v)).aliases(&["gemini_api_key"]),
    built("gemini.model", &["GEMINI_MODEL"], Kind::Text,
        "Model of Gemini; unset: the preset's",
        |s, v| s.set_model("gemini", v)).aliases(&["gemini_model"]),
    built("ollama.host", &["OLLAMA_HOST"], Kind::Host { port: 11_434 },
        "Address of the Ollama server; unset: port 11434 of this machine",
        |s, v| s.set_address("ollama", v)).aliases(&["ollama_host"]),
    built("ollama.model", &["OLLAMA_MODEL"], Kind::Text,
        "Model of the Ollama server; unset: the first that it lists",
        |s, v| s.set_model("ollama", v)).aliases(&["ollama_model"]),
    built("ollama.num_ctx", &["OLLAMA_NUM_CTX"], int(1_000, 100_000_000),
        "Window that the Ollama server is asked for, in tokens; unset: what the model is loaded with, but from 16384 to 131072",
        |s, v| if let Some(tokens) = v.optional_integer() { s.own("ollama").num_ctx = Some(tokens) })
        .aliases(&["ollama_num_ctx"]),
    key_of("openrouter.api_key", &["OPENROUTER_API_KEY"], "Key for OpenRouter",
        |s, v| s.set_key("openrouter", v)),
    key_of("groq.api_key", &["GROQ_API_KEY"], "Key for Groq",
        |s, v| s.set_key("groq", v)),
    key_of("mistral.api_key", &["MISTRAL_API_KEY"], "Key for Mistral",
        |s, v| s.set_key("mistral", v)),
    key_of("deepseek.api_key", &["DEEPSEEK_API_KEY"], "Key for DeepSeek",
        |s, v| s.set_key("deepseek", v)),
    key_of("xai.api_key", &["XAI_API_KEY"], "Key for xAI",
        |s, v| s.set_key("xai", v)),
    key_of("together.api_key", &["TOGETHER_API_KEY"], "Key for Together AI",
        |s, v| s.set_key("together", v)),
    key_of("fireworks.api_key", &["FIREWORKS_API_KEY"], "Key for Fireworks AI",
        |s, v| s.set_key("fireworks", v)),
    key_of("cerebras.api_key", &["CEREBRAS_API_KEY"], "Key for Cerebras",
        |s, v| s.set_key("cerebras", v)),
    key_of("azure-openai.api_key", &["AZURE_OPENAI_API_KEY"], "Key for Azure OpenAI",
        |s, v| s.set_key("azure-openai", v)),
    built("azure-openai.base_url", &["AZURE_OPENAI_ENDPOINT"], Kind::Url,
        "Address of the Azure OpenAI resource, `https://NAME.openai.azure.com`; there is no other",
        |s, v| s.set_address("azure-openai", v)),
    key_of("litellm.api_key", &["LITELLM_API_KEY"], "Key for a LiteLLM proxy",
        |s, v| s.set_key("litellm", v)),
    key_of("vllm.api_key", &["VLLM_API_KEY"], "Key for a vLLM server",
        |s, v| s.set_key("vllm", v)),
    built("discover_local", &["CO_DISCOVER_LOCAL"], Kind::Bool,
        "Look for Ollama, LM Studio or llama.cpp on this machine when no key is known",
        |s, v| s.discover_local = v.bool()).default("true"),
    built("welcome", &["CO_WELCOME"], Kind::Bool,
        "Offer to set up a service when none is known, until that was skipped once",
        |s, v| s.welcome = v.bool()).default("true").project(ProjectTrust::Never),
    built("thinking", &["CO_THINKING"], Kind::Level { names: Thinking::NAMES, min: 1, max: 1_000_000 },
        "How much the model may think before it answers: a level, or a number of tokens",
        |s, v| s.thinking = v.level(Thinking::named, Thinking::Tokens)).default("off").project(ProjectTrust::Always),
    built("temperature", &["CO_TEMPERATURE"], Kind::Number { min: 0.0, max: 2.0 },
        "How freely the model chooses its words, where it lets one say so; unset: the provider's own",
        |s, v| s.temperature = v.optional_number()).project(ProjectTrust::Always),
    built("top_p", &["CO_TOP_P"], Kind::Number { min: 0.0, max: 1.0 },
        "The share of likely words the model chooses from, where it lets one say so; unset: the provider's own",
        |s, v| s.top_p = v.optional_number()).project(ProjectTrust::Always),
    built("parallel_calls", &["CO_PARALLEL_CALLS"], Kind::Bool,
        "Whether the model may ask for several tools at once",
        |s, v| s.parallel_calls = v.bool()).default("true").project(ProjectTrust::Always),
    built("max_output_tokens", &["CO_MAX_OUTPUT_TOKENS"], int(1, 1_000_000),
        "Most tokens of one reply; unset: as the provider has it",
        |s, v| s.max_output_tokens = v.optional_integer()).project(ProjectTrust::Always),
    built("context_tokens", &["CO_CONTEXT_TOKENS"], int(1_000, 100_000_000),
        "The window that old turns are trimmed to; unset: the model's own where it is known",
        |s, v| s.context_tokens = v.optional_integer()).project(ProjectTrust::Always),
    built("models", &[], Kind::Records(MODEL_FIELDS),
        "What you know of a model better than `co`, as `[models.\"NAME\"]`; prices in USD per million tokens",
        |s, v| s.models = models::overrides(v.records())).project(ProjectTrust::Never),
    // --- the screen
    built("theme", &["CO_THEME", "CO_CLI_THEME"], choice(ThemeChoice::NAMES),
        "Colours for a dark or a light terminal; `auto` asks the terminal",
        |s, v| s.theme = v.choice(ThemeChoice::named))
        .default("auto").flag("--theme").project(ProjectTrust::Always),
    built("verbose", &["CO_VERBOSE"], Kind::Bool,
        "Show the model's thinking",
        |s, v| s.verbose = v.bool()).default("false").flag("--verbose").project(ProjectTrust::Always),
    built("keys", &[], Kind::Table,
        "Keys of the screen, as `context.action = [\"Ctrl+X\", …]`; `co keys` lists the names, `[]` takes a key away",
        |s, v| s.keys = v.table()).project(ProjectTrust::Never),
    built("mouse", &["CO_MOUSE"], Kind::Bool,
        "Wheel, clicks and marking by mouse are ours; `false`: the terminal keeps its mouse (Alt+M changes it)",
        |s, v| s.mouse = v.bool()).default("true").project(ProjectTrust::Always),
    built("notify", &["CO_NOTIFY"], choice(Notify::NAMES),
        "How you are called when the window has no focus and a request waits or a turn ended",
        |s, v| s.notify = v.choice(Notify::named)).default("auto").project(ProjectTrust::Always),
    built("reduced_motion", &["CO_REDUCED_MOTION"], Kind::Bool,
        "Nothing moves: no spinner, and times change once a second at most",
        |s, v| s.reduced_motion = v.bool()).default("false").project(ProjectTrust::Always),
    built("ascii", &["CO_ASCII"], Kind::Bool,
        "Draw signs and lines with ASCII, for fonts and terminals that draw the others two cells wide",
        |s, v| s.ascii = v.bool()).default("false").project(ProjectTrust::Always),
    built("plain", &["CO_PLAIN"], Kind::Bool,
        "Talk in lines of text, for screen readers and logs, instead of the full screen",
        |s, v| s.plain = v.bool()).default("false").flag("--plain").project(ProjectTrust::Never),
    // --- the turn
    built("mode", &["CO_MODE"], choice(ModeName::NAMES),
        "What asks: `ask` what changes something; `auto` all but edits of the workspace; `plan` nothing, it only looks; `dry-run` shows and does nothing; `defer-all` everything. No project's file may set `auto`",
        |s, v| s.mode = v.choice(ModeName::named))
        .default("ask").flag("--mode").refused(&["auto"]),
    built("approval_expiry", &["CO_APPROVAL_EXPIRY"], int(0, 31_536_000),
        "Seconds after which a request that nobody decided expires: it is not done, and nobody is said to have denied it; 0: never",
        |s, v| s.approval_expiry = v.optional_integer().filter(|seconds| *seconds > 0).map(std::time::Duration::from_secs))
        .default("604800").project(ProjectTrust::Never),
    built("max_requests", &["CO_MAX_REQUESTS", "CO_CLI_MAX_REQUEST_LIMIT"], int(0, 100_000),
        "Most model requests in one turn; 0: no limit",
        |s, v| s.max_requests = std::num::NonZeroU32::new(v.integer()))
        .aliases(&["max_request_limit"]).default("25"),
    built("cap.turn_tokens", &["CO_CAP_TURN_TOKENS"], TOKENS,
        "Tokens, input and output, at which a turn asks before its next request; unset: never",
        |s, v| s.cap.turn_tokens = v.optional_integer()).project(ProjectTrust::Never),
    built("cap.turn_usd", &["CO_CAP_TURN_USD"], DOLLARS,
        "Dollars at which a turn asks before its next request; unset: never",
        |s, v| s.cap.turn_usd = v.dollars()).project(ProjectTrust::Never),
    built("cap.session_tokens", &["CO_CAP_SESSION_TOKENS"], TOKENS,
        "The same for all turns of a session, in tokens; unset: never",
        |s, v| s.cap.session_tokens = v.optional_integer()).project(ProjectTrust::Never),
    built("cap.session_usd", &["CO_CAP_SESSION_USD"], DOLLARS,
        "The same for all turns of a session, in dollars; unset: never",
        |s, v| s.cap.session_usd = v.dollars()).project(ProjectTrust::Never),
    built("cap.day_tokens", &["CO_CAP_DAY_TOKENS"], TOKENS,
        "The same for a day of all sessions, in tokens; unset: never",
        |s, v| s.cap.day_tokens = v.optional_integer()).project(ProjectTrust::Never),
    built("cap.day_usd", &["CO_CAP_DAY_USD"], DOLLARS,
        "The same for a day of all sessions, in dollars; unset: never",
        |s, v| s.cap.day_usd = v.dollars()).project(ProjectTrust::Never),
    built("http_retries", &["CO_HTTP_RETRIES", "CO_CLI_MODEL_HTTP_RETRIES"], int(0, 20),
        "Retries of a model request that failed for a passing reason",
        |s, v| s.http_retries = v.integer())
        .aliases(&["model_http_retries"]).default("2").project(ProjectTrust::Always),
    built("tool_retries", &["CO_TOOL_RETRIES", "CO_CLI_TOOL_RETRIES"], int(0, 20),
        "Times that a model may correct wrong arguments of one tool in a turn",
        |s, v| s.tool_retries = v.integer()).default("3").project(ProjectTrust::Always),
    built("connect_timeout", &["CO_CONNECT_TIMEOUT"], int(1, DAY),
        "Seconds to wait for a connection to the provider",
        |s, v| s.connect_timeout = v.seconds()).default("10").project(ProjectTrust::Always),
    built("idle_timeout", &["CO_IDLE_TIMEOUT"], int(1, DAY),
        "Seconds of silence after which a model's stream counts as broken",
        |s, v| s.idle_timeout = v.seconds()).default("300").project(ProjectTrust::Always),
    built("proxy", &["CO_PROXY"], Kind::Secret,
        "Proxy to reach providers by, `http://HOST:PORT`, `NAME:PASSWORD@` may stand before the host; unset: the system's, as HTTPS_PROXY names it",
        |s, v| s.proxy = v.secret()).project(ProjectTrust::Never),
    built("ca_file", &["CO_CA_FILE"], Kind::Path,
        "PEM file of certificates that are trusted beside the system's; unset: the system's alone",
        |s, v| s.ca_file = v.path()).project(ProjectTrust::Never),
    // --- tools
    built("tool_output_limit", &["CO_TOOL_OUTPUT_LIMIT"], int(1_000, 10_000_000),
        "Bytes of a tool's output that the model reads; the rest goes to a file that it can read",
        |s, v| s.tool_output_limit = v.integer()).default("30000").project(ProjectTrust::Always),
    built("shell.timeout", &["CO_SHELL_TIMEOUT"], int(1, DAY),
        "Seconds that a command may run when the model names no time; never more than `shell.max_timeout`",
        |s, v| s.shell.timeout = v.seconds()).default("120"),
    built("shell.max_timeout", &["CO_SHELL_MAX_TIMEOUT", "CO_CLI_SANDBOX_MAX_TIMEOUT"], int(1, DAY),
        "Most seconds that a model may ask for, and the limit of `!command`",
        |s, v| s.shell.max_timeout = v.seconds()).aliases(&["sandbox_max_timeout"]).default("600"),
    built("shell.env", &["CO_SHELL_ENV"], Kind::List,
        "Names of environment variables that commands get besides the usual harmless ones",
        |s, v| s.shell.env = v.list()),
    // --- locations
    built("data_dir", &["CO_DATA_DIR"], Kind::Path,
        "Folder of sessions and approvals; unset: `$XDG_DATA_HOME/co`, else `~/.local/share/co`",
        |s, v| s.data_dir = v.path().unwrap_or_default()).project(ProjectTrust::Never),
    built("trusted_folders", &["CO_TRUSTED_FOLDERS"], Kind::PathList,
        "Folders whose project files you trust, as they were when `co trust` showed them",
        |s, v| s.trusted_folders = v.paths()).project(ProjectTrust::Never),
    // --- not settings
    SettingRow {
        status: Status::Replaced("nothing stored approves by itself; type /yolo in a session, it ends with it"),
        ..later("auto_confirm", &["CO_CLI_AUTO_CONFIRM"], Kind::Bool, "", "Approve without asking")
    },
    // --- settings of seed 004 for future features
    later("notes.vault", &["OBSIDIAN_VAULT_PATH"], Kind::Path, "the notes tools",
        "Folder of Markdown notes").aliases(&["obsidian_vault_path"]),
    later("slack.bot_token", &["SLACK_BOT_TOKEN"], Kind::Secret, "the Slack tools",
        "Token for Slack").aliases(&["slack_bot_token"]),
    later("web.brave_api_key", &["BRAVE_SEARCH_API_KEY"], Kind::Secret, "the web tools",
        "Key for Brave web search").aliases(&["brave_search_api_key"]),
    later("google.credentials", &["GOOGLE_CREDENTIALS_PATH"], Kind::Path, "the Google tools",
        "File with Google credentials").aliases(&["google_credentials_path"]),
    later("personality", &["CO_PERSONALITY", "CO_CLI_PERSONALITY"], Kind::Text, "personalities",
        "Manner of speaking"),
    later("history.trim_tool_output", &["CO_CLI_TOOL_OUTPUT_TRIM_CHARS"], int(0, 10_000_000), "compaction",
        "Characters that are kept of old tool output; 0: all").aliases(&["tool_output_trim_chars"]),
    later("history.max_messages", &["CO_CLI_MAX_HISTORY_MESSAGES"], int(0, 1_000_000), "compaction",
        "Messages after which history is summarised; 0: never").aliases(&["max_history_messages"])
        .meanwhile("`context_tokens` bounds the history"),
    later("history.summary_model", &["CO_CLI_SUMMARIZATION_MODEL"], Kind::Text, "compaction",
        "Model that summarises").aliases(&["summarization_model"]),
    later("memory.max_count", &["CO_CLI_MEMORY_MAX_COUNT"], int(10, 1_000_000), "memory",
        "Most memories that are kept").aliases(&["memory_max_count"]),
    later("memory.dedup_window_days", &["CO_CLI_MEMORY_DEDUP_WINDOW_DAYS"], int(1, 100_000), "memory",
        "Days in which a like memory is merged").aliases(&["memory_dedup_window_days"]),
    later("memory.dedup_threshold", &["CO_CLI_MEMORY_DEDUP_THRESHOLD"], int(0, 100), "memory",
        "Likeness at which memories are merged").aliases(&["memory_dedup_threshold"]),
    later("memory.decay_strategy", &["CO_CLI_MEMORY_DECAY_STRATEGY"], choice(&["summarize", "cut"]), "memory",
        "What becomes of the oldest memories").aliases(&["memory_decay_strategy"]),
    later("memory.decay_percentage", &["CO_CLI_MEMORY_DECAY_PERCENTAGE"], Kind::Number { min: 0.0, max: 1.0 },
        "memory", "Share of memories that decays at once").aliases(&["memory_decay_percentage"]),
    later("sandbox.backend", &["CO_SANDBOX_BACKEND", "CO_CLI_SANDBOX_BACKEND"],
        choice(&["auto", "docker", "subprocess"]), "sandboxes",
        "What separates commands from the machine").aliases(&["sandbox_backend"]),
    later("sandbox.image", &["CO_CLI_DOCKER_IMAGE"], Kind::Text, "sandboxes",
        "Container image for commands").aliases(&["docker_image"]),
    later("sandbox.network", &["CO_CLI_SANDBOX_NETWORK"], choice(&["none", "bridge"]), "sandboxes",
        "Network of commands").aliases(&["sandbox_network"]),
    later("sandbox.memory", &["CO_CLI_SANDBOX_MEM_LIMIT"], Kind::Text, "sandboxes",
        "Memory of commands").aliases(&["sandbox_mem_limit"]),
    later("sandbox.cpus", &["CO_CLI_SANDBOX_CPUS"], int(1, 4), "sandboxes",
        "Processors for commands").aliases(&["sandbox_cpus"]),
    later("shell.safe_commands", &["CO_CLI_SHELL_SAFE_COMMANDS"], Kind::List, "rules",
        "Commands that run without asking").aliases(&["shell_safe_commands"])
        .meanwhile("`a` on a card allows that command for the session"),
    later("web.allowed_domains", &["CO_CLI_WEB_FETCH_ALLOWED_DOMAINS"], Kind::List, "the web tools",
        "The only domains that are fetched").aliases(&["web_fetch_allowed_domains"]),
    later("web.blocked_domains", &["CO_CLI_WEB_FETCH_BLOCKED_DOMAINS"], Kind::List, "the web tools",
        "Domains that are never fetched").aliases(&["web_fetch_blocked_domains"]),
    later("web.search", &["CO_CLI_WEB_POLICY_SEARCH"], choice(&["allow", "ask", "deny"]), "the web tools",
        "Whether web searches ask").aliases(&["web_policy.search"]),
    later("web.fetch", &["CO_CLI_WEB_POLICY_FETCH"], choice(&["allow", "ask", "deny"]), "the web tools",
        "Whether web pages are fetched without asking").aliases(&["web_policy.fetch"]),
    later("mcp_servers", &["CO_CLI_MCP_SERVERS"], Kind::Table, "MCP servers",
        "Servers that bring more tools"),
];
