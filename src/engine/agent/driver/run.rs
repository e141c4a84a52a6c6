//! The loop of one turn: effects out, inputs in. Decisions on requests meanwhile are handled in `decisions`.

mod decisions;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::sync::watch;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::checks::RunningChecks;
use super::expiry::{ExpiryTimer, timer, wait_for_timer};
use super::hooks::{self, HookQuestion, HooksResult};
use super::spans::TurnSpans;
use super::tools::{RunningTools, ToolRunEvent};
use super::{ActiveModel, AgentEnv, TurnResult, news};
use crate::agent::calls::Rules;
use crate::agent::caps::{CapQuestion, Estimate, Figures};
use crate::agent::context::{self, CompactionPlan, ViewLimits};
use crate::agent::effect::{
    CompactionReason, Effect, EstimateScope, Fit, Input, ModelRole, with_joined_commits,
};
use crate::agent::port::{Closed, Event, Frontend, Op};
use crate::agent::prompt::{self, Preamble};
use crate::agent::statuses;
use crate::agent::turn::{Audience, RequestedModel, RetryPolicy, Setup, StopHooks, Turn, TurnKind};
use crate::approval::{Policy, Provenance};
use crate::history::{Durability, Limit, Record, RecordNo, TurnEnd, UsageTotals};
use crate::hook::{HookEvent, HookSubject, HookVerdict};
use crate::message::{NoteKind, ToolName};
use crate::provider::{ErrorClass, ModelRequest, ProviderError, StreamEvent, ToolChoice};
use crate::session::Session;
use crate::stdx::clock::{day_start, system_zone};
use crate::store::{ChangeListener, StoreError};
use crate::tool::{Tool, ToolSpec, Toolset};

/// How often a reply's text is saved while it streams.
const CHECKPOINT: Duration = Duration::from_secs(1);

/// How long the events of a reply wait for the plan of a call before them: a read whose plan is ready at the reply's end
/// runs while the reply is stored.
const PLANNING: Duration = Duration::from_millis(1);

/// The maximum number of reply events handled before the loop checks its other inputs.
const EVENT_BATCH: usize = 1024;

/// Deltas that arrive together are shown as one, up to this many bytes.
const JOINED: usize = 16 * 1024;

/// Builds the machine's setup from the current session and environment.
pub(super) fn setup(
    session: &Session,
    env: &AgentEnv,
    frontend: &dyn Frontend,
    (toolset, spans): (&Toolset, &TurnSpans),
) -> Setup {
    let (specs, hooked) = specs_and_hooked(toolset, env);
    let provenance = Provenance::new(Arc::clone(&specs));
    Setup {
        session: session.id().clone(),
        rules: Rules {
            policy: env.policy.borrow().clone(),
            grants: session.history().grants().clone(),
            specs,
            hooked,
            isolation: env.isolation,
            place: env.place.clone(),
            provenance,
            now: env.clock.now(),
            expiry: env.expiry,
            tool_retries: env.tool_retries,
        },
        limits: env.limits,
        caps: env.caps.borrow().clone().for_next_turn(),
        retries: env.http_retries,
        overload_wait: env.overload_wait,
        patience: match &env.fallback {
            Some(fallback) => fallback.patience(&env.model.borrow()),
            None => RetryPolicy::Usual,
        },
        audience: if frontend.can_approve() { Audience::Present } else { Audience::Absent },
        stop_hooks: match hooks::any_hook_wants(&env.hooks, HookEvent::Stop) {
            true => StopHooks::Present,
            false => StopHooks::Absent,
        },
        seed: session.history().len(),
        trace: spans.trace(),
    }
}

/// Returns the descriptions of tools, and the names of those that hooks subscribe to.
fn specs_and_hooked(
    tools: &Toolset,
    env: &AgentEnv,
) -> (Arc<BTreeMap<ToolName, ToolSpec>>, BTreeSet<ToolName>) {
    let specs = tools.specs_by_name();
    let is_hooked = |name: &&ToolName| {
        let mut about_calls = HookEvent::ALL.into_iter().filter(|event| event.is_about_a_call());
        about_calls.any(|event| env.hooks.iter().any(|hook| hook.wants(event, Some(name))))
    };
    let hooked = specs.keys().filter(is_hooked).cloned().collect();
    (Arc::new(specs), hooked)
}

/// Returns the room for the tools of servers in the next request.
fn tool_room(env: &AgentEnv, session: &Session) -> context::ToolBudget {
    let window = env.context_tokens.or(env.model.borrow().profile.window);
    context::ToolBudget::of(env.view, window, session.history())
}

type ModelStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

/// A running turn.
pub(super) struct Driver<'a> {
    session: &'a mut Session,
    env: &'a AgentEnv,
    frontend: &'a dyn Frontend,
    cancel: CancellationToken,
    turn: Turn,
    preamble: Preamble,
    /// The tools that the next request offers; the machine knows the same.
    toolset: Toolset,
    /// For the tools of servers.
    room: context::ToolBudget,
    stream: Option<ModelStream>,
    checks: RunningChecks,
    last_word: HookQuestion,
    /// Asked before a compaction.
    compacting: HookQuestion,
    /// Why, and for which model.
    compaction: (CompactionReason, ModelRole),
    /// The facts that the user wants a summary to keep.
    focus: Option<String>,
    running: RunningTools,
    listener: ChangeListener,
    policy: watch::Receiver<Policy>,
    backoff: Option<Pin<Box<Sleep>>>,
    /// The time left for a plan before further events of the reply are handled.
    planning: Option<Pin<Box<Sleep>>>,
    expiry: ExpiryTimer,
    /// The last message that was passed to the turn.
    observed_to: RecordNo,
    /// The model to which the recorded prefix belongs; `None` until this preamble is recorded.
    recorded_for: Option<Arc<ActiveModel>>,
    checkpoint: Option<Pin<Box<Sleep>>>,
    /// Operations received before the turn began, or while an event was being shown.
    received: VecDeque<Op>,
    /// Operations for the caller: between turns they concern no turn.
    unhandled: Vec<Op>,
    /// Whether the front end is still open.
    is_open: bool,
    /// A delta that is shown as soon as the stream has no further event ready.
    delta: Option<Event>,
    text: String,
    /// The full name of the model that the user had chosen at the last request.
    first: Option<String>,
    /// The cap that was reached last.
    capped: Option<CapQuestion>,
    spans: TurnSpans,
}

/// The event that woke the loop.
enum LoopEvent {
    Input(Input),
    /// The next event of the reply; `None` if the stream broke off.
    Reply(Option<Result<StreamEvent, ProviderError>>),
    Op(Op),
    Approvals,
    /// A request has expired.
    Due,
    Policy(Policy),
    /// The result of the hooks on the turn's final reply.
    Hooks(HooksResult),
    /// The result of the hooks before messages are left out.
    Compacting(HooksResult),
    Progress(crate::tool::Progress),
    /// No other event is ready.
    Quiet,
    Closed,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        session: &'a mut Session,
        env: &'a AgentEnv,
        frontend: &'a dyn Frontend,
        cancel: CancellationToken,
        (turn, toolset, spans): (Turn, Toolset, TurnSpans),
        (received, focus): (Vec<Op>, Option<String>),
    ) -> Self {
        let listener = session.store().change_listener();
        let observed_to = RecordNo(session.history().len());
        let room = tool_room(env, session);
        let folder = session.history().workspace();
        let preamble = Preamble::of(&env.prompt, folder, &env.policy.borrow(), (&toolset, &room));
        Self {
            session,
            env,
            frontend,
            cancel,
            turn,
            preamble,
            toolset,
            room,
            stream: None,
            checks: RunningChecks::default(),
            last_word: HookQuestion::default(),
            compacting: HookQuestion::default(),
            compaction: (CompactionReason::Estimated, ModelRole::Primary),
            focus,
            running: RunningTools::new(),
            listener,
            policy: env.policy.clone(),
            backoff: None,
            planning: None,
            expiry: ExpiryTimer::default(),
            observed_to,
            recorded_for: None,
            checkpoint: None,
            received: received.into(),
            unhandled: Vec::new(),
            is_open: true,
            delta: None,
            text: String::new(),
            first: None,
            capped: None,
            spans,
        }
    }

    /// Runs the turn to its end.
    pub(super) async fn run(mut self, first: Vec<Effect>) -> Result<TurnResult, StoreError> {
        let span = self.spans.turn.clone();
        async move {
            let result = self.run_to_end(first).await;
            if let Err(error) = &result {
                self.abandon(error).await;
            }
            result
        }
        .instrument(span)
        .await
    }

    async fn run_to_end(&mut self, first: Vec<Effect>) -> Result<TurnResult, StoreError> {
        self.tell_answers().await;
        let mut end = self.carry_out(first).await?;
        // A decision may have arrived since the session was opened.
        if end.is_none() {
            end = self.take_decisions().await?;
        }
        loop {
            if let Some(end) = end {
                self.spans.on_turn_end(&end);
                let text = std::mem::take(&mut self.text);
                let unhandled = self.unhandled.drain(..).chain(self.received.drain(..)).collect();
                let at_cap = matches!(end, TurnEnd::LimitReached { limit: Limit::Cap(_) });
                let capped = self.capped.take().filter(|_| at_cap).map(Box::new);
                return Ok(TurnResult { end, text, capped, unhandled });
            }
            end = match self.next().await {
                LoopEvent::Input(input) => self.feed(input).await?,
                LoopEvent::Reply(event) => self.on_reply(event).await?,
                LoopEvent::Op(op) => self.on_op(op).await?,
                LoopEvent::Approvals => self.take_decisions().await?,
                LoopEvent::Due => {
                    self.session.store().expire_due().await?;
                    self.take_decisions().await?
                }
                LoopEvent::Policy(policy) => match self.feed(Input::Policy(policy)).await? {
                    Some(end) => Some(end),
                    None => self.settle_covered().await?,
                },
                LoopEvent::Hooks(said) => self.on_last_word(said).await?,
                LoopEvent::Compacting(said) => self.on_compaction_hooked(said).await?,
                LoopEvent::Progress(progress) => {
                    self.show(Event::ToolProgress { progress }).await;
                    None
                }
                LoopEvent::Quiet => {
                    self.show_delta().await;
                    None
                }
                LoopEvent::Closed => self.feed(Input::Close).await?,
            };
        }
    }

    /// Handles a failure of the store: cancels and awaits what runs, and reports to the user what is unrecorded.
    async fn abandon(&mut self, error: &StoreError) {
        self.stream = None;
        self.checks.drop_all();
        let unrecorded = self.running.cancel_and_wait().await;
        self.show(Event::Status { text: statuses::lost_ends(error, &unrecorded) }).await;
    }

    async fn next(&mut self) -> LoopEvent {
        if let Some(op) = self.received.pop_front() {
            return LoopEvent::Op(op);
        }
        let (open, is_planning) = (self.is_open, self.planning.is_some());
        self.expiry.look(self.session);
        if !self.running.is_idle() || !self.checks.is_idle() {
            // Tasks that were just started are polled once before the loop waits again, so that short calls
            // end in the order in which they began.
            tokio::task::yield_now().await;
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled(), if open => {
                self.is_open = false;
                LoopEvent::Closed
            }
            op = self.frontend.next_op(), if open => LoopEvent::Op(op),
            () = self.listener.changed() => LoopEvent::Approvals,
            policy = next_policy(&mut self.policy) => LoopEvent::Policy(policy),
            happened = self.running.next() => match happened {
                ToolRunEvent::Ended(input) => LoopEvent::Input(input),
                ToolRunEvent::Progress(progress) => LoopEvent::Progress(progress),
            },
            input = self.checks.next_result() => {
                self.planning = None;
                LoopEvent::Input(input)
            }
            () = self.expiry.wait_for_expiry(&*self.env.clock) => LoopEvent::Due,
            said = self.last_word.result() => LoopEvent::Hooks(said),
            said = self.compacting.result() => LoopEvent::Compacting(said),
            () = wait_for_timer(&mut self.backoff) => {
                self.backoff = None;
                LoopEvent::Input(Input::BackoffElapsed)
            }
            () = wait_for_timer(&mut self.checkpoint) => {
                self.checkpoint = Some(timer(CHECKPOINT));
                LoopEvent::Input(Input::Checkpoint)
            }
            () = wait_for_timer(&mut self.planning) => {
                self.planning = None;
                LoopEvent::Quiet
            }
            event = next_event(&mut self.stream), if !is_planning => LoopEvent::Reply(event),
            () = std::future::ready(()), if self.delta.is_some() => LoopEvent::Quiet,
        }
    }

    /// Handles this event and, after a delta, those that arrived in the same read of the connection.
    async fn on_reply(
        &mut self,
        first: Option<Result<StreamEvent, ProviderError>>,
    ) -> Result<Option<TurnEnd>, StoreError> {
        let mut event = first;
        for _ in 0..EVENT_BATCH {
            let is_delta = matches!(event, Some(Ok(StreamEvent::PartDelta { .. })));
            let checked = self.check_event(event);
            let end = self.feed(Input::Stream(checked)).await?;
            // Early calls must be able to make progress while the reply still streams.
            let is_alone = self.received.is_empty() && self.running.is_idle() && self.checks.is_idle();
            if end.is_some() || !is_delta || !is_alone {
                return Ok(end);
            }
            match next_event(&mut self.stream).now_or_never() {
                Some(next) => event = next,
                None => break,
            }
        }
        Ok(None)
    }

    /// Maps a stream that stops without its end to a truncated reply.
    fn check_event(
        &mut self,
        event: Option<Result<StreamEvent, ProviderError>>,
    ) -> Result<StreamEvent, ProviderError> {
        let event =
            event.unwrap_or_else(|| Err(ProviderError::new(ErrorClass::Truncated, "the reply was cut off")));
        if let Ok(event) = &event {
            self.spans.observe(event);
        }
        if matches!(&event, Ok(StreamEvent::Finished { .. }) | Err(_)) {
            self.stream = None;
            self.checkpoint = None;
        }
        event
    }

    async fn feed(&mut self, input: Input) -> Result<Option<TurnEnd>, StoreError> {
        self.turn.tell_time(self.env.clock.now());
        let effects = self.turn.handle(input);
        self.carry_out(effects).await
    }

    /// Executes effects in order; returns how the turn ended, once it did.
    async fn carry_out(&mut self, effects: Vec<Effect>) -> Result<Option<TurnEnd>, StoreError> {
        for effect in with_joined_commits(effects) {
            match effect {
                Effect::Commit(records, durability) => self.commit(&records, durability).await?,
                Effect::Show(event) => {
                    if let (Event::FellBack { from, .. }, Some(fallback)) = (&event, &self.env.fallback) {
                        fallback.takes_over(from);
                    }
                    self.show(event).await;
                }
                Effect::CallModel { choice, who, .. } => self.call_model(choice, who).await?,
                Effect::CancelModel => {
                    self.spans.on_give_up();
                    self.stream = None;
                    self.checkpoint = None;
                }
                Effect::Plan { call, round } => {
                    let tool = self.offered_tool(&call.name);
                    self.checks.plan((call, round), tool, self.env, self.session);
                    self.planning = self.stream.as_ref().map(|_| timer(PLANNING));
                }
                Effect::Hook { call, round } => self.checks.hook(call, round, self.env, self.session),
                Effect::HookStop => {
                    let subject = HookSubject::Stop { answer: self.text.clone() };
                    self.last_word.ask(self.env, self.session, subject);
                }
                Effect::StartTool { call, basis } => {
                    let tool = self.offered_tool(&call.name);
                    self.running.start((call, basis), tool, self.env, self.session);
                }
                Effect::CancelTools => {
                    self.checks.drop_all();
                    self.running.cancel();
                }
                Effect::Wait(wait) => self.backoff = Some(timer(wait)),
                Effect::PlanCompaction { why, who } => {
                    self.spans.on_compaction_start();
                    let plan = self.plan_compaction(why, who);
                    let asks = hooks::any_hook_wants(&self.env.hooks, HookEvent::PreCompact);
                    if let (Some(plan), true) = (&plan, asks) {
                        self.compaction = (why, who);
                        let messages = plan.messages;
                        self.compacting.ask(self.env, self.session, HookSubject::PreCompact { messages });
                        continue;
                    }
                    let effects = self.turn.handle(self.compaction_input(plan, None));
                    return Box::pin(self.carry_out(effects)).await;
                }
                Effect::Summarize { who, quoted } => {
                    let model = self.model(who);
                    let request = prompt::summary_request(&model, &quoted, self.focus.as_deref());
                    self.spans.on_request(&model, &request, who);
                    self.stream = Some(model.provider.stream(request, CancellationToken::new()));
                }
                Effect::TakeLate => {
                    let settled = self.session.consume_decisions().await?;
                    self.tell_late(&settled).await;
                    let calls = self.session.history().settleable_late_calls();
                    let effects = self.turn.handle(Input::Late { calls });
                    return Box::pin(self.carry_out(effects)).await;
                }
                Effect::Weigh { who, what } => {
                    if self.turn.kind() == TurnKind::Prompt {
                        news::say_news(self.session, self.env, self.frontend).await?;
                    }
                    let fit = self.fit(who);
                    let figures = match what {
                        EstimateScope::SizeAndUsage => {
                            let midnight = day_start(self.env.clock.now(), &system_zone());
                            let day = self.session.store().used_since(midnight).await?;
                            Some(self.figures(who, day))
                        }
                        EstimateScope::Size => None,
                    };
                    let effects = self.turn.handle(Input::Weighed { fit, figures });
                    return Box::pin(self.carry_out(effects)).await;
                }
                Effect::KeepCaps(caps) => drop(self.env.caps.send_replace(caps)),
                Effect::End(end) => return Ok(Some(end)),
            }
        }
        Ok(None)
    }

    async fn commit(&mut self, records: &[Record], durability: Durability) -> Result<(), StoreError> {
        for record in records {
            if let Some(reply) = record.reply() {
                self.text = reply.text();
            }
        }
        self.session.commit(records, durability).await?;
        self.spans.on_commit(records, self.env.clock.now());
        Ok(())
    }

    /// Shows an event, in order; deltas that arrive together are shown as one.
    async fn show(&mut self, event: Event) {
        if let Event::CapReached { question } = &event {
            self.capped = Some(question.clone());
        }
        let event = match &mut self.delta {
            Some(waiting) => match waiting.join(event, JOINED) {
                Some(other) => other,
                None => return,
            },
            None => event,
        };
        self.show_delta().await;
        match event {
            Event::TextDelta { .. } | Event::ThinkingDelta { .. } => self.delta = Some(event),
            other => self.show_now(other).await,
        }
    }

    async fn show_delta(&mut self) {
        if let Some(delta) = self.delta.take() {
            self.show_now(delta).await;
        }
    }

    /// Shows an event now. Operations that arrive meanwhile are kept.
    async fn show_now(&mut self, event: Event) {
        if !self.is_open {
            return;
        }
        let shown = self.frontend.show(event);
        tokio::pin!(shown);
        let result = loop {
            tokio::select! {
                biased;
                result = &mut shown => break result,
                op = self.frontend.next_op() => self.received.push_back(op),
            }
        };
        if let Err(Closed) = result {
            self.received.push_back(Op::Close);
        }
    }

    /// Sends the next request, with the outcomes of late calls.
    async fn call_model(&mut self, choice: ToolChoice, who: ModelRole) -> Result<(), StoreError> {
        news::say_news(self.session, self.env, self.frontend).await?;
        let model = self.model(who);
        self.take_tools();
        self.tell_news();
        self.record_prefix(&model).await?;
        let request = self.request(&model, choice);
        self.spans.on_compaction_end();
        self.spans.on_request(&model, &request, who);
        // The stream gets its own token: the end of this turn must not look like a reply that broke off.
        // Dropping the stream closes the connection.
        self.stream = Some(model.provider.stream(request, CancellationToken::new()));
        self.checkpoint = Some(timer(CHECKPOINT));
        Ok(())
    }

    /// Returns the tool that the last request offered under this name, unless it is gone or another has its name: a
    /// call is judged by the description of the tool that runs.
    fn offered_tool(&self, name: &ToolName) -> Option<Arc<dyn Tool>> {
        let now = self.env.registry.get(name);
        self.toolset.get(name).filter(|tool| now.is_some_and(|now| Arc::ptr_eq(tool, &now))).cloned()
    }

    /// Offers the tools of now with the request; the prefix of the conversation changes only if they did.
    fn take_tools(&mut self) {
        let (toolset, room) = (self.env.registry.tools(), tool_room(self.env, self.session));
        let are_same = toolset.is(&self.toolset);
        if are_same && room.found == self.room.found {
            return;
        }
        if !are_same {
            let (specs, hooked) = specs_and_hooked(&toolset, self.env);
            self.turn.offer(specs, hooked);
        }
        let folder = self.session.history().workspace();
        let policy = self.env.policy.borrow();
        self.preamble = Preamble::of(&self.env.prompt, folder, &policy, (&toolset, &room));
        (self.toolset, self.room) = (toolset, room);
        self.recorded_for = None;
    }

    /// Records what precedes the conversation if it changed, so that the prompt of each turn can be shown later.
    async fn record_prefix(&mut self, model: &Arc<ActiveModel>) -> Result<(), StoreError> {
        if self.recorded_for.as_ref().is_some_and(|known| Arc::ptr_eq(known, model)) {
            return Ok(());
        }
        let limits = self.limits(model);
        let changed = prompt::changed_prefix(self.session.history(), &self.preamble, model, limits);
        self.session.commit(changed.as_slice(), Durability::Written).await?;
        self.recorded_for = Some(Arc::clone(model));
        Ok(())
    }

    /// Passes to the turn the request's messages that it has not received yet.
    fn tell_news(&mut self) {
        let observed = self.observed_to;
        for (no, message) in self.session.history().entries().iter().filter(|(no, _)| *no > observed) {
            self.observed_to = *no;
            self.turn.observe(Arc::clone(message));
        }
    }

    /// Returns the role and the model that will answer, and the name of its fallback; one for summaries has none.
    fn answering(&self, who: ModelRole) -> (ModelRole, Arc<ActiveModel>, Option<String>) {
        let first = Arc::clone(&self.env.model.borrow());
        let behind = self.env.fallback.as_ref().and_then(|fallback| fallback.behind(&first));
        // If the user switches the model during failover, the new model must be tried.
        let switched = self.first.as_ref().is_some_and(|known| *known != first.full_name());
        if let (ModelRole::Summarizer, Some(summarizer)) = (who, &self.env.summarizer) {
            return (who, Arc::clone(summarizer), None);
        }
        match (who, behind) {
            (ModelRole::Fallback, Some(behind)) if !switched => (who, Arc::clone(behind), None),
            (ModelRole::Primary | ModelRole::Fallback | ModelRole::Summarizer, behind) => {
                let behind = behind.map(|behind| behind.full_name());
                (ModelRole::Primary, first, behind)
            }
        }
    }

    /// Returns the model that answers now, and reports it to the turn.
    fn model(&mut self, who: ModelRole) -> Arc<ActiveModel> {
        let (who, model, fallback) = self.answering(who);
        if who != ModelRole::Summarizer {
            self.first = Some(self.env.model.borrow().full_name());
        }
        self.turn.asks(RequestedModel {
            who,
            provider: model.provider.name().to_owned(),
            model: model.name.clone(),
            price: model.profile.price,
            fallback,
        });
        model
    }

    fn request(&self, model: &ActiveModel, choice: ToolChoice) -> ModelRequest {
        let (id, history) = (self.session.id(), self.session.history());
        prompt::request(id, history, self.limits(model), &self.preamble, model, choice)
    }

    fn limits(&self, model: &ActiveModel) -> ViewLimits {
        prompt::view_limits(self.env.view, self.env.context_tokens, model)
    }

    /// Returns what is used so far, what all processes used today, and the estimate for the next request.
    fn figures(&self, who: ModelRole, day: UsageTotals) -> Figures {
        let (_, model, _) = self.answering(who);
        let request = self.request(&model, ToolChoice::Auto);
        let next = Estimate::of(&request, model.profile.price.as_ref());
        Figures { session: self.session.history().total_usage(), day, next, model: request.model }
    }

    /// Estimates whether the next request fits the configured size, else the window of the model that answers.
    fn fit(&self, who: ModelRole) -> Fit {
        let (_, model, _) = self.answering(who);
        if self.room(&model, 0).is_none() {
            return Fit::Fits;
        }
        let preamble = self.preamble.estimated_tokens(&model);
        let history = self.session.history();
        let size = match self.limits(&model) {
            limits if limits == ViewLimits::default() => context::estimated_tokens(history, preamble),
            _ => context::estimated_request(&self.request(&model, ToolChoice::Auto)),
        };
        match self.room(&model, preamble) {
            Some(room) if size > room => Fit::TooLong,
            Some(_) | None => Fit::Fits,
        }
    }

    /// Returns the number of tokens that a request may have; `None` = unknown.
    fn room(&self, model: &ActiveModel, preamble: u64) -> Option<u64> {
        context::limit(self.env.context_tokens, model.profile.window, model.max_output_tokens, preamble)
    }

    /// Plans a compaction for the model that answers.
    fn plan_compaction(&self, why: CompactionReason, who: ModelRole) -> Option<CompactionPlan> {
        let (_, model, _) = self.answering(who);
        let preamble = self.preamble.estimated_tokens(&model);
        let room = self.room(&model, preamble).map(|room| room.saturating_sub(preamble));
        // Whichever model writes the summary must be able to read what is quoted.
        let summarizer = self.env.summarizer.as_ref().and_then(|model| self.room(model, 0));
        let window = match (room, summarizer) {
            (Some(room), Some(other)) => Some(room.min(other)),
            (room, other) => room.or(other),
        };
        match why {
            CompactionReason::Estimated => CompactionPlan::of(self.session.history(), room, window),
            CompactionReason::Refused | CompactionReason::Asked => {
                CompactionPlan::on_demand(self.session.history(), room, window, preamble)
            }
        }
    }

    fn compaction_input(&self, plan: Option<CompactionPlan>, prevented: Option<String>) -> Input {
        let summarizer = self.env.summarizer.is_some();
        Input::CompactionPlanned { plan: plan.map(Box::new), summarizer, prevented }
    }

    /// Handles the hooks' result before a compaction. They cannot prevent it if the provider refused the conversation.
    async fn on_compaction_hooked(&mut self, said: HooksResult) -> Result<Option<TurnEnd>, StoreError> {
        let (why, who) = self.compaction;
        let denied = said.denied.filter(|_| why != CompactionReason::Refused);
        let plan = if denied.is_some() { None } else { self.plan_compaction(why, who) };
        self.feed(self.compaction_input(plan, denied)).await
    }

    /// Handles the hooks' result. Notes that accompany a verdict are for the next prompt.
    async fn on_last_word(&mut self, said: HooksResult) -> Result<Option<TurnEnd>, StoreError> {
        let note = |text| Record::Noted { kind: NoteKind::Hook, text };
        let notes: Vec<Record> = said.notes.into_iter().map(note).collect();
        if !notes.is_empty() {
            self.session.commit(&notes, Durability::Written).await?;
        }
        let verdict = said.denied.map_or(HookVerdict::Pass, |reason| HookVerdict::Deny { reason });
        self.feed(Input::StopHooked { verdict }).await
    }

    async fn on_op(&mut self, op: Op) -> Result<Option<TurnEnd>, StoreError> {
        if self.turn.kind() != TurnKind::Prompt && self.is_for_caller(&op) {
            return Ok(None);
        }
        match op {
            Op::Decide { decisions } => self.decide(decisions).await,
            Op::Steer { parts } => self.feed(Input::Steer { parts }).await,
            Op::TakeBack { parts } => self.feed(Input::TakeBack { parts }).await,
            Op::Revoke { request } => self.feed(Input::Revoked { request }).await,
            Op::Interrupt => self.feed(Input::Interrupt).await,
            Op::Defer => self.defer().await,
            Op::RetryNow => {
                self.backoff = None;
                self.feed(Input::BackoffElapsed).await
            }
            Op::Cap { cap, answer } => self.feed(Input::CapAnswered { cap, answer }).await,
            Op::Draft { text } => self.keep(Record::Draft { text }).await,
            Op::Noted { text } => self.keep(Record::Noted { kind: NoteKind::CommandOutput, text }).await,
            Op::Close => {
                self.is_open = false;
                self.take_decisions().await?;
                self.feed(Input::Close).await
            }
        }
    }

    /// Keeps an operation for the caller unless it concerns late calls only; returns whether that is all.
    /// Interrupt and close concern both.
    fn is_for_caller(&mut self, op: &Op) -> bool {
        match op {
            Op::Decide { .. } | Op::Revoke { .. } | Op::Draft { .. } | Op::Noted { .. } => false,
            Op::Interrupt | Op::Close => {
                self.unhandled.push(op.clone());
                false
            }
            Op::RetryNow | Op::Cap { .. } if self.turn.kind() == TurnKind::Compaction => false,
            Op::Steer { .. } | Op::TakeBack { .. } | Op::Defer | Op::RetryNow | Op::Cap { .. } => {
                self.unhandled.push(op.clone());
                true
            }
        }
    }

    async fn keep(&mut self, record: Record) -> Result<Option<TurnEnd>, StoreError> {
        self.session.commit(&[record], Durability::Written).await?;
        Ok(None)
    }
}

/// Returns the next policy. Cancel-safe; never resolves once the sender is gone.
async fn next_policy(policy: &mut watch::Receiver<Policy>) -> Policy {
    match policy.changed().await {
        Ok(()) => policy.borrow_and_update().clone(),
        Err(_) => pending().await,
    }
}

async fn next_event(stream: &mut Option<ModelStream>) -> Option<Result<StreamEvent, ProviderError>> {
    match stream {
        Some(stream) => stream.next().await,
        None => pending().await,
    }
}
