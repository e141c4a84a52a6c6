//! Arguments of tools: their schema, derived from a Rust type, and the hints for wrong ones.
//!
//! A hint lists every fault at once, with the nearest valid name, so that one retry is enough. Pure.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool::schema::{Fault, faults};
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

/// Parses the arguments; errs with a `Misuse` that lists all their faults. An optional field may be null.
pub fn parse<T: DeserializeOwned>(spec: &ToolSpec, args: &Value) -> Result<T, ToolError> {
    let misuse = |what: &str| ToolError::Misuse(format!("{}: {what}. {}", spec.name, fields(spec)));
    let Value::Object(given) = args else { return Err(misuse("the arguments must be one JSON object")) };
    let is_left_out = |fault: &Fault| {
        let [name] = fault.path.as_slice() else { return false };
        given.get(name).is_some_and(Value::is_null) && !is_required(spec, name)
    };
    let faults = faults(&spec.parameters, args).into_iter().filter(|fault| !is_left_out(fault));
    let faults: Vec<String> = faults.map(|fault| fault.to_string()).collect();
    if faults.is_empty() {
        return T::deserialize(args).map_err(|error| misuse(&error.to_string()));
    }
    Err(misuse(&faults.join("; ")))
}

fn is_required(spec: &ToolSpec, name: &str) -> bool {
    let required = spec.parameters.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// Lists the fields on one line.
fn fields(spec: &ToolSpec) -> String {
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    let listed: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let kind = property.get("type").and_then(Value::as_str).unwrap_or("value");
            let need = if is_required(spec, name) { ", required" } else { "" };
            format!("{name} ({kind}{need})")
        })
        .collect();
    format!("Fields: {}", listed.join(", "))
}
