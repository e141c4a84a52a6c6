//! `/thinking`: shows or changes how much the model thinks before it replies.

use super::{CommandEffect, CommandView, Commands, Notice};
use crate::config::ThinkingLevel;

/// The most tokens that can be entered, as in the settings.
const MOST_TOKENS: u32 = 1_000_000;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let text = match (args, level(&args.to_lowercase())) {
        ("", _) => {
            format!(
                "Thinking is `{}`. `/thinking off`, `low`, `medium`, `high`, `default` or a number of tokens sets it.",
                level_text(view.thinking)
            )
        }
        (_, Some(level)) => {
            let text = format!("Thinking is `{}` from the next request on.", level_text(level));
            return CommandEffect::SetThinking(level, Notice::plain("thinking", text));
        }
        (_, None) => {
            let text = "The levels are `default`, `off`, `low`, `medium`, `high` and a number of tokens. Nothing was changed.";
            return CommandEffect::warning("thinking", text);
        }
    };
    CommandEffect::plain("thinking", text)
}

fn level(text: &str) -> Option<ThinkingLevel> {
    if text == "default" {
        return Some(ThinkingLevel::Default);
    }
    let tokens = || text.parse().ok().filter(|tokens| (1..=MOST_TOKENS).contains(tokens));
    ThinkingLevel::named(text).or_else(|| tokens().map(ThinkingLevel::Tokens))
}

fn level_text(level: ThinkingLevel) -> String {
    let word = match level {
        ThinkingLevel::Default => "default",
        ThinkingLevel::Off => "off",
        ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        ThinkingLevel::High => "high",
        ThinkingLevel::Tokens(tokens) => return format!("{tokens} tokens"),
    };
    word.to_owned()
}
