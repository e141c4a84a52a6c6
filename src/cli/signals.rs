//! Handles signals that end a printed turn: the first one ends it in order, so that its work is saved.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::Result;

/// Fires when one of the signals arrives.
pub(super) struct Stop {
    pub token: CancellationToken,
    caught: Arc<OnceLock<u8>>,
}

impl Stop {
    /// Handles SIGINT, SIGTERM, SIGQUIT and SIGHUP from now on.
    pub fn on_signals() -> Result<Self> {
        let stop = Self { token: CancellationToken::new(), caught: Arc::default() };
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit(), SignalKind::hangup()];
        for kind in kinds {
            let mut signals = signal(kind)?;
            let (token, caught) = (stop.token.clone(), Arc::clone(&stop.caught));
            tokio::spawn(async move {
                if signals.recv().await.is_some() {
                    // These numbers fit; the first signal is kept.
                    let _ = caught.set(u8::try_from(kind.as_raw_value()).unwrap_or_default());
                    token.cancel();
                }
            });
        }
        Ok(stop)
    }

    /// Returns the first signal that arrived.
    pub fn caught(&self) -> Option<u8> {
        self.caught.get().copied()
    }
}

/// Waits for this time; for ever if there is none.
pub(super) async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
