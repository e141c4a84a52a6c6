//! Session hooks: their input at the start and end of a session, and their notes.

use std::time::Duration;

use crate::agent::driver::{self, AgentEnv, HooksResult};
use crate::history::Record;
use crate::hook::{HookInput, HookSubject};
use crate::message::NoteKind;
use crate::session::Session;

/// The timeout of hooks at the end of a session.
pub(super) const LEAVING: Duration = Duration::from_secs(2);

/// Returns the hook input at a session's start.
pub(super) fn session_start(session: &Session) -> HookInput {
    let source = if session.history().turns() == 0 { "new" } else { "resume" };
    driver::hook_input(session, HookSubject::SessionStart { source })
}

/// Converts the hooks' notes to records for the next prompt.
pub(super) fn notes(said: HooksResult) -> impl Iterator<Item = Record> {
    said.notes.into_iter().map(|text| Record::Noted { kind: NoteKind::Hook, text })
}

/// Runs the hooks for the end of a session, with a timeout.
pub(super) async fn run_end_hooks(session: &Session, env: &AgentEnv, reason: &'static str) {
    let input = driver::hook_input(session, HookSubject::SessionEnd { reason });
    let saying = driver::hooks_say(&env.hooks, &input);
    let _those_that_take_longer_are_ended = tokio::time::timeout(LEAVING, saying).await;
}
