//! Rules from the command line and in turns without a screen: what counts, what is wrong, why a call is decided.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::co::{Co, Service, Wire};

const MINE: &str = "# What I always allow.
[[rule]]
id = \"notes\"
effect = \"allow\"
tool = \"write_file\"
args.path = { inside = \"notes\" }
match = ['{\"path\":\"notes/a.md\"}']
no_match = ['{\"path\":\"notes/../a.md\"}']

[[rule]]
id = \"no-push\"
effect = \"deny\"
tool = \"shell\"
reason = \"push by hand\"
args.command = { words = [\"git\", \"push\"] }
";

const FILE: &str = ".config/co/rules.toml";

fn writes(path: &str) -> String {
    format!(
        "reply\n  call write_file {{\"path\":\"{path}\",\"content\":\"one\\n\"}} | id=w1\nreply\n  text Done."
    )
}

#[test]
fn a_rule_lets_a_call_run_and_a_mistake_makes_it_ask_again() {
    let service = Service::new(&format!("{}\n{}", writes("notes/a.md"), "reply\n  text Done."));
    let co = Co::new().with(&service, Wire::Anthropic).file(FILE, MINE);
    std::fs::create_dir(co.workspace().join("notes")).unwrap();
    co.run(&["-p", "write"]).check(0, "Done.\n", "✓ write_file: write 1 line to notes/a.md (new file)\n");
    assert_eq!(co.read("notes/a.md").as_deref(), Some("one\n"));

    let service = Service::new(&writes("notes/b.md"));
    let co = co.with(&service, Wire::Anthropic).file(FILE, format!("{MINE}[[rule]]\neffect = \"alow\"\n"));
    let ran = co.run(&["-p", "write"]);
    assert_eq!((ran.code, co.read("notes/b.md")), (Some(4), None));
    let told = "co: The rules in [HOME]/.config/co/rules.toml have an error. Until it is fixed, the last valid ones apply and everything asks.\n\n- [HOME]/.config/co/rules.toml:17: `effect` is \"allow\", \"ask\" or \"deny\"\n- [HOME]/.config/co/rules.toml:16: it names no tool; add `tool = \"…\"`, with `*` for any text\n";
    assert!(ran.err.starts_with(told), "{}", ran.err);
    let shown = co.run(&["approvals", "show", &co.waiting()[0]]).out;
    let why = "why      the rules cannot be read, so everything asks: [HOME]/.config/co/rules.toml:17: `effect` is \
               \"allow\", \"ask\" or \"deny\"\n";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn a_deny_tells_the_model_why_and_one_without_predicates_hides_the_tool() {
    let script = "reply\n  call shell {\"command\":\"git push\"} | id=s1\nreply\n  text I see.";
    let service = Service::new(script);
    let rules = format!("{MINE}[[rule]]\neffect = \"deny\"\ntool = \"edit_*\"\n");
    let co = Co::new().with(&service, Wire::Anthropic).file(FILE, rules);
    let ran = co.run(&["-p", "push"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "I see.\n"), "{}", ran.err);
    let (first, second) = (service.asked(1), service.asked(2));
    assert!(first.contains("\"write_file\"") && !first.contains("\"edit_file\""), "{first}");
    assert!(second.contains("rule no-push denies shell: push by hand"), "{second}");
    service.is_content();
}

#[test]
fn a_project_s_rules_count_in_a_trusted_folder_only() {
    for (trusted, code) in [(false, 4), (true, 0)] {
        let service = Service::new(&writes("notes/a.md"));
        let co = Co::new().with(&service, Wire::Anthropic).file("work/.co/rules.toml", MINE);
        let co = if trusted { co.trusting() } else { co };
        let ran = co.run(&["-p", "write"]);
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        let warned = ran.err.contains("co: [HOME]/work/.co/rules.toml is ignored; `co trust` enables it\n");
        assert_eq!(warned, code == 4, "{}", ran.err);
    }
}

#[test]
fn rules_are_listed_checked_and_revoked() {
    let co = Co::new();
    co.run(&["rules"]).check(0, "No rules: the mode and the sandbox decide what asks.\n", "");
    co.run(&["rules", "check"]).check(0, "0 rules, no errors.\n", "");
    let over = "\n[[rule]]\nid = \"old\"\neffect = \"allow\"\ntool = \"*\"\nexpires = 2001-01-01\n";
    let co = co
        .file(FILE, format!("{MINE}{over}"))
        .file("work/.co/rules.toml", "[[rule]]\neffect = \"ask\"\ntool = \"x\"\n");
    co.run(&["rules", "list"]).check(
        0,
        "notes    allow write_file: path inside notes\n         [HOME]/.config/co/rules.toml:2\n\
         no-push  deny shell: command `git push …`\n         [HOME]/.config/co/rules.toml:10\n\
         old      allow *; until 2001-01-01T00:00:00Z (over)\n         [HOME]/.config/co/rules.toml:17\n",
        "co: [HOME]/work/.co/rules.toml is ignored; `co trust` enables it\n",
    );
    let listed = co.run(&["rules", "--json"]).json();
    assert_eq!(
        listed[2],
        json!({
            "id": "old", "effect": "allow", "rule": "allow *; until 2001-01-01T00:00:00Z", "reason": null,
            "source": "[HOME]/.config/co/rules.toml:17", "folder": null, "expires": "2001-01-01T00:00:00Z",
            "uses": null, "over": true,
        })
    );
    co.run(&["rules", "check"]).check(0, "4 rules, no errors.\n", "");
    co.run(&["rules", "revoke", "old"]).check(0, "revoked old: allow *; until 2001-01-01T00:00:00Z\n", "");
    let path = co.home().join(FILE);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), MINE);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    co.run(&["rules", "revoke", "old"]).check(
        1,
        "",
        "co: error: there is no rule `old`; `co rules list` shows their ids\n",
    );
    let co = co.file("work/bad.toml", "[[rule]]\neffect = \"deny\"\ntoool = \"x\"\nx = \"\u{1b}[31m\"\n");
    co.run(&["rules", "check", "bad.toml"]).check(
        1,
        "[HOME]/work/bad.toml:4: this is not valid TOML: invalid basic string, expected non-double-quote visible characters, `\\`; fix the line\n",
        "co: error: 1 error in the rules\n",
    );
    co.run(&["rules", "check", "none.toml"]).check(
        1,
        "[HOME]/work/none.toml: there is no such file\n",
        "co: error: 1 error in the rules\n",
    );
}

#[test]
fn a_decision_is_explained_stage_by_stage() {
    let co = Co::new().file(FILE, MINE);
    co.run(&["rules", "explain", "write_file", "{\"path\":\"a.md\",\"content\":\"x\"}"]).check(
        0,
        "call      write_file {\"path\":\"a.md\",\"content\":\"x\"}\n\
         plan      write 1 line to a.md (new file)\n\
         risk      medium\n\
         folder    [HOME]/work\n\
         sandbox   unsandboxed, whatever the rules and modes\n\
         \n  \
           deny rules        none applies to write_file\n  \
           plan mode         it is off\n  \
           hook denies       no hook ran\n  \
           defer-all mode    it is off\n  \
           dry-run mode      it is off\n  \
           hook asks         no hook ran\n  \
           rules sound       they are\n  \
           ask rules         none applies to write_file\n  \
           question          it is not a question\n  \
           needs a person    it does not require a person\n  \
           repetition        it is not a repeated call\n  \
           untrusted text    its arguments contain none\n  \
           allow rules       notes: not so: path inside notes\n  \
           session grants    no session approval covers it\n  \
           hook allows       no hook ran\n  \
           yolo              it is off\n  \
           auto mode         it is off\n\
         → risk              asks: write_file changes something\n\
         \n  \
           ask               asks: write_file changes something\n  \
           auto              runs: auto mode edits files here without asking\n  \
           plan              denied: plan mode only reads\n  \
           dry-run           preview only: dry-run mode only previews\n  \
           defer-all         asks: defer-all mode asks about everything\n  \
           yolo              runs: yolo is on\n",
        "",
    );
    let explained = |args: &[&str]| co.run(&[&["rules", "explain", "--json"], args].concat()).json();
    let mine = explained(&["write_file", "{\"path\":\"notes/a.md\",\"content\":\"x\"}"]);
    assert_eq!(
        mine["modes"]["ask"],
        json!({
            "verdict": "allow", "risk": "medium", "because": ["rule notes allows write_file"],
            "by": {"by": "rule", "id": "notes"},
        })
    );
    let push = explained(&["shell", "{\"command\":\"git push\"}"]);
    assert_eq!(push["modes"]["yolo"]["because"], json!(["rule no-push denies shell: push by hand"]));
    assert_eq!(push["steps"].as_array().unwrap().len(), 1);
    assert_eq!(push["sandbox"], "unsandboxed");
    // No rule changes how a command is shut in, so yolo does not run it.
    let rules = "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = \"ls\"\n";
    let co = co.file(FILE, rules);
    let told = |command: &str| {
        let args = json!({"command": command}).to_string();
        let told = co.run(&["rules", "explain", "--json", "shell", &args]).json();
        (
            told["sandbox"].clone(),
            told["modes"]["ask"]["verdict"].clone(),
            told["modes"]["yolo"]["verdict"].clone(),
        )
    };
    assert_eq!(told("ls"), (json!("unsandboxed"), json!("allow"), json!("allow")));
    assert_eq!(told("ls x"), (json!("unsandboxed"), json!("ask"), json!("ask")));
}

#[test]
fn a_request_is_explained_with_what_its_session_allowed() {
    let service = Service::new(&writes("a.md"));
    let co = Co::new().with(&service, Wire::Anthropic).file(FILE, MINE);
    assert_eq!(co.run(&["-p", "write"]).code, Some(4));
    let id = co.waiting().remove(0);
    let told = co.run(&["rules", "explain", "--json", id.split_at(5).0]).json();
    assert_eq!(told["args"], json!({"path": "a.md", "content": "one\n"}));
    assert_eq!(told["modes"]["ask"]["because"], json!(["write_file changes something"]));
}

#[test]
fn what_cannot_be_explained_or_tested_says_what_to_do() {
    let co = Co::new();
    let how = "    co rules explain TOOL '{\"path\": \"a\"}', or co rules explain REQUEST\n";
    co.run(&["rules", "explain", "nothing"]).check(
        1,
        "",
        &format!("co: error: no request begins with `nothing`; `co approvals` lists them\n{how}"),
    );
    co.run(&["rules", "explain", "write_fil", "{}"]).check(
        2,
        "",
        &format!("co: error: there is no tool `write_fil`; did you mean `write_file`?\n    `co tools` lists them\n{how}"),
    );
    co.run(&["rules", "explain", "shell", "ls"]).check(
        2,
        "",
        &format!("co: error: the arguments are not valid JSON: expected value at line 1 column 1\n{how}"),
    );
    let ran = co.run(&["rules", "explain", "write_file", "{}"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.starts_with("co: error: such a call is rejected before any decision: "), "{}", ran.err);
    let how = "    co rules test FILE, or co rules test '[[rule]] …'\n";
    co.run(&["rules", "test", "nonsense"]).check(
        1,
        "",
        &format!(
            "co: error: line 1: this is not valid TOML: key with no value, expected `=`; fix the line\n{how}"
        ),
    );
    co.run(&["rules", "test", ""]).check(2, "", &format!("co: error: it contains no rule\n{how}"));
    co.run(&["rules", "test", "[[rule]]\neffect = \"ask\"\ntool = \"*\""]).check(
        0,
        "It would have matched 0 of your last 0 calls; you denied 0 of them.\n",
        "",
    );
    co.run(&["rules", "suggest", "--min", "1"]).check(
        0,
        "No call was approved 1 time or more and never denied.\n",
        "",
    );
    co.run(&["rules", "suggest", "--json"]).check(0, "[]\n", "");
}
