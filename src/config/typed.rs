//! The settings as the program uses them: plain typed fields, valid by the time anybody sees them.
//!
//! No field is read from anywhere here; the rows of the settings table write them. A key never has a `Debug` form, so
//! neither has what holds one.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use super::models::ModelOverride;
use super::providers::ProviderSettings;
use super::settings::{SETTINGS, Status};
use super::value::{self, TableEntry};
use crate::message::Usd;

/// Everything that can be set and is built. [`Settings::default`] is what holds when nobody sets anything.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// `provider/model`, or a bare name for the provider in use. `None`: the provider's own default.
    pub model: Option<String>,
    /// As `model`; it answers where the model was given up.
    pub fallback_model: Option<String>,
    /// The name of a preset or of a section below; `None`: the first that is ready.
    pub provider: Option<String>,
    /// Address and key for the chosen provider, whichever it is; they win over the provider's own.
    pub endpoint: Endpoint,
    /// What is set for one service each, by its name.
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Whether to look for a model server on this machine when no key is known.
    pub discover_local: bool,
    /// What the person says of models.
    pub models: Vec<ModelOverride>,
    /// Whether a start without any provider offers to set one up.
    pub welcome: bool,
    /// Tokens per reply. `None`: what the wire format and the model make of it.
    pub max_output_tokens: Option<u32>,
    /// The window that history is trimmed to. `None`: the model's own where it is known.
    pub context_tokens: Option<u32>,
    pub thinking: Thinking,
    /// `None`: the provider's own.
    pub temperature: Option<f32>,
    /// As `temperature`.
    pub top_p: Option<f32>,
    /// Whether a model may ask for several tools at once.
    pub parallel_calls: bool,
    pub theme: ThemeChoice,
    /// Whether thinking is shown.
    pub verbose: bool,
    /// Keys of the screen that the person set; what they mean is for the screen to say.
    pub keys: Vec<TableEntry>,
    /// Whether mouse reports are asked for.
    pub mouse: bool,
    pub notify: Notify,
    pub reduced_motion: bool,
    /// Whether signs are drawn with ASCII in any case.
    pub ascii: bool,
    /// Whether a conversation is lines of text in place of the full screen.
    pub plain: bool,
    /// What is asked for when the program starts.
    pub mode: ModeName,
    /// How long a request can be decided. `None`: for ever.
    pub approval_expiry: Option<Duration>,
    /// Model requests in one turn. `None`: no limit.
    pub max_requests: Option<NonZeroU32>,
    pub cap: CapSettings,
    /// Retries of one failed model request.
    pub http_retries: u32,
    /// Repairs of wrong arguments that a model gets for one tool.
    pub tool_retries: u32,
    pub connect_timeout: Duration,
    /// The longest silence of a model's stream.
    pub idle_timeout: Duration,
    /// The proxy to use in place of the system's. It can hold a password.
    pub proxy: Option<Secret>,
    /// A PEM file of certificates that are trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    pub shell: ShellSettings,
    /// Bytes of one tool's output that the model reads; the rest is spilled to a file.
    pub tool_output_limit: usize,
    /// Absolute.
    pub data_dir: PathBuf,
    /// Absolute. Each stands for itself alone, with what it said when the person trusted it.
    pub trusted_folders: Vec<PathBuf>,
}

/// Where a provider is and what it wants to see.
#[derive(Clone, PartialEq, Default)]
pub struct Endpoint {
    /// `http://` or `https://`, without a slash at its end.
    pub base_url: Option<String>,
    /// The address is the project's: no key that was kept for another one goes there.
    pub moved_by_project: bool,
    pub api_key: Option<Key>,
    /// The key is the project's own, set for whatever address it names.
    pub is_projects_key: bool,
}

/// A key as it was set. Without `Debug`, as it may be the key itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    Literal(Secret),
    /// `$NAME`, and there is no such variable.
    Missing {
        variable: String,
    },
    /// `$(command)` of the user's own file: the key is what it prints. It is run when the key is first needed.
    Command(String),
}

impl Key {
    /// A key as text.
    #[must_use]
    pub fn literal(text: &str) -> Self {
        Self::Literal(Secret::new(text.to_owned()))
    }

    /// The key itself, where it is known without running anything.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Literal(secret) => Some(secret),
            Self::Missing { .. } | Self::Command(_) => None,
        }
    }
}

/// Amounts of tokens and money at which the next request becomes a question. `None`: no cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapSettings {
    pub turn_tokens: Option<u64>,
    pub turn_usd: Option<Usd>,
    pub session_tokens: Option<u64>,
    pub session_usd: Option<Usd>,
    pub day_tokens: Option<u64>,
    pub day_usd: Option<Usd>,
}

/// Limits and surroundings of child processes.
#[derive(Clone, PartialEq)]
pub struct ShellSettings {
    /// Never above `max_timeout`.
    pub timeout: Duration,
    /// The most that a model may ask for, and the limit of `!cmd`.
    pub max_timeout: Duration,
    /// Names of environment variables that children get besides the usual ones.
    pub env: Vec<String>,
}

/// A key. It has no `Debug` and no `Display`: who needs it says so with [`expose`](Self::expose).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The key itself, for the request that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// An enum with one written name for each variant.
macro_rules! make_choice {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// The names as they are written in a file.
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// The name as it is written in a file.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// The variant of that name, if there is one.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

pub(super) use make_choice as choice;

choice! {
    /// What a service speaks.
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
    /// So many tokens.
    Tokens(u32),
}

impl Thinking {
    /// The levels as they are written.
    pub const NAMES: &'static [&'static str] = &["off", "low", "medium", "high"];

    /// The level of that name, if there is one.
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
        /// What the terminal says of its background.
        Auto = "auto",
        Dark = "dark",
        Light = "light",
    }
}

choice! {
    /// What is asked for.
    ModeName {
        Ask = "ask",
        /// Files of the workspace are edited without asking.
        Auto = "auto",
        /// Look only.
        Plan = "plan",
        DryRun = "dry-run",
        DeferAll = "defer-all",
    }
}

choice! {
    /// How the person is called while looking elsewhere.
    Notify {
        /// In the way the terminal is known to understand, else by its bell.
        Auto = "auto",
        Bell = "bell",
        Off = "off",
    }
}

impl Settings {
    /// What is set for the service of that name, to be changed.
    pub fn own(&mut self, name: &str) -> &mut ProviderSettings {
        self.providers.entry(name.to_owned()).or_default()
    }

    /// Writes the key of a service's own setting; unset, the section's stays.
    pub(super) fn set_key(&mut self, name: &str, value: value::Value) {
        if let Some(key) = value.key() {
            self.own(name).api_key = Some(key);
        }
    }

    /// The same for its address.
    pub(super) fn set_address(&mut self, name: &str, value: value::Value) {
        if let Some(url) = value.text() {
            self.own(name).base_url = Some(url);
        }
    }

    /// The same for its model.
    pub(super) fn set_model(&mut self, name: &str, value: value::Value) {
        if let Some(model) = value.text() {
            self.own(name).model = Some(model);
        }
    }

    /// Fields without a meaning, for the rows to write over.
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
    /// Every row's default. The data folder depends on the home folder, so it is empty here; [`super::load()`] fills it.
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
