//! `replay`: a provider that plays the replies of a script.
//!
//! It replaces a model service in every test: deterministic, without network and without sleeping. It keeps
//! its requests for inspection. Called by tests, by the turn scripts and (over HTTP) by the whole binary.

pub mod checker;
pub mod gate;
pub mod script;
pub mod server;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::checker::Checker;
pub use self::gate::ReplayGate;
use self::script::{CallEnding, End, ScriptedError, Step};
pub use self::script::{Reply, ScriptError, parse_replies, parse_reply};
use co_engine::message::Opaque;
use co_engine::provider::{
    ErrorClass, ModelRequest, Provider, ProviderError, StartKind, StreamEvent, classify,
};

/// When a call's part ends, which differs between wires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Closing {
    /// With its last argument, as in Anthropic's.
    #[default]
    InMidStream,
    /// At the reply's end, as in Chat Completions.
    AtTheEnd,
}

/// Plays scripted replies, one per request, in order.
#[derive(Debug, Clone)]
pub struct ReplayProvider {
    shared: Arc<Mutex<ReplayState>>,
    gate: ReplayGate,
    closing: Closing,
}

#[derive(Debug)]
struct ReplayState {
    replies: VecDeque<Reply>,
    requests: Vec<ModelRequest>,
    checker: Checker,
    findings: Vec<String>,
}

impl ReplayProvider {
    /// The codec name in this provider's opaque data.
    pub const WIRE: &'static str = "replay";

    /// Creates a provider of these replies whose calls close in mid-stream.
    #[must_use]
    pub fn new(replies: Vec<Reply>) -> Self {
        let shared = ReplayState {
            replies: replies.into(),
            requests: Vec::new(),
            checker: Checker::default(),
            findings: Vec::new(),
        };
        Self { shared: Arc::new(Mutex::new(shared)), gate: ReplayGate::new(), closing: Closing::InMidStream }
    }

    /// Sets when calls close.
    #[must_use]
    pub fn closing(mut self, closing: Closing) -> Self {
        self.closing = closing;
        self
    }

    /// Returns the gates of its script.
    pub fn gate(&self) -> ReplayGate {
        self.gate.clone()
    }

    /// Appends a reply while tests run.
    pub fn push(&self, reply: Reply) {
        self.lock().replies.push_back(reply);
    }

    /// Returns every request so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.lock().requests.clone()
    }

    /// Returns what was wrong with requests, in order; each was refused as a real service would refuse it.
    pub fn findings(&self) -> Vec<String> {
        self.lock().findings.clone()
    }

    /// Returns the number of replies that were not requested yet.
    pub fn left(&self) -> usize {
        self.lock().replies.len()
    }

    fn lock(&self) -> MutexGuard<'_, ReplayState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn moves(&self, request: ModelRequest) -> VecDeque<Move> {
        let mut shared = self.lock();
        let model = request.model.clone();
        let checked = shared.checker.request(&request);
        shared.requests.push(request);
        let number = shared.requests.len();
        if let Err(finding) = checked {
            shared.findings.push(finding.to_string());
            return VecDeque::from([Move::Fail(finding.refusal())]);
        }
        let Some(reply) = shared.replies.pop_front() else {
            let mut error = ProviderError::new(
                ErrorClass::NotFound,
                format!("the script has no reply for request {number}"),
            );
            error.code = Some("script_exhausted".to_owned());
            return VecDeque::from([Move::Fail(error)]);
        };
        shared.checker.give(&reply, number, &model);
        Performance::of(&reply, &model, number, self.closing).moves
    }
}

impl Provider for ReplayProvider {
    fn name(&self) -> &str {
        Self::WIRE
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let moves = self.moves(request);
        let gate = self.gate.clone();
        let cancelled = cancel.cancelled_owned();
        stream::unfold((moves, gate), |(mut moves, gate)| async move {
            loop {
                let item = match moves.pop_front()? {
                    Move::Say(event) => Ok(event),
                    Move::Fail(error) => Err(error),
                    Move::Repeat { event, times } => {
                        if times > 1 {
                            moves.push_front(Move::Repeat { event: event.clone(), times: times - 1 });
                        }
                        Ok(event)
                    }
                    Move::Gate(name) => {
                        gate.pass(&name).await;
                        continue;
                    }
                    Move::Hang => std::future::pending().await,
                };
                return Some((item, (moves, gate)));
            }
        })
        .take_until(cancelled)
        .boxed()
    }
}

/// The next action of the stream.
#[derive(Debug, Clone, PartialEq)]
enum Move {
    Say(StreamEvent),
    Repeat { event: StreamEvent, times: usize },
    Gate(String),
    Fail(ProviderError),
    Hang,
}

/// Converts a reply into the actions of its stream.
struct Performance<'a> {
    model: &'a str,
    request: usize,
    closing: Closing,
    moves: VecDeque<Move>,
    parts: usize,
    calls: usize,
    open: Option<Open>,
    /// Calls that end with the reply.
    held: Vec<usize>,
}

struct Open {
    index: usize,
    kind: StartKind,
    opaque: Option<Opaque>,
}

impl<'a> Performance<'a> {
    fn of(reply: &Reply, model: &'a str, request: usize, closing: Closing) -> Self {
        let mut this = Self {
            model,
            request,
            closing,
            moves: VecDeque::new(),
            parts: 0,
            calls: 0,
            open: None,
            held: Vec::new(),
        };
        let refused = matches!(reply.end, End::Error(_)) && !reply.says_something();
        if !refused {
            let model = reply.model.clone().unwrap_or_else(|| model.to_owned());
            this.say(StreamEvent::Started { model });
        }
        for step in &reply.steps {
            this.step(step);
        }
        this.end(reply);
        this
    }

    fn say(&mut self, event: StreamEvent) {
        self.moves.push_back(Move::Say(event));
    }

    fn start(&mut self, kind: StartKind) -> usize {
        self.close();
        let index = self.parts;
        self.parts += 1;
        self.say(StreamEvent::PartStarted { index, kind: kind.clone() });
        self.open = Some(Open { index, kind, opaque: None });
        index
    }

    /// Returns the index of the open part of this kind; starts one if none is open.
    fn part(&mut self, kind: StartKind) -> usize {
        match &self.open {
            Some(open) if open.kind == kind => open.index,
            Some(_) | None => self.start(kind),
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.say(StreamEvent::PartEnded { index: open.index, opaque: open.opaque });
        }
    }

    fn opaque(&self, data: serde_json::Value) -> Option<Opaque> {
        let provider = ReplayProvider::WIRE.to_owned();
        Some(Opaque { provider, ..Opaque::new(ReplayProvider::WIRE, self.model, data) })
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Thinking { text, signature } => {
                let index = self.part(StartKind::Thinking);
                if !text.is_empty() {
                    self.say(StreamEvent::PartDelta { index, delta: text.clone() });
                }
                if let Some(signature) = signature {
                    let opaque = self.opaque(json!({ "signature": signature }));
                    self.open = Some(Open { index, kind: StartKind::Thinking, opaque });
                    self.close();
                }
            }
            Step::Text { text, times } => {
                let index = self.part(StartKind::Text);
                let event = StreamEvent::PartDelta { index, delta: text.clone() };
                self.moves.push_back(Move::Repeat { event, times: *times });
            }
            Step::Call { wire_id, name, args, ending } => {
                self.call(wire_id.as_deref(), name, args, *ending);
            }
            Step::Native { data } => {
                let index = self.start(StartKind::Native);
                self.open = Some(Open { index, kind: StartKind::Native, opaque: self.opaque(data.clone()) });
                self.close();
            }
            Step::Part => self.close(),
            Step::Gate { name } => self.moves.push_back(Move::Gate(name.clone())),
        }
    }

    fn call(&mut self, wire_id: Option<&str>, name: &str, args: &str, ending: CallEnding) {
        self.calls += 1;
        let wire_id = wire_id.map_or_else(|| made_up_id(self.request, self.calls), str::to_owned);
        let index = self.start(StartKind::ToolCall { wire_id, name: name.to_owned() });
        if !args.is_empty() {
            self.say(StreamEvent::PartDelta { index, delta: args.to_owned() });
        }
        match (ending, self.closing) {
            (CallEnding::Closed, Closing::InMidStream) => self.close(),
            (CallEnding::Closed, Closing::AtTheEnd) => {
                self.open = None;
                self.held.push(index);
            }
            (CallEnding::Open, Closing::InMidStream | Closing::AtTheEnd) => {}
        }
    }

    fn end(&mut self, reply: &Reply) {
        match &reply.end {
            End::Stop(stop) => {
                self.close();
                for index in std::mem::take(&mut self.held) {
                    self.say(StreamEvent::PartEnded { index, opaque: None });
                }
                self.say(StreamEvent::Finished { stop: stop.clone(), usage: reply.usage });
            }
            End::Error(error) => {
                let error = provider_error(error, reply.says_something());
                self.moves.push_back(Move::Fail(error));
            }
            End::Cut => self.moves.push_back(Move::Fail(ProviderError::new(
                ErrorClass::Truncated,
                "the connection ended before the reply was complete",
            ))),
            End::Hang => self.moves.push_back(Move::Hang),
        }
    }
}

/// Returns the id of a call that the script does not name: unique within a conversation.
pub(crate) fn made_up_id(request: usize, call: usize) -> String {
    format!("call_{request}_{call}")
}

fn provider_error(error: &ScriptedError, in_stream: bool) -> ProviderError {
    ProviderError {
        class: classify::class_of(&classify::FailureFacts {
            status: Some(error.status),
            code: Some(&error.code),
            kind: None,
            message: &error.message,
        }),
        message: error.message.clone(),
        status: (!in_stream).then_some(error.status),
        code: Some(error.code.clone()),
        retry_after: error.retry_after,
        should_retry: error.should_retry,
        request_id: None,
    }
}

#[cfg(test)]
mod tests;
