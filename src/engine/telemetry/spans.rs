//! Making spans: attributes, outcomes, and continuing the trace of another process.
//!
//! Names are those of the GenAI conventions of OpenTelemetry (1.44), and `co.` before our own. Without a subscriber all of
//! it does nothing.

use jiff::Timestamp;
use opentelemetry::trace::{
    SpanContext, SpanId, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, Context, StringValue, Value};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The start of a span that began before it was made, in nanoseconds since 1970; never stored.
pub(super) const STARTED: &str = "co.started";

/// The end of a span that was over before it was made.
pub(super) const ENDED: &str = "co.ended";

/// Sets an attribute.
pub fn set(span: &Span, key: &'static str, value: impl Into<Value>) {
    if !span.is_disabled() {
        span.set_attribute(key, value);
    }
}

/// Sets an attribute, if there is a value.
pub fn set_some(span: &Span, key: &'static str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        set(span, key, value);
    }
}

/// Sets a count; those beyond 2^63 - 1 are that.
pub fn set_count(span: &Span, key: &'static str, count: Option<u64>) {
    set_some(span, key, count.map(|count| i64::try_from(count).unwrap_or(i64::MAX)));
}

/// Sets a list of one text.
pub fn set_list(span: &Span, key: &'static str, text: String) {
    set(span, key, Value::Array(Array::String(vec![StringValue::from(text)])));
}

/// Marks the span as failed: `kind` is a word of few values, `text` is for people.
pub fn fail(span: &Span, kind: &str, text: String) {
    if !span.is_disabled() {
        span.set_attribute("error.type", kind.to_owned());
        span.set_status(Status::error(text));
    }
}

/// Gives the span an earlier start, and an earlier end if it is over.
pub fn set_times(span: &Span, from: Timestamp, to: Option<Timestamp>) {
    let nanos = |at: Timestamp| i64::try_from(at.as_nanosecond()).unwrap_or(0);
    set(span, STARTED, nanos(from));
    set_some(span, ENDED, to.map(nanos));
}

/// Returns the span's identity in the form of W3C trace context; `None` if it is not recorded.
#[must_use]
pub fn traceparent(span: &Span) -> Option<String> {
    if span.is_disabled() {
        return None;
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    let (trace, id, flags) = (context.trace_id(), context.span_id(), context.trace_flags().to_u8());
    context.is_valid().then(|| format!("00-{trace}-{id}-{flags:02x}"))
}

/// Makes the span a child of one of another process; must be called before the span is entered. A text that names no span is
/// ignored.
pub fn continue_trace(span: &Span, traceparent: &str) {
    if let Some(remote) = remote(traceparent) {
        // It errs only without our subscriber.
        let _ = span.set_parent(Context::new().with_remote_span_context(remote));
    }
}

/// Links the span to one of another trace. A text that names no span is ignored.
pub fn link(span: &Span, traceparent: &str) {
    if let Some(remote) = remote(traceparent) {
        span.add_link(remote);
    }
}

/// Reads a W3C trace context: `00-<trace>-<span>-<flags>`, of a later version with more fields too.
fn remote(traceparent: &str) -> Option<SpanContext> {
    let mut fields = traceparent.trim().split('-');
    let (version, trace, id, flags) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let is_hex = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    };
    if !is_hex(version, 2) || version == "ff" || !is_hex(flags, 2) || !is_hex(trace, 32) || !is_hex(id, 16) {
        return None;
    }
    if version == "00" && fields.next().is_some() {
        return None;
    }
    let (trace, id) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(id).ok()?);
    // Whether the caller samples is about its own collector; the file keeps every turn.
    let context = SpanContext::new(trace, id, TraceFlags::SAMPLED, true, TraceState::default());
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trace_context_names_a_span() {
        let (trace, id) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let cases = [
            (format!("00-{trace}-{id}-01"), true),
            (format!(" 00-{trace}-{id}-00\n"), true),
            (format!("cc-{trace}-{id}-01-more"), true),
            (format!("00-{trace}-{id}-01-more"), false),
            (format!("ff-{trace}-{id}-01"), false),
            (format!("00-{}-{id}-01", trace.to_uppercase()), false),
            (format!("00-{}-{id}-01", "0".repeat(32)), false),
            (format!("00-{trace}-{}-01", "0".repeat(16)), false),
            (format!("00-{trace}-{id}"), false),
            ("00-é".to_owned(), false),
            (String::new(), false),
        ];
        for (text, is_one) in cases {
            assert_eq!(remote(&text).is_some(), is_one, "{text}");
        }
    }
}
