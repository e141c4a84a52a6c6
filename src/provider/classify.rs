//! What a failure means: from a status, a code and words to an [`ErrorClass`].
//!
//! Shared by all codecs, because hosts that speak one wire answer with each other's error bodies. It looks at values
//! only; it never decides what is done about a failure, that is [`ProviderError::recovery`].
//!
//! [`ProviderError::recovery`]: super::ProviderError::recovery

use serde_json::Value;

use super::{ErrorClass, ProviderError, RetryHeaders};

/// The longest message that is kept, in characters: error bodies can quote the whole prompt.
const LONGEST_MESSAGE: usize = 2_000;

/// What is known of a failure.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// Of the reply, or said in the body of a stream.
    pub status: Option<u16>,
    pub code: Option<&'a str>,
    /// The error's `type`.
    pub kind: Option<&'a str>,
    pub message: &'a str,
}

/// An error object, whatever its shape.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorBody {
    pub message: Option<String>,
    pub code: Option<String>,
    pub kind: Option<String>,
    /// A numeric `code` or `status`: some hosts put the status there.
    pub status: Option<u16>,
    pub request_id: Option<String>,
    /// Anthropic's spend limit: its 429 does not go away by waiting.
    detail_code: Option<String>,
}

/// What a reply with a failure status means. `body` may be anything, cut included.
pub fn classify_reply(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let parsed = serde_json::from_str::<Value>(text.trim()).ok();
    let error = parsed.as_ref().map(ErrorBody::read).unwrap_or_default();
    let mut error = error.into_error(Some(status), &text);
    error.status = Some(status);
    error.retry_after = headers.retry_after;
    error.should_retry = headers.should_retry;
    error.request_id = headers.request_id.clone().or(error.request_id);
    error
}

/// What an error object within a successful reply means.
pub fn classify_value(value: &Value) -> ProviderError {
    ErrorBody::read(value).into_error(None, "")
}

impl ErrorBody {
    /// Reads an error object or what stands around it: `{error: {…}}`, `{error: "…"}`, `{detail: …}`, `{message: …}`,
    /// the same within an array, or a bare string.
    pub fn read(value: &Value) -> Self {
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        let outer = Self::fields(value);
        let mut inner = match value.get("error") {
            Some(error @ Value::Object(_)) => Self::fields(error),
            Some(Value::String(message)) => Self { message: Some(message.clone()), ..outer.clone() },
            Some(_) | None => outer.clone(),
        };
        if let Value::String(message) = value {
            inner.message = Some(message.clone());
        }
        inner.message = inner.message.or_else(|| detail(value)).or(outer.message);
        inner.request_id = inner.request_id.or(outer.request_id);
        inner
    }

    fn fields(value: &Value) -> Self {
        let number = |key: &str| value.get(key).and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
        Self {
            message: text(value, "message"),
            code: text(value, "code"),
            kind: text(value, "type").filter(|kind| kind != "error"),
            status: [number("code"), number("status"), number("type")]
                .into_iter()
                .flatten()
                .find(|status| (400..600).contains(status)),
            request_id: text(value, "request_id"),
            detail_code: value.get("details").and_then(|details| text(details, "error_code")),
        }
    }

    fn into_error(self, status: Option<u16>, raw: &str) -> ProviderError {
        let message = match self.message.filter(|message| !message.trim().is_empty()) {
            Some(message) => message,
            None if raw.trim().is_empty() || looks_like_html(raw) => unsaid(status.or(self.status)),
            None => raw.trim().to_owned(),
        };
        let code = self.detail_code.or(self.code);
        let class = class_of(&Facts {
            status: status.or(self.status),
            code: code.as_deref(),
            kind: self.kind.as_deref(),
            message: &message,
        });
        let mut error = ProviderError::new(class, shortened(message));
        error.status = status.or(self.status);
        error.code = code.or(self.kind);
        error.request_id = self.request_id;
        error
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// `detail`: a string, or a list of `{msg}` (FastAPI servers).
fn detail(value: &Value) -> Option<String> {
    match value.get("detail")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let lines: Vec<String> = items
                .iter()
                .map(|item| {
                    text(item, "msg")
                        .unwrap_or_else(|| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                })
                .collect();
            (!lines.is_empty()).then(|| lines.join("; "))
        }
        other => Some(other.to_string()),
    }
}

fn looks_like_html(text: &str) -> bool {
    let start = text.trim_start().as_bytes();
    start.first() == Some(&b'<')
}

fn unsaid(status: Option<u16>) -> String {
    match status {
        Some(status) => format!("the server answered with status {status} and no explanation"),
        None => "the server reported an error without saying which".to_owned(),
    }
}

fn shortened(message: String) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        None => message,
        Some((end, _)) => format!("{}…", message.get(..end).unwrap_or_default()),
    }
}

/// Codes and types that mean more than the status they come with, or come without one (`wire.md` §0–§3).
const CODES: &[(&str, ErrorClass)] = &[
    ("context_length_exceeded", ErrorClass::ContextOverflow),
    ("request_too_large", ErrorClass::ContextOverflow),
    ("insufficient_quota", ErrorClass::Quota),
    ("credit_balance_exhausted", ErrorClass::Quota),
    ("enforced_spend_limit_reached", ErrorClass::Quota),
    ("usage_not_included", ErrorClass::Quota),
    ("billing_error", ErrorClass::Billing),
    ("content_filter", ErrorClass::Filtered),
    ("overloaded_error", ErrorClass::Overloaded),
    ("server_is_overloaded", ErrorClass::Overloaded),
    ("slow_down", ErrorClass::Overloaded),
    ("rate_limit_error", ErrorClass::RateLimited),
    ("rate_limit_exceeded", ErrorClass::RateLimited),
    ("ratelimitreached", ErrorClass::RateLimited),
    ("invalid_api_key", ErrorClass::Auth),
    ("authentication_error", ErrorClass::Auth),
    ("permission_error", ErrorClass::Permission),
    ("not_found_error", ErrorClass::NotFound),
    ("model_not_found", ErrorClass::NotFound),
    ("tool_use_failed", ErrorClass::BadRequest),
    ("timeout_error", ErrorClass::Server),
    ("conflict_error", ErrorClass::Server),
    ("server_error", ErrorClass::Server),
    ("internal_error", ErrorClass::Server),
    ("internal_server_error", ErrorClass::Server),
    ("unavailable_error", ErrorClass::Server),
    ("api_error", ErrorClass::Server),
    ("invalid_request_error", ErrorClass::BadRequest),
];

/// Words by which hosts say that the conversation is too long, in lower case (`wire.md` §0).
const OVERFLOWS: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "exceeds the context window",
    "maximum context length",
    "exceeds the maximum number of tokens",
    "exceeded max context length",
    "too many tokens",
    "total length of all messages is too long",
    "maximum prompt length is",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
];

/// The class of a failure. What the code says goes before the status where it says more; the words are read only for
/// what no code tells.
pub fn class_of(facts: &Facts<'_>) -> ErrorClass {
    let by_code = by_word(facts.code);
    let by_kind = by_word(facts.kind);
    let told = by_code.or(by_kind);
    match facts.status {
        Some(400 | 413 | 422) if overflows(facts.message) => ErrorClass::ContextOverflow,
        // A 403 of a filter or a 429 of a quota: the code is right. A 401 is one whatever its code says.
        Some(401) => ErrorClass::Auth,
        Some(402) => ErrorClass::Billing,
        Some(403) => exact(told, &[ErrorClass::Quota, ErrorClass::Filtered, ErrorClass::Billing])
            .unwrap_or(ErrorClass::Permission),
        Some(404) => ErrorClass::NotFound,
        Some(413) => ErrorClass::ContextOverflow,
        Some(429) => {
            let sure = [ErrorClass::Quota, ErrorClass::Billing, ErrorClass::Overloaded];
            let either = exact(by_code, &sure).or_else(|| exact(by_kind, &sure));
            either.unwrap_or(ErrorClass::RateLimited)
        }
        Some(503 | 529) => ErrorClass::Overloaded,
        Some(408 | 409) => ErrorClass::Server,
        Some(status) if status >= 500 => exact(told, &[ErrorClass::Overloaded]).unwrap_or(ErrorClass::Server),
        Some(_) => request_class(by_code, by_kind, facts.message),
        None if overflows(facts.message) => ErrorClass::ContextOverflow,
        None => told.unwrap_or(ErrorClass::Server),
    }
}

/// The class of a 400 and its like: the request's own fault, unless a code names something better known.
fn request_class(code: Option<ErrorClass>, kind: Option<ErrorClass>, message: &str) -> ErrorClass {
    let message = message.to_lowercase();
    if message.contains("api key") && ["incorrect", "invalid"].iter().any(|word| message.contains(word)) {
        return ErrorClass::Auth;
    }
    if message.contains("credit balance is too low") {
        return ErrorClass::Billing;
    }
    code.or(kind).unwrap_or(ErrorClass::BadRequest)
}

fn by_word(word: Option<&str>) -> Option<ErrorClass> {
    let word = word?.to_ascii_lowercase();
    CODES.iter().find(|(code, _)| *code == word).map(|(_, class)| *class)
}

fn exact(class: Option<ErrorClass>, allowed: &[ErrorClass]) -> Option<ErrorClass> {
    class.filter(|class| allowed.contains(class))
}

fn overflows(message: &str) -> bool {
    let message = message.to_lowercase();
    let counted = message.contains("input token count") && message.contains("exceeds the maximum");
    counted || OVERFLOWS.iter().any(|words| message.contains(words))
}
