//! What hooks look at before it counts: the start of a session, and prompts, one after the other.
//!
//! Hooks may take their time; meanwhile everything else is answered. A prompt that they refuse goes back to where it was
//! written, and so does one whose hooks were stopped. Nothing is sent before they have spoken.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use super::client::{ClientHandler, OwnerAction};
use super::pending::{Looked, Looking};
use crate::agent::driver::{self, AgentEnv};
use crate::command::Say;
use crate::frontend::protocol::ServerMessage;
use crate::hook::{Hook, HookEvent};
use crate::message::{UserPart, images};
use crate::runtime::hooks::{notes, session_start};
use crate::session::Session;

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
