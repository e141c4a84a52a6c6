//! `co approvals yes|no|later`: decisions, their reports, and races between processes.

use co::approval::{Approval, Decider, Remember};
use co::store::RequestState;
use co::tool::Risk;
use serde_json::json;

use crate::cli::approvals_kit::{Fixture, after, risky, write};

const A: &str = "aaaa00000001";
const B: &str = "bbbb00000002";
const C: &str = "cccc00000003";
const GO_ON: &str = "Its session is not open anywhere; continue with: co resume [SESSION]\n";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let first = write(A, "a.txt", "one");
    let second = after(&[&first], risky(Risk::High, write(B, "b.txt", "two")));
    let third = after(&[&second], risky(Risk::Low, write(C, "c.txt", "three")));
    fixture.asked("tidy up", &[first, second, third]);
    fixture
}

#[test]
fn a_yes_may_change_arguments_and_say_a_word() {
    // The input after the id, the record, the output.
    let cases = [
        (&[][..], None, "approved [REQUEST]: write a.txt"),
        (&["--set", "path=a.txt"][..], None, "approved [REQUEST]: write a.txt"),
        (
            &["--set", "path=n.txt"][..],
            Some(json!({"path": "n.txt", "content": "one"})),
            "approved with changes [REQUEST]: write 1 line to n.txt (new file)",
        ),
        (
            &["--set", "content=a=b", "--set", "path=1"][..],
            Some(json!({"path": "1", "content": "a=b"})),
            "approved with changes [REQUEST]: write 1 line to 1 (new file)",
        ),
    ];
    for (args, instead, said) in cases {
        let fixture = fixture();
        let mut line = vec!["approvals", "yes", A, "--note", "as we said"];
        line.extend(args);
        let ran = fixture.co.run(&line);
        assert_eq!((ran.code, ran.out), (Some(0), format!("{said}\n")));
        // The answer shows what is approved: the arguments or, of a changed call, its plan.
        let told = if instead.is_some() { "change of " } else { "  path: a.txt\n  content: one\n" };
        assert!(ran.err.starts_with(told) && ran.err.ends_with(GO_ON), "{}", ran.err);
        let (approval, by) = fixture.request(A).decision.unwrap();
        let note = Some("as we said".to_owned());
        let instead = instead.map(|args| (co::message::ToolName::new("write_file"), args));
        let expected = Approval::Approve { instead, remember: Remember::Once, note, rule: None };
        assert_eq!((approval, by), (expected, Decider::Cli), "{args:?}");
    }
    let fixture = fixture();
    // None of these commands is in that session.
    let covered = "for that session: write_file";
    let ran = fixture.co.run(&["approvals", "yes", A, "--session"]);
    assert_eq!((ran.code, ran.out), (Some(0), format!("approved [REQUEST]: write a.txt ({covered})\n")));
    assert_eq!(fixture.request(A).decision.unwrap().0, Approval::for_session());
    let shown = fixture.co.run(&["approvals", "show", A]).out;
    assert!(shown.contains(&format!("covers   {covered}\n")), "{shown}");
    assert!(
        shown.contains("allowed by you (co approvals) for that session") && !shown.contains("this session"),
        "{shown}"
    );
}

#[test]
fn changes_that_make_no_sense_decide_nothing() {
    let fixture = fixture();
    for (args, code, error) in [
        (&["--set", "path"][..], 1, "`path` has no value; write it as `field=value`"),
        (
            &["--set", "pat=x"],
            1,
            "write_file has no field `pat`; did you mean `path`? its fields: path, content",
        ),
        (&["--set", "path.x=1"], 1, "write_file has no field `path.x`; there are no named fields here"),
    ] {
        let mut line = vec!["approvals", "yes", A];
        line.extend(args);
        fixture.co.run(&line).check(code, "", &format!("co: error: {error}\n"));
    }
    fixture.co.run(&["approvals", "yes", A, C, "--set", "path=x"]).check(
        2,
        "",
        "co: error: `--set` changes the arguments of one request\n    name one id, or leave out `--set`\n",
    );
    assert_eq!(fixture.request(A).state, RequestState::Waiting);
    // Above `yes` it is about settings, below it about arguments.
    let ran = fixture.co.run(&["--set", "theme=dark", "approvals", "no", A]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn each_is_decided_by_itself() {
    let fixture = fixture();
    fixture.decide(A, Approval::Deny { reason: None }, Decider::Tui);
    fixture.set(C, "state", "expired");
    let first = write("dddd00000004", "d.txt", "x");
    fixture.asked("more", &[first, write("dddd00000005", "e.txt", "x")]);
    let err = "co: error: request [REQUEST] was already denied by you (full screen); nothing was changed\n\
        co: error: no request begins with `zz`; `co approvals` lists them\n\
        co: error: `dddd` matches [REQUEST], [REQUEST]; type more of the id\n\
        co: error: request [REQUEST] has expired and can no longer be decided\n";
    fixture.co.run(&["approvals", "yes", A, "zz", "dddd", "dddd00000004", "dddd00000004", C]).check(
        1,
        "approved [REQUEST]: write d.txt\n",
        &format!("  path: d.txt\n  content: x\n{GO_ON}{err}"),
    );
    assert_eq!(fixture.request("dddd00000004").state, RequestState::Approved);
    let ran = fixture.co.run(&["approvals", "later", "dddd00000005", A, "--json"]);
    assert_eq!(ran.code, Some(1));
    let told = ran.json();
    assert_eq!(
        (&told[0]["decision"], &told[1]["error"]),
        (
            &json!("postponed"),
            &json!("request [REQUEST] was already denied by you (full screen); nothing was changed")
        )
    );
    for (state, error) in [
        ("withdrawn", "was withdrawn because the turn was stopped, and can no longer be decided"),
        ("superseded", "was replaced by a new request; `co approvals` lists it"),
        ("consumed", "was closed without a decision when its session continued"),
    ] {
        fixture.set(C, "state", state);
        let error = format!("co: error: request [REQUEST] {error}\n");
        fixture.co.run(&["approvals", "no", C]).check(1, "", &error);
    }
}

#[test]
fn what_is_high_is_named_and_what_depends_is_told() {
    let fixture = fixture();
    let high = "co: error: request [REQUEST] is HIGH risk, so `bbbb` is too short; type at least 8 characters of its id: \
        co approvals yes [REQUEST]\n";
    let waits = "co: [REQUEST] runs only after [REQUEST] (write_file: write b.txt), which is still waiting for your decision\n";
    fixture.co.run(&["approvals", "yes", "bbbb", "cccc"]).check(
        1,
        "approved [REQUEST]: write c.txt\n",
        &format!("  path: c.txt\n  content: three\n{waits}{GO_ON}{high}"),
    );
    fixture.co.run(&["approvals", "yes", B, "--session"]).check(
        1,
        "",
        "co: error: request [REQUEST]: HIGH requests are never allowed for a whole session; leave out --session\n",
    );
    // A no is no danger.
    fixture.co.run(&["approvals", "no", "aaaa"]).check(0, "denied [REQUEST]: write a.txt\n", GO_ON);
    let denied =
        "co: [REQUEST] will not run: it depends on [REQUEST] (write_file: write a.txt), which was denied\n";
    fixture.co.run(&["approvals", "yes", "bbbb0000"]).check(
        0,
        "approved [REQUEST]: write b.txt\n",
        &format!("  path: b.txt\n  content: two\n{denied}{GO_ON}"),
    );
}

#[test]
fn all_low_ones_of_one_session_and_nothing_else() {
    let fixture = fixture();
    let low = risky(Risk::Low, write("dddd00000004", "d.txt", "x"));
    let session = fixture.asked("more", &[low, write("dddd00000005", "e.txt", "x")]);
    let other = fixture.asked("none", &[write("eeee00000006", "f.txt", "x")]);
    fixture.co.run(&["approvals", "yes", "--all-low", &session.0]).check(
        0,
        "approved [REQUEST]: write d.txt\n",
        &format!("  path: d.txt\n  content: x\n{GO_ON}"),
    );
    fixture.co.run(&["approvals", "yes", "--all-low", &other.0]).check(
        0,
        "No LOW requests are waiting in this session.\n",
        "",
    );
    let left = ["dddd00000005", "eeee00000006", A, B, C].map(|id| fixture.request(id).state);
    assert_eq!(left, [RequestState::Waiting; 5]);
}

#[test]
fn who_goes_on_is_told() {
    let fixture = fixture();
    let session =
        fixture.session("open", &[write("dddd00000004", "d.txt", "x"), write("dddd00000005", "e.txt", "x")]);
    let ran = fixture.co.run(&["approvals", "no", "dddd00000004", A, "--note", "call her"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.out, "denied [REQUEST]: write d.txt\ndenied [REQUEST]: write a.txt\n");
    let open = "The co that has its session open (process [PID] since ";
    assert!(
        ran.err.starts_with(open) && ran.err.ends_with(&format!("continues by itself.\n{GO_ON}")),
        "{}",
        ran.err
    );
    let told = fixture.co.run(&["approvals", "yes", "dddd00000005", "--json"]).json();
    assert_eq!(told[0]["open_in_process"], std::process::id());
    drop(session);
    fixture.co.run(&["approvals", "later", B]).check(0, "postponed [REQUEST]: write b.txt\n", "");
}
