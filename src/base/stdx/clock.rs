//! The time of day as an injected value, so that higher layers never read the system clock directly.
//!
//! Called by `app` (which chooses the clock) and by code that stamps records. It never sleeps and measures no
//! durations: timers belong to the async runtime.

use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use parking_lot::Mutex;

/// A source of the time of day.
pub trait Clock: Send + Sync {
    /// Returns the present moment. Two calls may return the same value; a system clock may step backwards.
    fn now(&self) -> Timestamp;
}

/// Returns the first moment of the day that contains `now` in `zone`.
#[must_use]
pub fn day_start(now: Timestamp, zone: &TimeZone) -> Timestamp {
    // A day without a start lies at the limit of what a timestamp can express.
    now.to_zoned(zone.clone()).start_of_day().map_or(now, |start| start.timestamp())
}

/// The compiled file that describes the system's own time zone.
const LOCAL_ZONE: &str = "/etc/localtime";

/// Returns the user's time zone: that of `TZ`, else the system's. If it is read from the system's file it has
/// no name: finding the name would require reading the whole folder of zones.
#[must_use]
pub fn system_zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    let local = || match std::env::var_os("TZ") {
        Some(_) => None,
        None => TimeZone::tzif("Local", &std::fs::read(LOCAL_ZONE).ok()?).ok(),
    };
    ZONE.get_or_init(|| local().unwrap_or_else(TimeZone::system)).clone()
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that changes only when it is set or advanced: a test double for tests and replays.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Timestamp>,
}

impl ManualClock {
    /// Returns a clock that shows `start` until it is moved.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self { now: Mutex::new(start) }
    }

    /// Moves the clock forward. It stops at the last moment that a timestamp can express.
    pub fn advance(&self, by: Duration) {
        let mut now = self.now.lock();
        *now = now.saturating_add(by).unwrap_or(Timestamp::MAX);
    }

    /// Sets the clock to any moment, including an earlier one.
    pub fn set(&self, to: Timestamp) {
        *self.now.lock() = to;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_begin_where_one_is() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (now, start) in [
            ("2026-01-01T22:59:59Z", "2025-12-31T23:00:00Z"),
            ("2026-01-01T23:00:00Z", "2026-01-01T23:00:00Z"),
            // The day on which summer time begins has 23 hours.
            ("2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z"),
            ("2026-03-29T22:00:00Z", "2026-03-29T22:00:00Z"),
        ] {
            let (now, start): (Timestamp, Timestamp) = (now.parse().unwrap(), start.parse().unwrap());
            assert_eq!(day_start(now, &zone), start, "{now}");
        }
        assert_eq!(day_start(Timestamp::MAX, &TimeZone::UTC).as_second() % 86_400, 0);
    }

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        assert_eq!((clock.now(), clock.now()), (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH));
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now().as_millisecond(), 1_500);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
        clock.set(Timestamp::UNIX_EPOCH);
        assert_eq!(clock.now(), Timestamp::UNIX_EPOCH);
    }
}
