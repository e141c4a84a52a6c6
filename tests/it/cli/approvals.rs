//! Approvals from the command line: a turn that stops, a decision in another process, the turn that goes on.

use serde_json::json;

use crate::co::{Co, Service, Wire};

const WRITES: &str = "reply\n  text I write it.\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\ntwo\\n\"} | id=w1\nreply\n  text Done.";

/// A workspace in which a turn has stopped at a write.
fn stopped(script: &str, wire: Wire) -> (Co, Service) {
    let service = Service::new(script);
    let co = Co::new().with(&service, wire);
    co.run(&["-p", "write a.txt"]).check(
        4,
        "I write it.\n",
        "◇ write_file (medium) waiting for you: write 2 lines to a.txt (new file) [[REQUEST]]\n\
         co: 1 approval is waiting for you; the turn is kept until it is decided\n    \
         co approvals yes [REQUEST]\n    co resume [SESSION]\n",
    );
    assert_eq!(co.read("a.txt"), None);
    (co, service)
}

#[test]
fn approved_elsewhere_it_runs_once_on_resume() {
    for wire in [Wire::Anthropic, Wire::Chat] {
        let (co, service) = stopped(WRITES, wire);
        let id = co.waiting().remove(0);
        let prefix = id.split_at(4).0;
        co.run(&["approvals", "yes", prefix]).check(
            0,
            "approved [REQUEST]: write 2 lines to a.txt (new file)\n",
            "change of a.txt\n  @@ -1,0 +1,2\n      1 + one\n      2 + two\nIts session is not open anywhere; continue with: co resume [SESSION]\n",
        );
        assert_eq!(co.read("a.txt"), None, "deciding runs nothing");
        co.run(&["approvals", "no", &id]).check(
            1,
            "",
            "co: error: request [REQUEST] was already approved by you (co approvals); nothing was changed\n",
        );
        co.run(&["resume"]).check(0, "Done.\n", "✓ write_file: created a.txt: 2 lines, 8 bytes\n");
        assert_eq!(co.read("a.txt").as_deref(), Some("one\ntwo\n"));
        co.run(&["resume"]).check(0, "", "co: no turn of this session is waiting; nothing to continue\n");
        co.run(&["approvals"]).check(0, "No requests are waiting for your approval.\n", "");
        service.is_content();
    }
}

#[test]
fn a_denial_tells_the_model_why() {
    let (co, service) = stopped(WRITES, Wire::Anthropic);
    let id = co.waiting().remove(0);
    co.run(&["approvals", "no", &id, "--note", "use b.txt instead"]).check(
        0,
        "denied [REQUEST]: write 2 lines to a.txt (new file)\n",
        "Its session is not open anywhere; continue with: co resume [SESSION]\n",
    );
    let ran = co.run(&["resume", "--output", "json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.json()["tool_calls"][0]["status"], "denied");
    assert!(service.asked(2).contains("use b.txt instead"));
    assert_eq!(co.read("a.txt"), None);
    service.is_content();
}

#[test]
fn undecided_it_waits_on_and_a_prompt_leaves_it_in_the_inbox() {
    let (co, service) = stopped(WRITES, Wire::Chat);
    let ran = co.run(&["resume", "--output", "json"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["end"]), (Some(4), &"deferred".into()));
    let waits = &told["waiting"][0];
    for (name, expected) in [
        ("tool", json!("write_file")),
        ("risk", json!("medium")),
        ("summary", json!("write 2 lines to a.txt (new file)")),
        ("tainted", json!(false)),
    ] {
        assert_eq!(waits[name], expected, "{name}");
    }
    assert!(waits["id"].is_string() && waits["expires"].is_string(), "{waits}");
    assert_eq!(co.waiting().len(), 1);
    let ran = co.run(&["-c", "-p", "something else"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Done.\n"));
    assert_eq!(co.waiting().len(), 1, "it stays");
    assert!(service.asked(2).contains("waiting for the user"), "{}", service.asked(2));
    // Approved now, it runs without a model and leaves a note.
    assert_eq!(co.run(&["approvals", "yes", &co.waiting()[0]]).code, Some(0));
    let ran = co.run(&["resume"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert_eq!(co.read("a.txt").as_deref(), Some("one\ntwo\n"));
    service.is_content();
}

#[test]
fn show_gives_everything_harmless() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"x\\u001b[2J\\nsecond \\u202e\\n\"} | id=w1";
    let service = Service::new(script);
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "go"]).code, Some(4));
    let id = co.waiting().remove(0);
    let ran = co.run(&["approvals", "show", &id]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for part in [
        "request  [REQUEST]\n",
        "state    waiting for your decision\n",
        "tool     write_file\n",
        "risk     medium\n",
        "folder   [HOME]/work\n",
        "  path: a.txt\n",
        "    x␛[2J\n    second <U+202E>\n",
        "change of a.txt\n",
        "    1 + x␛[2J\n",
    ] {
        assert!(ran.out.contains(part), "{part:?} is missing in\n{}", ran.out);
    }
    let listed = co.run(&["approvals", "list"]);
    assert_eq!(listed.out.lines().count(), 2, "{}", listed.out);
    let shown = co.run(&["approvals", "show", &id, "--json"]).json();
    assert_eq!(
        (&shown["tool"], &shown["risk"], &shown["state"]),
        (&"write_file".into(), &"medium".into(), &"waiting".into())
    );
}

#[test]
fn ids_that_mean_nothing_are_refused() {
    let (co, _service) = stopped(WRITES, Wire::Anthropic);
    let unknown = "co: error: no request begins with `zz`; `co approvals` lists them\n";
    co.run(&["approvals", "yes", "zz"]).check(1, "", unknown);
    co.run(&["approvals", "show", "zz"]).check(1, "", unknown);
    co.run(&["approvals", "no", ""]).check(
        1,
        "",
        "co: error: no request begins with ``; `co approvals` lists them\n",
    );
    co.run(&["resume", "zz"]).check(
        1,
        "",
        "co: error: no session begins with `zz`; `co sessions` lists them\n",
    );
    assert_eq!(co.waiting().len(), 1);
}
