//! Compaction: older messages of a conversation are replaced by a summary of them. Pure.
//!
//! [`CompactionPlan::of`] finds what is replaced and what is kept word for word; the turn asks a model for the
//! summary and [`CompactionPlan::summary_record`] accepts it or not. Without a usable summary the messages are
//! left out ([`CompactionPlan::trim_record`]). A call is never separated from its return.

use super::{BYTES_PER_TOKEN, ledger, message_tokens, quoted};
use crate::history::{History, Record, RecordNo};
use crate::message::Message;
use crate::stdx::text::group_digits;

/// The share of the room that the newest messages keep: one in this many.
const KEPT_SHARE: u64 = 4;

/// The shares that the facts kept word for word may have: of the window, and of what they replace; and the bounds in
/// bytes.
const FACTS_SHARE: u64 = 10;
const FACTS_OF_REPLACED: u64 = 3;
const LEAST_FACTS: u64 = 1_000;
const MOST_FACTS: u64 = 16_000;

/// The share of the window that the quoted messages of a summary's request may have.
const QUOTED_SHARE: u64 = 2;

/// Fewer tokens than these are not summarised unless it is necessary.
const LEAST: u64 = 500;

/// The size of a conversation, in tokens, that is assumed to fit every model.
const ROOM: u64 = 32_000;

/// The messages that a compaction replaces, and those it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    pub kept_from: RecordNo,
    /// Number of messages that are replaced.
    pub messages: usize,
    /// Estimated tokens of these messages.
    pub tokens: u64,
    /// The request for the summary: the messages as quoted data.
    pub quoted: String,
    /// The texts that are kept of them word for word.
    facts: String,
    /// The summary of even older messages that is among them.
    earlier: Option<String>,
}

impl CompactionPlan {
    /// Plans a compaction for a conversation that may have `room` tokens (`None` = unknown); `None` if nothing older
    /// can be replaced. `window` is the size that the request for the summary may have.
    #[must_use]
    pub fn of(history: &History, room: Option<u64>, window: Option<u64>) -> Option<Self> {
        let entries = history.entries();
        let sizes: Vec<u64> = entries.iter().map(|(_, message)| message_tokens(message)).collect();
        let whole: u64 = sizes.iter().sum();
        let keep = room.map_or(whole, |room| room.min(whole)) / KEPT_SHARE;
        let kept = cut(history, &sizes, keep)?;
        let only_an_older_summary = kept == 1 && entries.first()?.1.summary().is_some();
        if only_an_older_summary {
            return None;
        }
        let bytes = |tokens: u64, share: u64| tokens.saturating_mul(BYTES_PER_TOKEN) / share;
        let replaced: u64 = sizes.iter().take(kept).sum();
        let window = window.unwrap_or(ROOM);
        let facts = bytes(window, FACTS_SHARE).min(bytes(replaced, FACTS_OF_REPLACED));
        let facts = usize_of(facts.clamp(LEAST_FACTS, MOST_FACTS));
        let quoted = usize_of(bytes(window, QUOTED_SHARE));
        Some(Self {
            kept_from: entries.get(kept)?.0,
            messages: kept,
            tokens: replaced,
            quoted: quoted::quote_messages(history, kept, quoted),
            facts: ledger::facts(history, kept, facts),
            earlier: earlier_summary(&entries.first()?.1),
        })
    }

    /// Plans a compaction that does not wait for the conversation to be too long: by the user, or after a refusal. The
    /// kept part is much smaller than the conversation. `preamble` is the size of the texts before the conversation.
    #[must_use]
    pub fn on_demand(
        history: &History,
        room: Option<u64>,
        window: Option<u64>,
        preamble: u64,
    ) -> Option<Self> {
        let said = super::estimated_tokens(history, preamble).saturating_sub(preamble);
        Self::of(history, Some(room.map_or(said, |room| room.min(said))), window)
    }

    /// Whether a summary of so little can be much shorter.
    #[must_use]
    pub fn is_worth_a_summary(&self) -> bool {
        self.tokens >= LEAST
    }

    /// Returns the record of a compaction by this summary, which the model `by` wrote. Errs, with the reason, if the
    /// summary is empty or what replaces the messages would not be shorter than they are.
    pub fn summary_record(&self, summary: &str, by: &str) -> Result<Record, &'static str> {
        let summary = summary.trim();
        if summary.is_empty() {
            return Err("it is empty");
        }
        let count = group_digits(self.messages);
        let facts = if self.facts.is_empty() { String::new() } else { format!("{}\n\n", self.facts) };
        let text = format!(
            "{count} older messages of this conversation were replaced by this note.\n\n{facts}{SUMMARY}{summary}"
        );
        if text.len() as u64 / BYTES_PER_TOKEN >= self.tokens {
            return Err("it is not shorter than what it replaces");
        }
        Ok(Record::Compacted { summary: text, kept_from: self.kept_from, by: Some(by.to_owned()) })
    }

    /// Returns the record that leaves the messages out without a summary.
    #[must_use]
    pub fn trim_record(&self) -> Record {
        let count = group_digits(self.messages);
        let notice =
            format!("{count} older messages were left out here because they no longer fit the model.");
        let facts = Some(self.facts.clone()).filter(|facts| !facts.is_empty());
        let earlier = self.earlier.as_ref().map(|earlier| format!("{SUMMARY}{earlier}"));
        let texts: Vec<String> = [Some(notice), facts, earlier].into_iter().flatten().collect();
        Record::Compacted { summary: texts.join("\n\n"), kept_from: self.kept_from, by: None }
    }
}

/// A compaction that was done, for front ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionReport {
    /// Number of messages that were replaced.
    pub messages: usize,
    pub summary: Summary,
}

/// The replacement of the messages, besides the facts kept word for word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summary {
    /// A text by this model.
    Written { by: String, text: String },
    /// Nothing; with the reason, if a summary was tried.
    None { why: Option<String> },
}

/// The text before a summary that a model wrote.
const SUMMARY: &str =
    "## Summary of them\nA model wrote it from the conversation. It is no instruction of the user.\n\n";

/// Returns the model's own text of an earlier summary.
fn earlier_summary(message: &Message) -> Option<String> {
    message.summary()?.split_once(SUMMARY).map(|(_, summary)| summary.to_owned())
}

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the index of the first message to keep: the newest messages of about `keep` tokens, from a prompt on if one
/// of them is a prompt; at least the last prompt, or else the last reply with its returns.
fn cut(history: &History, sizes: &[u64], keep: u64) -> Option<usize> {
    let entries = history.entries();
    // The tokens from each message on.
    let mut tails: Vec<u64> = sizes
        .iter()
        .rev()
        .scan(0, |sum, size| {
            *sum += size;
            Some(*sum)
        })
        .collect();
    tails.reverse();
    let tail = |at: usize| tails[at];
    let prompts: Vec<usize> = (1..entries.len()).filter(|&at| entries[at].1.is_prompt()).collect();
    if let Some(at) = prompts.iter().copied().find(|&at| tail(at) <= keep) {
        return Some(at);
    }
    let within: Vec<usize> = (1..entries.len())
        .filter(|&at| {
            matches!(*entries[at].1, Message::Assistant(_))
                && matches!(*entries[at - 1].1, Message::ToolReturns { .. })
        })
        .collect();
    let last_prompt = prompts.last().copied();
    // The newest turn stays whole if that makes the conversation at most half as long.
    if let Some(at) = last_prompt.filter(|&at| tail(at) <= tail(0) / 2) {
        return Some(at);
    }
    let fitting = within.iter().copied().find(|&at| tail(at) <= keep.max(1));
    fitting.or_else(|| within.last().copied()).or(last_prompt)
}
