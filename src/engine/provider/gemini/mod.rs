//! The codec of Gemini: AI Studio, Vertex, and gateways that translate to them (`wire.md` §4).
//!
//! Pure: requests to bytes, bytes to stream events, both from events (`alt=sse`) and from one array. Thought
//! signatures stay with the part that they came with, and are sent back unchanged to the same model only. The
//! wire has no field for "one call at a time", so it ignores `parallel_calls`. Called by
//! `provider/http`, by the loopback server and by tests.

mod decode;
mod encode;
mod ending;
mod partial_call;
mod request_path;
mod schema;
mod signatures;
mod thinking;

pub use self::decode::GenerateProtocol;
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, ProviderError, WireCodec};

/// The codec's name, to which opaque data is bound.
pub const WIRE: &str = "gemini";

/// The replacement for the thought signature of a call that another model made (`wire.md` §4).
pub const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gemini;

impl WireCodec for Gemini {
    type Decoder = Decoder<GenerateProtocol>;

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        Ok(HttpRequest::new(request_path::of(&request.model), encode::body(request)?))
    }
}

/// Whether a model refuses a step whose first call has no thought signature: Gemini 3 and later, and names
/// without a version number, which mean the newest model.
pub fn demands_signatures(model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let Some(version) = bare.strip_prefix("gemini-") else { return false };
    !version.starts_with("1.") && !version.starts_with("2.")
}

#[cfg(test)]
mod tests;
