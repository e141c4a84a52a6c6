//! The two optional fields that every tool's schema gets: `label` and `after`.
//!
//! They order the calls of one reply and are removed before a tool receives its arguments.

use serde_json::{Map, Value};

pub const LABEL: &str = "label";
pub const AFTER: &str = "after";

/// Returns a call's own label, if it has one.
pub(super) fn label(args: &Value) -> Option<String> {
    args.get(LABEL)?.as_str().map(str::to_owned)
}

/// Returns the arguments without the two scheduling fields.
pub(super) fn without_links(args: &Value) -> Value {
    strip(args).0
}

/// Returns the arguments without the two scheduling fields, and the labels in `after`.
pub(super) fn strip(args: &Value) -> (Value, Vec<String>) {
    let Value::Object(map) = args else { return (args.clone(), Vec::new()) };
    let after = match map.get(AFTER) {
        Some(Value::Array(labels)) => labels
            .iter()
            .map(|label| label.as_str().map_or_else(|| label.to_string(), str::to_owned))
            .collect(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    };
    let rest: Map<String, Value> = map
        .iter()
        .filter(|(key, _)| key.as_str() != LABEL && key.as_str() != AFTER)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    (Value::Object(rest), after)
}
