//! What a turn is run with, put together once by `app`.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use crate::agent::port::Op;
use crate::approval::{Decider, FolderTrust, Policy};
use crate::history::{Limits, TurnEnd};
use crate::provider::{Provider, ThinkingLevel};
use crate::sandbox::Isolation;
use crate::stdx::clock::Clock;
use crate::tool::{Hook, Registry};

/// Everything a turn needs beside its session and its front end. Immutable while a turn runs; the two
/// watched values may change under it and are read where they are used.
pub struct AgentEnv {
    pub registry: Registry,
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The model that answers the next request; `/model` switches it at once.
    pub model: watch::Receiver<Arc<ActiveModel>>,
    /// The policy the next turn starts with.
    pub policy: watch::Receiver<Policy>,
    pub isolation: Isolation,
    pub folder_trust: FolderTrust,
    pub limits: Limits,
    /// Estimated tokens beyond which old turns are left out before a request; `None` = only when the
    /// provider says that the conversation does not fit.
    pub context_tokens: Option<u32>,
    /// Retries after a failed request.
    pub http_retries: u32,
    /// How often the model may repair wrong arguments of one tool in a turn.
    pub tool_retries: u32,
    pub clock: Arc<dyn Clock>,
    /// Where outputs too long for the model are kept; one folder a session.
    pub spill: PathBuf,
    /// Who is written down as the decider of this front end's answers.
    pub decider: Decider,
}

/// A model and the service that runs it.
pub struct ActiveModel {
    pub provider: Arc<dyn Provider>,
    /// As the service knows it.
    pub name: String,
    pub max_output_tokens: Option<u32>,
    pub thinking: ThinkingLevel,
}

/// How a turn went.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    pub end: TurnEnd,
    /// The text of the turn's last reply; empty where there was none.
    pub text: String,
    /// What the person said and the turn did not hear before it ended, in order.
    pub unheard: Vec<Op>,
}
