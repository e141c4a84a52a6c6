//! The part of stream decoding that all SSE wires share: framing, JSON, errors outside the protocol, bounds.
//!
//! A wire implements [`SseProtocol`] and never sees a byte; this file never knows what an event means. Called by the
//! codecs of this folder.

use serde_json::Value;

use super::{ErrorClass, ProviderError, Seen, StreamDecoder, StreamEvent, classify};
use crate::stdx::sse::{SseItem, SseReader};

/// The most one reply may be, in bytes: far above any model's output window, far below what hurts.
const LONGEST_REPLY: usize = 64 * 1024 * 1024;

/// The most a decoder may hold back of one reply (arguments without a name, signatures, native items), in bytes.
const MOST_HELD: usize = 16 * 1024 * 1024;

/// How much of the start of a body is kept in case it turns out to be no stream at all.
const HEAD: usize = 64 * 1024;

/// How much of a foreign text is quoted in an error, in characters.
const QUOTED: usize = 120;

/// What the events of one wire mean. An implementation emits `Started` before anything else.
pub trait SseProtocol: Clone + PartialEq + Send + 'static {
    /// One event's data.
    fn event(&mut self, data: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// `[DONE]`.
    fn done_sentinel(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// The body ended.
    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// A reply that came as one JSON value. It is no error object.
    fn whole(&mut self, body: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Whether `Finished` was emitted.
    fn finished(&self) -> bool;

    /// What the reply said of itself so far.
    fn seen(&self) -> Seen;
}

/// Decodes an SSE body of one wire.
#[derive(Debug, Clone, PartialEq)]
pub struct SseDecoder<P> {
    reader: SseReader,
    protocol: P,
    length: usize,
    /// The body's start, until the first item shows that it is a stream.
    head: Option<Vec<u8>>,
}

impl<P: SseProtocol> SseDecoder<P> {
    pub fn new(protocol: P) -> Self {
        Self { reader: SseReader::default(), protocol, length: 0, head: Some(Vec::new()) }
    }

    fn drain(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        loop {
            let item = self.reader.next_item().map_err(|error| malformed(error.to_string()))?;
            let Some(item) = item else { return Ok(()) };
            self.head = None;
            if self.protocol.finished() {
                continue;
            }
            match item {
                SseItem::Comment => {}
                SseItem::ErrorField(text) => return Err(error_text(&text)),
                SseItem::Event { event, data } => self.event(event.as_deref(), &data, out)?,
            }
        }
    }

    fn event(
        &mut self,
        event: Option<&str>,
        data: &str,
        out: &mut Vec<StreamEvent>,
    ) -> Result<(), ProviderError> {
        match data.trim() {
            "" => return Ok(()),
            "[DONE]" => return self.protocol.done_sentinel(out),
            _ => {}
        }
        match serde_json::from_str::<Value>(data) {
            Ok(value) => self.protocol.event(&value, out),
            Err(_) if event == Some("error") => Err(error_text(data)),
            Err(_) => Err(malformed(format!("the server sent an event that is no JSON: {}", quoted(data)))),
        }
    }
}

impl<P: SseProtocol> StreamDecoder for SseDecoder<P> {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.length = self.length.saturating_add(bytes.len());
        if self.length > LONGEST_REPLY && !self.protocol.finished() {
            return Err(malformed(format!("the reply is longer than {LONGEST_REPLY} bytes")));
        }
        if let Some(head) = &mut self.head {
            let room = HEAD.saturating_sub(head.len()).min(bytes.len());
            head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
        self.reader.feed(bytes);
        self.drain(out)
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.reader.finish();
        // What was not closed by its blank line and cannot be read was cut off.
        self.drain(out).map_err(|error| {
            if error.class == ErrorClass::Malformed {
                return truncated("the connection ended in the middle of an event");
            }
            error
        })?;
        if self.protocol.finished() {
            return Ok(());
        }
        match self.head.take() {
            Some(head) if !head.is_empty() => self.whole_body(&head, out),
            Some(_) | None => self.protocol.end(out),
        }
    }

    fn whole_body(&mut self, body: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let text = String::from_utf8_lossy(body);
        let trimmed = text.trim_start_matches('\u{feff}').trim();
        let Ok(value) = serde_json::from_str::<Value>(trimmed) else {
            return self.not_json(trimmed, body, out);
        };
        if is_error(&value) {
            return Err(classify::classify_value(&value));
        }
        self.protocol.whole(&value, out)
    }

    fn seen(&self) -> Seen {
        self.protocol.seen()
    }
}

impl<P: SseProtocol> SseDecoder<P> {
    /// A body that was announced as JSON and is none: a stream under a wrong label, or something foreign.
    fn not_json(&mut self, text: &str, body: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        let is_stream = ["data:", "event:", ":"].iter().any(|start| text.starts_with(start));
        if is_stream && self.length == 0 {
            self.feed(body, out)?;
            return self.finish(out);
        }
        if text.is_empty() {
            return Err(truncated("the server closed the connection without a reply"));
        }
        let what = if text.starts_with('<') { "a web page" } else { "something that is no JSON" };
        Err(malformed(format!("the server sent {what}: {}", quoted(text))))
    }
}

/// Whether a value is an error object rather than a reply.
pub fn is_error(value: &Value) -> bool {
    let named = value.get("error").is_some_and(|error| !error.is_null());
    let typed = value.get("type").and_then(Value::as_str) == Some("error");
    let wrapped =
        value.as_array().and_then(|items| items.first()).is_some_and(|item| item.get("error").is_some());
    named || typed || wrapped
}

fn error_text(text: &str) -> ProviderError {
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    classify::classify_value(&value)
}

pub fn malformed(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Malformed, message)
}

pub fn truncated(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Truncated, message)
}

fn quoted(text: &str) -> String {
    let mut start: String = text.chars().take(QUOTED).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}

/// Counts what a decoder holds back, so that no server can fill the memory.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    bytes: usize,
}

impl Held {
    /// Notes `bytes` more, and as much again as an entry of a table takes.
    pub fn add(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.bytes = self.bytes.saturating_add(bytes).saturating_add(64);
        if self.bytes > MOST_HELD {
            return Err(malformed(format!("the reply holds back more than {MOST_HELD} bytes")));
        }
        Ok(())
    }
}
