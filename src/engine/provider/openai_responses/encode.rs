//! Request → a Responses body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the items of the shorter (the service
//! caches by prefix).

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{input, thinking};
use crate::config::ThinkingStyle;
use crate::provider::wire_text::{Body, clean};
use crate::provider::{ModelRequest, ProviderError, ToolChoice, ToolSchema};

/// Returns the body's bytes.
pub fn body(request: &ModelRequest) -> Result<Vec<u8>, ProviderError> {
    let mut body = Body::default();
    body.set("model", request.model.as_str());
    if !request.system.is_empty() {
        body.set("instructions", json!(clean(&request.system)));
    }
    body.set("input", Value::Array(input::items(request)?));
    if !request.tools.is_empty() {
        body.set_tools(&request.tools, "openai_responses", || tools(request));
        match request.tool_choice {
            ToolChoice::Auto => {}
            ToolChoice::Required => body.set("tool_choice", "required"),
            ToolChoice::None => body.set("tool_choice", "none"),
        }
        if !request.parallel_calls {
            body.set("parallel_tool_calls", false);
        }
    }
    body.set_some("max_output_tokens", request.max_output_tokens);
    let effort = thinking::effort(request);
    body.set_some("reasoning", effort.map(|effort| json!({ "effort": effort, "summary": "auto" })));
    body.sampling(request, ["temperature", "top_p"]);
    body.set_some("prompt_cache_key", request.cache_key.as_deref());
    body.set("store", false);
    // A model that does not think refuses a request for its reasoning (gpt-4o, gpt-4.1: status 400).
    if request.profile.thinking != ThinkingStyle::Never {
        body.set("include", json!(["reasoning.encrypted_content"]));
    }
    body.set("stream", true);
    body.into_bytes()
}

/// Returns the tools, each with `strict: false`, because on this wire a tool is strict by default.
///
/// A strict schema must require every property and forbid all others, so optional arguments would have to
/// become nullable: models then write `null` instead of omitting them, tools would have to accept both, and
/// schemas of foreign tools (free-form maps, `oneOf`) have no strict form at all. Strictness is not needed:
/// arguments are checked against the schema before a call is planned, and the model receives the errors.
fn tools(request: &ModelRequest) -> Vec<Value> {
    let tools = request.tools.iter().map(|ToolSchema { name, description, parameters }| {
        let parameters = self::parameters(parameters);
        json!({ "type": "function", "name": name, "description": description, "parameters": parameters, "strict": false })
    });
    tools.collect()
}

/// Returns a schema that the service accepts: it refuses an object without `properties`.
fn parameters(schema: &Value) -> Cow<'_, Value> {
    if ["type", "properties"].iter().all(|field| schema.get(field).is_some()) || !schema.is_object() {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.entry("type").or_insert_with(|| json!("object"));
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    Cow::Owned(schema)
}
