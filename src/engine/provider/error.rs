//! The classes of failed requests, and the only table of how the program reacts to them.
//!
//! A [`ProviderError`] is a value: it ends an attempt, is stored with its turn, and is shown. No other code
//! decides whether a request is repeated.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::stdx::moment::wait;

/// The longest wait that a server may ask for; a longer one ends the turn with advice.
pub const LONGEST_SERVER_WAIT: Duration = Duration::from_secs(300);

/// A failed request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ProviderError {
    pub class: ErrorClass,
    /// The provider's own message, or ours where it gave none.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's code or type, e.g. `insufficient_quota`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The wait that the server asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// `x-should-retry`: takes precedence over the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// The kind of a failure. Stored, so variants are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// 400: the provider considers the request malformed.
    BadRequest,
    /// 401.
    Auth,
    /// 402, or a spend limit.
    Billing,
    /// 403.
    Permission,
    /// 404: no such model or endpoint.
    NotFound,
    /// Exhausted quota: waiting does not help.
    Quota,
    /// 429.
    RateLimited,
    /// 529, 503, `overloaded_error`.
    Overloaded,
    /// Other 5xx, 408, 409.
    Server,
    /// Could not connect, connection reset.
    Network,
    /// The TLS handshake failed, or the certificate is not trusted.
    Tls,
    /// A proxy refused the connection.
    Proxy,
    /// No bytes arrived within the idle time.
    Idle,
    /// The stream ended before the protocol's own end.
    Truncated,
    /// The conversation does not fit the model's window.
    ContextOverflow,
    /// The provider's filter refused the prompt.
    Filtered,
    /// The bytes do not follow this protocol.
    Malformed,
    /// The service discarded its model's reply, e.g. because of a tool call that it could not parse.
    BadReply,
}

/// The longest wait asked for by a server that is waited out where a fallback model is configured; per-minute
/// limits end within it.
pub const LONGEST_WAIT_BEFORE_FALLBACK: Duration = Duration::from_secs(60);

/// How the turn reacts to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Send the error to the model and repeat the request.
    Reflect,
    /// Trim the conversation and repeat the request, once a turn.
    Compact,
    /// Wait and repeat the request; `None` = our own exponential wait.
    Backoff(Option<Duration>),
    /// Repeat the request, but only once: a second failure of the same kind would repeat.
    Once,
    /// End the turn.
    Abort,
}

/// When a failure leads to failover to the fallback model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// The user has to know about it and act, or no other model would do better.
    Never,
    /// After the retries are used up; at once where [`Recovery`] allows none.
    AfterRetries,
    /// After one retry: failures of this kind usually outlast all retries.
    AfterOneRetry,
}

impl ProviderError {
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            status: None,
            code: None,
            retry_after: None,
            should_retry: None,
            request_id: None,
        }
    }

    /// Returns the reaction to this failure (architecture: provider failures are values).
    pub fn recovery(&self) -> Recovery {
        match (self.should_retry, self.class.facts().recovery) {
            (Some(false), Recovery::Backoff(_) | Recovery::Once) => Recovery::Abort,
            (Some(true), Recovery::Abort) | (_, Recovery::Backoff(_)) => bounded_backoff(self.retry_after),
            (_, Recovery::Once) if is_too_long(self.retry_after) => Recovery::Abort,
            (_, other) => other,
        }
    }

    /// Returns whether another model may take over after this failure. Failover never hides wrong settings
    /// (key, model, address), and content that one provider's filter refused is not sent to another provider.
    pub fn fallback(&self) -> Fallback {
        self.class.facts().fallback
    }

    /// Describes the failure in one sentence without its full stop. A provider's message alone may be
    /// unclear, so the class precedes it.
    pub fn describe(&self) -> String {
        let ClassFacts { words, is_ours, .. } = self.class.facts();
        let said = self.to_string();
        if is_ours || said.to_lowercase().starts_with(words) { said } else { format!("{words}: {said}") }
    }

    /// Returns what the user can do about it, in a sentence or two.
    pub fn advice(&self) -> String {
        match self.class {
            ErrorClass::Auth => {
                "Replace the key with /login (`co auth add` in a shell); `co config` shows where it comes from."
            }
            ErrorClass::Billing | ErrorClass::Quota => {
                "Waiting will not help: add credit at the provider, or choose another model (/model or --model)."
            }
            ErrorClass::Permission => {
                "This key has no access to this model: choose another (/model or --model), or ask the account's owner."
            }
            ErrorClass::NotFound => "Check the model's name and the base URL: `co config` shows both.",
            ErrorClass::RateLimited => return self.reset(),
            ErrorClass::Overloaded | ErrorClass::Server if self.retry_after.is_some() => return self.reset(),
            ErrorClass::Overloaded | ErrorClass::Server => {
                "Usually temporary: try again in a minute, or choose another model (/model or --model)."
            }
            ErrorClass::Tls => {
                "Check this machine's clock and the base URL; if the server or network uses its own certificate, set `ca_file` to the PEM file of its issuer."
            }
            ErrorClass::Proxy => {
                "Check `proxy` or HTTPS_PROXY (http://NAME:PASSWORD@HOST:PORT); NO_PROXY lists hosts that bypass it."
            }
            ErrorClass::Network => "Check the network and the base URL: `co config` shows it.",
            ErrorClass::Idle => {
                "Send the prompt again; a slow model may need a longer `idle_timeout` (`co config` shows it)."
            }
            ErrorClass::Truncated => "Nothing was saved or run: send the prompt again.",
            ErrorClass::ContextOverflow => {
                "Shorten the prompt, start over with /clear, or choose a model with a larger context window (/model or --model)."
            }
            ErrorClass::Filtered => "The provider's filter refused the prompt: reword it, or start over with /clear.",
            ErrorClass::BadReply => "Reword the prompt and send it again, or choose another model (/model or --model).",
            ErrorClass::BadRequest => {
                "The service rejects this request: choose another model (/model), or start over with /clear."
            }
            ErrorClass::Malformed => {
                "The response is not from the model or uses another API: check for a network login page, \
                 base_url and model (`co config`)."
            }
        }
        .to_owned()
    }

    /// Returns when a limit ends, where the server reported it.
    fn reset(&self) -> String {
        match self.retry_after.map(wait) {
            Some(wait) if self.class != ErrorClass::RateLimited => format!(
                "The service asks to wait {wait}: send the prompt again then, or choose another model (/model or --model)."
            ),
            Some(wait) => format!(
                "The limit resets in {wait}: send the prompt again then, or choose another model (/model or --model)."
            ),
            None => "The limit resets by itself: send the prompt again later, or choose another model (/model or --model)."
                .to_owned(),
        }
    }

    fn sentence(&self) -> String {
        match self.status {
            // Our own message may already name the status.
            Some(status) if !self.message.contains(&status.to_string()) => {
                format!("{} ({status})", self.message)
            }
            Some(_) | None => self.message.clone(),
        }
    }
}

/// The properties of a class of failures.
struct ClassFacts {
    /// The failure in a few words.
    words: &'static str,
    /// Its messages are our own: they say what failed.
    is_ours: bool,
    /// Without the wait that a server may ask for.
    recovery: Recovery,
    fallback: Fallback,
}

impl ErrorClass {
    fn facts(self) -> ClassFacts {
        use Fallback::{AfterOneRetry, AfterRetries, Never};
        use Recovery::{Abort, Backoff, Compact, Once, Reflect};
        let facts = |words, is_ours, recovery, fallback| ClassFacts { words, is_ours, recovery, fallback };
        match self {
            Self::BadRequest => facts("the request was refused", false, Reflect, Never),
            Self::Auth => facts("the key was refused", false, Abort, Never),
            Self::Billing => facts("the account has no credit left", false, Abort, AfterRetries),
            Self::Permission => facts("not permitted", false, Abort, Never),
            Self::NotFound => facts("no such model or endpoint", false, Abort, Never),
            Self::Quota => facts("the quota is used up", false, Abort, AfterRetries),
            Self::RateLimited => facts("rate limited", false, Backoff(None), AfterRetries),
            Self::Overloaded => facts("the service is overloaded", false, Backoff(None), AfterOneRetry),
            Self::Server => facts("the service failed", false, Backoff(None), AfterRetries),
            Self::Network => facts("connection failed", true, Backoff(None), AfterRetries),
            Self::Tls => facts("no trusted connection", true, Abort, Never),
            Self::Proxy => facts("the proxy refused", true, Abort, Never),
            Self::Idle => facts("no data received", true, Backoff(None), AfterRetries),
            Self::Truncated => facts("the reply was cut off", true, Backoff(None), AfterRetries),
            Self::ContextOverflow => facts("too long for the model", false, Compact, Never),
            Self::Filtered => facts("the provider's filter refused it", false, Abort, Never),
            Self::Malformed => facts("invalid response from the server", true, Backoff(None), AfterRetries),
            Self::BadReply => facts("the model's reply was unusable", false, Once, AfterRetries),
        }
    }

    /// Describes the failure in a few words.
    pub fn label(self) -> &'static str {
        self.facts().words
    }
}

fn bounded_backoff(wait: Option<Duration>) -> Recovery {
    if is_too_long(wait) { Recovery::Abort } else { Recovery::Backoff(wait) }
}

fn is_too_long(wait: Option<Duration>) -> bool {
    wait.is_some_and(|wait| wait > LONGEST_SERVER_WAIT)
}
