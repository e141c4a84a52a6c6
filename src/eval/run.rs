//! Running cases: a real turn for each, against the real model, in a session and a workspace of its own.
//!
//! Where a case is about the first call only, every call waits and none runs. Where it goes on, tools run in the workspace of
//! the run, confined as the settings' sandbox confines; requests are postponed. Nothing of it reaches the user's own sessions.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::case::{Case, Dim, UserAnswer};
use super::results::RunResult;
use super::score::{CaseRunEnd, ObservedCall, ObservedRun, Verdict, score};
use crate::accounts::Models;
use crate::agent::driver::{self, ActiveModel, AgentEnv, TurnResult};
use crate::agent::port::{Closed, Event, Frontend, Op};
use crate::app::{App, AppError, begin_store};
use crate::approval::{Approval, AutoApprove, Decider, Policy, Request};
use crate::config::{LoadedSettings, Mode};
use crate::history::{Limits, TurnEnd};
use crate::message::{Message, UserPart};
use crate::session::Session;
use crate::workspace::World;

/// Model requests of a run that is about its first call, and of one that goes on.
const FIRST_CALL: u32 = 2;
const WHOLE: u32 = 6;

/// Runs cases.
pub struct CaseRunner {
    app: App,
    model: Arc<ActiveModel>,
    workspaces: TempDir,
}

impl CaseRunner {
    /// Opens a runner whose sessions and spans are in `data`. Errs as [`App::open`] does.
    pub async fn open(
        world: &World,
        mut loaded: LoadedSettings,
        models: Arc<Models>,
        data: PathBuf,
    ) -> Result<Self, AppError> {
        let broken = |error: std::io::Error| AppError::Broken { detail: error.to_string() };
        let workspaces = tempfile::Builder::new().prefix("co-eval-").tempdir().map_err(broken)?;
        loaded.settings.data_dir = data;
        // Servers of the user would act in the world.
        loaded.settings.mcp_servers.clear();
        // The memories of the user would change what is scored.
        loaded.settings.memory.recall_tokens = 0;
        let store = begin_store(world, &loaded.settings)?;
        let app = App::open(world.clone(), loaded, Arc::clone(&models), store).await?;
        let model = models.active().borrow().clone();
        let model = ActiveModel { temperature: Some(0.0), top_p: None, ..ActiveModel::clone(&model) };
        Ok(Self { app, model: Arc::new(model), workspaces })
    }

    /// Returns the names of the tools that the model is offered.
    #[must_use]
    pub fn tool_names(&self) -> BTreeSet<String> {
        self.app.tools.registry.tools().specs().map(|spec| spec.name.0.clone()).collect()
    }

    /// Whether it is known what requests cost.
    #[must_use]
    pub fn is_priced(&self) -> bool {
        self.model.profile.price.is_some()
    }

    /// Runs a case once. `label` names the run among all, and is the name of a folder. Errs with the reason if no run can
    /// succeed before something is mended.
    pub async fn run(&self, case: &Case, label: &str) -> Result<RunResult, String> {
        let folder = self.workspaces.path().join(label);
        let (seen, usd, trace) = match self.observe(case, &folder).await {
            Ok(observed) => observed,
            Err(message) => {
                (ObservedRun { replies: Vec::new(), end: CaseRunEnd::Broken { message } }, None, None)
            }
        };
        // The rest goes with the whole folder.
        let _ = fs::remove_dir_all(&folder);
        let first = seen.replies.first().and_then(|calls| calls.first());
        let verdict = score(case, &seen);
        if let Verdict::Unusable(why) = verdict {
            return Err(why);
        }
        let recovered =
            (case.dim == Dim::ErrorRecovery).then_some(seen.end == CaseRunEnd::Words && first.is_some());
        Ok(RunResult { recovered, usd, trace, ..RunResult::of(&verdict, first) })
    }

    async fn observe(
        &self,
        case: &Case,
        folder: &Path,
    ) -> Result<(ObservedRun, Option<f64>, Option<String>), String> {
        furnish(folder, case).map_err(|error| format!("its workspace could not be made: {error}"))?;
        let mut session =
            Session::create(&self.app.store, folder).await.map_err(|error| error.to_string())?;
        let env = self.env(&session, case.dim).await;
        let front = Examiner::new(case.answer.clone());
        let result = turn(&mut session, &case.prompt, &env, &front).await?;
        let result = match &case.answer {
            Some(UserAnswer::Later(prompt)) if result.end == TurnEnd::Deferred => {
                turn(&mut session, prompt, &env, &front).await?
            }
            _ => result,
        };
        let history = session.history();
        let replies = history.messages().filter_map(|message| match message {
            Message::Assistant(reply) => Some(
                reply
                    .calls()
                    .map(|call| ObservedCall { tool: call.name.0.clone(), args: call.args.clone() })
                    .collect(),
            ),
            Message::User { .. } | Message::ToolReturns { .. } => None,
        });
        let end = match result.end {
            TurnEnd::Completed => CaseRunEnd::Words,
            TurnEnd::Deferred => CaseRunEnd::Waiting,
            TurnEnd::LimitReached { .. } => CaseRunEnd::Limit,
            TurnEnd::Interrupted => CaseRunEnd::Broken { message: "it was interrupted".to_owned() },
            TurnEnd::Failed { error } => CaseRunEnd::Failed { class: error.class, message: error.describe() },
        };
        let seen = ObservedRun { replies: replies.collect(), end };
        let trace = history.trace().and_then(|trace| trace.split('-').nth(1)).map(ToOwned::to_owned);
        let spent = history.total_usage();
        // A sum over requests of unknown price would be too small.
        let usd = (spent.unpriced == 0).then(|| spent.usd.dollars());
        Ok((seen, usd, trace))
    }

    async fn env(&self, session: &Session, dim: Dim) -> AgentEnv {
        let (env, _) = self.app.background_env(session, Decider::Script).await;
        let is_confined = self.app.tools.sandbox.isolation().not_held().is_empty();
        let mode = match dim {
            Dim::ToolSelection | Dim::ArgExtraction | Dim::Refusal => Mode::DeferAll,
            Dim::Approval => Mode::Ask,
            Dim::ErrorRecovery | Dim::Injection if is_confined => Mode::Auto,
            Dim::ErrorRecovery | Dim::Injection => Mode::Ask,
        };
        let policy = Policy { mode, auto_approve: AutoApprove::Asking, rules: Arc::default() };
        let requests = Some(if dim.runs_tools() { WHOLE } else { FIRST_CALL });
        AgentEnv {
            hooks: Vec::new(),
            model: watch::channel(Arc::clone(&self.model)).1,
            fallback: None,
            policy: watch::channel(policy).1,
            limits: Limits { requests, tokens: None },
            ..env
        }
    }
}

async fn turn(
    session: &mut Session,
    prompt: &str,
    env: &AgentEnv,
    front: &Examiner,
) -> Result<TurnResult, String> {
    let prompt = vec![UserPart::Text { text: prompt.to_owned() }];
    let ended = Box::pin(driver::run_turn(session, prompt, env, front, CancellationToken::new())).await;
    ended.map_err(|error| error.to_string())
}

/// Makes the workspace of a run.
fn furnish(folder: &Path, case: &Case) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    for (path, text) in &case.files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    Ok(())
}

/// A front end that gives the answer of a case to the first request, and postpones all others.
struct Examiner {
    answer: Mutex<Option<UserAnswer>>,
    is_present: bool,
    ops: Mutex<VecDeque<Op>>,
    spoken: Notify,
}

impl Examiner {
    fn new(answer: Option<UserAnswer>) -> Self {
        let is_present = answer.is_some();
        Self { answer: Mutex::new(answer), is_present, ops: Mutex::default(), spoken: Notify::new() }
    }

    fn decide(&self, request: Request) -> Op {
        let approval = match self.answer.lock().take() {
            Some(UserAnswer::Deny(reason)) => Approval::Deny { reason: Some(reason) },
            Some(UserAnswer::Edit(args)) => Approval::to(request.tool, args),
            Some(UserAnswer::Later(_)) | None => return Op::Defer,
        };
        Op::decide(request.id, approval)
    }
}

impl Frontend for Examiner {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        if let Event::ApprovalNeeded { request } = event {
            let op = self.decide(request);
            self.ops.lock().push_back(op);
            self.spoken.notify_one();
        }
        Box::pin(async { Ok(()) })
    }

    fn next_op(&self) -> BoxFuture<'_, Op> {
        Box::pin(async {
            loop {
                if let Some(op) = self.ops.lock().pop_front() {
                    return op;
                }
                self.spoken.notified().await;
            }
        })
    }

    fn can_approve(&self) -> bool {
        self.is_present
    }
}
