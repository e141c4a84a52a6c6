//! The codec of Ollama's own protocol, `/api/chat` (`wire.md` §5).
//!
//! Pure: requests to bytes, lines of JSON to stream events. Unlike the OpenAI-compatible endpoint of the same
//! server, this protocol has a field for the context size; the codec always sends it, and requests an error
//! where a conversation does not fit. Servers older than that field truncate silently; `fit.rs` detects it
//! from the reported input tokens. Called by `provider/http`, by the loopback server and by tests.

mod decode;
mod encode;
mod fit;
mod refused;

pub use self::decode::OllamaProtocol;
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, Profile, ProviderError, WireCodec};
use crate::message::Usage;

/// The codec's name, to which opaque data is bound.
pub const WIRE: &str = "ollama";

/// The context if none is set and the model's window is unknown, in tokens. The server's own default (4,096)
/// holds little more than a system prompt with its tools; this holds a turn and fits into memory beside
/// commonly used models.
pub const DEFAULT_NUM_CTX: u32 = 16_384;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ollama {
    num_ctx: Option<u32>,
}

impl Ollama {
    /// `num_ctx`: the user's context setting in tokens; `None` = the window in the profile.
    #[must_use]
    pub fn new(num_ctx: Option<u32>) -> Self {
        Self { num_ctx }
    }

    /// Returns the context to request for a model, in tokens: the whole conversation and its reply must fit
    /// into it.
    #[must_use]
    pub fn num_ctx(&self, profile: &Profile) -> u32 {
        self.num_ctx.or(profile.window).unwrap_or(DEFAULT_NUM_CTX)
    }
}

impl WireCodec for Ollama {
    type Decoder = Decoder<OllamaProtocol>;

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        Ok(HttpRequest::new("/api/chat", encode::body(request, self.num_ctx(&request.profile))?))
    }

    fn notice(&self, request: &ModelRequest, usage: &Usage) -> Option<String> {
        fit::notice(request, usage, self.num_ctx(&request.profile))
    }
}

#[cfg(test)]
mod tests;
