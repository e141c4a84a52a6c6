//! Running tools: started, monitored, cancelled, and always ended.

use std::collections::{BTreeMap, HashMap};
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::expiry::{timer, wait_for_timer};
use super::hooks::PostToolHooks;
use super::{AgentEnv, spans};
use crate::agent::effect::Input;
use crate::approval::Provenance;
use crate::config::SpanContent;
use crate::message::{
    Authorship, CallId, CallReport, Message, ReturnPart, ReturnStatus, Source, ToolCall, ToolName,
    ToolReturn, Trust,
};
use crate::session::Session;
use crate::stdx::moment::duration;
use crate::tool::cache::ResultCache;
use crate::tool::{
    Category, Progress, Registry, Resource, SideEffect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec,
    Version,
};

/// A cancelled tool that has not returned after this time is dropped.
const GRACE: Duration = Duration::from_millis(700);
/// Pieces of live output queued for the screen; further ones are dropped.
const PROGRESS_QUEUE: usize = 64;

/// Pauses before a call without side effects is run again, if what kept it from its end may pass.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(1800)];

/// The running tools.
pub(super) struct RunningTools {
    /// Each ends with [`Input::ToolDone`].
    tasks: JoinSet<Input>,
    calls: HashMap<Id, ToolRun>,
    cancel: CancellationToken,
    progress_in: mpsc::Sender<Progress>,
    progress_out: mpsc::Receiver<Progress>,
    deadline: Option<Pin<Box<Sleep>>>,
}

struct ToolRun {
    call: CallId,
    name: String,
    side_effect: SideEffect,
    abort: AbortHandle,
}

/// The settings of one run besides its call and context.
#[derive(Default)]
struct RunSettings {
    /// The hooks that follow it.
    after: PostToolHooks,
    /// The content of its span.
    content: SpanContent,
    registry: Registry,
    cache: ResultCache,
    /// The state that its plan depends on.
    basis: Vec<(Resource, Version)>,
}

/// How one run ended, before it becomes a return.
enum ToolRunEnd {
    Output(Result<ToolOutput, ToolError>),
    TimedOut(Duration),
}

impl RunningTools {
    pub(super) fn new() -> Self {
        let (progress_in, progress_out) = mpsc::channel(PROGRESS_QUEUE);
        Self {
            tasks: JoinSet::new(),
            calls: HashMap::new(),
            cancel: CancellationToken::new(),
            progress_in,
            progress_out,
            deadline: None,
        }
    }

    /// Starts a call of `tool`, whose plan depends on a basis; without the tool the call fails.
    pub(super) fn start(
        &mut self,
        (call, basis): (ToolCall, Vec<(Resource, Version)>),
        tool: Option<Arc<dyn Tool>>,
        env: &AgentEnv,
        session: &Session,
    ) {
        let context = context(&call, env, session, self.cancel.clone(), self.progress_in.clone());
        let settings = RunSettings {
            after: PostToolHooks::new(env, session),
            content: env.trace.content,
            registry: env.registry.clone(),
            cache: env.cache.clone(),
            basis,
        };
        self.spawn(tool, call, context, settings);
    }

    /// Runs a call; without its tool it fails.
    fn spawn(
        &mut self,
        tool: Option<Arc<dyn Tool>>,
        call: ToolCall,
        context: ToolContext,
        settings: RunSettings,
    ) {
        let (id, name) = (call.id.clone(), call.name.0.clone());
        let (side_effect, abort) = match tool {
            Some(tool) => {
                let side_effect = tool.spec().side_effect;
                let span = spans::execute_tool(&call, settings.content);
                (side_effect, self.tasks.spawn(run_tool(tool, call, context, settings).instrument(span)))
            }
            None => {
                let text = format!("Not run: there is no tool `{name}` any more.");
                let failed = ToolReturn::program(id.clone(), ReturnStatus::Failed, text);
                (SideEffect::None { cache_for: None }, self.tasks.spawn(async { without_output(failed) }))
            }
        };
        self.calls.insert(abort.id(), ToolRun { call: id, name, side_effect, abort });
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// Cancels every run and sets the deadline for their end.
    pub(super) fn cancel(&mut self) {
        self.cancel.cancel();
        self.deadline = Some(timer(GRACE));
    }

    /// Cancels everything and waits until nothing runs; returns the names of the calls that ran.
    pub(super) async fn cancel_and_wait(&mut self) -> Vec<String> {
        let names = self.calls.values().map(|started| started.name.clone()).collect();
        self.cancel();
        while !self.calls.is_empty() {
            self.next().await;
        }
        names
    }

    /// Returns the next event: an end, or live output. Cancel-safe; never resolves while nothing runs.
    pub(super) async fn next(&mut self) -> ToolRunEvent {
        loop {
            let idle = self.calls.is_empty();
            let joined = tokio::select! {
                biased;
                Some(progress) = self.progress_out.recv() => return ToolRunEvent::Progress(progress),
                joined = self.tasks.join_next_with_id(), if !idle => joined,
                () = wait_for_timer(&mut self.deadline) => {
                    self.deadline = None;
                    for started in self.calls.values() {
                        started.abort.abort();
                    }
                    continue;
                }
            };
            let Some(joined) = joined else { return pending().await };
            let id = joined.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
            let Some(started) = self.calls.remove(&id) else { continue };
            let was_cancelled = self.cancel.is_cancelled();
            if self.calls.is_empty() && was_cancelled {
                self.cancel = CancellationToken::new();
                self.deadline = None;
            }
            return ToolRunEvent::Ended(match joined {
                Ok((_, done)) => done,
                Err(error) => aborted_run(&started, &error),
            });
        }
    }
}

/// An event of the running tools.
#[expect(clippy::large_enum_variant, reason = "one at a time, on the driver's stack")]
pub(super) enum ToolRunEvent {
    Ended(Input),
    Progress(Progress),
}

/// Builds the context of one run: what it may know and use.
pub(super) fn context(
    call: &ToolCall,
    env: &AgentEnv,
    session: &Session,
    cancel: CancellationToken,
    progress: mpsc::Sender<Progress>,
) -> ToolContext {
    ToolContext {
        call: call.id.clone(),
        workspace: session.history().workspace().to_owned(),
        spill: env.spill.clone(),
        own: Arc::clone(&env.own),
        seen: Arc::clone(session.history().seen_versions()),
        state: session.history().state(call.name.as_str()).cloned(),
        tools: {
            let (policy, folder) = (env.policy.borrow(), session.history().workspace());
            env.registry.tools().filtered(|spec| !policy.rules.hides(spec, folder))
        },
        authorship: match env.registry.get(&call.name).map(|tool| tool.spec().category) {
            Some(Category::Memory) => {
                let history = session.history();
                let all =
                    history.archived_messages().chain(history.entries().iter().map(|(_, message)| message));
                authorship(call, all, env.registry.tools().specs_by_name())
            }
            Some(_) | None => Authorship::Inferred,
        },
        cancel,
        progress,
    }
}

/// Determines the authorship of a call's arguments from the messages before the call: it may run in a later turn.
fn authorship<'a>(
    call: &ToolCall,
    said: impl Iterator<Item = &'a Arc<Message>>,
    tools: BTreeMap<ToolName, ToolSpec>,
) -> Authorship {
    let mut provenance = Provenance::new(Arc::new(tools));
    for message in said {
        let is_its_reply =
            matches!(&**message, Message::Assistant(reply) if reply.calls().any(|one| one.id == call.id));
        if is_its_reply {
            return provenance.authorship(&call.args);
        }
        provenance.add(Arc::clone(message));
    }
    // The conversation was cleared: what was said is not known.
    Authorship::External
}

/// Runs the tool, then the hooks that follow a call.
async fn run_tool(tool: Arc<dyn Tool>, call: ToolCall, context: ToolContext, settings: RunSettings) -> Input {
    let began = Instant::now();
    let spec = tool.spec();
    // Until the hooks that follow have ended, however this ends.
    let _changing = (!spec.side_effect.is_none()).then(|| settings.cache.changing_files());
    let mut span = spans::RunningCall::new(tracing::Span::current());
    let (ended, age) = run_or_repeat(tool.as_ref(), &call.args, &context, &settings).await;
    if let ToolRunEnd::Output(Err(ToolError::Unavailable(_))) = ended {
        settings.registry.remove(&spec.name);
    }
    let was_cancelled = context.cancel.is_cancelled();
    let (mut returned, seen, state) = build_return(&call.id, spec.side_effect, ended, was_cancelled);
    returned.done = Some(Box::new(CallReport {
        words: tool.outcome(returned.status, &returned.text()),
        took_ms: Some(u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX)),
        cached_age: age.map(|age| age.as_secs()),
        ..CallReport::default()
    }));
    settings.after.look(call, &mut returned, &context.cancel).await;
    span.on_return(&returned, settings.content);
    Input::ToolDone { returned, seen, state }
}

/// Returns a result that is kept, with its age, or runs the tool and keeps what it returns.
async fn run_or_repeat(
    tool: &dyn Tool,
    args: &Value,
    context: &ToolContext,
    settings: &RunSettings,
) -> (ToolRunEnd, Option<Duration>) {
    let (spec, cache) = (tool.spec(), &settings.cache);
    let question = cache.question(
        spec,
        args,
        (context.workspace.clone(), context.spill.clone()),
        settings.basis.clone(),
    );
    if let Some((output, age)) = question.as_ref().and_then(|(key, _)| cache.get(key)) {
        return (ToolRunEnd::Output(Ok(output)), Some(age));
    }
    let limit = spec.timeout;
    let ended = match tokio::time::timeout(limit, attempts(tool, args, context)).await {
        Ok(result) => ToolRunEnd::Output(result),
        Err(_) => ToolRunEnd::TimedOut(limit),
    };
    if let (Some(question), ToolRunEnd::Output(Ok(output))) = (question, &ended) {
        cache.put(question, output);
    }
    (ended, None)
}

/// Runs the tool; without side effects again while it fails for a reason that may pass.
async fn attempts(tool: &dyn Tool, args: &Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let mut pauses = PAUSES.iter().filter(|_| tool.spec().side_effect.is_none());
    loop {
        let ended = tool.run(args, context).await;
        let (Err(ToolError::Transient(_)), Some(pause)) = (&ended, pauses.next()) else { return ended };
        tokio::select! {
            () = sleep(*pause) => {}
            () = context.cancel.cancelled() => return ended,
        }
    }
}

/// Builds the return of a run that was not dropped, with the versions that it read or wrote and the state that it leaves.
fn build_return(
    call: &CallId,
    side_effect: SideEffect,
    ended: ToolRunEnd,
    was_cancelled: bool,
) -> (ToolReturn, Vec<(Resource, Version)>, Option<Value>) {
    let failed = match ended {
        ToolRunEnd::Output(Ok(output)) => {
            let ToolOutput { content, source, trust, seen, state } = output;
            let (call, status) = (call.clone(), ReturnStatus::Ok);
            return (ToolReturn { call, status, content, source, trust, done: None }, seen, state);
        }
        ToolRunEnd::Output(Err(error)) => {
            let status = match error {
                ToolError::Unknown(_) => ReturnStatus::Unknown,
                _ if was_cancelled => ReturnStatus::Interrupted,
                _ => ReturnStatus::Failed,
            };
            let rests = if matches!(error, ToolError::Unavailable(_)) {
                " The tool is not offered again until `co` is started anew."
            } else {
                ""
            };
            let content = vec![ReturnPart::Text { text: format!("{error}{rests}") }];
            // An error's text may contain the output of a command, so it is not trusted.
            let (source, trust) = (Source::Program, Trust::Untrusted);
            ToolReturn { call: call.clone(), status, content, source, trust, done: None }
        }
        ToolRunEnd::TimedOut(limit) => {
            let (status, text) = if side_effect.is_none() {
                (ReturnStatus::Failed, format!("It took longer than {} and was stopped.", duration(limit)))
            } else {
                let text = format!(
                    "It took longer than {} and was stopped; its outcome is unknown. Look before you repeat it.",
                    duration(limit)
                );
                (ReturnStatus::Unknown, text)
            };
            ToolReturn::program(call.clone(), status, text)
        }
    };
    (failed, Vec::new(), None)
}

/// Builds the end of a run that was dropped because it ignored its cancel, or that panicked.
fn aborted_run(started: &ToolRun, error: &tokio::task::JoinError) -> Input {
    let why = if error.is_cancelled() { "it ignored the interrupt and was dropped" } else { "it broke" };
    let (status, text) = match (started.side_effect, error.is_cancelled()) {
        (SideEffect::None { .. }, true) => (ReturnStatus::Interrupted, format!("Interrupted: {why}.")),
        (SideEffect::None { .. }, false) => {
            (ReturnStatus::Failed, format!("Failed: {why}; this is a bug in co."))
        }
        (SideEffect::Local | SideEffect::External, true | false) => {
            (ReturnStatus::Unknown, format!("Outcome unknown: {why}. Look before you repeat it."))
        }
    };
    without_output(ToolReturn::program(started.call.clone(), status, text))
}

fn without_output(returned: ToolReturn) -> Input {
    Input::ToolDone { returned, seen: Vec::new(), state: None }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::message::ToolName;
    use crate::tool::{CallPlan, PlanContext, ToolSpec};

    fn context_of(id: &CallId, running: &RunningTools) -> ToolContext {
        ToolContext {
            call: id.clone(),
            workspace: "/w".into(),
            spill: "/spill".into(),
            own: Arc::new([]),
            seen: Arc::default(),
            state: None,
            tools: crate::tool::Toolset::default(),
            authorship: crate::message::Authorship::Inferred,
            cancel: running.cancel.clone(),
            progress: running.progress_in.clone(),
        }
    }

    /// Fails so many times, each time for a reason that may pass.
    struct Flaky {
        spec: ToolSpec,
        failures: AtomicUsize,
    }

    impl Tool for Flaky {
        fn spec(&self) -> &ToolSpec {
            &self.spec
        }

        fn plan<'a>(
            &'a self,
            _: &'a Value,
            _: &'a PlanContext,
        ) -> BoxFuture<'a, Result<CallPlan, ToolError>> {
            Box::pin(async { Err(ToolError::Misuse(String::new())) })
        }

        fn run<'a>(
            &'a self,
            _: &'a Value,
            _: &'a ToolContext,
        ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
            let left = self.failures.load(Ordering::Relaxed);
            self.failures.store(left.saturating_sub(1), Ordering::Relaxed);
            Box::pin(async move {
                if left > 0 {
                    return Err(ToolError::Transient(format!("{left} left")));
                }
                let content = vec![ReturnPart::Text { text: "done".to_owned() }];
                let (source, trust) = (Source::Program, Trust::Untrusted);
                Ok(ToolOutput { content, source, trust, seen: Vec::new(), state: None })
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_without_side_effects_only() {
        let none = SideEffect::None { cache_for: None };
        for (side_effect, failures, expected, ms) in [
            (none, 0, "done", 0),
            (none, 3, "done", 2600),
            (none, 4, "1 left", 2600),
            (SideEffect::External, 1, "1 left", 0),
        ] {
            let running = RunningTools::new();
            let spec = ToolSpec::sample("flaky", Category::Server, side_effect);
            let tool = Flaky { spec, failures: AtomicUsize::new(failures) };
            let began = tokio::time::Instant::now();
            let context = context_of(&CallId("s/1.1.0".to_owned()), &running);
            let said = match attempts(&tool, &json!({}), &context).await {
                Ok(_) => "done".to_owned(),
                Err(error) => error.to_string(),
            };
            assert_eq!((said.as_str(), began.elapsed().as_millis()), (expected, ms), "{failures}");
            // An interrupt ends the waiting.
            running.cancel.cancel();
            tool.failures.store(9, Ordering::Relaxed);
            let began = tokio::time::Instant::now();
            assert!(attempts(&tool, &json!({}), &context).await.is_err());
            assert_eq!(began.elapsed(), Duration::ZERO);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_of_a_tool_that_has_vanished_fails() {
        let mut running = RunningTools::new();
        let id = CallId("s/1.1.0".to_owned());
        let call = ToolCall {
            id: id.clone(),
            wire_id: "w".to_owned(),
            name: ToolName::new("gone"),
            args: json!({}),
        };
        let context = context_of(&id, &running);
        running.spawn(None, call, context, RunSettings::default());
        let ended = tokio::time::timeout(Duration::from_secs(1), running.next()).await;
        let Ok(ToolRunEvent::Ended(Input::ToolDone { returned, seen, .. })) = ended else {
            panic!("the call does not end");
        };
        assert_eq!((returned.call.clone(), returned.status, seen), (id, ReturnStatus::Failed, Vec::new()));
        assert_eq!(returned.text(), "Not run: there is no tool `gone` any more.");
        assert!(running.is_idle());
    }
}
