//! Hooks for events other than the decision on a call: after a call, before messages are left out, at a
//! turn's final reply, when a prompt is entered, when a session begins and ends.
//!
//! They run in the order of their files, within their own time limits; an interrupt drops them. Hooks on
//! calls are in `checks`. Called by the loop, by the running of tools, and by the owners of sessions.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::AgentEnv;

use crate::hook::{Hook, HookEvent, HookInput, HookSubject, HookVerdict};
use crate::message::{NoteKind, ReturnPart, ReturnStatus, ToolCall, ToolReturn, UserPart, images};
use crate::session::Session;

/// The combined result of the hooks for one event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HooksResult {
    /// The reason of the hook that denied it, if one did.
    pub denied: Option<String>,
    /// Notes for the model.
    pub notes: Vec<String>,
}

/// Whether any hook subscribes to this event.
pub fn any_hook_wants(hooks: &[Arc<dyn Hook>], event: HookEvent) -> bool {
    hooks.iter().any(|hook| hook.wants(event, None))
}

/// Runs the hooks for an event that is not about a call; stops at the first denial. Cancel-safe: dropping it
/// ends the running hook.
pub async fn hooks_say(hooks: &[Arc<dyn Hook>], input: &HookInput) -> HooksResult {
    let event = input.subject.event();
    let mut said = HooksResult::default();
    for hook in hooks.iter().filter(|hook| hook.wants(event, None)) {
        match hook.fire(input).await {
            HookVerdict::Deny { reason } => {
                said.denied = Some(reason);
                break;
            }
            HookVerdict::Note { text } => said.notes.push(text),
            HookVerdict::Pass
            | HookVerdict::Allow { .. }
            | HookVerdict::Ask { .. }
            | HookVerdict::Defer { .. }
            | HookVerdict::Rewrite { .. } => {}
        }
    }
    said
}

/// Runs the hooks on a prompt that the user entered. Returns what can be sent, with the hooks' notes before it; errs with the
/// reason of the hook that refused it. Cancel-safe like [`hooks_say`].
pub async fn submit(
    hooks: &[Arc<dyn Hook>],
    session: String,
    workspace: PathBuf,
    prompt: Vec<UserPart>,
) -> Result<Vec<UserPart>, String> {
    let subject = HookSubject::UserPromptSubmit { prompt: images::typed_text(&prompt) };
    let said = hooks_say(hooks, &HookInput { session, workspace, subject }).await;
    if let Some(reason) = said.denied {
        return Err(reason);
    }
    let note = |text| UserPart::Note { kind: NoteKind::Hook, text };
    Ok(said.notes.into_iter().map(note).chain(prompt).collect())
}

/// The hooks that run after a call.
#[derive(Default)]
pub(super) struct PostToolHooks {
    hooks: Vec<Arc<dyn Hook>>,
    session: String,
    workspace: PathBuf,
}

impl PostToolHooks {
    pub(super) fn new(env: &AgentEnv, session: &Session) -> Self {
        let workspace = session.history().workspace().to_owned();
        Self { hooks: env.hooks.clone(), session: session.id().to_string(), workspace }
    }

    /// Runs those that want it and appends their notes to the return, where the model reads them.
    pub(super) async fn look(self, call: ToolCall, returned: &mut ToolReturn, cancel: &CancellationToken) {
        type About = fn(ToolCall, ToolReturn) -> HookSubject;
        let (event, about): (HookEvent, About) = match returned.status {
            ReturnStatus::Ok => {
                (HookEvent::PostToolUse, |call, returned| HookSubject::PostToolUse { call, returned })
            }
            ReturnStatus::Failed | ReturnStatus::Unknown => {
                (HookEvent::PostToolUseFailure, |call, returned| HookSubject::PostToolUseFailure {
                    call,
                    returned,
                })
            }
            // The call did not run to its end.
            ReturnStatus::Denied | ReturnStatus::Undecided | ReturnStatus::Interrupted => return,
        };
        let Self { mut hooks, session, workspace } = self;
        hooks.retain(|hook| hook.wants(event, Some(&call.name)));
        // A return may hold megabytes: it is copied only for a hook.
        if hooks.is_empty() {
            return;
        }
        let input = HookInput { session, workspace, subject: about(call, returned.clone()) };
        for hook in hooks {
            let verdict = tokio::select! {
                biased;
                // The call has ended; only the hooks' notes are lost.
                () = cancel.cancelled() => return,
                verdict = hook.fire(&input) => verdict,
            };
            if let HookVerdict::Deny { reason: words } | HookVerdict::Note { text: words } = verdict {
                returned.content.push(ReturnPart::Text { text: format!("[hook: {words}]") });
            }
        }
    }
}

/// A question to hooks, answered concurrently with the loop.
#[derive(Default)]
pub(super) struct HookQuestion(Option<BoxFuture<'static, HooksResult>>);

impl HookQuestion {
    pub(super) fn ask(&mut self, env: &AgentEnv, session: &Session, subject: HookSubject) {
        let (hooks, input) = (env.hooks.clone(), hook_input(session, subject));
        self.0 = Some(Box::pin(async move { hooks_say(&hooks, &input).await }));
    }

    /// Returns their result; never resolves if none were asked. Cancel-safe.
    pub(super) async fn result(&mut self) -> HooksResult {
        let Some(saying) = &mut self.0 else { return pending().await };
        let said = saying.as_mut().await;
        self.0 = None;
        said
    }
}

/// The input of a hook about a session.
pub fn hook_input(session: &Session, subject: HookSubject) -> HookInput {
    let workspace = session.history().workspace().to_owned();
    HookInput { session: session.id().to_string(), workspace, subject }
}
