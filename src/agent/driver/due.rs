//! When the time of a waiting request is over: one timer for the nearest, nothing is polled.

use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Sleep, sleep};

use crate::history::{Known, OpenCall};
use crate::session::Session;
use crate::stdx::clock::Clock;

/// When the first undecided request of this session expires, after `known`; `None` where none does.
fn next_due(session: &Session, known: Option<Timestamp>) -> Option<Timestamp> {
    let history = session.history();
    let waits = |open: &&OpenCall| open.known == Known::Waiting && open.returned.is_none();
    let open = history.open_calls().iter().filter(waits).filter_map(|open| open.request.as_ref());
    let late = history.detached().iter().filter(|one| one.known == Known::Waiting).map(|one| &one.request);
    let due = open.chain(late).filter_map(|request| request.expires);
    due.filter(|due| known.is_none_or(|known| *due > known)).min()
}

/// The timer.
#[derive(Default)]
pub(super) struct Due {
    /// The next, and its sleep.
    next: Option<(Timestamp, Pin<Box<Sleep>>)>,
    /// What was reached: the store has been told, and is not told again.
    reached: Option<Timestamp>,
}

impl Due {
    /// Sets the timer to the nearest request.
    pub(super) fn look(&mut self, session: &Session) {
        let due = next_due(session, self.reached);
        if self.next.as_ref().map(|(next, _)| *next) == due {
            return;
        }
        self.next = due.map(|due| (due, timer(due, session.store().clock().now())));
    }

    /// Never resolves while nothing is due. Cancel-safe.
    pub(super) async fn reached(&mut self, clock: &dyn Clock) {
        let Some((due, sleep)) = &mut self.next else { return std::future::pending().await };
        sleep.as_mut().await;
        // A clock that was put back has to come there first: the timer is set anew.
        if clock.now() >= *due {
            self.reached = Some(*due);
        }
        self.next = None;
    }
}

fn timer(due: Timestamp, now: Timestamp) -> Pin<Box<Sleep>> {
    let left = Duration::try_from(due.duration_since(now)).unwrap_or_default();
    // The store counts in whole milliseconds.
    Box::pin(sleep(left.saturating_add(Duration::from_millis(1))))
}
