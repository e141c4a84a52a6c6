//! Runs turns: carries out the machine's effects and feeds it what happens. The one place that awaits.
//!
//! It owns the session while a turn runs; a front end sees events and speaks through [`Op`]s. A person's
//! decision goes to the store first and comes back as a record, from this process as from any other.
//!
//! [`Op`]: super::port::Op

mod due;
mod env;
mod hooks;
mod late;
mod looking;
mod run;
mod tools;

use tokio_util::sync::CancellationToken;

pub use self::env::{ActiveModel, AgentEnv, FallbackModel, TurnResult};
pub use self::hooks::{HooksSaid, Submitted, any_hook_wants, hooks_say, submit};
pub use self::late::{can_settle_late, run_late_calls};
use super::port::Frontend;
use super::{calls, turn};
use crate::history::{Durability, Limit, Record, TurnEnd};
use crate::message::{Message, NoteKind, UserPart};
use crate::session::Session;
use crate::store::StoreError;

/// Runs one user turn to its end. Notes that wait are put before the prompt; a turn that was left open
/// is closed first, its requests staying in the inbox. Errs only where the store cannot be written;
/// provider and tool failures are turn ends and returns. Firing `cancel` closes the turn: what runs is
/// interrupted, what waits is deferred. Not cancel-safe: dropping it kills tools and leaves a cut-off turn.
pub async fn run_turn(
    session: &mut Session,
    prompt: Vec<UserPart>,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<TurnResult, StoreError> {
    session.store().expire_due().await?;
    session.consume_decisions().await?;
    close_left_open(session).await?;
    let heard = run_late_calls(session, env, frontend, cancel.clone()).await?;
    let mut parts: Vec<UserPart> = session
        .history()
        .notes()
        .iter()
        .map(|(kind, text)| UserPart::Note { kind: kind.clone(), text: text.clone() })
        .collect();
    parts.extend(prompt);
    let setup = run::setup(session, env, frontend);
    let (turn, effects) = turn::Turn::start(setup, session.history(), parts);
    Box::pin(run::Driver::new(session, env, frontend, cancel, turn).having_heard(heard).run(effects)).await
}

/// Goes on with the deferred or cut-off turn of this session, exactly there. `None` where there is none; late
/// approvals are [`run_late_calls`]'s then.
pub async fn resume_turn(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<Option<TurnResult>, StoreError> {
    if session.history().running().is_none() {
        return Ok(None);
    }
    let heard = run_late_calls(session, env, frontend, cancel.clone()).await?;
    let setup = run::setup(session, env, frontend);
    let (turn, effects) = turn::Turn::resume(setup, session.history());
    Box::pin(run::Driver::new(session, env, frontend, cancel, turn).having_heard(heard).run(effects))
        .await
        .map(Some)
}

/// Whether a decision came for everything the deferred turn waits for, so that it can go on.
pub fn can_resume(session: &Session) -> bool {
    let history = session.history();
    history.running().is_some()
        && history.last_end() == Some(&TurnEnd::Deferred)
        && !history.open_calls().is_empty()
        && history.open_calls().iter().all(|open| open.known != crate::history::Known::Waiting)
}

/// Closes a deferred or cut-off turn that the conversation leaves behind: partial text is kept, open
/// calls get returns, requests stay in the inbox, detached. Does nothing between turns.
pub async fn close_left_open(session: &mut Session) -> Result<(), StoreError> {
    let history = session.history();
    let Some(running) = history.running() else { return Ok(()) };
    let mut records = Vec::new();
    if let Some((_, text)) = running.partial.clone().filter(|(_, text)| !text.is_empty()) {
        records.push(Record::Said { message: Message::partial(text) });
    }
    let returns = calls::close_open(history.open_calls());
    records.extend(returns.into_iter().map(|returned| Record::ToolFinished { returned }));
    let rests = matches!(
        history.last_end(),
        Some(TurnEnd::Deferred | TurnEnd::Failed { .. } | TurnEnd::LimitReached { limit: Limit::Cap(_) })
    );
    if !rests {
        let text = "The last turn was cut off when the program ended. Work may be half-done; look before you \
                    go on with it.";
        records.push(Record::Said { message: Message::note(NoteKind::Abort, text) });
        records.push(Record::TurnEnded { end: TurnEnd::Interrupted });
    }
    if records.is_empty() {
        return Ok(());
    }
    session.commit(&records, Durability::Written).await
}
