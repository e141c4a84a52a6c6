//! Encodes a thinking level and the limit of a reply: models differ.

use serde_json::{Value, json};

use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::provider::ModelRequest;
use crate::provider::wire_text::level_of;

/// The smallest thinking budget that the service accepts, in tokens.
const LEAST_BUDGET: u32 = 1_024;

/// The limit of a reply if none is set and the model's is unknown, in tokens: every model accepts it.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// Models that choose the amount of thinking themselves and accept an effort instead of a budget (`wire.md`
/// §1), by the start of their names; used only where the profile has no thinking style.
const ADAPTIVE: &[&str] =
    &["claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5"];

/// The fields of a request that depend on the thinking level.
#[derive(Debug, Clone, PartialEq)]
pub struct ThinkingFields {
    pub max_tokens: u32,
    pub thinking: Option<Value>,
    pub output_config: Option<Value>,
    /// Whether an open tool loop must begin with a signed thinking block.
    pub demands_signature: bool,
    /// Whether the model is known to think with these fields; then it accepts no temperature.
    pub thinks: bool,
}

/// Returns the fields for a request.
pub fn ask(request: &ModelRequest) -> ThinkingFields {
    let style = style(request);
    let known = request.max_output_tokens.or_else(|| longest(request));
    let max_tokens = known.unwrap_or(DEFAULT_MAX_TOKENS);
    let unasked = matches!(style, ThinkingStyle::Levels | ThinkingStyle::Always);
    let plain = ThinkingFields {
        max_tokens,
        thinking: None,
        output_config: None,
        demands_signature: false,
        thinks: unasked,
    };
    let (budget, effort) = match (request.thinking, style) {
        (ThinkingLevel::Default, _) | (_, ThinkingStyle::Never) => return plain,
        // Only these models think by default.
        (ThinkingLevel::Off, ThinkingStyle::Levels) => {
            return ThinkingFields { thinking: Some(json!({ "type": "disabled" })), thinks: false, ..plain };
        }
        (ThinkingLevel::Off, ThinkingStyle::Always) | (ThinkingLevel::Low, _) => (2_048, "low"),
        (ThinkingLevel::Off, ThinkingStyle::Unknown | ThinkingStyle::Budget) => return plain,
        (ThinkingLevel::Medium, _) => (8_192, "medium"),
        (ThinkingLevel::High, _) => (24_576, "high"),
        (ThinkingLevel::Tokens(tokens), _) => (tokens, level_of(tokens)),
    };
    if unasked {
        return ThinkingFields {
            thinking: Some(json!({ "type": "adaptive" })),
            output_config: Some(json!({ "effort": effort })),
            ..plain
        };
    }
    // The budget counts as output: without a known limit it is added to our own, else it must fit below the
    // limit.
    let (max_tokens, budget) = match known {
        None => (max_tokens.saturating_add(budget), budget),
        Some(limit) => (limit, budget.min(limit.saturating_sub(1))),
    };
    if budget < LEAST_BUDGET {
        return plain;
    }
    ThinkingFields {
        max_tokens,
        thinking: Some(json!({ "type": "enabled", "budget_tokens": budget })),
        output_config: None,
        demands_signature: true,
        thinks: true,
    }
}

/// Returns the model's own limit, if known. The service refuses a prompt that does not fit into the window
/// together with the requested limit, so a reply gets at most a quarter of the window.
fn longest(request: &ModelRequest) -> Option<u32> {
    let most = request.profile.max_output?;
    Some(request.profile.window.map_or(most, |window| most.min(window / 4)))
}

fn style(request: &ModelRequest) -> ThinkingStyle {
    match request.profile.thinking {
        ThinkingStyle::Unknown if ADAPTIVE.iter().any(|start| request.model.starts_with(start)) => {
            ThinkingStyle::Levels
        }
        style => style,
    }
}
