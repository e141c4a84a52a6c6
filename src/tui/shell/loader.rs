//! Loads languages on a separate thread, so that no frame waits for it.
//!
//! The program does not wait for the thread and may end before it does. Called by the shell.

use tokio::sync::mpsc;

use crate::tui::markdown::Languages;

/// The capacity of the answer channel; a thread blocks when it is full.
const WAITING: usize = 8;

/// Starts loading and receives the results.
pub struct Loader {
    done: mpsc::Sender<Languages>,
    loaded: mpsc::Receiver<Languages>,
}

impl Loader {
    pub fn new() -> Self {
        let (done, loaded) = mpsc::channel(WAITING);
        Self { done, loaded }
    }

    /// Starts loading on a new thread; if none can be started, the code stays plain.
    pub fn start(&self, languages: Languages) {
        let done = self.done.clone();
        let load = move || {
            for ready in languages.load() {
                if done.blocking_send(ready).is_err() {
                    tracing::debug!("a language was loaded for a screen that is gone");
                    return;
                }
            }
        };
        if let Err(error) = std::thread::Builder::new().name("languages".to_owned()).spawn(load) {
            tracing::debug!(%error, "no thread to load languages on");
        }
    }

    /// Returns the next languages that are loaded. Cancel-safe.
    pub async fn loaded(&mut self) -> Languages {
        match self.loaded.recv().await {
            Some(languages) => languages,
            None => std::future::pending().await,
        }
    }
}
