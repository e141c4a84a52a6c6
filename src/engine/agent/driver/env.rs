//! The environment in which turns run, built once by `app`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::agent::caps::{CapQuestion, Caps};
use crate::agent::context::ViewSettings;
use crate::agent::port::Op;
use crate::agent::prompt::PromptBook;
use crate::agent::turn::RetryPolicy;
use crate::approval::{Decider, Policy, Workspace};
use crate::config::{SpanContent, ThinkingLevel};
use crate::history::{Limits, TurnEnd};
use crate::hook::Hook;
use crate::memory::Memories;
use crate::provider::{Profile, Provider};
use crate::sandbox::Isolation;
use crate::stdx::clock::Clock;
use crate::tool::Registry;
use crate::tool::cache::ResultCache;
use crate::undo::UndoLog;

/// Everything a turn needs besides its session and its front end. Immutable while a turn runs, except for the
/// watched values, which are read where they are used.
pub struct AgentEnv {
    pub registry: Registry,
    /// In the order in which they run.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The model that answers the next request; `/model` switches it immediately.
    pub model: watch::Receiver<Arc<ActiveModel>>,
    /// The model used when that one has failed for good, if one is set.
    pub fallback: Option<FallbackModel>,
    /// The model that writes summaries, if one is set; else the one that answers does.
    pub summarizer: Option<Arc<ActiveModel>>,
    /// The texts of the system prompt.
    pub prompt: Arc<PromptBook>,
    /// Finds instructions in the subfolders that calls enter.
    pub entered: Arc<dyn EnteredFolders>,
    /// How calls are decided; a change applies immediately, also to the running turn.
    pub policy: watch::Receiver<Policy>,
    pub isolation: Isolation,
    /// The session's folder.
    pub place: Workspace,
    /// How long a request can be decided; `None` = without limit.
    pub expiry: Option<Duration>,
    pub limits: Limits,
    /// The caps on tokens and money, as the last turn left them.
    pub caps: watch::Sender<Caps>,
    /// Estimated tokens of the conversation beyond which it is compacted before a request. `None` = 80 % of the
    /// model's own window; if that is unknown, only after the provider refuses the conversation as too long.
    pub context_tokens: Option<u32>,
    /// How much of the conversation the model sees, as far as it is set.
    pub view: ViewSettings,
    /// Retries after a failed request.
    pub http_retries: u32,
    /// How long an overloaded service is retried in total if there is no fallback.
    pub overload_wait: Duration,
    /// How often the model may correct wrong arguments of one tool in a turn.
    pub tool_retries: u32,
    pub clock: Arc<dyn Clock>,
    /// Where outputs that are too long for the model are kept; one folder per session.
    pub spill: PathBuf,
    /// `co`'s own folders, which its tools must not touch.
    pub own: Arc<[PathBuf]>,
    /// Results of tools that are used again.
    pub cache: ResultCache,
    /// Undone changes, which are reported to the model.
    pub undo: UndoLog,
    /// The memories; those that apply to a prompt are added to it.
    pub memories: Memories,
    /// The decider recorded for this front end's answers.
    pub decider: Decider,
    pub trace: TraceSettings,
}

/// Finds the instructions of subfolders.
pub trait EnteredFolders: Send + Sync {
    /// Returns the instructions that hold for these files of a folder and are not in its prompt, each as the path of its
    /// file in the folder and the text; those of outer folders first. Blocking.
    fn instructions(&self, folder: &Path, files: &[PathBuf]) -> Vec<(String, String)>;
}

/// There are none.
impl EnteredFolders for () {
    fn instructions(&self, _: &Path, _: &[PathBuf]) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The content of the spans of turns, and the span above them.
#[derive(Debug, Clone, Default)]
pub struct TraceSettings {
    pub content: SpanContent,
    /// The caller's span, as a W3C `traceparent`.
    pub parent: Option<String>,
}

/// A model and the provider that runs it.
#[derive(Clone)]
pub struct ActiveModel {
    pub provider: Arc<dyn Provider>,
    /// The name that the provider uses.
    pub name: String,
    pub max_output_tokens: Option<u32>,
    pub thinking: ThinkingLevel,
    pub parallel_calls: bool,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    /// The known facts about the model; requests are priced with its price.
    pub profile: Profile,
}

impl ActiveModel {
    /// Creates a model with an unknown profile and default options.
    pub fn new(provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        Self {
            provider,
            name: name.into(),
            max_output_tokens: None,
            thinking: ThinkingLevel::Default,
            parallel_calls: true,
            temperature: None,
            top_p: None,
            profile: Profile::default(),
        }
    }

    /// Returns `provider/model`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider.name(), self.name)
    }
}

/// How long a model that failed over gets only one attempt per turn.
const FAILOVER_COOLDOWN: Duration = Duration::from_secs(300);

/// The model for failover, and when it last took over.
///
/// Every turn asks the first model first: it may work again, and the user chose it. In the five minutes after
/// it was given up it gets no retries, so that an outage costs each turn one failed request.
pub struct FallbackModel {
    model: Arc<ActiveModel>,
    given_up: Mutex<Option<(String, Instant)>>,
}

impl FallbackModel {
    pub fn new(model: Arc<ActiveModel>) -> Self {
        Self { model, given_up: Mutex::default() }
    }

    /// Returns a fallback with updated model data that keeps the state of `before`.
    pub fn renew(model: Arc<ActiveModel>, before: Option<Self>) -> Self {
        Self { model, given_up: before.map(|before| before.given_up).unwrap_or_default() }
    }

    /// Returns the model if it is not the same as `first`.
    pub(super) fn behind(&self, first: &ActiveModel) -> Option<&Arc<ActiveModel>> {
        (self.model.full_name() != first.full_name()).then_some(&self.model)
    }

    /// Notes that the fallback takes over from `first` now.
    pub(super) fn takes_over(&self, first: &str) {
        let mut given_up = self.given_up.lock();
        *given_up = Some((first.to_owned(), Instant::now()));
    }

    /// Returns how often the next turn may retry `first`.
    pub(super) fn patience(&self, first: &ActiveModel) -> RetryPolicy {
        let given_up = self.given_up.lock();
        match given_up.as_ref() {
            Some((name, since)) if *name == first.full_name() && since.elapsed() < FAILOVER_COOLDOWN => {
                RetryPolicy::Short
            }
            Some(_) | None => RetryPolicy::Usual,
        }
    }
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    pub end: TurnEnd,
    /// The text of the turn's last reply; empty if there was none.
    pub text: String,
    /// The cap at which it ended.
    pub capped: Option<Box<CapQuestion>>,
    /// The user's operations that the turn did not process before it ended, in order.
    pub unhandled: Vec<Op>,
}
