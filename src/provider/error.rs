//! Why a request failed, and the one table of what follows from it.
//!
//! A [`ProviderError`] is a value: it ends an attempt, is stored with its turn, and is shown. Nothing
//! else in the program decides whether a request is repeated.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest wait a server may ask for; a longer one ends the turn with advice.
pub const LONGEST_SERVER_WAIT: Duration = Duration::from_secs(300);

/// A failed request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct ProviderError {
    pub class: ErrorClass,
    /// The provider's own words, or ours where it gave none.
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's code or type, e.g. `insufficient_quota`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// How long the server asked us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// `x-should-retry`: wins over the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What kind of failure it was. Stored: only added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// 400: the request is malformed in the provider's eyes.
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
    /// Nothing arrived for the idle time.
    Idle,
    /// The stream ended before the protocol's own end.
    Truncated,
    /// The conversation does not fit the model's window.
    ContextOverflow,
    /// The provider's filter refused the prompt.
    Filtered,
    /// Bytes that are not this protocol.
    Malformed,
}

/// What the turn does about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// Tell the model what was wrong and ask again.
    Reflect,
    /// Trim the conversation and ask again, once a turn.
    Compact,
    /// Wait and ask again; `None` = our own exponential wait.
    Backoff(Option<Duration>),
    /// End the turn.
    Abort,
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

    /// The one table: failure → what follows (architecture: provider failures are values).
    pub fn recovery(&self) -> Recovery {
        let by_class = match self.class {
            ErrorClass::BadRequest => Recovery::Reflect,
            ErrorClass::ContextOverflow => Recovery::Compact,
            ErrorClass::Auth
            | ErrorClass::Billing
            | ErrorClass::Permission
            | ErrorClass::NotFound
            | ErrorClass::Quota
            | ErrorClass::Filtered => Recovery::Abort,
            ErrorClass::RateLimited
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Network
            | ErrorClass::Idle
            | ErrorClass::Truncated
            | ErrorClass::Malformed => Recovery::Backoff(self.retry_after),
        };
        match (self.should_retry, by_class) {
            (Some(false), Recovery::Backoff(_)) => Recovery::Abort,
            (Some(true), Recovery::Abort) => self.bounded(self.retry_after),
            (_, Recovery::Backoff(wait)) => self.bounded(wait),
            (_, other) => other,
        }
    }

    fn bounded(&self, wait: Option<Duration>) -> Recovery {
        match wait {
            Some(wait) if wait > LONGEST_SERVER_WAIT => Recovery::Abort,
            wait => Recovery::Backoff(wait),
        }
    }

    /// What the person can do about it, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self.class {
            ErrorClass::Auth => "Check the key: `co config` shows where it comes from.",
            ErrorClass::Billing | ErrorClass::Quota => {
                "The account's quota or credit is used up; waiting will not help. Choose another model with /model."
            }
            ErrorClass::Permission => "This key may not use this model. Choose another with /model.",
            ErrorClass::NotFound => "Check the model's name and the base URL: `co config` shows both.",
            ErrorClass::RateLimited => "The limit resets by itself; send the prompt again later.",
            ErrorClass::Overloaded | ErrorClass::Server => {
                "The service has trouble; send the prompt again later."
            }
            ErrorClass::Network => "Check the network and the base URL: `co config` shows it.",
            ErrorClass::Idle | ErrorClass::Truncated => "The connection broke off; send the prompt again.",
            ErrorClass::ContextOverflow => "The conversation no longer fits the model; /clear starts afresh.",
            ErrorClass::Filtered => "The provider's filter refused the prompt; reword it.",
            ErrorClass::BadRequest | ErrorClass::Malformed => {
                "The service and `co` did not understand each other; check base_url and model with `co config`."
            }
        }
    }

    fn sentence(&self) -> String {
        match self.status {
            Some(status) => format!("{} ({status})", self.message),
            None => self.message.clone(),
        }
    }
}
