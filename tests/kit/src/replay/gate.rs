//! Named moments that a test can wait for and let go, in place of sleeping.
//!
//! A reply that comes to a gate marks it as reached and waits; the test waits for the mark, looks, and releases it.
//! Nothing here knows time. Used by the replay provider and the loopback server.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::watch;

#[derive(Debug, Default)]
struct State {
    reached: BTreeSet<String>,
    released: BTreeSet<String>,
}

/// A set of named gates, shared between who serves and who tests. A released gate stays open.
#[derive(Debug, Clone, Default)]
pub struct ReplayGate {
    state: Arc<watch::Sender<State>>,
}

impl ReplayGate {
    /// All gates closed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until somebody stands at the gate, released or not. Cancel-safe.
    pub async fn reached(&self, name: &str) {
        self.until(|state| state.reached.contains(name)).await;
    }

    /// Whether somebody has come to the gate.
    pub fn is_reached(&self, name: &str) -> bool {
        self.state.borrow().reached.contains(name)
    }

    /// Opens the gate, also for those who come later.
    pub fn release(&self, name: &str) {
        self.state.send_modify(|state| {
            state.released.insert(name.to_owned());
        });
    }

    /// Comes to the gate and waits until it is released. Cancel-safe: the mark stays.
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
