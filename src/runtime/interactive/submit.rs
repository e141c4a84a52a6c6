//! Hooks of the session's start and of prompts. They run in the background; a prompt is sent only after its hooks. One
//! that they refuse, or whose hooks were cancelled, returns to the composer.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio_util::task::AbortOnDropHandle;

use super::client::{ClientHandler, OwnerAction};
use super::pending::{PendingEvent, RunningHooks};
use crate::agent::driver::{self, AgentEnv};
use crate::agent::port::Op;
use crate::command::Notice;
use crate::frontend::protocol::ServerMessage;
use crate::hook::{Hook, HookEvent};
use crate::message::{UserPart, images};
use crate::runtime::hooks::{notes, session_start};
use crate::session::Session;

/// Parts of a prompt that come from elsewhere, or why they cannot be had.
type MoreParts = BoxFuture<'static, Result<Vec<UserPart>, String>>;

impl ClientHandler {
    /// Starts the hooks for the opened session.
    pub(super) fn start_session_hooks(&mut self, session: &Session, env: &AgentEnv) {
        if !driver::any_hook_wants(&env.hooks, HookEvent::SessionStart) {
            return;
        }
        let (hooks, input) = (env.hooks.clone(), session_start(session));
        let task = tokio::spawn(async move { PendingEvent::Start(driver::hooks_say(&hooks, &input).await) });
        self.pending.queue.push_back(RunningHooks { prompt: None, task: AbortOnDropHandle::new(task) });
    }

    /// Submits a prompt, at once if no hook applies.
    pub(super) async fn submit(&mut self, parts: Vec<UserPart>) -> OwnerAction {
        // In a session of another process nothing is sent.
        if self.read_only.is_some() {
            return OwnerAction::Op(Op::Steer { parts });
        }
        let hooks: Vec<Arc<dyn Hook>> = self.app.permissions.hooks_of(&self.folder).await;
        if self.pending.is_empty() && !driver::any_hook_wants(&hooks, HookEvent::UserPromptSubmit) {
            return OwnerAction::Op(Op::Steer { parts });
        }
        self.queue_submission(parts, hooks, std::future::ready(Ok(Vec::new())).boxed()).await
    }

    /// Submits a prompt with more parts, which come from elsewhere; if they cannot be had, the prompt is returned.
    pub(super) async fn submit_with(&mut self, parts: Vec<UserPart>, more: MoreParts) -> OwnerAction {
        if self.read_only.is_some() {
            return OwnerAction::Op(Op::Steer { parts });
        }
        let hooks = self.app.permissions.hooks_of(&self.folder).await;
        self.queue_submission(parts, hooks, more).await
    }

    async fn queue_submission(
        &mut self,
        mut parts: Vec<UserPart>,
        hooks: Vec<Arc<dyn Hook>>,
        more: MoreParts,
    ) -> OwnerAction {
        let text = images::typed_text(&parts);
        let (session, folder, prompt) = (self.session.to_string(), self.folder.clone(), Some(text.clone()));
        let task = tokio::spawn(async move {
            let sent = async {
                parts.extend(more.await?);
                driver::submit(&hooks, session, folder, parts).await
            };
            sent.await.map_or_else(|reason| PendingEvent::Refused { text, reason }, PendingEvent::Sent)
        });
        self.pending.queue.push_back(RunningHooks { prompt, task: AbortOnDropHandle::new(task) });
        self.tell_at_work().await;
        OwnerAction::Answered
    }

    /// Handles a result of the hooks.
    pub(super) async fn on_pending(&mut self, event: PendingEvent) -> OwnerAction {
        match event {
            PendingEvent::Warning(word) => self.say(Notice::warning("hooks", word)).await,
            PendingEvent::Question(event) => self.on_question(event).await,
            PendingEvent::Start(said) => self.notes.extend(notes(said)),
            PendingEvent::Sent(parts) => return OwnerAction::Op(Op::Steer { parts }),
            PendingEvent::Refused { text, reason } => {
                // The front end adds the full stop.
                let reason = reason.trim_end_matches('.').to_owned();
                self.tell(ServerMessage::Refused { text, reason }).await;
            }
        }
        OwnerAction::Answered
    }
}
