//! Converts the end and the usage of a reply to our own terms (`wire.md` §0).

use serde_json::Value;

use crate::message::{StopKind, StopReason, Usage, Usd};

/// The service's statement of how a reply ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyEnd {
    Completed,
    /// Cut off, with the reason.
    Incomplete(Option<String>),
}

/// Returns the stop reason; `calls` is the number of calls in the reply, `refusal` the text of its refusal.
pub fn stop_reason(ended: &ReplyEnd, calls: usize, refusal: &str) -> StopReason {
    let (kind, raw) = match ended {
        ReplyEnd::Completed if calls > 0 => (StopKind::ToolUse, "completed".to_owned()),
        ReplyEnd::Completed if !refusal.is_empty() => (StopKind::Refusal, "completed".to_owned()),
        ReplyEnd::Completed => (StopKind::EndTurn, "completed".to_owned()),
        ReplyEnd::Incomplete(None) => (StopKind::Other, "incomplete".to_owned()),
        ReplyEnd::Incomplete(Some(reason)) => (cut_by(reason), format!("incomplete:{reason}")),
    };
    let detail = (!refusal.is_empty()).then(|| refusal.to_owned());
    StopReason { kind, raw: Some(raw), detail }
}

fn cut_by(reason: &str) -> StopKind {
    match reason {
        "max_output_tokens" => StopKind::MaxTokens,
        "content_filter" => StopKind::Refusal,
        _ => StopKind::Other,
    }
}

/// Reads token counts: on this wire too the input includes caches, the output reasoning.
pub fn usage(told: &Value) -> Usage {
    let count =
        |path: &[&str]| path.iter().try_fold(told, |value, key| value.get(*key)).and_then(Value::as_u64);
    Usage {
        input: count(&["input_tokens"]),
        output: count(&["output_tokens"]),
        cached_input: count(&["input_tokens_details", "cached_tokens"]),
        cache_write: count(&["input_tokens_details", "cache_write_tokens"]),
        reasoning: count(&["output_tokens_details", "reasoning_tokens"]),
        // OpenRouter reports the cost in dollars.
        cost: told.get("cost").and_then(Value::as_f64).and_then(Usd::from_dollars),
    }
}
