//! What hooks look at before it counts: the start of a session, and prompts, one after the other.
//!
//! Hooks may take their time; meanwhile everything else is answered. A prompt that they refuse goes back to where it was
//! written, and so does one whose hooks were stopped. Nothing is sent before they have spoken.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::client::{ClientHandler, OwnerAction};
use crate::agent::driver::{self, AgentEnv, HooksSaid, Submitted};
use crate::command::Say;
use crate::frontend::protocol::ServerMessage;
use crate::history::Record;
use crate::hook::{Hook, HookEvent, HookInput, HookSubject};
use crate::message::{NoteKind, UserPart, images};
use crate::session::Session;

/// How long hooks may hold up the end of a session.
pub(in crate::runtime) const LEAVING: Duration = Duration::from_secs(2);

/// Why a prompt came back whose hooks did not get to speak.
const STOPPED: &str = "it was stopped before the hooks had looked at it";

/// What hooks are looking at, the oldest first, and what they have to say to the person.
pub(super) struct Pending {
    queue: VecDeque<Looking>,
    words: Option<mpsc::Receiver<String>>,
}

enum Looking {
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

impl ClientHandler {
    /// Tells hooks of the session that was opened.
    pub(super) fn session_started(&mut self, session: &Session, env: &AgentEnv) {
        if !driver::any_hook_wants(&env.hooks, HookEvent::SessionStart) {
            return;
        }
        let (hooks, input) = (env.hooks.clone(), session_start(session));
        let task = tokio::spawn(async move { driver::hooks_say(&hooks, &input).await });
        self.pending.queue.push_back(Looking::Start(AbortOnDropHandle::new(task)));
    }

    /// Sends a prompt, at once where no hook wants to look at it.
    pub(super) async fn submit(&mut self, parts: Vec<UserPart>) -> OwnerAction {
        // In a session of another process nothing is sent.
        if self.read_only.is_some() {
            return OwnerAction::Prompt(parts);
        }
        let hooks: Vec<Arc<dyn Hook>> = self.app.permissions.hooks_of(&self.folder).await;
        if self.pending.is_empty() && !driver::any_hook_wants(&hooks, HookEvent::UserPromptSubmit) {
            return OwnerAction::Prompt(parts);
        }
        let text = images::words(&parts);
        let (session, folder) = (self.session.to_string(), self.folder.clone());
        let task = tokio::spawn(async move { driver::submit(&hooks, session, folder, parts).await });
        self.pending.queue.push_back(Looking::Prompt { text, task: AbortOnDropHandle::new(task) });
        self.tell_at_work().await;
        OwnerAction::Answered
    }

    /// Takes what hooks have looked at.
    pub(super) async fn looked(&mut self, looked: Looked) -> OwnerAction {
        match looked {
            Looked::Word(word) => {
                self.say(Say::warning("hooks", word)).await;
                OwnerAction::Answered
            }
            Looked::Start(said) => {
                self.notes.extend(notes(said));
                OwnerAction::Answered
            }
            Looked::Sent(parts) => OwnerAction::Prompt(parts),
            Looked::Refused { text, reason } => {
                // The face ends its sentence itself.
                let reason = reason.trim_end_matches('.').to_owned();
                self.tell(ServerMessage::Refused { text, reason }).await;
                OwnerAction::Answered
            }
        }
    }
}

/// What hooks are told at a session's start.
pub(in crate::runtime) fn session_start(session: &Session) -> HookInput {
    let source = if session.history().turns() == 0 { "new" } else { "resume" };
    about(session, HookSubject::SessionStart { source })
}

/// Words of hooks, for the next prompt.
pub(in crate::runtime) fn notes(said: HooksSaid) -> impl Iterator<Item = Record> {
    said.notes.into_iter().map(|text| Record::Noted { kind: NoteKind::Hook, text })
}

/// Tells hooks that the session is left, and waits for them a moment.
pub(in crate::runtime) async fn session_ended(session: &Session, env: &AgentEnv, reason: &'static str) {
    let input = about(session, HookSubject::SessionEnd { reason });
    let saying = driver::hooks_say(&env.hooks, &input);
    let _those_that_take_longer_are_ended = tokio::time::timeout(LEAVING, saying).await;
}

fn about(session: &Session, subject: HookSubject) -> HookInput {
    let workspace = session.history().workspace().to_owned();
    HookInput { session: session.id().to_string(), workspace, subject }
}
