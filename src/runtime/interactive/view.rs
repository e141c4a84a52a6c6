//! The session's data for commands and the header.

use std::borrow::Cow;
use std::sync::Arc;

use super::client::{ClientHandler, SessionView};
use crate::agent::context::{self, CompactionPlan};
use crate::agent::prompt::{self, PromptBook, Steering};
use crate::app::view_settings;
use crate::approval::rules::{Rule, RuleEffect, RulesHealth};
use crate::command::{
    CommandNeed, CommandView, ContextView, ConversationSize, CostPart, RuleLine, wanted_turn,
};
use crate::config::Cap;
use crate::frontend::protocol::{Completeness, ContextUse, CostSummary, Header, NEW_SESSION, ServerMessage};
use crate::history::History;
use crate::message::{Message, Usage, Usd, UserPart, images};
use crate::provider::ToolChoice;
use crate::runtime::{SandboxStatus, Status};
use crate::sandbox::tasks::output_file;
use crate::session::Session;
use crate::stdx::clock::{day_start, system_zone};
use crate::stdx::text::one_line_summary;
use crate::store::{RequestFilter, UsageOf};
use crate::telemetry::SpanFile;
use crate::telemetry::stats::Stats;

/// Cells of a title in the header.
const TITLE: usize = 40;

/// Maximum number of requests that a command lists.
const LISTED: usize = 50;

impl ClientHandler {
    /// Returns the data for a command that needs this and is given these arguments.
    pub(super) async fn command_view(
        &self,
        needs: CommandNeed,
        args: &str,
        known: SessionView<'_>,
    ) -> CommandView {
        let (app, policy) = (&self.app, self.app.permissions.policy());
        let mut view = CommandView {
            mode: policy.mode,
            auto_approve: policy.auto_approve,
            isolation: app.tools.sandbox.isolation(),
            read_only: self.read_only.clone(),
            turn_runs: matches!(known, SessionView::InTheStore { .. }),
            thinking: app.models.thinking(),
            ..CommandView::default()
        };
        match needs {
            CommandNeed::Nothing => {}
            CommandNeed::Status if args == "prompt" => {
                view.prompt = self.prompt_parts(&*self.history_of(known).await).await;
            }
            CommandNeed::Status if let Some((turn, request)) = wanted_turn(args) => {
                // A session that cannot be read has no turns; `/status` reports the store.
                let records = app.store.load(&self.session).await.unwrap_or_default();
                view.sent = Some(match request {
                    Some(number) => prompt::sent_request(&records, turn, number).map(|one| vec![one]),
                    None => prompt::sent_prompts(&records, turn),
                });
            }
            CommandNeed::Status => {
                let status = Status::of(
                    &app.world,
                    &app.settings,
                    &app.models,
                    SandboxStatus::of(&*app.tools.sandbox, &app.tools.sandbox_remarks),
                    app.servers.status(),
                    Ok(&app.store),
                )
                .await;
                view.status = status.rows();
                view.status.push(("session".to_owned(), self.session.to_string()));
                view.status
                    .push(("tools".to_owned(), app.tools.registry.tools().specs().count().to_string()));
            }
            CommandNeed::Tools => view.tools = app.tools.registry.tools().specs().cloned().collect(),
            CommandNeed::Servers => view.servers = app.servers.status(),
            CommandNeed::Tasks => {
                let folder = app.spill(&self.session);
                let file = |number| output_file(&folder, number).display().to_string();
                let tasks = app.tools.tasks.of(&folder).into_iter();
                view.tasks = tasks.map(|task| (task.clone(), file(task.number))).collect();
            }
            CommandNeed::Cache => view.cache = app.cache.list(),
            CommandNeed::Conversation => {
                view.totals = totals(&*self.history_of(known).await, *self.spent.lock());
            }
            CommandNeed::Cost => view.cost = cost(self).await,
            CommandNeed::Stats => match stats(self).await {
                Ok(stats) => view.stats = stats,
                Err(why) => view.stats_broken = Some(why),
            },
            CommandNeed::Context => view.context = context(self, &*self.history_of(known).await).await,
            CommandNeed::Prompts => {
                let history = self.history_of(known).await;
                let prompts = history.prompts();
                view.prompts = prompts.map(|(no, parts)| (no, images::typed_text(parts))).collect();
            }
            CommandNeed::Approvals => {
                // If the store cannot be read, `/status` reports it.
                let filter = RequestFilter::UndecidedOf(self.session.clone());
                let waiting: Vec<_> = app.store.requests(filter, LISTED).await.unwrap_or_default();
                let everywhere = app.store.waiting_count().await.unwrap_or_default();
                view.waiting_elsewhere = everywhere.saturating_sub(waiting.len());
                view.waiting = waiting.into_iter().map(|one| one.request).collect();
                view.grants = known.grants().by_request();
                let allowing = policy.rules.rules.iter().filter(|rule| rule.effect == RuleEffect::Allow);
                let sourced =
                    |rule: &Rule| RuleLine { text: format!("{rule}, {}", rule.source), ..rule_line(rule) };
                view.rules = allowing.map(sourced).collect();
            }
            CommandNeed::Personality => {
                view.personality = app.prompts.personality();
                view.personalities = app.prompts.names();
                let model = app.models.active().borrow().clone();
                let steering = Steering::of(model.provider.name(), &model.name);
                view.without_personality =
                    (!PromptBook::has_personality(steering)).then(|| model.full_name());
            }
            CommandNeed::Guide => view.guide = self.guide(),
            CommandNeed::Rules => {
                let grants = known.grants();
                let rules = policy.rules.rules.iter().chain(grants.rules());
                view.rules = rules.map(rule_line).collect();
                view.rules_broken = match &policy.rules.health {
                    RulesHealth::Broken { because } => Some(because.clone()),
                    RulesHealth::Sound => None,
                };
            }
        }
        view
    }

    /// Returns the history for answering a command; empty if the session cannot be read.
    pub(super) async fn history_of<'a>(&self, known: SessionView<'a>) -> Cow<'a, History> {
        match known {
            SessionView::Here(history) => Cow::Borrowed(history),
            SessionView::InTheStore { .. } => {
                Cow::Owned(Session::read(&self.app.store, &self.session).await.unwrap_or_default())
            }
        }
    }

    /// Sends the header.
    pub(super) async fn header(&mut self, history: &History) {
        let header = header(self, history).await;
        self.tell_header(header).await;
    }

    /// Sends the conversation with the decisions on its calls; `more` follows it.
    pub(super) async fn transcript(&mut self, history: &History, more: Option<Message>) {
        let messages = history.shown_messages().chain(more.map(Arc::new)).collect();
        let decided = match self.app.store.decisions(&self.session).await {
            Ok(decided) => decided,
            Err(error) => {
                tracing::warn!(%error, "the decisions of the session could not be read");
                Vec::new()
            }
        };
        self.tell(ServerMessage::Transcript { messages, decided }).await;
    }

    pub(super) async fn tell_header(&mut self, header: Header) {
        self.shown = Some(header.clone());
        self.tell(ServerMessage::Header(header)).await;
    }

    /// Sends the header with the values that can change during a turn.
    pub(super) async fn header_again(&mut self) {
        let Some(header) = self.shown.take() else { return };
        let policy = self.app.permissions.policy();
        self.tell_header(Header { mode: policy.mode, auto_approve: policy.auto_approve, ..header }).await;
    }

    /// Like [`ClientHandler::header`], with the title from a first prompt that is not stored yet.
    pub(super) async fn header_with(&mut self, history: &History, prompt: &[UserPart]) {
        let mut header = header(self, history).await;
        if header.title == NEW_SESSION {
            header.title = named_by(prompt).unwrap_or(header.title);
        }
        self.tell_header(header).await;
    }
}

fn rule_line(rule: &Rule) -> RuleLine {
    RuleLine { id: rule.id.clone(), text: rule.to_string() }
}

/// Returns the usage by period. If the store cannot be read, the status rows report it.
async fn cost(client: &ClientHandler) -> Vec<CostPart> {
    let store = &client.app.store;
    let id = &client.session;
    let midnight = day_start(store.clock().now(), &system_zone());
    let parts = [
        ("last request", UsageOf::Last(id.clone())),
        ("this turn", UsageOf::Turn(id.clone())),
        ("this session", UsageOf::Session(id.clone())),
        ("today", UsageOf::Since(midnight)),
    ];
    let mut cost = Vec::new();
    for (name, of) in parts {
        cost.push(CostPart { name, models: store.usage_by_model(of).await.unwrap_or_default() });
    }
    cost
}

/// Counts the spans of the last 30 days.
async fn stats(client: &ClientHandler) -> Result<Stats, String> {
    let (data, now) = (client.app.settings.data_dir.clone(), client.app.world.clock.now());
    let from = now - jiff::SignedDuration::from_hours(30 * 24);
    let counting = tokio::task::spawn_blocking(move || {
        let file = SpanFile::open(&data)?;
        Stats::since(&file, from, &system_zone())
    });
    match counting.await {
        Ok(stats) => stats.map_err(|error| format!("{error}.")),
        Err(error) => Err(format!("{error}.")),
    }
}

/// Returns the size of the next request to the model in use.
async fn context(client: &ClientHandler, history: &History) -> ContextView {
    let app = &client.app;
    let (preamble, model) = client.preamble(history).await;
    let before = preamble.estimated_tokens(&model);
    let (view, set) = (view_settings(&app.settings), app.settings.context_tokens);
    let limits = prompt::view_limits(view, set, &model);
    let request = prompt::request(&client.session, history, limits, &preamble, &model, ToolChoice::Auto);
    let limit = context::limit(set, model.profile.window, model.max_output_tokens, before);
    let room = limit.map(|limit| limit.saturating_sub(before));
    let plan =
        CompactionPlan::on_demand(history, room, room, before).filter(CompactionPlan::is_worth_a_summary);
    let last = app.store.usage_by_model(UsageOf::Last(client.session.clone())).await.unwrap_or_default();
    ContextView {
        parts: context::parts(&request).into_iter().map(|part| (part.name, part.tokens)).collect(),
        window: model.profile.window,
        limit,
        last_input: history.last_input(),
        cached: last.first().map(|(_, total)| total.cached_input),
        compactable: plan.map(|plan| (plan.messages, plan.tokens)),
        compactions: history.compactions(),
    }
}

fn totals(history: &History, usage: Usage) -> ConversationSize {
    let mut totals = ConversationSize {
        turns: history.turns(),
        queued: history.queued_prompts().len(),
        usage,
        ..ConversationSize::default()
    };
    for message in history.messages() {
        match message {
            Message::User { .. } => totals.user += 1,
            Message::Assistant(_) => totals.assistant += 1,
            Message::ToolReturns { returns } => totals.returns += returns.len(),
        }
    }
    totals
}

async fn header(client: &ClientHandler, history: &History) -> Header {
    let app = &client.app;
    let choice = app.models.current();
    let window = app.settings.context_tokens.or(choice.context_tokens);
    let used = match (history.last_input(), history.measured_request()) {
        (None, _) => 0,
        (Some(counted), Some(_)) => counted,
        // Messages were replaced or left out since the last count.
        (Some(_), None) => {
            let (preamble, model) = client.preamble(history).await;
            context::estimated_tokens(history, preamble.estimated_tokens(&model))
        }
    };
    Header {
        session: client.session.clone(),
        title: title(history),
        workspace: history.workspace().to_owned(),
        provider: choice.provider,
        model: choice.model,
        isolation: app.tools.sandbox.isolation(),
        mode: app.permissions.policy().mode,
        auto_approve: app.permissions.policy().auto_approve,
        read_only: client.read_only.clone(),
        money: money(client, history).await,
        context: Some(ContextUse { used, window: window.map(u64::from) }),
    }
}

/// Returns the cost; `None` if there is none or the store cannot be read.
async fn money(client: &ClientHandler, history: &History) -> Option<CostSummary> {
    let midnight = day_start(client.app.store.clock().now(), &system_zone());
    let today = client.app.store.used_since(midnight).await.ok()?;
    let session = history.total_usage().usd;
    let known = if today.unpriced > 0 { Completeness::Partly } else { Completeness::All };
    let paid = today.usd.plus(session) > Usd(0);
    let cap = client.app.settings.caps.get(&Cap::DayUsd).copied().map(Usd);
    paid.then_some(CostSummary { session, today: today.usd, cap, known })
}

/// Returns the session's title, shortened for the header.
pub(super) fn title(history: &History) -> String {
    history.name().map_or_else(|| NEW_SESSION.to_owned(), |title| one_line_summary(title, TITLE))
}

/// Returns the title derived from a first prompt.
pub(super) fn named_by(prompt: &[UserPart]) -> Option<String> {
    let text = images::in_short(prompt);
    (!text.is_empty()).then(|| one_line_summary(&text, TITLE))
}
