//! The codec of OpenAI Responses, also used by xAI, DeepSeek, OpenRouter, Azure, LM Studio and llama.cpp
//! (`wire.md` §3).
//!
//! Pure: requests to bytes, bytes to stream events. Stateless: nothing is stored at the service, so the data
//! that a model needs from its earlier replies (encrypted reasoning, hosted items, phases) is sent back with
//! each request, only to the model that created it. Called by `provider/http`, by the loopback server and by
//! tests.

mod arguments;
mod decode;
mod encode;
mod input;
mod item;
mod item_positions;
mod output;
mod thinking;
mod totals;

pub use self::decode::ResponsesProtocol;
use super::decoder::Decoder;
use super::{HttpRequest, ModelRequest, ProviderError, WireCodec};

/// The codec's name, to which opaque data is bound.
pub const WIRE: &str = "openai_responses";

/// The codec.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiResponses;

impl WireCodec for OpenAiResponses {
    type Decoder = Decoder<ResponsesProtocol>;

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        Ok(HttpRequest::new("/responses", encode::body(request)?))
    }
}

#[cfg(test)]
mod tests;
