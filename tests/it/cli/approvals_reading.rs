//! The text that `co approvals yes` shows before it approves, and the one it approves unread.

use co::approval::{Request, Taint};
use co::message::Source;
use co::store::RequestState;
use co::tool::{Access, CallPlan, DiffKind, DiffLine, Preview, Risk};

use crate::cli::approvals_kit::{Fixture, risky, write};
use crate::cli::screen::Terminal;

const A: &str = "aaaa00000001";
const GO_ON: &str = "Its session is not open anywhere; continue with: co resume [SESSION]\n";

/// Writing a new file of so many lines.
fn file(lines: usize) -> Request {
    let request = write(A, "a.txt", "");
    let added = |number| DiffLine { kind: DiffKind::Added, number, text: format!("line {number}.") };
    let preview = Preview::Diff { path: "a.txt".to_owned(), lines: (1..=lines).map(added).collect() };
    let access = Access::Paths { reads: Vec::new(), writes: vec!["/a.txt".into()] };
    Request { plan: CallPlan { preview, access, ..request.plan }, ..request }
}

fn command(lines: usize) -> Request {
    let request = file(0);
    let preview = Preview::Text { text: "echo ok\n".repeat(lines) };
    Request { plan: CallPlan { preview, access: Access::Anything, ..request.plan }, ..request }
}

fn tainted(request: Request) -> Request {
    let taint =
        Taint { arg: "/path".to_owned(), words: "a.txt".to_owned(), source: Source::Program, from: None };
    Request { taint: vec![taint], ..request }
}

#[test]
fn elsewhere_than_on_a_terminal_what_is_long_is_approved_unread_only_if_that_is_said_and_allowed() {
    let plain: &[&str] = &["approvals", "yes", A];
    let unread: &[&str] = &["approvals", "yes", A, "--unread"];
    let json: &[&str] = &["approvals", "yes", A, "--json"];
    let cases = [
        ("short", file(19), plain, None),
        ("short for a program", file(19), json, None),
        ("a short command", command(19), plain, None),
        ("a short HIGH command", risky(Risk::High, command(19)), plain, None),
        ("long", file(20), plain, Some("add --unread, or approve it on a terminal")),
        ("long for a program", file(20), json, Some("add --unread, or approve it on a terminal")),
        ("long and unread", file(400), unread, None),
        ("LOW and unread", risky(Risk::Low, file(400)), unread, None),
        ("HIGH", risky(Risk::High, file(400)), unread, Some("only file contents are approved unread")),
        ("of others", tainted(file(400)), unread, Some("only file contents are approved unread")),
        ("a command", command(21), unread, Some("only file contents are approved unread")),
        (
            "a command",
            command(21),
            plain,
            Some("were not shown: approve it on a terminal, which shows it first"),
        ),
    ];
    for (name, request, args, refused) in cases {
        let fixture = Fixture::new();
        fixture.asked("tidy up", &[request]);
        let ran = fixture.co.run(args);
        let state = if refused.is_some() { RequestState::Waiting } else { RequestState::Approved };
        assert_eq!(
            (ran.code, fixture.request(A).state),
            (Some(i32::from(refused.is_some())), state),
            "{name} {ran:?}"
        );
        assert!(refused.is_none_or(|why| ran.err.contains(why)), "{name} {ran:?}");
    }
}

#[test]
fn what_is_short_is_printed_beside_the_answer() {
    let fixture = Fixture::new();
    fixture.asked("tidy up", &[file(2)]);
    let err = format!("change of a.txt\n      1 + line 1.\n      2 + line 2.\n{GO_ON}");
    fixture.co.run(&["approvals", "yes", A]).check(0, "approved [REQUEST]: write a.txt\n", &err);
}

#[test]
fn a_line_that_takes_many_rows_is_long() {
    let fixture = Fixture::new();
    let mut request = command(0);
    request.plan.preview = Preview::Text { text: format!("echo {}", "x".repeat(80 * 20)) };
    fixture.asked("tidy up", &[request]);
    assert_eq!(fixture.co.run(&["approvals", "yes", A]).code, Some(1));
}

#[test]
fn on_a_terminal_it_is_paged_whole_and_asked() {
    for (pager, marked) in [("sh -c 'cat; echo PAGED'", true), ("/nowhere/at/all", false)] {
        let fixture = Fixture::new().env("PAGER", pager);
        fixture.asked("tidy up", &[risky(Risk::High, file(400))]);
        for (answer, state) in [("\r", RequestState::Waiting), ("y\r", RequestState::Approved)] {
            let mut terminal = Terminal::start(&fixture.co, &["approvals", "yes", A]);
            terminal.shows("400 + line 400.");
            terminal.shows("Approve aaaa00000001 (HIGH): write a.txt? y/N");
            assert_eq!(terminal.text().contains("PAGED"), marked);
            assert_eq!(fixture.request(A).state, RequestState::Waiting);
            terminal.rests();
            terminal.keys(answer);
            let (code, left) = terminal.ended();
            assert_eq!((code, fixture.request(A).state), (0, state), "{left}");
        }
    }
}

/// A key that was meant for the pager is no approval.
#[test]
fn an_answer_from_before_the_question_does_not_count() {
    let fixture = Fixture::new().env("PAGER", "sh -c 'cat; read key < /dev/tty'");
    fixture.asked("tidy up", &[file(40)]);
    let mut terminal = Terminal::start(&fixture.co, &["approvals", "yes", A]);
    terminal.shows("40 + line 40.");
    terminal.keys("q\ry\r");
    terminal.shows("y/N");
    terminal.rests();
    assert_eq!(fixture.request(A).state, RequestState::Waiting);
    terminal.keys("y\r");
    assert_eq!((terminal.ended().0, fixture.request(A).state), (0, RequestState::Approved));
}

#[test]
fn a_pager_may_be_left_early() {
    let fixture = Fixture::new().env("PAGER", "head -1");
    fixture.asked("tidy up", &[file(40_000)]);
    let mut terminal = Terminal::start(&fixture.co, &["approvals", "yes", A]);
    terminal.shows("y/N");
    terminal.keys("n\r");
    assert_eq!((terminal.ended().0, fixture.request(A).state), (0, RequestState::Waiting));
}

#[test]
fn the_one_that_waits_needs_no_name() {
    let fixture = Fixture::new();
    let hint = "    `co approvals --all` lists decided requests\n";
    let none = format!("co: error: no requests are waiting\n{hint}");
    fixture.co.run(&["approvals", "show"]).check(1, "", &none);
    fixture.asked("one", &[file(2)]);
    let ran = fixture.co.run(&["approvals", "show"]);
    assert!(ran.code == Some(0) && ran.out.starts_with("request  [REQUEST]\n"), "{ran:?}");
    fixture.asked("two", &[write("bbbb00000002", "b.txt", "x")]);
    let rows = "    co approvals show [REQUEST]   write_file: write a.txt\n    co approvals show [REQUEST]   write_file: write b.txt\n";
    let many = format!("co: error: 2 requests wait; name the one to show\n{rows}");
    fixture.co.run(&["approvals", "show", "--json"]).check(2, "", &many);
}

#[test]
fn all_that_wait_can_be_denied_together() {
    let fixture = Fixture::new();
    fixture.asked("one", &[file(400)]);
    fixture.asked("two", &[write("bbbb00000002", "b.txt", "x")]);
    fixture.co.run(&["approvals", "no", "--all", "--note", "not today"]).check(
        0,
        "denied [REQUEST]: write a.txt\ndenied [REQUEST]: write b.txt\n",
        &GO_ON.repeat(2),
    );
    fixture.co.run(&["approvals", "no", "--all"]).check(0, "No requests are waiting.\n", "");
    fixture.co.run(&["approvals", "no", "--all", "--json"]).check(0, "[]\n", "");
    assert_eq!(fixture.co.run(&["approvals", "no", "--all", A]).code, Some(2));
    assert_eq!(fixture.co.run(&["approvals", "no"]).code, Some(2));
}
