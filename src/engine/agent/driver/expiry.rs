//! The driver's timers. One of them, for the earliest expiry, detects when a waiting request expires.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Sleep, sleep};

use crate::history::{OpenCall, RecordedState};
use crate::session::Session;
use crate::stdx::clock::Clock;

/// Returns when the first undecided request of this session expires after `known`; `None` if none does.
fn next_due(session: &Session, known: Option<Timestamp>) -> Option<Timestamp> {
    let history = session.history();
    let waits = |open: &&OpenCall| open.known == RecordedState::Waiting && open.returned.is_none();
    let open = history.open_calls().iter().filter(waits).filter_map(|open| open.request.as_ref());
    let late =
        history.late_calls().iter().filter(|one| one.known == RecordedState::Waiting).map(|one| &one.request);
    let due = open.chain(late).filter_map(|request| request.expires);
    due.filter(|due| known.is_none_or(|known| *due > known)).min()
}

/// The timer for the next expiry.
#[derive(Default)]
pub(super) struct ExpiryTimer {
    /// The next expiry, and the sleep until it.
    next: Option<(Timestamp, Pin<Box<Sleep>>)>,
    /// The last expiry that was reached. The store was notified of it and is not notified again.
    reached: Option<Timestamp>,
}

impl ExpiryTimer {
    /// Sets the timer to the earliest expiry.
    pub(super) fn look(&mut self, session: &Session) {
        let due = next_due(session, self.reached);
        if self.next.as_ref().map(|(next, _)| *next) == due {
            return;
        }
        let wait = |due: Timestamp| {
            Duration::try_from(due.duration_since(session.store().clock().now())).unwrap_or_default()
        };
        // The store's times are whole milliseconds.
        self.next = due.map(|due| (due, timer(wait(due).saturating_add(Duration::from_millis(1)))));
    }

    /// Completes when a request expires; never if none is going to. Cancel-safe.
    pub(super) async fn wait_for_expiry(&mut self, clock: &dyn Clock) {
        let Some((due, sleep)) = &mut self.next else { return pending().await };
        sleep.as_mut().await;
        // If the clock was set back, it has to reach the time first: the timer is set again.
        if clock.now() >= *due {
            self.reached = Some(*due);
        }
        self.next = None;
    }
}

/// Returns a timer that ends after `wait`.
pub(super) fn timer(wait: Duration) -> Pin<Box<Sleep>> {
    Box::pin(sleep(wait))
}

/// Completes when the timer ends; never without one. Cancel-safe.
pub(super) async fn wait_for_timer(timer: &mut Option<Pin<Box<Sleep>>>) {
    match timer {
        Some(timer) => timer.as_mut().await,
        None => pending().await,
    }
}
