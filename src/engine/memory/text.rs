//! Memories in words, for lists and for the model.

use jiff::Timestamp;

use super::find::{MemoryListing, Review};
use super::{MemoryId, StoredMemory};
use crate::config::MemorySettings;
use crate::stdx::clock::system_zone;
use crate::stdx::moment::ago;
use crate::stdx::text::{one_line_summary, sanitize_line};

/// The width of a memory in a list, in terminal cells.
const WIDTH: usize = 80;

/// Describes a memory on one line: `#12 Prefers tabs (style; protected)`.
#[must_use]
pub fn line(one: &StoredMemory) -> String {
    let memory = &one.memory;
    let mut facts: Vec<String> = Vec::new();
    if !memory.tags.is_empty() {
        facts.push(memory.tags.join(", "));
    }
    if memory.is_protected {
        facts.push("protected".to_owned());
    }
    if memory.authorship == crate::message::Authorship::External {
        facts.push(memory.authorship.word().to_owned());
    }
    let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join("; ")) };
    format!("#{} {}{}", one.id, one_line_summary(&memory.text, WIDTH), sanitize_line(&facts))
}

/// Describes all of a memory: its text, where it is from, when it was used.
#[must_use]
pub fn details(one: &StoredMemory, now: Timestamp) -> Vec<(&'static str, String)> {
    let memory = &one.memory;
    let zone = system_zone();
    let ago = |at: Timestamp| ago(at, now, &zone);
    let used = match (one.used, one.uses) {
        (Some(used), 1) => format!("once, {}", ago(used)),
        (Some(used), uses) => format!("{uses} times, last {}", ago(used)),
        (None, _) => "never".to_owned(),
    };
    let session =
        memory.session.as_ref().map(|session| format!(", in session {session}")).unwrap_or_default();
    let call = memory.call.as_ref().map(|call| format!(", by call {call}")).unwrap_or_default();
    let mut rows = vec![
        ("text", memory.text.clone()),
        ("source", format!("{}{session}{call}", one.source())),
        ("created", ago(memory.created)),
        ("used", used),
        ("file", one.path.display().to_string()),
    ];
    let more = [
        ("tags", (!memory.tags.is_empty()).then(|| memory.tags.join(", "))),
        ("category", memory.category.clone()),
        ("updated", memory.updated.map(ago)),
        ("expires", memory.expires.map(|expires| expires.to_string())),
        ("protected", memory.is_protected.then(|| "it never decays".to_owned())),
    ];
    rows.extend(more.into_iter().filter_map(|(name, value)| Some((name, value?))));
    rows
}

/// Lists memories, and what is wrong with files.
#[must_use]
pub fn list(listing: &MemoryListing) -> String {
    let mut text: String = listing.memories.iter().map(|one| format!("{}\n", line(one))).collect();
    if listing.total > listing.memories.len() {
        text.push_str(&format!("… the latest {} of {}\n", listing.memories.len(), listing.total));
    }
    if text.is_empty() {
        text.push_str("Nothing is remembered yet.\n");
    }
    for problem in &listing.problems {
        text.push_str(&format!("ignored: {}\n", sanitize_line(problem)));
    }
    text
}

/// Says what the user may want to do about memories; `yes` is what carries out the decay.
#[must_use]
pub fn review(review: &Review, settings: &MemorySettings, yes: &str) -> String {
    let mut text = String::new();
    let mut part = |head: String, memories: &[&StoredMemory]| {
        let lines: String = memories.iter().map(|one| format!("  {}\n", line(one))).collect();
        text.push_str(&format!("{head}:\n{lines}"));
    };
    for (scope, plan) in &review.decay {
        let is_going = |one: &&StoredMemory| plan.going.contains(&one.id);
        let going: Vec<&StoredMemory> = review.going.iter().filter(is_going).collect();
        let what = match plan.summaries.len() {
            0 => "would be deleted".to_owned(),
            many => format!("would be joined into {many}"),
        };
        let head = format!("More than {} in {}; the oldest {what}", settings.max_count, scope.word());
        part(head, &going);
    }
    for (head, memories) in [("Expired", &review.expired), ("Not used for half a year", &review.unused)] {
        if !memories.is_empty() {
            part(head.to_owned(), &memories.iter().collect::<Vec<_>>());
        }
    }
    if !review.decay.is_empty() {
        text.push_str(&format!("{yes} does it.\n"));
    }
    for problem in &review.problems {
        text.push_str(&format!("ignored: {}\n", sanitize_line(problem)));
    }
    if text.is_empty() { "There is nothing to do about memories.\n".to_owned() } else { text }
}

impl MemoryId {
    /// Returns it as it is shown: `#12`.
    #[must_use]
    pub fn label(self) -> String {
        format!("#{self}")
    }
}
