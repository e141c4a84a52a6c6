//! The table of settings. Adding a setting means adding a row; the loader, `co config` and `co help settings` derive
//! from it.
//!
//! All settings of seed 004 are known, under the names of `co` with the original names as aliases: those whose
//! feature does not exist yet are in [`INERT`], so that setting one is never silently ignored.

use super::cap::Cap;
use super::check::{self, Kind, SectionsOf};
use super::choices::{
    ContainerNetwork, DecayConsent, DecayStrategy, Mode, Notify, SandboxChoice, SpanContent, ThemeChoice,
    ThinkingLevel, WebAccess,
};
use super::inert::INERT;
use super::models;
use super::problem::{NoEffect, Source};
use super::providers;
use super::servers;
use super::typed::Settings;
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
    /// Its effect, in one line without a full stop. If the default is "unset", it says what happens then.
    pub doc: &'static str,
    pub project: ProjectTrust,
    /// Values that no project's file may set, trusted or not.
    pub refused: &'static [&'static str],
    pub target: SettingTarget,
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

/// Where the value of a row, which is of the row's kind, is written to.
#[derive(Clone, Copy)]
pub enum SettingTarget {
    Field(fn(&mut Settings, Value)),
    /// The provider and the field that the key names, as `NAME.FIELD`.
    Provider,
    /// The setting is known and has no effect.
    Nothing(NoEffect),
}

impl SettingRow {
    /// Returns the row of a file key or of one of its aliases; for a setting without effect, also of a key inside its
    /// section.
    #[must_use]
    pub fn find(key: &str) -> Option<&'static SettingRow> {
        let is = |row: &SettingRow, name: &str| match key.strip_prefix(name) {
            Some(rest) => rest.is_empty() || (row.no_effect().is_some() && rest.starts_with('.')),
            None => false,
        };
        known_settings().find(|row| row.names().any(|name| is(row, name)))
    }

    /// Why setting it has no effect; `None` if it has one.
    #[must_use]
    pub fn no_effect(&self) -> Option<NoEffect> {
        if let SettingTarget::Nothing(why) = self.target { Some(why) } else { None }
    }

    /// Returns the row of the section with free keys that contains this key, and the rest of the key.
    pub(super) fn around(key: &str) -> Option<(&'static SettingRow, &str)> {
        let inside = |row: &'static SettingRow| Some((row, key.strip_prefix(row.key)?.strip_prefix('.')?));
        SETTINGS.iter().filter(|row| row.kind.is_section()).find_map(inside)
    }

    /// The value if no source sets one.
    pub(super) fn default_value(&self) -> Value {
        match (self.default, self.kind) {
            ("", Kind::List) => Value::List(Vec::new()),
            ("", Kind::PathList) => Value::Paths(Vec::new()),
            ("", Kind::Table) => Value::Table(Vec::new()),
            ("", Kind::Sections(_)) => Value::Sections(Vec::new()),
            ("", _) => Value::Unset,
            (text, kind) => check::check(kind, check::from_text(kind, text), None, &Source::Default)
                .expect("a row's default is a value of its kind"),
        }
    }

    /// Writes a value of the row's kind to its field.
    pub(super) fn write(&self, settings: &mut Settings, value: Value) {
        match (self.target, self.key.split_once('.')) {
            (SettingTarget::Field(set), _) => set(settings, value),
            // If the setting is unset, the section's value stays.
            (SettingTarget::Provider, Some((name, field))) if value != Value::Unset => {
                settings.own(name).set(field, value);
            }
            (SettingTarget::Provider | SettingTarget::Nothing(_), _) => {}
        }
    }

    /// The key and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.key).chain(self.aliases.iter().copied())
    }

    pub(super) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
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

pub(super) type Env = &'static [&'static str];

/// A setting; by default unset, and allowed for projects only in a trusted folder.
pub(super) const fn row(
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
        target: SettingTarget::Field(set),
    }
}

/// A whole number from `min` to `max`.
const fn int(min: i64, max: i64) -> Kind {
    Kind::Integer { min, max }
}

/// Kinds of caps of tokens and of dollars.
const TOKENS: Kind = int(1, 1_000_000_000_000);
const DOLLARS: Kind = Kind::Number { min: 0.000_001, max: 1_000_000.0 };

/// A day in seconds: the maximum of any timeout.
const DAY: i64 = 86_400;

/// A setting of one provider.
const fn of_provider(key: &'static str, env: Env, kind: Kind, doc: &'static str) -> SettingRow {
    SettingRow { target: SettingTarget::Provider, ..row(key, env, kind, doc, |_, _| {}) }
}

/// The API key of one provider.
const fn key_of(key: &'static str, env: Env, doc: &'static str) -> SettingRow {
    of_provider(key, env, Kind::Secret, doc)
}

/// All settings, in the order in which `co config` and `co help settings` list them.
// One row per paragraph is easier to read and to change than one argument per line.
#[rustfmt::skip]
pub static SETTINGS: &[SettingRow] = &[
    // --- the model
    row("model", &["CO_MODEL"], Kind::Text,
        "The model, as `provider/model` or a bare name; unset: the provider's default",
        |s, v| s.model = v.text()).flag("--model"),
    row("provider", &["CO_PROVIDER", "LLM_PROVIDER"], Kind::Text,
        "The service: one of `co help models` or of a section `[providers.NAME]`, or `offline`; `auto` takes the first that is ready: a key, a server on this machine, else offline",
        |s, v| s.provider = v.text().map(|name| name.trim().to_ascii_lowercase()).filter(|name| name != "auto"))
        .aliases(&["llm_provider"]).default("auto"),
    row("fallback_model", &["CO_FALLBACK_MODEL"], Kind::Text,
        "The fallback, as `provider/model`, when the model is overloaded, unreachable or out of quota; unset: none",
        |s, v| s.fallback_model = v.text()),
    row("base_url", &["CO_BASE_URL"], Kind::Url,
        "Address of the chosen provider's API; unset: the provider's own",
        |s, v| s.endpoint.base_url = v.text()),
    row("api_key", &["CO_API_KEY"], Kind::Secret,
        "Key for the chosen provider: the key, `$NAME` of a variable, or `$(command)` in your own file; unset: the provider's own",
        |s, v| s.endpoint.api_key = v.key()),
    row("providers", &[], Kind::Sections(SectionsOf::Providers),
        "Services, as `[providers.NAME]` with `preset`, `wire`, `base_url`, `api_key`, `headers`, `quirks`, `model`, `models`, `num_ctx`; NAME changes a preset or is a new one. The settings of one provider below override it",
        |s, v| s.providers = providers::gather(v.entries().unwrap_or_default())),
    key_of("anthropic.api_key", &["ANTHROPIC_API_KEY"], "Key for Anthropic").aliases(&["anthropic_api_key"]),
    of_provider("anthropic.base_url", &["ANTHROPIC_BASE_URL"], Kind::Url,
        "Address of Anthropic's API; unset: the public one"),
    key_of("openai.api_key", &["OPENAI_API_KEY"], "Key for OpenAI").aliases(&["openai_api_key"]),
    of_provider("openai.base_url", &["OPENAI_BASE_URL"], Kind::Url,
        "Address of OpenAI's API or of a server that speaks it; unset: the public one"),
    key_of("gemini.api_key", &["GEMINI_API_KEY", "GOOGLE_API_KEY"], "Key for Gemini").aliases(&["gemini_api_key"]),
    of_provider("gemini.model", &["GEMINI_MODEL"], Kind::Text,
        "Model of Gemini; unset: the preset's").aliases(&["gemini_model"]),
    of_provider("ollama.host", &["OLLAMA_HOST"], Kind::Host { port: 11_434 },
        "Address of the Ollama server; unset: port 11434 of this machine").aliases(&["ollama_host"]),
    of_provider("ollama.model", &["OLLAMA_MODEL"], Kind::Text,
        "Model of the Ollama server; unset: the first one listed").aliases(&["ollama_model"]),
    of_provider("ollama.num_ctx", &["OLLAMA_NUM_CTX"], int(1_000, 100_000_000),
        "Context window to request from the Ollama server, in tokens; unset: what the model is loaded with, from 16384 to 131072")
        .aliases(&["ollama_num_ctx"]),
    key_of("openrouter.api_key", &["OPENROUTER_API_KEY"], "Key for OpenRouter"),
    key_of("groq.api_key", &["GROQ_API_KEY"], "Key for Groq"),
    key_of("mistral.api_key", &["MISTRAL_API_KEY"], "Key for Mistral"),
    key_of("deepseek.api_key", &["DEEPSEEK_API_KEY"], "Key for DeepSeek"),
    key_of("xai.api_key", &["XAI_API_KEY"], "Key for xAI"),
    key_of("together.api_key", &["TOGETHER_API_KEY"], "Key for Together AI"),
    key_of("fireworks.api_key", &["FIREWORKS_API_KEY"], "Key for Fireworks AI"),
    key_of("cerebras.api_key", &["CEREBRAS_API_KEY"], "Key for Cerebras"),
    key_of("azure-openai.api_key", &["AZURE_OPENAI_API_KEY"], "Key for Azure OpenAI"),
    of_provider("azure-openai.base_url", &["AZURE_OPENAI_ENDPOINT"], Kind::Url,
        "Address of the Azure OpenAI resource, `https://NAME.openai.azure.com`; there is no other"),
    key_of("litellm.api_key", &["LITELLM_API_KEY"], "Key for a LiteLLM proxy"),
    key_of("vllm.api_key", &["VLLM_API_KEY"], "Key for a vLLM server"),
    row("discover_local", &["CO_DISCOVER_LOCAL"], Kind::Bool,
        "Look for Ollama, LM Studio or llama.cpp on this machine when no key is known",
        |s, v| s.discover_local = v.bool()).default("true"),
    row("welcome", &["CO_WELCOME"], Kind::Bool,
        "Offer to set up a service when none is known, until skipped once",
        |s, v| s.welcome = v.bool()).default("true").project(ProjectTrust::Never),
    row("thinking", &["CO_THINKING"], Kind::Level { names: ThinkingLevel::NAMES, min: 1, max: 1_000_000 },
        "How much the model may think before it answers: a level, or a number of tokens",
        |s, v| s.thinking = v.level(ThinkingLevel::named, ThinkingLevel::Tokens)).default("off").project(ProjectTrust::Always),
    row("temperature", &["CO_TEMPERATURE"], Kind::Number { min: 0.0, max: 2.0 },
        "Sampling temperature, where the model accepts one; unset: the provider's own",
        |s, v| s.temperature = v.optional_number()).project(ProjectTrust::Always),
    row("top_p", &["CO_TOP_P"], Kind::Number { min: 0.0, max: 1.0 },
        "Nucleus sampling (top_p), where the model accepts one; unset: the provider's own",
        |s, v| s.top_p = v.optional_number()).project(ProjectTrust::Always),
    row("parallel_calls", &["CO_PARALLEL_CALLS"], Kind::Bool,
        "Whether the model may ask for several tools at once",
        |s, v| s.parallel_calls = v.bool()).default("true").project(ProjectTrust::Always),
    row("max_output_tokens", &["CO_MAX_OUTPUT_TOKENS"], int(1, 1_000_000),
        "Maximum tokens of one reply; unset: the provider's default",
        |s, v| s.max_output_tokens = v.optional_integer()).project(ProjectTrust::Always),
    row("context_tokens", &["CO_CONTEXT_TOKENS"], int(1_000, 100_000_000),
        "Tokens of a conversation beyond which older messages are summarised; unset: 80 % of the model's window, where it is known",
        |s, v| s.context_tokens = v.optional_integer()).project(ProjectTrust::Always),
    row("history.summary_model", &["CO_CLI_SUMMARIZATION_MODEL"], Kind::Text,
        "Model that writes summaries, as `provider/model`; unset: the model in use",
        |s, v| s.summary_model = v.text()).aliases(&["summarization_model"]),
    row("history.model_titles", &["CO_HISTORY_MODEL_TITLES"], Kind::Bool,
        "Whether a model names each session after its first turn, by one request to `history.summary_model` or the model in use",
        |s, v| s.model_titles = v.bool()).default("false").project(ProjectTrust::Never),
    row("history.trim_tool_output", &["CO_CLI_TOOL_OUTPUT_TRIM_CHARS"], int(0, 10_000_000),
        "Bytes of each old tool output that the model sees; 0: all; unset: all, or 2000 if the model's window is unknown",
        |s, v| s.trim_tool_output = v.optional_integer()).aliases(&["tool_output_trim_chars"]).project(ProjectTrust::Always),
    row("history.max_messages", &["CO_CLI_MAX_HISTORY_MESSAGES"], int(0, 1_000_000),
        "Messages that the model sees, the first exchange and the newest; 0: all; unset: all, or 40 if the model's window is unknown",
        |s, v| s.max_messages = v.optional_integer()).aliases(&["max_history_messages"]).project(ProjectTrust::Always),
    row("history.keep_days", &["CO_HISTORY_KEEP_DAYS"], int(1, 36_500),
        "Days after its last use that a session is deleted; one with requests that wait is kept; unset: never",
        |s, v| s.keep_days = v.optional_integer()).project(ProjectTrust::Never),
    row("history.max_mb", &["CO_HISTORY_MAX_MB"], int(1, 1_000_000),
        "Size of the database in MiB beyond which the oldest sessions are deleted; unset: no limit",
        |s, v| s.max_history_mb = v.optional_integer()).project(ProjectTrust::Never),
    row("models", &[], Kind::Sections(SectionsOf::Models),
        "Your own facts about a model, as `[models.\"NAME\"]`; prices in USD per million tokens",
        |s, v| s.models = models::overrides(v.entries().unwrap_or_default())).project(ProjectTrust::Never),
    row("mcp_servers", &["CO_MCP_SERVERS", "CO_CLI_MCP_SERVERS"], Kind::Sections(SectionsOf::Servers),
        "Tool servers (MCP), as `[mcp_servers.NAME]` with `command`, `args`, `env`, `cwd`, or `url`, `headers`; `timeout`, `call_timeout`, `approval`, `trusted`, `prefix`, `enabled`, `tools`. The variable is JSON and replaces all",
        |s, v| s.mcp_servers = servers::gather(v.entries().unwrap_or_default())).project(ProjectTrust::Never),
    row("mcp_wait", &["CO_MCP_WAIT"], int(0, 60),
        "Seconds that a turn waits for tool servers that are still connecting",
        |s, v| s.mcp_wait = v.seconds()).default("2"),
    row("mcp_tool_budget", &["CO_MCP_TOOL_BUDGET"], int(0, 100),
        "Percent of the model's window that descriptions of servers' tools may take; beyond it only their names are sent, and the model asks for those it needs",
        |s, v| s.mcp_tool_budget = v.integer()).default("15"),
    // --- the screen
    row("theme", &["CO_THEME", "CO_CLI_THEME"], Kind::Choice(ThemeChoice::NAMES),
        "Colours for a dark or a light terminal; `auto` asks the terminal",
        |s, v| s.theme = v.choice(ThemeChoice::named))
        .default("auto").flag("--theme").project(ProjectTrust::Always),
    row("verbose", &["CO_VERBOSE"], Kind::Bool,
        "Show the model's thinking",
        |s, v| s.verbose = v.bool()).default("false").flag("--verbose").project(ProjectTrust::Always),
    row("keys", &[], Kind::Table,
        "Keys of the screen, as `context.action = [\"Ctrl+X\", …]`; `co keys` lists the names, `[]` removes a key",
        |s, v| s.keys = v.table().unwrap_or_default()).project(ProjectTrust::Never),
    row("mouse", &["CO_MOUSE"], Kind::Bool,
        "Mouse wheel, clicks and selection go to the app; `false`: to the terminal (Alt+M toggles)",
        |s, v| s.mouse = v.bool()).default("true").project(ProjectTrust::Always),
    row("notify", &["CO_NOTIFY"], Kind::Choice(Notify::NAMES),
        "How to notify you when the window has no focus and a request is waiting or a turn has ended",
        |s, v| s.notify = v.choice(Notify::named)).default("auto").project(ProjectTrust::Always),
    row("reduced_motion", &["CO_REDUCED_MOTION"], Kind::Bool,
        "No animation: no spinner, and times change at most once a second",
        |s, v| s.reduced_motion = v.bool()).default("false").project(ProjectTrust::Always),
    row("ascii", &["CO_ASCII"], Kind::Bool,
        "Draw symbols and lines in ASCII, for fonts and terminals that draw them two cells wide",
        |s, v| s.ascii = v.bool()).default("false").project(ProjectTrust::Always),
    row("plain", &["CO_PLAIN"], Kind::Bool,
        "Plain lines of text instead of the full screen, for screen readers and logs",
        |s, v| s.plain = v.bool()).default("false").flag("--plain").project(ProjectTrust::Never),
    row("audit_head", &["CO_AUDIT_HEAD"], Kind::Bool,
        "At the end of the screen, print the head of the audit, which `co audit verify` takes",
        |s, v| s.audit_head = v.bool()).default("false").project(ProjectTrust::Never),
    // --- the prompt
    row("personality", &["CO_PERSONALITY", "CO_CLI_PERSONALITY"], Kind::Text,
        "Tone of the answers: `finch`, `jeff`, `friendly`, `terse`, `inquisitive`, or one of your own in `prompts/personalities` beside the settings",
        |s, v| s.personality = v.text().map(|name| name.trim().to_lowercase()).unwrap_or_default()).default("finch"),
    // --- the turn
    row("mode", &["CO_MODE"], Kind::Choice(Mode::NAMES),
        "What asks: `ask` changes and commands; `auto` all but edits in the workspace; `plan` nothing, it only reads; `dry-run` nothing, it only previews; `defer-all` everything. Project files may not set `auto`",
        |s, v| s.mode = v.choice(Mode::named))
        .default("ask").flag("--mode").refused(&["auto"]),
    row("approval_expiry", &["CO_APPROVAL_EXPIRY"], int(0, 31_536_000),
        "Seconds after which an undecided request expires: its call does not run and does not count as denied; 0: never",
        |s, v| s.approval_expiry = v.optional_integer().filter(|seconds| *seconds > 0).map(std::time::Duration::from_secs))
        .default("604800").project(ProjectTrust::Never),
    row("max_requests", &["CO_MAX_REQUESTS", "CO_CLI_MAX_REQUEST_LIMIT"], int(0, 100_000),
        "Maximum model requests in one turn; 0: no limit",
        |s, v| s.max_requests = std::num::NonZeroU32::new(v.integer()))
        .aliases(&["max_request_limit"]).default("25"),
    row("cap.turn_tokens", &["CO_CAP_TURN_TOKENS"], TOKENS,
        "Tokens, input and output, at which a turn asks before its next request; unset: never",
        |s, v| s.set_cap(Cap::TurnTokens, v)).project(ProjectTrust::Never),
    row("cap.turn_usd", &["CO_CAP_TURN_USD"], DOLLARS,
        "Dollars at which a turn asks before its next request; unset: never",
        |s, v| s.set_cap(Cap::TurnUsd, v)).project(ProjectTrust::Never),
    row("cap.session_tokens", &["CO_CAP_SESSION_TOKENS"], TOKENS,
        "The same for all turns of a session, in tokens; unset: never",
        |s, v| s.set_cap(Cap::SessionTokens, v)).project(ProjectTrust::Never),
    row("cap.session_usd", &["CO_CAP_SESSION_USD"], DOLLARS,
        "The same for all turns of a session, in dollars; unset: never",
        |s, v| s.set_cap(Cap::SessionUsd, v)).project(ProjectTrust::Never),
    row("cap.day_tokens", &["CO_CAP_DAY_TOKENS"], TOKENS,
        "The same for a day of all sessions, in tokens; unset: never",
        |s, v| s.set_cap(Cap::DayTokens, v)).project(ProjectTrust::Never),
    row("cap.day_usd", &["CO_CAP_DAY_USD"], DOLLARS,
        "The same for a day of all sessions, in dollars; unset: never",
        |s, v| s.set_cap(Cap::DayUsd, v)).project(ProjectTrust::Never),
    row("http_retries", &["CO_HTTP_RETRIES", "CO_CLI_MODEL_HTTP_RETRIES"], int(0, 20),
        "Retries of a model request after a temporary failure",
        |s, v| s.http_retries = v.integer())
        .aliases(&["model_http_retries"]).default("2").project(ProjectTrust::Always),
    row("overload_wait", &["CO_OVERLOAD_WAIT"], int(0, 3_600),
        "Seconds, in all, for which an overloaded service is asked again while no `fallback_model` stands behind it; needs `http_retries`",
        |s, v| s.overload_wait = v.seconds()).default("60").project(ProjectTrust::Always),
    row("tool_retries", &["CO_TOOL_RETRIES", "CO_CLI_TOOL_RETRIES"], int(0, 20),
        "How often a model may correct wrong arguments of one tool in a turn",
        |s, v| s.tool_retries = v.integer()).default("3").project(ProjectTrust::Always),
    row("connect_timeout", &["CO_CONNECT_TIMEOUT"], int(1, DAY),
        "Seconds to wait for a connection to the provider",
        |s, v| s.connect_timeout = v.seconds()).default("10").project(ProjectTrust::Always),
    row("idle_timeout", &["CO_IDLE_TIMEOUT"], int(1, DAY),
        "Seconds of silence after which a model's stream counts as broken",
        |s, v| s.idle_timeout = v.seconds()).default("300").project(ProjectTrust::Always),
    row("proxy", &["CO_PROXY"], Kind::Secret,
        "Proxy for providers, `http://HOST:PORT` or `http://NAME:PASSWORD@HOST:PORT`; unset: the system's, as HTTPS_PROXY names it",
        |s, v| s.proxy = v.secret()).project(ProjectTrust::Never),
    row("ca_file", &["CO_CA_FILE"], Kind::Path,
        "PEM file of certificates trusted in addition to the system's; unset: only the system's",
        |s, v| s.ca_file = v.path()).project(ProjectTrust::Never),
    // --- tools
    row("tool_output_limit", &["CO_TOOL_OUTPUT_LIMIT"], int(1_000, 10_000_000),
        "Bytes of a tool's output sent to the model; the rest goes to a file that it can read",
        |s, v| s.tool_output_limit = v.integer()).default("30000").project(ProjectTrust::Always),
    row("shell.timeout", &["CO_SHELL_TIMEOUT"], int(1, DAY),
        "Seconds that a command may run when the model sets no timeout; never more than `shell.max_timeout`",
        |s, v| s.shell.timeout = v.seconds()).default("120"),
    row("shell.max_timeout", &["CO_SHELL_MAX_TIMEOUT", "CO_CLI_SANDBOX_MAX_TIMEOUT"], int(1, DAY),
        "Maximum timeout that a model may set, in seconds, and the limit of `!command`",
        |s, v| s.shell.max_timeout = v.seconds()).aliases(&["sandbox_max_timeout"]).default("600"),
    row("shell.env", &["CO_SHELL_ENV"], Kind::List,
        "Names of environment variables that commands get in addition to the usual harmless ones",
        |s, v| s.shell.env = v.list().unwrap_or_default()),
    row("shell.safe_commands", &["CO_SHELL_SAFE_COMMANDS", "CO_CLI_SHELL_SAFE_COMMANDS"], Kind::List,
        "Commands that count as read-only, as `mytool list`: where a sandbox holds them to that, they run at once",
        |s, v| s.shell.safe_commands = v.list().unwrap_or_default()).aliases(&["shell_safe_commands"])
        .project(ProjectTrust::Never),
    row("sandbox.backend", &["CO_SANDBOX_BACKEND", "CO_CLI_SANDBOX_BACKEND"], Kind::Choice(SandboxChoice::NAMES),
        "What isolates commands: `auto` takes bubblewrap, else Landlock, else nothing",
        |s, v| s.sandbox.backend = v.choice(SandboxChoice::named)).aliases(&["sandbox_backend"])
        .default("auto").project(ProjectTrust::Never),
    row("sandbox.read", &["CO_SANDBOX_READ"], Kind::PathList,
        "Files and folders that sandboxed commands may read, besides the system, the tools on PATH and the workspace",
        |s, v| s.sandbox.read = v.paths().unwrap_or_default()).project(ProjectTrust::Never),
    row("sandbox.image", &["CO_SANDBOX_IMAGE", "CO_CLI_DOCKER_IMAGE"], Kind::Text,
        "Image of the docker sandbox; it must be on this machine",
        |s, v| s.sandbox.image = v.text().unwrap_or_default()).aliases(&["docker_image"])
        .default("co-cli-sandbox").project(ProjectTrust::Never),
    row("sandbox.network", &["CO_SANDBOX_NETWORK", "CO_CLI_SANDBOX_NETWORK"], Kind::Choice(ContainerNetwork::NAMES),
        "Network of the docker sandbox, for commands that may use one: `none` or `bridge`",
        |s, v| s.sandbox.network = v.choice(ContainerNetwork::named)).aliases(&["sandbox_network"])
        .default("none").project(ProjectTrust::Never),
    row("sandbox.memory", &["CO_SANDBOX_MEMORY", "CO_CLI_SANDBOX_MEM_LIMIT"], Kind::Text,
        "Memory of the docker sandbox, as `512m` or `1g`",
        |s, v| s.sandbox.memory = v.text().unwrap_or_default()).aliases(&["sandbox_mem_limit"])
        .default("1g").project(ProjectTrust::Never),
    row("sandbox.cpus", &["CO_SANDBOX_CPUS", "CO_CLI_SANDBOX_CPUS"], int(1, 64),
        "Processors of the docker sandbox",
        |s, v| s.sandbox.cpus = v.integer()).aliases(&["sandbox_cpus"])
        .default("1").project(ProjectTrust::Never),
    // --- the web
    row("web.fetch", &["CO_WEB_FETCH", "CO_CLI_WEB_POLICY_FETCH"], Kind::Choice(WebAccess::NAMES),
        "Web pages: `allow` fetches an address that you, a search or a page named and asks about others; `ask`, `deny`",
        |s, v| s.web.fetch = v.choice(WebAccess::named)).aliases(&["web_policy.fetch"])
        .default("allow").project(ProjectTrust::Never),
    row("web.search", &["CO_WEB_SEARCH", "CO_CLI_WEB_POLICY_SEARCH"], Kind::Choice(WebAccess::NAMES),
        "Web searches, with `web.searxng_url` or `web.brave_api_key`: `allow`, `ask`, `deny`",
        |s, v| s.web.search = v.choice(WebAccess::named)).aliases(&["web_policy.search"])
        .default("allow").project(ProjectTrust::Never),
    row("web.allowed_domains", &["CO_WEB_ALLOWED_DOMAINS", "CO_CLI_WEB_FETCH_ALLOWED_DOMAINS"], Kind::List,
        "The only domains, with their subdomains, whose pages are fetched; unset: all",
        |s, v| s.web.allowed_domains = v.list().unwrap_or_default()).aliases(&["web_fetch_allowed_domains"])
        .project(ProjectTrust::Never),
    row("web.blocked_domains", &["CO_WEB_BLOCKED_DOMAINS", "CO_CLI_WEB_FETCH_BLOCKED_DOMAINS"], Kind::List,
        "Domains, with their subdomains, whose pages are never fetched",
        |s, v| s.web.blocked_domains = v.list().unwrap_or_default()).aliases(&["web_fetch_blocked_domains"])
        .project(ProjectTrust::Never),
    row("web.brave_api_key", &["BRAVE_SEARCH_API_KEY"], Kind::Secret,
        "Key for Brave's web search",
        |s, v| s.web.brave_api_key = v.secret()).aliases(&["brave_search_api_key"]).project(ProjectTrust::Never),
    row("web.searxng_url", &["CO_WEB_SEARXNG_URL"], Kind::Url,
        "Address of a SearXNG server that searches instead; its settings must allow the format `json`",
        |s, v| s.web.searxng_url = v.text()).project(ProjectTrust::Never),
    // --- undo
    row("undo.max_mb", &["CO_UNDO_MAX_MB"], int(0, 1_000_000),
        "Size in MiB of what is kept of changed files for `/undo`, beyond which the oldest changes go; 0: nothing is kept",
        |s, v| s.undo.max_mb = v.integer()).default("500").project(ProjectTrust::Never),
    row("undo.snapshot_mb", &["CO_UNDO_SNAPSHOT_MB"], int(0, 100_000),
        "Size in MiB up to which a workspace is kept before a command runs in it, so that changes of its files can be taken back; files that git ignores do not count; 0: never",
        |s, v| s.undo.snapshot_mb = v.integer()).default("64").project(ProjectTrust::Never),
    // --- memory
    row("memory.recall_tokens", &["CO_MEMORY_RECALL_TOKENS"], int(0, 100_000),
        "Estimated tokens of the memories that are added to a prompt because they apply to it; 0: none are",
        |s, v| s.memory.recall_tokens = v.integer()).default("800"),
    row("memory.max_count", &["CO_MEMORY_MAX_COUNT", "CO_CLI_MEMORY_MAX_COUNT"], int(10, 10_000_000),
        "Memories in one place, yours or a project's, beyond which the oldest decay",
        |s, v| s.memory.max_count = v.integer()).aliases(&["memory_max_count"]).default("200").project(ProjectTrust::Never),
    row("memory.dedup_window_days", &["CO_MEMORY_DEDUP_WINDOW_DAYS", "CO_CLI_MEMORY_DEDUP_WINDOW_DAYS"], int(1, 36_500),
        "Days in which a new memory replaces one that says the same",
        |s, v| s.memory.dedup_window_days = v.integer()).aliases(&["memory_dedup_window_days"]).default("7").project(ProjectTrust::Never),
    row("memory.dedup_threshold", &["CO_MEMORY_DEDUP_THRESHOLD", "CO_CLI_MEMORY_DEDUP_THRESHOLD"], int(0, 100),
        "How alike two memories must be, in percent, to say the same; opposites never do",
        |s, v| s.memory.dedup_threshold = v.integer()).aliases(&["memory_dedup_threshold"]).default("85").project(ProjectTrust::Never),
    row("memory.decay", &["CO_MEMORY_DECAY"], Kind::Choice(DecayConsent::NAMES),
        "Whether memories decay by themselves: `propose` waits for `/memory review`, `allow` does not",
        |s, v| s.memory.decay = v.choice(DecayConsent::named)).default("propose").project(ProjectTrust::Never),
    row("memory.decay_strategy", &["CO_MEMORY_DECAY_STRATEGY", "CO_CLI_MEMORY_DECAY_STRATEGY"], Kind::Choice(DecayStrategy::NAMES),
        "What decay does: `summarize` joins the oldest memories into one before they go, `cut` deletes them",
        |s, v| s.memory.decay_strategy = v.choice(DecayStrategy::named)).aliases(&["memory_decay_strategy"]).default("summarize").project(ProjectTrust::Never),
    row("memory.decay_percentage", &["CO_MEMORY_DECAY_PERCENTAGE", "CO_CLI_MEMORY_DECAY_PERCENTAGE"], Kind::Number { min: 0.0, max: 1.0 },
        "The share of memories that decays at a time, from 0 to 1; at least one does",
        |s, v| s.memory.decay_percentage = v.optional_number().map_or(0.2, f64::from)).aliases(&["memory_decay_percentage"]).default("0.2").project(ProjectTrust::Never),
    // --- spans
    row("telemetry.content", &["CO_TELEMETRY_CONTENT"], Kind::Choice(SpanContent::NAMES),
        "Messages, arguments and results in the spans of `co traces`: `full`, `redacted` without keys and tokens, `none`",
        |s, v| s.telemetry.content = v.choice(SpanContent::named)).default("redacted").project(ProjectTrust::Never),
    row("telemetry.max_mb", &["CO_TELEMETRY_MAX_MB"], int(0, 1_000_000),
        "Size of the file of spans in MiB, beyond which the oldest are deleted; 0: spans are not kept",
        |s, v| s.telemetry.max_mb = v.integer()).default("200").project(ProjectTrust::Never),
    row("telemetry.days", &["CO_TELEMETRY_DAYS"], int(1, 36_500),
        "Days that spans are kept",
        |s, v| s.telemetry.days = v.integer()).default("30").project(ProjectTrust::Never),
    row("telemetry.otlp_endpoint", &["OTEL_EXPORTER_OTLP_ENDPOINT"], Kind::Url,
        "Address of an OTLP collector, as `http://127.0.0.1:4318`, which gets spans and metrics; the other `OTEL_*` variables count too; unset: nothing is sent",
        |s, v| s.telemetry.otlp_endpoint = v.text()).project(ProjectTrust::Never),
    row("telemetry.otlp_headers", &["OTEL_EXPORTER_OTLP_HEADERS"], Kind::Secret,
        "Headers for the collector, as `name=value,name=value`",
        |s, v| s.telemetry.otlp_headers = v.secret()).project(ProjectTrust::Never),
    row("telemetry.otlp_content", &["CO_TELEMETRY_OTLP_CONTENT"], Kind::Bool,
        "Whether the collector gets messages, arguments and results, as `telemetry.content` says",
        |s, v| s.telemetry.otlp_content = v.bool()).default("false").project(ProjectTrust::Never),
    // --- locations
    row("data_dir", &["CO_DATA_DIR"], Kind::Path,
        "Folder of sessions and approvals; unset: `$XDG_DATA_HOME/co`, else `~/.local/share/co`",
        |s, v| s.data_dir = v.path().unwrap_or_default()).project(ProjectTrust::Never),
    row("trusted_folders", &["CO_TRUSTED_FOLDERS"], Kind::PathList,
        "Folders whose project files you trust, as they were when `co trust` showed them",
        |s, v| s.trusted_folders = v.paths().unwrap_or_default()).project(ProjectTrust::Never),
];

/// All known settings, with and without effect.
fn known_settings() -> impl Iterator<Item = &'static SettingRow> {
    SETTINGS.iter().chain(INERT)
}

/// The keys of all known settings.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    known_settings().map(|row| row.key)
}

/// The keys and aliases of all known settings.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    known_settings().flat_map(SettingRow::names)
}

/// The environment names of all known settings.
pub(super) fn env_names() -> impl Iterator<Item = &'static str> {
    known_settings().flat_map(|row| row.env.iter().copied())
}

impl Default for Settings {
    /// The defaults of all rows. The data folder depends on the home folder, so it is empty here;
    /// [`super::load()`] sets it.
    fn default() -> Self {
        let mut settings = Self::blank();
        for row in SETTINGS {
            row.write(&mut settings, row.default_value());
        }
        settings
    }
}
