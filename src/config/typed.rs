//! The settings as the program uses them: plain typed fields, already validated.
//!
//! Nothing here reads a source; the rows of the settings table write the fields. A key has no `Debug` form,
//! so neither have the types that contain one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::models::ModelOverride;
use super::providers::ProviderSettings;
use super::settings::{SETTINGS, Status};
use super::value::{self, TableEntry};
use crate::message::Usd;

/// All implemented settings. [`Settings::default`] holds the defaults.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// `provider/model`, or a bare name for the provider in use. `None`: the provider's default.
    pub model: Option<String>,
    /// Like `model`; used for failover when the model was given up.
    pub fallback_model: Option<String>,
    /// The name of a preset or of an entry of `providers`; `None`: the first provider that is ready.
    pub provider: Option<String>,
    /// Address and key for whichever provider is chosen; they override the provider's own.
    pub endpoint: Endpoint,
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
    /// The context window that history is trimmed to. `None`: the model's own, if it is known.
    pub context_tokens: Option<u32>,
    pub thinking: Thinking,
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
    /// The approval mode at program start.
    pub mode: ModeName,
    /// How long a request can be decided. `None`: without limit.
    pub approval_expiry: Option<Duration>,
    /// Maximum model requests per turn. `None`: no limit.
    pub max_requests: Option<NonZeroU32>,
    pub cap: CapSettings,
    /// Maximum retries of one failed model request.
    pub http_retries: u32,
    /// How often a model may correct wrong arguments of one tool.
    pub tool_retries: u32,
    pub connect_timeout: Duration,
    /// Maximum silence of a model's stream.
    pub idle_timeout: Duration,
    /// The proxy to use instead of the system's. It may contain a password.
    pub proxy: Option<Secret>,
    /// A PEM file of certificates that are trusted in addition to the system's.
    pub ca_file: Option<PathBuf>,
    pub shell: ShellSettings,
    /// Maximum bytes of one tool's output that the model receives; the rest is written to a file.
    pub tool_output_limit: usize,
    /// Absolute.
    pub data_dir: PathBuf,
    /// Absolute. Each covers only the folder itself, with the content that the user trusted.
    pub trusted_folders: Vec<PathBuf>,
}

/// A provider's address and key.
#[derive(Clone, PartialEq, Default)]
pub struct Endpoint {
    /// `http://` or `https://`, without a slash at the end.
    pub base_url: Option<String>,
    /// Whether the project's file set the address: then no key set for another address is sent to it.
    pub moved_by_project: bool,
    pub api_key: Option<Key>,
    /// Whether the project's file set the key, for whatever address it names.
    pub is_projects_key: bool,
}

/// A key as it was set. Not `Debug`, because it may contain the key itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    Literal(Secret),
    /// `$NAME`, but the variable is not set.
    Missing {
        variable: String,
    },
    /// `$(command)` from the user's own file: the command prints the key. It is run when the key is first
    /// needed.
    Command(String),
}

impl Key {
    /// Creates a key from its text.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self::Literal(Secret::new(text.to_owned()))
    }

    /// Returns the key itself, if it is known without running a command.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Literal(secret) => Some(secret),
            Self::Missing { .. } | Self::Command(_) => None,
        }
    }
}

/// Amounts of tokens and money at which the turn asks before its next request. `None`: no cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapSettings {
    pub turn_tokens: Option<u64>,
    pub turn_usd: Option<Usd>,
    pub session_tokens: Option<u64>,
    pub session_usd: Option<Usd>,
    pub day_tokens: Option<u64>,
    pub day_usd: Option<Usd>,
}

/// Limits and environment of child processes.
#[derive(Clone, PartialEq)]
pub struct ShellSettings {
    /// Never above `max_timeout`.
    pub timeout: Duration,
    /// The maximum that a model may request, and the limit of `!cmd`.
    pub max_timeout: Duration,
    /// Names of environment variables that children get in addition to the usual ones.
    pub env: Vec<String>,
}

/// A secret. It has no `Debug` and no `Display`: access is explicit, with [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the secret itself, for the request that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Defines an enum with one written name for each variant.
macro_rules! make_choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// The names as written in a file.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// Returns the name as written in a file.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns the variant with that name, if there is one.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

pub(super) use make_choice as choice;

choice! {
    /// The wire format of a provider.
    WireName {
        Anthropic = "anthropic",
        Chat = "chat",
        Responses = "responses",
        Gemini = "gemini",
        Ollama = "ollama",
    }
}

/// How much a model may think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    Off,
    Low,
    Medium,
    High,
    /// Up to this many tokens.
    Tokens(u32),
}

impl Thinking {
    /// The names of the levels.
    pub const NAMES: &'static [&'static str] = &["off", "low", "medium", "high"];

    /// Returns the level with that name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "low" => Some(Self::Low),
            "medium" => Some(Self::Medium),
            "high" => Some(Self::High),
            _ => None,
        }
    }
}

choice! {
    /// Colours for a dark or a light terminal.
    ThemeChoice {
        /// As the terminal reports its background.
        Auto = "auto",
        Dark = "dark",
        Light = "light",
    }
}

choice! {
    /// The approval mode.
    ModeName {
        Ask = "ask",
        /// Files of the workspace are edited without asking.
        Auto = "auto",
        /// Read-only.
        Plan = "plan",
        DryRun = "dry-run",
        DeferAll = "defer-all",
    }
}

choice! {
    /// How the user is notified while the terminal has no focus.
    Notify {
        /// In a way the terminal is known to support, otherwise by its bell.
        Auto = "auto",
        Bell = "bell",
        Off = "off",
    }
}

impl Settings {
    /// Returns the settings of the provider with that name, for changes.
    pub fn own(&mut self, name: &str) -> &mut ProviderSettings {
        self.providers.entry(name.to_owned()).or_default()
    }

    /// Sets a provider's key from its own setting; if that is unset, the section's key stays.
    pub(super) fn set_key(&mut self, name: &str, value: value::Value) {
        if let Some(key) = value.key() {
            self.own(name).api_key = Some(key);
        }
    }

    /// Sets a provider's address; if the setting is unset, the section's stays.
    pub(super) fn set_address(&mut self, name: &str, value: value::Value) {
        if let Some(url) = value.text() {
            self.own(name).base_url = Some(url);
        }
    }

    /// Sets a provider's model; if the setting is unset, the section's stays.
    pub(super) fn set_model(&mut self, name: &str, value: value::Value) {
        if let Some(model) = value.text() {
            self.own(name).model = Some(model);
        }
    }

    /// Placeholder values, which the rows overwrite.
    pub(super) fn unwritten() -> Self {
        Self {
            model: None,
            fallback_model: None,
            provider: None,
            endpoint: Endpoint::default(),
            providers: BTreeMap::new(),
            discover_local: false,
            models: Vec::new(),
            welcome: false,
            max_output_tokens: None,
            context_tokens: None,
            thinking: Thinking::Off,
            temperature: None,
            top_p: None,
            parallel_calls: true,
            theme: ThemeChoice::Auto,
            verbose: false,
            keys: Vec::new(),
            mouse: true,
            notify: Notify::Auto,
            reduced_motion: false,
            ascii: false,
            plain: false,
            mode: ModeName::Ask,
            approval_expiry: None,
            max_requests: None,
            cap: CapSettings::default(),
            http_retries: 0,
            tool_retries: 0,
            connect_timeout: Duration::ZERO,
            idle_timeout: Duration::ZERO,
            proxy: None,
            ca_file: None,
            shell: ShellSettings { timeout: Duration::ZERO, max_timeout: Duration::ZERO, env: Vec::new() },
            tool_output_limit: 0,
            data_dir: PathBuf::new(),
            trusted_folders: Vec::new(),
        }
    }
}

impl Default for Settings {
    /// The defaults of all rows. The data folder depends on the home folder, so it is empty here;
    /// [`super::load()`] sets it.
    fn default() -> Self {
        let mut settings = Self::unwritten();
        for row in SETTINGS {
            if let Status::Built(set) = row.status {
                set(&mut settings, value::default_of(row));
            }
        }
        settings
    }
}
