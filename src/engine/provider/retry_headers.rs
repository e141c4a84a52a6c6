//! Reads the retry information in a failed reply's headers.
//!
//! Called on failures only: Anthropic sends `retry-after` with successes too (`wire.md` §0). It reads no
//! clock; the caller passes the current time. Called by `provider/http`.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

use super::RetryHeaders;

impl RetryHeaders {
    /// Reads the headers through `get`, which looks a header up by its lower-case name.
    pub fn read<'a>(now: Timestamp, get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let millis = get("retry-after-ms").and_then(milliseconds);
        let after = get("retry-after").and_then(|value| seconds(value).or_else(|| until(value, now)));
        Self {
            // A wait of zero carries no information (Azure sends it together with a real one).
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

/// Returns the time from `now` to an HTTP date; `None` where the date is in the past.
fn until(value: &str, now: Timestamp) -> Option<Duration> {
    Duration::try_from(http_date(value.trim())?.duration_since(now)).ok()
}

/// Parses a date in any of the three forms that HTTP allows (RFC 9110 §5.6.7), always in UTC: the current one
/// (RFC 1123), and two that old servers send, RFC 850 (`Saturday, 21-Nov-26 10:00:30 GMT`) and `asctime`
/// (`Sat Nov 21 10:00:30 2026`).
fn http_date(value: &str) -> Option<Timestamp> {
    let today = || jiff::fmt::rfc2822::parse(value).ok().map(|date| date.timestamp());
    let in_utc = |date: civil::DateTime| date.to_zoned(TimeZone::UTC).ok().map(|date| date.timestamp());
    let rfc_850 = || civil::DateTime::strptime("%A, %d-%b-%y %H:%M:%S GMT", value).ok();
    let asctime = || civil::DateTime::strptime("%a %b %e %H:%M:%S %Y", value).ok();
    today().or_else(|| rfc_850().and_then(in_utc)).or_else(|| asctime().and_then(in_utc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_become_waits() {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let ms = |millis| Some(Duration::from_millis(millis));
        type Headers = &'static [(&'static str, &'static str)];
        let cases: [(Headers, Option<Duration>); 16] = [
            (&[], None),
            (&[("retry-after", "2")], ms(2_000)),
            (&[("retry-after", "0.25")], ms(250)),
            (&[("retry-after-ms", "1500"), ("retry-after", "9")], ms(1_500)),
            (&[("retry-after-ms", "0"), ("retry-after", "1")], ms(1_000)),
            (&[("retry-after", "Sat, 21 Nov 2026 10:00:30 GMT")], ms(30_000)),
            (&[("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT")], None),
            (&[("retry-after", "Saturday, 21-Nov-26 10:00:30 GMT")], ms(30_000)),
            (&[("retry-after", "Saturday, 21-Nov-26 09:00:00 GMT")], None),
            (&[("retry-after", "Sat Nov 21 10:00:30 2026")], ms(30_000)),
            (&[("retry-after", "Tue Dec  1 10:00:00 2026")], ms(864_000_000)),
            (&[("retry-after", "Sat Nov 21 09:00:00 2026")], None),
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
