//! Figures of what is remembered: recall and search in 100,000 memories, and a save.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use co::config::MemorySettings;
use co::memory::{Memories, MemoryOptions, MemoryScope, NewMemory};
use co::message::Authorship;
use co::stdx::clock::SystemClock;

use super::report::{Goal, Report, percentile};
use super::stage::{Stage, ms};

const MEMORIES: usize = 100_000;
const ROUNDS: usize = 400;

/// Words of which some are in most memories and most in few.
const COMMON: [&str; 8] =
    ["prefers", "project", "server", "meeting", "python", "deploy", "review", "customer"];

fn text(number: usize) -> String {
    let (one, other) = (COMMON[number % 8], COMMON[number / 8 % 8]);
    let (rare, unique) = (number % 5_000, number);
    format!(
        "The {one} of team{rare} goes with {other} in place{} since ticket{unique}, and stays so.",
        number % 97
    )
}

/// In this process, after the index was made: what a turn waits for before its request.
pub fn memory(report: &mut Report) {
    let stage = Stage::new(None);
    let knowledge = stage.data().join("knowledge");
    let folder = knowledge.join("memories");
    fs::create_dir_all(&folder).unwrap();
    for number in 1..=MEMORIES {
        let entry = format!(
            "---\nid: {number}\ncreated: 2026-01-01T00:00:00Z\ntags: [tag{}]\n---\n\n{}\n",
            number % 500,
            text(number)
        );
        fs::write(folder.join(format!("{number:03}-x.md")), entry).unwrap();
    }
    let settings = MemorySettings {
        max_count: 10 * MEMORIES,
        dedup_window_days: 7,
        dedup_threshold: 85,
        ..MemorySettings::default()
    };
    let clock = Arc::new(SystemClock);
    let options =
        MemoryOptions { knowledge: Some(knowledge), data: stage.data(), settings, clock, projects: None };
    let memories = Memories::new(options);
    let project = stage.workspace();
    let start = Instant::now();
    memories.scan(&project);
    report.add("100,000 memories: the index is made", "ms", &[ms(start.elapsed())], &[], Goal::Open);

    let prompt = |round: usize| match round % 4 {
        0 => format!("what about ticket{} and team{}?", round * 97 + 1, round % 5_000),
        1 => format!(
            "how does the {} of the {} project go with team{}?",
            COMMON[round % 8],
            COMMON[round / 8 % 8],
            round
        ),
        2 => format!("prefers python in place{}", round % 97),
        _ => format!("everything with tag{} for the customer meeting, please", round % 500),
    };
    let timed = |work: &dyn Fn(usize) -> usize| -> Vec<f64> {
        let one = |round: usize| {
            let start = Instant::now();
            assert!(work(round) > 0, "{}", prompt(round));
            ms(start.elapsed())
        };
        (0..ROUNDS).map(one).collect()
    };
    let recalled = timed(&|round| memories.recall(&project, &prompt(round), 5).unwrap().len());
    report.add("100,000 memories: recall before a turn", "ms", &recalled, &[], Goal::Most(10.0));
    report.add("100,000 memories: recall, p99", "ms", &[percentile(&recalled, 99)], &[], Goal::Most(10.0));
    let found = timed(&|round| memories.search(&project, &prompt(round), 10).unwrap().len());
    report.add("100,000 memories: search, p99", "ms", &[percentile(&found, 99)], &[], Goal::Most(10.0));

    let saved: Vec<f64> = (0..20)
        .map(|round| {
            let new = NewMemory {
                text: format!("A new fact of round {round}, {}", text(round * 31)),
                tags: Vec::new(),
                scope: MemoryScope::User,
                authorship: Authorship::Said,
                session: None,
                call: None,
            };
            let start = Instant::now();
            memories.save(&project, new).unwrap();
            ms(start.elapsed())
        })
        .collect();
    report.add("100,000 memories: a save", "ms", &saved, &[], Goal::Open);
}
