//! From spans that ended to the places where they are kept.
//!
//! One thread a place: it sleeps until a span ends, gathers what follows shortly after, and writes it in one batch. Its queue
//! is bounded; what does not fit is lost.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, KeyValue, Value as Attribute};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::file::{FileOptions, SpanWriter};
use super::otlp::{Collector, OtlpOptions};
use super::sink::{Loss, Sink};
use super::{content, spans};
use crate::config::SpanContent;

/// Spans that wait for one thread.
const QUEUE: usize = 1024;

/// The most spans of a batch.
const BATCH: usize = 256;

/// How long a batch waits for further spans.
const GATHER: Duration = Duration::from_millis(150);

/// Where spans go.
pub struct TelemetryOptions {
    /// `None`: no file is written.
    pub file: Option<FileOptions>,
    pub otlp: Option<OtlpOptions>,
    pub content: SpanContent,
    /// Replaces the keys that the program itself uses.
    pub conceal: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

/// The spans of this process. Clones share everything; without [`Telemetry::start`] spans go nowhere.
#[derive(Clone, Default)]
pub struct Telemetry(Arc<Collecting>);

#[derive(Default)]
struct Collecting {
    places: OnceLock<Vec<Queue>>,
    resource: OnceLock<Resource>,
    trouble: Mutex<Trouble>,
}

#[derive(Default)]
struct Trouble {
    lost: usize,
    /// Why, for the first of them.
    why: Option<String>,
}

struct Queue {
    sender: SyncSender<Job>,
    /// Spans that are neither written nor lost yet.
    pending: Arc<AtomicUsize>,
    /// How long the end of the process waits for it.
    patience: Duration,
}

enum Job {
    Span(Box<SpanData>),
    /// Answered once all spans before it are written.
    Flush(SyncSender<()>),
}

impl Telemetry {
    /// Returns the layer that makes spans of this program's own; `variables` may describe the process further.
    pub fn layer<S>(&self, variables: &BTreeMap<String, String>) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        let resource = self.0.resource.get_or_init(|| resource(variables)).clone();
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource)
            .with_span_processor(Processor(Arc::clone(&self.0)))
            .build();
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("co"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_level(false)
            .with_tracked_inactivity(false)
            .with_context_activation(false)
            .with_filter(filter_fn(|meta| meta.is_span() && meta.target().starts_with("co::")))
    }

    /// Starts the threads that keep the spans; a second call does nothing.
    pub fn start(&self, options: TelemetryOptions) {
        let TelemetryOptions { file, otlp, content, conceal } = options;
        self.0.places.get_or_init(|| {
            let Some(resource) = self.0.resource.get() else { return Vec::new() };
            let own = Arc::clone(&conceal);
            let text = move |text: &str| content::stored(text, content, &*own);
            let file = file.map(|file| {
                let writer = SpanWriter::new(file, described(resource), Box::new(text.clone()));
                self.queue("co-spans", Duration::from_millis(500), move || writer)
            });
            let otlp = otlp.map(|options| {
                let resource = resource.clone();
                // The exporter must not be made inside an async runtime.
                self.queue("co-otlp", Duration::from_secs(3), move || {
                    Collector::new(options, &resource, Box::new(text))
                })
            });
            file.into_iter().chain(otlp).flatten().collect()
        });
    }

    /// Starts a thread; without one the spans are lost.
    fn queue<S: Sink>(
        &self,
        name: &str,
        patience: Duration,
        open: impl FnOnce() -> S + Send + 'static,
    ) -> Option<Queue> {
        let (sender, jobs) = sync_channel(QUEUE);
        let shared = Arc::clone(&self.0);
        let pending: Arc<AtomicUsize> = Arc::default();
        let left = Arc::clone(&pending);
        let run = move || serve(&jobs, &mut open(), &shared, &left);
        match std::thread::Builder::new().name(name.to_owned()).spawn(run) {
            Ok(_) => Some(Queue { sender, pending, patience }),
            Err(error) => {
                self.0.lose(0, format!("spans are not kept: {error}"));
                None
            }
        }
    }

    /// Has the spans that ended written without waiting for more of them, and does not wait for it.
    pub fn write_soon(&self) {
        for queue in self.0.places.get().into_iter().flatten() {
            let (done, _) = sync_channel(1);
            // Where the queue is full they are being written.
            drop(queue.sender.try_send(Job::Flush(done)));
        }
    }

    /// Waits until the spans that ended are kept, for a bounded time. What is not written by then is lost.
    pub fn flush(&self) {
        for queue in self.0.places.get().into_iter().flatten() {
            let (done, written) = sync_channel(1);
            let is_written = queue.sender.try_send(Job::Flush(done)).is_ok()
                && written.recv_timeout(queue.patience).is_ok();
            let pending = queue.pending.load(Ordering::Relaxed);
            if !is_written && pending > 0 {
                self.0.lose(pending, "the program ended before they could be written".to_owned());
            }
        }
    }

    /// Returns the first reason why spans were lost, and how many, in a sentence; once.
    #[must_use]
    pub fn take_trouble(&self) -> Option<String> {
        let mut trouble = self.0.trouble.lock();
        let sentence = trouble.sentence();
        *trouble = Trouble::default();
        sentence
    }

    /// The same without taking it.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().sentence()
    }
}

impl Trouble {
    fn sentence(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(match self.lost {
            0 => format!("{why}."),
            1 => format!("1 span was lost: {why}."),
            lost => format!("{lost} spans were lost: {why}."),
        })
    }
}

impl Collecting {
    fn lose(&self, spans: usize, why: String) {
        let mut trouble = self.trouble.lock();
        trouble.lost += spans;
        trouble.why.get_or_insert(why);
    }
}

fn serve(jobs: &Receiver<Job>, sink: &mut impl Sink, shared: &Collecting, pending: &AtomicUsize) {
    sink.maintain();
    while let Ok(first) = jobs.recv() {
        let (mut batch, mut flushed) = (Vec::new(), None);
        let until = Instant::now() + GATHER;
        let mut next = Some(first);
        while let Some(job) = next.take() {
            match job {
                Job::Span(span) => batch.push(*span),
                Job::Flush(done) => {
                    flushed = Some(done);
                    break;
                }
            }
            if batch.len() < BATCH {
                next = jobs.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
            }
        }
        let count = batch.len();
        let written = if count > 0 { sink.write(batch) } else { Ok(()) };
        pending.fetch_sub(count, Ordering::Relaxed);
        match written {
            Ok(()) => {}
            Err(Loss::Spans(why)) => shared.lose(count, why),
            Err(Loss::Other(why)) => shared.lose(0, why),
        }
        match flushed {
            // The process may have stopped waiting.
            Some(done) => drop(done.try_send(())),
            None => sink.maintain(),
        }
    }
}

/// Passes spans on as they end.
struct Processor(Arc<Collecting>);

impl fmt::Debug for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Processor")
    }
}

impl SpanProcessor for Processor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, mut span: SpanData) {
        let Some(places) = self.0.places.get() else { return };
        take_times(&mut span);
        // A clock may go back.
        span.end_time = span.end_time.max(span.start_time);
        for place in places {
            place.pending.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = place.sender.try_send(Job::Span(Box::new(span.clone()))) {
                place.pending.fetch_sub(1, Ordering::Relaxed);
                let why = match error {
                    TrySendError::Full(_) => "they came faster than they could be kept",
                    TrySendError::Disconnected(_) => "their thread has ended",
                };
                self.0.lose(1, why.to_owned());
            }
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Applies the times that a span was given by attributes.
fn take_times(span: &mut SpanData) {
    for key in [spans::STARTED, spans::ENDED] {
        let given = span.attributes.iter().position(|pair| pair.key.as_str() == key);
        let Some(Attribute::I64(nanos)) = given.map(|at| span.attributes.swap_remove(at).value) else {
            continue;
        };
        let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        match key {
            spans::STARTED => span.start_time = at,
            _ => span.end_time = at,
        }
    }
}

/// Describes this program, by the standard variables too.
fn resource(variables: &BTreeMap<String, String>) -> Resource {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let given = variables.get("OTEL_RESOURCE_ATTRIBUTES").map(String::as_str).unwrap_or_default();
    for pair in given.split(',') {
        if let Some((key, value)) = pair.split_once('=') {
            all.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    all.insert("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let name = variables.get("OTEL_SERVICE_NAME").filter(|name| !name.is_empty()).cloned();
    if let Some(name) = name {
        all.insert("service.name".to_owned(), name);
    }
    all.entry("service.name".to_owned()).or_insert_with(|| "co".to_owned());
    Resource::builder_empty()
        .with_attributes(all.into_iter().map(|(key, value)| KeyValue::new(key, value)))
        .build()
}

fn described(resource: &Resource) -> Value {
    let pairs = resource.iter().map(|(key, value)| (key.to_string(), Value::String(value.to_string())));
    Value::Object(pairs.collect::<Map<String, Value>>())
}
