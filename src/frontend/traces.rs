//! Traces as one HTML page that needs nothing else: list, statistics, tree with a waterfall, details.
//!
//! Pure. The spans are data in the page, which its script writes as text only; a policy of the page lets no other script run
//! and no address be fetched, so that nothing in a span can do anything.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::telemetry::SpanRow;

const SCRIPT: &str = include_str!("traces/traces.js");
const STYLE: &str = include_str!("traces/traces.css");
const PAGE: &str = include_str!("traces/traces.html");

/// Returns the page. Spans of one trace may be anywhere.
#[must_use]
pub fn page(spans: &[SpanRow]) -> String {
    let spans: Vec<Value> = spans.iter().map(span).collect();
    // Nothing in the data can end its element.
    let data = Value::Array(spans).to_string().replace('<', "\\u003c");
    let hash = BASE64_STANDARD.encode(Sha256::digest(SCRIPT));
    let parts =
        [("{{hash}}", hash.as_str()), ("{{style}}", STYLE), ("{{script}}", SCRIPT), ("{{data}}", &data)];
    let mut page = String::with_capacity(PAGE.len() + SCRIPT.len() + STYLE.len() + data.len());
    let mut rest = PAGE;
    // In their order in the page, so that no part is searched for the mark of another.
    for (mark, text) in parts {
        let (before, after) = rest.split_once(mark).expect("the page has each mark once");
        page.push_str(before);
        page.push_str(text);
        rest = after;
    }
    page.push_str(rest);
    page
}

fn span(span: &SpanRow) -> Value {
    json!({
        "id": span.id,
        "trace": span.trace_id,
        "parent": span.parent_id,
        "name": span.name,
        "kind": span.kind,
        // Microseconds: numbers of a script are exact only to 2^53.
        "start": span.start_time / 1000,
        "ms": span.duration_ms,
        "status": span.status_code,
        "why": span.status_description,
        "attributes": span.attributes,
        "events": span.events,
        "resource": span.resource,
    })
}
