//! `/cost`: the tokens and cost of requests: the last one, the turn, the session, today.

use super::view::{CommandView, CostPart};
use super::{CommandEffect, Commands};
use crate::stdx::text::{code, count, group_digits};
use crate::store::{StoredUsage, UsedModel};

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let parts: Vec<String> = view.cost.iter().filter_map(part).collect();
    if parts.is_empty() {
        return CommandEffect::plain("cost", "No requests today or in this session.");
    }
    let mut text = parts.join("\n");
    text.push_str("\n\nCosts use the prices of the day of each request.");
    CommandEffect::plain("cost", text)
}

/// Formats the line of one part, plus one line per model if there are several.
fn part(part: &CostPart) -> Option<String> {
    let sum = part.models.iter().fold(StoredUsage::default(), |sum, (_, total)| sum.plus(*total));
    if sum.requests == 0 {
        return None;
    }
    let mut text = format!("- {}: {}", part.name, totals(&sum));
    if part.models.len() > 1 {
        for (model, total) in &part.models {
            text.push_str(&format!("\n  - {}: {}", model_name(model), totals(total)));
        }
    }
    Some(text)
}

/// Formats a total: `cost $0.19; 2 requests, 83,200 input (60,000 cached), 512 output`.
fn totals(total: &StoredUsage) -> String {
    let input =
        within(total.input, "input", &[(total.cached_input, "cached"), (total.cache_write, "cache written")]);
    let output = within(total.output, "output", &[(total.reasoning, "thinking")]);
    let requests = count(total.requests, "request");
    format!("cost {}; {requests}, {input}, {output}", total.cost_words())
}

/// Formats a number of tokens with those of its parts that are not zero.
fn within(tokens: u64, name: &str, parts: &[(u64, &str)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .filter(|(part, _)| *part > 0)
        .map(|(part, word)| format!("{} {word}", group_digits(*part)))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{} {name}{parts}", group_digits(tokens))
}

fn model_name(model: &UsedModel) -> String {
    match (model.provider.as_str(), model.model.as_str()) {
        ("", "") => "no answer".to_owned(),
        ("", name) => code(name),
        (provider, "") => format!("{}, no answer", code(provider)),
        (provider, name) => code(&format!("{provider}/{name}")),
    }
}
