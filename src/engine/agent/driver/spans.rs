//! The spans of one turn: the turn itself, its model requests, its compaction, and its waits for a decision.
//!
//! A turn that is resumed continues the trace that it began in, in whichever process: the trace is recorded with the start of
//! the turn. Calls that run after their turn are linked to it.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use tokio::time::Instant;
use tracing::Span;

use super::{ActiveModel, AgentEnv, TraceSettings};
use crate::agent::effect::ModelRole;
use crate::approval::{Approval, Decider, Request, RequestId};
use crate::config::SpanContent;
use crate::history::{OpenCall, Record, RecordedState, TurnEnd};
use crate::message::{ReturnStatus, StopKind, StopReason, ToolCall, ToolReturn, Usage, Usd};
use crate::provider::{ErrorClass, ModelRequest, StreamEvent};
use crate::session::Session;
use crate::telemetry::{content, spans};

/// When a request was made, and when it was decided.
pub(super) type Times = (Timestamp, Option<Timestamp>);

/// How a turn begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnStart {
    Prompt,
    Resume,
    LateCalls,
    Compaction,
}

/// The spans of a turn that are open.
pub(super) struct TurnSpans {
    pub turn: Span,
    content: SpanContent,
    session: String,
    chat: Option<Chat>,
    compaction: Option<Span>,
    /// The calls that wait for a decision, and since when they do in this process.
    waiting: HashMap<RequestId, (Request, Option<Timestamp>)>,
    usage: Usage,
    /// The service and the model that were asked last.
    asked: Option<(String, String)>,
}

/// A request to a model.
struct Chat {
    span: Span,
    since: Instant,
    first_chunk: bool,
    output: Option<String>,
}

impl TurnSpans {
    /// Begins the span of a turn of this session.
    pub fn begin(session: &Session, env: &AgentEnv, start: TurnStart) -> Self {
        let history = session.history();
        let turn = tracing::info_span!(
            "invoke_agent",
            otel.name = "invoke_agent co",
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = "co",
            gen_ai.conversation.id = %session.id(),
        );
        if !turn.is_disabled() {
            let TraceSettings { parent, .. } = &env.trace;
            let resumed = match start {
                TurnStart::Resume => history.running_turn().and_then(|turn| turn.trace.as_deref()),
                TurnStart::Prompt | TurnStart::LateCalls | TurnStart::Compaction => None,
            };
            if let Some(parent) = resumed.or(parent.as_deref()) {
                spans::continue_trace(&turn, parent);
            }
            if let (Some(_), Some(caller)) = (resumed, parent) {
                spans::link(&turn, caller);
            }
            if start == TurnStart::LateCalls {
                let of_turns: BTreeSet<_> =
                    history.late_calls().iter().filter_map(|one| one.trace.as_deref()).collect();
                of_turns.into_iter().for_each(|one| spans::link(&turn, one));
            }
            let what = match start {
                TurnStart::Prompt => "prompt",
                TurnStart::Resume => "resumed",
                TurnStart::LateCalls => "late calls",
                TurnStart::Compaction => "compaction",
            };
            spans::set(&turn, "co.turn.kind", what);
        }
        let waiting = |request: &Request| (request.id.clone(), (request.clone(), None));
        let open = history.open_calls().iter().filter_map(|one| one.request.as_ref()).map(waiting);
        let late = history.late_calls().iter().map(|one| waiting(&one.request));
        Self {
            waiting: if turn.is_disabled() { HashMap::new() } else { open.chain(late).collect() },
            turn,
            content: env.trace.content,
            session: session.id().to_string(),
            chat: None,
            compaction: None,
            usage: Usage::default(),
            asked: None,
        }
    }

    /// The identity of the turn's span, to be recorded.
    pub fn trace(&self) -> Option<String> {
        spans::traceparent(&self.turn)
    }

    /// A request is sent; one that is still open was given up.
    pub fn on_request(&mut self, model: &ActiveModel, request: &ModelRequest, who: ModelRole) {
        if self.turn.is_disabled() {
            return;
        }
        let parent = self.compaction.as_ref().unwrap_or(&self.turn);
        let provider = provider_name(model.provider.name());
        let span = tracing::info_span!(
            parent: parent,
            "chat",
            otel.name = %format!("chat {}", request.model),
            otel.kind = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider,
            gen_ai.request.model = %request.model,
            gen_ai.request.stream = true,
            gen_ai.conversation.id = %self.session,
        );
        spans::set_count(&span, "gen_ai.request.max_tokens", request.max_output_tokens.map(u64::from));
        spans::set_some(&span, "gen_ai.request.temperature", request.temperature.map(f64::from));
        spans::set_some(&span, "gen_ai.request.top_p", request.top_p.map(f64::from));
        if who == ModelRole::Fallback {
            spans::set(&span, "co.request.fallback", true);
        }
        self.asked = Some((provider.to_owned(), request.model.clone()));
        if self.content != SpanContent::None {
            let (messages, omitted) = content::input(request.conversation().rev());
            spans::set(&span, "gen_ai.input.messages", messages);
            spans::set_count(&span, "co.input.omitted_messages", (omitted > 0).then_some(omitted as u64));
        }
        self.chat = Some(Chat { span, since: Instant::now(), first_chunk: false, output: None });
    }

    /// An event of the reply arrived.
    pub fn observe(&mut self, event: &StreamEvent) {
        let Some(chat) = &mut self.chat else { return };
        match event {
            StreamEvent::Started { model } if !model.is_empty() => {
                spans::set(&chat.span, "gen_ai.response.model", model.clone());
            }
            StreamEvent::Finished { stop, .. } => {
                spans::set_list(&chat.span, "gen_ai.response.finish_reasons", finish(stop));
            }
            StreamEvent::PartStarted { .. } if !chat.first_chunk => {
                chat.first_chunk = true;
                let took = chat.since.elapsed().as_secs_f64();
                spans::set(&chat.span, "gen_ai.response.time_to_first_chunk", took);
            }
            _ => {}
        }
    }

    /// The request was given up before its end.
    pub fn on_give_up(&mut self) {
        if let Some(chat) = &self.chat {
            spans::fail(&chat.span, "cancelled", "the request was given up".to_owned());
        }
    }

    /// Content that can be left out is being searched for; the span ends with the compaction or the next request.
    pub fn on_compaction_start(&mut self) {
        if self.compaction.is_none() && !self.turn.is_disabled() {
            self.compaction = Some(tracing::info_span!(parent: &self.turn, "compact"));
        }
    }

    /// The next request is one of the conversation.
    pub fn on_compaction_end(&mut self) {
        self.compaction = None;
    }

    /// These records were committed.
    pub fn on_commit(&mut self, records: &[Record], now: Timestamp) {
        if self.turn.is_disabled() {
            return;
        }
        for record in records {
            match record {
                Record::Said { .. } if self.content != SpanContent::None => {
                    if let (Some(chat), Some(reply)) = (&mut self.chat, record.reply()) {
                        chat.output = Some(content::output(reply, &finish(&reply.stop)));
                    }
                }
                Record::Compacted { .. } => self.compaction = None,
                Record::Asked { request, .. } => {
                    self.waiting.insert(request.id.clone(), (Request::clone(request), Some(now)));
                }
                _ => {}
            }
        }
        for record in records {
            if let Record::RequestEnded { attempt, usage, cost, error, .. } = record {
                self.on_request_end(*attempt, *usage, cost.map(Usd::dollars), *error);
            }
        }
    }

    fn on_request_end(
        &mut self,
        attempt: u32,
        usage: Option<Usage>,
        usd: Option<f64>,
        error: Option<ErrorClass>,
    ) {
        let Some(Chat { span, output, .. }) = self.chat.take() else { return };
        spans::set(&span, "co.request.attempt", i64::from(attempt));
        spans::set_some(&span, "gen_ai.output.messages", output);
        spans::set_some(&span, "co.cost_usd", usd);
        if let Some(usage) = usage {
            spans::set_count(&span, "gen_ai.usage.input_tokens", usage.input);
            spans::set_count(&span, "gen_ai.usage.output_tokens", usage.output);
            spans::set_count(&span, "gen_ai.usage.cache_read.input_tokens", usage.cached_input);
            spans::set_count(&span, "gen_ai.usage.cache_creation.input_tokens", usage.cache_write);
            spans::set_count(&span, "gen_ai.usage.reasoning.output_tokens", usage.reasoning);
            let sum = |all: &mut Option<u64>, one: Option<u64>| {
                *all = all.map_or(one, |all| Some(all.saturating_add(one.unwrap_or(0))));
            };
            sum(&mut self.usage.input, usage.input);
            sum(&mut self.usage.output, usage.output);
        }
        if let Some(error) = error {
            spans::fail(&span, &word(error), error.label().to_owned());
        }
    }

    /// A request was decided or expired; `times` are when it was made and when it was decided, if another process made it.
    pub fn on_answer(&mut self, record: &Record, times: Option<Times>) {
        match record {
            Record::Decided { request, approval, by, .. } => {
                self.record_wait(request, Some((approval, by)), times);
            }
            Record::Expired { request, .. } => self.record_wait(request, None, times),
            _ => {}
        }
    }

    /// The same for a call whose request was answered before this turn went on.
    pub fn on_earlier_answer(&mut self, open: &OpenCall, times: Option<Times>) {
        let Some(request) = &open.request else { return };
        match (&open.known, &open.by) {
            (RecordedState::Decided(approval), Some(by)) => {
                self.record_wait(&request.id, Some((approval, by)), times);
            }
            (RecordedState::Expired, _) => self.record_wait(&request.id, None, times),
            _ => {}
        }
    }

    fn record_wait(&mut self, id: &RequestId, answer: Option<(&Approval, &Decider)>, times: Option<Times>) {
        let (answer, by) = match answer {
            Some((Approval::Later, _)) => return,
            Some((Approval::Approve { .. }, by)) => ("approved", by.word()),
            Some((Approval::Deny { .. }, by)) => ("denied", by.word()),
            None => ("expired", Decider::Expiry.word()),
        };
        let Some((request, since)) = self.waiting.remove(id) else { return };
        let Some((since, until)) = since.map(|since| (since, None)).or(times) else { return };
        let span = tracing::info_span!(
            parent: &self.turn,
            "wait_for_approval",
            otel.name = %format!("wait_for_approval {}", request.tool),
            gen_ai.tool.name = %request.tool,
            gen_ai.tool.call.id = %request.call,
            co.approval.request = %request.id,
            co.approval.answer = answer,
            co.approval.by = by,
            co.approval.risk = request.risk.word().to_lowercase().as_str(),
        );
        spans::set_times(&span, since, until);
    }

    /// Returns the request that was decided or expired, if another process made it.
    pub fn made_elsewhere(&self, record: &Record) -> Option<RequestId> {
        let (Record::Decided { request, .. } | Record::Expired { request, .. }) = record else { return None };
        matches!(self.waiting.get(request), Some((_, None))).then(|| request.clone())
    }

    /// The turn ended.
    pub fn on_turn_end(&mut self, end: &TurnEnd) {
        // Each attribute once: a span is a list, and a second value would not replace the first.
        if let Some((provider, model)) = self.asked.take() {
            spans::set(&self.turn, "gen_ai.provider.name", provider);
            spans::set(&self.turn, "gen_ai.request.model", model);
        }
        spans::set_count(&self.turn, "gen_ai.usage.input_tokens", self.usage.input);
        spans::set_count(&self.turn, "gen_ai.usage.output_tokens", self.usage.output);
        let word = match end {
            TurnEnd::Completed => "completed",
            TurnEnd::Deferred => "deferred",
            TurnEnd::Interrupted => "interrupted",
            TurnEnd::LimitReached { .. } => "limit reached",
            TurnEnd::Failed { error } => {
                spans::fail(&self.turn, &word(error.class), error.to_string());
                "failed"
            }
        };
        spans::set(&self.turn, "co.turn.end", word);
    }
}

/// The word under which a class of failures is stored.
fn word(class: ErrorClass) -> String {
    serde_json::to_value(class).ok().and_then(|word| word.as_str().map(ToOwned::to_owned)).unwrap_or_default()
}

/// Why a reply ended, in the service's own word if it gave one, else by the conventions.
fn finish(stop: &StopReason) -> String {
    let word = match stop.kind {
        StopKind::ToolUse => "tool_call",
        StopKind::MaxTokens => "length",
        StopKind::Refusal => "content_filter",
        StopKind::Interrupted => "interrupted",
        StopKind::EndTurn | StopKind::StopSequence | StopKind::PauseTurn | StopKind::Other => "stop",
    };
    stop.raw.clone().unwrap_or_else(|| word.to_owned())
}

/// The name of a service by the conventions.
fn provider_name(name: &str) -> &str {
    match name {
        "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "azure-openai" => "azure.ai.openai",
        other => other,
    }
}

/// Begins the span of a call that runs.
pub(super) fn execute_tool(call: &ToolCall, content: SpanContent) -> Span {
    let span = tracing::info_span!(
        "execute_tool",
        otel.name = %format!("execute_tool {}", call.name),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %call.name,
        gen_ai.tool.r#type = "function",
        gen_ai.tool.call.id = %call.id,
    );
    if content != SpanContent::None && !span.is_disabled() {
        spans::set(&span, "gen_ai.tool.call.arguments", content::arguments(&call.args));
    }
    span
}

/// A call that runs: one that is dropped was interrupted.
pub(super) struct RunningCall {
    span: Span,
    has_returned: bool,
}

impl RunningCall {
    pub fn new(span: Span) -> Self {
        Self { span, has_returned: false }
    }

    /// The call returned.
    pub fn on_return(&mut self, returned: &ToolReturn, content: SpanContent) {
        self.has_returned = true;
        if self.span.is_disabled() {
            return;
        }
        let kind = match returned.status {
            ReturnStatus::Ok => None,
            ReturnStatus::Failed => Some("failed"),
            ReturnStatus::Unknown => Some("unknown"),
            ReturnStatus::Denied | ReturnStatus::Undecided => Some("denied"),
            ReturnStatus::Interrupted => Some("interrupted"),
        };
        if let Some(kind) = kind {
            let text = if content == SpanContent::None { String::new() } else { content::summary(returned) };
            spans::fail(&self.span, kind, text);
        }
        if let Some(age) = returned.done.as_ref().and_then(|done| done.cached_age) {
            spans::set(&self.span, "co.cache.age", i64::try_from(age).unwrap_or(i64::MAX));
        }
        if content != SpanContent::None {
            spans::set(&self.span, "gen_ai.tool.call.result", content::result(returned));
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if !self.has_returned {
            spans::fail(&self.span, "interrupted", "the call was dropped".to_owned());
        }
    }
}
