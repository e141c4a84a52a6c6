//! JSON values in another form: their texts changed one by one, their fields sorted; and their length.

use std::borrow::Cow;
use std::io;

use serde_json::{Map, Value};

/// Changes a text, and receives its key; a borrowed result leaves the text unchanged.
type TextChange<'c> = dyn for<'a> Fn(&str, &'a str) -> Cow<'a, str> + 'c;

/// Replaces each text of a value, and each key. `change` also receives the key of the text; it is empty at the top
/// and for keys.
pub fn map_texts(value: &mut Value, change: &TextChange<'_>) {
    walk(value, "", change);
}

fn walk(value: &mut Value, key: &str, change: &TextChange<'_>) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = change(key, text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, key, change)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(key, field)| walk(field, key, change));
            if fields.keys().any(|key| matches!(change("", key), Cow::Owned(_))) {
                let all = std::mem::take(fields).into_iter();
                fields.extend(all.map(|(key, field)| (change("", &key).into_owned(), field)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the length of a value as compact JSON, in bytes, without writing it anywhere.
pub fn json_bytes(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither a value nor this writer can fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

/// Returns a value with the fields of its objects in alphabetical order.
#[must_use]
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Map<String, Value> =
                fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            Value::Object(fields)
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        _ => value.clone(),
    }
}
