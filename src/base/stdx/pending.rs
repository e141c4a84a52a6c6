//! Work on threads that a process waits for before it ends.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Counts work of one kind while it goes on.
#[derive(Debug, Default)]
pub struct PendingWork {
    count: Mutex<usize>,
    fewer: Condvar,
}

/// One piece of the work; over when this is dropped.
#[derive(Debug)]
pub struct PendingGuard(&'static PendingWork);

impl PendingWork {
    #[must_use]
    pub const fn new() -> Self {
        Self { count: Mutex::new(0), fewer: Condvar::new() }
    }

    pub fn begin(&'static self) -> PendingGuard {
        *self.count.lock() += 1;
        PendingGuard(self)
    }

    /// Waits, at most `patience`, until none of the work goes on; returns whether that is so. Blocking.
    pub fn wait(&self, patience: Duration) -> bool {
        let mut count = self.count.lock();
        !self.fewer.wait_while_for(&mut count, |count| *count > 0, patience).timed_out()
    }
}

impl Drop for PendingGuard {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.fewer.notify_all();
    }
}
