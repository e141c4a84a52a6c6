//! Moments and durations in a person's words.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats how long ago `then` was, in few cells: `now`, `3 min`, `2 h`, `4 d`.
#[must_use]
pub fn age(then: Timestamp, now: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()) {
        ..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Formats a moment to come, in few cells: `23:00`, `Sun 02:00`, `3 Dec`; `expired` if it is past.
#[must_use]
pub fn deadline(then: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    if then <= now {
        return "expired".to_owned();
    }
    let (then, now) = (then.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match (then.date() - now.date()).get_days() {
        ..=0 => "%H:%M",
        1..=6 => "%a %H:%M",
        7.. if then.year() == now.year() => "%-d %b",
        7.. => "%-d %b %Y",
    };
    then.strftime(format).to_string()
}

/// Formats a moment of this year with its day: `Mon 23 Nov 14:31`.
#[must_use]
pub fn with_day(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%a %-d %b %H:%M").to_string()
}

/// Formats a moment of the past: `3 min ago`, `yesterday 23:59`, `3 Oct 2025`.
#[must_use]
pub fn ago(then: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second());
    match seconds {
        ..60 => return "just now".to_owned(),
        60..3_600 => return format!("{} min ago", seconds / 60),
        3_600..21_600 => return format!("{} h ago", seconds / 3_600),
        21_600.. => {}
    }
    let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
    let today = if day(then) >= day(now) { "today " } else { "" };
    format!("{today}{}", moment(then, now, zone))
}

/// Formats a moment of the past by the clock and the calendar: `23:59`, `yesterday 23:59`, `Mon 23:59`, `3 Oct 2025`.
#[must_use]
pub fn moment(then: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (then, now) = (then.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match (now.date() - then.date()).get_days() {
        ..=0 => "%H:%M",
        1 => "yesterday %H:%M",
        2..=6 => "%a %H:%M",
        7.. if then.year() == now.year() => "%-d %b",
        7.. => "%-d %b %Y",
    };
    then.strftime(format).to_string()
}

/// Formats a duration in the units that suit it, cut and not rounded: `42µs`, `340ms`, `2.3s`, `44s`, `2m05s`, `2h05m`, `3d04h`.
#[must_use]
pub fn duration(took: Duration) -> String {
    match (took.as_secs(), took.as_millis(), took.subsec_millis() / 100) {
        (0, 0, _) if !took.is_zero() => format!("{}µs", took.as_micros()),
        (0, ms @ 1.., _) => format!("{ms}ms"),
        (seconds @ 1..10, _, tenths @ 1..) => format!("{seconds}.{tenths}s"),
        (seconds @ 0..60, ..) => format!("{seconds}s"),
        (seconds @ 60..3_600, ..) => format!("{}m{:02}s", seconds / 60, seconds % 60),
        (seconds @ 3_600..86_400, ..) => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        (seconds, ..) => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// Formats the whole seconds of a duration, for a time that runs.
#[must_use]
pub fn whole_seconds(ms: u64) -> String {
    duration(Duration::from_secs(ms / 1_000))
}

/// Formats a time to wait: whole seconds, rounded up.
#[must_use]
pub fn wait(time: Duration) -> String {
    duration(Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0)))
}

/// Says when a wait ends: `at once`, `in 20s`.
#[must_use]
pub fn after(time: Duration) -> String {
    if time.is_zero() { "at once".to_owned() } else { format!("in {}", wait(time)) }
}

/// Formats a duration in milliseconds likewise; one that is no duration as `0s`.
#[must_use]
pub fn milliseconds(ms: f64) -> String {
    duration(Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_few_cells() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-21T20:11:00Z");
        for (then, said) in [
            ("2026-11-21T20:12:00Z", "now"),
            ("2026-11-21T20:10:00Z", "1 min"),
            ("2026-11-21T17:00:00Z", "3 h"),
            ("2026-11-20T10:00:00Z", "34 h"),
            ("2026-11-11T10:00:00Z", "10 d"),
        ] {
            assert_eq!(age(at(then), now), said, "{then}");
        }
        for (then, said) in [
            ("2026-11-21T20:11:00Z", "expired"),
            ("2026-11-21T23:00:00Z", "23:00"),
            ("2026-11-22T02:00:00Z", "Sun 02:00"),
            ("2026-12-03T12:00:00Z", "3 Dec"),
            ("2027-01-02T12:00:00Z", "2 Jan 2027"),
        ] {
            assert_eq!(deadline(at(then), now, &TimeZone::UTC), said, "{then}");
        }
    }

    #[test]
    fn moments_are_said_as_people_do() {
        let now: Timestamp = "2026-11-21T20:11:00Z".parse().unwrap();
        for (then, said) in [
            ("2026-11-21T20:12:00Z", "just now"),
            ("2026-11-21T20:10:30Z", "just now"),
            ("2026-11-21T19:31:00Z", "40 min ago"),
            ("2026-11-21T18:00:00Z", "2 h ago"),
            ("2026-11-21T09:05:00Z", "today 09:05"),
            ("2026-11-20T23:59:00Z", "yesterday 23:59"),
            ("2026-11-19T12:00:00Z", "Thu 12:00"),
            ("2026-11-12T12:00:00Z", "12 Nov"),
            ("2025-10-03T12:00:00Z", "3 Oct 2025"),
        ] {
            assert_eq!(ago(then.parse().unwrap(), now, &TimeZone::UTC), said, "{then}");
        }
    }

    #[test]
    fn durations_have_a_suitable_unit() {
        let cases = [
            (0.0, "0s"),
            (f64::NAN, "0s"),
            (0.0421, "42µs"),
            (7.4, "7ms"),
            (840.0, "840ms"),
            (2_000.0, "2s"),
            (2_345.0, "2.3s"),
            (44_900.0, "44s"),
            (125_000.0, "2m05s"),
            (7_500_000.0, "2h05m"),
            (273_600_000.0, "3d04h"),
        ];
        for (ms, expected) in cases {
            assert_eq!(milliseconds(ms), expected);
        }
    }
}
