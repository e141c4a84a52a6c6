//! Conversation → a Chat Completions body.
//!
//! Equal conversations give equal bytes, and a longer one begins with the bytes of the shorter (providers
//! cache by prefix): only the cache marks move, for hosts that need them. Opaque data is sent back only to
//! the codec and model that created it.

use serde_json::{Value, json};

use super::messages::{mark, messages};
use super::{
    CacheMarks, MaxTokensField, OptionalField, Quirks, StoreField, StrictSchemas, ToolsField, UsageOption,
    reasoning, strict,
};
use crate::message::{Message, MessagePiece};
use crate::provider::wire_text::{Body, function_tool};
use crate::provider::{ModelRequest, ProviderError, ToolChoice, ToolSchema};

/// Returns the body's bytes.
pub fn body(request: &ModelRequest, quirks: Quirks) -> Result<Vec<u8>, ProviderError> {
    let mut body = Body::default();
    body.set("model", request.model.as_str());
    body.set("messages", Value::Array(marked_messages(request, quirks)?));
    set_tools(&mut body, request, quirks);
    let limit = match quirks.max_tokens {
        MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        MaxTokensField::MaxTokens => "max_tokens",
    };
    body.set_some(limit, request.max_output_tokens);
    if let Some((key, value)) = reasoning::field(request, quirks.reasoning) {
        body.set(key, value);
    }
    body.set_some("thinking_budget", reasoning::budget(request, quirks.reasoning));
    body.sampling(request, ["temperature", "top_p"]);
    if let (OptionalField::Sent, Some(key)) = (quirks.prompt_cache_key, &request.cache_key) {
        body.set("prompt_cache_key", key.as_str());
    }
    if quirks.store == StoreField::Never {
        body.set("store", false);
    }
    body.set("stream", true);
    if quirks.usage == UsageOption::Ask {
        body.set("stream_options", json!({ "include_usage": true }));
    }
    body.into_bytes()
}

/// Sets the fields for tools and tool choice.
fn set_tools(body: &mut Body, request: &ModelRequest, quirks: Quirks) {
    if request.tools.is_empty() {
        let mut pieces = request.conversation().flat_map(Message::pieces);
        if quirks.tools == ToolsField::EmptyAfterCalls
            && pieces.any(|piece| matches!(piece, MessagePiece::Call(_)))
        {
            body.set("tools", json!([]));
        }
        return;
    }
    let form = match quirks.strict {
        StrictSchemas::Unsaid => "openai_chat",
        StrictSchemas::Off => "openai_chat, not strict",
        StrictSchemas::WhereItFits => "openai_chat, strict where it fits",
    };
    body.set_tools(&request.tools, form, || tools(request, quirks.strict));
    match request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::Required => body.set("tool_choice", "required"),
        ToolChoice::None => body.set("tool_choice", "none"),
    }
    if !request.parallel_calls && quirks.parallel_tool_calls == OptionalField::Sent {
        body.set("parallel_tool_calls", false);
    }
}

fn tools(request: &ModelRequest, strictness: StrictSchemas) -> Vec<Value> {
    let strict = |tool: &ToolSchema| match strictness {
        StrictSchemas::Unsaid => None,
        StrictSchemas::Off => Some(false),
        StrictSchemas::WhereItFits => strict::fits(&tool.parameters).then_some(true),
    };
    request.tools.iter().map(|tool| function_tool(tool, strict(tool))).collect()
}

fn marked_messages(request: &ModelRequest, quirks: Quirks) -> Result<Vec<Value>, ProviderError> {
    let mut messages = messages(request, quirks)?;
    let bare = request.model.rsplit('/').next().unwrap_or(&request.model);
    if quirks.cache_marks == CacheMarks::ForClaude && bare.starts_with("claude") {
        mark(&mut messages);
    }
    Ok(messages)
}
