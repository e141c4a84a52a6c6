//! Running hooks of the session's start and of prompts, in order, and the events that arrive meanwhile.

use std::collections::VecDeque;
use std::future::pending;

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::questions::QuestionEvent;
use crate::agent::driver::HooksResult;
use crate::message::UserPart;

/// Why a prompt is returned whose hooks were cancelled.
const STOPPED: &str = "it was stopped before the hooks had looked at it";

/// The running hooks, the oldest first, and their messages for the user.
pub(super) struct PendingHooks {
    pub(super) queue: VecDeque<RunningHooks>,
    words: Option<mpsc::Receiver<String>>,
    questions: Option<mpsc::Receiver<QuestionEvent>>,
}

/// Hooks that run.
pub(super) struct RunningHooks {
    /// The text of the prompt that they look at; `None` at the start of a session.
    pub(super) prompt: Option<String>,
    pub(super) task: AbortOnDropHandle<PendingEvent>,
}

/// The result of the oldest, or a message for the user.
pub(super) enum PendingEvent {
    Warning(String),
    /// A tool server asks the user, or does not any more.
    Question(QuestionEvent),
    Start(HooksResult),
    Sent(Vec<UserPart>),
    Refused {
        text: String,
        reason: String,
    },
}

impl PendingHooks {
    pub(super) fn new(words: Option<mpsc::Receiver<String>>) -> Self {
        Self { queue: VecDeque::new(), words, questions: None }
    }

    /// Takes the questions of tool servers from here.
    pub(super) fn listen(&mut self, questions: mpsc::Receiver<QuestionEvent>) {
        self.questions = Some(questions);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a prompt's hooks run.
    pub(super) fn has_prompt(&self) -> bool {
        self.queue.iter().any(|one| one.prompt.is_some())
    }

    /// Cancels the hooks; their prompts are returned.
    pub(super) fn stop(&self) {
        self.queue.iter().for_each(|one| one.task.abort());
    }

    /// Removes the newest prompt with this text; returns whether there was one.
    pub(super) fn take_back(&mut self, words: &str) -> bool {
        let found = self.queue.iter().rposition(|one| one.prompt.as_deref() == Some(words));
        found.and_then(|at| self.queue.remove(at)).is_some()
    }

    /// Drops all hooks, and returns the texts of their prompts.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        self.queue.drain(..).filter_map(|one| one.prompt).collect()
    }

    /// Returns the next result. Cancel-safe; never resolves while no hook runs and nothing arrives.
    pub(super) async fn next(&mut self) -> PendingEvent {
        let event = tokio::select! {
            word = receive(&mut self.words) => return PendingEvent::Warning(word),
            question = receive(&mut self.questions) => return PendingEvent::Question(question),
            event = oldest_result(self.queue.front_mut()) => event,
        };
        self.queue.pop_front();
        event
    }
}

async fn receive<T>(from: &mut Option<mpsc::Receiver<T>>) -> T {
    let Some(from) = from else { return pending().await };
    match from.recv().await {
        Some(one) => one,
        // All senders are gone, so no message can arrive.
        None => pending().await,
    }
}

async fn oldest_result(oldest: Option<&mut RunningHooks>) -> PendingEvent {
    let Some(RunningHooks { prompt, task }) = oldest else { return pending().await };
    task.await.unwrap_or_else(|_stopped| match prompt {
        Some(text) => PendingEvent::Refused { text: text.clone(), reason: STOPPED.to_owned() },
        None => PendingEvent::Start(HooksResult::default()),
    })
}
