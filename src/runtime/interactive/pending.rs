//! What hooks look at before it counts: the start of a session, and prompts, one after the other.

use std::collections::VecDeque;
use std::future::pending;

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::driver::{HooksSaid, Submitted};
use crate::message::UserPart;

/// Why a prompt came back whose hooks did not get to speak.
const STOPPED: &str = "it was stopped before the hooks had looked at it";

/// What hooks are looking at, the oldest first, and what they have to say to the person.
pub(super) struct Pending {
    pub(super) queue: VecDeque<Looking>,
    words: Option<mpsc::Receiver<String>>,
}

pub(super) enum Looking {
    Start(AbortOnDropHandle<HooksSaid>),
    Prompt { text: String, task: AbortOnDropHandle<Submitted> },
}

/// What came of the oldest, or words for the person.
pub(super) enum Looked {
    Word(String),
    Start(HooksSaid),
    Sent(Vec<UserPart>),
    Refused { text: String, reason: String },
}

impl Pending {
    pub(super) fn new(words: Option<mpsc::Receiver<String>>) -> Self {
        Self { queue: VecDeque::new(), words }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a prompt is on its way.
    pub(super) fn has_prompt(&self) -> bool {
        self.queue.iter().any(|one| matches!(one, Looking::Prompt { .. }))
    }

    /// Stops the hooks; prompts come back.
    pub(super) fn stop(&self) {
        for one in &self.queue {
            match one {
                Looking::Start(task) => task.abort(),
                Looking::Prompt { task, .. } => task.abort(),
            }
        }
    }

    /// Whether the newest prompt of these words was still looked at; it is not sent then.
    pub(super) fn take_back(&mut self, words: &str) -> bool {
        let is_it = |one: &Looking| matches!(one, Looking::Prompt { text, .. } if text == words);
        let found = self.queue.iter().rposition(is_it);
        found.and_then(|at| self.queue.remove(at)).is_some()
    }

    /// The texts of prompts that are not sent, because the session is left.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        let texts = self.queue.drain(..).filter_map(|one| match one {
            Looking::Start(_) => None,
            Looking::Prompt { text, .. } => Some(text),
        });
        texts.collect()
    }

    /// Cancel-safe; never resolves while nothing is looked at and nothing is to be said.
    pub(super) async fn next(&mut self) -> Looked {
        let looked = tokio::select! {
            word = next_word(&mut self.words) => return Looked::Word(word),
            looked = next_looked(self.queue.front_mut()) => looked,
        };
        self.queue.pop_front();
        looked
    }
}

async fn next_word(words: &mut Option<mpsc::Receiver<String>>) -> String {
    let Some(words) = words else { return pending().await };
    match words.recv().await {
        Some(word) => word,
        // The teller is gone; then nobody has anything to say.
        None => pending().await,
    }
}

async fn next_looked(oldest: Option<&mut Looking>) -> Looked {
    match oldest {
        None => pending().await,
        Some(Looking::Start(task)) => Looked::Start(task.await.unwrap_or_default()),
        Some(Looking::Prompt { text, task }) => match task.await {
            Ok(Submitted::Sent(parts)) => Looked::Sent(parts),
            Ok(Submitted::Refused { reason }) => Looked::Refused { text: text.clone(), reason },
            Err(_stopped) => Looked::Refused { text: text.clone(), reason: STOPPED.to_owned() },
        },
    }
}
