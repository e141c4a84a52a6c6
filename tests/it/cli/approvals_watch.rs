//! `co approvals watch`: another process's decisions, as they happen.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout};
use std::time::{Duration, Instant};

use co::approval::{Approval, Decider};
use co::history::{Durability, Record};
use co::message::{CallId, ReturnStatus, ToolReturn};
use co::tool::Risk;
use rustix::process::{Pid, Signal, kill_process};

use crate::cli::approvals_kit::{Fixture, risky, write};

const A: &str = "aaaa00000001";
const B: &str = "bbbb00000002";

struct Watch {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Watch {
    fn start(fixture: &Fixture, args: &[&str]) -> Self {
        let mut line = vec!["approvals", "watch"];
        line.extend(args);
        let mut child = fixture.co.start(&line);
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn line(&mut self, fixture: &Fixture) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        fixture.co.named(line.trim_end())
    }

    fn json(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[test]
fn every_change_is_a_line_at_once() {
    let fixture = Fixture::new();
    let mut session =
        fixture.session("tidy up", &[write(A, "a.txt", "x"), risky(Risk::High, write(B, "b.txt", "x"))]);
    let mut watch = Watch::start(&fixture, &[]);
    assert_eq!(watch.line(&fixture), "[REQUEST]  waiting (medium)  write_file: write a.txt  [tidy up]");
    assert_eq!(watch.line(&fixture), "[REQUEST]  waiting (HIGH)  write_file: write b.txt  [tidy up]");
    let note = Approval::Deny { reason: Some("call\nher".to_owned()) };
    for (id, approval, told) in [
        (A, Approval::Later, "[REQUEST]  postponed  write_file: write a.txt  [tidy up]"),
        (A, Approval::yes(), "[REQUEST]  approved by you (full screen)  write_file: write a.txt  [tidy up]"),
        (B, note, "[REQUEST]  denied by you (full screen): call␊her  write_file: write b.txt  [tidy up]"),
    ] {
        let begun = Instant::now();
        fixture.decide(id, approval, Decider::Tui);
        assert_eq!(watch.line(&fixture), told);
        // It is woken, it does not look from time to time: looking every second would fail here. How soon a person sees
        // it is no matter for unoptimised code beside other tests; `scripts/bench run decided` takes that for the screen.
        assert!(begun.elapsed() < Duration::from_millis(900), "{:?}", begun.elapsed());
    }
    let returned = ToolReturn::program(CallId(format!("call-{A}")), ReturnStatus::Failed, "no room");
    fixture.runtime.block_on(async {
        session.consume_decisions().await.unwrap();
        // The turn goes on.
        session.commit(&[Record::ToolFinished { returned }], Durability::Written).await.unwrap();
    });
    assert_eq!(watch.line(&fixture), "[REQUEST]  it failed  write_file: write a.txt  [tidy up]");
    interrupt(&watch.child);
    let ran = fixture.co.ended(watch.child);
    assert_eq!(ran.code, Some(130));
    assert_eq!(ran.err, "co: output closed; requests keep waiting\n");
}

#[test]
fn programs_get_a_line_of_json_each() {
    let fixture = Fixture::new();
    fixture.asked("tidy up", &[write(A, "a.txt", "x")]);
    let mut watch = Watch::start(&fixture, &["--json"]);
    let first = watch.json();
    assert_eq!(
        (&first["event"], &first["id"], &first["risk"]),
        (&"asked".into(), &A.into(), &"medium".into())
    );
    fixture.asked("more", &[write(B, "b.txt", "x")]);
    assert_eq!(watch.json()["id"], B);
    // From another process.
    assert_eq!(fixture.co.run(&["approvals", "yes", A, "--set", "path=c.txt"]).code, Some(0));
    let changed = watch.json();
    assert_eq!((&changed["event"], &changed["state"]), (&"approved".into(), &"edited".into()));
    assert_eq!(changed["decision"][0]["instead"][1]["path"], "c.txt");
    interrupt(&watch.child);
    assert_eq!(fixture.co.ended(watch.child).code, Some(130));
}

#[test]
fn it_ends_when_nobody_reads_on() {
    let fixture = Fixture::new();
    fixture.asked("tidy up", &[write(A, "a.txt", "x")]);
    let mut watch = Watch::start(&fixture, &[]);
    assert!(watch.line(&fixture).contains("waiting"));
    drop(watch.out);
    // Nothing happens any more, and yet it ends.
    let ran = fixture.co.ended(watch.child);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}
