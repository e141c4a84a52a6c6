//! Schemas of servers' tools in the form that every model service takes.
//!
//! Services refuse a whole request for one schema: unions at its top, an object without properties, names of properties with
//! other characters. What a codec cannot send beyond that it leaves out itself. Sources: the function calling pages of the
//! Anthropic, OpenAI and Gemini APIs.

use serde_json::{Map, Value, json};

use super::names;
use crate::stdx::text::binary_size;

/// The longest name of a property, in characters.
const LONGEST_NAME: usize = 64;

/// The most bytes of one tool's schema.
const LARGEST: usize = 64 << 10;

/// How deeply schemas may be nested.
const DEEPEST: usize = 32;

/// Returns the schema as an object with properties and without unions at its top; errs with the reason if it cannot be sent.
pub fn mend(schema: &Map<String, Value>) -> Result<Value, String> {
    let mut whole = schema.clone();
    whole.remove("$schema");
    if let Some(link) = whole.remove("$ref") {
        let target = link.as_str().and_then(|link| link.strip_prefix('#'));
        let root = Value::Object(schema.clone());
        let Some(Value::Object(target)) = target.and_then(|target| root.pointer(target)) else {
            return Err("its schema refers to something outside of it".to_owned());
        };
        target.iter().for_each(|(key, value)| drop(whole.insert(key.clone(), value.clone())));
    }
    for (union, is_all) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        if let Some(Value::Array(members)) = whole.remove(union) {
            merge(&mut whole, &members, is_all);
        }
    }
    ["enum", "const", "not", "if", "then", "else"].iter().for_each(|key| drop(whole.remove(*key)));
    whole.insert("type".to_owned(), json!("object"));
    if !whole.get("properties").is_some_and(Value::is_object) {
        whole.insert("properties".to_owned(), json!({}));
    }
    let mut whole = Value::Object(whole);
    clean(&mut whole, 0)?;
    if whole.to_string().len() > LARGEST {
        return Err(format!("its schema is longer than {}", binary_size(LARGEST)));
    }
    Ok(whole)
}

/// Adds the properties of a union's members. Of those that are alternatives, what all require is required.
fn merge(whole: &mut Map<String, Value>, members: &[Value], is_all: bool) {
    let mut required: Option<Vec<Value>> = None;
    for member in members {
        let Some(properties) = whole.entry("properties").or_insert_with(|| json!({})).as_object_mut() else {
            continue;
        };
        for (name, property) in member.get("properties").and_then(Value::as_object).into_iter().flatten() {
            properties.entry(name).or_insert_with(|| property.clone());
        }
        let own = member.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        required = Some(match required {
            None => own,
            Some(mut known) if is_all => {
                known.extend(own.into_iter().filter(|name| !known.contains(name)).collect::<Vec<_>>());
                known
            }
            Some(known) => known.into_iter().filter(|name| own.contains(name)).collect(),
        });
    }
    let all = whole.entry("required").or_insert_with(|| json!([])).as_array_mut();
    if let (Some(all), Some(more)) = (all, required) {
        all.extend(more.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
    }
}

/// Cleans the descriptions. Errs if a property has a name that services refuse, or if the schema is nested too deeply.
fn clean(schema: &mut Value, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("its schema is nested too deeply".to_owned());
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                if key == "properties"
                    && let Some(name) = value.as_object().and_then(|properties| {
                        properties.keys().find(|name| {
                            name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain)
                        })
                    })
                {
                    return Err(format!(
                        "model services refuse the parameter name `{}`",
                        names::display_name(name)
                    ));
                }
                match value {
                    Value::String(text) if key == "description" || key == "title" => {
                        *text = names::description(text);
                    }
                    value => clean(value, depth + 1)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| clean(item, depth + 1)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_become_objects_without_unions() {
        let text = || json!({ "type": "string" });
        for (schema, mended_one) in [
            (json!({}), json!({ "type": "object", "properties": {} })),
            (
                json!({ "properties": { "description": { "description": "a\u{202e}b" } } }),
                json!({ "type": "object", "properties": { "description": { "description": "a<U+202E>b" } } }),
            ),
            (
                json!({ "$schema": "x", "type": "object", "properties": { "a": text() } }),
                json!({ "type": "object", "properties": { "a": text() } }),
            ),
            (
                json!({ "anyOf": [
                    { "properties": { "a": text(), "b": text() }, "required": ["a", "b"] },
                    { "properties": { "b": text(), "c": text() }, "required": ["b", "c"] },
                ] }),
                json!({
                    "type": "object",
                    "properties": { "a": text(), "b": text(), "c": text() }, "required": ["b"],
                }),
            ),
            (
                json!({ "properties": { "a": text() }, "required": ["a"], "allOf": [
                    { "properties": { "b": text() }, "required": ["b"] }, { "required": ["a"] },
                ] }),
                json!({
                    "type": "object", "properties": { "a": text(), "b": text() }, "required": ["a", "b"],
                }),
            ),
            (
                json!({ "$ref": "#/$defs/x", "$defs": { "x": { "properties": { "a": text() } } } }),
                json!({
                    "type": "object", "properties": { "a": text() },
                    "$defs": { "x": { "properties": { "a": text() } } },
                }),
            ),
        ] {
            assert_eq!(mend(schema.as_object().unwrap()), Ok(mended_one), "{schema}");
        }
    }

    #[test]
    fn what_no_service_takes_is_refused_with_the_reason() {
        let deep = (0..40).fold(json!({}), |inner, _| json!({ "items": inner }));
        for (schema, reason) in [
            (json!({ "$ref": "https://elsewhere.example/x" }), "outside"),
            (json!({ "properties": { "a b": {} } }), "`a b`"),
            (json!({ "properties": { "a": { "items": { "properties": { "ü": {} } } } } }), "`ü`"),
            (json!({ "properties": { "x".repeat(65): {} } }), "parameter name"),
            (json!({ "properties": { "a": { "enum": ["x".repeat(70_000)] } } }), "64 KiB"),
            (json!({ "properties": { "a": deep } }), "nested"),
        ] {
            let error = mend(schema.as_object().unwrap()).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
