//! The codec of OpenAI Chat Completions, which most other hosts and local servers speak as well.
//!
//! Pure: requests to bytes, bytes to stream events (`wire.md` §0 and §2). Hosts differ in small ways on what they
//! accept, and those differences are data in [`Quirks`]; what they *send* is accepted from everybody.
//! Called by `provider/http`, by the loopback server and by tests.

mod calls;
mod decode;
mod details;
mod encode;
mod messages;
mod quirks;
mod reasoning;
mod strict;
mod totals;

pub use self::decode::ChatProtocol;
pub use self::quirks::{
    AfterReturns, CacheKeyField, CacheMarks, EmptyContent, MaxTokensField, ParallelField, QUIRKS, QuirkError,
    QuirkRow, QuirkValue, Quirks, ReasoningStyle, StoreField, StrictSchemas, SystemRole, ThinkingBack,
    ThinkingField, ToolResultName, ToolsField, UsageOption,
};
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, ProviderError, RetryHeaders, WireCodec, classify};

/// The codec's name, as bound into opaque data.
pub const WIRE: &str = "openai_chat";

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
    type Decoder = Decoder<ChatProtocol>;

    fn wire(&self) -> &'static str {
        WIRE
    }

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        let body = encode::body(request, self.quirks)?;
        Ok(HttpRequest { path: "/chat/completions".to_owned(), headers: Vec::new(), body: body.into() })
    }

    fn decoder(&self, model: &str) -> Self::Decoder {
        Decoder::new(ChatProtocol::new(model))
    }

    fn classify(&self, status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        classify::classify_reply(status, headers, body)
    }
}

#[cfg(test)]
mod quirk_tests;
#[cfg(test)]
mod tests;
