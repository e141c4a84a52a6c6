//! The HTTP shell: makes any codec a provider.
//!
//! The one place that opens connections to model services. It knows no wire format, retries nothing and keeps no
//! conversation; it sends one request, feeds what comes back to the codec's decoder, and turns everything that can go
//! wrong on the way into a [`ProviderError`]. A key never leaves it but in the request's header.
//! Called by `app`, which gives it to the turn as a `Provider`.

mod exchange;
mod get;
mod key;
mod notice;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;

use self::exchange::Exchange;
pub use self::get::get_json;
pub use self::key::{ApiKey, KeyHeader};
use super::{ErrorClass, HttpRequest, ModelRequest, Provider, ProviderError, StreamEvent, WireCodec};
use crate::stdx::clock::Clock;

/// Where a model service is and how it is spoken to.
#[derive(Clone)]
pub struct Endpoint {
    /// The name shown and stored, e.g. `anthropic`.
    pub name: String,
    /// Codecs append their paths to it; with or without a slash at its end.
    pub base_url: String,
    /// `None` where the service wants none (a local server).
    pub key: Option<ApiKey>,
    pub key_header: KeyHeader,
    pub timeouts: Timeouts,
}

/// How long nothing may happen. There is no limit for a whole reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// Between two pieces of a reply, signs of life included, and before its first.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(15), idle: Duration::from_secs(300) }
    }
}

/// Why a provider cannot be made of what was configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("the base URL `{url}` is not a web address: {reason}")]
    BaseUrl { url: String, reason: String },
    #[error("the key holds characters that no key has; was it copied whole and without line ends?")]
    Key,
    #[error("the HTTP client could not be started: {reason}")]
    Client { reason: String },
}

/// A model service behind HTTP.
pub struct HttpProvider<W> {
    codec: Arc<W>,
    name: String,
    base_url: String,
    headers: HeaderMap,
    idle: Duration,
    client: reqwest::Client,
    clock: Arc<dyn Clock>,
}

impl<W: WireCodec> HttpProvider<W> {
    /// Prepares connections to `endpoint`; nothing is sent yet. `clock` serves to read dates in `retry-after`.
    pub fn new(codec: W, endpoint: &Endpoint, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let base_url = base(&endpoint.base_url)?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &endpoint.key {
            let (name, value) = key.header(endpoint.key_header).ok_or(SetupError::Key)?;
            headers.insert(name, value);
        }
        let proxy = if is_loopback(&base_url) { Proxy::Never } else { Proxy::OfTheSystem };
        let client = client(endpoint.timeouts.connect, proxy)?;
        Ok(Self {
            codec: Arc::new(codec),
            name: endpoint.name.clone(),
            base_url: base_url.as_str().trim_end_matches('/').to_owned(),
            headers,
            idle: endpoint.timeouts.idle,
            client,
            clock,
        })
    }

    fn request(&self, request: HttpRequest) -> Result<reqwest::RequestBuilder, ProviderError> {
        let mut headers = self.headers.clone();
        for (name, value) in &request.headers {
            let pair = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let (name, value) = pair.ok_or_else(|| {
                ProviderError::new(ErrorClass::BadRequest, format!("`{name}` is no header that can be sent"))
            })?;
            headers.insert(name, value);
        }
        let url = join(&self.base_url, &request.path);
        Ok(self.client.post(url).headers(headers).body(request.body))
    }
}

impl<W: WireCodec> Provider for HttpProvider<W> {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let span = tracing::info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = %self.name,
            gen_ai.request.model = %request.model,
            gen_ai.response.model = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            error.r#type = Empty,
        );
        let prepared = self.codec.encode(&request).and_then(|encoded| self.request(encoded));
        let codec = Arc::clone(&self.codec);
        let exchange =
            Exchange::new(prepared, codec, &request.model, self.idle, Arc::clone(&self.clock), span);
        let stream = notice::noticing(exchange.into_stream(), Arc::clone(&self.codec), request);
        stream.take_until(cancel.cancelled_owned()).boxed()
    }
}

fn base(url: &str) -> Result<reqwest::Url, SetupError> {
    let fail = |reason: &str| SetupError::BaseUrl { url: url.to_owned(), reason: reason.to_owned() };
    let parsed = reqwest::Url::parse(url.trim()).map_err(|error| fail(&error.to_string()))?;
    if !["http", "https"].contains(&parsed.scheme()) {
        return Err(fail("it must begin with http:// or https://"));
    }
    if parsed.host_str().is_none_or(str::is_empty) {
        return Err(fail("it names no host"));
    }
    Ok(parsed)
}

/// The address of a codec's path below a base URL, which people write with and without the version at its end. A base
/// that ends with a publisher (Vertex) has its version further ahead.
fn join(base: &str, path: &str) -> String {
    let mut ends = base.rsplit('/');
    let versioned = ends.next().is_some_and(is_version) || ends.next() == Some("publishers");
    let (first, rest) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    if versioned && is_version(first) { format!("{base}/{rest}") } else { format!("{base}{path}") }
}

/// `v1`, `v1beta`, `v1beta1`.
fn is_version(segment: &str) -> bool {
    let digits = segment.strip_prefix('v').unwrap_or_default();
    digits.starts_with(|first: char| first.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether connections may go through a proxy; what is on this machine is spoken to directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proxy {
    OfTheSystem,
    Never,
}

/// A client that follows no redirect: a key must not travel to another host unasked.
pub(super) fn client(connect: Duration, proxy: Proxy) -> Result<reqwest::Client, SetupError> {
    // Without a provider the TLS library panics; installing one twice is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .connect_timeout(connect)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("co/", env!("CARGO_PKG_VERSION")));
    let builder = match proxy {
        Proxy::Never => builder.no_proxy(),
        Proxy::OfTheSystem => builder,
    };
    builder.build().map_err(|error| SetupError::Client { reason: deepest(&error) })
}

/// The innermost reason of an error: outer ones only say that something failed.
pub(super) fn deepest(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined() {
        let cases = [
            ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1", "/v1/messages", "https://api.anthropic.com/v1/messages"),
            ("https://api.openai.com/v1", "/chat/completions", "https://api.openai.com/v1/chat/completions"),
            (
                "https://gemini.example",
                "/v1beta/models/x:y?alt=sse",
                "https://gemini.example/v1beta/models/x:y?alt=sse",
            ),
            (
                "https://gemini.example/v1beta",
                "/v1beta/models/x:y",
                "https://gemini.example/v1beta/models/x:y",
            ),
            ("https://gemini.example/v1", "/v1beta/models/x:y", "https://gemini.example/v1/models/x:y"),
            ("https://gemini.example/v1alpha", "/v1beta/models/x", "https://gemini.example/v1alpha/models/x"),
            (
                "https://v.example/v1beta1/projects/p/locations/l/publishers/google",
                "/v1beta/models/x:y",
                "https://v.example/v1beta1/projects/p/locations/l/publishers/google/models/x:y",
            ),
            (
                "https://gateway.example/v1/account/anthropic",
                "/v1/messages",
                "https://gateway.example/v1/account/anthropic/v1/messages",
            ),
        ];
        for (base, path, expected) in cases {
            assert_eq!(join(base, path), expected);
        }
    }

    #[test]
    fn base_urls_are_checked() {
        for (url, good) in [
            ("https://api.openai.com/v1", true),
            (" http://localhost:11434/v1\n", true),
            ("localhost:11434", false),
            ("ftp://x", false),
            ("", false),
            ("http://", false),
        ] {
            assert_eq!(base(url).is_ok(), good, "{url:?}");
        }
        let loopback = |url: &str| is_loopback(&base(url).unwrap());
        assert!(loopback("http://127.0.0.1:1") && loopback("http://[::1]:1") && loopback("http://localhost"));
        assert!(!loopback("https://api.openai.com"));
    }
}
