//! One request and its reply, as a stream of events.
//!
//! A small state machine driven by polling the stream: dropping it drops the connection. Events decoded
//! before an error are emitted before the error.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use reqwest::{RequestBuilder, Response};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::body::ResponseBody;
use super::trouble::{self, Destination};
use crate::message::Usage;
use crate::provider::{
    ErrorClass, ModelRequest, ProviderError, RetryHeaders, StreamDecoder, StreamEvent, WireCodec,
};
use crate::stdx::clock::Clock;
use crate::stdx::moment::duration;
use crate::stdx::text::size;

/// The most that is read of a body that explains a failure, in bytes.
const LONGEST_EXPLANATION: usize = 64 * 1024;

/// A reply that delivers less than [`TRICKLE`] bytes of events within this time is broken: comments and
/// single bytes would otherwise keep it open forever.
const TRICKLE_WINDOW: Duration = Duration::from_secs(600);

/// See [`TRICKLE_WINDOW`].
const TRICKLE: usize = 1024;

pub(super) struct Exchange<W: WireCodec> {
    pub codec: Arc<W>,
    pub decoder: W::Decoder,
    pub request: ModelRequest,
    pub phase: ExchangePhase,
    /// Decoded events that are not emitted yet.
    pub ready: VecDeque<StreamEvent>,
    /// The usage that was emitted last.
    pub reported: Usage,
    pub idle: Duration,
    pub flow: Throughput,
    pub destination: Arc<Destination>,
    pub clock: Arc<dyn Clock>,
}

pub(super) enum ExchangePhase {
    /// Boxed, because it is by far the largest variant.
    Prepared(Box<Result<RequestBuilder, ProviderError>>),
    Streaming(ResponseBody),
    /// The reply is complete; the rest of the body is still read.
    Ending(JoinHandle<()>),
    /// The connection is finished; this error is still to be emitted.
    Failed(ProviderError),
    Over,
}

/// The number of event bytes received in the current window; those after the first [`TRICKLE`] may be missing.
#[derive(Default)]
pub(super) struct Throughput {
    /// `None` until the first bytes: the time before them is limited by the idle timeout.
    since: Option<Instant>,
    bytes: usize,
}

impl Throughput {
    /// Adds what was received, of which the event bytes count until they are enough; errs where a window ended with too few.
    fn note(&mut self, piece: &[u8]) -> Result<(), ProviderError> {
        if self.bytes < TRICKLE {
            self.bytes += event_bytes(piece);
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < TRICKLE_WINDOW {
            return Ok(());
        }
        let flow = std::mem::replace(self, Self { since: Some(Instant::now()), bytes: 0 });
        if flow.bytes >= TRICKLE {
            return Ok(());
        }
        let text = format!("the server sent {} in {}", size(flow.bytes), duration(TRICKLE_WINDOW));
        Err(ProviderError::new(ErrorClass::Idle, text))
    }
}

/// Counts the bytes of event lines: neither comments nor line separators.
fn event_bytes(piece: &[u8]) -> usize {
    let lines = piece.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.starts_with(b":")).map(<[u8]>::len).sum()
}

impl<W: WireCodec> Exchange<W> {
    pub fn into_stream(self) -> impl Stream<Item = Result<StreamEvent, ProviderError>> + Send + 'static {
        // Boxed, because it is moved with each event.
        stream::unfold(Box::new(self), |mut this| async move {
            let item = this.next().await?;
            Some((item, this))
        })
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.phase, ExchangePhase::Over) {
                ExchangePhase::Prepared(request) => {
                    let opened = self.open(*request).await;
                    self.phase = opened.map_or_else(ExchangePhase::Failed, ExchangePhase::Streaming);
                }
                ExchangePhase::Streaming(body) => self.phase = self.read(body).await,
                ExchangePhase::Failed(error) => {
                    let error = self.destination.secrets.hide_in_error(error);
                    tracing::debug!(provider = %self.request.provider, class = ?error.class, "a request failed");
                    return Some(Err(error));
                }
                ExchangePhase::Ending(rest) => {
                    // If the task failed, its connection is not reused; nothing else depends on it.
                    let _ = rest.await;
                    return None;
                }
                ExchangePhase::Over => return None,
            }
        }
    }

    /// Sends the request and checks the response's status and headers.
    async fn open(
        &mut self,
        request: Result<RequestBuilder, ProviderError>,
    ) -> Result<ResponseBody, ProviderError> {
        let response = self.send(request?).await?;
        let status = response.status();
        if status.is_redirection() {
            return Err(trouble::redirect_error(&response));
        }
        if !status.is_success() {
            return Err(self.refusal(response).await);
        }
        trouble::compression_error(&response).map_or_else(|| Ok(ResponseBody::of(response)), Err)
    }

    /// Sends the request; repeats it once where it used a kept connection that turned out to be closed.
    async fn send(&mut self, request: RequestBuilder) -> Result<Response, ProviderError> {
        let again = request.try_clone();
        let before = self.destination.connects.count();
        let error = match self.send_once(request).await? {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        let was_kept = self.destination.connects.count() == before;
        match again.filter(|_| was_kept && trouble::was_closed(&error)) {
            Some(again) => self.send_once(again).await?.map_err(|error| self.destination.send_error(error)),
            None => Err(self.destination.send_error(error)),
        }
    }

    async fn send_once(
        &mut self,
        request: RequestBuilder,
    ) -> Result<Result<Response, reqwest::Error>, ProviderError> {
        tokio::time::timeout(self.idle, request.send()).await.map_err(|_| self.silent())
    }

    /// Reads and decodes the next chunks of the stream.
    async fn read(&mut self, mut body: ResponseBody) -> ExchangePhase {
        let mut pieces = Vec::new();
        let read = tokio::time::timeout(self.idle, body.read(&mut pieces)).await;
        let mut events = Vec::new();
        for (piece, _room) in pieces {
            match piece {
                Ok(bytes) => {
                    if let Err(error) = self.feed(&bytes, &mut events) {
                        return self.on_decoded(events, Err(error), ExchangePhase::Over);
                    }
                }
                // A server may break the connection after a complete reply.
                Err(error) => return self.on_stream_end(events, || trouble::connection_error(&error)),
            }
        }
        match read {
            Ok(_) if ends(&events) => {
                self.on_decoded(events, Ok(()), ExchangePhase::Ending(tokio::spawn(body.finish())))
            }
            Ok(0) => {
                let decoded = self.decoder.finish(&mut events);
                self.on_decoded(events, decoded, ExchangePhase::Over)
            }
            Ok(_) => self.on_decoded(events, Ok(()), ExchangePhase::Streaming(body)),
            Err(_) => {
                let silent = self.silent();
                self.on_stream_end(events, || silent)
            }
        }
    }

    fn feed(&mut self, bytes: &Bytes, events: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        self.flow.note(bytes)?;
        self.decoder.feed(bytes, events)
    }

    /// Handles the end of the stream: fails with `why`, unless the reply was complete.
    fn on_stream_end(
        &mut self,
        mut events: Vec<StreamEvent>,
        why: impl FnOnce() -> ProviderError,
    ) -> ExchangePhase {
        let decoded = self.decoder.finish(&mut events).map_err(|_| why());
        self.on_decoded(events, decoded, ExchangePhase::Over)
    }

    fn on_decoded(
        &mut self,
        mut events: Vec<StreamEvent>,
        decoded: Result<(), ProviderError>,
        next: ExchangePhase,
    ) -> ExchangePhase {
        let over = ends(&events);
        bind(&mut events, &self.request.provider);
        self.notice(&mut events);
        self.ready.extend(events);
        if !over {
            self.report_usage();
        }
        decoded.map_or_else(ExchangePhase::Failed, |()| next)
    }

    /// Inserts the codec's notice about the request before `Finished`: a decoder knows only the reply.
    fn notice(&self, events: &mut Vec<StreamEvent>) {
        let notice = match events.last() {
            Some(StreamEvent::Finished { usage, .. }) => self.codec.notice(&self.request, usage),
            Some(_) | None => None,
        };
        if let Some(text) = notice {
            events.insert(events.len() - 1, StreamEvent::Notice { text });
        }
    }

    /// Emits the usage reported so far, whenever it has changed.
    fn report_usage(&mut self) {
        let usage = self.decoder.metadata().usage;
        if usage != self.reported {
            self.reported = usage;
            self.ready.push_back(StreamEvent::Usage { usage });
        }
    }

    async fn refusal(&mut self, response: Response) -> ProviderError {
        let status = response.status().as_u16();
        if let Some(error) = self.destination.in_the_way(status) {
            return error;
        }
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let headers = RetryHeaders::read(self.clock.now(), header);
        // An unreadable body explains nothing; the status still classifies the failure.
        let body = self.explanation(response).await.unwrap_or_default();
        self.codec.classify(status, &headers, &self.destination.secrets.hide_in(body))
    }

    /// Reads the body up to a limit; the rest is not read. `None` if it breaks off.
    async fn explanation(&mut self, mut response: Response) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        while body.len() < LONGEST_EXPLANATION
            && let Some(bytes) = tokio::time::timeout(self.idle, response.chunk()).await.ok()?.ok()?
        {
            body.extend_from_slice(&bytes);
        }
        body.truncate(LONGEST_EXPLANATION);
        Some(body)
    }

    fn silent(&self) -> ProviderError {
        ProviderError::new(ErrorClass::Idle, format!("the server was silent for {}", duration(self.idle)))
    }
}

fn ends(events: &[StreamEvent]) -> bool {
    matches!(events.last(), Some(StreamEvent::Finished { .. }))
}

/// Binds opaque data to this provider: another provider with a model of the same name must not receive it.
fn bind(events: &mut [StreamEvent], provider: &str) {
    for event in events {
        if let StreamEvent::PartEnded { opaque: Some(opaque), .. } = event {
            provider.clone_into(&mut opaque.provider);
        }
    }
}
