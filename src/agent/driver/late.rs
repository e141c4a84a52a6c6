//! Late calls: calls whose turn went on before they were decided.
//!
//! An approved late call runs once: immediately between turns, or within a turn just before the next request.
//! It causes no model request; its outcome is a note in the next user message. It runs like any other call.

use std::collections::VecDeque;

use tokio_util::sync::CancellationToken;

use super::run::{self, Driver};
use super::{AgentEnv, turn};
use crate::agent::port::{Event, Frontend, Op};
use crate::agent::prompt;
use crate::history::{Durability, Record};
use crate::message::{Message, NoteKind, UserPart};
use crate::session::Session;
use crate::store::StoreError;

/// Consumes decisions and settles every late call that has one: runs it, denies it, or asks again. Returns
/// the user's operations received meanwhile that concern other things, for the caller to handle. Errs if the
/// store cannot be written. Not cancel-safe, like [`super::run_turn`].
pub async fn run_late_calls(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<VecDeque<Op>, StoreError> {
    session.store().expire_due().await?;
    session.consume_decisions().await?;
    if !can_settle_late(session) {
        return Ok(VecDeque::new());
    }
    let setup = run::setup(session, env, frontend);
    let (turn, effects) = turn::Turn::late_calls(setup, session.history());
    let result = Box::pin(Driver::new(session, env, frontend, cancel, turn).run(effects)).await?;
    Ok(result.unheard.into())
}

/// Whether a late call can be settled now: it is decided, and the calls it runs after have ended.
pub fn can_settle_late(session: &Session) -> bool {
    !session.history().settleable_late_calls().is_empty()
}

/// Returns the waiting notes of the wanted kinds, and the situation if it changed.
pub(super) fn news(session: &Session, env: &AgentEnv, wants: impl Fn(&NoteKind) -> bool) -> Vec<UserPart> {
    let notes = session.history().notes().iter().filter(|(kind, _)| wants(kind));
    let parts = notes.map(|(kind, text)| UserPart::Note { kind: kind.clone(), text: text.clone() });
    parts.chain(prompt::new_situation(session, env)).collect()
}

/// Adds what the next request must contain: outcomes of late calls, and the situation if it changed.
pub(super) async fn say_news(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
) -> Result<(), StoreError> {
    let parts = news(session, env, |kind| matches!(kind, NoteKind::LateOutcome { .. }));
    if parts.is_empty() {
        return Ok(());
    }
    let message = Message::User { parts: parts.clone() };
    session.commit(&[Record::Said { message }], Durability::Written).await?;
    // The turn itself detects a closed front end.
    let _closed = frontend.show(Event::Prompted { parts }).await;
    Ok(())
}
