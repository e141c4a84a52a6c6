//! The side panel: from which size on it is there, what it says in each state, and that it can be hidden.

use std::time::Duration;

use co::agent::port::Event;
use co::frontend::protocol::{ContextUse, Header, ServerMessage};
use co::provider::ErrorClass;
use co::tool::Risk;
use serde_json::json;

use crate::tui::kit::{Screen, call, diff_request, header, shell_request};

fn busy(screen: Screen) -> Screen {
    let read = call(1, "read_file", json!({"path": "notes/Northwind.md"}));
    let search = call(2, "search_text", json!({"pattern": "1182", "path": "Documents"}));
    screen
        .prompted("clear my inbox")
        .text("I will read first.")
        .event(Event::TextCommitted { text: "I will read first.".into() })
        .event(Event::ToolCall { call: read.clone() })
        .event(Event::ToolCall { call: search.clone() })
        .event(Event::ToolRunning { call: read })
        .event(Event::ToolRunning { call: search })
        .asked(shell_request(3, "rm -rf build", Risk::High))
        .asked(diff_request(4, 2))
        .keys("what is on Monday?<ret>")
        .wait(4_200)
}

fn retrying(screen: Screen) -> Screen {
    screen
        .prompted("hello")
        .event(Event::Retry {
            class: ErrorClass::RateLimited,
            message: "429: too many requests".into(),
            wait: Duration::from_secs(20),
            attempt: 1,
            of: 2,
            then: None,
        })
        .wait(6_000)
}

#[test]
fn states() {
    let unknown = Header { context: Some(ContextUse { used: 8_200, window: None }), ..header() };
    let fresh = Header { context: None, ..header() };
    let shots = [
        ("idle", Screen::open(120, 30)),
        ("no request was counted", Screen::open(120, 30).notice(ServerMessage::Header(fresh))),
        ("window unknown", Screen::open(120, 30).notice(ServerMessage::Header(unknown))),
        ("busy", busy(Screen::open(140, 40))),
        ("busy, a card has the focus", busy(Screen::open(120, 30)).keys("<a-a>")),
        ("retry", retrying(Screen::open(140, 40))),
        ("hidden", busy(Screen::open(140, 40)).keys("<c-t>")),
        ("too narrow", busy(Screen::open(119, 30))),
        ("too low", busy(Screen::open(120, 29))),
    ];
    let mut all = String::new();
    for (name, mut screen) in shots {
        all.push_str(&format!("=== {name}\n{}", screen.shot()));
    }
    insta::assert_snapshot!("panel_states", all);
}

#[test]
fn what_lies_over_the_transcript_lays_nothing_out_anew() {
    let screen = Screen::open(120, 30).prompted("hello");
    let width = screen.model.context().width;
    let screen = screen.keys("?");
    assert_eq!((screen.model.context().width, screen.model.panel_columns()), (width, 0));
    let screen = screen.keys("<esc>");
    assert_eq!(screen.model.pane_columns() + screen.model.panel_columns(), 120);
}

#[test]
fn a_screen_without_room_for_the_panel_says_so() {
    let shown = Screen::open(80, 24).keys("<c-t>").shot();
    assert!(shown.contains("the side panel needs 120 columns and 30 rows"), "{shown}");
}
