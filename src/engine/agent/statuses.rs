//! The sentences of [`Event::Status`](super::port::Event::Status), but for those about caps: whole sentences, with a capital
//! and a full stop. What has an event of its own, or is said by the end of the turn, has none.

pub const NOT_ENOUGH_TO_COMPACT: &str = "There is not enough older text to compact.";
pub const SENT_ALREADY: &str = "That prompt has gone to the model already.";
pub(super) const COMPACTION_STOPPED: &str = "Stopped. Nothing was compacted.";
pub(super) const NO_ANSWER: &str = "The model returned an empty answer.";
pub(super) const WINDOW_CUT: &str = "The conversation fills the context window, which cut the answer off.";
pub(super) const WINDOW_FULL: &str =
    "The conversation fills the context window, which left no room for an answer.";

/// Says why a compaction that was asked for changed nothing.
pub(super) fn not_compacted(why: &str) -> String {
    format!("Nothing was compacted: {why}.")
}

/// Says that the model for summaries failed.
pub(super) fn other_summarizer(why: &str) -> String {
    format!("{why}; the model in use writes the summary.")
}

/// Says which servers a turn does without.
pub(super) fn without_servers(names: &[String]) -> String {
    format!("Still connecting, so without their tools: {}.", names.join(", "))
}

/// Says that the store failed, and of which calls the ends are lost.
pub(super) fn lost_ends(error: &impl std::fmt::Display, calls: &[String]) -> String {
    if calls.is_empty() {
        return format!("{error}.");
    }
    format!("{error}. These calls ran and their ends are not recorded: {}.", calls.join(", "))
}
