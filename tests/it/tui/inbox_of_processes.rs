//! The inbox of the real binary in a real terminal: requests of several sessions, decided there and by another process.

use crate::co::{Co, Service, Wire};
use crate::tui::terminal::{Launch, Terminal};

const SCRIPT: &str = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  call write_file \
                      {\"path\":\"b.txt\",\"content\":\"two\\n\"} | id=w2\nreply\n  call write_file \
                      {\"path\":\"c.txt\",\"content\":\"three\\n\"} | id=w3\nreply\n  text All done.\nreply\n  text That too.";

fn screen(co: &Co) -> Terminal {
    Terminal::start(
        &Launch::new(env!("CARGO_BIN_EXE_co"), co.workspace())
            .envs(co.variables().iter().cloned())
            .size(110, 30),
    )
}

/// Three sessions wait; one is decided here, one by another process while the list is open, and one goes on from here.
#[test]
fn requests_of_sessions_are_decided_here_and_elsewhere() {
    let service = Service::new(SCRIPT);
    let co = Co::new().with(&service, Wire::Anthropic);
    for prompt in ["write the first", "write the second", "write the third"] {
        assert_eq!(co.run(&["-p", prompt]).code, Some(4));
    }
    let ids = co.waiting();
    let mut screen = screen(&co);
    screen.wait_for("3 requests in other sessions");
    screen.wait_for("◇ 3");
    screen.keys("<a-a>");
    screen.wait_for("3 in 3 sessions");
    screen.wait_for("write 1 line to a.txt");

    // Another process decides the second: its row says so, with no key pressed here.
    assert_eq!(co.run(&["approvals", "yes", &ids[1]]).code, Some(0));
    screen.wait_for("decided, R resumes");
    screen.wait_for("2 in 2 sessions");
    screen.wait_for("◇ 2");

    // The first is decided here, and its session goes on beside this one.
    screen.wait_until("the guard is over", |shown| shown.contains("not open anywhere"));
    let decided = (0..200).any(|_| {
        screen.keys("y");
        screen.shows_within(std::time::Duration::from_millis(700), "◇ 1")
    });
    assert!(decided, "{}", screen.screen());
    screen.wait_until("both say so", |shown| shown.matches("decided, R resumes").count() == 2);
    assert_eq!(co.waiting(), [ids[2].clone()], "decided, and no more than that");
    assert_eq!(co.read("a.txt"), None, "deciding runs nothing by itself");
    screen.keys("<esc>");
    screen.wait_for("── ask ──");
    screen.keys("<c-d>");
    assert_eq!(screen.wait_exit().code, 0);
}
