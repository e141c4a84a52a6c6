//! Problems of first-time users: texts that were wrong for the state they
//! stood in.

use std::sync::Arc;

use co::agent::port::Event;
use co::frontend::protocol::ServerMessage;
use co::history::TurnEnd;
use co::message::{
    AssistantMessage, AssistantPart, CallReport, Message, PartKind, ReturnStatus, StopKind, StopReason,
    ToolReturn,
};
use co::tool::{DiffKind, DiffLine, Risk};
use serde_json::json;

use crate::tui::kit::{Screen, call, diff_request, returned, shell_request};

fn open() -> Screen {
    Screen::open(80, 24).prompted("go")
}

fn two() -> Screen {
    open()
        .asked(shell_request(1, "first", Risk::Medium))
        .asked(shell_request(2, "second", Risk::High))
        .wait(600)
}

#[track_caller]
fn shows(screen: &mut Screen, expected: &str) {
    let shot = screen.shot();
    assert!(shot.contains(expected), "no {expected:?} in\n{shot}");
}

#[track_caller]
fn hides(screen: &mut Screen, unexpected: &str) {
    let shot = screen.shot();
    assert!(!shot.contains(unexpected), "{unexpected:?} in\n{shot}");
}

/// Both orders: the owner may tell of the requests before or after the conversation.
#[test]
fn a_request_of_an_earlier_run_waits_on_its_row_too() {
    let reply = Message::Assistant(AssistantMessage {
        parts: vec![AssistantPart::new(PartKind::ToolCall(call(1, "shell", json!({"command": "make"}))))],
        asked: String::new(),
        model: "m".into(),
        stop: StopReason::new(StopKind::ToolUse),
    });
    let transcript = ServerMessage::Transcript {
        messages: vec![Arc::new(Message::user("build")), Arc::new(reply)],
        decided: Vec::new(),
    };
    let waiting = ServerMessage::Waiting { requests: vec![shell_request(1, "make", Risk::Medium)] };
    for notices in [[transcript.clone(), waiting.clone()], [waiting, transcript]] {
        let mut screen = notices.into_iter().fold(Screen::open(80, 24), Screen::notice);
        shows(&mut screen, "make                                   waiting for you");
    }
}

#[test]
fn the_list_begins_at_its_first_row_whichever_was_planned_first() {
    let mut screen = open();
    for number in [3, 1, 2] {
        screen = screen.asked(shell_request(number, &format!("number {number}"), Risk::Medium));
    }
    shows(&mut screen, "▸[ ] 1 medium shell number 1");
}

#[test]
fn a_card_that_has_the_keys_stays_when_an_earlier_one_comes() {
    let screen = open().asked(shell_request(2, "second", Risk::Medium)).wait(600).keys("<tab>");
    shows(&mut screen.asked(shell_request(1, "first", Risk::Medium)), "▸[ ] 2 medium shell second");
}

#[test]
fn escape_is_told_as_what_it_does() {
    let mut screen = two().keys("<tab>");
    shows(&mut screen, "Esc later ─");
    screen = screen.keys("<ret>").wait(600);
    shows(&mut screen, "Esc back ─");
    screen = screen.keys("<esc>").wait(600).keys("<down><space>y");
    shows(&mut screen, "y again");
    shows(&mut screen, "Esc back ─");

    let mut single = open().asked(shell_request(1, "first", Risk::High)).wait(600).keys("<tab>");
    shows(&mut single, "Esc later ─");
    shows(&mut single.keys("y"), "Esc back ─");
}

#[test]
fn what_is_not_seen_is_counted_and_the_pager_is_offered() {
    let mut screen = open().asked(diff_request(1, 60)).wait(600).keys("<tab>");
    shows(&mut screen, "medium · +60 -1 · 54 not seen");
    shows(&mut screen, "more lines: PgDn, v view]");
    shows(&mut screen, "w why · v view");
    let mut screen = screen.keys("<end>");
    shows(&mut screen, "54 not seen");
    hides(&mut screen.keys("<home>").keys(&"<pgdn>".repeat(12)), "not seen");
}

#[test]
fn what_stands_in_the_way_of_editing_is_told() {
    let screen = open().asked(diff_request(1, 60)).wait(600).keys("<tab>e");
    shows(&mut { screen }, "! read all of it before editing: PgDn to the end, v shows all of it");
}

/// The notice is on the rule: the text above it is whole, in narrow and in wide letters.
#[test]
fn the_pill_covers_no_text() {
    for text in ["x".repeat(2_000), "日".repeat(1_000), format!("a{}", "日".repeat(1_000))] {
        for columns in [40, 41, 80] {
            let mut screen = Screen::open(columns, 12).prompted("go").text(&text).wait(100).keys("<s-up>");
            let shot = screen.shot();
            let row = shot.lines().find(|line| line.contains("Ctrl+End")).unwrap();
            assert!(row.starts_with("── ask ─") && row.ends_with("↓ Ctrl+End ──"), "{row}");
            assert_eq!(co::stdx::text::width(row), usize::from(columns), "{row}");
        }
    }
}

/// The store tells of requests as they came in; rows keep the order of the calls, and so their numbers.
#[test]
fn rows_keep_their_numbers_when_the_owner_tells_what_waits() {
    let numbered = |number: u32| shell_request(number, &format!("number {number}"), Risk::Medium);
    let mut screen = open();
    for number in [3, 1, 2] {
        screen = screen.asked(numbered(number));
    }
    let told = ServerMessage::Waiting { requests: [3, 1, 2].map(numbered).to_vec() };
    let mut screen = screen.notice(told);
    shows(&mut screen, "▸[ ] 1 medium shell number 1");
    shows(&mut screen, " [ ] 3 medium shell number 3");
}

#[test]
fn plan_mode_shows_what_it_would_do_and_how_to_go_on() {
    let change = vec![DiffLine { kind: DiffKind::Added, number: 1, text: "a new line".to_owned() }];
    let planned = |number, change: Vec<DiffLine>| {
        let done = CallReport { change, is_planned: true, ..CallReport::default() };
        ToolReturn {
            done: Some(Box::new(done)),
            ..returned(number, ReturnStatus::Denied, "Denied by policy.")
        }
    };
    let calls =
        [call(1, "write_file", json!({ "path": "a.txt" })), call(2, "shell", json!({ "command": "make" }))];
    let mut screen = open();
    for (call, change) in calls.iter().zip([change, Vec::new()]) {
        let number = if change.is_empty() { 2 } else { 1 };
        screen = screen.event(Event::ToolCall { call: call.clone() });
        screen = screen.event(Event::ToolReturn { call: call.clone(), returned: planned(number, change) });
    }
    let mut screen = screen.event(Event::TurnEnded { end: TurnEnd::Completed });
    for expected in ["would change +1 -0", "a new line", "would run", "/go carries the plan out"] {
        shows(&mut screen, expected);
    }
    hides(&mut screen, "denied");
    let mut plain = open().event(Event::TurnEnded { end: TurnEnd::Completed });
    hides(&mut plain, "/go");
}
