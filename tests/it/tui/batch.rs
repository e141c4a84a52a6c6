//! Several requests as one list: what keys do to it, how it looks, and what no sequence of keys and events does.

use std::collections::{BTreeMap, BTreeSet};

use co::agent::port::{Event, Op, Settlement};
use co::approval::{Approval, Decider, Request, RequestId};
use co::frontend::protocol::{ClientRequest, Header, ServerMessage};
use co::message::ToolName;
use co::sandbox::Isolation;
use co::tool::{Access, DiffKind, DiffLine, Preview, Risk, Undo};
use co::tui::Input;
use co::tui::list::RowMark;
use co::tui::theme::Glyphs;
use proptest::prelude::*;
use serde_json::json;

use crate::tui::kit::{
    Screen, approved, at_all_sizes, call, decided, diff_request, header, id, round, shell_request,
};

fn yes(number: u32) -> ClientRequest {
    decided(number, Approval::yes())
}

/// One approval of both.
fn both(numbers: [u32; 2]) -> ClientRequest {
    round(&numbers, &Approval::yes())
}

fn no(number: u32, reason: Option<&str>) -> ClientRequest {
    decided(number, Approval::Deny { reason: reason.map(str::to_owned) })
}

pub fn settled(number: u32, approval: Approval) -> Event {
    let settled = Settlement::Decided { approval, by: Decider::Tui };
    Event::ApprovalSettled { request: id(number), settled }
}

/// A file of so many lines to be written, by a call with a label and links.
fn write(number: u32, lines: usize, after: &[&str]) -> Request {
    let mut request = diff_request(number, lines);
    request.tool = ToolName::new("write_file");
    request.args = json!({ "path": format!("notes/{number}.md"), "content": "x" });
    request.plan.summary = format!("write {lines} line(s) to notes/{number}.md (new file)");
    request.after = after.iter().map(|label| (*label).to_owned()).collect();
    request
}

fn low(number: u32) -> Request {
    let mut request = write(number, 1, &[]);
    request.risk = Risk::Low;
    request.plan.undo = Undo::Exact;
    request
}

fn high(number: u32) -> Request {
    shell_request(number, "rsync -a ~/Tax nas:/backup/tax", Risk::High)
}

/// The list of the pictures: two LOW ones, a MEDIUM one, two HIGH ones, of which the last runs after the second.
fn five(screen: Screen) -> Screen {
    let mut last = high(5);
    last.after = vec!["receipts".to_owned()];
    let mut screen = screen.prompted("clear the desk").text("Plan: 5 actions need you.");
    screen = screen.event(Event::ToolCall { call: call(2, "write_file", json!({"label": "receipts"})) });
    for request in [low(1), low(2), write(3, 2, &[]), shell_request(4, "rm -rf build", Risk::High), last] {
        screen = screen.asked(request);
    }
    screen.wait(600)
}

fn three(screen: Screen) -> Screen {
    let screen = screen.prompted("go");
    screen.asked(low(1)).asked(write(2, 1, &[])).asked(high(3)).wait(600)
}

fn list() -> Screen {
    three(Screen::open(80, 24))
}

#[test]
fn rounds() {
    let cases: Vec<(&str, Screen, &str, Vec<ClientRequest>)> = vec![
        ("the row, with nothing marked", list(), "<tab>y", vec![yes(1)]),
        ("a HIGH row by one key", list(), "<tab><down><down>y", vec![]),
        ("no reflex decides", list(), "<tab><ret><tab><tab><space>", vec![]),
        ("without the keys", list(), "y n<space>", vec![]),
        ("one", list(), "<tab><space>y", vec![yes(1)]),
        ("two in one round", list(), "<tab><space><down><space>y", vec![both([1, 2])]),
        ("in the order of the list", list(), "<tab><down><space><up><space>y", vec![both([1, 2])]),
        ("a mark taken back", list(), "<tab><space><down><space><space>y", vec![yes(1)]),
        ("marked low", list(), "<tab><down><down><down><down><up><up><up><up>ay", vec![yes(1)]),
        ("marked all but HIGH", list(), "<tab><down><down><up><up>Ay", vec![both([1, 2])]),
        ("unseen ones are shown first", five(Screen::open(80, 24)), "<tab>ay", vec![]),
        ("decided once", list(), "<tab><space>yyy<space>y", vec![yes(1)]),
        ("no to the row", list(), "<tab><down>n<ret>", vec![no(2, None)]),
        (
            "no to what is marked",
            list(),
            "<tab><space><down><space><down>n<ret>",
            vec![round(&[1, 2], &Approval::Deny { reason: None })],
        ),
        (
            "one reason for all",
            list(),
            "<tab><space><down><space>nnot yet y<ret>",
            vec![round(&[1, 2], &Approval::Deny { reason: Some("not yet y".to_owned()) })],
        ),
        ("a no taken back", list(), "<tab>nbecause<esc>", vec![]),
        ("all later", list(), "<tab><space><esc>", vec![round(&[1, 2, 3], &Approval::Later)]),
        ("HIGH by one key", list(), "<tab><down><down><space>y", vec![]),
        ("HIGH by a key held down", list(), "<tab><down><down><space>yyyyyy", vec![]),
        ("HIGH among others", list(), "<tab><space><down><down><space>y", vec![]),
    ];
    for (name, screen, keys, expected) in cases {
        let screen = screen.keys(keys);
        assert_eq!(screen.asks(), expected.iter().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn high_needs_a_second_key_after_a_moment() {
    let once = || list().keys("<tab><space><down><down><space>y");
    assert!(once().shot().contains("1 of 2 HIGH: y again to approve all, Esc back"));
    let row = || list().keys("<tab><down><down>y");
    assert!(row().shot().contains("HIGH: y again to approve, Esc back"), "{}", row().shot());
    assert_eq!(row().wait(1_100).keys("y").asks(), [&yes(3)]);
    assert_eq!(once().wait(1_100).keys("y").asks(), [&both([1, 3])]);
    assert!(once().wait(1_100).keys("<esc>y").asks().is_empty(), "taken back");
    assert!(once().wait(1_100).keys("<up><space>y").asks().is_empty(), "another set is another question");
    let more = once().asked(high(4)).wait(600).keys("y");
    assert!(more.asks().is_empty(), "another list is another question");
}

#[test]
fn marks_go_to_what_was_seen() {
    let marks = |screen: &Screen| -> Vec<bool> {
        let list = &screen.model.batch.list;
        screen.model.cards.visible().map(|card| list.mark(&card.request.id) == RowMark::On).collect()
    };
    let screen = five(Screen::open(80, 24)).keys("<tab>a");
    assert_eq!(marks(&screen), [true, true, false, false, false], "LOW and nothing else");
    // HIGH, and longer than its detail.
    let long = || {
        let mut request = write(2, 60, &[]);
        request.risk = Risk::High;
        Screen::open(80, 24).prompted("go").asked(low(1)).asked(request).wait(600).keys("<tab><down>")
    };
    let mut unseen = long().keys("<space>");
    assert_eq!(marks(&unseen), [false, false]);
    assert!(unseen.shot().contains("! HIGH is marked once all of it was shown: Ctrl+Down, v"));
    let seen = long().keys(&"<pgdn>".repeat(20)).keys("<space>");
    assert_eq!(marks(&seen), [false, true]);
    let whole = long().keys("v").keys(&"<pgdn>".repeat(20)).keys("v").wait(600).keys("<space>");
    assert_eq!(marks(&whole), [false, true]);
}

#[test]
fn nothing_unseen_is_run() {
    let clipped = Screen::open(80, 24).prompted("go").asked(low(1)).asked(write(2, 60, &[])).wait(600);
    let mut screen = clipped.keys("<tab><space><down><space><up>y");
    assert!(screen.asks().is_empty());
    let shot = screen.shot();
    assert!(shot.contains("! part of it is still unread"), "{shot}");
    assert!(shot.contains("▸[x] 2"), "{shot}");
    let screen = screen.keys("yyy").wait(600).keys("y");
    assert!(screen.asks().is_empty(), "still not whole");
    let screen = screen.wait(600).keys(&"<pgdn>".repeat(20)).keys("y");
    assert_eq!(screen.asks(), [&both([1, 2])]);
    // Lines below the help were not seen.
    let hidden = Screen::open(80, 24).prompted("go").keys("?").asked(low(1)).asked(write(2, 1, &[]));
    let hidden = hidden.wait(600).keys("<esc><tab><space>y");
    assert!(hidden.asks().is_empty(), "it appears when help goes");
    assert_eq!(hidden.wait(600).keys("<space>y").asks(), [&yes(1)]);
    // Lines of one width do not count at another.
    let resized = || Screen::open(140, 40).prompted("go").asked(low(1)).asked(write(2, 70, &[])).wait(600);
    let screen = resized().keys("<tab><down><pgdn><space><ret>").wait(600).keys("y");
    assert!(screen.asks().is_empty());
}

#[test]
fn a_list_that_changes_takes_no_key_for_a_moment() {
    let fresh = || list().keys("<tab>").asked(low(4));
    assert!(fresh().keys("<space>y").asks().is_empty(), "a row came");
    assert_eq!(fresh().wait(600).keys("<space>y").asks(), [&yes(1)]);
    let gone = || list().keys("<tab><down><space>").event(settled(1, Approval::yes()));
    assert!(gone().keys("y").asks().is_empty(), "a row went");
    assert_eq!(gone().wait(600).keys("y").asks(), [&yes(2)]);
    assert!(list().keys("<tab><space><ret>y").asks().is_empty(), "one was opened");
    assert!(list().keys("<tab><space><ret>").wait(600).keys("<esc>y").asks().is_empty(), "it was closed");
    let hidden = three(Screen::open(80, 24).text(&"Words.\n\n".repeat(40))).keys("<tab><space><c-home>");
    let back = hidden.keys("y");
    assert!(back.asks().is_empty(), "it was out of sight");
    assert_eq!(back.wait(600).keys("y").asks(), [&yes(1)]);
}

#[test]
fn one_is_opened_and_the_list_comes_back() {
    let opened = || list().keys("<tab><down><ret>").wait(600);
    assert!(opened().shot().contains("◇ write_file notes/2.md ─"));
    let mut decided = opened().keys("y");
    assert_eq!(decided.asks(), [&yes(2)]);
    let shot = decided.shot();
    assert!(shot.contains("◇ 3 actions") && shot.contains("yes: sending…"), "{shot}");
    let mut after = decided.event(settled(2, Approval::yes()));
    let shot = after.shot();
    assert!(shot.contains("◇ 2 actions") && shot.contains("◇ 2\n"), "{shot}");
    let mut back = opened().keys("<esc>");
    assert!(back.asks().is_empty() && back.shot().contains("◇ 3 actions"));
    assert_eq!(back.wait(600).keys("<up><space>y").asks(), [&yes(1)]);
    let reason = opened().keys("nno").asked(high(7)).keys("t now<ret>");
    assert_eq!(reason.asks(), [&no(2, Some("not now"))], "a row that comes takes no letter away");
}

#[test]
fn words_on_their_way_meet_no_other_request() {
    let written = list().keys("<tab>nlook").event(settled(1, Approval::yes())).keys(" away y<esc>");
    assert_eq!(written.model.composer.editor.text(), " away y");
    let decisions = |screen: &Screen| {
        screen.asks().iter().filter(|ask| matches!(ask, ClientRequest::Op(Op::Decide { .. }))).count()
    };
    assert_eq!(decisions(&written), 0);
    let single = Screen::open(80, 24).prompted("go").asked(low(1)).wait(600).keys("<tab>nlook").asked(low(2));
    let single = single.event(settled(1, Approval::yes())).wait(600).keys("y");
    assert_eq!((decisions(&single), single.model.composer.editor.text().as_str()), (0, "y"));
}

#[test]
fn links_are_shown_and_honoured() {
    let mut screen = five(Screen::open(80, 24)).keys("<tab>");
    let shot = screen.shot();
    assert!(shot.contains("undo: no · after 2"), "{shot}");
    assert!(shot.contains("5 needs 2: denying 2 cancels 5"), "{shot}");
    let mut denying = five(Screen::open(80, 24)).keys("<tab><down>n");
    assert!(denying.shot().contains("deny 2 cancels 5: reason for the model"));
    let mut denied = denying.keys("<ret>");
    assert_eq!(denied.asks(), [&no(2, None)]);
    let shot = denied.shot();
    assert!(shot.contains("! also cancelled: 5"), "{shot}");
    assert!(shot.contains("2 is denied: 5 cannot run"), "{shot}");
    let mut dropped = denied
        .resize(100, 40)
        .event(settled(2, Approval::Deny { reason: None }))
        .event(Event::ApprovalSettled { request: id(5), settled: Settlement::Withdrawn });
    let shot = dropped.shot();
    assert!(shot.contains("cancelled: the call it runs after did not run"), "{shot}");
    assert!(shot.contains("◇ 3 actions") && shot.contains("◇ 3\n"), "{shot}");
    let mut marked = five(Screen::open(80, 24)).keys("<tab><down><down><down><down><space>");
    assert!(marked.shot().contains("5 runs only after 2, which is not marked"));
    let mut run = marked.keys("y").wait(1_100).keys("y");
    assert_eq!(run.asks(), [&yes(5)]);
    assert!(run.shot().contains("! 5 is approved and runs after 1, 2, 3, 4"));
    let row = call(5, "shell", json!({ "command": "rsync" }));
    let run = run.resize(100, 40).event(Event::ToolCall { call: row });
    let mut waits = run.event(settled(5, Approval::yes()));
    let shot = waits.shot();
    assert!(shot.contains("runs after write_file notes/2.md, write_file notes/1.md and 2 more"), "{shot}");
    // A label of another reply, or of a call that does not wait, stays a word.
    let mut other =
        Screen::open(80, 24).prompted("go").asked(low(1)).asked(write(2, 1, &["build it first"])).wait(600);
    assert!(other.shot().contains("after build i… "), "{}", other.shot());
}

#[test]
fn postponed_comes_back_without_marks() {
    let off = list().keys("<tab><space><esc>");
    assert_eq!((off.model.cards.count(), off.model.cards.current().is_some()), (3, false));
    let later = |number| settled(number, Approval::Later);
    let back = off.event(later(1)).event(later(2)).event(later(3)).keys("<a-a>").wait(600).keys("y");
    let asks: Vec<ClientRequest> = back.asks().into_iter().skip(1).cloned().collect();
    assert_eq!(asks, [yes(1)], "nothing is marked, so the row is decided");
    let between = Screen::open(80, 24).notice(ServerMessage::Waiting { requests: vec![low(1), high(2)] });
    assert!(between.wait(600).keys("<tab><esc>").asks().is_empty(), "between turns they wait already");
}

#[test]
fn hidden_characters_are_visible_marks() {
    let classes = [
        ("\u{1b}", "␛"),
        ("\u{7}", "␇"),
        ("\u{7f}", "␡"),
        ("\u{9b}", "<U+009B>"),
        ("\u{202e}", "<U+202E>"),
        ("\u{2066}", "<U+2066>"),
        ("\u{200f}", "<U+200F>"),
        ("\u{61c}", "<U+061C>"),
        ("\u{200b}", "<U+200B>"),
        ("\u{200d}", "<U+200D>"),
        ("\u{2060}", "<U+2060>"),
        ("\u{feff}", "<U+FEFF>"),
        ("\u{ad}", "<U+00AD>"),
        ("\u{2028}", "<U+2028>"),
        ("\u{e0041}", "<U+E0041>"),
    ];
    for (hidden, mark) in classes {
        let text = format!("a{hidden}b");
        let line = |kind| DiffLine { kind, number: 1, text: text.clone() };
        let diff =
            Preview::Diff { path: text.clone(), lines: vec![line(DiffKind::Hunk), line(DiffKind::Added)] };
        let previews = [
            ("JSON", Preview::None),
            ("text", Preview::Text { text: text.clone() }),
            ("diff", diff),
            ("fields", Preview::Fields { fields: vec![(text.clone(), text.clone())] }),
        ];
        for (place, preview) in previews {
            let mut request = shell_request(1, &text, Risk::Low);
            request.plan.summary = "the summary".to_owned();
            request.plan.preview = preview;
            request.why = vec!["why".to_owned()];
            let shown = |request: &Request, more: Option<Request>| {
                let screen = Screen::open(100, 40).prompted("go").asked(request.clone());
                let screen = more.into_iter().fold(screen, Screen::asked);
                screen.wait(600).shot()
            };
            let found = |shot: &str| shot.contains(&format!("a{mark}b")) || shot.contains("a\\u00");
            for shot in [shown(&request, None), shown(&request, Some(low(2)))] {
                let body = shot
                    .lines()
                    .skip_while(|line| !line.contains("the summary"))
                    .collect::<Vec<_>>()
                    .join("\n");
                assert!(found(&body), "{hidden:?} in {place}: {shot}");
                assert!(!shot.contains(hidden), "{hidden:?} in {place}");
            }
            request.plan.summary = text.clone();
            assert!(
                shown(&request, None).matches(&format!("a{mark}b")).count() > 1,
                "{hidden:?} in the summary"
            );
        }
    }
}

#[test]
fn the_card_says_where_and_what_can_be_undone() {
    let sandboxed = Header { isolation: Isolation::FULL, ..header() };
    let open = || Screen::open(80, 24).notice(ServerMessage::Header(sandboxed.clone())).prompted("go");
    let mut command = open().asked(high(1)).wait(600);
    let facts = " · sandboxed · cannot be undone │";
    assert!(command.shot().contains(facts), "one line on a low screen: {}", command.shot());
    assert!(command.resize(80, 40).shot().contains("where   /home/alex/work, sandboxed"));
    let mut file = low(1);
    file.plan.access = Access::Nothing;
    let shot = open().asked(file).wait(600).resize(80, 40).shot();
    assert!(shot.contains("where   /home/alex/work  ") && !shot.contains("work, sandboxed"), "{shot}");
    assert!(shot.contains("undo    can be undone"), "{shot}");
    let mut reads = high(1);
    reads.plan.access = Access::Paths { reads: vec!["/etc/hosts".into()], writes: Vec::new() };
    assert!(!open().asked(reads).wait(600).shot().contains("undone"), "nothing is changed");
}

/// Draws one state at all sizes.
fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

#[test]
fn lists() {
    check("batch_waits", five);
    check("batch_marked", |screen| five(screen).keys("<tab>a<down><down><space>"));
    check("batch_nothing_marked", |screen| five(screen).keys("<tab>y"));
    check("batch_unseen", |screen| five(screen).keys("<tab>ay"));
    check("batch_high", |screen| five(screen).keys("<tab><down><down><down><space>y"));
    check("batch_reason", |screen| five(screen).keys("<tab><down>nuse the old number"));
    check("batch_denied", |screen| five(screen).keys("<tab><down>n<ret>"));
    check("batch_deciding", |screen| five(screen).keys("<tab><space><down><space>y"));
    check("batch_why", |screen| five(screen).keys("<tab><down><down>w"));
    check("batch_whole", |screen| {
        let screen = screen.prompted("go").asked(low(1)).asked(write(2, 60, &[])).asked(high(3));
        screen.wait(600).keys("<tab><down>v")
    });
    check("batch_opened", |screen| five(screen).keys("<tab><down><down><ret>"));
    check("batch_while_typing", |screen| five(screen).keys("thanks, and"));
    check("batch_many", |screen| {
        let screen = (1..=24).fold(screen.prompted("go"), |screen, number| screen.asked(low(number)));
        screen.wait(600).keys("<tab>").keys(&"<down>".repeat(12))
    });
    check("batch_settled", |screen| {
        let screen = (1..=4).fold(screen.prompted("go"), |screen, number| {
            let path = format!("notes/{number}.md");
            screen.event(Event::ToolCall { call: call(number, "write_file", json!({ "path": path })) })
        });
        (1..=4)
            .fold(screen, |screen, number| screen.asked(low(number)))
            .wait(600)
            .keys("<tab><space><down><space>y")
            .event(settled(1, Approval::yes()))
            .event(settled(2, Approval::yes()))
            .event(settled(3, Approval::Deny { reason: Some("not that one".to_owned()) }))
            .wait(600)
    });
    let mut ascii = five(Screen::with(80, 24, &Glyphs::ASCII).notice(ServerMessage::Header(header())))
        .keys("<tab><space>");
    insta::assert_snapshot!("batch_ascii", ascii.shot());
}

/// A step of the property test.
#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Ask(u32, u8, usize),
    Settle(u32),
    Waiting(Vec<u32>),
    Resize(u16, u16),
    Wait(u64),
    Begin,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = proptest::sample::select(vec![
        "<tab>", "<a-a>", "<up>", "<down>", "<space>", "a", "y", "y", "y", "n", "v", "w", "e", "<ret>",
        "<esc>", "<pgdn>", "<pgdn>", "<pgup>", "?", "x", "<c-home>", "<c-end>", "<c-s>",
    ]);
    prop_oneof![
        12 => keys.prop_map(Step::Key),
        3 => (1u32..6, 0u8..3, 0usize..40).prop_map(|(number, risk, lines)| Step::Ask(number, risk, lines)),
        1 => (1u32..6).prop_map(Step::Settle),
        1 => proptest::collection::vec(1u32..6, 0..4).prop_map(Step::Waiting),
        1 => (20u16..150, 6u16..45).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        4 => (0u64..1_200).prop_map(Step::Wait),
        1 => Just(Step::Begin),
        1 => Just(Step::End),
    ]
}

/// A request in which every line differs from all others.
pub fn marked_request(number: u32, risk: u8, lines: usize) -> Request {
    let mut request = write(number, 0, &[]);
    let line = |at| DiffLine { kind: DiffKind::Added, number: 1, text: format!("<{number}:{at}>") };
    let lines = (0..lines.max(1)).map(line).collect();
    request.plan.preview = Preview::Diff { path: "p".into(), lines };
    request.risk = [Risk::Low, Risk::Medium, Risk::High][usize::from(risk)];
    request
}

/// The expected state of the queue, kept apart from the screen.
#[derive(Default)]
pub struct Knowledge {
    pub waiting: BTreeMap<u32, Request>,
    /// Lines of requests that were on a drawn screen.
    seen: BTreeSet<String>,
    /// When the queue last changed, and when `y` or Ctrl+S was pressed.
    pub changed_ms: u64,
    pub pressed: Vec<u64>,
    /// When the queue had last changed as the last of these keys was pressed: one that is decided later counts from then.
    pub changed_at_press: u64,
    pub answered: usize,
}

impl Knowledge {
    pub fn drawn(&mut self, shot: &str) {
        for piece in shot.split('<').skip(1) {
            if let Some((line, _)) = piece.split_once('>') {
                self.seen.insert(line.to_owned());
            }
        }
    }

    pub fn came(&mut self, request: &Request, number: u32, now: u64) {
        if self.waiting.get(&number) != Some(request) {
            self.seen.retain(|line| !line.starts_with(&format!("{number}:")));
            self.waiting.insert(number, request.clone());
        }
        self.changed_ms = now;
    }

    pub fn press(&mut self, now: u64) {
        self.pressed.push(now);
        self.changed_at_press = self.changed_ms;
    }

    pub fn approved(&self, request: &RequestId, now: u64, deferred: bool) -> Result<(), TestCaseError> {
        let changed = if deferred { self.changed_at_press } else { self.changed_ms };
        let number = u32::from_str_radix(&request.0, 16).unwrap();
        let Some(known) = self.waiting.get(&number) else { return Ok(()) };
        prop_assert!(now >= changed + 500, "{number} within the guard time");
        let Preview::Diff { lines, .. } = &known.plan.preview else { return Ok(()) };
        for at in 0..lines.len() {
            prop_assert!(
                self.seen.contains(&format!("{number}:{at}")),
                "line {at} of {number} was never seen"
            );
        }
        if known.risk == Risk::High {
            let said = self.pressed.iter().filter(|at| **at >= changed).collect::<Vec<_>>();
            prop_assert!(said.len() >= 2, "{number} by one key");
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    /// Whatever comes and goes and is pressed: nothing is approved unseen, within the guard time, or HIGH by one key;
    /// what waits is counted right.
    #[test]
    fn no_sequence_approves_by_accident(steps in proptest::collection::vec(step(), 1..60)) {
        let mut screen = Screen::open(80, 24).prompted("go");
        let mut known = Knowledge::default();
        let mut now = 1_000;
        for step in steps {
            match step {
                Step::Key(key) => {
                    if matches!(key, "y" | "<c-s>") {
                        known.press(now);
                    }
                    screen = screen.keys(key);
                }
                Step::Ask(number, risk, lines) => {
                    let request = marked_request(number, risk, lines);
                    if known.waiting.get(&number) != Some(&request) {
                        known.came(&request, number, now);
                    }
                    screen = screen.asked(request);
                }
                Step::Settle(number) => {
                    if known.waiting.remove(&number).is_some() {
                        known.changed_ms = now;
                    }
                    screen = screen.event(settled(number, Approval::yes()));
                }
                Step::Waiting(numbers) => {
                    let numbers: BTreeSet<u32> = numbers.into_iter().collect();
                    known.waiting.retain(|number, _| numbers.contains(number));
                    let requests: Vec<Request> = numbers.iter().map(|number| {
                        known.waiting.get(number).cloned().unwrap_or_else(|| marked_request(*number, 2, 3))
                    }).collect();
                    for (number, request) in numbers.iter().zip(&requests) {
                        known.came(request, *number, now);
                    }
                    screen = screen.notice(ServerMessage::Waiting { requests });
                    known.changed_ms = known.changed_ms.min(now);
                }
                Step::Resize(columns, rows) => screen = screen.resize(columns, rows),
                Step::Wait(ms) => {
                    screen = screen.wait(ms);
                    now += ms;
                }
                Step::Begin => screen = screen.notice(ServerMessage::TurnBegan),
                Step::End => screen = screen.notice(ServerMessage::Idle),
            }
            let asks: Vec<ClientRequest> = screen.asks().into_iter().skip(known.answered).cloned().collect();
            for ask in &asks {
                for request in approved(ask) {
                    known.approved(request, now, false)?;
                }
            }
            known.answered += asks.len();
            let shot = screen.shot();
            known.drawn(&shot);
            prop_assert_eq!(screen.model.cards.count(), known.waiting.len());
            let status = shot.lines().rev().nth(1).unwrap_or_default().to_owned();
            if !screen.model.is_too_small() {
                prop_assert!(status.ends_with(&format!("◇ {}", known.waiting.len())), "{}", status);
            }
        }
        screen.feed(Input::Hangup);
    }
}
