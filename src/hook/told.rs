//! What the person should hear of hooks, each thing once.
//!
//! Hooks run where nobody can be shown anything; their words for the person go through a bounded channel to whoever
//! talks with the person. What nobody takes is dropped, for the log has it too.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::mpsc;

/// Words that may wait.
const WAITING: usize = 64;

/// Things that are remembered as told; beyond it they may be told again.
const REMEMBERED: usize = 1_000;

/// The speaking end.
#[derive(Debug)]
pub struct Teller {
    words: mpsc::Sender<String>,
    told: Mutex<BTreeSet<String>>,
}

impl Teller {
    /// Both ends.
    pub fn new() -> (Self, mpsc::Receiver<String>) {
        let (words, heard) = mpsc::channel(WAITING);
        (Self { words, told: Mutex::default() }, heard)
    }

    /// Tells this, unless what `key` stands for was told already. The text must be harmless.
    pub fn tell(&self, key: String, text: String) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() >= REMEMBERED {
            told.clear();
        }
        if !told.insert(key) {
            return;
        }
        tracing::warn!("{text}");
        let _nobody_takes_them = self.words.try_send(text);
    }
}
