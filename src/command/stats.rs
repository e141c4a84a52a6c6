//! `/stats`: requests, calls and approvals of the last 30 days.

use std::fmt::Display;

use super::view::CommandView;
use super::{CommandEffect, Commands};
use crate::stdx::moment::milliseconds;
use crate::stdx::text::{code, count, group_digits};
use crate::telemetry::stats::{SpanCounts, Stats};

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let text = match &view.stats_broken {
        Some(why) => why.clone(),
        None if view.stats == Stats::default() => "No spans in the last 30 days.".to_owned(),
        None => report(&view.stats),
    };
    CommandEffect::plain("stats", text)
}

fn report(stats: &Stats) -> String {
    let mut text = String::new();
    section(&mut text, "By day", stats.days.iter(), "request");
    section(&mut text, "By model", stats.models.iter().map(|(name, one)| (code(name), one)), "request");
    section(&mut text, "By tool", stats.tools.iter().map(|(name, one)| (code(name), one)), "call");
    if let Some(words) = stats.approvals.sentence() {
        text.push_str(&format!("{words}.\n\n"));
    }
    text.push_str("`co stats` has other days, and JSON; `co traces` shows each turn.");
    text
}

fn section<'a, N: Display>(
    text: &mut String,
    head: &str,
    lines: impl Iterator<Item = (N, &'a SpanCounts)>,
    unit: &str,
) {
    let lines: Vec<String> =
        lines.map(|(name, one)| format!("- {name}: {}\n", counts_text(one, unit))).collect();
    if !lines.is_empty() {
        text.push_str(&format!("{head}\n\n{}\n", lines.concat()));
    }
}

/// Describes counts: `12 requests (1 failed), 83,200 input, 512 output, cost $0.19; half within 1.2s, 95 % within 3.4s`.
fn counts_text(one: &SpanCounts, unit: &str) -> String {
    let mut words = count(one.count, unit);
    if one.errors > 0 {
        words.push_str(&format!(" ({} failed)", one.errors));
    }
    if one.input_tokens + one.output_tokens > 0 {
        let (input, output) = (group_digits(one.input_tokens), group_digits(one.output_tokens));
        let cost = one.cost();
        words.push_str(&format!(", {input} input, {output} output, cost {cost}"));
    }
    if let (Some(half), Some(most)) = (one.p50_ms, one.p95_ms) {
        words.push_str(&format!("; half within {}, 95 % within {}", milliseconds(half), milliseconds(most)));
    }
    words
}
