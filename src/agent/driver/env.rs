//! What a turn is run with, put together once by `app`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::agent::caps::{CapQuestion, Caps};
use crate::agent::port::Op;
use crate::agent::turn::Patience;
use crate::approval::{Decider, Place, Policy};
use crate::config::ThinkingLevel;
use crate::history::{Limits, TurnEnd};
use crate::hook::Hook;
use crate::provider::{ParallelCalls, Profile, Provider};
use crate::sandbox::Isolation;
use crate::stdx::clock::Clock;
use crate::tool::Registry;

/// Everything a turn needs beside its session and its front end. Immutable while a turn runs; the two
/// watched values may change under it and are read where they are used.
pub struct AgentEnv {
    pub registry: Registry,
    /// In the order in which they are run.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The model that answers the next request; `/model` switches it at once.
    pub model: watch::Receiver<Arc<ActiveModel>>,
    /// Who answers when that one has failed for good; nobody where none is set.
    pub fallback: Option<FallbackModel>,
    /// How calls are decided; a change counts at once, in the turn that runs too.
    pub policy: watch::Receiver<Policy>,
    pub isolation: Isolation,
    /// The session's folder.
    pub place: Place,
    /// How long a request can be decided; `None`: for ever.
    pub expiry: Option<Duration>,
    pub limits: Limits,
    /// What tokens and money are capped at, as the last turn left it.
    pub caps: watch::Sender<Caps>,
    /// Estimated tokens beyond which old turns are left out before a request; `None` = the model's own
    /// window, and where nobody knows it, only when the provider says that the conversation does not fit.
    pub context_tokens: Option<u32>,
    /// Retries after a failed request.
    pub http_retries: u32,
    /// How often the model may repair wrong arguments of one tool in a turn.
    pub tool_retries: u32,
    pub clock: Arc<dyn Clock>,
    /// Where outputs too long for the model are kept; one folder a session.
    pub spill: PathBuf,
    /// Folders of `co` itself, which its tools keep out of.
    pub own: Arc<[PathBuf]>,
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
    pub parallel_calls: ParallelCalls,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    /// What is known of it: its price is what a request is counted with.
    pub profile: Profile,
}

impl ActiveModel {
    /// A model of which nothing is known and to which nothing is said beside the request.
    pub fn new(provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        Self {
            provider,
            name: name.into(),
            max_output_tokens: None,
            thinking: ThinkingLevel::Default,
            parallel_calls: ParallelCalls::Allowed,
            temperature: None,
            top_p: None,
            profile: Profile::default(),
        }
    }
}

impl ActiveModel {
    /// `provider/model`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider.name(), self.name)
    }
}

/// How long a model that was given up gets only one try a turn.
const GRUDGE: Duration = Duration::from_secs(300);

/// The model that stands behind the first, and what is remembered of the last time it had to.
///
/// Every turn asks the first model first: it may be well again, and it is the one that was chosen. In the
/// five minutes after it was given up it gets no retries, so that an outage costs each turn one failed request.
pub struct FallbackModel {
    model: Arc<ActiveModel>,
    given_up: Mutex<Option<(String, Instant)>>,
}

impl FallbackModel {
    pub fn new(model: Arc<ActiveModel>) -> Self {
        Self { model, given_up: Mutex::default() }
    }

    /// The model as it is known now, with what is remembered of `before`.
    pub fn renewed(model: Arc<ActiveModel>, before: Option<Self>) -> Self {
        Self { model, given_up: before.map(|before| before.given_up).unwrap_or_default() }
    }

    /// The model, where it is another than `first`.
    pub(super) fn behind(&self, first: &ActiveModel) -> Option<&Arc<ActiveModel>> {
        (self.model.full_name() != first.full_name()).then_some(&self.model)
    }

    /// Notes that it takes over from `first` now.
    pub(super) fn takes_over(&self, first: &str) {
        let mut given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        *given_up = Some((first.to_owned(), Instant::now()));
    }

    /// How patient the next turn is with `first`.
    pub(super) fn patience(&self, first: &ActiveModel) -> Patience {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        match given_up.as_ref() {
            Some((name, since)) if *name == first.full_name() && since.elapsed() < GRUDGE => Patience::Short,
            Some(_) | None => Patience::Usual,
        }
    }
}

/// How a turn went.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    pub end: TurnEnd,
    /// The text of the turn's last reply; empty where there was none.
    pub text: String,
    /// The cap it ended at.
    pub capped: Option<Box<CapQuestion>>,
    /// What the person said and the turn did not hear before it ended, in order.
    pub unheard: Vec<Op>,
}
