//! Questions of tool servers between processes: one process asks, another one answers, and what a killed process asked is over.

use super::kit::{on_terminal, run, say};
use crate::cli::mcp::{NEVER, with_server};
use crate::co::{Co, RunOutput, Service};
use crate::tui::terminal::Terminal;

/// The id of the only question that waits, once the screen shows it.
fn asked(co: &Co, terminal: &Terminal) -> String {
    terminal.wait_for("Where to?");
    let waiting = co.waiting();
    assert_eq!(waiting.len(), 1, "{waiting:?}\n{}", terminal.screen());
    waiting[0].clone()
}

#[track_caller]
fn refused(ran: &RunOutput, why: &str) {
    assert!(ran.code == Some(1) && ran.err.contains(why), "{why}: {ran:?}");
}

#[test]
fn another_process_answers_and_death_withdraws() {
    let script = "reply\n  call s_ask {}\nreply\n  text You go to Oslo.\nreply\n  call s_ask {}\nreply\n  text Stay.\n\
                  reply\n  call s_ask {}\n";
    let service = Service::new(script);
    let co = with_server(&service, &[], NEVER);
    let mut first = on_terminal(&co, &[], (100, 40));
    first.wait_for("your request, then Enter");
    say(&mut first, "travel");
    let id = asked(&co, &first);
    let shown = run(&co, &["approvals", "show", &id]).out;
    assert!(shown.contains("Where to?") && shown.contains("what you answer is sent to s"), "{shown}");
    refused(&run(&co, &["approvals", "yes", &id]), "the answer does not fit");
    let yes = run(&co, &["approvals", "yes", &id, "--set", "city=Oslo"]);
    assert_eq!(yes.code, Some(0), "{yes:?}");
    first.wait_for("You go to Oslo.");
    let told = service.asked(2).replace('\\', "");
    assert!(told.contains(r#""city":"Oslo""#) && told.contains(r#""class":"second""#), "{told}");
    refused(&run(&co, &["approvals", "no", &id]), "was already answered");
    let shown = run(&co, &["approvals", "show", &id]).out;
    assert!(shown.contains("the answer went to the server"), "{shown}");
    let audit = run(&co, &["audit", "show", &id]);
    assert!(audit.code == Some(0) && audit.out.contains("Oslo"), "{audit:?}");

    say(&mut first, "travel again");
    let id = asked(&co, &first);
    assert_eq!(run(&co, &["approvals", "no", &id, "--note", "not now"]).code, Some(0));
    first.wait_for("Stay.");
    assert!(service.asked(4).contains("decline"), "{}", service.asked(4));

    say(&mut first, "once more");
    let id = asked(&co, &first);
    first.kill();
    assert_eq!(co.waiting(), Vec::<String>::new());
    let shown = run(&co, &["approvals", "show", &id]).out;
    assert!(shown.contains("does not wait for the answer any more"), "{shown}");
    refused(
        &run(&co, &["approvals", "yes", &id, "--set", "city=Rome"]),
        "the server that asked does not wait for the answer any more",
    );
}
