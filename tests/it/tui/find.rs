//! The search in the transcript.

use std::sync::Arc;

use co::agent::port::Event;
use co::frontend::protocol::ServerMessage;
use co::message::{AssistantMessage, AssistantPart, Message, PartKind, ReturnStatus, StopKind, StopReason};
use co::tool::Risk;
use co::tui::model::Focus;
use serde_json::json;

use crate::tui::kit::{Screen, at_all_sizes, call, returned, shell_request};

fn inbox(screen: Screen) -> Screen {
    let one = call(1, "shell", json!({"command": "rg -l \"1182\" ~/Documents"}));
    let output = "Documents/tax/2026/1182.pdf.txt\nDocuments/mail/2026-11.mbox\n1182\n1182 1182";
    let mut screen = screen;
    for number in 0..9 {
        screen = screen
            .prompted(&format!("what of invoice 1182, part {number}?"))
            .event(Event::TextCommitted { text: format!("Nothing new.\n\nPart {number} is *quiet*.") })
            .notice(ServerMessage::Idle);
    }
    screen
        .prompted("what did Dana want, and can you answer her?")
        .thinking("The invoice 1182 again.")
        .text("Dana Reyes wrote about invoice **1182**:\n\n- she needs the PO number")
        .event(Event::TextCommitted {
            text: "Dana Reyes wrote about invoice **1182**:\n\n- she needs the PO number".into(),
        })
        .event(Event::ToolCall { call: one.clone() })
        .event(Event::ToolRunning { call: one.clone() })
        .event(Event::ToolReturn { call: one, returned: returned(1, ReturnStatus::Ok, output) })
        .event(Event::TextCommitted { text: "Found it, and no more is to be said of it.".into() })
        .notice(ServerMessage::Idle)
        .wait(10)
}

fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).marked_shot()));
}

#[test]
fn states() {
    check("find_open", |screen| inbox(screen).keys("<c-f>"));
    check("find_written", |screen| inbox(screen).keys("<c-f>1182"));
    check("find_next", |screen| inbox(screen).keys("<c-f>1182<ret>nn"));
    check("find_above", |screen| inbox(screen).keys("<c-f>part 3"));
    check("find_text_only", |screen| inbox(screen).keys("<c-f>1182<a-t>"));
    check("find_nothing", |screen| inbox(screen).keys("<c-f>nowhere"));
    check("find_beside_a_card", |screen| {
        inbox(screen).keys("<c-f>1182").asked(shell_request(1, "ls", Risk::Medium)).wait(600)
    });
}

fn number(screen: &Screen) -> Option<(usize, usize)> {
    let find = screen.model.find.as_ref()?;
    Some((find.number().unwrap_or(0), find.total()))
}

#[test]
fn keys_go_from_match_to_match() {
    // Nine prompts, the thought, the answer, the row of the call, and four in its output.
    let cases = [
        ("<c-f>1182", Some((9, 16))),
        ("<c-f>1182<ret>", Some((10, 16))),
        ("<c-f>1182<ret>nn", Some((12, 16))),
        ("<c-f>1182<ret>nnN", Some((11, 16))),
        ("<c-f>1182<up>", Some((8, 16))),
        ("<c-f>1182<a-ret>", Some((8, 16))),
        ("<c-f>1182<ret>/<bs><bs>", Some((9, 17))),
        ("<c-f>1182<ret>nnnnnnnnn", Some((3, 16))),
        ("<c-f>part 3", Some((2, 2))),
        ("<c-f>PART", Some((0, 0))),
        ("<c-f>part 3 is quiet", Some((1, 1))),
        ("<c-f>invoice 1182:", Some((1, 1))),
        ("<c-f>**1182", Some((1, 1))),
        ("<c-f>11<esc>", None),
    ];
    for (keys, expected) in cases {
        let screen = inbox(Screen::open(80, 24)).keys(keys);
        assert_eq!(number(&screen), expected, "{keys}");
    }
}

#[test]
fn a_search_types_nothing_and_ends_where_it_is() {
    let screen = inbox(Screen::open(80, 24)).keys("<c-f>part 1<ret>xyz ");
    assert!(screen.model.composer.is_empty());
    let mut screen = screen.keys("<esc>");
    assert!(screen.model.find.is_none() && !screen.model.transcript.follows());
    assert!(screen.shot().contains("part 1?"));
    let screen = screen.keys("<esc>");
    assert!(screen.model.transcript.follows());
    let screen = inbox(Screen::open(80, 24)).keys("hi<home><c-f>x");
    assert_eq!(screen.model.composer.editor.text(), "hxi");
    assert!(screen.model.find.is_none());
}

#[test]
fn a_match_in_folded_text_unfolds_that_cell() {
    let mut screen = inbox(Screen::open(80, 30)).keys("<c-f>mbox");
    let shot = screen.shot();
    assert!(shot.contains("Documents/mail/2026-11.mbox"), "{shot}");
    assert!(!shot.contains("The invoice 1182 again"), "{shot}");
    let mut screen = screen.keys("<c-u>again");
    let shot = screen.shot();
    assert!(shot.contains("The invoice 1182 again"), "{shot}");
}

#[test]
fn tool_output_is_searched_or_not() {
    // The query, the numbers of matches with and without the output of tools, and the current match.
    let cases = [
        ("<c-f>1182", (9, 16), (9, 12)),
        ("<c-f>1182<ret>", (10, 16), (10, 12)),
        ("<c-f>1182<up><up>", (7, 16), (7, 12)),
        ("<c-f>1182<ret>nnnn", (14, 16), (9, 12)),
        ("<c-f>mbox", (1, 1), (0, 0)),
    ];
    for (keys, with, without) in cases {
        let screen = inbox(Screen::open(80, 24)).keys(keys);
        assert_eq!(number(&screen), Some(with), "{keys}");
        let mut screen = screen.keys("<a-t>");
        assert_eq!(number(&screen), Some(without), "{keys}");
        let shot = screen.shot();
        assert!(shot.contains("smart · text ──"), "{shot}");
        let screen = screen.keys("<a-t>");
        assert_eq!(number(&screen).map(|(_, total)| total), Some(with.1), "{keys}");
    }
    let screen = inbox(Screen::open(80, 24)).keys("<c-f><a-t><esc><c-f>mbox");
    assert_eq!(number(&screen), Some((1, 1)), "each search begins with all");
}

#[test]
fn output_that_is_not_searched_is_not_marked() {
    let mut screen = inbox(Screen::open(80, 40)).keys("<c-o><c-f>1182");
    let marked = |screen: &mut Screen| screen.marked_shot().matches('«').count();
    let with = marked(&mut screen);
    let mut screen = screen.keys("<a-t>");
    assert_eq!(marked(&mut screen), with - 4);
    let mut lone = inbox(Screen::open(80, 40)).keys("<c-o><c-f>mbox");
    assert_eq!(marked(&mut lone), 1);
    assert_eq!(marked(&mut lone.keys("<a-t>")), 0);
}

#[test]
fn a_card_gets_the_keys_only_when_they_are_given() {
    let screen = inbox(Screen::open(80, 30)).keys("<c-f>1182");
    let screen = screen.prompted("x").asked(shell_request(7, "ls", Risk::Medium)).wait(600).keys("y");
    assert!(screen.asks().is_empty());
    let screen = screen.keys("<bs><tab>").wait(600);
    assert_eq!(screen.model.focus, Focus::Card);
    let screen = screen.keys("y");
    assert_eq!(screen.asks().len(), 1);
}

#[test]
fn what_streams_in_is_found() {
    let screen = inbox(Screen::open(80, 24)).keys("<c-f>1182");
    let screen = screen.prompted("and then?").text("1182 is ").wait(50).text("1182").wait(50);
    assert_eq!(number(&screen), Some((9, 18)));
}

#[test]
fn a_match_across_a_wrap_is_marked_on_both_lines() {
    let text = "one two three four five six seven eight nine ten eleven twelve".to_owned();
    let screen = Screen::open(40, 14).prompted("go").event(Event::TextCommitted { text });
    let mut screen = screen.wait(10).keys("<c-f>seven eight");
    let shot = screen.marked_shot();
    assert!(shot.contains("«seven»\n") && shot.contains("   «eight»"), "{shot}");
}

/// A conversation of so many messages.
pub fn long(messages: usize) -> ServerMessage {
    let reply = |number: usize| {
        let text =
            format!("Answer **{number}** of many.\n\n- one `thing`\n- and another\n\n{}", "word ".repeat(80));
        Message::Assistant(AssistantMessage {
            parts: vec![AssistantPart::new(PartKind::Text { text })],
            asked: String::new(),
            model: "m".into(),
            stop: StopReason::new(StopKind::EndTurn),
        })
    };
    let messages = (0..messages).map(|number| match number % 2 {
        0 => Message::user(format!("question {number}")),
        _ => reply(number),
    });
    ServerMessage::Transcript { messages: messages.map(Arc::new).collect(), decided: Vec::new() }
}

#[test]
fn ten_thousand_messages_are_searched() {
    let mut screen = Screen::open(80, 24).notice(long(10_000)).keys("<c-f>answer 4321 of");
    assert_eq!(number(&screen), Some((1, 1)));
    let shot = screen.shot();
    assert!(shot.contains("Answer 4321 of many"), "{shot}");
}
