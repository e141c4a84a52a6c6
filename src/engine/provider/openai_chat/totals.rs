//! Converts the end and the usage of a reply to our own terms (`wire.md` §0).

use serde_json::Value;

use super::calls::CallAssembler;
use crate::message::{StopKind, StopReason, Usage};
use crate::provider::decoder::openai_usage;

/// Returns the stop reason of a finish reason, inferred if there is none. Tool calls in the reply take
/// precedence.
pub fn stop_reason(raw: Option<&str>, calls: &CallAssembler, refusal: &str) -> StopReason {
    let word = match raw {
        None | Some("stop" | "eos" | "end" | "end_turn") => StopKind::EndTurn,
        Some("tool_calls" | "function_call" | "tool_use") => StopKind::ToolUse,
        Some("length" | "max_tokens" | "model_length") => StopKind::MaxTokens,
        Some("content_filter") => StopKind::Refusal,
        Some(_) => StopKind::Other,
    };
    let kind = match word {
        StopKind::EndTurn if !calls.is_empty() => StopKind::ToolUse,
        StopKind::EndTurn if !refusal.is_empty() => StopKind::Refusal,
        word => word,
    };
    let detail = (!refusal.is_empty()).then(|| refusal.to_owned());
    StopReason { kind, raw: raw.map(str::to_owned), detail }
}

/// Reads token counts: input includes caches, output includes reasoning.
pub fn usage(reported: &Value) -> Usage {
    let mut usage = openai_usage(reported, "prompt_tokens", "completion_tokens");
    let count = |name: &str| reported.get(name).and_then(Value::as_u64);
    usage.cached_input = usage.cached_input.or_else(|| count("prompt_cache_hit_tokens"));
    // xAI does not count reasoning as completion; only the total reveals it.
    if let (Some(input), Some(completion), Some(reasoning)) = (usage.input, usage.output, usage.reasoning)
        && let Some(both) = completion.checked_add(reasoning)
        && let Some(total) = input.checked_add(both)
        && count("total_tokens") == Some(total)
    {
        usage.output = Some(both);
    }
    usage
}
