//! The fold in tables: from records to the whole visible state, one line per fact.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::{
    AssistantMessage, AssistantPart, PartKind, ReturnStatus, StopKind, StopReason, ToolName,
};
use crate::tool::{Access, CallPlan, Risk};

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: CallId(id.to_owned()),
        wire_id: format!("w-{id}"),
        name: ToolName::new("write_file"),
        args: json!({ "path": id }),
    }
}

fn request(call: &str, id: &str) -> Request {
    let plan = CallPlan::new(format!("write {call}"), Risk::Low, Access::Nothing);
    let (tool, args) = (ToolName::new("write_file"), json!({ "path": call }));
    Request::new(RequestId(id.to_owned()), CallId(call.to_owned()), tool, args, plan)
}

fn reply(text: &str, calls: &[&str]) -> Message {
    let text = AssistantPart::new(PartKind::Text { text: text.to_owned() });
    let calls = calls.iter().map(|id| AssistantPart::new(PartKind::ToolCall(call(id))));
    Message::Assistant(AssistantMessage {
        parts: std::iter::once(text).chain(calls).collect(),
        asked: String::new(),
        model: "m".to_owned(),
        stop: StopReason::new(StopKind::ToolUse),
    })
}

fn opened() -> Record {
    Record::Opened { workspace: "/w".into() }
}

fn turn(turn: u32) -> Record {
    Record::TurnStarted { turn, limits: Limits::default(), trace: None }
}

fn said(message: Message) -> Record {
    Record::said(message)
}

fn user(text: &str) -> Record {
    said(Message::user(text))
}

fn ended(attempt: u32, tokens: u64) -> Record {
    let usage = (tokens > 0).then_some(Usage { input: Some(tokens), output: Some(1), ..Usage::default() });
    Record::RequestEnded {
        attempt,
        usage,
        provider: "p".to_owned(),
        model: "m".to_owned(),
        cost: None,
        error: None,
        purpose: RequestKind::Answer,
    }
}

fn partial(attempt: u32, text: &str) -> Record {
    Record::Partial { attempt, text: text.to_owned() }
}

fn asked(id: &str, as_id: &str) -> Record {
    Record::Asked { call: call(id), request: Box::new(request(id, as_id)) }
}

fn decided(id: &str, approval: Approval) -> Record {
    Record::Decided {
        request: RequestId("r".to_owned()),
        call: CallId(id.to_owned()),
        approval,
        by: Decider::Tui,
    }
}

fn expired(call: &str) -> Record {
    Record::Expired { request: RequestId(format!("of-{call}")), call: CallId(call.to_owned()) }
}

fn started(id: &str) -> Record {
    Record::ToolStarted { call: CallId(id.to_owned()) }
}

fn finished(id: &str, status: ReturnStatus) -> Record {
    Record::ToolFinished { returned: ToolReturn::program(CallId(id.to_owned()), status, format!("out {id}")) }
}

fn end(end: TurnEnd) -> Record {
    Record::TurnEnded { end }
}

fn no() -> Approval {
    Approval::Deny { reason: None }
}

fn late(id: &str) -> UserPart {
    let text = format!("The earlier call write_file (write {id}) was approved later and ran.\nout {id}");
    UserPart::Note { kind: NoteKind::LateOutcome { call: CallId(id.to_owned()) }, text }
}

/// Everything in a history that is not at its default, one fact per line.
fn shown(history: &History) -> String {
    let mut out = String::new();
    let mut fact = |words: String| writeln!(out, "{words}").expect("a string takes all");
    for (no, message) in history.entries() {
        fact(format!("{} {}", no.0, message_line(message)));
    }
    for open in history.open_calls() {
        let request = open.request.as_ref().map(|one| format!(" as {}", one.id)).unwrap_or_default();
        let later = if open.later { " later" } else { "" };
        fact(format!("open {} {}{request}{later}", open.call.id, known_word(&open.known)));
    }
    for one in history.late_calls() {
        fact(format!("late {} {} as {}", one.call.id, known_word(&one.known), one.request.id));
    }
    if let Some(turn) = history.running_turn() {
        let RunningTurn { number, used, attempts, partial, .. } = turn;
        fact(format!(
            "turn {number}: attempts {attempts}, requests {}, tokens {}",
            used.requests, used.tokens
        ));
        partial.iter().for_each(|(attempt, text)| fact(format!("partial {attempt}: {text}")));
    }
    history.last_end().into_iter().for_each(|end| fact(format!("end {end:?}")));
    history.notes().iter().for_each(|(kind, text)| fact(format!("note {kind:?}: {text}")));
    history.queued_prompts().iter().for_each(|parts| fact(format!("queued {parts:?}")));
    history.title().into_iter().for_each(|title| fact(format!("title {title}")));
    history.grants().iter().for_each(|grant| fact(format!("grant {grant}")));
    history.state("todo").into_iter().for_each(|value| fact(format!("state {value}")));
    if !history.draft().is_empty() {
        fact(format!("draft {}", history.draft()));
    }
    for (resource, version) in history.seen_versions().iter() {
        fact(format!("seen {}@{}", resource.0, version.0));
    }
    out
}

fn message_line(message: &Message) -> String {
    match message {
        Message::User { parts } => match parts.as_slice() {
            [UserPart::Text { text }] => format!("user {text}"),
            [UserPart::Note { kind, text }] => format!("user ({kind:?}) {text}"),
            several => format!("user of {} parts", several.len()),
        },
        Message::Assistant(reply) => {
            let calls: Vec<_> = reply.calls().map(|call| call.id.0.as_str()).collect();
            format!("model {} [{}]", reply.text(), calls.join(" "))
        }
        Message::ToolReturns { returns } => {
            let words: Vec<_> = returns.iter().map(|one| format!("{}={:?}", one.call, one.status)).collect();
            format!("returns {}", words.join(" "))
        }
    }
}

fn known_word(known: &RecordedState) -> &'static str {
    match known {
        RecordedState::Returned => "returned",
        RecordedState::Waiting => "waiting",
        RecordedState::Expired => "expired",
        RecordedState::Decided(Approval::Approve { .. }) => "approved",
        RecordedState::Decided(Approval::Deny { .. }) => "denied",
        RecordedState::Decided(Approval::Later) => "decided for later",
        RecordedState::NotStarted => "not started",
        RecordedState::MayHaveRun => "may have run",
    }
}

fn check(records: &[Record], expected: &[&str]) {
    let history = History::of(records);
    assert_eq!(history.len(), records.len() as u64);
    assert_eq!(shown(&history).lines().collect::<Vec<_>>(), expected, "{records:#?}");
    // The stored records parse back to the same records.
    let json = serde_json::to_string(records).unwrap();
    let stored: Vec<Record> = serde_json::from_str(&json).unwrap();
    assert_eq!(stored, records);
}

/// A prompt and a reply with these calls, as records 1 to 4, followed by `then`.
fn with_calls(calls: &[&str], then: Vec<Record>) -> Vec<Record> {
    let mut records = vec![opened(), turn(1), user("go"), said(reply("ok", calls))];
    records.extend(then);
    records
}

const START: [&str; 2] = ["3 user go", "4 model ok [a b]"];
const RUNNING: &str = "turn 1: attempts 0, requests 0, tokens 0";

fn check_calls(then: Vec<Record>, expected: &[&str]) {
    let mut all = START.to_vec();
    all.extend(expected);
    all.push(RUNNING);
    check(&with_calls(&["a", "b"], then), &all);
}

#[test]
fn every_record_has_its_effect() {
    let nothing = RUNNING;
    check(&[], &[]);
    check(&[opened()], &[]);
    assert_eq!(History::of(&[opened()]).workspace(), std::path::Path::new("/w"));
    check(&[opened(), turn(1), user("hi")], &["3 user hi", nothing]);
    check(
        &[opened(), turn(1), ended(1, 10), ended(2, 0), ended(3, 5)],
        &["turn 1: attempts 3, requests 3, tokens 17"],
    );
    check(&[opened(), ended(1, 10)], &[]);
    check(&[turn(1), partial(1, "ab"), partial(1, "cd")], &[nothing, "partial 1: abcd"]);
    check(&[turn(1), partial(1, "ab"), partial(2, "cd")], &[nothing, "partial 2: cd"]);
    check(&[turn(1), partial(1, "ab"), said(reply("abc", &[]))], &["3 model abc []", nothing]);
    check(&[partial(1, "ab")], &[]);
    let waiting = DeferredToolRequests { requests: vec![RequestId("r1".to_owned())] };
    check(
        &[turn(1), ended(1, 1), Record::Deferred { waiting }, end(TurnEnd::Deferred)],
        &["turn 1: attempts 1, requests 1, tokens 2", "end Deferred"],
    );
    check(&[turn(1), end(TurnEnd::Completed)], &["end Completed"]);
    check(&[turn(1), end(TurnEnd::Interrupted)], &["end Interrupted"]);
    let limit = TurnEnd::LimitReached { limit: Limit::Requests };
    check(&[turn(1), end(limit)], &["end LimitReached { limit: Requests }"]);
    check(&[turn(1), end(TurnEnd::Completed), turn(2)], &["turn 2: attempts 0, requests 0, tokens 0"]);
    let queue = |text: &str| Record::Queued { prompts: vec![vec![UserPart::Text { text: text.to_owned() }]] };
    check(&[queue("a"), queue("b")], &["queued [Text { text: \"b\" }]"]);
    check(&[queue("a"), Record::Queued { prompts: Vec::new() }], &[]);
    let draft = |text: &str| Record::Draft { text: text.to_owned() };
    check(&[draft("a"), draft("b")], &["draft b"]);
    check(&[draft("a"), draft("")], &[]);
    let title = |text: &str| Record::Renamed { title: text.to_owned() };
    check(&[title("a"), title("b")], &["title b"]);
    let state = |tool: &str, value| Record::State { tool: tool.to_owned(), value };
    check(&[state("todo", json!([1])), state("todo", json!([2]))], &["state [2]"]);
    check(
        &[state("seen", json!({ "/a": "1", "/b": "1" })), state("seen", json!({ "/a": "2" }))],
        &["seen /a@2", "seen /b@1"],
    );
}

#[test]
fn a_failed_turn_keeps_its_error() {
    let error: ProviderError =
        serde_json::from_value(json!({ "class": "rate_limited", "message": "slow down" })).unwrap();
    let history = History::of(&[opened(), turn(1), end(TurnEnd::Failed { error: error.clone() })]);
    assert_eq!(history.last_end(), Some(&TurnEnd::Failed { error }));
    assert!(history.running_turn().is_some(), "its request can be repeated");
}

#[test]
fn calls_pass_through_all_they_can_be() {
    use ReturnStatus::{Denied, Ok};
    check_calls(vec![], &["open a not started", "open b not started"]);
    check_calls(vec![asked("a", "r1")], &["open a waiting as r1", "open b not started"]);
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::Later)],
        &["open a waiting as r1 later", "open b not started"],
    );
    // Asked again: a new request, which was not set to later.
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::Later), asked("a", "r2")],
        &["open a waiting as r2", "open b not started"],
    );
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::yes())],
        &["open a approved as r1", "open b not started"],
    );
    check_calls(vec![asked("b", "r1"), decided("b", no())], &["open a not started", "open b denied as r1"]);
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::yes()), asked("a", "r2")],
        &["open a waiting as r2", "open b not started"],
    );
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::yes()), started("a")],
        &["open a may have run as r1", "open b not started"],
    );
    check_calls(vec![started("b"), finished("b", Ok)], &["open a not started", "open b returned"]);
    // Returns arrive in any order and are delivered in call order.
    check_calls(vec![finished("b", Denied), finished("a", Ok)], &["6 returns a=Ok b=Denied"]);
    // Records about unknown calls change nothing.
    check_calls(
        vec![asked("x", "r1"), decided("x", Approval::yes()), started("x"), finished("x", Ok)],
        &["open a not started", "open b not started"],
    );
    // A decision without a request is ignored.
    check_calls(vec![decided("a", Approval::yes())], &["open a not started", "open b not started"]);
}

#[test]
fn what_waits_outlives_its_turn() {
    use ReturnStatus::{Interrupted, Ok, Undecided};
    check_calls(
        vec![asked("a", "r1"), finished("a", Undecided), finished("b", Ok)],
        &["7 returns a=Undecided b=Ok", "late a waiting as r1"],
    );
    // Undecided because it depends on a waiting call: it was never asked, so nothing remains of it.
    check_calls(vec![finished("a", Undecided), finished("b", Ok)], &["6 returns a=Undecided b=Ok"]);
    check_calls(
        vec![asked("a", "r1"), finished("a", Interrupted), finished("b", Ok)],
        &["7 returns a=Interrupted b=Ok"],
    );
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::Later), finished("a", Interrupted), finished("b", Ok)],
        &["8 returns a=Interrupted b=Ok", "late a waiting as r1"],
    );
    check_calls(
        vec![asked("a", "r1"), decided("a", Approval::yes()), finished("a", Interrupted), finished("b", Ok)],
        &["8 returns a=Interrupted b=Ok"],
    );
    let late = |then: Vec<Record>| {
        let mut records = vec![asked("a", "r1"), finished("a", Undecided), finished("b", Ok)];
        records.extend(then);
        records
    };
    let returns = "7 returns a=Undecided b=Ok";
    check_calls(late(vec![decided("a", Approval::yes())]), &[returns, "late a approved as r1"]);
    check_calls(late(vec![decided("a", no())]), &[returns, "late a denied as r1"]);
    check_calls(late(vec![decided("a", Approval::Later)]), &[returns, "late a waiting as r1"]);
    check_calls(
        late(vec![decided("a", Approval::yes()), started("a")]),
        &[returns, "late a may have run as r1"],
    );
    check_calls(
        late(vec![decided("a", Approval::yes()), asked("a", "r2")]),
        &[returns, "late a waiting as r2"],
    );
    check_calls(late(vec![finished("a", Undecided)]), &[returns, "late a waiting as r1"]);
}

/// A previewed call has its return while other calls of its reply have none. A later decision applies to its
/// request of a late call. Late calls stay in call order.
#[test]
fn what_is_previewed_goes_on_beside_its_turn() {
    use ReturnStatus::{Ok, Undecided};
    let previewed = |then: Vec<Record>| {
        let mut records = vec![asked("a", "r1"), finished("a", Undecided), asked("b", "r2")];
        records.extend(then);
        records
    };
    let open = ["open a returned", "open b waiting as r2"];
    check_calls(previewed(vec![]), &[open[0], open[1], "late a waiting as r1"]);
    check_calls(previewed(vec![decided("a", Approval::yes())]), &[open[0], open[1], "late a approved as r1"]);
    check_calls(previewed(vec![asked("a", "r3")]), &[open[0], open[1], "late a waiting as r3"]);
    check_calls(previewed(vec![expired("a")]), &[open[0], open[1], "late a expired as r1"]);
    let outcome = "note LateOutcome { call: CallId(\"a\") }: The earlier call write_file (write a) was approved later and ran.";
    let mut history = History::of(&with_calls(&["a", "b"], previewed(vec![decided("a", Approval::yes())])));
    history.apply(&started("a"));
    history.apply(&finished("a", Ok));
    let expected = ["3 user go", "4 model ok [a b]", open[0], open[1], RUNNING, outcome, "out a"];
    assert_eq!(shown(&history).lines().collect::<Vec<_>>(), expected);
    history.apply(&finished("b", Ok));
    let people_see: Vec<ReturnStatus> = history
        .shown_messages()
        .filter_map(|message| match &*message {
            Message::ToolReturns { returns } => Some(returns.clone()),
            Message::User { .. } | Message::Assistant(_) => None,
        })
        .flatten()
        .map(|returned| returned.status)
        .collect();
    assert_eq!(people_see, [Ok, Ok], "the call ran, although the model read that it was undecided");
    check_calls(
        vec![asked("b", "r2"), finished("b", Undecided), asked("a", "r1"), finished("a", Undecided)],
        &["8 returns a=Undecided b=Undecided", "late a waiting as r1", "late b waiting as r2"],
    );
}

#[test]
fn what_nobody_decided_in_time_goes_on_nowhere() {
    use ReturnStatus::{Ok, Undecided};
    check_calls(vec![asked("a", "r1"), expired("a")], &["open a expired as r1", "open b not started"]);
    check_calls(
        vec![asked("a", "r1"), expired("a"), finished("a", Undecided), finished("b", Ok)],
        &["8 returns a=Undecided b=Ok"],
    );
}

/// Each row: what happened to `a` before `b`, which depends on it, was asked; what happened then; its state as a dependency.
#[test]
fn the_state_of_a_dependency_is_kept() {
    use ReturnStatus::{Denied, Failed, Interrupted, Ok, Undecided, Unknown};
    let undecided = || vec![asked("a", "r1"), finished("a", Undecided)];
    let later = || decided("a", Approval::Later);
    let yes = || decided("a", Approval::yes());
    let rows: Vec<(Vec<Record>, Vec<Record>, DependencyState)> = vec![
        (vec![], vec![], DependencyState::Open),
        (vec![finished("a", Ok)], vec![], DependencyState::Succeeded),
        (vec![finished("a", Failed)], vec![], DependencyState::Failed),
        (vec![], vec![finished("a", Ok)], DependencyState::Succeeded),
        (vec![], vec![finished("a", Denied)], DependencyState::Failed),
        (vec![], vec![finished("a", Interrupted)], DependencyState::Failed),
        (vec![], vec![asked("a", "r1"), later(), finished("a", Interrupted)], DependencyState::Open),
        (vec![], vec![finished("a", Unknown)], DependencyState::Failed),
        (undecided(), vec![], DependencyState::Open),
        (undecided(), vec![yes()], DependencyState::Open),
        (undecided(), vec![yes(), started("a")], DependencyState::Open),
        (undecided(), vec![yes(), started("a"), finished("a", Ok)], DependencyState::Succeeded),
        (undecided(), vec![yes(), finished("a", Failed)], DependencyState::Failed),
        (undecided(), vec![expired("a")], DependencyState::Open),
        (undecided(), vec![expired("a"), finished("a", Undecided)], DependencyState::Failed),
        (vec![asked("a", "r1"), expired("a")], vec![finished("a", Undecided)], DependencyState::Failed),
        (vec![], vec![Record::Cleared], DependencyState::Failed),
        (vec![asked("a", "r1")], vec![Record::Cleared], DependencyState::Open),
    ];
    for (before, after, state) in rows {
        let mut dependent = request("b", "r9");
        dependent.depends = vec![CallId("a".to_owned())];
        let ask = Record::Asked { call: call("b"), request: Box::new(dependent) };
        let then: Vec<Record> = before.into_iter().chain([ask]).chain(after).collect();
        let history = History::of(&with_calls(&["a", "b"], then.clone()));
        assert_eq!(history.dependency_state(&[CallId("a".to_owned())]), state, "{then:?}");
        assert_eq!(history.dependency_state(&[]), DependencyState::Succeeded);
    }
}

#[test]
fn clearing_keeps_only_what_waits() {
    let records = vec![
        Record::Noted { kind: NoteKind::CommandOutput, text: "x".to_owned() },
        asked("a", "r1"),
        Record::Cleared,
    ];
    check(&with_calls(&["a", "b"], records), &["late a waiting as r1"]);
    let records = vec![asked("a", "r1"), finished("a", ReturnStatus::Ok), asked("b", "r2"), Record::Cleared];
    check(&with_calls(&["a", "b"], records), &["late b waiting as r2"]);
}

#[test]
fn grants_come_back_with_the_session() {
    let always = Approval::for_session();
    let grant = "grant write_file (except HIGH)";
    let records = vec![asked("a", "r1"), decided("a", always), end(TurnEnd::Completed)];
    check(
        &with_calls(&["a"], records.clone()),
        &["3 user go", "4 model ok [a]", "open a approved as r1", "end Completed", grant],
    );
    let revoke = |request: &str| Record::Revoked { request: RequestId(request.to_owned()) };
    for (request, granted) in [("r1", 0), ("r2", 1)] {
        let records = records.clone().into_iter().chain([revoke(request)]).collect();
        assert_eq!(History::of(&with_calls(&["a"], records)).grants().iter().count(), granted, "{request}");
    }
    let cleared = records.into_iter().chain([Record::Cleared]).collect();
    check(&with_calls(&["a"], cleared), &["late a approved as r1", grant]);
}

#[test]
fn late_outcomes_are_told_once() {
    let mut records = with_calls(&["a"], vec![asked("a", "r1"), finished("a", ReturnStatus::Undecided)]);
    let yes = || decided("a", Approval::yes());
    let outcomes = [
        (vec![yes(), started("a")], ReturnStatus::Ok, "was approved later and ran"),
        (vec![yes(), started("a")], ReturnStatus::Failed, "was approved later and failed"),
        (vec![yes()], ReturnStatus::Failed, "was approved later and could not run"),
        (vec![], ReturnStatus::Failed, "will not run"),
        (vec![decided("a", no())], ReturnStatus::Denied, "was denied later"),
        (vec![expired("a")], ReturnStatus::Undecided, "was not decided in time"),
        (vec![yes(), started("a")], ReturnStatus::Interrupted, "was cut off"),
        (vec![yes(), started("a")], ReturnStatus::Unknown, "started, and its outcome is unknown"),
    ];
    for (before, status, words) in outcomes {
        let mut records: Vec<Record> = records.iter().cloned().chain(before).collect();
        records.push(finished("a", status));
        let history = History::of(&records);
        let text = format!("The earlier call write_file (write a) {words}.\nout a");
        let kind = NoteKind::LateOutcome { call: CallId("a".to_owned()) };
        assert_eq!((history.notes(), history.late_calls()), ([(kind, text)].as_slice(), [].as_slice()));
        // A second return adds no note.
        records.push(finished("a", status));
        assert_eq!(History::of(&records).notes().len(), 1);
        // Clearing the conversation keeps the note.
        records.push(Record::Cleared);
        assert_eq!(History::of(&records).notes().len(), 1);
    }
    records.push(finished("a", ReturnStatus::Ok));
    records.push(user("without it"));
    assert_eq!(History::of(&records).notes().len(), 1);
    records.push(said(Message::User { parts: vec![late("a"), UserPart::Text { text: "go on".to_owned() }] }));
    assert_eq!(History::of(&records).notes().len(), 0);
}

#[test]
fn equal_notes_are_delivered_one_by_one() {
    let note = || Record::Noted { kind: NoteKind::CommandOutput, text: "ok".to_owned() };
    let output = || said(Message::note(NoteKind::CommandOutput, "ok"));
    let left = |records: &[Record]| History::of(records).notes().len();
    assert_eq!(left(&[note(), note()]), 2);
    assert_eq!(left(&[note(), note(), output()]), 1);
    assert_eq!(left(&[note(), note(), output(), output()]), 0);
}

#[test]
fn compaction_never_parts_a_call_from_its_return() {
    let compacted = |kept_from: u64| Record::Compacted {
        summary: "before".to_owned(),
        kept_from: RecordNo(kept_from),
        by: None,
    };
    // 3 user, 4 reply [a], 5 its returns, 6 user, 7 reply [b] with b open.
    let records = |kept_from: u64, after: Vec<Record>| {
        let mut all = with_calls(
            &["a"],
            vec![finished("a", ReturnStatus::Ok), user("more"), said(reply("ok", &["b"]))],
        );
        all.push(compacted(kept_from));
        all.extend(after);
        all
    };
    let kept = |kept_from: u64, after: Vec<Record>| -> Vec<String> {
        History::of(&records(kept_from, after)).messages().map(message_line).collect()
    };
    let (first, returns, more, last) = ("model ok [a]", "returns a=Ok", "user more", "model ok [b]");
    let before = "user (Summary) before";
    assert_eq!(kept(3, vec![]), [before, "user go", first, returns, more, last]);
    assert_eq!(kept(4, vec![]), [before, first, returns, more, last]);
    assert_eq!(kept(5, vec![]), [before, first, returns, more, last]);
    assert_eq!(kept(6, vec![]), [before, more, last]);
    for beyond in [7, 8, 100] {
        assert_eq!(kept(beyond, vec![]), [before, last], "the reply with an open call stays");
    }
    assert_eq!(kept(6, vec![finished("b", ReturnStatus::Ok)]), [before, more, last, "returns b=Ok"]);
    // The next summary replaces this one.
    assert_eq!(kept(6, vec![compacted(6)]), [before, more, last]);
    assert_eq!(kept(6, vec![compacted(7)]), [before, last]);
    let all_answered = vec![finished("b", ReturnStatus::Ok), compacted(100)];
    assert_eq!(kept(6, all_answered), [before]);
}

/// A message of a damaged conversation: calls and returns share a small pool of ids.
fn torn_message() -> impl Strategy<Value = Message> {
    let ids = || proptest::collection::vec(0_u8..8, 0..4);
    prop_oneof![
        "[a-z]{0,3}".prop_map(Message::user),
        ids().prop_map(|ids| {
            let mut ids: Vec<String> = ids.iter().map(|id| format!("c{id}")).collect();
            ids.sort();
            ids.dedup();
            reply("", &ids.iter().map(String::as_str).collect::<Vec<_>>())
        }),
        ids().prop_map(|ids| Message::ToolReturns {
            returns: ids
                .iter()
                .map(|id| ToolReturn::program(CallId(format!("c{id}")), ReturnStatus::Ok, "out"))
                .collect()
        }),
    ]
}

/// Whether each reply with calls is followed by all its returns in order, and there are no other returns.
fn is_sound(messages: &[Message]) -> bool {
    let mut owed: Vec<CallId> = Vec::new();
    for message in messages {
        match message {
            Message::User { .. } if owed.is_empty() => {}
            Message::Assistant(reply) if owed.is_empty() => {
                owed = reply.calls().map(|call| call.id.clone()).collect();
            }
            Message::ToolReturns { returns } if !owed.is_empty() => {
                if returns.iter().map(|one| &one.call).ne(owed.iter()) {
                    return false;
                }
                owed.clear();
            }
            Message::User { .. } | Message::Assistant(_) | Message::ToolReturns { .. } => return false,
        }
    }
    owed.is_empty()
}

fn without_returns(messages: &[Message]) -> Vec<Message> {
    messages.iter().filter(|message| !matches!(message, Message::ToolReturns { .. })).cloned().collect()
}

/// Any next record of a session whose calls are `a0`, `a1`, ….
fn step() -> impl Strategy<Value = Record> {
    let id = || (0_u8..6).prop_map(|id| format!("a{id}"));
    let status = prop_oneof![
        Just(ReturnStatus::Ok),
        Just(ReturnStatus::Undecided),
        Just(ReturnStatus::Interrupted),
        Just(ReturnStatus::Denied)
    ];
    let approval = prop_oneof![Just(Approval::yes()), Just(no()), Just(Approval::Later)];
    prop_oneof![
        id().prop_map(|id| asked(&id, &format!("r-{id}"))),
        (id(), approval).prop_map(|(id, approval)| decided(&id, approval)),
        id().prop_map(|id| started(&id)),
        id().prop_map(|id| expired(&id)),
        (id(), status).prop_map(|(id, status)| finished(&id, status)),
        (1_u64..30).prop_map(|no| Record::Compacted {
            summary: "s".to_owned(),
            kept_from: RecordNo(no),
            by: None
        }),
        Just(user("u")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repair_makes_sound_and_is_idempotent(messages in proptest::collection::vec(torn_message(), 0..12)) {
        // Ids are unique in the store: a second reply with the same call cannot occur.
        let mut seen = std::collections::BTreeSet::new();
        let messages: Vec<Message> = messages
            .into_iter()
            .filter(|message| match message {
                Message::Assistant(reply) => reply.calls().all(|call| seen.insert(call.id.clone())),
                Message::User { .. } | Message::ToolReturns { .. } => true,
            })
            .collect();
        let shared: Vec<Arc<Message>> = messages.iter().cloned().map(Arc::new).collect();
        let patched = patch_dangling_tool_calls(&shared);
        let repaired: Vec<Message> = patched.iter().map(|message| message.as_ref().clone()).collect();
        prop_assert!(is_sound(&repaired));
        prop_assert_eq!(without_returns(&repaired), without_returns(&messages));
        if is_sound(&messages) {
            prop_assert_eq!(&repaired, &messages);
            let same = patched.iter().zip(&shared).all(|(one, other)| Arc::ptr_eq(one, other));
            prop_assert!(same, "a sound conversation was copied");
        }
        prop_assert_eq!(patch_dangling_tool_calls(&patched), patched);
    }

    /// After any records, the conversation is sound; while calls are open, only its end is missing.
    #[test]
    fn the_fold_never_dangles(steps in proptest::collection::vec(step(), 0..40)) {
        let mut records = with_calls(&["a0", "a1", "a2"], vec![]);
        let mut more = Some(said(reply("next", &["a3", "a4", "a5"])));
        let mut history = History::of(&records);
        for record in steps {
            // A prompt is added only when every call is answered; the turn ensures that.
            if matches!(record, Record::Said { .. }) && !history.open_calls().is_empty() {
                continue;
            }
            let next = if history.open_calls().is_empty() { more.take() } else { None };
            for record in std::iter::once(record).chain(next) {
                history.apply(&record);
                records.push(record);
            }
            let messages: Vec<Message> = history.messages().cloned().collect();
            let sound = if history.open_calls().is_empty() {
                is_sound(&messages)
            } else {
                let (last, before) = messages.split_last().expect("the reply with the open calls");
                is_sound(before) && matches!(last, Message::Assistant(_))
            };
            prop_assert!(sound, "{:?}", messages.iter().map(message_line).collect::<Vec<_>>());
        }
        prop_assert_eq!(shown(&History::of(&records)), shown(&history));
    }
}

#[test]
fn limits_are_stored_as_plain_words() {
    for (limit, json) in [
        (Limit::Requests, "\"requests\""),
        (Limit::Tokens, "\"tokens\""),
        (Limit::Cap(Cap::DayUsd), "\"day_usd\""),
        (Limit::Cap(Cap::TurnTokens), "\"turn_tokens\""),
    ] {
        assert_eq!(serde_json::to_string(&limit).unwrap(), json);
        assert_eq!(serde_json::from_str::<Limit>(json).unwrap(), limit);
    }
}
