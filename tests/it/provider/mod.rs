//! Codecs, HTTP and failures against fixtures, recordings and a scripted server.

pub mod error_bodies;
pub mod failures;
pub mod fallback;
pub mod foreign_opaque;
pub mod gemini_array;
pub mod http;
pub mod http_limits;
pub mod http_reuse;
pub mod http_spans;
pub mod http_ways;
pub mod keys_hidden;
pub mod pitfalls;
pub mod recordings;
pub mod recordings_gemini;
pub mod recordings_responses;
pub mod round_trips;
pub mod wire_fixtures;
pub mod wire_prefix;
