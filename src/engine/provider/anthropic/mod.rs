//! The codec of Anthropic Messages (`wire.md` §1).
//!
//! Pure: requests to bytes, bytes to stream events. Data of thinking, redacted thinking and server-side tools
//! that only the provider understands is kept, and is sent back unchanged to the same model only. Called by
//! `provider/http`, by the loopback server and by tests.

mod block;
mod decode;
mod encode;
mod thinking;

pub use self::decode::MessagesProtocol;
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, ProviderError, WireCodec};

/// The codec's name, to which opaque data is bound.
pub const WIRE: &str = "anthropic";

/// The protocol version of this codec.
const VERSION: &str = "2023-06-01";

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct Anthropic;

impl WireCodec for Anthropic {
    type Decoder = Decoder<MessagesProtocol>;

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        let headers = vec![("anthropic-version", VERSION)];
        Ok(HttpRequest { headers, ..HttpRequest::new("/v1/messages", encode::body(request)?) })
    }
}

#[cfg(test)]
mod tests;
