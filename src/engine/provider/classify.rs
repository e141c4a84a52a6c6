//! Classifies a failure: from a status, a code and a message to an [`ErrorClass`].
//!
//! Shared by all codecs, because hosts that speak one wire use each other's error bodies. It reads values
//! only; the reaction to a failure is decided by [`ProviderError::recovery`].
//!
//! [`ProviderError::recovery`]: super::ProviderError::recovery

mod google;

use std::time::Duration;

use serde_json::Value;

use super::json_fields::{beginning, string};
use super::retry_words::asked_wait;
use super::{ErrorClass, ProviderError, RetryHeaders};

/// The longest message that is kept, in characters: error bodies can quote the whole prompt.
const LONGEST_MESSAGE: usize = 2_000;

/// The known facts about a failure.
#[derive(Debug, Clone, Copy)]
pub struct FailureFacts<'a> {
    /// From the response, or from an error object within a stream.
    pub status: Option<u16>,
    pub code: Option<&'a str>,
    /// The error's `type`.
    pub kind: Option<&'a str>,
    pub message: &'a str,
}

/// The fields of an error object of any form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ErrorBody {
    pub message: Option<String>,
    pub code: Option<String>,
    pub kind: Option<String>,
    /// A numeric `code` or `status`: some hosts put the status there.
    pub status: Option<u16>,
    pub request_id: Option<String>,
    /// A more precise code than `code`: Anthropic's spend limit, Azure's and OpenRouter's filters.
    detail_code: Option<String>,
    /// The wait that its message or fields ask for.
    wait: Option<Duration>,
    /// The model's output that the service refused (Groq): the model needs it to correct its call.
    failed_generation: Option<String>,
    /// The class that Google's error details name.
    named: Option<ErrorClass>,
}

/// Classifies a reply with a failure status. `body` may be anything, and may be truncated.
pub fn classify_reply(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let parsed = serde_json::from_str::<Value>(text.trim()).ok();
    let error = parsed.as_ref().map(ErrorBody::read).unwrap_or_default();
    let error = error.into_error(Some(status), &text);
    ProviderError {
        retry_after: headers.retry_after.or(error.retry_after),
        should_retry: headers.should_retry,
        request_id: headers.request_id.clone().or(error.request_id),
        ..error
    }
}

/// Classifies an error object within a successful reply.
pub fn classify_value(value: &Value) -> ProviderError {
    ErrorBody::read(value).into_error(None, "")
}

impl ErrorBody {
    /// Reads an error object or the value around it: `{error: {…}}`, `{error: "…"}`, `{detail: …}`,
    /// `{message: …}`, the same within an array, or a bare string.
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
        let named = value.get("error").unwrap_or(value);
        inner.wait = asked_wait(named, inner.message.as_deref().unwrap_or_default());
        inner.request_id = inner.request_id.or(outer.request_id);
        inner
    }

    fn fields(value: &Value) -> Self {
        let number = |key: &str| value.get(key).and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
        Self {
            message: string(value, "message"),
            code: string(value, "code"),
            // Google puts a word in the field where others put the number.
            kind: string(value, "type")
                .filter(|kind| kind != "error")
                .or_else(|| string(value, "status").filter(|word| is_shouted(word))),
            status: [number("code"), number("status"), number("type")]
                .into_iter()
                .flatten()
                .find(|status| (400..600).contains(status)),
            request_id: string(value, "request_id"),
            named: google::class(value),
            detail_code: detail_code(value),
            wait: None,
            failed_generation: string(value, "failed_generation"),
        }
    }

    fn into_error(self, status: Option<u16>, raw: &str) -> ProviderError {
        let message = match self.message.filter(|message| !message.trim().is_empty()) {
            Some(message) => message,
            None if raw.trim().is_empty() || looks_like_html(raw) => unsaid(status.or(self.status)),
            None => raw.trim().to_owned(),
        };
        let message = match &self.failed_generation {
            Some(failed) => format!("{message}. The model had written: {failed}"),
            None => message,
        };
        let code = self.detail_code.or(self.code);
        let facts = FailureFacts {
            status: status.or(self.status),
            code: code.as_deref(),
            kind: self.kind.as_deref(),
            message: &message,
        };
        // Cerebras sends no explanation where a conversation is too long.
        let mute =
            facts.status == Some(400) && self.kind.is_none() && code.is_none() && raw.trim().is_empty();
        let class = if mute && status.is_some() { ErrorClass::ContextOverflow } else { class_of(&facts) };
        ProviderError {
            status: status.or(self.status),
            code: code.or(self.kind),
            request_id: self.request_id,
            retry_after: self.wait,
            ..ProviderError::new(self.named.unwrap_or(class), beginning(&message, LONGEST_MESSAGE))
        }
    }
}

/// Returns a nested code that is more precise than the error object's own.
fn detail_code(value: &Value) -> Option<String> {
    let spent = value.get("details").and_then(|details| string(details, "error_code"));
    let unnamed = value.get("code").is_none_or(Value::is_null);
    let azure = value.get("innererror").filter(|_| unnamed).and_then(|inner| string(inner, "code"));
    let flagged = value.get("metadata").is_some_and(|metadata| metadata.get("flagged_input").is_some());
    spent.or(azure).or_else(|| flagged.then(|| "moderation_blocked".to_owned()))
}

/// Reads `detail`: a string, or a list of `{msg}` (FastAPI servers).
fn detail(value: &Value) -> Option<String> {
    match value.get("detail")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let lines: Vec<String> = items
                .iter()
                .map(|item| {
                    string(item, "msg")
                        .unwrap_or_else(|| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                })
                .collect();
            (!lines.is_empty()).then(|| lines.join("; "))
        }
        other => Some(other.to_string()),
    }
}

fn is_shouted(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn looks_like_html(text: &str) -> bool {
    let start = text.trim_start().as_bytes();
    start.first() == Some(&b'<')
}

fn unsaid(status: Option<u16>) -> String {
    match status {
        Some(status) => format!("the server answered with status {status} and no explanation"),
        None => "the server reported an error without details".to_owned(),
    }
}

/// Codes and types that are more precise than their status, or come without one (`wire.md` §0–§3).
const CODES: &[(&str, ErrorClass)] = &[
    ("context_length_exceeded", ErrorClass::ContextOverflow),
    ("request_too_large", ErrorClass::ContextOverflow),
    ("exceed_context_size_error", ErrorClass::ContextOverflow),
    ("insufficient_quota", ErrorClass::Quota),
    ("exceeded_current_quota_error", ErrorClass::Quota),
    ("billing_hard_limit_reached", ErrorClass::Quota),
    ("credit_balance_exhausted", ErrorClass::Quota),
    ("enforced_spend_limit_reached", ErrorClass::Quota),
    ("usage_not_included", ErrorClass::Quota),
    ("billing_error", ErrorClass::Billing),
    ("content_filter", ErrorClass::Filtered),
    ("content_policy_violation", ErrorClass::Filtered),
    ("responsibleaipolicyviolation", ErrorClass::Filtered),
    ("moderation_blocked", ErrorClass::Filtered),
    ("image_content_policy_violation", ErrorClass::Filtered),
    ("overloaded_error", ErrorClass::Overloaded),
    ("engine_overloaded_error", ErrorClass::Overloaded),
    ("service_tier_capacity_exceeded", ErrorClass::Overloaded),
    ("server_is_overloaded", ErrorClass::Overloaded),
    ("slow_down", ErrorClass::Overloaded),
    ("rate_limit_error", ErrorClass::RateLimited),
    ("rate_limit_exceeded", ErrorClass::RateLimited),
    ("ratelimitreached", ErrorClass::RateLimited),
    ("rate_limited", ErrorClass::RateLimited),
    ("too_many_requests", ErrorClass::RateLimited),
    ("invalid_api_key", ErrorClass::Auth),
    ("authentication_error", ErrorClass::Auth),
    ("permission_error", ErrorClass::Permission),
    ("not_found_error", ErrorClass::NotFound),
    ("model_not_found", ErrorClass::NotFound),
    ("deploymentnotfound", ErrorClass::NotFound),
    ("tool_use_failed", ErrorClass::BadRequest),
    ("timeout_error", ErrorClass::Server),
    ("conflict_error", ErrorClass::Server),
    ("server_error", ErrorClass::Server),
    ("internal_error", ErrorClass::Server),
    ("internal_server_error", ErrorClass::Server),
    ("unavailable_error", ErrorClass::Server),
    ("api_error", ErrorClass::Server),
    ("invalid_request_error", ErrorClass::BadRequest),
    ("invalid_prompt", ErrorClass::BadRequest),
    ("invalid_argument", ErrorClass::BadRequest),
    // Caused by billing or by the region that the request comes from: no change of the request can help.
    ("failed_precondition", ErrorClass::Permission),
    ("unauthenticated", ErrorClass::Auth),
    ("permission_denied", ErrorClass::Permission),
    ("not_found", ErrorClass::NotFound),
    ("resource_exhausted", ErrorClass::RateLimited),
    ("internal", ErrorClass::Server),
    ("unavailable", ErrorClass::Overloaded),
    ("deadline_exceeded", ErrorClass::Server),
    ("malformed_function_call", ErrorClass::BadReply),
    ("unexpected_tool_call", ErrorClass::BadReply),
];

/// The word that all codes of unusable images contain (OpenAI has about fifteen).
const IMAGE_CODES: &str = "image";

/// Phrases of hosts for a conversation that is too long, in lower case (`wire.md` §0).
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
    "exceed context limit",
    "exceeds the context length",
    "exceeds maximum context length",
];

/// Phrases for an account without money or credit, which some hosts send with any status, in lower case.
const SPENT: &[&str] = &[
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "doesn't have any credits",
    "used all available credits",
    "monthly spending limit",
];

/// Phrases of a filter that refused its input, in lower case.
const FILTERS: &[&str] = &[
    "content filtering policy",
    "content management policy",
    "flagged as potentially violating",
    "content violates usage guidelines",
    "content exists risk",
];

/// Phrases for an invalid key, where the status does not report it, in lower case.
const BAD_KEYS: &[&str] = &["incorrect api key", "invalid api key", "api key not valid", "invalid x-api-key"];

/// Returns the class of a failure. A code takes precedence over the status where it is more precise; known
/// phrases in the message take precedence over less precise codes.
pub fn class_of(facts: &FailureFacts<'_>) -> ErrorClass {
    let by_code = by_word(facts.code);
    let by_kind = by_word(facts.kind);
    let stated = by_code.or(by_kind);
    let words = facts.message.to_lowercase();
    match facts.status {
        // A 401 is an authentication failure whatever its code.
        Some(401) => ErrorClass::Auth,
        Some(402) => ErrorClass::Billing,
        // The code is right about a 403 caused by a filter or a quota.
        Some(403) => exact(stated, &[ErrorClass::Quota, ErrorClass::Filtered, ErrorClass::Billing])
            .or_else(|| by_words(&words))
            .unwrap_or(ErrorClass::Permission),
        Some(404 | 405 | 410 | 501) => ErrorClass::NotFound,
        Some(407) => ErrorClass::Network,
        Some(408 | 409) => ErrorClass::Server,
        Some(413) => ErrorClass::ContextOverflow,
        Some(429) => too_many(by_code, by_kind, &words),
        Some(503 | 529) if !overflows(&words) => ErrorClass::Overloaded,
        Some(status) if status >= 500 => exact(stated, &[ErrorClass::Overloaded])
            .or_else(|| overflows(&words).then_some(ErrorClass::ContextOverflow))
            .unwrap_or(ErrorClass::Server),
        Some(_) if overflows(&words) => ErrorClass::ContextOverflow,
        Some(_) => by_words(&words).or(stated).unwrap_or(ErrorClass::BadRequest),
        // "Too many tokens" may also mean a rate limit: a code is more reliable.
        None if stated != Some(ErrorClass::RateLimited) && overflows(&words) => ErrorClass::ContextOverflow,
        None => by_words(&words).or(stated).unwrap_or(ErrorClass::Server),
    }
}

/// Classifies a 429: temporary, unless the code or the message shows otherwise.
fn too_many(code: Option<ErrorClass>, kind: Option<ErrorClass>, words: &str) -> ErrorClass {
    // The request has more tokens than a minute allows: waiting does not help, a shorter conversation does.
    if words.contains("request too large") {
        return ErrorClass::ContextOverflow;
    }
    let sure = [ErrorClass::Quota, ErrorClass::Billing, ErrorClass::Overloaded];
    let spent = SPENT.iter().any(|spent| words.contains(spent)).then_some(ErrorClass::Billing);
    let busy = words.contains("overloaded").then_some(ErrorClass::Overloaded);
    let stated = exact(code, &sure).or_else(|| exact(kind, &sure));
    stated.or(spent).or(busy).unwrap_or(ErrorClass::RateLimited)
}

/// Classifies by the message alone: hosts send these phrases with less precise codes.
fn by_words(words: &str) -> Option<ErrorClass> {
    let says = |all: &[&str]| all.iter().any(|one| words.contains(one));
    let classes =
        [(BAD_KEYS, ErrorClass::Auth), (SPENT, ErrorClass::Billing), (FILTERS, ErrorClass::Filtered)];
    classes.into_iter().find(|(all, _)| says(all)).map(|(_, class)| class)
}

fn by_word(word: Option<&str>) -> Option<ErrorClass> {
    let word = word?.to_ascii_lowercase();
    let known = CODES.iter().find(|(code, _)| *code == word).map(|(_, class)| *class);
    known.or_else(|| word.contains(IMAGE_CODES).then_some(ErrorClass::BadRequest))
}

fn exact(class: Option<ErrorClass>, allowed: &[ErrorClass]) -> Option<ErrorClass> {
    class.filter(|class| allowed.contains(class))
}

/// Whether a lower-case message reports that the conversation is too long.
fn overflows(words: &str) -> bool {
    let counted = words.contains("input token count") && words.contains("exceeds the maximum");
    counted || OVERFLOWS.iter().any(|known| words.contains(known))
}
