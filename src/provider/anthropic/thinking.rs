//! How a thinking level is asked for: models differ, and the differences are one table.

use serde_json::{Value, json};

use crate::provider::ThinkingLevel;

/// The least budget the service takes, in tokens.
const LEAST_BUDGET: u32 = 1_024;

/// The reply's length without thinking where nobody chose one, in tokens.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// Models that choose the amount themselves and take an effort in place of a budget (`wire.md` §1), by the start of
/// their names.
const ADAPTIVE: &[&str] =
    &["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5"];

/// The fields of a request that a thinking level decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Thinking {
    pub max_tokens: u32,
    pub thinking: Option<Value>,
    pub output_config: Option<Value>,
    /// Whether an open tool loop must begin with a signed thinking block.
    pub demands_signature: bool,
}

/// What to ask `model` for.
pub fn ask(model: &str, level: ThinkingLevel, max_output_tokens: Option<u32>) -> Thinking {
    let max_tokens = max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let plain = Thinking { max_tokens, thinking: None, output_config: None, demands_signature: false };
    let adaptive = ADAPTIVE.iter().any(|start| model.starts_with(start));
    let (budget, effort) = match level {
        ThinkingLevel::Default => return plain,
        // Only these think unasked.
        ThinkingLevel::Off if adaptive => {
            return Thinking { thinking: Some(json!({ "type": "disabled" })), ..plain };
        }
        ThinkingLevel::Off => return plain,
        ThinkingLevel::Low => (2_048, "low"),
        ThinkingLevel::Medium => (8_192, "medium"),
        ThinkingLevel::High => (24_576, "high"),
    };
    if adaptive {
        return Thinking {
            thinking: Some(json!({ "type": "adaptive" })),
            output_config: Some(json!({ "effort": effort })),
            ..plain
        };
    }
    // The budget counts as output: without a chosen limit it comes on top of it, else it must fit below.
    let (max_tokens, budget) = match max_output_tokens {
        None => (max_tokens + budget, budget),
        Some(limit) => (limit, budget.min(limit.saturating_sub(1))),
    };
    if budget < LEAST_BUDGET {
        return plain;
    }
    Thinking {
        max_tokens,
        thinking: Some(json!({ "type": "enabled", "budget_tokens": budget })),
        output_config: None,
        demands_signature: true,
    }
}
