//! Runs turns: executes the machine's effects and feeds it inputs. The only place that awaits.
//!
//! It owns the session while a turn runs; a front end receives events and sends [`Op`]s. The user's decision
//! is written to the store first and comes back as a record, like a decision from any other process.
//!
//! [`Op`]: super::port::Op

mod checks;
mod env;
mod expiry;
mod hooks;
mod news;
mod recalling;
mod run;
mod spans;
mod title;
mod tools;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use self::env::{ActiveModel, AgentEnv, EnteredFolders, FallbackModel, TraceSettings, TurnResult};
pub use self::hooks::{HooksResult, any_hook_wants, hook_input, hooks_say, submit};
use self::spans::{TurnSpans, TurnStart};
pub use self::title::title_request;
use super::effect::Effect;
use super::port::{Event, Frontend, Op};
use super::{calls, turn};
use crate::agent::statuses;
use crate::history::{Durability, History, Limit, Record, RecordedState, TurnEnd};
use crate::message::{Message, NoteKind, UserPart};
use crate::session::Session;
use crate::store::StoreError;
use crate::tool::Toolset;

/// Runs one user turn to its end. Waiting notes are put before the prompt, memories that apply to it behind it. A turn that was left open is
/// closed first; its requests stay in the inbox. Errs only if the store cannot be written: provider and tool
/// failures become turn ends and returns. Firing `cancel` closes the turn: running calls are interrupted,
/// waiting ones deferred. Not cancel-safe: dropping it kills tools and leaves a cut-off turn.
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
    tell_undone(session, env).await?;
    let received = run_late_calls(session, env, frontend, cancel.clone()).await?;
    let mut parts = news::news(session, env, |_| true);
    let recalled = recalling::recall_notes(session, env, &prompt).await;
    parts.extend(prompt.into_iter().chain(recalled));
    let begin = |setup, history: &_| turn::Turn::start(setup, history, parts);
    drive(session, env, frontend, cancel, (TurnStart::Prompt, received, None), begin).await
}

/// Resumes this session's deferred or cut-off turn exactly where it ended. `None` if there is none; late
/// approvals are then handled by [`run_late_calls`].
pub async fn resume_turn(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<Option<TurnResult>, StoreError> {
    if session.history().running_turn().is_none() {
        return Ok(None);
    }
    let received = run_late_calls(session, env, frontend, cancel.clone()).await?;
    let given = (TurnStart::Resume, received, None);
    drive(session, env, frontend, cancel, given, turn::Turn::resume).await.map(Some)
}

/// Runs the turn that `begin` starts, with the current tools. `received` are operations that arrived before, `focus` is what
/// a summary must keep.
async fn drive(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
    (kind, received, focus): (TurnStart, Vec<Op>, Option<String>),
    begin: impl FnOnce(turn::Setup, &History) -> (turn::Turn, Vec<Effect>) + Send,
) -> Result<TurnResult, StoreError> {
    let toolset = ready_tools(session, env, frontend, &cancel).await;
    let spans = TurnSpans::begin(session, env, kind);
    let setup = run::setup(session, env, frontend, (&toolset, &spans));
    let (turn, effects) = begin(setup, session.history());
    let driver = run::Driver::new(session, env, frontend, cancel, (turn, toolset, spans), (received, focus));
    Box::pin(driver.run(effects)).await
}

/// How long a turn waits for a server whose tool an open call names: longer than connecting may take.
const CALLED_FOR: Duration = Duration::from_secs(61);

/// Returns the tools of now. Those of servers that are still connecting are waited for: for a moment, or, if an open call
/// names a tool that is not there, until the server is connected or has failed.
async fn ready_tools(
    session: &Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: &CancellationToken,
) -> Toolset {
    let history = session.history();
    let open = history.open_calls().iter().map(|one| &one.call.name);
    let mut named = open.chain(history.late_calls().iter().map(|one| &one.call.name));
    let is_called_for = named.any(|name| env.registry.get(name).is_none());
    let limit = if is_called_for { CALLED_FOR } else { env.registry.patience };
    let missing = tokio::select! {
        missing = env.registry.wait_for_tools(limit) => missing,
        () = cancel.cancelled() => Vec::new(),
    };
    if !missing.is_empty() {
        let text = statuses::without_servers(&missing);
        // The front end may be gone; that ends the turn elsewhere.
        let _ = frontend.show(Event::Status { text }).await;
    }
    env.registry.tools()
}

/// Consumes decisions and settles every late call (its turn went on before it was decided) that has one: runs it, denies
/// it, or asks again. It causes no model request; its outcome is a note in the next user message. Returns
/// the user's operations received meanwhile that concern other things, for the caller to handle. Errs if the
/// store cannot be written. Not cancel-safe, like [`run_turn`].
pub async fn run_late_calls(
    session: &mut Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<Vec<Op>, StoreError> {
    session.store().expire_due().await?;
    session.consume_decisions().await?;
    if !can_settle_late(session) {
        return Ok(Vec::new());
    }
    let given = (TurnStart::LateCalls, Vec::new(), None);
    Ok(drive(session, env, frontend, cancel, given, turn::Turn::late_calls).await?.unhandled)
}

/// Compacts the conversation between turns; a summary keeps above all what `focus` says. Returns the operations that
/// concern other things. Errs if the store cannot be written. Not cancel-safe, like [`run_turn`].
pub async fn compact(
    session: &mut Session,
    focus: Option<String>,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    cancel: CancellationToken,
) -> Result<Vec<Op>, StoreError> {
    let given = (TurnStart::Compaction, Vec::new(), focus);
    Ok(drive(session, env, frontend, cancel, given, turn::Turn::compaction).await?.unhandled)
}

/// Whether a late call can be settled now: it is decided, and the calls it runs after have ended.
pub fn can_settle_late(session: &Session) -> bool {
    !session.history().settleable_late_calls().is_empty()
}

/// Whether everything that an open turn waits for is decided, so that it can be resumed: of a turn that was deferred, or cut
/// off while it waited. A turn that was cut off at anything else is left to the user.
pub fn can_resume(session: &Session) -> bool {
    let history = session.history();
    let open = history.open_calls();
    let rests = match history.last_end() {
        Some(TurnEnd::Deferred) => open.iter().all(|one| one.known != RecordedState::Waiting),
        None => open.iter().all(|one| {
            matches!(one.known, RecordedState::Decided(_) | RecordedState::Returned | RecordedState::Expired)
        }),
        Some(_) => false,
    };
    history.running_turn().is_some() && !open.is_empty() && rests
}

/// Reports to the model the changes that the user undid since its last turn.
async fn tell_undone(session: &mut Session, env: &AgentEnv) -> Result<(), StoreError> {
    let (log, id) = (env.undo.clone(), session.id().to_string());
    // Only a panic fails the task.
    let notes = tokio::task::spawn_blocking(move || log.notes(&id)).await.unwrap_or_default();
    if notes.is_empty() {
        return Ok(());
    }
    let records: Vec<Record> =
        notes.iter().map(|(_, text)| Record::Noted { kind: NoteKind::Undone, text: text.clone() }).collect();
    session.commit(&records, Durability::Written).await?;
    let log = env.undo.clone();
    let _ = tokio::task::spawn_blocking(move || log.remove_notes(&notes)).await;
    Ok(())
}

/// Closes a deferred or cut-off turn for good, because a new prompt follows: partial text is kept, open calls
/// get returns, and their requests stay in the inbox as those of late calls. Does nothing between turns.
pub async fn close_left_open(session: &mut Session) -> Result<(), StoreError> {
    let history = session.history();
    let Some(running) = history.running_turn() else { return Ok(()) };
    let mut records = Vec::new();
    if let Some((_, text)) = running.partial.clone().filter(|(_, text)| !text.is_empty()) {
        records.push(Record::said(Message::partial(text)));
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
        records.push(Record::said(Message::note(NoteKind::Abort, text)));
        records.push(Record::TurnEnded { end: TurnEnd::Interrupted });
    }
    if records.is_empty() {
        return Ok(());
    }
    session.commit(&records, Durability::Written).await
}
