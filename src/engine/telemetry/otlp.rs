//! Sending spans and metrics to an OTLP collector, over HTTP in protobuf.
//!
//! Content goes there only if the user's own settings say so. Metrics are made of the spans of model requests, with each batch,
//! so that nothing wakes the process between turns.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::executor::block_on;
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::Status;
use opentelemetry::{KeyValue, Value as Attribute};
use opentelemetry_otlp::{
    MetricExporter, Protocol, RetryPolicy, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};

use super::content::CONTENT_KEYS;
use super::sink::{Loss, Sink};
use crate::stdx::secrecy::shown_address;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Metrics are sent with the spans they are made of; the reader's own timer is of no use.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Returns the bounds of a histogram, by the conventions: of durations from a hundredth of a second, each twice the one
/// before, and of counts of tokens from one, each four times the one before.
fn bounds(first: f64, factor: f64) -> Vec<f64> {
    (0..14).map(|power| first * factor.powi(power)).collect()
}

/// Where to send, and what. Not `Debug`, because headers hold keys.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpOptions {
    /// The whole address; `None`: spans are not sent.
    pub traces: Option<String>,
    /// The whole address; `None`: metrics are not sent.
    pub metrics: Option<String>,
    pub headers: HashMap<String, String>,
    pub timeout: Duration,
    /// Whether messages, arguments and results are sent too.
    pub content: bool,
}

impl OtlpOptions {
    /// Reads the standard variables; `endpoint` and `headers` are those of the settings. `None` if nothing is to be sent;
    /// errs with a sentence about what cannot be done.
    pub fn of(
        variables: &BTreeMap<String, String>,
        endpoint: Option<&str>,
        headers: Option<&str>,
        content: bool,
    ) -> Result<Option<Self>, String> {
        let get =
            |name: &str| variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
        if get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let address = |signal: &str, path: &str| {
            if get(&format!("OTEL_{signal}_EXPORTER")) == Some("none") {
                return None;
            }
            let own = get(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")).map(ToOwned::to_owned);
            own.or_else(|| endpoint.map(|base| format!("{}/{path}", base.trim_end_matches('/'))))
        };
        let (traces, metrics) = (address("TRACES", "v1/traces"), address("METRICS", "v1/metrics"));
        if traces.is_none() && metrics.is_none() {
            return Ok(None);
        }
        match get("OTEL_EXPORTER_OTLP_PROTOCOL") {
            None | Some("http/protobuf") => {}
            Some(other) => {
                return Err(format!(
                    "`OTEL_EXPORTER_OTLP_PROTOCOL` is {other:?}: only `http/protobuf` is spoken, usually on port 4318. \
                     Nothing is sent"
                ));
            }
        }
        let millis = get("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|text| text.parse().ok());
        let timeout = millis.map_or(TIMEOUT, Duration::from_millis);
        let headers = headers.unwrap_or_default().split(',').filter_map(|pair| pair.split_once('='));
        let headers =
            headers.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
        Ok(Some(Self { traces, metrics, headers, timeout, content }))
    }

    /// The addresses, for people.
    #[must_use]
    pub fn addresses(&self) -> Vec<&str> {
        self.traces.iter().chain(&self.metrics).map(String::as_str).collect()
    }
}

/// A text as it may leave the process.
type Clean = Box<dyn Fn(&str) -> String + Send>;

/// Sends batches to a collector.
pub(super) struct Collector {
    spans: Option<Result<SpanExporter, String>>,
    metrics: Option<Metrics>,
    content: bool,
    clean: Clean,
}

struct Metrics {
    provider: SdkMeterProvider,
    tokens: Histogram<u64>,
    duration: Histogram<f64>,
    first_chunk: Histogram<f64>,
}

impl Collector {
    /// Prepares connections; must not be called inside an async runtime.
    pub fn new(options: OtlpOptions, resource: &Resource, clean: Clean) -> Self {
        let OtlpOptions { traces, metrics, headers, timeout, content } = options;
        let retry = RetryPolicy::default().with_max_retries(2);
        let spans = traces.map(|address| {
            let builder = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
            let builder = builder.with_endpoint(&address).with_timeout(timeout);
            let built = builder.with_headers(headers.clone()).with_retry_policy(retry.clone()).build();
            built
                .map(|mut exporter| {
                    exporter.set_resource(resource);
                    exporter
                })
                .map_err(|error| format!("{}: {error}", shown_address(&address)))
        });
        let metrics = metrics.and_then(|address| {
            let builder = MetricExporter::builder().with_http().with_protocol(Protocol::HttpBinary);
            let builder = builder.with_endpoint(&address).with_timeout(timeout);
            let built = builder.with_headers(headers).with_retry_policy(retry).build();
            // The same address is refused for spans, which says so.
            built.ok().map(|exporter| Metrics::new(exporter, resource))
        });
        Self { spans, metrics, content, clean }
    }

    /// Removes what may not leave the process.
    fn reduce(&self, mut span: SpanData) -> SpanData {
        span.attributes.retain(|pair| self.content || !CONTENT_KEYS.contains(&pair.key.as_str()));
        let clean = |text: &str| (self.clean)(text);
        // The name of a tool is a word of the model.
        span.name = clean(&span.name).into();
        for pair in &mut span.attributes {
            if let Attribute::String(text) = &pair.value {
                pair.value = Attribute::String(clean(text.as_str()).into());
            }
        }
        if let Status::Error { description } = &span.status {
            // The error may repeat words of a tool or of a file.
            let said = if self.content { clean(description) } else { String::new() };
            span.status = Status::error(said);
        }
        span.attributes.push(openinference(&span));
        span
    }
}

/// The kind by which Phoenix groups spans.
fn openinference(span: &SpanData) -> KeyValue {
    let operation = span.attributes.iter().find(|pair| pair.key.as_str() == "gen_ai.operation.name");
    let kind = match operation.map(|pair| pair.value.as_str()).as_deref() {
        Some("invoke_agent") => "AGENT",
        Some("chat") => "LLM",
        Some("execute_tool") => "TOOL",
        _ => "CHAIN",
    };
    KeyValue::new("openinference.span.kind", kind)
}

impl Sink for Collector {
    fn write(&mut self, batch: Vec<SpanData>) -> Result<(), Loss> {
        if let Some(metrics) = &self.metrics {
            batch.iter().for_each(|span| metrics.record(span));
        }
        match &self.spans {
            Some(Ok(exporter)) => {
                let reduced = batch.into_iter().map(|span| self.reduce(span)).collect();
                let lost = |error| Loss::Spans(format!("the OTLP collector did not take them ({error})"));
                block_on(exporter.export(reduced)).map_err(lost)?;
            }
            Some(Err(why)) => return Err(Loss::Spans(why.clone())),
            None => {}
        }
        match &self.metrics {
            Some(metrics) if metrics.provider.force_flush().is_err() => {
                let why =
                    "the OTLP collector takes no metrics; `OTEL_METRICS_EXPORTER=none` stops sending them";
                Err(Loss::Other(why.to_owned()))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Metrics {
    fn new(exporter: MetricExporter, resource: &Resource) -> Self {
        let reader = PeriodicReader::builder(exporter).with_interval(NEVER).build();
        let provider =
            SdkMeterProvider::builder().with_reader(reader).with_resource(resource.clone()).build();
        let meter = provider.meter("co");
        let seconds = |name: &'static str, about: &'static str| {
            let builder = meter.f64_histogram(name).with_unit("s").with_description(about);
            builder.with_boundaries(bounds(0.01, 2.0)).build()
        };
        let tokens = meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}");
        let tokens = tokens
            .with_description("Number of input and output tokens used")
            .with_boundaries(bounds(1.0, 4.0));
        Self {
            tokens: tokens.build(),
            duration: seconds("gen_ai.client.operation.duration", "Duration of a model request"),
            first_chunk: seconds(
                "gen_ai.client.operation.time_to_first_chunk",
                "Time from a model request to the first chunk of its reply",
            ),
            provider,
        }
    }

    fn record(&self, span: &SpanData) {
        let get =
            |key: &str| span.attributes.iter().find(|pair| pair.key.as_str() == key).map(|pair| &pair.value);
        let operation = get("gen_ai.operation.name").map(|value| value.as_str().into_owned());
        if operation.as_deref() != Some("chat") {
            return;
        }
        let keys = [
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.response.model",
            "error.type",
        ];
        let about: Vec<KeyValue> =
            keys.iter().filter_map(|key| Some(KeyValue::new(*key, get(key)?.clone()))).collect();
        let took = span.end_time.duration_since(span.start_time).unwrap_or_default();
        self.duration.record(took.as_secs_f64(), &about);
        if let Some(Attribute::F64(first)) = get("gen_ai.response.time_to_first_chunk") {
            self.first_chunk.record(*first, &about);
        }
        for (key, kind) in [("gen_ai.usage.input_tokens", "input"), ("gen_ai.usage.output_tokens", "output")]
        {
            if let Some(Attribute::I64(count)) = get(key) {
                let mut about = about.clone();
                about.push(KeyValue::new("gen_ai.token.type", kind));
                self.tokens.record(u64::try_from(*count).unwrap_or(0), &about);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_variables_say_where_spans_go() {
        let base = "http://127.0.0.1:4318/";
        let both = |traces: Option<&str>, metrics: Option<&str>| {
            Ok(Some((traces.map(str::to_owned), metrics.map(str::to_owned))))
        };
        let spans = Some("http://127.0.0.1:4318/v1/traces");
        let metrics = Some("http://127.0.0.1:4318/v1/metrics");
        let cases = [
            (None, vec![], Ok(None)),
            (Some(base), vec![], both(spans, metrics)),
            (Some(base), vec![("OTEL_SDK_DISABLED", "TRUE")], Ok(None)),
            (Some(base), vec![("OTEL_METRICS_EXPORTER", "none")], both(spans, None)),
            (
                None,
                vec![("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a/t")],
                both(Some("http://a/t"), None),
            ),
            (Some(base), vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], both(spans, metrics)),
            (Some(base), vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], Err(())),
        ];
        for (endpoint, variables, expected) in cases {
            let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            let options = OtlpOptions::of(&variables, endpoint, Some("a=b, c = d=e"), false);
            if let Ok(Some(options)) = &options {
                assert_eq!(options.headers.get("c").map(String::as_str), Some("d=e"));
            }
            let found = options.map(|one| one.map(|one| (one.traces, one.metrics))).map_err(drop);
            assert_eq!(found, expected, "{endpoint:?} {variables:?}");
        }
    }
}
