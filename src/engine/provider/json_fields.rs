//! Reads fields of JSON values that come from a service.

use std::borrow::Cow;

use serde_json::Value;

/// Returns a field of an object with few fields: comparing each name is faster than hashing.
pub fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_object()?.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns a string field; empty where there is none.
pub fn text_of<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a copy of a string field; `None` where it is missing or empty.
pub fn string(value: &Value, name: &str) -> Option<String> {
    Some(text_of(value, name)).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns JSON as text, from a value that may be this text or the JSON itself; empty where there is none.
pub fn json_text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(other) => Cow::Owned(other.to_string()),
    }
}

/// Returns the first `most` characters of a text, with a mark where more follow.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
