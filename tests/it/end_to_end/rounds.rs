//! Three calls of one reply that ask: a list on the screen, two rounds of decisions, one request with all returns.

use std::time::Duration;

use super::kit::{LARGE, USUAL, each, on_terminal, press_until, sent_lines};
use crate::co::{Co, Service, Wire};
use crate::tui::terminal::Terminal;

const SCRIPT: &str = r#"
reply
  text Three files.
  call write_file {"path":"one.txt","content":"1"} | id=call_one
  call write_file {"path":"two.txt","content":"2"} | id=call_two
  call write_file {"path":"three.txt","content":"3"} | id=call_three
reply
  text Two of three are written.
"#;

#[test]
fn three_calls_are_decided_in_one_list() {
    each(&[(USUAL, Wire::Anthropic), (LARGE, Wire::Chat)], 2, |(size, wire)| decide(*size, *wire));
}

/// Moves the cursor of the list to the row of this file.
#[track_caller]
fn go_to(screen: &mut Terminal, file: &str) {
    for _ in 0..50 {
        let shown = screen.screen();
        let row = |wanted: &str| shown.lines().position(|line| line.contains("] ") && line.contains(wanted));
        let (Some(at), Some(to)) = (row("▸["), row(&format!("write_file {file}"))) else { continue };
        match at.cmp(&to) {
            std::cmp::Ordering::Equal => return,
            std::cmp::Ordering::Less => screen.keys("<down>"),
            std::cmp::Ordering::Greater => screen.keys("<up>"),
        }
        // A key within the guard time moves nothing and begins it anew; the next look finds out.
        screen.is_gone_within(Duration::from_millis(700), shown.lines().nth(at).unwrap_or_default());
    }
    panic!("no way to {file}\n{}", screen.screen());
}

fn decide(size: (u16, u16), wire: Wire) {
    let service = Service::new(SCRIPT);
    let co = Co::new().with(&service, wire);
    let mut screen = on_terminal(&co, &[], size);
    screen.wait_for("unsandboxed");
    screen.keys("three files<ret>");
    screen.wait_for("3 actions");
    screen.keys("<a-a>");
    screen.wait_for("· list ─");
    go_to(&mut screen, "two.txt");
    press_until(&mut screen, "n", "reason for the model");
    screen.keys("not that one<ret>");
    screen.wait_for("2 actions");
    press_until(&mut screen, " ", "1 marked");
    let marked = if screen.screen().lines().any(|line| line.contains("[x]") && line.contains("one.txt")) {
        "three.txt"
    } else {
        "one.txt"
    };
    go_to(&mut screen, marked);
    press_until(&mut screen, " ", "2 marked");
    screen.keys("y");
    screen.wait_for("Two of three are written.");
    let (one, two, three) = (co.read("one.txt"), co.read("two.txt"), co.read("three.txt"));
    assert_eq!((one.as_deref(), two, three.as_deref()), (Some("1"), None, Some("3")));
    let text = sent_lines(&service, 2);
    let expected = [
        "return created one.txt: 1 line, 1 bytes",
        "return [denied] The user said no, it did not run. Reason: not that one",
        "return created three.txt: 1 line, 1 bytes",
    ];
    assert!(text.ends_with(&expected.map(str::to_owned)), "{text:#?}");
    assert_eq!(service.server.requests().len(), 2);
    service.is_content();
}
