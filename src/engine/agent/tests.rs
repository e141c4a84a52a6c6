//! Tests of the small pure parts: assembling, budget, trimming, the prompt.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::assemble::{Assembler, Step};
use super::budget::{Allowance, Budget, backoff, retries_within};
use super::calls::conflict;
use super::prompt;
use crate::approval::{AutoApprove, Policy};
use crate::config::Mode;
use crate::history::{Limit, Limits, UsageTotals};
use crate::message::{Usage, Usd};
use crate::provider::{ErrorClass, StartKind, StreamEvent};
use crate::sandbox::Isolation;
use crate::tool::Access;

fn call_events(index: usize, wire_id: &str, args: &str) -> Vec<StreamEvent> {
    let kind = StartKind::ToolCall { wire_id: wire_id.to_owned(), name: "look".to_owned() };
    vec![
        StreamEvent::PartStarted { index, kind },
        StreamEvent::PartDelta { index, delta: args.to_owned() },
        StreamEvent::PartEnded { index, opaque: None },
    ]
}

#[test]
fn arguments_are_an_object_or_stay_text() {
    let cases: [(&str, Value); 6] = [
        ("", json!({})),
        ("  ", json!({})),
        ("null", json!({})),
        (r#"{"a":1}"#, json!({"a": 1})),
        (r#"{"a":"#, json!(r#"{"a":"#)),
        ("[1]", json!("[1]")),
    ];
    for (raw, expected) in cases {
        let mut assembler = Assembler::new("s/1.1".to_owned(), BTreeSet::new());
        let steps: Vec<Step> =
            call_events(0, "w", raw).into_iter().map(|event| assembler.apply(event).unwrap()).collect();
        let Some(Step::CallClosed(call)) = steps.last() else { panic!("{raw}: not closed") };
        assert_eq!((call.id.0.as_str(), &call.args), ("s/1.1.0", &expected), "{raw}");
    }
}

#[test]
fn wire_ids_never_repeat() {
    let mut assembler = Assembler::new("s/1.1".to_owned(), BTreeSet::from(["old".to_owned()]));
    let mut ids = BTreeSet::from(["old".to_owned()]);
    for (index, wire_id) in ["", "", "old", "new", "new"].iter().enumerate() {
        for event in call_events(index, wire_id, "{}") {
            if let Step::CallClosed(call) = assembler.apply(event).unwrap() {
                assert!(ids.insert(call.wire_id.clone()), "{} was taken", call.wire_id);
                let plain = call.wire_id.chars().all(|one| one.is_ascii_alphanumeric());
                assert!(plain && (call.wire_id == "new" || call.wire_id.len() == 9), "{}", call.wire_id);
            }
        }
    }
}

#[test]
fn events_out_of_order_are_refused() {
    let text = |index| StreamEvent::PartStarted { index, kind: StartKind::Text };
    let delta = |index| StreamEvent::PartDelta { index, delta: "x".to_owned() };
    let end = |index| StreamEvent::PartEnded { index, opaque: None };
    let wrong = [
        vec![text(1)],
        vec![delta(0)],
        vec![end(0)],
        vec![text(0), end(0), delta(0)],
        vec![text(0), end(0), end(0)],
        vec![text(0), text(0)],
    ];
    for events in wrong {
        let mut assembler = Assembler::new(String::new(), BTreeSet::new());
        let refused = events.iter().any(|event| assembler.apply(event.clone()).is_err());
        assert!(refused, "{events:?}");
    }
}

#[test]
fn an_endless_reply_ends() {
    let mut assembler = Assembler::new(String::new(), BTreeSet::new());
    assembler.apply(StreamEvent::PartStarted { index: 0, kind: StartKind::Text }).unwrap();
    let mebibyte = "x".repeat(1 << 20);
    let accepted = (0..100)
        .take_while(|_| {
            let delta = mebibyte.clone();
            assembler.apply(StreamEvent::PartDelta { index: 0, delta }).is_ok()
        })
        .count();
    assert_eq!(accepted, 32);
}

#[test]
fn the_budget_counts_every_request() {
    let limits = |requests, tokens| Limits { requests, tokens };
    let cases = [
        (limits(Some(3), None), 0, 0, Allowance::Free),
        (limits(Some(3), None), 1, 0, Allowance::Free),
        (limits(Some(3), None), 2, 0, Allowance::Last),
        (limits(Some(3), None), 3, 0, Allowance::Spent(Limit::Requests)),
        (limits(Some(1), None), 0, 0, Allowance::Free),
        (limits(None, None), 9_999, 9_999, Allowance::Free),
        (limits(None, Some(10)), 1, 9, Allowance::Free),
        (limits(Some(3), Some(10)), 2, 10, Allowance::Spent(Limit::Tokens)),
    ];
    for (limits, requests, tokens, expected) in cases {
        let budget = Budget { limits, used: UsageTotals { requests, tokens, ..UsageTotals::default() } };
        assert_eq!(budget.allowance(), expected, "{limits:?} {requests} {tokens}");
    }
    let mut budget = Budget::new(Limits::default());
    budget.used.count(None, None, Some(ErrorClass::Overloaded));
    let usage = Some(Usage { input: Some(5), output: Some(2), ..Usage::default() });
    budget.used.count(usage, Some(Usd(3)), None);
    budget.used.count(usage, None, None);
    budget.used.count(None, None, Some(ErrorClass::Truncated));
    assert_eq!(budget.used, UsageTotals { requests: 4, tokens: 14, usd: Usd(3), unpriced: 2 });
}

#[test]
fn waits_grow_and_stay_bounded() {
    for seed in 0..200 {
        for (retry, least, most) in
            [(1, 1_000, 2_000), (2, 2_000, 4_000), (3, 4_000, 8_000), (9, 15_000, 30_000)]
        {
            let wait = backoff(retry, seed);
            let bounds = Duration::from_millis(least)..=Duration::from_millis(most);
            assert!(bounds.contains(&wait), "retry {retry}, seed {seed}: {wait:?}");
        }
    }
}

#[test]
fn retries_fill_the_time_that_is_set() {
    for seed in 0..200 {
        let wait = |retry| backoff(retry, seed);
        let count = retries_within(Duration::from_secs(60), wait);
        let whole: Duration = (1..=count).map(wait).sum();
        assert!((45..=75).contains(&whole.as_secs()), "{count} retries take {whole:?}");
    }
    let seconds = |seconds| move |_| Duration::from_secs(seconds);
    for (set, wait, count) in [(60, 30, 2), (60, 25, 2), (60, 200, 0), (0, 2, 0), (60, 0, 20), (0, 0, 0)] {
        assert_eq!(retries_within(Duration::from_secs(set), seconds(wait)), count, "{set} {wait}");
    }
}

fn policy(mode: Mode, auto_approve: AutoApprove) -> Policy {
    Policy { mode, auto_approve, ..Policy::default() }
}

#[test]
fn the_situation_is_filled_in() {
    let day = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    for mode in Mode::ALL {
        for auto_approve in [AutoApprove::Asking, AutoApprove::Yolo] {
            let policy = policy(mode, auto_approve);
            let situation = |now| prompt::situation(&policy, Isolation::NONE, now);
            let morning = situation(day("2026-11-21T12:00:00Z"));
            assert!(!morning.contains('{') && !morning.contains('}'), "{morning}");
            assert!(morning.contains("21 November 2026"), "{morning}");
            assert_eq!(morning, situation(day("2026-11-21T12:30:00Z")));
        }
    }
}

/// `r:PATH` reads, `w:PATH` writes, `*` anything, `-` nothing.
fn access(text: &str) -> Access {
    match text.split_once(':') {
        Some(("r", path)) => Access::Paths { reads: vec![path.into()], writes: Vec::new() },
        Some((_, path)) => Access::Paths { reads: Vec::new(), writes: vec![path.into()] },
        None if text == "*" => Access::Anything,
        None => Access::Nothing,
    }
}

#[test]
fn writes_conflict_with_what_they_touch_and_what_lies_in_it() {
    let cases = [
        ("w:/w/a", "w:/w/a", true),
        ("w:/w/a", "w:/w/b", false),
        ("w:/w/a", "w:/w/a/b", true),
        ("w:/w/a", "r:/w/a/b/c", true),
        ("r:/w/a", "w:/w/a/b", true),
        // Paths are compared by whole components.
        ("w:/w/a", "w:/w/ab", false),
        ("r:/w/a", "r:/w/a", false),
        ("*", "r:/w/a", true),
        ("*", "*", true),
        ("*", "-", true),
        ("-", "w:/w/a", false),
        ("-", "-", false),
    ];
    for (one, other, expected) in cases {
        assert_eq!(conflict(&access(one), &access(other)), expected, "{one} {other}");
        assert_eq!(conflict(&access(other), &access(one)), expected, "{other} {one}");
    }
}
