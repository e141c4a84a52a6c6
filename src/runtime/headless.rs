//! Unattended turns: one prompt, or one turn to resume. Requests wait in the store, because no user can answer. The
//! caller provides the front end and the token that ends the turn.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::hooks::{notes, run_end_hooks, session_start};
use crate::agent::driver::{self, AgentEnv, TurnResult};
use crate::agent::port::Frontend;
use crate::app::AppError;
use crate::history::{Durability, Record};
use crate::message::UserPart;
use crate::session::Session;

/// The timeout for a cancelled turn to close and save.
pub const CLOSING: Duration = Duration::from_millis(800);

/// The work to run.
pub enum HeadlessWork {
    Prompt(Vec<UserPart>),
    /// Resume the open turn.
    Resume,
}

/// The outcome of a run.
#[derive(Debug, PartialEq)]
pub enum HeadlessOutcome {
    Ended(TurnResult),
    /// There was no turn to resume.
    NothingToResume,
    /// It was cancelled before the turn: nothing was recorded or sent.
    NotStarted,
    /// It was cancelled and did not end within [`CLOSING`]; what was committed is safe.
    CutOff,
}

/// Runs one turn to its end, or until `stop` fired and it closed. Session hooks run before and after.
pub async fn run(
    session: &mut Session,
    env: &AgentEnv,
    work: HeadlessWork,
    frontend: &dyn Frontend,
    stop: CancellationToken,
) -> Result<HeadlessOutcome, AppError> {
    let start = session_start(session);
    let said = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(HeadlessOutcome::NotStarted),
        said = driver::hooks_say(&env.hooks, &start) => said,
    };
    let said: Vec<Record> = notes(said).collect();
    if !said.is_empty() {
        session.commit(&said, Durability::Written).await.map_err(AppError::from)?;
    }
    let went = submit(session, env, work, frontend, stop).await;
    run_end_hooks(session, env, "ended").await;
    went
}

/// Runs the prompt hooks, then the turn.
async fn submit(
    session: &mut Session,
    env: &AgentEnv,
    work: HeadlessWork,
    frontend: &dyn Frontend,
    stop: CancellationToken,
) -> Result<HeadlessOutcome, AppError> {
    let prompt = match work {
        HeadlessWork::Resume => None,
        HeadlessWork::Prompt(parts) => {
            let (id, folder) = (session.id().to_string(), session.history().workspace().to_owned());
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(HeadlessOutcome::NotStarted),
                looked = driver::submit(&env.hooks, id, folder, parts) => looked,
            };
            Some(looked.map_err(|reason| AppError::Refused { reason })?)
        }
    };
    let turn = async {
        match prompt {
            Some(parts) => driver::run_turn(session, parts, env, frontend, stop.clone())
                .await
                .map(HeadlessOutcome::Ended),
            None => {
                let result = driver::resume_turn(session, env, frontend, stop.clone()).await?;
                if result.is_none() {
                    // Late approvals may wait without a turn. This front end sends no operations, so none is
                    // unprocessed.
                    driver::run_late_calls(session, env, frontend, stop.clone()).await?;
                }
                Ok(result.map_or(HeadlessOutcome::NothingToResume, HeadlessOutcome::Ended))
            }
        }
    };
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(CLOSING).await;
    };
    tokio::select! {
        result = turn => Ok(result?),
        () = overdue => Ok(HeadlessOutcome::CutOff),
    }
}
