//! The codec of Gemini: AI Studio, Vertex, and what translates for them (`wire.md` §4).
//!
//! Pure: requests to bytes, bytes to stream events, in events (`alt=sse`) as in one array. Thought signatures stay on
//! the very part they came with, and go back unchanged to the same model and to nobody else. The wire has no field for
//! "one call at a time", so `ParallelCalls::One` cannot be said on it.
//! Called by `provider/http`, by the loopback server and by tests.

mod call;
mod decode;
mod encode;
mod ending;
mod pieces;
mod place;
mod schema;
mod thinking;

pub use self::decode::GenerateProtocol;
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, ProviderError, RetryHeaders, WireCodec, classify};

/// The codec's name, as bound into opaque data.
pub const WIRE: &str = "gemini";

/// What a call that no Gemini made carries in place of a thought signature (`wire.md` §4).
pub const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl WireCodec for Gemini {
    type Decoder = Decoder<GenerateProtocol>;

    fn wire(&self) -> &'static str {
        WIRE
    }

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        let body = encode::body(request)?;
        Ok(HttpRequest { path: place::path(&request.model), headers: Vec::new(), body: body.into() })
    }

    fn decoder(&self, model: &str) -> Self::Decoder {
        Decoder::new(GenerateProtocol::new(model))
    }

    fn classify(&self, status: u16, headers: &RetryHeaders, body: &[u8]) -> ProviderError {
        classify::classify_reply(status, headers, body)
    }
}

/// Whether a model refuses a step whose first call has no thought signature: Gemini 3 and later, and the names without
/// a number, which stand for the newest.
pub fn demands_signatures(model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let Some(version) = bare.strip_prefix("gemini-") else { return false };
    !version.starts_with("1.") && !version.starts_with("2.")
}

#[cfg(test)]
mod tests;
