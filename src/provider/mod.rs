//! The provider seam: a request goes in, stream events come out, failures are values.
//!
//! A codec ([`WireCodec`]) is pure: it never opens a socket and never reads a clock. A [`Provider`]
//! is what `agent` calls. Implementations live in the files beside this one (layer 5); this file is layer 2.

pub mod error;
pub mod profile;

pub mod classify;
pub mod decoder;
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

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::error::{ErrorClass, Fallback, ProviderError, Recovery};
pub use self::profile::{LongInput, Price, Profile, Sampling, ThinkingStyle};
use crate::message::{Message, Opaque, StopReason, Usage};

/// Talks to one model service.
pub trait Provider: Send + Sync {
    /// The name shown and stored, e.g. `anthropic`, `offline`.
    fn name(&self) -> &str;

    /// Starts one request. Yields `Started` first and `Finished` last, or stops early with exactly one
    /// `Err`. Part indices are dense from 0, in the order of `PartStarted`. A text or thinking part ends
    /// before the next one starts; calls may stay open beside it, up to the end of the reply.
    /// Dropping the stream or firing `cancel` closes the connection; after `cancel` the stream ends
    /// without a further item.
    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>;
}

/// Everything a model is asked with, free of any wire format.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The name of the provider that sends it, and fills this in: opaque data of others stays behind. Empty before.
    pub provider: String,
    /// The model's name as the service knows it.
    pub model: String,
    pub system: String,
    /// Shared with the history: nothing of it is copied for a request.
    pub messages: Vec<Arc<Message>>,
    pub tools: Vec<ToolSchema>,
    pub tool_choice: ToolChoice,
    pub parallel_calls: ParallelCalls,
    /// `None` = the codec's own default (Anthropic demands a number and gets one).
    pub max_output_tokens: Option<u32>,
    pub thinking: ThinkingLevel,
    /// Sent only where the model takes it ([`Sampling`]). `None` = the provider's own.
    pub temperature: Option<f32>,
    /// As `temperature`.
    pub top_p: Option<f32>,
    /// The same for all requests of a session: services that route by it find their cache again.
    pub cache_key: Option<String>,
    /// What is known of the model.
    pub profile: Profile,
}

impl ModelRequest {
    /// A request without tools that leaves everything to the provider.
    pub fn new(model: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            provider: String::new(),
            model: model.into(),
            system: String::new(),
            messages: messages.into_iter().map(Arc::new).collect(),
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            parallel_calls: ParallelCalls::Allowed,
            max_output_tokens: None,
            thinking: ThinkingLevel::Default,
            temperature: None,
            top_p: None,
            cache_key: None,
            profile: Profile::default(),
        }
    }

    /// The messages, oldest first.
    pub fn conversation(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.iter().map(Arc::as_ref)
    }
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub description: String,
    /// JSON Schema of an object.
    pub parameters: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    /// At least one call.
    Required,
    /// Text only: used when a turn's budget allows just one more reply.
    None,
}

/// Whether one reply may hold several calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParallelCalls {
    /// As the provider has it, which is yes nearly everywhere.
    #[default]
    Allowed,
    /// The request asks for one call at a time, where the wire can say so.
    One,
}

/// How much the model may think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingLevel {
    /// The provider's own default: the request says nothing.
    #[default]
    Default,
    Off,
    Low,
    Medium,
    High,
    /// So many tokens; where a wire knows only levels, the nearest one.
    Tokens(u32),
}

/// One step of a streamed reply.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The connection answers; `model` as the provider names it.
    Started {
        model: String,
    },
    PartStarted {
        index: usize,
        kind: StartKind,
    },
    /// Text of a text or thinking part, JSON text of a call's arguments.
    PartDelta {
        index: usize,
        delta: String,
    },
    /// The provider closed this part; a call's arguments are whole only now.
    PartEnded {
        index: usize,
        opaque: Option<Opaque>,
    },
    /// Something the person should know of how the service took the request; not a part of the reply, and no
    /// failure. Comes just before `Finished`.
    Notice {
        text: String,
    },
    /// What the request has used by now, so that it is counted where its end never comes. Each one holds all of the
    /// ones before; services that count at the end alone tell it with `Finished` only.
    Usage {
        usage: Usage,
    },
    /// The protocol's own end was seen.
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
    /// An item only the provider understands; all of it comes as `opaque` with its end.
    Native,
}

/// A wire format without a wire: pure encode, pure decode. [`http::HttpProvider`] makes any codec a
/// provider; tests feed its decoder recorded bytes.
///
/// [`http::HttpProvider`]: self::http::HttpProvider
pub trait WireCodec: Send + Sync + 'static {
    type Decoder: StreamDecoder;

    /// The codec's name, as bound into [`Opaque::wire`].
    fn wire(&self) -> &'static str;

    /// The request to send. Errs with [`ErrorClass::BadRequest`] where this wire cannot say it.
    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError>;

    /// A fresh decoder for the reply to a request for `model`.
    fn decoder(&self, model: &str) -> Self::Decoder;

    /// What a reply with a failure status means. `body` may be of any content type, or cut.
    fn classify(&self, status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError;

    /// What the person should know of how the service took `request`, told from the usage it reported: one or two
    /// sentences. Most services refuse what they cannot take and need none. The same facts give the same words, so
    /// that they are shown once a turn.
    fn notice(&self, _request: &ModelRequest, _usage: &Usage) -> Option<String> {
        None
    }
}

/// Bytes of one reply → stream events. Holds no socket and no clock; memory is bounded.
pub trait StreamDecoder: Send + 'static {
    /// Takes the next bytes, cut anywhere, and appends what they complete to `out`. A whole JSON body in place of a
    /// stream is taken too, whatever its label says.
    /// After an error the decoder is spent.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// The body ended. Errs with [`ErrorClass::Truncated`] where the protocol's own end is missing.
    fn finish(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError>;

    /// What the reply said of itself so far; also after an error, when no `Finished` tells it.
    fn seen(&self) -> Seen;

    /// How many bytes wait to become events.
    fn held(&self) -> usize;
}

/// What a reply said of itself so far: also after an error, when no `Finished` tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    pub model: Option<String>,
    pub stop: Option<StopReason>,
    pub usage: Usage,
}

/// One HTTP request as a value.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// Path below the base URL, e.g. `/v1/messages`.
    pub path: String,
    /// Headers beside those of the transport; keys are added by the HTTP shell.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// What a failed reply's headers say about retrying; read on failures only (`wire.md` §0: Anthropic
/// sends `retry-after` on successes too).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RetryHeaders {
    /// `retry-after-ms`, else `retry-after` in seconds or as a date, as a wait from now.
    pub retry_after: Option<Duration>,
    /// `x-should-retry`.
    pub should_retry: Option<bool>,
    pub request_id: Option<String>,
}
