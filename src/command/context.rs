//! `/context`: where the tokens of the next request go.

use super::{CommandEffect, CommandView, Commands};
use crate::stdx::text::group_digits;

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let context = &view.context;
    let whole: u64 = context.parts.iter().map(|(_, tokens)| tokens).sum();
    let mut text = match context.window {
        Some(window) => format!(
            "The next request has about {} tokens, {} of the model's window of {}.\n\n",
            group_digits(whole),
            share(whole, u64::from(window)),
            group_digits(window)
        ),
        None => format!(
            "The next request has about {} tokens. The model's window is unknown; `context_tokens` sets it.\n\n",
            group_digits(whole)
        ),
    };
    for (name, tokens) in &context.parts {
        text.push_str(&format!("- {name}: {} ({})\n", group_digits(*tokens), share(*tokens, whole)));
    }
    text.push('\n');
    match (context.last_input, context.cached) {
        (Some(input), Some(cached)) if cached > 0 => text.push_str(&format!(
            "The last request had {} tokens by the provider's count, {} of them from its cache. ",
            group_digits(input),
            share(cached, input)
        )),
        (Some(input), _) => text.push_str(&format!(
            "The last request had {} tokens by the provider's count, none reported from its cache. ",
            group_digits(input)
        )),
        (None, _) => {}
    }
    match context.limit {
        Some(limit) => text.push_str(&format!(
            "Beyond {} tokens older messages are summarised; `/compact` does it now.",
            group_digits(limit)
        )),
        None => text.push_str("`/compact` summarises older messages now."),
    }
    CommandEffect::plain("context", text)
}

/// Formats a share in percent.
fn share(part: u64, whole: u64) -> String {
    match (part.saturating_mul(100)).checked_div(whole) {
        Some(0) if part > 0 => "under 1 %".to_owned(),
        Some(percent) => format!("{percent} %"),
        None => "0 %".to_owned(),
    }
}
