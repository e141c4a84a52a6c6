//! The codec of OpenAI Chat Completions, which most other hosts and local servers speak as well.
//!
//! Pure: requests to bytes, bytes to stream events (`wire.md` §0 and §2). Hosts differ in small ways on what they
//! accept, and those differences are data in [`Quirks`]; what they *send* is accepted from everybody.
//! Called by `provider/http`, by the loopback server and by tests.

mod calls;
mod decode;
mod details;
mod encode;
mod totals;

pub use self::decode::ChatProtocol;
use super::sse_decoder::SseDecoder;
use super::{HttpRequest, ModelRequest, ProviderError, RetryHeaders, WireCodec, classify};

/// The codec's name, as bound into opaque data.
pub const WIRE: &str = "openai_chat";

/// How a host wants things said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quirks {
    pub max_tokens: MaxTokensField,
    pub usage: UsageOption,
    pub effort: EffortStyle,
}

/// The request field that limits the reply's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxTokensField {
    /// `max_completion_tokens`: OpenAI, whose reasoning models refuse the older field.
    MaxCompletionTokens,
    /// `max_tokens`: nearly everybody else.
    MaxTokens,
}

/// Whether `stream_options.include_usage` may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageOption {
    Ask,
    /// The host refuses the field, or says its usage unasked.
    Silent,
}

/// How a thinking level is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffortStyle {
    /// `reasoning_effort`.
    ReasoningEffort,
    /// The host has no such field.
    Unsupported,
}

impl Quirks {
    /// api.openai.com.
    pub const OPENAI: Self = Self {
        max_tokens: MaxTokensField::MaxCompletionTokens,
        usage: UsageOption::Ask,
        effort: EffortStyle::ReasoningEffort,
    };

    /// A host of which nothing else is known: Ollama, LM Studio, llama.cpp, vLLM, LiteLLM, OpenRouter.
    pub const COMPATIBLE: Self = Self {
        max_tokens: MaxTokensField::MaxTokens,
        usage: UsageOption::Ask,
        effort: EffortStyle::ReasoningEffort,
    };
}

/// The codec for one host.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat {
    quirks: Quirks,
}

impl OpenAiChat {
    #[must_use]
    pub fn new(quirks: Quirks) -> Self {
        Self { quirks }
    }
}

impl WireCodec for OpenAiChat {
    type Decoder = SseDecoder<ChatProtocol>;

    fn wire(&self) -> &'static str {
        WIRE
    }

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        let body = encode::body(request, self.quirks)?;
        Ok(HttpRequest { path: "/chat/completions".to_owned(), headers: Vec::new(), body: body.into() })
    }

    fn decoder(&self, model: &str) -> Self::Decoder {
        SseDecoder::new(ChatProtocol::new(model))
    }

    fn classify(&self, status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        classify::classify_reply(status, headers, body)
    }
}

#[cfg(test)]
mod tests;
