//! JSON values in another form: their texts changed one by one, their fields sorted.

use serde_json::{Map, Value};

/// Replaces each text of a value, and each key. `change` also gets the key that a text stands under; empty at the top and
/// for keys.
pub fn map_texts(value: &mut Value, change: &dyn Fn(&str, &str) -> String) {
    walk(value, "", change);
}

fn walk(value: &mut Value, key: &str, change: &dyn Fn(&str, &str) -> String) {
    match value {
        Value::String(text) => *text = change(key, text),
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, key, change)),
        Value::Object(fields) => {
            for (key, mut field) in std::mem::take(fields) {
                walk(&mut field, &key, change);
                fields.insert(change("", &key), field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
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
