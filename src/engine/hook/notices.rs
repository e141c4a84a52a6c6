//! Messages about hooks for the user, each reported once.
//!
//! Hooks run where nothing can be shown; messages go through a bounded channel to the front end. Messages
//! that do not fit are dropped, because the log has them too.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use tokio::sync::mpsc;

/// Capacity of the channel.
const WAITING: usize = 64;

/// Number of remembered messages; beyond it all are forgotten and may be reported again.
const REMEMBERED: usize = 1_000;

/// The sending end.
#[derive(Debug)]
pub struct HookNotices {
    words: mpsc::Sender<String>,
    reported: Mutex<BTreeSet<String>>,
}

impl HookNotices {
    /// Creates both ends.
    pub fn new() -> (Self, mpsc::Receiver<String>) {
        let (words, queue) = mpsc::channel(WAITING);
        (Self { words, reported: Mutex::default() }, queue)
    }

    /// Reports this message, unless one with the same `key` was reported before. The text must be sanitized.
    pub fn tell(&self, key: String, text: String) {
        let mut reported = self.reported.lock();
        if reported.len() >= REMEMBERED {
            reported.clear();
        }
        if !reported.insert(key) {
            return;
        }
        tracing::warn!("{text}");
        let _nobody_takes_them = self.words.try_send(text);
    }
}
