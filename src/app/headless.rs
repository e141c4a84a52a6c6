//! Turns that nobody watches: one prompt, or one turn to go on with.
//!
//! Nobody can answer here, so what asks waits in the store. The caller gives the front end and the token that ends the
//! turn; a turn that is told to end gets [`CLOSING`] for it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::AppError;
use crate::agent::driver::{self, AgentEnv, TurnResult};
use crate::agent::port::Frontend;
use crate::message::UserPart;
use crate::session::Session;

/// How long a turn may take to close and save.
pub const CLOSING: Duration = Duration::from_millis(800);

/// What to run.
pub enum Work {
    Prompt(Vec<UserPart>),
    /// Go on with the open turn.
    Resume,
}

/// How it went.
#[derive(Debug, PartialEq)]
pub enum Went {
    Ended(TurnResult),
    /// There was no turn to go on with.
    NothingToResume,
    /// It was told to end and did not within [`CLOSING`]; what was committed is safe.
    CutOff,
}

/// Runs one turn to its end, or until `stop` fired and it closed.
pub async fn run(
    session: &mut Session,
    env: &AgentEnv,
    work: Work,
    frontend: &dyn Frontend,
    stop: CancellationToken,
) -> Result<Went, AppError> {
    let turn = async {
        match work {
            Work::Prompt(parts) => {
                driver::run_turn(session, parts, env, frontend, stop.clone()).await.map(Went::Ended)
            }
            Work::Resume => {
                let result = driver::resume_turn(session, env, frontend, stop.clone()).await?;
                if result.is_none() {
                    // Late approvals may wait where no turn does. Nobody speaks here, so nothing is unheard.
                    driver::run_detached(session, env, frontend, stop.clone()).await?;
                }
                Ok(result.map_or(Went::NothingToResume, Went::Ended))
            }
        }
    };
    let overdue = async {
        stop.cancelled().await;
        tokio::time::sleep(CLOSING).await;
    };
    tokio::select! {
        result = turn => Ok(result?),
        () = overdue => Ok(Went::CutOff),
    }
}
