//! The interface to model services: takes a request, returns stream events, reports failures as values.
//!
//! A codec ([`WireCodec`]) is pure: it never opens a socket and never reads a clock. `agent` calls a
//! [`Provider`]. This file belongs to layer 2; the implementations in the other files of the folder belong to layer 5.

pub mod error;
pub mod profile;
pub mod tool_list;

pub mod classify;
pub mod decoder;
pub mod json_fields;
pub mod message_list;
pub mod reply;
pub mod retry_headers;
pub mod retry_words;
pub mod wire_text;

pub mod anthropic;
pub mod gemini;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;

pub mod http;

pub mod catalog;

pub mod offline;

#[cfg(test)]
mod codec_kit;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::error::{ErrorClass, Fallback, ProviderError, Recovery};
pub use self::profile::{LongInput, Price, Profile};
pub use self::tool_list::ToolList;
use crate::config::ThinkingLevel;
use crate::message::{Message, Opaque, StopReason, Usage};
use crate::stdx::json_texts::json_bytes;

/// A client of one model service.
pub trait Provider: Send + Sync {
    /// The name for display and storage, e.g. `anthropic`, `offline`.
    fn name(&self) -> &str;

    /// Starts one request. Yields `Started` first and `Finished` last, or stops early with exactly one `Err`.
    ///
    /// Part indices start at 0, have no gaps, and follow the order of `PartStarted`. A text or thinking part
    /// ends before the next one starts; tool calls may stay open at the same time until the end of the reply.
    /// Dropping the stream or firing `cancel` closes the connection; after `cancel` the stream ends without a
    /// further item.
    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>;
}

/// A model request, independent of any wire format.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The name of the sending provider. The provider fills it in (empty before that), so that the opaque
    /// data of other providers is not sent.
    pub provider: String,
    /// The model's name at the service.
    pub model: String,
    pub system: String,
    /// Shared with the history, so that a request copies no message.
    pub messages: Vec<Arc<Message>>,
    pub tools: ToolList,
    pub tool_choice: ToolChoice,
    /// Whether one reply may hold several tool calls, as it may by default at nearly all providers; if not, the request
    /// says so where the wire has a field for it.
    pub parallel_calls: bool,
    /// `None` = the codec's default (Anthropic requires a number, so its codec sends one).
    pub max_output_tokens: Option<u32>,
    pub thinking: ThinkingLevel,
    /// Sent only where the model accepts it. `None` = the provider's default.
    pub temperature: Option<f32>,
    /// As `temperature`.
    pub top_p: Option<f32>,
    /// The same for all requests of a session, so that services that route by it reuse their cache.
    pub cache_key: Option<String>,
    /// The known facts about the model.
    pub profile: Profile,
    pub purpose: RequestKind,
}

/// The purpose of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// The next reply of the conversation.
    #[default]
    Answer,
    /// A summary of messages that are left out of the conversation.
    Summary,
    /// A title of the session.
    Title,
}

impl RequestKind {
    pub fn is_answer(&self) -> bool {
        *self == Self::Answer
    }
}

impl ModelRequest {
    /// Creates a request without tools, with all options at the provider's defaults.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            provider: String::new(),
            model: model.into(),
            system: String::new(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: ToolList::default(),
            tool_choice: ToolChoice::Auto,
            parallel_calls: true,
            max_output_tokens: None,
            thinking: ThinkingLevel::Default,
            temperature: None,
            top_p: None,
            cache_key: None,
            profile: Profile::default(),
            purpose: RequestKind::Answer,
        }
    }

    /// Returns the messages, oldest first.
    pub fn conversation(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter().map(Arc::as_ref)
    }
}

/// A tool's definition as sent to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub description: String,
    /// JSON Schema of an object.
    pub parameters: Value,
}

impl ToolSchema {
    /// Returns the length of its name, its description and its schema, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + json_bytes(&self.parameters)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    /// At least one tool call.
    Required,
    /// Text only: for the last reply that a turn's budget allows.
    None,
}

/// One event of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The service has begun to reply; `model` is the provider's name for the model.
    Started {
        model: String,
    },
    PartStarted {
        index: usize,
        kind: StartKind,
    },
    /// Text of a text or thinking part, or JSON text of a tool call's arguments.
    PartDelta {
        index: usize,
        delta: String,
    },
    /// The provider closed this part; only now are a tool call's arguments complete.
    PartEnded {
        index: usize,
        opaque: Option<Opaque>,
    },
    /// Information for the user about how the service handled the request. Neither a part of the reply nor a
    /// failure. Comes just before `Finished`.
    Notice {
        text: String,
    },
    /// The usage of the request so far, so that it is counted even where the stream breaks off. Each event
    /// includes the ones before it; services that count only at the end report usage with `Finished` alone.
    Usage {
        usage: Usage,
    },
    /// The stream ended as the protocol requires.
    Finished {
        stop: StopReason,
        usage: Usage,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum StartKind {
    Text,
    Thinking,
    /// `wire_id` may be empty where the provider gave none.
    ToolCall {
        wire_id: String,
        name: String,
    },
    /// An item that only the provider understands; all of it comes as `opaque` when the part ends.
    Native,
}

/// A wire format without I/O: pure encoding, pure decoding. [`http::HttpProvider`] makes a provider of any
/// codec; tests feed recorded bytes to its decoder.
///
/// [`http::HttpProvider`]: self::http::HttpProvider
pub trait WireCodec: Send + Sync + 'static {
    type Decoder: StreamDecoder;

    /// Encodes the request. Errs with [`ErrorClass::BadRequest`] where this wire cannot express it.
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError>;

    /// Returns a new decoder for the reply to a request for `model`.
    fn decoder(&self, model: &str) -> Self::Decoder {
        Self::Decoder::new(model)
    }

    /// Classifies a reply with a failure status. `body` may be of any content type and may be truncated.
    fn classify(&self, status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        Self::Decoder::classify(status, headers, body)
    }

    /// Returns one or two sentences for the user about how the service handled `request`, judged by the
    /// reported usage. Most services refuse what they cannot process, so their codecs return `None`. Equal
    /// input gives equal text, so that the text is shown once a turn.
    fn notice(&self, _request: &ModelRequest, _usage: &Usage) -> Option<String> {
        None
    }
}

/// Turns the bytes of one reply into stream events. Uses no socket and no clock; its memory is bounded.
pub trait StreamDecoder: Send + 'static {
    /// Creates a decoder for the reply to a request for `model`.
    fn new(model: &str) -> Self;

    /// Classifies a reply with a failure status, which is not fed.
    fn classify(status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError;

    /// Takes the next bytes, split at any position, and appends the completed events to `out`. Also takes a
    /// whole JSON body in place of a stream, whatever its content type. After an error the decoder must not
    /// be used again.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Handles the end of the body. Errs with [`ErrorClass::Truncated`] where the protocol's own end is
    /// missing.
    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// Returns the reply's metadata so far; also valid after an error, when no `Finished` reports it.
    fn metadata(&self) -> ReplyMetadata;

    /// Returns how many buffered bytes have not become events yet.
    fn held_bytes(&self) -> usize;
}

/// A reply's metadata so far; also valid after an error, when no `Finished` reports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplyMetadata {
    pub model: Option<String>,
    pub stop: Option<StopReason>,
    pub usage: Usage,
}

/// One HTTP request as a value.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// Path below the base URL, e.g. `/v1/messages`.
    pub path: String,
    /// Headers in addition to the transport's; the HTTP layer adds the key.
    pub headers: Vec<(&'static str, &'static str)>,
    pub body: Bytes,
}

impl HttpRequest {
    pub fn new(path: impl Into<String>, body: Vec<u8>) -> Self {
        Self { path: path.into(), headers: Vec::new(), body: body.into() }
    }
}

/// The retry information in a failed reply's headers. Read on failures only, because Anthropic sends
/// `retry-after` on successes too (`wire.md` §0).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetryHeaders {
    /// `retry-after-ms`, else `retry-after` in seconds or as a date; a wait from now.
    pub retry_after: Option<Duration>,
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
    pub request_id: Option<String>,
}
