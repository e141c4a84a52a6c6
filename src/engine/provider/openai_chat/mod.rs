//! The codec of OpenAI Chat Completions, also used by most other hosts and local servers.
//!
//! Pure: requests to bytes, bytes to stream events (`wire.md` §0 and §2). Hosts differ in small ways in what
//! they accept; these differences are data in [`Quirks`]. The decoder accepts every host's replies without
//! such settings. Called by `provider/http`, by the loopback server and by tests.

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
    AfterReturns, CacheMarks, EmptyContent, MaxTokensField, OptionalField, QuirkError, Quirks,
    ReasoningStyle, StoreField, StrictSchemas, SystemRole, ThinkingBack, ThinkingField, ToolsField,
    UsageOption,
};
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, ProviderError, WireCodec};

/// The codec's name, to which opaque data is bound.
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

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        Ok(HttpRequest::new("/chat/completions", encode::body(request, self.quirks)?))
    }
}

#[cfg(test)]
mod quirk_tests;
#[cfg(test)]
mod tests;
