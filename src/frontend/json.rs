//! `JsonFrontend`: a turn as one JSON object at its end, for programs that call `co`.
//!
//! Nothing is written while the turn runs, and no decisions are accepted. Texts are unchanged in the object:
//! JSON itself escapes terminal control characters. Called by the command line, which writes the object.

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

use crate::agent::caps::CapQuestion;
use crate::agent::context::{CompactionReport, Summary};
use crate::agent::port::{Closed, Event, Frontend, Settlement};
use crate::approval::{Request, RequestId, Taint};
use crate::config::Unit;
use crate::history::{Limit, SessionId, TurnEnd, is_unpriced};
use crate::message::{
    CallId, NoteKind, ReturnStatus, ToolCall, ToolReturn, Usage, Usd, UsedMemory, UserPart,
};
use crate::provider::{ErrorClass, ProviderError};
use crate::tool::{CallPlan, Risk};

/// A front end that collects a turn for its JSON object.
#[derive(Default)]
pub struct JsonFrontend {
    /// The facts known so far.
    seen: Mutex<Outcome>,
}

/// The object.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    pub session: SessionId,
    pub end: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The figures of the cap that ended the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<ReachedCap>,
    /// The last reply; empty if there was none.
    pub text: String,
    /// The name that the provider sent with its last reply.
    pub model: Option<String>,
    /// Models that were given up, in order; the last `to` is the one that answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<ModelFallback>,
    /// Where older messages were replaced, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compactions: Vec<Compaction>,
    /// Why `text` is not an answer: the model or a filter refused. `end` is then `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    pub tool_calls: Vec<Call>,
    pub usage: TurnUsage,
    /// Notices besides the reply, e.g. about a limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The memories that were added to the prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<UsedMemory>,
    /// Requests that wait for a decision; `co approvals` decides them.
    pub waiting: Vec<WaitingRequest>,
    pub error: Option<Failure>,
}

/// One call of the model.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// `null` while there is no return.
    pub status: Option<ReturnStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long it ran, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// The age in seconds of the kept result that it returned instead of running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_seconds: Option<u64>,
}

/// One model that was given up, and its replacement.
#[derive(Debug, Clone, Serialize)]
pub struct ModelFallback {
    pub from: String,
    pub to: String,
    pub class: ErrorClass,
    pub message: String,
}

/// Older messages that were replaced: by a summary, or only left out.
#[derive(Debug, Clone, Serialize)]
pub struct Compaction {
    pub messages: usize,
    /// The model that wrote the summary; `null` if there is none.
    pub by: Option<String>,
    pub summary: Option<String>,
    /// Why there is no summary, if one was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The turn's usage; tokens are absent if no reply reported them.
#[derive(Debug, Default, Serialize)]
pub struct TurnUsage {
    pub requests: u32,
    #[serde(flatten)]
    pub tokens: Usage,
    /// The cost of the requests whose price is known; `null` if there are none.
    pub cost_usd: Option<f64>,
    /// Requests with an unknown cost.
    pub requests_of_unknown_price: u32,
}

/// A cap that was reached, in tokens or dollars.
#[derive(Debug, Clone, Serialize)]
pub struct ReachedCap {
    /// The setting.
    pub name: &'static str,
    pub unit: &'static str,
    pub spent: Value,
    pub limit: Value,
    /// An estimate; `null` if the price is unknown.
    pub next_request: Value,
    /// The flag that raises it for one run.
    pub raise: String,
}

/// A request that waits.
#[derive(Debug, Serialize)]
pub struct WaitingRequest {
    pub id: RequestId,
    pub tool: String,
    pub arguments: Value,
    pub summary: String,
    pub risk: Risk,
    pub why: Vec<String>,
    /// Whether its arguments contain words of untrusted sources; `taint` lists them.
    pub tainted: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<Taint>,
    /// Calls that must have succeeded before it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends: Vec<CallId>,
    /// When it expires; `null` = never.
    pub expires: Option<String>,
}

/// Why the turn failed.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub class: ErrorClass,
    pub message: String,
    pub status: Option<u16>,
    pub code: Option<String>,
    pub advice: String,
}

impl JsonFrontend {
    /// Takes the object for the whole turn; what was collected for it is gone then.
    pub fn outcome(&self, session: &SessionId, end: &TurnEnd, text: String) -> Outcome {
        let (word, limit, error) = match end {
            TurnEnd::Completed => ("completed", None, None),
            TurnEnd::Deferred => ("deferred", None, None),
            TurnEnd::Interrupted => ("interrupted", None, None),
            TurnEnd::LimitReached { limit } => ("limit_reached", Some(*limit), None),
            TurnEnd::Failed { error } => ("failed", None, Some(Failure::of(error))),
        };
        let outcome = self.take_outcome(session, word, text);
        let end = if outcome.refusal.is_some() && *end == TurnEnd::Completed { "refused" } else { word };
        // A cap that the user raised or passed did not end the turn.
        let cap = outcome.cap.filter(|_| matches!(limit, Some(Limit::Cap(_))));
        Outcome { end, limit, error, cap, ..outcome }
    }

    /// Takes the object if there was no turn to resume.
    pub fn nothing_to_resume(&self, session: &SessionId) -> Outcome {
        self.take_outcome(session, "nothing_to_resume", String::new())
    }

    fn take_outcome(&self, session: &SessionId, end: &'static str, text: String) -> Outcome {
        let mut outcome = std::mem::take(&mut *self.seen.lock());
        outcome.usage.cost_usd = outcome.usage.tokens.cost.take().map(Usd::dollars);
        Outcome { session: session.clone(), end, text, ..outcome }
    }
}

impl WaitingRequest {
    /// Returns a waiting request in the form for programs.
    pub fn of(request: &Request) -> Self {
        Self {
            id: request.id.clone(),
            tool: request.tool.0.clone(),
            arguments: request.args.clone(),
            summary: request.plan.summary.clone(),
            risk: request.risk,
            why: request.why.clone(),
            tainted: !request.taint.is_empty(),
            taint: request.taint.clone(),
            depends: request.depends.clone(),
            expires: request.expires.map(|at| at.to_string()),
        }
    }
}

impl ReachedCap {
    fn of(question: &CapQuestion) -> Self {
        let unit = question.cap.unit();
        let amount = |amount: u64| match unit {
            Unit::Tokens => Value::from(amount),
            Unit::Usd => Value::from(Usd(amount).dollars()),
        };
        Self {
            name: question.cap.setting(),
            unit: match unit {
                Unit::Tokens => "tokens",
                Unit::Usd => "usd",
            },
            spent: amount(question.spent),
            limit: amount(question.limit),
            next_request: question.adds.map_or(Value::Null, amount),
            raise: question.flag(),
        }
    }
}

impl Compaction {
    fn of(compacted: CompactionReport) -> Self {
        let messages = compacted.messages;
        match compacted.summary {
            Summary::Written { by, text } => Self { messages, by: Some(by), summary: Some(text), why: None },
            Summary::None { why } => Self { messages, by: None, summary: None, why },
        }
    }
}

impl Failure {
    fn of(error: &ProviderError) -> Self {
        Self {
            class: error.class,
            message: error.message.clone(),
            status: error.status,
            code: error.code.clone(),
            advice: error.advice(),
        }
    }
}

impl Frontend for JsonFrontend {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        self.seen.lock().take_in(event);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Outcome {
    fn take_in(&mut self, event: Event) {
        match event {
            Event::ToolCall { call } => {
                self.call(&call);
            }
            Event::ToolPlanned { call, plan } => self.on_plan(&call, plan),
            Event::ToolReturn { call, returned } => self.on_return(&call, &returned),
            Event::ApprovalNeeded { request } => self.waiting.push(WaitingRequest::of(&request)),
            Event::ApprovalSettled { request, settled } => match settled {
                Settlement::Decided { .. }
                | Settlement::Withdrawn
                | Settlement::Superseded
                | Settlement::Expired => self.waiting.retain(|waits| waits.id != request),
                Settlement::Late => {}
            },
            Event::Usage { usage, model, cost } => {
                let spent = &mut self.usage;
                spent.requests_of_unknown_price += u32::from(is_unpriced(Some(usage), cost, None));
                spent.requests += 1;
                spent.tokens.add(Usage { cost, ..usage });
                self.model = Some(model);
            }
            Event::FellBack { from, to, class, why } => {
                self.fallbacks.push(ModelFallback { from, to, class, message: why });
            }
            Event::Refused { why } => self.refusal = Some(why),
            Event::CapReached { question } => self.cap = Some(ReachedCap::of(&question)),
            Event::Compacted { compacted } => self.compactions.push(Compaction::of(compacted)),
            Event::Status { text } | Event::DecisionsLost { text, .. } => self.notes.push(text),
            Event::Prompted { parts } => {
                self.memories.extend(parts.into_iter().flat_map(|part| match part {
                    UserPart::Note { kind: NoteKind::Memory { used, .. }, .. } => used,
                    UserPart::Note { .. } | UserPart::Text { .. } | UserPart::Image { .. } => Vec::new(),
                }));
            }
            // These show how a turn goes on; the object says how it ended.
            Event::TextDelta { .. }
            | Event::TextCommitted { .. }
            | Event::ThinkingDelta { .. }
            | Event::ThinkingCommitted { .. }
            | Event::ToolArgs { .. }
            | Event::ToolRunning { .. }
            | Event::ToolProgress { .. }
            | Event::Retry { .. }
            | Event::PartialReset
            | Event::Compacting { .. }
            | Event::CapAnswered { .. }
            | Event::TurnEnded { .. } => {}
        }
    }

    fn call(&mut self, call: &ToolCall) -> &mut Call {
        let known = self.tool_calls.iter().position(|one| one.id == call.id.0);
        let at = known.unwrap_or_else(|| {
            self.tool_calls.push(Call {
                id: call.id.0.clone(),
                name: call.name.0.clone(),
                arguments: call.args.clone(),
                ..Call::default()
            });
            self.tool_calls.len() - 1
        });
        &mut self.tool_calls[at]
    }

    fn on_plan(&mut self, call: &ToolCall, plan: CallPlan) {
        let known = self.call(call);
        // After an edit, these arguments run instead.
        known.arguments.clone_from(&call.args);
        known.summary = Some(plan.summary);
    }

    fn on_return(&mut self, call: &ToolCall, returned: &ToolReturn) {
        let known = self.call(call);
        known.status = Some(returned.status);
        known.output = Some(returned.text());
        known.ms = returned.done.as_ref().and_then(|done| done.took_ms);
        known.cached_seconds = returned.done.as_ref().and_then(|done| done.cached_age);
    }
}
