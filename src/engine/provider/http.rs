//! The HTTP layer: makes a provider of any codec.
//!
//! Only this module opens connections to model services. It knows no wire format, retries no failed reply and
//! keeps no conversation; it sends one request, feeds the response to the codec's decoder, and turns every
//! transport failure into a [`ProviderError`]. It exposes a key only in the request's header. Called by
//! `app`, which passes it to the turn as a `Provider`.

mod address;
mod body;
mod connects;
mod exchange;
mod get;
mod key;
mod network;
mod secrets;
mod setup_error;
mod trouble;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;

use self::connects::ConnectionCounter;
use self::exchange::{Exchange, ExchangePhase, Throughput};
pub use self::get::get_json;
pub use self::key::{ApiKey, KeyHeader};
pub use self::network::Network;
use self::network::ProxyRoute;
use self::secrets::Secrets;
pub use self::setup_error::SetupError;
use self::trouble::Destination;
use super::{ErrorClass, HttpRequest, ModelRequest, Provider, ProviderError, StreamEvent, WireCodec};
use crate::stdx::clock::Clock;

/// The address of a model service and how to connect to it.
#[derive(Clone)]
pub struct Endpoint {
    /// The name for display and storage, e.g. `anthropic`.
    pub name: String,
    /// Codecs append their paths to it; a slash at its end is optional.
    pub base_url: String,
    /// `None` where the service needs none (a local server).
    pub key: Option<ApiKey>,
    pub key_header: KeyHeader,
    /// Sent with every request in addition to the key. They override a codec's own headers; their values are
    /// secrets too.
    pub headers: Vec<(String, ApiKey)>,
    pub network: Network,
    pub timeouts: Timeouts,
}

/// How long a server may be silent. The duration of a whole reply has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// The longest time before the first chunk of a reply and between two chunks; keep-alive comments count
    /// as chunks.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(15), idle: Duration::from_secs(300) }
    }
}

/// A model service reached over HTTP.
pub struct HttpProvider<W> {
    codec: Arc<W>,
    name: String,
    route: Route,
    idle: Duration,
    clock: Arc<dyn Clock>,
}

impl<W: WireCodec> HttpProvider<W> {
    /// Prepares connections to `endpoint`; sends nothing yet. `clock` is used to read dates in `retry-after`.
    pub fn new(codec: W, endpoint: &Endpoint, clock: Arc<dyn Clock>) -> Result<Self, SetupError> {
        let mut route = Route::to(endpoint, endpoint.timeouts.connect)?;
        route.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        route.headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        let (codec, name, idle) = (Arc::new(codec), endpoint.name.clone(), endpoint.timeouts.idle);
        Ok(Self { codec, name, route, idle, clock })
    }

    fn request(&self, request: HttpRequest) -> Result<reqwest::RequestBuilder, ProviderError> {
        let (url, headers) = self.route.towards(&request.path, &request.headers)?;
        Ok(self.route.client.post(url).headers(headers).body(request.body))
    }
}

/// The parts shared by all requests to one endpoint.
struct Route {
    base_url: reqwest::Url,
    /// The key's header, and those of the kind of request.
    headers: HeaderMap,
    /// The user's own headers, which override the codec's.
    own_headers: HeaderMap,
    client: reqwest::Client,
    destination: Arc<Destination>,
}

impl Route {
    fn to(endpoint: &Endpoint, connect: Duration) -> Result<Self, SetupError> {
        let base_url = address::base(&endpoint.base_url)?;
        let mut headers = HeaderMap::new();
        if let Some(key) = &endpoint.key {
            let (name, value) = key.header(endpoint.key_header).ok_or(SetupError::Key)?;
            headers.insert(name, value);
        }
        let own_headers = own_headers(&endpoint.headers)?;
        let (via, connects) = (endpoint.network.via(&base_url)?, ConnectionCounter::default());
        let may_use_tls = base_url.scheme() == "https" || via.is_some();
        let client = endpoint.network.client(connect, via.as_ref(), may_use_tls, &connects)?;
        let secrets = secrets(endpoint, via.as_ref());
        let destination = Arc::new(Destination::new(&base_url, via, connect, secrets, connects));
        Ok(Self { base_url, headers, own_headers, client, destination })
    }

    /// Returns the URL of a path, and the headers of one request to it.
    fn towards(&self, path: &str, more: &[(&str, &str)]) -> Result<(reqwest::Url, HeaderMap), ProviderError> {
        let mut headers = self.headers.clone();
        for (name, value) in more {
            let pair = HeaderName::try_from(*name).ok().zip(HeaderValue::try_from(*value).ok());
            let (name, value) = pair.ok_or_else(|| {
                ProviderError::new(
                    ErrorClass::BadRequest,
                    format!("`{name}` is not a header that can be sent"),
                )
            })?;
            headers.insert(name, value);
        }
        for (name, value) in &self.own_headers {
            headers.insert(name, value.clone());
        }
        Ok((address::join(&self.base_url, path), headers))
    }
}

/// Converts the user's headers; marks them as sensitive, so that no library prints them.
fn own_headers(headers: &[(String, ApiKey)]) -> Result<HeaderMap, SetupError> {
    let mut own = HeaderMap::new();
    for (name, value) in headers {
        let pair = HeaderName::try_from(name.trim()).ok().zip(value.value(""));
        let (key, value) = pair.ok_or_else(|| SetupError::Header { name: name.clone() })?;
        own.insert(key, value);
    }
    Ok(own)
}

/// Whether a key sent to this URL could be read in transit: plain HTTP to another machine.
#[must_use]
pub fn is_unencrypted(url: &str) -> bool {
    address::base(url).is_ok_and(|url| url.scheme() == "http" && !address::is_loopback(&url))
}

/// Collects all secrets in this endpoint's requests, which no error may repeat.
fn secrets(endpoint: &Endpoint, via: Option<&ProxyRoute>) -> Secrets {
    let mut secrets = Secrets::default();
    if let Some(key) = &endpoint.key {
        key.hide_with(&mut secrets);
    }
    for (_, value) in &endpoint.headers {
        value.hide_with(&mut secrets);
    }
    secrets.add_address(&endpoint.base_url);
    for secret in endpoint.network.secrets() {
        secrets.add(&secret);
    }
    if let Some(via) = via {
        via.hide_with(&mut secrets);
    }
    secrets
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
        let request = ModelRequest { provider: self.name.clone(), ..request };
        let prepared = self.codec.encode(&request).and_then(|encoded| self.request(encoded));
        let decoder = self.codec.decoder(&request.model);
        let exchange = Exchange {
            codec: Arc::clone(&self.codec),
            decoder,
            request,
            phase: ExchangePhase::Prepared(Box::new(prepared)),
            ready: VecDeque::new(),
            reported: crate::message::Usage::default(),
            idle: self.idle,
            flow: Throughput::default(),
            destination: Arc::clone(&self.route.destination),
            clock: Arc::clone(&self.clock),
        };
        exchange.into_stream().take_until(cancel.cancelled_owned()).boxed()
    }
}

/// Creates a client for servers on this machine, which are reached without a proxy and without TLS.
pub(super) fn local_client(connect: Duration) -> Result<reqwest::Client, SetupError> {
    Network::default().client(connect, None, false, &ConnectionCounter::default())
}
