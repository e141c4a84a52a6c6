//! Selects the memories to remove when there are too many, and the summaries that replace them. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::entry::{CONSOLIDATED, LARGEST, Memory};
use super::{MemoryId, StoredMemory};
use crate::config::DecayStrategy;
use crate::message::Authorship;

/// The tags of a memory that replaces others.
const TAGS: [&str; 2] = [CONSOLIDATED, "_auto_decay"];

/// The greatest size of such a memory, in bytes: below that of any file.
const MOST: usize = LARGEST / 2;

/// The text around a memory that is recalled, in bytes.
const AROUND: usize = 200;

/// Returns the greatest size of a memory that replaces others, in bytes: it must still be recalled within so many estimated
/// tokens. Without recall only the file counts.
fn most(recall_tokens: u32) -> usize {
    match recall_tokens {
        0 => MOST,
        tokens => (tokens as usize).saturating_mul(4).saturating_sub(AROUND).min(MOST),
    }
}

/// Returns the size of a text that is quoted, in bytes: each line has a mark.
fn quoted_size(text: &str) -> usize {
    text.len() + 3 * text.lines().count()
}

/// The memories that would go, and the one that would be written before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DecayPlan {
    /// The memories that go, the oldest first.
    pub going: Vec<MemoryId>,
    /// Each replaces some of them: texts, tags, and the authorship.
    pub summaries: Vec<DecaySummary>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DecaySummary {
    pub text: String,
    pub tags: Vec<String>,
    pub authorship: Authorship,
    /// That of all that it replaces.
    pub expires: Option<Timestamp>,
}

/// Plans the decay of `share` of these memories of one folder, those that were written or used longest ago. Protected ones stay,
/// and those that would not fit in a summary that can be recalled.
#[must_use]
pub fn plan(all: &[StoredMemory], share: f64, (strategy, recall_tokens): (DecayStrategy, u32)) -> DecayPlan {
    let most = most(recall_tokens);
    // A share of a count that fits in memory.
    let wanted = ((all.len() as f64 * share) as usize).max(1);
    let fits =
        |one: &&StoredMemory| strategy == DecayStrategy::Cut || quoted_size(&item(&one.memory.text)) < most;
    let mut old: Vec<&StoredMemory> =
        all.iter().filter(|one| !one.memory.is_protected).filter(fits).collect();
    old.sort_by_key(|one| (one.last_touched(), one.id));
    old.truncate(wanted);
    let summaries = match strategy {
        DecayStrategy::Cut => Vec::new(),
        DecayStrategy::Summarize => {
            // Memories of other origins, or with another end, are not joined.
            let mut groups: BTreeMap<(bool, Option<Timestamp>), Vec<&Memory>> = BTreeMap::new();
            for one in old.iter().map(|one| &one.memory) {
                let is_external = one.authorship == Authorship::External;
                groups.entry((is_external, one.expires)).or_default().push(one);
            }
            groups.into_iter().flat_map(|(kind, group)| summaries(&group, kind, most)).collect()
        }
    };
    DecayPlan { going: old.iter().map(|one| one.id).collect(), summaries }
}

/// Joins memories of one kind to as few texts as they fit in.
fn summaries(
    group: &[&Memory],
    (is_external, expires): (bool, Option<Timestamp>),
    most: usize,
) -> Vec<DecaySummary> {
    let authorship = if is_external { Authorship::External } else { Authorship::Inferred };
    let mut made: Vec<DecaySummary> = Vec::new();
    for memory in group {
        let tags: Vec<&String> = memory.tags.iter().filter(|tag| !TAGS.contains(&tag.as_str())).collect();
        let is_list = memory.tags.iter().any(|tag| tag == CONSOLIDATED);
        let text = if is_list { memory.text.clone() } else { item(&memory.text) };
        match made.last_mut().filter(|last| quoted_size(&last.text) + quoted_size(&text) < most) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(&text);
                last.tags.extend(tags.into_iter().cloned());
            }
            None => {
                let tags = tags.into_iter().cloned().chain(TAGS.map(str::to_owned)).collect();
                made.push(DecaySummary { text, tags, authorship, expires });
            }
        }
    }
    for one in &mut made {
        one.tags.sort_unstable();
        one.tags.dedup();
    }
    made
}

/// Makes an item of a list of a text, whose further lines are indented.
fn item(text: &str) -> String {
    format!("- {}", text.replace('\n', "\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryScope;

    fn stored(number: u64, text: &str, change: impl FnOnce(&mut StoredMemory)) -> StoredMemory {
        let front =
            format!("---\nid: {number}\ncreated: 2026-01-{number:02}\ntags: [t{number}]\n---\n{text}");
        let memory = Memory::read(front.as_bytes(), "x.md", Timestamp::UNIX_EPOCH).unwrap();
        let id = MemoryId { scope: MemoryScope::User, number };
        let mut one = StoredMemory::test(id, memory);
        change(&mut one);
        one
    }

    #[test]
    fn the_oldest_go_and_protected_and_used_ones_stay() {
        let mut all: Vec<StoredMemory> = (1..=10).map(|number| stored(number, "text", |_| {})).collect();
        all[0].memory.is_protected = true;
        all[1].used = Some("2026-03-01T00:00:00Z".parse().unwrap());
        all[3].memory.authorship = Authorship::External;
        let numbers = |plan: &DecayPlan| plan.going.iter().map(|id| id.number).collect::<Vec<_>>();
        let cut = plan(&all, 0.2, (DecayStrategy::Cut, 0));
        assert_eq!((numbers(&cut), cut.summaries.len()), (vec![3, 4], 0));
        let summed = plan(&all, 0.3, (DecayStrategy::Summarize, 0));
        assert_eq!(numbers(&summed), [3, 4, 5]);
        let texts: Vec<_> = summed.summaries.iter().map(|one| (one.text.as_str(), one.authorship)).collect();
        assert_eq!(texts, [("- text\n- text", Authorship::Inferred), ("- text", Authorship::External)]);
        assert_eq!(summed.summaries[0].tags, ["_auto_decay", "_consolidated", "t3", "t5"]);
        assert_eq!(numbers(&plan(&all, 0.0, (DecayStrategy::Cut, 0))), [3], "at least one");
        let none = plan(&all[..1], 1.0, (DecayStrategy::Summarize, 0));
        assert_eq!(none, DecayPlan::default());
    }

    #[test]
    fn nothing_is_lost_in_a_summary_however_large() {
        let long = format!("{}\nsecond line", "x".repeat(15_000));
        let all: Vec<StoredMemory> = (1..=4).map(|number| stored(number, &long, |_| {})).collect();
        let plan = plan(&all, 1.0, (DecayStrategy::Summarize, 0));
        assert_eq!((plan.going.len(), plan.summaries.len()), (4, 2));
        assert!(plan.summaries.iter().all(|one| one.text.matches("\n  second line").count() == 2));
        let huge = [stored(1, &"x".repeat(60_000), |_| {})];
        assert_eq!(super::plan(&huge, 1.0, (DecayStrategy::Summarize, 0)), DecayPlan::default());
        let first = Memory { text: "- a\n- b".to_owned(), ..all[0].memory.clone() };
        let mut first = StoredMemory::test(all[0].id, first);
        first.memory.tags = vec![CONSOLIDATED.to_owned()];
        let again = super::plan(&[first, stored(2, "c", |_| {})], 1.0, (DecayStrategy::Summarize, 0));
        assert_eq!(again.summaries[0].text, "- a\n- b\n- c", "lists are not nested");
    }

    #[test]
    fn a_summary_ends_when_its_memories_do_and_can_be_recalled() {
        let end = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let mut all: Vec<StoredMemory> =
            (1..=6).map(|number| stored(number, &"x".repeat(90), |_| {})).collect();
        all[1].memory.expires = end("2026-12-31T00:00:00Z");
        all[4].memory.expires = end("2026-12-31T00:00:00Z");
        all.push(stored(7, &"y".repeat(400), |_| {}));
        // 400 bytes, of which 200 are around it.
        let plan = plan(&all, 1.0, (DecayStrategy::Summarize, 100));
        let found: Vec<_> =
            plan.summaries.iter().map(|one| (one.text.lines().count(), one.expires)).collect();
        let last = end("2026-12-31T00:00:00Z");
        assert_eq!(found, [(2, None), (2, None), (2, last)]);
        assert!(plan.summaries.iter().all(|one| one.text.len() < 200));
        assert!(plan.going.iter().all(|id| id.number != 7), "it would be recalled no more");
        assert_eq!(plan.going.len(), 6);
    }
}
