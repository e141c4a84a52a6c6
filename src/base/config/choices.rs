//! Values that settings choose from, defined once for the settings and for what they configure.

use serde::{Deserialize, Serialize};

use crate::stdx::names::names;

/// How much of messages, arguments and results spans hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpanContent {
    Full,
    /// Without what has the form of a key.
    #[default]
    Redacted,
    None,
}

names! { SpanContent, all { Full = "full", Redacted = "redacted", None = "none", } }

/// Whether the web is reached without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WebAccess {
    #[default]
    Allow,
    Ask,
    /// The tool is not offered.
    Deny,
}

names! { WebAccess { Allow = "allow", Ask = "ask", Deny = "deny", } }

/// The fate of the oldest memories when there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecayStrategy {
    /// They are joined into one, then deleted.
    #[default]
    Summarize,
    /// They are deleted.
    Cut,
}

names! { DecayStrategy { Summarize = "summarize", Cut = "cut", } }

/// Whether that happens by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecayConsent {
    /// It is proposed, and waits for the user.
    #[default]
    Propose,
    Allow,
}

names! { DecayConsent { Propose = "propose", Allow = "allow", } }

/// The kinds of isolation for commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxChoice {
    /// Bubblewrap, else Landlock, else nothing.
    #[default]
    Auto,
    Bubblewrap,
    Landlock,
    Docker,
    Nothing,
}

// `subprocess` is the word of seed 004.
names! {
    SandboxChoice {
        Auto = "auto",
        Bubblewrap = "bubblewrap",
        Landlock = "landlock",
        Docker = "docker",
        Nothing = "none",
        Nothing = "subprocess",
    }
}

/// The network of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContainerNetwork {
    #[default]
    None,
    /// The default network of Docker, for commands that may use the network.
    Bridge,
}

names! { ContainerNetwork { None = "none", Bridge = "bridge", } }

/// Which calls ask the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Read-only calls run, all others ask.
    #[default]
    Ask,
    /// Like ask, but files of the workspace are edited without asking.
    Auto,
    /// Read-only: every call with a side effect is denied.
    Plan,
    /// A call that would ask or change something returns its preview and becomes a request.
    DryRun,
    /// Every call becomes a request and nothing runs; for evals.
    DeferAll,
}

names! {
    Mode, all {
        Ask = "ask",
        Auto = "auto",
        Plan = "plan",
        DryRun = "dry-run",
        DeferAll = "defer-all",
    }
}

impl Mode {
    /// The next mode when the mode key is pressed: ask → auto → plan → dry-run → ask. Never leads to a mode
    /// that asks for nothing.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Ask => Self::Auto,
            Self::Auto => Self::Plan,
            Self::Plan => Self::DryRun,
            Self::DryRun | Self::DeferAll => Self::Ask,
        }
    }
}

/// How much the model may think before it replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingLevel {
    /// The provider's own default: the request does not mention thinking.
    #[default]
    Default,
    Off,
    Low,
    Medium,
    High,
    /// A budget in tokens; the nearest level where a wire has only levels.
    Tokens(u32),
}

names! { ThinkingLevel { Off = "off", Low = "low", Medium = "medium", High = "high", } }

/// How thinking is requested from a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThinkingStyle {
    /// Unknown: requested in the wire's usual way if the user asks for thinking, not mentioned otherwise.
    #[default]
    Unknown,
    /// The model does not think; thinking is never requested.
    Never,
    /// The model accepts a number of tokens.
    Budget,
    /// The model accepts a level, and thinking can be switched off.
    Levels,
    /// The model accepts a level and always thinks.
    Always,
}

names! { ThinkingStyle { Never = "never", Budget = "budget", Levels = "levels", Always = "always", } }

/// Colours for a dark or a light terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThemeChoice {
    /// From the terminal: light if it reports a light background, otherwise dark; 16 colours if it has no
    /// more.
    #[default]
    Auto,
    Dark,
    Light,
}

names! { ThemeChoice { Auto = "auto", Dark = "dark", Light = "light", } }

/// How the user is notified while the terminal has no focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// In a way the terminal is known to support, otherwise by its bell.
    #[default]
    Auto,
    Bell,
    Off,
}

names! { Notify { Auto = "auto", Bell = "bell", Off = "off", } }

/// The wire format of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
    Ollama,
}

names! {
    Codec {
        Anthropic = "anthropic",
        OpenAiChat = "chat",
        OpenAiResponses = "responses",
        Gemini = "gemini",
        Ollama = "ollama",
    }
}

impl Codec {
    /// The name for display.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic Messages",
            Self::OpenAiChat => "Chat Completions",
            Self::OpenAiResponses => "OpenAI Responses",
            Self::Gemini => "Gemini",
            Self::Ollama => "Ollama",
        }
    }
}
