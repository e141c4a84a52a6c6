//! What a failed reply's headers say about trying again.
//!
//! Read on failures only: Anthropic sends `retry-after` with successes too (`wire.md` §0). It knows no clock, the
//! present moment is handed in. Called by `provider/http`.

use std::time::Duration;

use jiff::Timestamp;

use super::RetryHeaders;

impl RetryHeaders {
    /// Reads them through `get`, which looks a header up by its lower-case name.
    pub fn read<'a>(now: Timestamp, get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let millis = get("retry-after-ms").and_then(milliseconds);
        let after = get("retry-after").and_then(|value| seconds(value).or_else(|| until(value, now)));
        Self {
            // A wait of zero says nothing (Azure sends it beside a real one).
            retry_after: millis.into_iter().chain(after).find(|wait| !wait.is_zero()),
            should_retry: get("x-should-retry").and_then(|value| match value.trim() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            }),
            request_id: ["request-id", "x-request-id", "x-generation-id"]
                .iter()
                .find_map(|name| get(name))
                .map(str::to_owned),
        }
    }
}

fn milliseconds(value: &str) -> Option<Duration> {
    let millis: f64 = value.trim().parse().ok()?;
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}

fn seconds(value: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(value.trim().parse().ok()?).ok()
}

/// The time from `now` to an HTTP date; nothing where it has passed.
fn until(value: &str, now: Timestamp) -> Option<Duration> {
    let date = jiff::fmt::rfc2822::parse(value.trim()).ok()?.timestamp();
    Duration::try_from(date.duration_since(now)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_become_waits() {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let ms = |millis| Some(Duration::from_millis(millis));
        type Headers = &'static [(&'static str, &'static str)];
        let cases: [(Headers, Option<Duration>); 11] = [
            (&[], None),
            (&[("retry-after", "2")], ms(2_000)),
            (&[("retry-after", "0.25")], ms(250)),
            (&[("retry-after-ms", "1500"), ("retry-after", "9")], ms(1_500)),
            (&[("retry-after-ms", "0"), ("retry-after", "1")], ms(1_000)),
            (&[("retry-after", "Sat, 21 Nov 2026 10:00:30 GMT")], ms(30_000)),
            (&[("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-4")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], None),
        ];
        for (headers, expected) in cases {
            let get = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
            assert_eq!(RetryHeaders::read(now, get).retry_after, expected, "{headers:?}");
        }
    }

    #[test]
    fn the_other_headers_are_read() {
        let headers = [("x-should-retry", "false"), ("x-request-id", "r1")];
        let get = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let expected =
            RetryHeaders { retry_after: None, should_retry: Some(false), request_id: Some("r1".into()) };
        assert_eq!(RetryHeaders::read(Timestamp::UNIX_EPOCH, get), expected);
    }
}
