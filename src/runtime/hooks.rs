//! What hooks are told of a session's start and end, and what they add to it.

use std::time::Duration;

use crate::agent::driver::{self, AgentEnv, HooksSaid};
use crate::history::Record;
use crate::hook::{HookInput, HookSubject};
use crate::message::NoteKind;
use crate::session::Session;

/// How long hooks may hold up the end of a session.
pub(super) const LEAVING: Duration = Duration::from_secs(2);

/// What hooks are told at a session's start.
pub(super) fn session_start(session: &Session) -> HookInput {
    let source = if session.history().turns() == 0 { "new" } else { "resume" };
    about(session, HookSubject::SessionStart { source })
}

/// Words of hooks, for the next prompt.
pub(super) fn notes(said: HooksSaid) -> impl Iterator<Item = Record> {
    said.notes.into_iter().map(|text| Record::Noted { kind: NoteKind::Hook, text })
}

/// Tells hooks that the session is left, and waits for them a moment.
pub(super) async fn session_ended(session: &Session, env: &AgentEnv, reason: &'static str) {
    let input = about(session, HookSubject::SessionEnd { reason });
    let saying = driver::hooks_say(&env.hooks, &input);
    let _those_that_take_longer_are_ended = tokio::time::timeout(LEAVING, saying).await;
}

fn about(session: &Session, subject: HookSubject) -> HookInput {
    let workspace = session.history().workspace().to_owned();
    HookInput { session: session.id().to_string(), workspace, subject }
}
