//! Checks whether a tool's schema already meets the rules of OpenAI's strict mode.
//!
//! Strict mode supports a part of JSON Schema, and requires that every object lists all its fields as
//! required and allows no others. Any other schema is sent unchanged and without strict mode; it is never
//! rewritten.

use serde_json::Value;

/// The keywords that strict mode accepts and this file checks.
const KEYWORDS: &[&str] =
    &["type", "properties", "required", "additionalProperties", "enum", "items", "description"];

/// The deepest nesting of objects (the service's own limit).
const DEEPEST: usize = 5;

pub fn fits(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object") && level_fits(schema, DEEPEST)
}

fn level_fits(schema: &Value, depth: usize) -> bool {
    let Some(rules) = schema.as_object() else { return false };
    let known = rules.keys().all(|key| KEYWORDS.contains(&key.as_str()));
    let typed = rules.contains_key("type");
    let items = rules.get("items").is_none_or(|items| depth > 0 && level_fits(items, depth - 1));
    let closed = match rules.get("type").and_then(Value::as_str) {
        Some("object") => depth > 0 && object_fits(schema, depth - 1),
        Some(_) | None => !rules.contains_key("properties"),
    };
    known && typed && items && closed
}

fn object_fits(schema: &Value, depth: usize) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let all = properties.keys().all(|name| required.iter().any(|listed| listed == name));
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    all && closed && properties.values().all(|property| level_fits(property, depth))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_closed_objects_fit() {
        let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
        let text = json!({ "type": "string", "description": "d" });
        let cases = [
            (object(json!({ "a": text }), json!(["a"])), true),
            (object(json!({}), json!([])), true),
            (object(json!({ "a": { "type": "array", "items": text } }), json!(["a"])), true),
            (object(json!({ "a": object(json!({ "b": text }), json!(["b"])) }), json!(["a"])), true),
            (object(json!({ "a": object(json!({ "b": text }), json!([])) }), json!(["a"])), false),
            (object(json!({ "a": text }), json!([])), false),
            (object(json!({ "a": { "type": "string", "minLength": 1 } }), json!(["a"])), false),
            (object(json!({ "a": {} }), json!(["a"])), false),
            (json!({ "type": "object", "properties": { "a": text }, "required": ["a"] }), false),
            (json!({ "type": "object" }), false),
            (text, false),
            (json!(true), false),
        ];
        for (schema, expected) in cases {
            assert_eq!(fits(&schema), expected, "{schema}");
        }
    }
}
