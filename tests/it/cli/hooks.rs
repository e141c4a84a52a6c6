//! `co hooks`, and what hooks make of real turns: the real binary, real scripts, a model over real HTTP.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use crate::co::{Co, RunOutput, Service, Wire};

/// A hook of the person's own for these events.
fn hook(events: &str) -> String {
    format!("[[hook]]\nname = \"h\"\nevent = {events}\ncommand = [\"./h.sh\", \"--fast\"]\n")
}

/// The script of that hook.
pub fn script(co: &Co, path: &str, text: &str) {
    let path = co.home().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

const SCRIPT: &str = ".config/co/h.sh";

/// With a trusted hook that runs this script.
pub fn with(co: Co, events: &str, text: &str) -> Co {
    let co = co.file(".config/co/hooks.toml", hook(events));
    script(&co, SCRIPT, text);
    let ran = co.run(&["hooks", "trust", "--all", "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    co
}

/// The output with its hashes named.
fn shown(co: &Co, args: &[&str]) -> RunOutput {
    let RunOutput { code, out, err } = co.run(args);
    let lines = out.lines().map(|line| match line.strip_prefix("  content  ") {
        Some(_) => "  content  [HASH]\n".to_owned(),
        None => format!("{line}\n"),
    });
    RunOutput { code, out: lines.collect(), err }
}

fn states(co: &Co) -> String {
    let listed = co.run(&["hooks", "list", "--json"]).json();
    let of = |one: &serde_json::Value| {
        format!("{} {}", one["name"].as_str().unwrap(), one["state"].as_str().unwrap())
    };
    listed.as_array().unwrap().iter().map(of).collect::<Vec<_>>().join(", ")
}

/// The list of `co audit`, without times and deciders.
pub fn told_by_audit(co: &Co) -> String {
    let listed = co.run(&["audit"]).out;
    let told = |line: &str| {
        let at = line.find("untrusted the ").or_else(|| line.find("trusted the "))?;
        line.get(at..)?.split("  ").next().map(str::to_owned)
    };
    listed.lines().filter_map(told).collect::<Vec<_>>().join("\n")
}

#[test]
fn hooks_are_trusted_as_they_are_and_not_as_they_become() {
    let co = Co::new();
    co.run(&["hooks"]).check(
        0,
        "No hooks. Define them in [HOME]/.config/co/hooks.toml, or in .co/hooks.toml of a trusted folder.\n",
        "",
    );
    let co = co.file(".config/co/hooks.toml", hook("[\"PreToolUse\", \"Stop\"]"));
    script(&co, SCRIPT, "exit 0");
    co.run(&["hooks"]).check(
        0,
        "NAME  EVENT             TOOL  STATE  COMMAND\nh     PreToolUse, Stop  all   new    ./h.sh --fast\n",
        "",
    );
    let shows = "h\n  event    PreToolUse, Stop\n  command  ./h.sh --fast\n  runs     [HOME]/.config/co/./h.sh\n  timeout  10s\n  \
                 file     [HOME]/.config/co/hooks.toml:1\n  content  [HASH]\n";
    shown(&co, &["hooks", "trust", "h"]).check(
        2,
        shows,
        "co: error: no terminal to confirm on, so nothing was changed\n    `--yes` skips the confirmation\n",
    );
    assert_eq!(states(&co), "h new");
    let trusted = format!("{shows}h is trusted and runs from the next turn on.\n");
    shown(&co, &["hooks", "trust", "h", "--yes"]).check(0, &trusted, "");
    assert_eq!(states(&co), "h trusted");
    let mode = std::fs::metadata(co.data().join("trusted_hooks.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    co.run(&["hooks", "trust", "--all"]).check(0, "h is trusted already.\n", "");
    script(&co, SCRIPT, "exit 1");
    assert_eq!(states(&co), "h changed");
    script(&co, SCRIPT, "exit 0");
    assert_eq!(states(&co), "h trusted");
    co.run(&["hooks", "untrust", "h"]).check(0, "h is no longer trusted.\n", "");
    assert_eq!(states(&co), "h new");
    co.run(&["hooks", "untrust", "h"]).check(0, "h was not trusted.\n", "");
    assert_eq!(told_by_audit(&co), "trusted the hook h\nuntrusted the hook h");
    co.run(&["hooks", "trust", "g", "--yes"]).check(
        1,
        "",
        "co: error: there is no hook g\n    there are h\n",
    );
    std::fs::remove_file(co.home().join(SCRIPT)).unwrap();
    assert_eq!(states(&co), "h broken");
    co.run(&["hooks", "trust", "h", "--yes"]).check(
        1,
        "",
        "co: error: hook h cannot run: there is no program [HOME]/.config/co/./h.sh\n",
    );
}

#[test]
fn a_hook_is_tried_on_a_made_up_moment() {
    let deny = "cat > \"$CO_WORKSPACE/told\"; echo 'not \u{1b}[2J here' >&2; exit 2";
    let co = with(Co::new(), "[\"PreToolUse\", \"Stop\"]", deny);
    let tried = |args: &[&str]| {
        let RunOutput { code, out, err } = co.run(args);
        let out =
            out.lines().filter(|line| !line.starts_with("  took ")).map(|line| format!("{line}\n")).collect();
        RunOutput { code, out, err }
    };
    tried(&["hooks", "test", "h"]).check(
        0,
        "h at PreToolUse\n  verdict  deny\n  says     h: not ␛[2J here\n  exit     2\n  stderr   not ␛[2J here\n",
        "",
    );
    let told: serde_json::Value = serde_json::from_str(&co.read("told").unwrap()).unwrap();
    assert_eq!((&told["tool"], &told["tool_input"]["command"]), (&"shell".into(), &"echo hello".into()));
    let args =
        ["hooks", "test", "PreToolUse", "--tool", "write_file", "--args", "{\"path\":\"a\"}", "--json"];
    let json = co.run(&args).json();
    assert_eq!((&json[0]["verdict"], &json[0]["exit"]), (&"deny".into(), &"2".into()));
    assert_eq!(json[0]["input"]["tool_input"], serde_json::json!({"path": "a"}));
    co.run(&["hooks", "test", "SessionEnd"]).check(0, "No hook is defined for SessionEnd.\n", "");
    co.run(&["hooks", "test", "h", "--args", "5"]).check(
        2,
        "",
        "co: error: `--args` is not a JSON object: it is another type of value\n    e.g. --args '{\"command\": \"ls\"}'\n",
    );
    script(&co, SCRIPT, "sleep 1000");
    co.run(&["hooks", "test", "h"]).check(
        1,
        "",
        "co: error: hook h has changed, so it does not run\n    `co hooks trust h` trusts the new version\n",
    );
}

/// Every event of a turn, in order, and the text that the model receives of each.
#[test]
fn a_turn_passes_by_its_hooks() {
    let service = Service::new(
        "reply\n  call list_dir {}\nreply\n  call shell {\"command\":\"exit 3\"}\nreply\n  text Done.\nreply\n  text More.",
    );
    let co = Co::new().with(&service, Wire::Anthropic);
    let all = "[\"SessionStart\", \"UserPromptSubmit\", \"PreToolUse\", \"PostToolUse\", \"PostToolUseFailure\", \"PreCompact\", \"Stop\", \"SessionEnd\"]";
    let answers = "echo \"$CO_HOOK_EVENT\" >> \"$HOME/log\"
        case $CO_HOOK_EVENT in
          SessionStart) echo '{\"note\":\"the start\"}' ;;
          UserPromptSubmit) echo '{\"note\":\"the prompt\"}' ;;
          PreToolUse) echo '{\"decision\":\"allow\",\"reason\":\"fine\"}' ;;
          PostToolUse) echo '{\"note\":\"well done\"}' ;;
          PostToolUseFailure) echo 'look again' >&2; exit 2 ;;
          Stop) echo 'say more' >&2; exit 2 ;;
        esac";
    let co = with(co, all, answers);
    let ran = co.run(&["-p", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Done.\nMore.\n"), "{}", ran.err);
    let log = std::fs::read_to_string(co.home().join("log")).unwrap();
    let expected = "SessionStart\nUserPromptSubmit\nPreToolUse\nPostToolUse\nPreToolUse\nPostToolUseFailure\nStop\nSessionEnd\n";
    assert_eq!(log, expected);
    for (request, heard) in [
        (1, &["the start", "the prompt"][..]),
        (2, &["[hook: well done]"]),
        (3, &["[hook: h: look again]"]),
        (4, &["h: say more"]),
    ] {
        let asked = service.asked(request);
        for words in heard {
            assert!(asked.contains(words), "{request} {words}: {asked}");
        }
    }
    service.is_content();
}

/// A turn that was never recorded cannot be continued, so nothing is advised.
#[test]
fn a_signal_before_the_turn_says_that_nothing_was_sent() {
    let service = Service::new("reply\n  text ok");
    let co = Co::new().with(&service, Wire::Anthropic);
    let fifo = co.home().join("begun");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let co = with(co, "\"UserPromptSubmit\"", "echo > \"$HOME/begun\"; exec tail -f /dev/null");
    let child = co.start(&["-p", "hello"]);
    std::fs::read(&fifo).unwrap();
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    co.ended(child).check(130, "", "co: stopped before the turn began; nothing was sent\n");
    assert_eq!(service.server.requests().len(), 0);
}

#[test]
fn a_refused_prompt_reaches_no_model() {
    let service = Service::new("reply\n  text ok");
    let co = Co::new().with(&service, Wire::Anthropic);
    let co =
        with(co, "\"UserPromptSubmit\"", "grep -q secret && echo 'it holds a secret' >&2 && exit 2; exit 0");
    co.run(&["-p", "the secret"]).check(
        1,
        "",
        "co: error: a hook refused the prompt: h: it holds a secret\n    nothing was sent; `co hooks list` lists the hooks\n",
    );
    let json = co.run(&["-p", "the secret", "--output", "json"]).json();
    assert_eq!(json["error"]["message"], "a hook refused the prompt: h: it holds a secret");
    assert_eq!(service.server.requests().len(), 0);
    co.run(&["-p", "hello"]).check(0, "ok\n", "");
    service.is_content();
}

const WRITES: &str =
    "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"}\nreply\n  text Done.";

/// The effect of a hook on a write and on its turn: its exit code, its last words, the file afterwards.
#[test]
fn hooks_decide_calls() {
    let rewrite =
        "printf %s '{\"decision\":\"rewrite\",\"input\":{\"path\":\"b.txt\",\"content\":\"two\\n\"}}'";
    for (script, code, waits, a, asked) in [
        ("exit 0", 4, Some("write 1 line to a.txt (new file)"), None, None),
        ("echo '{\"decision\":\"allow\"}'", 0, None, Some("one\n"), None),
        ("echo 'frozen' >&2; exit 2", 0, None, None, Some("Denied by policy, not run: hook: h: frozen.")),
        (
            "echo '{\"decision\":\"defer\",\"reason\":\"not now\"}'",
            4,
            Some("write 1 line to a.txt (new file)"),
            None,
            None,
        ),
        (rewrite, 4, Some("write 1 line to b.txt (new file)"), None, None),
    ] {
        let service = Service::new(WRITES);
        let co = with(Co::new().with(&service, Wire::Anthropic), "\"PreToolUse\"", script);
        let ran = co.run(&["-p", "go"]);
        assert_eq!((ran.code, co.read("a.txt").as_deref()), (Some(code), a), "{script}: {}", ran.err);
        let listed = co.run(&["approvals", "--json"]).json();
        assert_eq!(listed[0]["summary"].as_str(), waits, "{script}: {listed}");
        if let Some(words) = asked {
            assert!(service.asked(2).contains(words), "{script}: {}", service.asked(2));
        }
    }
}

/// A hook that cannot be run is reported, and the call that it should have checked asks.
#[test]
fn hooks_that_do_not_run_are_told_and_calls_ask() {
    let reads = "reply\n  call list_dir {}\nreply\n  text Done.";
    let new = "co: hook h is new and does not run: `co hooks trust h`\n";
    let changed = "co: hook h has changed and does not run: `co hooks trust h`\n";
    type Damage = fn(&Co);
    let cases: [(&str, Damage, i32, &str, &str); 5] = [
        ("new", |co| drop(co.run(&["hooks", "untrust", "h"])), 0, new, ""),
        (
            "changed",
            |co| script(co, SCRIPT, "exit 1"),
            4,
            changed,
            "hook: hook h has changed since you trusted it and did not check this",
        ),
        (
            "gone",
            |co| std::fs::remove_file(co.home().join(SCRIPT)).unwrap(),
            4,
            "co: hook h cannot run: there is no program [HOME]/.config/co/./h.sh\n",
            "hook: hook h cannot run: there is no program [HOME]/.config/co/./h.sh",
        ),
        (
            "broken file",
            |co| std::fs::write(co.home().join(".config/co/hooks.toml"), "[[hook]]\nname = 5\n").unwrap(),
            4,
            "co: [HOME]/.config/co/hooks.toml:2: `name` must be",
            "hook: [HOME]/.config/co/hooks.toml:2: `name` must be",
        ),
        (
            "broken list",
            |co| std::fs::write(co.data().join("trusted_hooks.json"), "{").unwrap(),
            4,
            "co: [HOME]/.local/share/co/trusted_hooks.json cannot be read: EOF",
            "hook: [HOME]/.local/share/co/trusted_hooks.json cannot be read: EOF",
        ),
    ];
    for (name, spoil, code, told, why) in cases {
        let service = Service::new(reads);
        let co = with(Co::new().with(&service, Wire::Anthropic), "\"PreToolUse\"", "exit 0");
        spoil(&co);
        let ran = co.run(&["-p", "go"]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.err);
        assert!(ran.err.starts_with(told), "{name}: {}", ran.err);
        if code == 4 {
            let id = co.waiting().remove(0);
            let request = co.run(&["approvals", "show", &id]).out;
            assert!(request.contains(why), "{name}: {request}");
        }
    }
}

/// Older messages stay where a hook says so, and go where none does.
#[test]
fn a_hook_keeps_older_messages() {
    for (script, kept) in [("exit 0", false), ("echo keep >&2; exit 2", true)] {
        let summary = if kept { "" } else { "reply\n  text Greetings.\n" };
        let service = Service::new(&format!("reply\n  text One.\n{summary}reply\n  text Two."));
        let co = Co::new().with(&service, Wire::Anthropic);
        let co = with(co, "\"PreCompact\"", script);
        let first = format!("the first prompt {}", "word ".repeat(10_000));
        assert_eq!(co.run(&["-p", &first]).code, Some(0));
        let ran = co.run(&["-c", "-p", "second", "--set", "context_tokens=1000"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let asked = service.asked(if kept { 2 } else { 3 });
        assert_eq!(asked.contains("One."), kept, "{script}: {asked}");
    }
}

/// The wait at the end of a session is short.
#[test]
fn the_end_is_not_held_up() {
    let service = Service::new("reply\n  text ok");
    let co = Co::new().with(&service, Wire::Anthropic);
    let co = with(co, "\"SessionEnd\"", "sleep 1000");
    let begun = Instant::now();
    co.run(&["-p", "hi"]).check(0, "ok\n", "");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}
