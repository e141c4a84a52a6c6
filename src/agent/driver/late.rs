//! Late calls: their turn went on before they were decided.
//!
//! Approved later, such a call runs once: at once between turns, within a turn just before the next request. It asks no
//! model; its outcome is a note for the next user message. The machine decides and runs it as any other call.

use std::collections::VecDeque;

use tokio_util::sync::CancellationToken;

use super::run::{self, Driver};
use super::{AgentEnv, turn};
use crate::agent::port::{Event, Frontend, Op};
use crate::history::{Durability, Record};
use crate::message::{Message, NoteKind, UserPart};
use crate::session::Session;
use crate::store::StoreError;

/// Consumes decisions and settles every late call that has one: runs it, denies it, or asks again. Returns the user's
/// operations of that time which concern other things, for the caller to act upon. Errs where the store cannot be
/// written. Not cancel-safe, as [`super::run_turn`].
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

/// Whether something can be done with a late call now: it is decided, and what it runs after has ended.
pub fn can_settle_late(session: &Session) -> bool {
    !session.history().settleable().is_empty()
}

/// Tells the model what came of late calls, where a turn is about to ask it.
pub(super) async fn say_outcomes(session: &mut Session, frontend: &dyn Frontend) -> Result<(), StoreError> {
    let parts: Vec<UserPart> = session
        .history()
        .notes()
        .iter()
        .filter(|(kind, _)| matches!(kind, NoteKind::LateOutcome { .. }))
        .map(|(kind, text)| UserPart::Note { kind: kind.clone(), text: text.clone() })
        .collect();
    if parts.is_empty() {
        return Ok(());
    }
    let message = Message::User { parts: parts.clone() };
    session.commit(&[Record::Said { message }], Durability::Written).await?;
    // A front end that is gone is noticed by the turn itself.
    let _closed = frontend.show(Event::Prompted { parts }).await;
    Ok(())
}
