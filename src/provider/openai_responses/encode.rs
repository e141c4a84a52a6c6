//! Request → a Responses body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the items of the shorter (the service
//! caches by prefix).

use serde_json::{Map, Value, json};

use super::{input, thinking};
use crate::config::ThinkingStyle;
use crate::provider::wire_text::{bad_request, clean};
use crate::provider::{ModelRequest, ParallelCalls, ProviderError, Sampling, ToolChoice};

/// Returns the body's bytes.
pub fn body(request: &ModelRequest) -> Result<Vec<u8>, ProviderError> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    set("model", json!(request.model));
    if !request.system.is_empty() {
        set("instructions", json!(clean(&request.system)));
    }
    set("input", Value::Array(input::items(request)?));
    if !request.tools.is_empty() {
        set("tools", tools(request));
        match request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => set("tool_choice", json!("required")),
            ToolChoice::None => set("tool_choice", json!("none")),
        }
        if request.parallel_calls == ParallelCalls::One {
            set("parallel_tool_calls", json!(false));
        }
    }
    if let Some(limit) = request.max_output_tokens {
        set("max_output_tokens", json!(limit));
    }
    if let Some(effort) = thinking::effort(request) {
        set("reasoning", json!({ "effort": effort, "summary": "auto" }));
    }
    if request.profile.sampling == Sampling::Free {
        for (key, value) in [("temperature", request.temperature), ("top_p", request.top_p)] {
            if let Some(value) = value {
                set(key, decimal(value));
            }
        }
    }
    if let Some(key) = &request.cache_key {
        set("prompt_cache_key", json!(key));
    }
    set("store", json!(false));
    // A model that does not think refuses a request for its reasoning (gpt-4o, gpt-4.1: status 400).
    if request.profile.thinking != ThinkingStyle::Never {
        set("include", json!(["reasoning.encrypted_content"]));
    }
    set("stream", json!(true));
    serde_json::to_vec(&body).map_err(|error| bad_request(error.to_string()))
}

/// Converts a number so that it prints as written: 0.7, not the nearest longer one.
fn decimal(value: f32) -> Value {
    value.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

/// Returns the tools, each with `strict: false`, because on this wire a tool is strict by default.
///
/// A strict schema must require every property and forbid all others, so optional arguments would have to
/// become nullable: models then write `null` instead of omitting them, tools would have to accept both, and
/// schemas of foreign tools (free-form maps, `oneOf`) have no strict form at all. Strictness is not needed:
/// arguments are checked against the schema before a call is planned, and the model receives the errors.
fn tools(request: &ModelRequest) -> Value {
    let tools = request.tools.iter().map(|tool| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters(&tool.parameters),
            "strict": false,
        })
    });
    Value::Array(tools.collect())
}

/// Returns a schema that the service accepts: it refuses an object without `properties`.
fn parameters(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| json!("object"));
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
