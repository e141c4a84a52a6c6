//! Which memories go when there are too many, and what is written before. Pure.

use super::entry::{CONSOLIDATED, LARGEST, Memory};
use super::{MemoryId, StoredMemory};
use crate::config::DecayStrategy;
use crate::message::Authorship;

/// The tags of a memory that replaces others.
const TAGS: [&str; 2] = [CONSOLIDATED, "_auto_decay"];

/// The greatest size of such a memory, in bytes: below that of any file. A memory that would not fit twice stays.
const MOST: usize = LARGEST / 2;

/// What would go, and what would be written before.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DecayPlan {
    /// The memories that go, the oldest first.
    pub going: Vec<MemoryId>,
    /// Each replaces some of them: texts, tags, and whose words they are.
    pub summaries: Vec<DecaySummary>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DecaySummary {
    pub text: String,
    pub tags: Vec<String>,
    pub authorship: Authorship,
}

/// Plans the decay of `share` of these memories of one folder, those that were written or used longest ago. Protected ones stay.
#[must_use]
pub fn plan(all: &[StoredMemory], share: f64, strategy: DecayStrategy) -> DecayPlan {
    // A share of a count that fits in memory.
    let wanted = ((all.len() as f64 * share) as usize).max(1);
    let fits = |one: &&StoredMemory| strategy == DecayStrategy::Cut || one.memory.text.len() < MOST / 2;
    let mut old: Vec<&StoredMemory> =
        all.iter().filter(|one| !one.memory.is_protected).filter(fits).collect();
    old.sort_by_key(|one| (one.last_touched(), one.id));
    old.truncate(wanted);
    let summaries = match strategy {
        DecayStrategy::Cut => Vec::new(),
        DecayStrategy::Summarize => {
            let (external, own): (Vec<&Memory>, Vec<&Memory>) =
                old.iter().map(|one| &one.memory).partition(|one| one.authorship == Authorship::External);
            let groups = [(own, Authorship::Inferred), (external, Authorship::External)];
            groups.into_iter().flat_map(|(group, authorship)| summaries(&group, authorship)).collect()
        }
    };
    DecayPlan { going: old.iter().map(|one| one.id).collect(), summaries }
}

/// Joins memories to as few texts as they fit in.
fn summaries(group: &[&Memory], authorship: Authorship) -> Vec<DecaySummary> {
    let mut made: Vec<DecaySummary> = Vec::new();
    for memory in group {
        let tags: Vec<&String> = memory.tags.iter().filter(|tag| !TAGS.contains(&tag.as_str())).collect();
        let is_list = memory.tags.iter().any(|tag| tag == CONSOLIDATED);
        let text = if is_list { memory.text.clone() } else { item(&memory.text) };
        match made.last_mut().filter(|last| last.text.len() + text.len() < MOST) {
            Some(last) => {
                last.text.push('\n');
                last.text.push_str(&text);
                last.tags.extend(tags.into_iter().cloned());
            }
            None => {
                let tags = tags.into_iter().cloned().chain(TAGS.map(str::to_owned)).collect();
                made.push(DecaySummary { text, tags, authorship });
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
    use jiff::Timestamp;

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
        let cut = plan(&all, 0.2, DecayStrategy::Cut);
        assert_eq!((numbers(&cut), cut.summaries.len()), (vec![3, 4], 0));
        let summed = plan(&all, 0.3, DecayStrategy::Summarize);
        assert_eq!(numbers(&summed), [3, 4, 5]);
        let texts: Vec<_> = summed.summaries.iter().map(|one| (one.text.as_str(), one.authorship)).collect();
        assert_eq!(texts, [("- text\n- text", Authorship::Inferred), ("- text", Authorship::External)]);
        assert_eq!(summed.summaries[0].tags, ["_auto_decay", "_consolidated", "t3", "t5"]);
        assert_eq!(numbers(&plan(&all, 0.0, DecayStrategy::Cut)), [3], "at least one");
        let none = plan(&all[..1], 1.0, DecayStrategy::Summarize);
        assert_eq!(none, DecayPlan::default());
    }

    #[test]
    fn nothing_is_lost_in_a_summary_however_large() {
        let long = format!("{}\nsecond line", "x".repeat(15_000));
        let all: Vec<StoredMemory> = (1..=4).map(|number| stored(number, &long, |_| {})).collect();
        let plan = plan(&all, 1.0, DecayStrategy::Summarize);
        assert_eq!((plan.going.len(), plan.summaries.len()), (4, 2));
        assert!(plan.summaries.iter().all(|one| one.text.matches("\n  second line").count() == 2));
        let huge = [stored(1, &"x".repeat(60_000), |_| {})];
        assert_eq!(super::plan(&huge, 1.0, DecayStrategy::Summarize), DecayPlan::default());
        let first = Memory { text: "- a\n- b".to_owned(), ..all[0].memory.clone() };
        let mut first = StoredMemory::test(all[0].id, first);
        first.memory.tags = vec![CONSOLIDATED.to_owned()];
        let again = super::plan(&[first, stored(2, "c", |_| {})], 1.0, DecayStrategy::Summarize);
        assert_eq!(again.summaries[0].text, "- a\n- b\n- c", "lists are not nested");
    }
}
