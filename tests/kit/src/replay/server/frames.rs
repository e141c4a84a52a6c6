//! The data sent on a connection, step by step.

use crate::replay::script::{End, Reply, ScriptedError};

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Send(Vec<u8>),
    /// The same bytes many times.
    Repeat {
        bytes: Vec<u8>,
        times: usize,
    },
    Gate(String),
    /// The connection stays open, and nothing is sent.
    Hang,
    /// The connection ends here, in the middle.
    Cut,
}

/// An answer as status, headers and steps.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpResponse {
    /// `None` = nothing is sent before the steps: they hang or cut.
    pub head: Option<Head>,
    pub frames: Vec<Frame>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// A head with a content type.
    pub fn new(status: u16, content_type: &str) -> Self {
        Self { status, headers: vec![("content-type".to_owned(), content_type.to_owned())] }
    }
}

/// Formats one event; wires that name their events pass the name.
pub fn event(name: Option<&str>, data: &serde_json::Value) -> Vec<u8> {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n").into_bytes()
}

/// Builds the answer for a reply whose events are `frames`: a stream, a refusal or silence.
pub fn answer(
    reply: &Reply,
    frames: Vec<Frame>,
    refusal: impl Fn(&ScriptedError) -> serde_json::Value,
) -> HttpResponse {
    if reply.says_something() {
        return HttpResponse { head: Some(Head::new(200, "text/event-stream; charset=utf-8")), frames };
    }
    match &reply.end {
        End::Stop(_) => {
            HttpResponse { head: Some(Head::new(200, "text/event-stream; charset=utf-8")), frames }
        }
        End::Error(error) => {
            let gates = frames.into_iter().filter(|frame| matches!(frame, Frame::Gate(_)));
            let mut head = Head::new(error.status, "application/json");
            head.headers.extend(retry_headers(error));
            let body = Frame::Send(refusal(error).to_string().into_bytes());
            HttpResponse { head: Some(head), frames: gates.chain([body]).collect() }
        }
        End::Cut | End::Hang => {
            let silent = |frame: &Frame| matches!(frame, Frame::Gate(_) | Frame::Hang | Frame::Cut);
            HttpResponse { head: None, frames: frames.into_iter().filter(silent).collect() }
        }
    }
}

fn retry_headers(error: &ScriptedError) -> Vec<(String, String)> {
    let wait = error.retry_after.map(|wait| ("retry-after".to_owned(), wait.as_secs_f64().to_string()));
    let retry = error.should_retry.map(|retry| ("x-should-retry".to_owned(), retry.to_string()));
    wait.into_iter().chain(retry).collect()
}
