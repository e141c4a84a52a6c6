//! Reads the requested wait from a failed reply's body: from a field, or from a sentence.
//!
//! Headers take precedence ([`RetryHeaders`](super::RetryHeaders)); the body is the only source where there
//! are none (Gemini, errors within a stream). Pure; called by `classify` on failures only.

use std::time::Duration;

use serde_json::Value;

/// The words before the duration in sentences that ask for a wait (`wire.md` §0), in lower case.
const ASKS: [&str; 4] = ["try again in ", "retry in ", "retry after ", "try again after "];

/// Returns the wait that an error object asks for, if any: from Google's `RetryInfo`, else from the message.
pub fn asked_wait(error: &Value, message: &str) -> Option<Duration> {
    field(error).or_else(|| sentence(message)).filter(|wait| !wait.is_zero())
}

/// Reads `details[].retryDelay`, the form of Google's services: `"48s"`.
fn field(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    details.iter().find_map(|detail| duration(detail.get("retryDelay")?.as_str()?))
}

/// `Please try again in 1.2s.`, `Please retry in 48.9s.`, `Please retry after 2 seconds.`
fn sentence(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    ASKS.iter().find_map(|words| {
        let (_, rest) = message.split_once(words)?;
        duration(rest)
    })
}

/// Parses the duration at the start of a text: numbers, each with its unit, as `6m30.5s`, `120ms`, `2
/// seconds`.
fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    let mut found = false;
    while let Some((part, after)) = part(rest) {
        total = total.checked_add(part)?;
        found = true;
        rest = after;
    }
    found.then_some(total)
}

/// Parses one number with its unit; also returns the text after them.
fn part(text: &str) -> Option<(Duration, &str)> {
    let text = text.trim_start();
    let digits = text.find(|one: char| !one.is_ascii_digit() && one != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at(digits);
    let number: f64 = number.trim_end_matches('.').parse().ok()?;
    let rest = rest.trim_start();
    let letters = rest.find(|one: char| !one.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    let seconds = match unit {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    };
    Some((Duration::try_from_secs_f64(number * seconds).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bodies_ask_for_waits() {
        let google =
            json!({"details": [{"@type": "type.googleapis.com/google.rpc.Help"}, {"retryDelay": "48s"}]});
        let none = Value::Null;
        let ms = |millis| Some(Duration::from_millis(millis));
        let cases: [(&Value, &str, Option<Duration>); 17] = [
            (&google, "Please retry in 48.9s.", ms(48_000)),
            (&none, "Please retry in 48.931234s.", Some(Duration::from_secs_f64(48.931_234))),
            (&none, "Rate limit reached for gpt-5 … Please try again in 1.2s. Visit …", ms(1_200)),
            (&none, "Please try again in 120ms.", ms(120)),
            (&none, "Please try again in 7m12s.", ms(432_000)),
            (&none, "Please try again in 1h2m3.5s.", ms(3_723_500)),
            (&none, "try again in 2 minutes and 5 seconds", ms(120_000)),
            (&none, "Please retry after 2 seconds.", ms(2_000)),
            (&none, "Try again after 1 hour", ms(3_600_000)),
            (&none, "Please retry in 0s", None),
            (&none, "try again in a moment", None),
            (&none, "try again in 3 apples", None),
            (&none, "try again in 1e400s", None),
            (&none, "try again in 99999999999999999999999s", None),
            (&none, "try again in ..s", None),
            (&none, "try again in", None),
            (&json!({"details": "x"}), "", None),
        ];
        for (error, message, expected) in cases {
            assert_eq!(asked_wait(error, message), expected, "{error} {message}");
        }
    }
}
