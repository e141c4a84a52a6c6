//! One request and its reply, as a stream of events.
//!
//! A small state machine that is driven by whoever polls the stream: dropping it drops the connection. What a decoder
//! gave before an error is said before the error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::stream::{self, Stream};
use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, Response};
use tokio::task::JoinHandle;
use tracing::Span;

use super::trouble::{self, Place};
use crate::message::Usage;
use crate::provider::{ErrorClass, ProviderError, RetryHeaders, Seen, StreamDecoder, StreamEvent, WireCodec};
use crate::stdx::clock::Clock;

/// The most that is read of a body that explains a failure, in bytes.
const LONGEST_EXPLANATION: usize = 64 * 1024;

/// Pieces that are read after the end, so that the connection can be used again.
const LEFTOVERS: usize = 4;

/// How long those are waited for.
const LEFTOVERS_WAIT: Duration = Duration::from_secs(2);

pub(super) struct Exchange<W: WireCodec> {
    pub codec: Arc<W>,
    pub decoder: W::Decoder,
    /// The name that opaque data is bound to.
    pub provider: String,
    pub phase: Phase,
    /// Decoded and not yet said.
    pub ready: VecDeque<StreamEvent>,
    /// The usage that was said last.
    pub told: Usage,
    pub idle: Duration,
    pub place: Arc<Place>,
    pub clock: Arc<dyn Clock>,
    pub span: Span,
}

pub(super) enum Phase {
    /// Boxed, because it is by far the largest.
    Prepared(Box<Result<RequestBuilder, ProviderError>>),
    Streaming(Response),
    /// The reply is whole; what is left of the body is still read.
    Ending(JoinHandle<()>),
    /// The connection is done with; this error is still to be said.
    Failed(ProviderError),
    Over,
}

impl<W: WireCodec> Exchange<W> {
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
                    let error = self.place.secrets.hide_in_error(error);
                    self.span.record("error.type", tracing::field::debug(error.class));
                    self.record();
                    return Some(Err(error));
                }
                Phase::Ending(rest) => {
                    // A task that failed leaves a connection that is not used again, and nothing else.
                    let _ = rest.await;
                    return None;
                }
                Phase::Over => return None,
            }
        }
    }

    /// Sends the request and looks at how it is answered.
    async fn open(&mut self, request: Result<RequestBuilder, ProviderError>) -> Phase {
        let sent = match request {
            Ok(request) => self.send(request).await,
            Err(error) => return Phase::Failed(error),
        };
        let response = match sent {
            Ok(response) => response,
            Err(error) => return Phase::Failed(error),
        };
        let status = response.status();
        if status.is_redirection() {
            return Phase::Failed(trouble::redirected(&response));
        }
        if !status.is_success() {
            return Phase::Failed(self.refused(response).await);
        }
        match trouble::compressed(&response) {
            Some(error) => Phase::Failed(error),
            None => Phase::Streaming(response),
        }
    }

    /// Sends the request; once more where the connection of an earlier one was used and turned out to be closed.
    async fn send(&mut self, request: RequestBuilder) -> Result<Response, ProviderError> {
        let again = request.try_clone();
        let before = self.place.connects.count();
        let error = match self.send_once(request).await? {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let was_kept = self.place.connects.count() == before;
        match again.filter(|_| was_kept && trouble::was_closed(&error)) {
            Some(again) => self.send_once(again).await?.map_err(|error| self.place.unreached(error)),
            None => Err(self.place.unreached(error)),
        }
    }

    async fn send_once(
        &mut self,
        request: RequestBuilder,
    ) -> Result<Result<Response, reqwest::Error>, ProviderError> {
        tokio::time::timeout(self.idle, request.send()).await.map_err(|_| self.silent())
    }

    /// Reads one piece of the stream.
    async fn read(&mut self, mut response: Response) -> Phase {
        let mut events = Vec::new();
        match tokio::time::timeout(self.idle, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let decoded = self.decoder.feed(&bytes, &mut events);
                if ends(&events) {
                    let rest = Phase::Ending(finish_connection(response));
                    return self.decoded(events, decoded, rest);
                }
                self.decoded(events, decoded, Phase::Streaming(response))
            }
            Ok(Ok(None)) => {
                let decoded = self.decoder.finish(&mut events);
                self.decoded(events, decoded, Phase::Over)
            }
            // A connection may be torn down roughly after a reply that was whole.
            Ok(Err(error)) => {
                let decoded = self.decoder.finish(&mut events).map_err(|_| trouble::broken(&error));
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
        mut events: Vec<StreamEvent>,
        decoded: Result<(), ProviderError>,
        next: Phase,
    ) -> Phase {
        let over = ends(&events);
        bind(&mut events, &self.provider);
        self.ready.extend(events);
        if over {
            self.record();
        } else {
            self.tell_usage();
        }
        match decoded {
            Ok(()) => next,
            Err(error) => Phase::Failed(error),
        }
    }

    /// Says what the reply told of its usage, whenever that is another than before.
    fn tell_usage(&mut self) {
        let usage = self.decoder.seen().usage;
        if usage != self.told {
            self.told = usage;
            self.ready.push_back(StreamEvent::Usage { usage });
        }
    }

    async fn refused(&mut self, response: Response) -> ProviderError {
        let status = response.status().as_u16();
        if let Some(error) = self.place.in_the_way(status) {
            return error;
        }
        let headers = retry_headers(response.headers(), self.clock.as_ref());
        // A body that cannot be read explains nothing; the status still does.
        let body = self.body(response, LONGEST_EXPLANATION).await.unwrap_or_default();
        self.codec.classify(status, &headers, &self.place.secrets.hide_in(body))
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
                Ok(Err(error)) => return Err(trouble::broken(&error)),
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

/// Makes opaque data this provider's: no other gets it back, though it has a model of the same name.
fn bind(events: &mut [StreamEvent], provider: &str) {
    for event in events {
        if let StreamEvent::PartEnded { opaque: Some(opaque), .. } = event {
            provider.clone_into(&mut opaque.provider);
        }
    }
}

/// Reads what comes after the end, so that the connection returns to the pool. Goes on by itself where nobody waits.
fn finish_connection(mut response: Response) -> JoinHandle<()> {
    let rest = async move {
        for _ in 0..LEFTOVERS {
            if !matches!(response.chunk().await, Ok(Some(_))) {
                return;
            }
        }
    };
    let mut rest = Box::pin(tokio::time::timeout(LEFTOVERS_WAIT, rest));
    // Mostly all has come, and the next request must find the connection.
    let done = (&mut rest).now_or_never().is_some();
    tokio::spawn(async move {
        if !done {
            // What takes longer is closed, and the next request opens another connection.
            let _ = rest.await;
        }
    })
}

fn retry_headers(headers: &HeaderMap, clock: &dyn Clock) -> RetryHeaders {
    RetryHeaders::read(clock.now(), |name| headers.get(name).and_then(|value| value.to_str().ok()))
}
