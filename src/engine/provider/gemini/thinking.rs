//! Encodes a thinking level: a number of tokens up to Gemini 2.5, a level's name from Gemini 3 on.

use serde_json::{Value, json};

use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::provider::ModelRequest;
use crate::provider::wire_text;

/// The smallest budget that every model with budgets accepts, in tokens.
const LEAST_BUDGET: u32 = 512;

/// The smallest budget of Gemini 2.5 Pro, whose thinking cannot be switched off.
const LEAST_OF_PRO: u32 = 128;

/// Returns the `thinkingConfig` of a request; `None` where it is omitted.
///
/// An unknown model gets a token budget, which Gemini 3 still accepts, while 2.5 refuses level names.
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
    // Thoughts count as output: the rest of the limit must hold an answer.
    let most = request.max_output_tokens.map_or(u32::MAX, |limit| (limit / 2).max(LEAST_BUDGET));
    Some(tokens.min(most))
}

fn level(request: &ModelRequest) -> Option<&'static str> {
    match request.thinking {
        ThinkingLevel::Off if request.profile.thinking == ThinkingStyle::Always => Some("low"),
        ThinkingLevel::Off => Some("minimal"),
        asked => wire_text::level(asked),
    }
}
