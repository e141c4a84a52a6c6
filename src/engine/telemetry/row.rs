//! A span as it is stored: the columns of seed 004, so that other tools read the file.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanKind, Status};
use opentelemetry::{Array, KeyValue, Value as Attribute};
use opentelemetry_sdk::trace::SpanData;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// One span. Times are nanoseconds since 1970.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanRow {
    /// 16 hexadecimal digits.
    pub id: String,
    /// 32 hexadecimal digits.
    pub trace_id: String,
    pub parent_id: Option<String>,
    pub name: String,
    pub kind: String,
    pub start_time: i64,
    pub end_time: i64,
    pub duration_ms: f64,
    /// `UNSET`, `OK` or `ERROR`.
    pub status_code: String,
    pub status_description: Option<String>,
    pub attributes: Map<String, Value>,
    /// Objects with `name`, `timestamp` and `attributes`. A link to another span is an event `link`.
    pub events: Value,
    pub resource: Value,
}

impl SpanRow {
    /// Converts a span that ended. `text` is applied to each text of an attribute.
    pub(super) fn of(span: &SpanData, resource: &Value, text: &dyn Fn(&str) -> String) -> Self {
        let start = nanos(span.start_time);
        // The clock may have been set back meanwhile.
        let end = nanos(span.end_time).max(start);
        let context = |id: &dyn ToString| id.to_string();
        let mut events: Vec<Value> = Vec::new();
        for event in span.events.iter() {
            let attributes = attributes(&event.attributes, text);
            events.push(
                json!({ "name": event.name, "timestamp": nanos(event.timestamp), "attributes": attributes }),
            );
        }
        for link in span.links.iter() {
            let to = json!({
                "trace_id": context(&link.span_context.trace_id()),
                "span_id": context(&link.span_context.span_id()),
            });
            events.push(json!({ "name": "link", "timestamp": start, "attributes": to }));
        }
        let (status_code, status_description) = match &span.status {
            Status::Unset => ("UNSET", None),
            Status::Ok => ("OK", None),
            Status::Error { description } => ("ERROR", Some(text(description))),
        };
        let has_parent = span.parent_span_id != opentelemetry::trace::SpanId::INVALID;
        Self {
            id: span.span_context.span_id().to_string(),
            trace_id: span.span_context.trace_id().to_string(),
            parent_id: has_parent.then(|| span.parent_span_id.to_string()),
            name: text(&span.name),
            kind: kind(&span.span_kind).to_owned(),
            start_time: start,
            end_time: end,
            duration_ms: (end - start) as f64 / 1e6,
            status_code: status_code.to_owned(),
            status_description,
            attributes: attributes(&span.attributes, text),
            events: Value::Array(events),
            resource: resource.clone(),
        }
    }

    /// Returns an attribute's text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.attributes.get(key).and_then(Value::as_str)
    }

    /// Returns an attribute's number.
    #[must_use]
    pub fn count(&self, key: &str) -> Option<i64> {
        self.attributes.get(key).and_then(Value::as_i64)
    }

    /// The operation by the conventions: `invoke_agent`, `chat`, `execute_tool`; else empty.
    #[must_use]
    pub fn operation(&self) -> &str {
        self.text("gen_ai.operation.name").unwrap_or_default()
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.status_code == "ERROR"
    }
}

/// Nanoseconds since 1970; 0 before, and the largest number beyond the year 2262.
fn nanos(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn kind(kind: &SpanKind) -> &'static str {
    match kind {
        SpanKind::Client => "CLIENT",
        SpanKind::Server => "SERVER",
        SpanKind::Producer => "PRODUCER",
        SpanKind::Consumer => "CONSUMER",
        SpanKind::Internal => "INTERNAL",
    }
}

fn attributes(pairs: &[KeyValue], text: &dyn Fn(&str) -> String) -> Map<String, Value> {
    pairs.iter().map(|pair| (pair.key.to_string(), value(&pair.value, text))).collect()
}

fn value(value: &Attribute, text: &dyn Fn(&str) -> String) -> Value {
    match value {
        Attribute::Bool(one) => (*one).into(),
        Attribute::I64(one) => (*one).into(),
        Attribute::F64(one) => json!(one),
        Attribute::String(one) => text(one.as_str()).into(),
        Attribute::Array(Array::Bool(all)) => json!(all),
        Attribute::Array(Array::I64(all)) => json!(all),
        Attribute::Array(Array::F64(all)) => json!(all),
        Attribute::Array(Array::String(all)) => all.iter().map(|one| text(one.as_str())).collect(),
        other => text(&other.to_string()).into(),
    }
}
