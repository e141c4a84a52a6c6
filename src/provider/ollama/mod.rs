//! The codec of Ollama's own protocol, `/api/chat` (`wire.md` §5).
//!
//! Pure: requests to bytes, lines of JSON to stream events. Unlike the compatible address of the same server it can say
//! how large the context is, so it always does, and asks for an error where a conversation does not fit. Servers from
//! before that field cut conversations in silence; `fit.rs` notices it from what they say they read.
//! Called by `provider/http`, by the loopback server and by tests.

mod decode;
mod encode;
mod fit;
mod refused;

use serde_json::Value;

pub use self::decode::OllamaProtocol;
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, Profile, ProviderError, RetryHeaders, WireCodec, classify};
use crate::message::Usage;

/// The codec's name, as bound into opaque data.
pub const WIRE: &str = "ollama";

/// The context where nobody chose one and the model's window is not known, in tokens. The server's own default (4,096)
/// holds little more than a system prompt with its tools; this holds a turn and fits beside the models people run.
pub const DEFAULT_NUM_CTX: u32 = 16_384;

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ollama {
    num_ctx: Option<u32>,
}

impl Ollama {
    /// `num_ctx`: tokens of context as the person set them; `None` takes the window that the profile knows.
    #[must_use]
    pub fn new(num_ctx: Option<u32>) -> Self {
        Self { num_ctx }
    }

    /// The context that requests for a model ask for, in tokens: all of a conversation and its answer must fit in it.
    #[must_use]
    pub fn num_ctx(&self, profile: &Profile) -> u32 {
        self.num_ctx.or(profile.window).unwrap_or(DEFAULT_NUM_CTX)
    }
}

impl WireCodec for Ollama {
    type Decoder = Decoder<OllamaProtocol>;

    fn wire(&self) -> &'static str {
        WIRE
    }

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        let body = encode::body(request, self.num_ctx(&request.profile))?;
        Ok(HttpRequest { path: "/api/chat".to_owned(), headers: Vec::new(), body: body.into() })
    }

    fn decoder(&self, model: &str) -> Self::Decoder {
        Decoder::new(OllamaProtocol::new(model))
    }

    fn classify(&self, status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        let error = classify::classify_reply(status, headers, body);
        let told = serde_json::from_slice(body).unwrap_or(Value::Null);
        refused::explained(error, &told)
    }

    fn notice(&self, request: &ModelRequest, usage: &Usage) -> Option<String> {
        fit::notice(request, usage, self.num_ctx(&request.profile))
    }
}

#[cfg(test)]
mod tests;
