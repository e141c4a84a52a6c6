//! Named points in a script at which a test can hold it, instead of sleeping.
//!
//! A reply that arrives at a gate marks it as reached and waits; the test waits for the mark, checks, and
//! releases the gate. Independent of time. Used by the replay provider and the loopback server.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

#[derive(Debug, Default)]
struct State {
    reached: BTreeSet<String>,
    released: BTreeSet<String>,
}

/// A set of named gates, shared between the server and the test. A released gate stays open.
#[derive(Debug, Clone, Default)]
pub struct ReplayGate {
    state: Arc<watch::Sender<State>>,
}

impl ReplayGate {
    /// Creates a set with all gates closed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until a reply has reached the gate, released or not. Cancel-safe.
    pub async fn reached(&self, name: &str) {
        self.until(|state| state.reached.contains(name)).await;
    }

    /// Whether a reply has reached the gate.
    pub fn is_reached(&self, name: &str) -> bool {
        self.state.borrow().reached.contains(name)
    }

    /// Opens the gate, also for later arrivals.
    pub fn release(&self, name: &str) {
        self.state.send_modify(|state| {
            state.released.insert(name.to_owned());
        });
    }

    /// Marks the gate as reached and waits until it is released. Cancel-safe: the mark stays.
    pub async fn pass(&self, name: &str) {
        self.state.send_modify(|state| {
            state.reached.insert(name.to_owned());
        });
        self.until(|state| state.released.contains(name)).await;
    }

    async fn until(&self, condition: impl FnMut(&State) -> bool) {
        let mut changes = self.state.subscribe();
        let waited = changes.wait_for(condition).await;
        // The sender lives as long as `self`, which this call borrows.
        assert!(waited.is_ok(), "a gate's state outlives those who wait for it");
    }
}
