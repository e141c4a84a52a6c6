//! From spans that ended to the places where they are kept.
//!
//! One thread a place: it sleeps until a span ends, lets what follows shortly after gather without waking it, and writes it
//! in one batch. Its queue is bounded; what does not fit is lost.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::repeat_n;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Context, KeyValue, Value as Attribute};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor};
use parking_lot::{Condvar, Mutex};
use serde_json::{Map, Value};
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::content::Conceal;
use super::file::{FileOptions, SpanWriter};
use super::otlp::{Collector, OtlpOptions};
use super::sink::{Loss, Sink};
use super::{content, spans};
use crate::config::SpanContent;

/// Spans that wait for one thread.
const QUEUE: usize = 1024;

/// A batch of this size is written without waiting for more spans; none is larger.
const BATCH: usize = 256;

/// How long a batch waits for further spans.
const GATHER: Duration = Duration::from_millis(150);

/// The crates of this program, as targets of spans and log lines begin.
pub const CRATES: [&str; 3] = ["co", "co_base", "co_engine"];

/// Where spans go.
pub struct TelemetryOptions {
    /// `None`: no file is written.
    pub file: Option<FileOptions>,
    pub otlp: Option<OtlpOptions>,
    pub content: SpanContent,
    /// Replaces the keys that the program itself uses.
    pub conceal: Arc<Conceal>,
}

/// The spans of this process. Clones share everything; without [`Telemetry::start`] spans go nowhere.
#[derive(Clone, Default)]
pub struct Telemetry(Arc<CollectorState>);

#[derive(Default)]
struct CollectorState {
    places: OnceLock<Vec<Queue>>,
    resource: OnceLock<Resource>,
    trouble: Mutex<LossReport>,
}

#[derive(Default)]
struct LossReport {
    lost: usize,
    /// Why, for the first of them.
    why: Option<String>,
}

struct Queue {
    waiting: Arc<WaitingJobs>,
    /// How long the end of the process waits for it.
    patience: Duration,
}

/// The jobs that wait for the thread of a place.
#[derive(Default)]
struct WaitingJobs {
    jobs: Mutex<Jobs>,
    /// Signalled when there is a first span, a batch of them, or someone who waits.
    ready: Condvar,
}

#[derive(Default)]
struct Jobs {
    spans: Vec<SpanData>,
    /// Answered once all spans before are written.
    flushes: Vec<SyncSender<()>>,
    /// Spans that are being written.
    writing: usize,
    /// The thread has ended, which only a panic brings about.
    is_over: bool,
}

impl WaitingJobs {
    /// Adds a span. Errs, with the reason, if it is lost.
    fn add(&self, span: SpanData) -> Result<(), &'static str> {
        let mut jobs = self.jobs.lock();
        if jobs.is_over {
            return Err("their thread has ended");
        }
        if jobs.spans.len() >= QUEUE {
            return Err("they came faster than they could be kept");
        }
        jobs.spans.push(span);
        if [1, BATCH].contains(&jobs.spans.len()) {
            self.ready.notify_one();
        }
        Ok(())
    }

    /// Has `done` answered once all spans so far are written; without a thread it is dropped.
    fn flush(&self, done: SyncSender<()>) {
        let mut jobs = self.jobs.lock();
        if !jobs.is_over {
            jobs.flushes.push(done);
            self.ready.notify_one();
        }
    }

    /// Waits for a batch and those who wait for it.
    fn next(&self) -> (Vec<SpanData>, Vec<SyncSender<()>>) {
        let mut jobs = self.jobs.lock();
        while jobs.spans.is_empty() && jobs.flushes.is_empty() {
            self.ready.wait(&mut jobs);
        }
        let until = Instant::now() + GATHER;
        while jobs.flushes.is_empty() && jobs.spans.len() < BATCH {
            if self.ready.wait_until(&mut jobs, until).timed_out() {
                break;
            }
        }
        let count = jobs.spans.len().min(BATCH);
        let rest = jobs.spans.split_off(count);
        let batch = std::mem::replace(&mut jobs.spans, rest);
        jobs.writing = batch.len();
        // Those who wait are answered with the last batch.
        let flushes = if jobs.spans.is_empty() { std::mem::take(&mut jobs.flushes) } else { Vec::new() };
        (batch, flushes)
    }
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
            .with_filter(filter_fn(|meta| meta.is_span() && is_own(meta.target())))
    }

    /// Starts the threads that keep the spans; a second call does nothing.
    pub fn start(&self, options: TelemetryOptions) {
        let TelemetryOptions { file, otlp, content, conceal } = options;
        self.0.places.get_or_init(|| {
            let Some(resource) = self.0.resource.get() else { return Vec::new() };
            let own = Arc::clone(&conceal);
            let text = move |text: &str| content::stored_text(text, content, &*own).into_owned();
            let file = file.map(|file| {
                let writer = SpanWriter::new(file, describe(resource), Box::new(text.clone()));
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
        let shared = Arc::clone(&self.0);
        let waiting: Arc<WaitingJobs> = Arc::default();
        let served = Arc::clone(&waiting);
        let run = move || serve(&served, &mut open(), &shared);
        match std::thread::Builder::new().name(name.to_owned()).spawn(run) {
            Ok(_) => Some(Queue { waiting, patience }),
            Err(error) => {
                self.0.lose(0, format!("spans are not kept: {error}"));
                None
            }
        }
    }

    /// Has the spans that ended written without waiting for more of them, and does not wait for it.
    pub fn write_soon(&self) {
        for queue in self.0.places.get().into_iter().flatten() {
            queue.waiting.flush(sync_channel(1).0);
        }
    }

    /// Waits until the spans that ended are kept, for a bounded time. What is not written by then is lost.
    pub fn flush(&self) {
        for queue in self.0.places.get().into_iter().flatten() {
            let (done, written) = sync_channel(1);
            queue.waiting.flush(done);
            if written.recv_timeout(queue.patience).is_ok() {
                continue;
            }
            let jobs = queue.waiting.jobs.lock();
            let pending = jobs.spans.len() + jobs.writing;
            if pending > 0 {
                self.0.lose(pending, "the program ended before they could be written".to_owned());
            }
        }
    }

    /// Returns the first reason why spans were lost, and how many, in a sentence; once.
    #[must_use]
    pub fn take_trouble(&self) -> Option<String> {
        std::mem::take(&mut *self.0.trouble.lock()).sentence()
    }

    /// The same without taking it.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().sentence()
    }
}

fn is_own(target: &str) -> bool {
    target.split_once("::").is_some_and(|(name, _)| CRATES.contains(&name))
}

impl LossReport {
    fn sentence(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(match self.lost {
            0 => format!("{why}."),
            1 => format!("1 span was lost: {why}."),
            lost => format!("{lost} spans were lost: {why}."),
        })
    }
}

impl CollectorState {
    fn lose(&self, spans: usize, why: String) {
        let mut trouble = self.trouble.lock();
        trouble.lost += spans;
        trouble.why.get_or_insert(why);
    }
}

/// Tells those who wait that the thread has ended.
struct WaiterGuard<'a>(&'a WaitingJobs);

impl Drop for WaiterGuard<'_> {
    fn drop(&mut self) {
        let mut jobs = self.0.jobs.lock();
        jobs.is_over = true;
        jobs.flushes.clear();
    }
}

fn serve(waiting: &WaitingJobs, sink: &mut impl Sink, shared: &CollectorState) {
    let _serving = WaiterGuard(waiting);
    sink.maintain();
    loop {
        let (batch, flushes) = waiting.next();
        let count = batch.len();
        let written = if count > 0 { sink.write(batch) } else { Ok(()) };
        waiting.jobs.lock().writing = 0;
        match written {
            Ok(()) => {}
            Err(Loss::Spans(why)) => shared.lose(count, why),
            Err(Loss::Other(why)) => shared.lose(0, why),
        }
        if flushes.is_empty() {
            sink.maintain();
        }
        for done in flushes {
            // The process may have stopped waiting.
            let _ = done.try_send(());
        }
    }
}

/// Passes spans on as they end.
struct Processor(Arc<CollectorState>);

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
        for (place, span) in places.iter().zip(repeat_n(span, places.len())) {
            if let Err(why) = place.waiting.add(span) {
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

fn describe(resource: &Resource) -> Value {
    let pairs = resource.iter().map(|(key, value)| (key.to_string(), Value::String(value.to_string())));
    Value::Object(pairs.collect::<Map<String, Value>>())
}
