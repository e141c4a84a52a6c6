//! Stream decoding shared by all wires: framing, JSON, errors outside the protocol, size limits.
//!
//! A wire implements [`Protocol`] and receives parsed JSON, never bytes; this file never interprets an event.
//! Called by the codecs of this folder.
//!
//! The first bytes of a body decide its framing, whatever its content type: an object or an array is JSON,
//! anything else is an event stream. A JSON body is one reply ([`Protocol::on_whole_body`]) or, on wires that stream
//! JSON, one event per item.

use serde_json::Value;

use super::json_fields::{beginning, text_of};
use super::reply::{MOST_HELD, ReplyBuilder};
use super::{ErrorClass, ProviderError, ReplyMetadata, RetryHeaders, StreamDecoder, StreamEvent, classify};
use crate::message::{Usage, Usd};
use crate::stdx::json_items::JsonItems;
use crate::stdx::sse::{SseItem, SseReader};

/// The longest reply that is accepted, in bytes: far above any model's output window, far below harmful
/// sizes.
const LONGEST_REPLY: usize = 64 * 1024 * 1024;

/// How many bytes of a body's start are kept in case the body turns out not to be a stream.
const HEAD: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How much of a server's text an error quotes, in characters.
const QUOTED: usize = 120;

/// The meaning of a bare JSON body on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonBody {
    /// One whole reply in place of a stream.
    Reply,
    /// The events of a stream: one object per line (Ollama), or the items of an array (Gemini without
    /// `alt=sse`).
    Events,
}

/// The interpretation of one wire's events. An implementation emits `Started` before anything else.
pub trait Protocol: Clone + PartialEq + Send + 'static {
    /// The meaning of a JSON body without event framing.
    const JSON: JsonBody = JsonBody::Reply;

    /// Returns the state before the reply to a request for `model`.
    fn new(model: &str) -> Self;

    /// Handles one event's data.
    fn event(&mut self, data: Value) -> Result<(), ProviderError>;

    /// Handles `[DONE]`, which proxies send on any wire.
    fn done_sentinel(&mut self) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Handles the end of the body.
    fn end(&mut self) -> Result<(), ProviderError> {
        Err(truncated("the connection ended before the reply was complete"))
    }

    /// Handles a reply that came as one JSON value, on wires where that is [`JsonBody::Reply`]; by default as its
    /// only event. The value is not an error object.
    fn on_whole_body(&mut self, body: Value) -> Result<(), ProviderError> {
        self.event(body)?;
        if self.reply().is_finished() { Ok(()) } else { self.end() }
    }

    /// Classifies a reply with a failure status.
    fn classify(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        classify::classify_reply(status, headers, body)
    }

    /// Returns the builder of the reply's events.
    fn reply(&mut self) -> &mut ReplyBuilder;

    /// Returns the reply's metadata so far.
    fn metadata(&self) -> ReplyMetadata;
}

/// A decoder for the bodies of one wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoder<P> {
    framing: Framing,
    protocol: P,
    length: usize,
    /// The body's start, kept until the first item shows that the body is a stream.
    head: Option<Vec<u8>>,
}

/// How the body is split into events.
#[derive(Debug, Clone, PartialEq)]
enum Framing {
    /// Only white space and a byte order mark have arrived.
    Unknown(Vec<u8>),
    Events(SseReader),
    Items(JsonItems),
    /// One JSON value.
    Whole(Vec<u8>),
}

impl<P: Protocol> Decoder<P> {
    /// Chooses the framing at the body's first significant byte, and passes the bytes to it.
    fn frame(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        match &mut self.framing {
            Framing::Events(reader) => reader.feed(bytes),
            Framing::Items(items) => items.feed(bytes),
            Framing::Whole(body) => {
                if body.len() + bytes.len() > MOST_HELD {
                    return Err(malformed(format!(
                        "the server sent one value of more than {MOST_HELD} bytes"
                    )));
                }
                body.extend_from_slice(bytes);
            }
            Framing::Unknown(start) => {
                start.extend_from_slice(bytes);
                let begun = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
                let partial = BYTE_ORDER_MARK.starts_with(start);
                let Some(first) = begun.first().filter(|_| !partial) else {
                    if begun.is_empty() && !partial {
                        // Keep one byte: unlimited white space takes no memory, and what follows is still not
                        // the body's start.
                        start.truncate(1);
                        start.fill(b' ');
                    }
                    return Ok(());
                };
                self.framing = match (first, P::JSON) {
                    (b'{' | b'[', JsonBody::Events) => {
                        let mut items = JsonItems::default();
                        items.feed(begun);
                        Framing::Items(items)
                    }
                    (b'{' | b'[', JsonBody::Reply) => Framing::Whole(begun.to_vec()),
                    // The rest of an HTML page is not needed.
                    (b'<', JsonBody::Events | JsonBody::Reply) => return Err(web_page()),
                    (_, JsonBody::Events | JsonBody::Reply) => {
                        let mut reader = SseReader::default();
                        reader.feed(start);
                        Framing::Events(reader)
                    }
                };
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), ProviderError> {
        while let Some(item) = self.next_item()? {
            self.head = None;
            match item {
                SseItem::Comment => {}
                SseItem::ErrorField(text) => return Err(error_text(&text)),
                SseItem::Event { event, data } => self.event(event.as_deref(), &data)?,
            }
            // Bytes after the end of the reply are ignored and need not be valid.
            if self.is_finished() {
                self.framing = Framing::Unknown(Vec::new());
                self.length = 0;
                break;
            }
        }
        Ok(())
    }

    fn next_item(&mut self) -> Result<Option<SseItem>, ProviderError> {
        match &mut self.framing {
            Framing::Unknown(_) | Framing::Whole(_) => Ok(None),
            Framing::Events(reader) => reader.next_item().map_err(|error| malformed(error.to_string())),
            Framing::Items(items) => {
                let item = items.next_item().map_err(|error| malformed(error.to_string()))?;
                Ok(item.map(|item| SseItem::Event { event: None, data: text(item) }))
            }
        }
    }

    fn event(&mut self, event: Option<&str>, data: &str) -> Result<(), ProviderError> {
        match data.trim() {
            "" => return Ok(()),
            "[DONE]" => return self.protocol.done_sentinel(),
            _ => {}
        }
        match serde_json::from_str::<Value>(data) {
            Ok(value) => self.protocol.event(value),
            Err(_) if event == Some("error") => Err(error_text(data)),
            Err(_) => Err(malformed(format!(
                "the server sent an event that is not valid JSON: {}",
                beginning(data, QUOTED)
            ))),
        }
    }

    /// Handles a body that came as one JSON value.
    fn decode_whole(&mut self, body: &[u8]) -> Result<(), ProviderError> {
        let value = match serde_json::from_slice::<Value>(body) {
            Ok(value) => value,
            Err(error) if error.is_eof() => {
                return Err(truncated("the connection ended in the middle of the reply"));
            }
            Err(_) => return Err(foreign(body)),
        };
        if is_error(&value) {
            return Err(classify::classify_value(&value));
        }
        self.protocol.on_whole_body(value)
    }

    fn is_finished(&mut self) -> bool {
        self.protocol.reply().is_finished()
    }

    /// Appends to `out` the events that `read` emits, also where it errs.
    fn collect(
        &mut self,
        out: &mut Vec<StreamEvent>,
        read: impl FnOnce(&mut Self) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        self.protocol.reply().swap_events(out);
        let result = read(self);
        self.protocol.reply().swap_events(out);
        result
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if self.is_finished() {
            return Ok(());
        }
        self.length = self.length.saturating_add(bytes.len());
        if self.length > LONGEST_REPLY {
            return Err(malformed(format!("the reply is longer than {LONGEST_REPLY} bytes")));
        }
        if let Some(head) = &mut self.head {
            let room = HEAD.saturating_sub(head.len()).min(bytes.len());
            head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
        self.frame(bytes)?;
        self.drain()
    }

    fn end(&mut self) -> Result<(), ProviderError> {
        if self.is_finished() {
            return Ok(());
        }
        let inside = match &mut self.framing {
            Framing::Unknown(_) => return Err(truncated("the server closed the connection without a reply")),
            Framing::Whole(body) => {
                let body = std::mem::take(body);
                return self.decode_whole(&body);
            }
            Framing::Events(reader) => {
                reader.finish();
                false
            }
            Framing::Items(items) => items.is_inside(),
        };
        // An unreadable event without its closing blank line was cut off.
        self.drain().map_err(|error| {
            if error.class == ErrorClass::Malformed {
                return truncated("the connection ended in the middle of an event");
            }
            error
        })?;
        if self.is_finished() {
            return Ok(());
        }
        if inside {
            return Err(truncated("the connection ended in the middle of an event"));
        }
        match self.head.take() {
            Some(head) if !matches!(self.framing, Framing::Items(_)) => Err(foreign(&head)),
            Some(_) | None => self.protocol.end(),
        }
    }
}

impl<P: Protocol> StreamDecoder for Decoder<P> {
    fn new(model: &str) -> Self {
        let framing = Framing::Unknown(Vec::new());
        Self { framing, protocol: P::new(model), length: 0, head: Some(Vec::new()) }
    }

    fn classify(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        P::classify(status, headers, body)
    }

    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.collect(out, |decoder| decoder.read(bytes))
    }

    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.collect(out, Self::end)
    }

    fn metadata(&self) -> ReplyMetadata {
        self.protocol.metadata()
    }

    fn held_bytes(&self) -> usize {
        let framed = match &self.framing {
            Framing::Unknown(bytes) | Framing::Whole(bytes) => bytes.len(),
            Framing::Events(reader) => reader.held_bytes(),
            Framing::Items(items) => items.held_bytes(),
        };
        framed + self.head.as_ref().map_or(0, Vec::len)
    }
}

/// Converts bytes to text; copies them only where they are not valid UTF-8.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The error for a body that no server of this wire sends.
fn foreign(body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.starts_with('<') {
        return web_page();
    }
    malformed(format!("the server sent invalid JSON: {}", beginning(text, QUOTED)))
}

/// Returns the error for an HTML page in place of a reply. It is not retried: a retry would get the same
/// page.
pub fn web_page() -> ProviderError {
    let message =
        "a web page answered instead of the API: it may be a network login page, or the base URL is wrong";
    ProviderError { should_retry: Some(false), ..malformed(message) }
}

/// Whether a value is an error object rather than a reply.
pub fn is_error(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| match key.as_str() {
            "error" => !value.is_null(),
            "type" => value.as_str() == Some("error"),
            _ => false,
        }),
        Value::Array(items) => items.first().is_some_and(|item| item.get("error").is_some()),
        _ => false,
    }
}

/// Reads token counts in the form of OpenAI's protocols, which differ in the names for input and output: input
/// includes caches, output includes reasoning.
pub fn openai_usage(reported: &Value, input: &str, output: &str) -> Usage {
    let count = |path: String| reported.pointer(&path).and_then(Value::as_u64);
    Usage {
        input: count(format!("/{input}")),
        output: count(format!("/{output}")),
        cached_input: count(format!("/{input}_details/cached_tokens")),
        cache_write: count(format!("/{input}_details/cache_write_tokens")),
        reasoning: count(format!("/{output}_details/reasoning_tokens")),
        // OpenRouter reports the cost in dollars.
        cost: reported.get("cost").and_then(Value::as_f64).and_then(Usd::from_dollars),
    }
}

fn error_text(text: &str) -> ProviderError {
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    classify::classify_value(&value)
}

/// The names of protocols in error messages.
pub const CHAT: &str = "Chat Completions";
pub const MESSAGES: &str = "Anthropic Messages";
pub const RESPONSES: &str = "OpenAI Responses";

/// Errs where `value` comes from a known protocol other than `wanted`; the error names both. Other values
/// pass.
pub fn refuse_other_wires(value: &Value, wanted: &str) -> Result<(), ProviderError> {
    let Some(spoken) = other_wire(value, wanted) else { return Ok(()) };
    Err(malformed(format!("the server speaks {spoken}, not {wanted}; check the base URL")))
}

/// Returns the protocol that `value` comes from, if it is a known one other than `wanted`.
pub fn other_wire(value: &Value, wanted: &str) -> Option<&'static str> {
    let spoken = match text_of(value, "type") {
        _ if value.get("choices").is_some() => CHAT,
        "message_start" | "message" => MESSAGES,
        kind if kind.starts_with("response.") => RESPONSES,
        _ => return None,
    };
    (spoken != wanted).then_some(spoken)
}

pub fn malformed(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Malformed, message)
}

pub fn truncated(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ErrorClass::Truncated, message)
}
