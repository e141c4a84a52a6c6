//! Loads languages on a thread of its own, so that neither the first frame nor any other waits for it.
//!
//! Nobody waits for the thread either: the program may end before it does. Called by the shell.

use tokio::sync::mpsc;

use crate::tui::markdown::Languages;

/// Answers that wait to be taken; a thread waits when there are more.
const WAITING: usize = 8;

/// Starts the loading, and hears of its end.
pub struct Loader {
    done: mpsc::Sender<Languages>,
    loaded: mpsc::Receiver<Languages>,
}

impl Loader {
    pub fn new() -> Self {
        let (done, loaded) = mpsc::channel(WAITING);
        Self { done, loaded }
    }

    /// Without a thread to spare the code stays plain.
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

    /// The next languages that are loaded. Cancel-safe.
    pub async fn loaded(&mut self) -> Languages {
        match self.loaded.recv().await {
            Some(languages) => languages,
            None => std::future::pending().await,
        }
    }
}
