//! How a thinking level is asked for: a number of tokens up to Gemini 2.5, a word from Gemini 3 on.

use serde_json::{Value, json};

use crate::provider::wire_text::level_of;
use crate::provider::{ModelRequest, ThinkingLevel, ThinkingStyle};

/// The least budget that every model with budgets takes, in tokens.
const LEAST_BUDGET: u32 = 512;

/// The least that Gemini 2.5 Pro takes, which cannot be told not to think.
const LEAST_OF_PRO: u32 = 128;

/// The `thinkingConfig` of a request; `None` where it says nothing.
///
/// A model of which nothing is known is asked by tokens, which Gemini 3 still takes, while 2.5 refuses words.
pub fn config(request: &ModelRequest) -> Option<Value> {
    match request.profile.thinking {
        ThinkingStyle::Never => None,
        ThinkingStyle::Unknown | ThinkingStyle::Budget => budget(request).map(|tokens| {
            json!({ "includeThoughts": request.thinking != ThinkingLevel::Off, "thinkingBudget": tokens })
        }),
        ThinkingStyle::Levels | ThinkingStyle::Always => level(request).map(|word| {
            json!({ "includeThoughts": request.thinking != ThinkingLevel::Off, "thinkingLevel": word })
        }),
    }
}

fn budget(request: &ModelRequest) -> Option<u32> {
    let tokens = match request.thinking {
        ThinkingLevel::Default => return None,
        ThinkingLevel::Off if request.profile.thinking == ThinkingStyle::Unknown => return None,
        ThinkingLevel::Off if request.model.contains("2.5-pro") => return Some(LEAST_OF_PRO),
        ThinkingLevel::Off => return Some(0),
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High => 24_576,
        ThinkingLevel::Tokens(tokens) => tokens,
    };
    // Thoughts count as output: what is left over must hold an answer.
    let most = request.max_output_tokens.map_or(u32::MAX, |limit| (limit / 2).max(LEAST_BUDGET));
    Some(tokens.min(most))
}

fn level(request: &ModelRequest) -> Option<&'static str> {
    match request.thinking {
        ThinkingLevel::Default => None,
        ThinkingLevel::Off if request.profile.thinking == ThinkingStyle::Always => Some("low"),
        ThinkingLevel::Off => Some("minimal"),
        ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High => Some("high"),
        ThinkingLevel::Tokens(tokens) => Some(level_of(tokens)),
    }
}
