//! Parses dates as typed: a date, or a number of the last days.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::error::{CliError, Result};

/// Returns the moment that a flag's text means: the start of a date, or of the first of the last N days
/// (`1d`: only today).
pub(super) fn begin(flag: &str, text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp> {
    let today = now.to_zoned(zone.clone()).date();
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()).filter(|days| *days > 0);
    let date = match days {
        Some(days) => today.checked_sub((days - 1).min(100_000).days()).ok(),
        None => text.parse::<Date>().ok(),
    };
    let start = date.and_then(|date| date.to_zoned(zone.clone()).ok()).map(|start| start.timestamp());
    start.ok_or_else(|| {
        let error = CliError::usage(format!("`{flag} {text}` is neither a date nor a number of days"));
        error.hint("write it as 2026-01-31, or as 7d for the last seven days, today included")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_local_midnight() {
        let zone = TimeZone::posix("XXX-9").unwrap();
        let now: Timestamp = "2026-03-01T15:30:00Z".parse().unwrap();
        for (text, expected) in [
            ("1d", Some("2026-03-01T15:00:00Z")),
            ("7d", Some("2026-02-23T15:00:00Z")),
            ("2026-01-31", Some("2026-01-30T15:00:00Z")),
            ("999999999d", Some("1752-05-16T15:00:00Z")),
            ("0d", None),
            ("d", None),
            ("-1d", None),
            ("yesterday", None),
            ("2026-02-30", None),
        ] {
            let found = begin("--since", text, now, &zone).ok().map(|at| at.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
