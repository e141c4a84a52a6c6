//! A scripted reply in Gemini's bytes, as events or as one array.
//!
//! Like the service: each chunk is a whole response with its usage, lines of events end with CRLF, thoughts
//! are separate parts, and their signature is on the first call after them, or on an empty text at the end.

use serde_json::{Map, Value, json};

use super::super::frames::{Frame, Head, HttpResponse};
use crate::replay::made_up_id;
use crate::replay::script::{CallEnding, End, Reply, ScriptedError, Step};
use co_engine::message::{StopKind, StopReason, Usage};

/// Codes that are no errors on this wire: the reply ends with them.
const THROWN_AWAY: [&str; 2] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"];

/// How Gemini's stream is framed: events with `alt=sse`, else one array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    Events,
    Array,
}

pub fn framing(path: &str) -> Framing {
    if path.contains("alt=sse") { Framing::Events } else { Framing::Array }
}

/// Returns the answer to the `number`-th request, which asked for `model`.
pub fn answer(reply: &Reply, number: usize, model: &str, framing: Framing) -> HttpResponse {
    let model = reply.model.clone().unwrap_or_else(|| model.to_owned());
    let mut writer = Writer {
        frames: Vec::new(),
        framing,
        chunks: 0,
        calls: 0,
        signature: None,
        number,
        model,
        usage: reply.usage,
    };
    for step in &reply.steps {
        writer.step(step);
    }
    writer.end(&reply.end, reply.says_something());
    let content_type = match framing {
        Framing::Events => "text/event-stream",
        Framing::Array => "application/json; charset=UTF-8",
    };
    match (&reply.end, reply.says_something()) {
        (End::Error(error), false) if !THROWN_AWAY.contains(&error.code.as_str()) => {
            refused(error, framing, writer.frames)
        }
        (End::Cut | End::Hang, false) => HttpResponse { head: None, frames: writer.frames },
        (End::Stop(_) | End::Error(_) | End::Cut | End::Hang, _) => {
            HttpResponse { head: Some(Head::new(200, content_type)), frames: writer.frames }
        }
    }
}

/// Builds a refused request: only gates precede it.
fn refused(error: &ScriptedError, framing: Framing, mut frames: Vec<Frame>) -> HttpResponse {
    let mut head = Head::new(error.status, "application/json; charset=UTF-8");
    let retry = error.should_retry.map(|retry| ("x-should-retry".to_owned(), retry.to_string()));
    head.headers.extend(retry);
    let body = match framing {
        Framing::Events => refusal(error),
        Framing::Array => json!([refusal(error)]),
    };
    frames.push(Frame::Send(format!("{body:#}\n").into_bytes()));
    HttpResponse { head: Some(head), frames }
}

/// Returns an error in the service's format: the retry delay and a daily quota are in its details.
fn refusal(error: &ScriptedError) -> Value {
    let mut details = Vec::new();
    if error.code == "insufficient_quota" {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{ "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }],
        }));
    }
    if let Some(wait) = error.retry_after {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{}s", wait.as_secs_f64()),
        }));
    }
    let message = match error.code.as_str() {
        "context_length_exceeded" => {
            format!("{} The input token count exceeds the maximum number of tokens allowed.", error.message)
        }
        _ => error.message.clone(),
    };
    let mut said = json!({ "code": error.status, "message": message, "status": word(error.status) });
    if !details.is_empty() {
        said["details"] = Value::Array(details);
    }
    json!({ "error": said })
}

fn word(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    }
}

struct Writer {
    frames: Vec<Frame>,
    framing: Framing,
    chunks: usize,
    calls: usize,
    /// The signature of the thoughts so far, until a part carries it.
    signature: Option<String>,
    number: usize,
    model: String,
    usage: Usage,
}

impl Writer {
    /// Returns one response in the bytes of its framing.
    fn bytes(&mut self, response: &Value) -> Vec<u8> {
        self.chunks += 1;
        match self.framing {
            Framing::Events => format!("data: {response}\r\n\r\n").into_bytes(),
            Framing::Array => {
                let before = if self.chunks == 1 { "[" } else { ",\n" };
                format!("{before}{response:#}\n").into_bytes()
            }
        }
    }

    fn response(&self, candidate: &Value, usage: &Value) -> Value {
        json!({
            "candidates": [candidate],
            "usageMetadata": usage,
            "modelVersion": self.model,
            "responseId": format!("response-{}", self.number),
        })
    }

    /// Returns the usage before the end, which counts only the prompt.
    fn counting(&self) -> Value {
        let input = self.usage.input.unwrap_or(0);
        json!({ "promptTokenCount": input, "totalTokenCount": input })
    }

    fn counted(&self) -> Value {
        let (input, output) = (self.usage.input.unwrap_or(0), self.usage.output.unwrap_or(0));
        let mut counts = Map::new();
        let mut count = |key: &str, tokens: u64| {
            counts.insert(key.to_owned(), json!(tokens));
        };
        count("promptTokenCount", input);
        count("candidatesTokenCount", output.saturating_sub(self.usage.reasoning.unwrap_or(0)));
        count("totalTokenCount", input.saturating_add(output));
        if let Some(cached) = self.usage.cached_input {
            count("cachedContentTokenCount", cached);
        }
        if let Some(thought) = self.usage.reasoning {
            count("thoughtsTokenCount", thought);
        }
        Value::Object(counts)
    }

    fn chunk(&mut self, part: &Value) -> Vec<u8> {
        let candidate = json!({ "content": { "parts": [part], "role": "model" }, "index": 0 });
        let response = self.response(&candidate, &self.counting());
        self.bytes(&response)
    }

    fn part(&mut self, part: &Value) {
        let bytes = self.chunk(part);
        self.frames.push(Frame::Send(bytes));
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Thinking { text, signature } => {
                self.part(&json!({ "text": text, "thought": true }));
                if let Some(signature) = signature {
                    self.sign();
                    self.signature = Some(signature.clone());
                }
            }
            Step::Text { text, times } => self.text(text, *times),
            Step::Call { wire_id, name, args, ending } => self.call(wire_id.as_deref(), name, args, *ending),
            Step::Native { data } => self.part(data),
            // This wire cannot separate two consecutive texts.
            Step::Part => {}
            Step::Gate { name } => self.frames.push(Frame::Gate(name.clone())),
        }
    }

    /// Sends a text many times. The first item of an array has another prefix than the others.
    fn text(&mut self, text: &str, times: usize) {
        let part = json!({ "text": text });
        for left in [1, times.saturating_sub(1)].into_iter().filter(|_| times > 0) {
            let bytes = self.chunk(&part);
            self.frames.push(Frame::Repeat { bytes, times: left });
        }
    }

    /// Sends the signature of the thoughts in a separate part.
    fn sign(&mut self) {
        if let Some(signature) = self.signature.take() {
            self.part(&json!({ "text": "", "thoughtSignature": signature }));
        }
    }

    fn call(&mut self, wire_id: Option<&str>, name: &str, args: &str, ending: CallEnding) {
        self.calls += 1;
        let id = wire_id.map_or_else(|| made_up_id(self.number, self.calls), str::to_owned);
        let mut function = Map::new();
        function.insert("name".to_owned(), json!(name));
        if !id.is_empty() {
            function.insert("id".to_owned(), json!(id));
        }
        match ending {
            CallEnding::Closed => {
                let args = serde_json::from_str(args).unwrap_or_else(|_| json!(args));
                if args != json!("") {
                    function.insert("args".to_owned(), args);
                }
            }
            CallEnding::Open => {
                function.insert("willContinue".to_owned(), json!(true));
            }
        }
        let mut part = json!({ "functionCall": function });
        if let Some(signature) = self.signature.take() {
            part["thoughtSignature"] = json!(signature);
        }
        self.part(&part);
    }

    fn end(&mut self, end: &End, said: bool) {
        match end {
            End::Stop(stop) => self.stop(stop, said),
            End::Error(error) if said || THROWN_AWAY.contains(&error.code.as_str()) => {
                let response = if THROWN_AWAY.contains(&error.code.as_str()) {
                    let ended =
                        json!({ "finishReason": error.code, "finishMessage": error.message, "index": 0 });
                    self.response(&ended, &self.counted())
                } else {
                    refusal(error)
                };
                let bytes = self.bytes(&response);
                self.frames.push(Frame::Send(bytes));
                self.close();
            }
            End::Error(_) => {}
            End::Cut => self.frames.push(Frame::Cut),
            End::Hang => self.frames.push(Frame::Hang),
        }
    }

    fn stop(&mut self, stop: &StopReason, said: bool) {
        let usage = self.counted();
        let response = if stop.kind == StopKind::Refusal && !said {
            let message = stop.detail.as_deref();
            json!({
                "promptFeedback": { "blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": message },
                "usageMetadata": usage,
                "modelVersion": self.model,
            })
        } else {
            let mut part = json!({ "text": "" });
            if let Some(signature) = self.signature.take() {
                part["thoughtSignature"] = json!(signature);
            }
            let mut candidate = json!({
                "content": { "parts": [part], "role": "model" },
                "finishReason": finish_reason(stop),
                "index": 0,
            });
            if let Some(words) = &stop.detail {
                candidate["finishMessage"] = json!(words);
            }
            self.response(&candidate, &usage)
        };
        let bytes = self.bytes(&response);
        self.frames.push(Frame::Send(bytes));
        self.close();
    }

    fn close(&mut self) {
        if self.framing == Framing::Array {
            self.frames.push(Frame::Send(b"]\n".to_vec()));
        }
    }
}

fn finish_reason(stop: &StopReason) -> &str {
    match stop.kind {
        StopKind::EndTurn | StopKind::ToolUse | StopKind::StopSequence => "STOP",
        StopKind::MaxTokens => "MAX_TOKENS",
        StopKind::Refusal => "SAFETY",
        StopKind::PauseTurn | StopKind::Interrupted | StopKind::Other => {
            stop.raw.as_deref().unwrap_or("OTHER")
        }
    }
}
