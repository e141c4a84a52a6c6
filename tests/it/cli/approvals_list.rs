//! `co approvals list|show`: which requests, in what words, and very many of them.

use std::time::{Duration, Instant};

use co::approval::{Approval, Decider, Request, Taint};
use co::message::{CallId, Source, ToolName};
use co::tool::{Risk, Undo};
use serde_json::json;

use crate::cli::approvals_kit::{Fixture, after, risky, write};

const A: &str = "aaaa00000001";
const B: &str = "bbbb00000002";
const C: &str = "cccc00000003";
const D: &str = "dddd00000004";

fn tainted(request: Request) -> Request {
    let words = "dana@northwind.example".to_owned();
    let source = Source::Tool { name: ToolName::new("fetch_page") };
    let from = Some(CallId("s/1.1.0".to_owned()));
    Request { taint: vec![Taint { arg: "/content".to_owned(), words, source, from }], ..request }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let first = write(A, "a.txt", "one");
    let second = tainted(after(&[&first], risky(Risk::High, write(B, "b.txt", "two"))));
    fixture.asked("first", &[first, second]);
    let mail = Request { tool: ToolName::new("mail_send"), ..risky(Risk::Low, write(C, "c", "x")) };
    fixture.asked("second", &[mail, write(D, "d.txt", "x")]);
    fixture.decide(D, Approval::Deny { reason: Some("no".to_owned()) }, Decider::Tui);
    fixture
}

#[test]
fn lists_hold_what_is_asked_for() {
    let fixture = fixture();
    let session = fixture.request(C).session.0;
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &[A, B, C]),
        (&["--risk", "high"], &[B]),
        (&["--risk", "LOW"], &[C]),
        (&["--tool", "mail_send"], &[C]),
        (&["--tool", "*_file"], &[A, B]),
        (&["--session", &session], &[C]),
        (&["--session", &session, "--all"], &[D, C]),
        (&["--state", "denied"], &[D]),
        (&["--state", "waiting"], &[A, B, C]),
        (&["--state", "later"], &[]),
        (&["--all"], &[D, C, B, A]),
        (&["--all", "--risk", "medium"], &[D, A]),
    ];
    for (args, expected) in cases {
        let mut line = vec!["approvals", "list"];
        line.extend(*args);
        let out = fixture.co.command(&fixture.co.workspace(), &line).output().unwrap().stdout;
        let out = String::from_utf8(out).unwrap();
        let ids: Vec<&str> = out.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(ids, *expected, "{args:?}\n{out}");
        line.push("--json");
        let listed: serde_json::Value = serde_json::from_slice(
            &fixture.co.command(&fixture.co.workspace(), &line).output().unwrap().stdout,
        )
        .unwrap();
        let ids: Vec<&str> =
            listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(ids, *expected, "{args:?}");
    }
    fixture.co.run(&["approvals", "list", "--risk", "high", "--tool", "x"]).check(
        0,
        "No matching requests.\n",
        "",
    );
    fixture.co.run(&["approvals", "--tool", "["]).check(
        2,
        "",
        "co: error: `--tool [` is not a tool name\n    e.g. `--tool write_file`, or `--tool 'mail_*'`\n",
    );
}

#[test]
fn a_row_says_what_matters() {
    let fixture = fixture();
    let ran = fixture.co.run(&["approvals", "list", "--all"]);
    let rows: Vec<String> =
        ran.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        rows,
        [
            "ID STATE RISK AGE TOOL WHAT SESSION EXPIRES",
            "[REQUEST] denied medium now write_file write d.txt second",
            "[REQUEST] waiting low now mail_send write c second",
            "[REQUEST] waiting HIGH now write_file write b.txt ▲ first",
            "[REQUEST] waiting medium now write_file write a.txt first",
        ]
    );
    assert_eq!(ran.err, "co approvals show|yes|no|edit|later ID\n");
    let listed = fixture.co.run(&["approvals", "--json"]).json();
    assert_eq!((&listed[1]["tainted"], &listed[0]["tainted"]), (&json!(true), &json!(false)));
    assert_eq!(
        (&listed[1]["taint"][0]["words"], &listed[1]["expires"]),
        (&json!("dana@northwind.example"), &json!(null))
    );
}

#[test]
fn show_tells_all_that_is_known() {
    let fixture = Fixture::new();
    let first = write(A, "a.txt", "one");
    let mut second = tainted(after(&[&first], risky(Risk::High, write(B, "b.txt", "two"))));
    second.why.push("its words are not yours".to_owned());
    second.expires = Some("2100-01-02T03:04:05Z".parse().unwrap());
    second.plan.undo = Undo::Hold;
    second.plan.basis =
        vec![(co::tool::Resource("/w/b.txt".to_owned()), co::tool::Version("0123456789abcdef".to_owned()))];
    let third = after(&[&second], write(C, "c.txt", "three"));
    fixture.asked("first", &[first, second, third]);
    let shown = fixture.co.run(&["approvals", "show", B]).out;
    for line in [
        "state    waiting for your decision",
        "risk     HIGH",
        "why      write_file changes something",
        "         its words are not yours",
        "source   ▲ content: “dana@northwind.example” is text from tool fetch_page (call s/1.1.0)",
        "undo     held before it happens",
        "needs    [REQUEST] write_file: write a.txt (waiting for your decision)",
        "needed   [REQUEST] write_file: write c.txt (waiting for your decision)",
        "basis    /w/b.txt as of [REQUEST]",
        "turn     1",
        "expires  2100-01-02T03:04:05Z",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line:?} is missing in\n{shown}");
    }
    let edited = Approval::Approve {
        instead: Some((ToolName::new("write_file"), json!({"path": "n.txt", "content": "two"}))),
        remember: co::approval::Remember::Once,
        note: Some("there".to_owned()),
        rule: None,
    };
    fixture.decide(B, edited, Decider::Tui);
    let shown = fixture.co.run(&["approvals", "show", B]).out;
    for line in [
        "state    approved with changes by you (full screen), with the note “there”; its session has not continued yet",
        "note     there",
        "  path: b.txt",
        "approved instead",
        "  path: n.txt",
        "      2 -   \"path\": \"b.txt\",",
        "      2 +   \"path\": \"n.txt\",",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line:?} is missing in\n{shown}");
    }
    let known = fixture.co.run(&["approvals", "show", B, "--json"]).json();
    assert_eq!((&known["undo"], &known["decision"][1]["by"]), (&json!("hold"), &json!("tui")));
    assert_eq!(known["request_hash"].as_str().map(str::len), Some(32));
}

#[test]
fn every_state_has_its_words() {
    let fixture = fixture();
    let mail = || Approval::to(ToolName::new("mail_send"), json!({}));
    fixture.decide(A, mail(), Decider::Cli);
    for (id, state, words) in [
        (
            A,
            None,
            "approved as another call, mail_send by you (co approvals); its session has not continued yet",
        ),
        (
            A,
            Some("consumed"),
            "approved as another call, mail_send by you (co approvals); it has not run yet",
        ),
        (B, Some("later"), "postponed; still waiting for your decision"),
        (B, Some("consumed"), "closed without a decision: its session continued"),
        (B, Some("withdrawn"), "withdrawn because the turn was stopped"),
        (B, Some("superseded"), "replaced by a new request"),
        (B, Some("expired"), "expired, not run"),
        (D, None, "denied by you (full screen): no; its session has not continued yet"),
    ] {
        state.into_iter().for_each(|state| fixture.set(id, "state", state));
        let shown = fixture.co.run(&["approvals", "show", id]).out;
        let line = format!("state    {words}");
        assert!(shown.lines().any(|shown| shown == line), "{line:?} is missing in\n{shown}");
    }
}

#[test]
fn ten_thousand_wait_and_a_megabyte_is_shown() {
    let fixture = Fixture::new();
    let many: Vec<Request> = (0..10_000).map(|n| write(&format!("{n:012x}"), "a.txt", "x")).collect();
    fixture.asked("many", &many);
    let begun = Instant::now();
    let ran = fixture.co.run(&["approvals"]);
    let took = begun.elapsed();
    assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 10_001));
    // Unoptimised code, on a machine that does other things too.
    assert!(took < Duration::from_secs(10), "{took:?}");
    let large = "a line of some words\n".repeat(50_000);
    fixture.asked("large", &[write(A, "large.txt", &large)]);
    let shown = fixture.co.run(&["approvals", "show", A]);
    assert_eq!((shown.code, shown.out.len() > 1_000_000), (Some(0), true));
    let ran = fixture.co.run(&["approvals", "yes", A, "--set", "path=b.txt", "--unread"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "approved with changes [REQUEST]: write 50000 lines to b.txt (new file)\n")
    );
    assert_eq!(fixture.instead(A).unwrap()["content"], large);
    // A name that a user cannot type is marked as such.
    let id = "f".repeat(100_000);
    assert_eq!(fixture.co.run(&["approvals", "show", &id]).code, Some(1));
}
