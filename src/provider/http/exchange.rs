//! One request and its reply, as a stream of events.
//!
//! A small state machine that is driven by whoever polls the stream: dropping it drops the connection. What a decoder
//! gave before an error is said before the error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{self, Stream};
use reqwest::Response;
use reqwest::header::{HeaderMap, LOCATION};
use tracing::Span;

use super::deepest;
use crate::provider::{ErrorClass, ProviderError, RetryHeaders, Seen, StreamDecoder, StreamEvent, WireCodec};
use crate::stdx::clock::Clock;

/// The most that is read of a body that explains a failure, in bytes.
const LONGEST_EXPLANATION: usize = 64 * 1024;

/// Pieces that are read after the end, so that the connection can be used again.
const LEFTOVERS: usize = 4;

pub(super) struct Exchange<W: WireCodec> {
    codec: Arc<W>,
    decoder: W::Decoder,
    phase: Phase,
    /// Decoded and not yet said.
    ready: VecDeque<StreamEvent>,
    idle: Duration,
    clock: Arc<dyn Clock>,
    span: Span,
}

enum Phase {
    /// Boxed, because it is by far the largest.
    Prepared(Box<Result<reqwest::RequestBuilder, ProviderError>>),
    Streaming(Response),
    /// The connection is done with; this error is still to be said.
    Failed(ProviderError),
    Over,
}

impl<W: WireCodec> Exchange<W> {
    pub fn new(
        prepared: Result<reqwest::RequestBuilder, ProviderError>,
        codec: Arc<W>,
        model: &str,
        idle: Duration,
        clock: Arc<dyn Clock>,
        span: Span,
    ) -> Self {
        let decoder = codec.decoder(model);
        let phase = Phase::Prepared(Box::new(prepared));
        Self { codec, decoder, phase, ready: VecDeque::new(), idle, clock, span }
    }

    pub fn into_stream(self) -> impl Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static {
        stream::unfold(self, |mut this| async move {
            let item = this.next().await?;
            Some((item, this))
        })
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Prepared(request) => self.phase = self.open(*request).await,
                Phase::Streaming(response) => self.phase = self.read(response).await,
                Phase::Failed(error) => {
                    self.span.record("error.type", tracing::field::debug(error.class));
                    self.record();
                    return Some(Err(error));
                }
                Phase::Over => return None,
            }
        }
    }

    /// Sends the request and looks at how it is answered.
    async fn open(&mut self, request: Result<reqwest::RequestBuilder, ProviderError>) -> Phase {
        let request = match request {
            Ok(request) => request,
            Err(error) => return Phase::Failed(error),
        };
        let response = match tokio::time::timeout(self.idle, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Phase::Failed(network(error)),
            Err(_) => return Phase::Failed(self.silent()),
        };
        let status = response.status();
        if status.is_redirection() {
            return Phase::Failed(redirected(&response));
        }
        if !status.is_success() {
            return Phase::Failed(self.refused(response).await);
        }
        Phase::Streaming(response)
    }

    /// Reads one piece of the stream.
    async fn read(&mut self, mut response: Response) -> Phase {
        let mut events = Vec::new();
        match tokio::time::timeout(self.idle, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let decoded = self.decoder.feed(&bytes, &mut events);
                if ends(&events) {
                    finish_connection(response);
                    return self.decoded(events, decoded, Phase::Over);
                }
                self.decoded(events, decoded, Phase::Streaming(response))
            }
            Ok(Ok(None)) => {
                let decoded = self.decoder.finish(&mut events);
                self.decoded(events, decoded, Phase::Over)
            }
            // A connection may be torn down roughly after a reply that was whole.
            Ok(Err(error)) => {
                let decoded = self.decoder.finish(&mut events).map_err(|_| broken(error));
                self.decoded(events, decoded, Phase::Over)
            }
            Err(_) => {
                let decoded = self.decoder.finish(&mut events).map_err(|_| self.silent());
                self.decoded(events, decoded, Phase::Over)
            }
        }
    }

    fn decoded(
        &mut self,
        events: Vec<StreamEvent>,
        decoded: Result<(), ProviderError>,
        next: Phase,
    ) -> Phase {
        let over = ends(&events);
        self.ready.extend(events);
        if over {
            self.record();
        }
        match decoded {
            Ok(()) => next,
            Err(error) => Phase::Failed(error),
        }
    }

    async fn refused(&mut self, response: Response) -> ProviderError {
        let status = response.status().as_u16();
        let headers = retry_headers(response.headers(), self.clock.as_ref());
        // A body that cannot be read explains nothing; the status still does.
        let body = self.body(response, LONGEST_EXPLANATION).await.unwrap_or_default();
        self.codec.classify(status, &headers, &body)
    }

    /// The body up to `limit` bytes; what follows is not read.
    async fn body(&mut self, mut response: Response, limit: usize) -> Result<Vec<u8>, ProviderError> {
        let mut body = Vec::new();
        while body.len() < limit {
            match tokio::time::timeout(self.idle, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    let room = (limit - body.len()).min(bytes.len());
                    body.extend_from_slice(bytes.get(..room).unwrap_or_default());
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(broken(error)),
                Err(_) => return Err(self.silent()),
            }
        }
        Ok(body)
    }

    fn silent(&self) -> ProviderError {
        let seconds = self.idle.as_secs_f32();
        ProviderError::new(ErrorClass::Idle, format!("the server said nothing for {seconds} s"))
    }

    fn record(&self) {
        let Seen { model, stop, usage } = self.decoder.seen();
        if let Some(model) = model {
            self.span.record("gen_ai.response.model", model);
        }
        if let Some(stop) = stop {
            self.span.record("gen_ai.response.finish_reasons", stop.raw.unwrap_or_default());
        }
        if let Some(input) = usage.input {
            self.span.record("gen_ai.usage.input_tokens", input);
        }
        if let Some(output) = usage.output {
            self.span.record("gen_ai.usage.output_tokens", output);
        }
    }
}

fn ends(events: &[StreamEvent]) -> bool {
    matches!(events.last(), Some(StreamEvent::Finished { .. }))
}

/// Reads what has already come after the end, so that the connection returns to the pool.
fn finish_connection(mut response: Response) {
    for _ in 0..LEFTOVERS {
        match response.chunk().now_or_never() {
            Some(Ok(Some(_))) => {}
            Some(Ok(None) | Err(_)) | None => return,
        }
    }
}

fn retry_headers(headers: &HeaderMap, clock: &dyn Clock) -> RetryHeaders {
    RetryHeaders::read(clock.now(), |name| headers.get(name).and_then(|value| value.to_str().ok()))
}

pub(super) fn redirected(response: &Response) -> ProviderError {
    let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("elsewhere");
    let mut error = ProviderError::new(
        ErrorClass::NotFound,
        format!("the server redirects to {to}; redirects are not followed, set the base URL to where it is"),
    );
    error.status = Some(response.status().as_u16());
    error
}

/// The request did not get through.
pub(super) fn network(error: reqwest::Error) -> ProviderError {
    let host = error.url().map(|url| url.host_str().unwrap_or_default().to_owned());
    let port = error.url().and_then(reqwest::Url::port).map_or(String::new(), |port| format!(":{port}"));
    let to = host.map_or_else(|| "the server".to_owned(), |host| format!("{host}{port}"));
    let timed_out = error.is_timeout();
    let reason = deepest(&error.without_url());
    let message = if timed_out {
        format!("connecting to {to} took too long")
    } else {
        format!("could not reach {to}: {reason}")
    };
    ProviderError::new(ErrorClass::Network, message)
}

/// The connection broke while the reply came.
pub(super) fn broken(error: reqwest::Error) -> ProviderError {
    let reason = deepest(&error.without_url());
    ProviderError::new(ErrorClass::Network, format!("the connection broke off: {reason}"))
}
