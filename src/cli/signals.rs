//! Signals that end a printed turn: the first one closes it, so that what it did is saved.

use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::error::CliError;

/// Fires once one of the signals came.
pub(super) struct Stop {
    pub token: CancellationToken,
    caught: Arc<OnceLock<u8>>,
}

impl Stop {
    /// Listens for SIGINT, SIGTERM, SIGQUIT and SIGHUP from now on.
    pub fn on_signals() -> Result<Self, CliError> {
        let stop = Self { token: CancellationToken::new(), caught: Arc::default() };
        let kinds =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit(), SignalKind::hangup()];
        for kind in kinds {
            let mut signals = signal(kind)?;
            let (token, caught) = (stop.token.clone(), Arc::clone(&stop.caught));
            tokio::spawn(async move {
                if signals.recv().await.is_some() {
                    // The numbers of these fit; the first signal is the one that counts.
                    let _ = caught.set(u8::try_from(kind.as_raw_value()).unwrap_or_default());
                    token.cancel();
                }
            });
        }
        Ok(stop)
    }

    /// The signal that came first.
    pub fn caught(&self) -> Option<u8> {
        self.caught.get().copied()
    }
}
