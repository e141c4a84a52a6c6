//! Five things are asked for at once; three are decided from another terminal, one tomorrow, and one is edited. Each runs
//! once and as decided, whether the screen stayed open or was killed, and the audit says who decided what.

use serde_json::Value;

use super::kit::{each, on_terminal, run};
use crate::co::{Co, RunOutput, Service, Wire};

const SCRIPT: &str = r#"
reply
  text Five things, then.
  call write_file {"path":"one.txt","content":"one"} | id=call_1
  call write_file {"path":"two.txt","content":"two"} | id=call_2
  call write_file {"path":"three.txt","content":"three"} | id=call_3
  call write_file {"path":"four.txt","content":"four"} | id=call_4
  call shell {"command":"echo ran >> ran.txt"} | id=call_5
reply
  text All five are settled.
"#;

/// The end of the screen that asked.
#[derive(Debug, Clone, Copy)]
enum Screen {
    StaysOpen,
    Killed,
}

#[test]
fn five_things_are_decided_elsewhere_and_each_runs_once() {
    each(&[Screen::StaysOpen, Screen::Killed], 2, |screen| five(*screen));
}

fn five(screen: Screen) {
    let service = Service::new(SCRIPT);
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut terminal = on_terminal(&co, &[], (100, 40));
    terminal.wait_for("unsandboxed");
    terminal.keys("do five things<ret>");
    terminal.wait_for("5 actions");
    if let Screen::Killed = screen {
        terminal.kill();
    }
    let of = requests(&co);
    said(&run(&co, &["approvals", "yes", of("one.txt"), of("two.txt")]));
    said(&run(&co, &["approvals", "no", of("three.txt"), "--note", "three is one too many"]));
    said(&run(&co, &["approvals", "later", of("echo ran")]));
    let edit = ["approvals", "yes", of("four.txt"), "--set", "content=4", "--note", "digits are shorter"];
    said(&run(&co, &edit));
    if let Screen::StaysOpen = screen {
        // A decided call runs; an open one holds the turn.
        terminal.wait_until("four are settled", |_| co.read("four.txt").is_some());
        assert_eq!(co.read("ran.txt"), None);
    }
    assert_eq!(co.waiting(), [of("echo ran")], "the one that is for later");
    said(&run(&co, &["approvals", "yes", of("echo ran")]));
    match screen {
        Screen::StaysOpen => drop(terminal.wait_for("All five are settled.")),
        Screen::Killed => {
            assert_eq!(co.read("one.txt"), None, "deciding runs nothing");
            let resumed = run(&co, &["resume", "--print"]);
            assert_eq!(
                (resumed.code, resumed.out.as_str()),
                (Some(0), "All five are settled.\n"),
                "{resumed:?}"
            );
        }
    }
    as_decided(&co);
    audited(&co);
    let again = run(&co, &["approvals", "no", of("one.txt")]);
    assert_eq!(again.code, Some(1), "the first answer stands: {again:?}");
    service.is_content();
}

/// Finds a request by words of what it would do.
fn requests(co: &Co) -> impl Fn(&str) -> &'static str {
    // As it was said: ids are needed as they are.
    let output = co.command(&co.workspace(), &["approvals", "list", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed: Vec<(String, &'static str)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one.to_string(), &*one["id"].as_str().unwrap().to_owned().leak()))
        .collect();
    assert_eq!(listed.len(), 5);
    move |words| listed.iter().find(|(text, _)| text.contains(words)).unwrap_or_else(|| panic!("{words}")).1
}

#[track_caller]
fn said(ran: &RunOutput) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

fn as_decided(co: &Co) {
    let read = |name: &str| co.read(name);
    assert_eq!(read("one.txt").as_deref(), Some("one"));
    assert_eq!(read("two.txt").as_deref(), Some("two"));
    assert_eq!(read("three.txt"), None);
    assert_eq!(read("four.txt").as_deref(), Some("4"));
    assert_eq!(read("ran.txt").as_deref(), Some("ran\n"), "once");
}

/// The audit names a person for every call, knows what was changed, and is whole.
fn audited(co: &Co) {
    let rows = run(co, &["audit", "--json"]).json();
    let rows = rows.as_array().unwrap();
    let about = |words: &str| -> Vec<&Value> {
        rows.iter()
            .filter(|row| row.to_string().contains(words) && row.to_string().contains("\"cli\""))
            .collect()
    };
    for words in ["one.txt", "two.txt", "three is one too many", "digits are shorter", "echo ran"] {
        assert!(!about(words).is_empty(), "{words}: {rows:#?}");
    }
    said(&run(co, &["audit", "verify"]));
}
