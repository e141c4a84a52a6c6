//! What a failure means on this wire: the shared classes, and the wait that the service says in words.

use std::time::Duration;

use serde_json::Value;

use crate::provider::{ErrorClass, ProviderError, RetryHeaders, classify};

/// The words before a wait: `Please try again in 1.2s.`
const BEFORE_WAIT: &str = "try again in ";

/// Units of a wait and their milliseconds.
const UNITS: &[(&str, f64)] = &[
    ("ms", 1.0),
    ("minutes", 60_000.0),
    ("minute", 60_000.0),
    ("min", 60_000.0),
    ("m", 60_000.0),
    ("seconds", 1_000.0),
    ("second", 1_000.0),
    ("s", 1_000.0),
    ("hours", 3_600_000.0),
    ("hour", 3_600_000.0),
    ("h", 3_600_000.0),
];

/// A reply with a failure status.
pub fn of_reply(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
    with_said_wait(classify::classify_reply(status, headers, body))
}

/// An error object within a successful reply, or what stands around it.
pub fn of_value(value: &Value) -> ProviderError {
    with_said_wait(classify::classify_value(value))
}

/// In mid-stream there is no header to say how long to wait; the words do.
fn with_said_wait(mut error: ProviderError) -> ProviderError {
    if matches!(error.class, ErrorClass::RateLimited | ErrorClass::Overloaded) {
        error.retry_after = error.retry_after.or_else(|| said_wait(&error.message));
    }
    error
}

/// The wait that a message asks for, e.g. `try again in 1m3.5s`.
fn said_wait(message: &str) -> Option<Duration> {
    let lower = message.to_lowercase();
    let at = lower.find(BEFORE_WAIT)? + BEFORE_WAIT.len();
    let mut rest = lower.get(at..)?;
    let mut millis = 0.0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest.get(..digits)?.parse::<f64>() else { break };
        let after = rest.get(digits..)?.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (word, left) = after.split_at(letters);
        let Some((_, worth)) = UNITS.iter().find(|(unit, _)| *unit == word) else { break };
        millis += number * worth;
        rest = left.trim_start();
    }
    Duration::try_from_secs_f64(millis / 1_000.0).ok().filter(|wait| !wait.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_from_words() {
        let cases = [
            ("Rate limit reached. Please try again in 1.2s. Visit …", Some(1_200)),
            ("Please try again in 20ms.", Some(20)),
            ("Try again in 6m0s", Some(360_000)),
            ("please try again in 1h2m3.5s.", Some(3_723_500)),
            ("try again in 30 seconds", Some(30_000)),
            ("try again in 2 minutes.", Some(120_000)),
            ("try again in 0s", None),
            ("try again in a while", None),
            ("try again in 1 more hour", None),
            ("try again in ", None),
            ("try again later", None),
            ("try again in 99999999999999999999999999h", None),
        ];
        for (message, millis) in cases {
            assert_eq!(said_wait(message), millis.map(Duration::from_millis), "{message}");
        }
    }
}
