//! The settings as the program uses them: plain typed fields, already validated.
//!
//! Nothing here reads a source; the rows of the settings table write the fields.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::cap::Cap;
use super::choices::{
    ContainerNetwork, DecayConsent, DecayStrategy, Mode, Notify, SandboxChoice, SpanContent, ThemeChoice,
    ThinkingLevel, WebAccess,
};
use super::models::ModelOverride;
use super::providers::ProviderSettings;
use super::servers::ServerSettings;
use super::value::{Secret, TableEntry, Value};
use crate::message::Usd;

/// Defines a struct, and `blank`: a value in which every field has the default of its type.
macro_rules! with_blank {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        pub struct $name { $($(#[$doc])* pub $field: $type,)+ }

        impl $name {
            pub(super) fn blank() -> Self {
                Self { $($field: <$type>::default(),)+ }
            }
        }
    };
}

with_blank! {
    /// All settings. [`Settings::default`] holds the defaults.
    #[derive(Clone, PartialEq)]
    pub struct Settings {
        /// `provider/model`, or a bare name for the provider in use. `None`: the provider's default.
        pub model: Option<String>,
        /// Like `model`; used for failover when the model was given up.
        pub fallback_model: Option<String>,
        /// The name of a preset or of an entry of `providers`; `None`: the first provider that is ready.
        pub provider: Option<String>,
        /// Address and key for whichever provider is chosen; they override the provider's own.
        pub endpoint: ProviderSettings,
        /// Settings of individual providers, by name.
        pub providers: BTreeMap<String, ProviderSettings>,
        /// Whether to look for a model server on this machine when no key is known.
        pub discover_local: bool,
        /// Facts about models, set by the user.
        pub models: Vec<ModelOverride>,
        /// Whether a start without any provider offers to set one up.
        pub welcome: bool,
        /// Maximum tokens per reply. `None`: chosen by the wire format and the model.
        pub max_output_tokens: Option<u32>,
        /// The tokens of a conversation beyond which it is compacted. `None`: by the model's window, if it is known.
        pub context_tokens: Option<u32>,
        /// Like `model`; writes summaries.
        pub summary_model: Option<String>,
        /// Whether a model names sessions.
        pub model_titles: bool,
        /// Bytes of each old tool output that the model sees; 0: all. `None`: by what is known of its window.
        pub trim_tool_output: Option<u32>,
        /// Messages that the model sees; 0: all. `None`: by what is known of its window.
        pub max_messages: Option<u32>,
        /// Days after its last use that a session is kept. `None`: for ever.
        pub keep_days: Option<u32>,
        /// Size of the database, in MiB, beyond which the oldest sessions are deleted. `None`: no limit.
        pub max_history_mb: Option<u32>,
        /// Tool servers, by name.
        pub mcp_servers: BTreeMap<String, ServerSettings>,
        /// How long a turn waits for servers that are still connecting.
        pub mcp_wait: Duration,
        /// Percent of the model's window that descriptions of servers' tools may take.
        pub mcp_tool_budget: u8,
        pub thinking: ThinkingLevel,
        /// `None`: the provider's default.
        pub temperature: Option<f32>,
        /// `None`: the provider's default.
        pub top_p: Option<f32>,
        /// Whether a model may call several tools at once.
        pub parallel_calls: bool,
        pub theme: ThemeChoice,
        /// Whether thinking is shown.
        pub verbose: bool,
        /// Key bindings set by the user; the screen interprets them.
        pub keys: Vec<TableEntry>,
        /// Whether mouse reports are requested from the terminal.
        pub mouse: bool,
        pub notify: Notify,
        pub reduced_motion: bool,
        /// Whether symbols are always drawn with ASCII.
        pub ascii: bool,
        /// Whether to use lines of text instead of the full screen.
        pub plain: bool,
        /// Whether the end of a conversation prints the head of the audit.
        pub audit_head: bool,
        /// The name of the personality at program start.
        pub personality: String,
        /// The approval mode at program start.
        pub mode: Mode,
        /// How long a request can be decided. `None`: without limit.
        pub approval_expiry: Option<Duration>,
        /// Maximum model requests per turn. `None`: no limit.
        pub max_requests: Option<NonZeroU32>,
        /// Amounts at which the turn asks before its next request, in the cap's unit.
        pub caps: BTreeMap<Cap, u64>,
        /// Maximum retries of one failed model request.
        pub http_retries: u32,
        /// How long an overloaded service is asked again, in all.
        pub overload_wait: Duration,
        /// How often a model may correct wrong arguments of one tool.
        pub tool_retries: u32,
        pub connect_timeout: Duration,
        /// Maximum silence of a model's stream.
        pub idle_timeout: Duration,
        /// The proxy to use instead of the system's. It may contain a password.
        pub proxy: Option<Secret>,
        /// A PEM file of certificates that are trusted in addition to the system's.
        pub ca_file: Option<PathBuf>,
        pub telemetry: TelemetrySettings,
        pub undo: UndoSettings,
        pub memory: MemorySettings,
        pub shell: ShellSettings,
        pub web: WebSettings,
        pub sandbox: SandboxSettings,
        /// Maximum bytes of one tool's output that the model receives; the rest is written to a file.
        pub tool_output_limit: usize,
        /// Absolute.
        pub data_dir: PathBuf,
        /// Absolute. Each covers only the folder itself, with the content that the user trusted.
        pub trusted_folders: Vec<PathBuf>,
    }
}

/// How the web is reached.
#[derive(Clone, PartialEq, Default)]
pub struct WebSettings {
    pub fetch: WebAccess,
    pub search: WebAccess,
    /// If there are any, only pages of these domains are fetched.
    pub allowed_domains: Vec<String>,
    /// Pages of these are never fetched.
    pub blocked_domains: Vec<String>,
    pub brave_api_key: Option<Secret>,
    /// A SearXNG server; it counts before the key.
    pub searxng_url: Option<String>,
}

/// Where spans are kept.
#[derive(Clone, PartialEq, Default)]
pub struct TelemetrySettings {
    pub content: SpanContent,
    /// Size of the file in MiB; 0: no file.
    pub max_mb: u32,
    pub days: u32,
    /// The address of an OTLP collector, without the path of a signal.
    pub otlp_endpoint: Option<String>,
    /// Pairs `name=value`, separated by commas. They may hold a key.
    pub otlp_headers: Option<Secret>,
    /// Whether the collector gets messages, arguments and results.
    pub otlp_content: bool,
}

/// Settings of the copies kept so that changes of files can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UndoSettings {
    /// Size of the file in MiB; 0: nothing is kept.
    pub max_mb: u32,
    /// Size in MiB up to which a workspace is kept before a command; 0: none is.
    pub snapshot_mb: u32,
}

/// Settings of memories, and of those that are added to a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemorySettings {
    /// How many there may be in one place before the oldest decay.
    pub max_count: usize,
    /// Days in which a memory that says the same replaces an older one.
    pub dedup_window_days: u32,
    /// How alike they must be, from 0 to 100.
    pub dedup_threshold: u8,
    pub decay_strategy: DecayStrategy,
    /// The share that decays at a time.
    pub decay_percentage: f64,
    pub decay: DecayConsent,
    /// The most estimated tokens of memories that are added to a prompt; 0: none are added.
    pub recall_tokens: u32,
}

/// Isolation of commands.
#[derive(Clone, PartialEq, Default)]
pub struct SandboxSettings {
    pub backend: SandboxChoice,
    /// Absolute. Readable in addition to what every command may read.
    pub read: Vec<PathBuf>,
    /// The image of containers.
    pub image: String,
    pub network: ContainerNetwork,
    /// As Docker writes it: a number and a unit.
    pub memory: String,
    pub cpus: u32,
}

/// Limits and environment of child processes.
#[derive(Clone, PartialEq, Default)]
pub struct ShellSettings {
    /// Never above `max_timeout`.
    pub timeout: Duration,
    /// The maximum that a model may request, and the limit of `!cmd`.
    pub max_timeout: Duration,
    /// Names of environment variables that children get in addition to the usual ones.
    pub env: Vec<String>,
    /// Commands that count as read-only in a sandbox.
    pub safe_commands: Vec<String>,
}

impl Settings {
    /// Returns the settings of the provider with that name, for changes.
    pub fn own(&mut self, name: &str) -> &mut ProviderSettings {
        self.providers.entry(name.to_owned()).or_default()
    }

    /// Sets a cap from a number of tokens or of dollars.
    pub(super) fn set_cap(&mut self, cap: Cap, value: Value) {
        let amount = match value {
            Value::Number(dollars) => {
                Some(Usd::from_dollars(dollars).expect("a row's bounds are amounts of money").0)
            }
            tokens => tokens.optional_integer(),
        };
        self.caps.extend(amount.map(|amount| (cap, amount)));
    }
}
