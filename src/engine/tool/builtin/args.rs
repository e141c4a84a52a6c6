//! Arguments of tools: their schema, derived from a Rust type, and the hints for wrong ones.
//!
//! A hint lists every fault at once, with the nearest valid name, so that one retry is enough. Pure.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::stdx::text::nearest;
use crate::tool::{ToolError, ToolSpec};

/// Returns the JSON Schema of `T` in the form that suits models: one flat object, optional fields simply not
/// required, no formats that only validators know.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("$schema");
        root.remove("title");
        root.remove("description");
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
            properties.values_mut().filter_map(Value::as_object_mut).for_each(tidy);
        }
    }
    schema
}

/// Removes what `Option` and number types add to a property.
fn tidy(property: &mut Map<String, Value>) {
    property.remove("format");
    property.remove("default");
    if let Some(Value::Array(choices)) = property.remove("anyOf")
        && let Some(Value::Object(choice)) = choices.into_iter().find(|choice| choice["type"] != "null")
    {
        property.extend(choice);
    }
    for key in ["type", "enum"] {
        let Some(Value::Array(list)) = property.get_mut(key) else { continue };
        list.retain(|entry| !entry.is_null() && entry != "null");
        if key == "type" && list.len() == 1 {
            let only = list.remove(0);
            property.insert(key.to_owned(), only);
        }
    }
}

/// Parses the arguments; errs with a `Misuse` that lists all their faults.
pub fn parse<T: DeserializeOwned>(spec: &ToolSpec, args: &Value) -> Result<T, ToolError> {
    let Value::Object(given) = args else {
        let hint = format!("the arguments of {} must be one JSON object. {}", spec.name, fields(spec));
        return Err(ToolError::Misuse { hint });
    };
    let faults = faults(spec, given);
    if faults.is_empty() {
        return T::deserialize(args).map_err(|error| ToolError::Misuse {
            hint: format!("{}: {error}. {}", spec.name, fields(spec)),
        });
    }
    Err(ToolError::Misuse { hint: format!("{}: {}. {}", spec.name, faults.join("; "), fields(spec)) })
}

fn properties(spec: &ToolSpec) -> impl Iterator<Item = (&str, &Value)> {
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, property)| (name.as_str(), property))
}

fn is_required(spec: &ToolSpec, name: &str) -> bool {
    let required = spec.parameters.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

fn faults(spec: &ToolSpec, given: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    for name in given.keys() {
        if properties(spec).any(|(known, _)| known == name) {
            continue;
        }
        let free: Vec<&str> =
            properties(spec).map(|(known, _)| known).filter(|known| !given.contains_key(*known)).collect();
        // Models often write `file_path` for `path`.
        let inside = free.iter().copied().find(|known| name.contains(known));
        faults.push(match inside.or_else(|| nearest(name, free)) {
            Some(known) => format!("there is no field `{name}`; did you mean `{known}`?"),
            None => format!("there is no field `{name}`"),
        });
    }
    for (name, property) in properties(spec) {
        match given.get(name) {
            None | Some(Value::Null) if is_required(spec, name) => {
                faults.push(format!("the field `{name}` is missing"));
            }
            None | Some(Value::Null) => {}
            Some(value) => faults.extend(fault_of_value(name, property, value)),
        }
    }
    faults
}

fn fault_of_value(name: &str, property: &Value, value: &Value) -> Option<String> {
    let kind = property.get("type").and_then(Value::as_str)?;
    if !is_kind(value, kind) {
        return Some(format!("`{name}` must be {}, not {}", article(kind), kind_of(value)));
    }
    if let Some(least) = property.get("minimum").and_then(Value::as_f64)
        && value.as_f64().is_some_and(|number| number < least)
    {
        return Some(format!("`{name}` must be at least {least}, not {value}"));
    }
    let choices = property.get("enum").and_then(Value::as_array)?;
    if choices.contains(value) {
        return None;
    }
    let listed: Vec<String> = choices.iter().map(Value::to_string).collect();
    Some(format!("`{name}` must be one of {}, not {value}", listed.join(", ")))
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        _ => true,
    }
}

fn article(kind: &str) -> String {
    if kind == "integer" { format!("an {kind}") } else { format!("a {kind}") }
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Lists the fields on one line.
fn fields(spec: &ToolSpec) -> String {
    let listed: Vec<String> = properties(spec)
        .map(|(name, property)| {
            let kind = property.get("type").and_then(Value::as_str).unwrap_or("value");
            let need = if is_required(spec, name) { ", required" } else { "" };
            format!("{name} ({kind}{need})")
        })
        .collect();
    format!("Fields: {}", listed.join(", "))
}
