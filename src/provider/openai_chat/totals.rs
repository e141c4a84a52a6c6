//! Converts the end and the usage of a reply to our own terms (`wire.md` §0).

use serde_json::Value;

use super::calls::CallAssembler;
use crate::message::{StopKind, StopReason, Usage, Usd};

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
pub fn usage(told: &Value) -> Usage {
    let count =
        |path: &[&str]| path.iter().try_fold(told, |value, key| value.get(*key)).and_then(Value::as_u64);
    let input = count(&["prompt_tokens"]);
    let completion = count(&["completion_tokens"]);
    let reasoning = count(&["completion_tokens_details", "reasoning_tokens"]);
    let total = count(&["total_tokens"]);
    // xAI does not count reasoning as completion; only the total reveals it.
    let apart = match (input, completion, reasoning, total) {
        (Some(input), Some(completion), Some(reasoning), Some(total)) => {
            input.checked_add(completion).and_then(|sum| sum.checked_add(reasoning)) == Some(total)
        }
        _ => false,
    };
    Usage {
        input,
        output: if apart {
            completion.zip(reasoning).map(|(said, thought)| said + thought)
        } else {
            completion
        },
        cached_input: count(&["prompt_tokens_details", "cached_tokens"])
            .or_else(|| count(&["prompt_cache_hit_tokens"])),
        cache_write: count(&["prompt_tokens_details", "cache_write_tokens"]),
        reasoning,
        // OpenRouter reports the cost in dollars.
        cost: told.get("cost").and_then(Value::as_f64).and_then(Usd::from_dollars),
    }
}
