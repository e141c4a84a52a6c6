//! Files of hooks, the verdicts of runs, and misbehaving programs, which really run, with short limits.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::answer::verdict;
use super::command::{CommandHook, UnavailableHook, UnavailableReason, input_json};
use super::file::{HookDef, HookScope, parse};
use super::notices::HookNotices;
use super::process::{BoundedOutput, MOST_OUTPUT, ProcessResult};
use super::trust::{ContentState, PathRoots, ProgramError, TrustedContents, content};
use super::*;
use crate::message::{CallId, ReturnStatus};
use crate::sandbox::Exit;

fn in_short(def: &HookDef) -> String {
    let events: Vec<_> = def.events.iter().map(|event| event.word()).collect();
    let (tools, seconds) = (def.tools.join(","), def.timeout.as_secs());
    format!("{}:{} {} [{tools}] {} {seconds}s", def.line, def.name, events.join(","), def.command)
}

#[test]
fn files_are_read_whole_or_their_problems_told() {
    let names = "SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PostToolUseFailure, PreCompact, Stop, SessionEnd";
    let no_name = "`name` must be at most 64 letters, digits, `-`, `_` and `.`, and not the name of an event";
    let cases: Vec<(&str, String)> = vec![
        ("", String::new()),
        ("# nothing\n", String::new()),
        (
            "[[hook]]\nname = 'no-prod'\nevent = 'PreToolUse'\ntool = 'shell'\ncommand = ['./check.sh', '--fast']\ntimeout = 5",
            "1:no-prod PreToolUse [shell] ./check.sh --fast 5s".to_owned(),
        ),
        (
            "\n[[hook]]\nevent = ['Stop', 'PreToolUse', 'Stop']\ncommand = 'echo hi; exit 2'\n[[hook]]\nevent = 'Stop'\ncommand = ['/x/echo', 'a b', '']",
            "2:echo PreToolUse,Stop [] echo hi; exit 2 10s\n5:echo-2 Stop [] /x/echo \"a b\" \"\" 10s".to_owned(),
        ),
        (
            "[[hook]]\nevent = 'PostToolUse'\ntool = ['write_*', 'edit_file']\ncommand = ['!!!']",
            "1:hook PostToolUse [write_*,edit_file] !!! 10s".to_owned(),
        ),
        ("[[hook]]\nname = 'a'\nname = 'b'", "/h:3: this is not valid TOML: duplicate key".to_owned()),
        ("[[hook]", "/h:1: this is not valid TOML: unclosed array table, expected `]`".to_owned()),
        ("hook = 5", "/h:1: `hook` is written as a section [[hook]] for each hook".to_owned()),
        ("[hook]\nname = 'a'", "/h:1: `hook` is written as a section [[hook]] for each hook".to_owned()),
        ("\nhooks = 5", "/h:2: `hooks` is not allowed here; hooks are [[hook]] sections".to_owned()),
        (
            "[[hook]]",
            format!(
                "/h:1: a hook needs `event`: one of {names}, or a list of them\n/h:1: a hook needs `command`: [\"program\", \"argument\"], or a string for `sh -c`"
            ),
        ),
        (
            "[[hook]]\nevent = 'PreToolUs'\ncommand = []\ntimeout = 601\nmatcher = 'x'\nevnt = 1",
            "/h:5: `matcher` is not a field of a hook\n/h:6: `evnt` is not a field of a hook (did you mean `event`?)\n\
             /h:2: there is no event `PreToolUs`; did you mean `PreToolUse`?\n/h:3: `command` must be a string or a list of strings\n\
             /h:4: `timeout` must be a whole number of seconds from 1 to 600"
                .to_owned(),
        ),
        (
            "[[hook]]\nevent = [5]\ncommand = ' '\ntimeout = 'x'",
            "/h:2: `event` must be a string or a list of strings\n/h:3: `command` is empty, or contains a zero byte\n\
             /h:4: `timeout` must be a whole number of seconds from 1 to 600"
                .to_owned(),
        ),
        (
            "[[hook]]\nevent = 'Stop'\ntool = 'shell'\ncommand = 'x'\nname = 'a b'",
            format!("/h:5: {no_name}\n/h:3: `tool` is only for PreToolUse, PostToolUse and PostToolUseFailure"),
        ),
        ("[[hook]]\nevent = 'Stop'\ncommand = 'x'\nname = 'Stop'", format!("/h:4: {no_name}")),
        (
            "[[hook]]\nevent = 'PreToolUse'\ntool = 'a['\ncommand = ['', 'x']",
            "/h:3: `a[` is not a valid pattern: error parsing glob 'a[': unclosed character class; missing ']'\n\
             /h:4: `command` has no program, or contains a zero byte"
                .to_owned(),
        ),
        (
            "[[hook]]\nname='a'\nevent='Stop'\ncommand='x'\n[[hook]]\nname='a'\nevent='Stop'\ncommand='x'",
            "/h:5: another hook of this file is named `a` too".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        let shown = match parse(text, Path::new("/h"), HookScope::User) {
            Ok(hooks) => hooks.iter().map(in_short).collect::<Vec<_>>(),
            Err(problems) => problems.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(shown.join("\n"), expected, "{text}");
    }
    let many = "[[hook]]\nevent='Stop'\ncommand='x'\n".repeat(101);
    let problems = parse(&many, Path::new("/h"), HookScope::User).unwrap_err();
    assert_eq!(problems[0].to_string(), "/h:1: 101 hooks found; at most 100 can run");
}

fn ran(exit: io::Result<Exit>, output: &[u8], errors: &[u8]) -> ProcessResult {
    let mut kept = (BoundedOutput::at_most(MOST_OUTPUT), BoundedOutput::at_most(4096));
    kept.0.push(output);
    kept.1.push(errors);
    ProcessResult { exit, output: kept.0, errors: kept.1, took: Duration::ZERO }
}

fn said(verdict: Result<HookVerdict, super::answer::HookFailure>) -> String {
    match verdict {
        Ok(HookVerdict::Pass) => "pass".to_owned(),
        Ok(HookVerdict::Allow { reason }) => format!("allow {reason}"),
        Ok(HookVerdict::Ask { reason }) => format!("ask {reason}"),
        Ok(HookVerdict::Defer { reason }) => format!("defer {reason}"),
        Ok(HookVerdict::Deny { reason }) => format!("deny {reason}"),
        Ok(HookVerdict::Rewrite { args }) => format!("rewrite {args}"),
        Ok(HookVerdict::Note { text }) => format!("note {text}"),
        Err(trouble) => format!("it {trouble}"),
    }
}

#[test]
fn what_a_run_says() {
    use HookEvent::{PostToolUse, PreCompact, PreToolUse, SessionEnd, SessionStart, Stop, UserPromptSubmit};
    let cases: &[(HookEvent, i32, &str, &str, &str)] = &[
        (PreToolUse, 0, "", "", "pass"),
        (PreToolUse, 0, " \n", "chatter", "pass"),
        (PreToolUse, 0, "{}", "", "pass"),
        (PreToolUse, 0, r#"{"decision":"pass"}"#, "", "pass"),
        (PreToolUse, 0, r#"{"decision":"allow","reason":"fine","later":1}"#, "", "allow h: fine"),
        (PreToolUse, 0, r#"{"decision":"ask"}"#, "", "ask h gave no reason"),
        (PreToolUse, 0, r#"{"decision":"deny","reason":"no\u001b[2J\nway"}"#, "", "deny h: no␛[2J␊way"),
        (PreToolUse, 0, r#"{"decision":"defer","reason":"later"}"#, "", "defer h: later"),
        (PreToolUse, 0, r#"{"decision":"rewrite","input":{"a":1}}"#, "", r#"rewrite {"a":1}"#),
        (
            PreToolUse,
            0,
            r#"{"decision":"rewrite"}"#,
            "",
            "it printed no decision: `rewrite` needs an object as `input`",
        ),
        (
            PreToolUse,
            0,
            r#"{"decision":"rewrite","input":[1]}"#,
            "",
            "it printed no decision: `rewrite` needs an object as `input`",
        ),
        (PreToolUse, 0, r#"{"note":"it is lost"}"#, "", "pass"),
        (PreToolUse, 0, "ok", "", "it printed no decision: expected value at line 1 column 1"),
        (
            PreToolUse,
            0,
            r#"{"decision":"maybe"}"#,
            "",
            "it printed no decision: unknown variant `maybe`, expected one of `pass`, `allow`, `ask`, `defer`, `deny`, `rewrite` at line 1 column 19",
        ),
        (
            PreToolUse,
            0,
            r#"{"decision":"deny"} x"#,
            "",
            "it printed no decision: trailing characters at line 1 column 21",
        ),
        (PreToolUse, 0, "\u{ff}", "", "it printed no decision: expected value at line 1 column 1"),
        (PreToolUse, 2, "", "not in prod\n", "deny h: not in prod"),
        (PreToolUse, 2, r#"{"decision":"allow"}"#, "", "deny h gave no reason"),
        (PreToolUse, 1, r#"{"decision":"deny"}"#, "oops", "it exited with code 1 and said: oops"),
        (PreToolUse, 127, "", "", "it exited with code 127"),
        (PostToolUse, 0, r#"{"note":" two\nlines\u202e "}"#, "", "note two\nlines<U+202E>"),
        (PostToolUse, 0, r#"{"decision":"allow","note":"x"}"#, "", "note x"),
        (PostToolUse, 0, r#"{"decision":"ask"}"#, "", "it said ask, which is not valid at PostToolUse"),
        (PostToolUse, 2, "", "look again", "deny h: look again"),
        (UserPromptSubmit, 0, r#"{"decision":"deny","reason":"a secret"}"#, "", "deny h: a secret"),
        (
            UserPromptSubmit,
            0,
            r#"{"decision":"rewrite","input":{}}"#,
            "",
            "it said rewrite, which is not valid at UserPromptSubmit",
        ),
        (PreCompact, 2, "", "", "deny h gave no reason"),
        (Stop, 2, "", "run the tests", "deny h: run the tests"),
        (Stop, 0, r#"{"decision":"defer"}"#, "", "it said defer, which is not valid at Stop"),
        (SessionStart, 0, r#"{"note":"be brief"}"#, "", "note be brief"),
        (SessionStart, 2, "", "", "it said deny, which is not valid at SessionStart"),
        (SessionEnd, 0, r#"{"decision":"deny"}"#, "", "it said deny, which is not valid at SessionEnd"),
    ];
    for (event, code, output, errors, expected) in cases {
        let ran = ran(Ok(Exit::Code(*code)), output.as_bytes(), errors.as_bytes());
        assert_eq!(
            said(verdict("h", *event, Duration::from_secs(5), &ran)),
            *expected,
            "{event:?} {code} {output}"
        );
    }
    let large = vec![b' '; MOST_OUTPUT + 1];
    let others: [(io::Result<Exit>, &[u8], &str); 6] = [
        (Err(io::Error::other("no such file")), b"", "it cannot be started: no such file"),
        (Ok(Exit::TimedOut), b"{}", "it took more than 5s and was stopped"),
        (Ok(Exit::Signal(9)), b"", "it was killed by signal 9"),
        (Ok(Exit::Code(0)), b"\xff", "it printed no decision: its output is not UTF-8 text"),
        (Ok(Exit::Code(0)), &large, "it printed more than 64 KiB"),
        (Ok(Exit::Code(2)), &large, "deny h gave no reason"),
    ];
    for (exit, output, expected) in others {
        assert_eq!(said(verdict("h", PreToolUse, Duration::from_secs(5), &ran(exit, output, b""))), expected);
    }
    let long = format!(r#"{{"decision":"deny","reason":"{}"}}"#, "é".repeat(5_000));
    let short =
        said(verdict("h", PreToolUse, Duration::from_secs(5), &ran(Ok(Exit::Code(0)), long.as_bytes(), b"")));
    assert_eq!(short, format!("deny h: {}…", "é".repeat(1_000)));
}

/// A workspace with one hook that runs a script.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new(script: &str) -> Self {
        let scene = Self { dir: tempfile::tempdir().unwrap() };
        scene.write(script);
        scene
    }

    fn write(&self, script: &str) {
        let path = self.dir.path().join("hook.sh");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn at(&self) -> PathRoots {
        PathRoots { workspace: self.dir.path().to_owned(), home: Some(PathBuf::from("/home/u")) }
    }

    fn def(&self, rest: &str) -> HookDef {
        let text = format!("[[hook]]\nname = 'h'\ncommand = ['./hook.sh', 'x']\n{rest}");
        let path = self.dir.path().join(".co/hooks.toml");
        parse(&text, &path, HookScope::Project).unwrap().remove(0)
    }

    /// The current hook, trusted.
    fn hook(&self, rest: &str) -> (CommandHook, tokio::sync::mpsc::Receiver<String>) {
        let def = self.def(rest);
        let hash = content(&def, &self.at()).unwrap();
        let (notices, words) = HookNotices::new();
        let env = vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            ("HOOK_DIR".to_owned(), self.dir.path().display().to_string()),
        ];
        (CommandHook::new(def, hash, self.at(), env, Arc::new(notices)), words)
    }

    fn input(&self) -> HookInput {
        HookInput {
            session: "s".to_owned(),
            workspace: self.dir.path().to_owned(),
            subject: HookSubject::PreToolUse { call: call(json!({"command": "ls"})) },
        }
    }
}

fn call(args: Value) -> ToolCall {
    ToolCall { id: CallId("s/1.1.0".to_owned()), wire_id: "w".to_owned(), name: ToolName::new("shell"), args }
}

const PRE: &str = "event = 'PreToolUse'\ntimeout = 1";

/// Longer than any loaded machine needs, shorter than the scripts would take.
const HANG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn programs_that_behave_badly_fail_closed_and_hold_nothing_up() {
    let slow = "took more than 1s and was stopped";
    let cases: &[(&str, &str)] = &[
        (r#"printf '{"decision":"deny","reason":"%s"}' "$1""#, "deny h: x"),
        (r#"cat >/dev/null; echo "$CO_HOOK_EVENT $CO_SESSION" >&2; exit 2"#, "deny h: PreToolUse s"),
        (r#"[ "$PWD" = "$CO_WORKSPACE" ] && [ -z "$SECRET_KEY" ] && exit 2"#, "deny h gave no reason"),
        (
            r#"grep -q '"tool_input":{"command":"ls"}' || exit 1; grep -q x /dev/null; exit 2"#,
            "deny h gave no reason",
        ),
        ("sleep 1000", slow),
        ("trap '' TERM HUP INT; while :; do sleep 1000; done", slow),
        ("yes", slow),
        ("echo garbage", "printed no decision: expected value at line 1 column 1"),
        (r"printf '\377\376'", "printed no decision: its output is not UTF-8 text"),
        ("head -c 100000000 /dev/zero", "printed more than 64 KiB"),
        ("head -c 100000000 /dev/zero; echo no >&2; exit 2", "deny h: no"),
        ("head -c 100000000 /dev/zero >&2; exit 0", "pass"),
        ("exec 0<&-; exit 0", "pass"),
        ("exit 1", "exited with code 1"),
        ("kill -9 $$", "was killed by signal 9"),
        ("sleep 1000 & exit 0", "pass"),
        ("sleep 1000 & echo '{}'; exec 1>&- 2>&-; exit 2", "deny h gave no reason"),
        ("setsid sleep 3 & exit 2", "deny h gave no reason"),
        ("exec 1>&- 2>&-; sleep 1000", slow),
    ];
    for (script, expected) in cases {
        let scene = Scene::new(script);
        let (hook, mut words) = scene.hook(PRE);
        let begun = Instant::now();
        let verdict = tokio::time::timeout(HANG, hook.fire(&scene.input())).await.expect("it hangs");
        let told = words.try_recv().ok();
        let shown = match &told {
            None => said(Ok(verdict)),
            Some(text) => {
                // The decision of a hook that failed or hung is unknown, so the call asks.
                let said = HookVerdict::Ask { reason: format!("hook h failed: it {expected}") };
                assert_eq!(verdict, said, "{script}");
                text.strip_prefix("hook h ").unwrap().strip_suffix("; the call asks").unwrap().to_owned()
            }
        };
        assert_eq!(shown, *expected, "{script}");
        assert!(begun.elapsed() < HANG, "{script}");
        // The same trouble is reported once.
        if told.is_some() && *expected != slow {
            let again = hook.fire(&scene.input()).await;
            assert_eq!(again, HookVerdict::Ask { reason: format!("hook h failed: it {expected}") });
            assert!(words.try_recv().is_err(), "{script}: told twice");
            // At an event without a decision, the verdict is pass.
            let end = HookInput { subject: HookSubject::SessionEnd { reason: "quit" }, ..scene.input() };
            assert_eq!(hook.fire(&end).await, HookVerdict::Pass, "{script}");
            assert!(words.try_recv().unwrap().ends_with("; it is ignored"), "{script}");
        }
    }
}

/// A prompt far larger than a pipe's buffer, for a program that does not read it.
#[tokio::test]
async fn words_that_nobody_reads_hold_nothing_up() {
    let scene = Scene::new("exit 2");
    let (hook, _words) = scene.hook("event = 'UserPromptSubmit'");
    let subject = HookSubject::UserPromptSubmit { prompt: "x".repeat(10_000_000) };
    let input = HookInput { subject, ..scene.input() };
    let verdict = tokio::time::timeout(HANG, hook.fire(&input)).await.expect("it hangs");
    assert_eq!(said(Ok(verdict)), "deny h gave no reason");
}

/// No process of the group survives a drop or the time limit: a pipe closes with the last process.
#[tokio::test]
async fn nothing_of_a_hook_outlives_it() {
    let scene = Scene::new(r#"exec 3>"$HOOK_DIR/life"; echo up > "$HOOK_DIR/up"; sleep 1000 & sleep 1000"#);
    for name in ["life", "up"] {
        let path = scene.dir.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    let open = |name: &str| {
        let path = scene.dir.path().join(name);
        tokio::task::spawn_blocking(move || std::fs::read(path).unwrap().len())
    };
    for limit in [1, 600] {
        let (hook, _words) = scene.hook(&format!("event = 'PreToolUse'\ntimeout = {limit}"));
        let (life, up) = (open("life"), open("up"));
        let input = scene.input();
        let run = tokio::spawn(async move { hook.fire(&input).await });
        assert_eq!(tokio::time::timeout(HANG, up).await.expect("it does not start").unwrap(), 3);
        if limit == 600 {
            run.abort();
        }
        assert_eq!(tokio::time::timeout(HANG, life).await.expect("something lives on").unwrap(), 0);
    }
}

#[tokio::test]
async fn a_changed_script_is_not_run() {
    let scene = Scene::new(r#"echo ran >> "$HOOK_DIR/log"; exit 2"#);
    let (hook, mut words) = scene.hook(PRE);
    let log = || std::fs::read_to_string(scene.dir.path().join("log")).unwrap_or_default();
    assert_eq!(said(Ok(hook.fire(&scene.input()).await)), "deny h gave no reason");
    scene.write(r#"echo other >> "$HOOK_DIR/log"; exit 0"#);
    for _ in 0..2 {
        let verdict = said(Ok(hook.fire(&scene.input()).await));
        assert_eq!(verdict, "ask hook h has changed since you trusted it and did not check this");
    }
    assert_eq!(log(), "ran\n");
    assert_eq!(words.try_recv().unwrap(), "hook h has changed and does not run: `co hooks trust h`");
    assert!(words.try_recv().is_err(), "told twice");
    // An event without a decision passes.
    let end = HookInput { subject: HookSubject::SessionEnd { reason: "quit" }, ..scene.input() };
    assert_eq!(hook.fire(&end).await, HookVerdict::Pass);
}

fn state(state: &ContentState) -> String {
    match state {
        ContentState::Trusted { .. } => "trusted".to_owned(),
        ContentState::New { .. } => "new".to_owned(),
        ContentState::Changed { .. } => "changed".to_owned(),
        ContentState::Broken(broken) => format!("broken: {broken}"),
    }
}

/// Every part of a definition, and every file that its command names, is part of the trusted content.
#[test]
fn trust_is_bound_to_the_content() {
    let scene = Scene::new("exit 0");
    let folder = scene.dir.path();
    std::fs::write(folder.join("x"), "an argument that is a file").unwrap();
    std::fs::write(folder.join("check.py"), "1").unwrap();
    let list = folder.join("data/trusted.json");
    let def = scene.def(PRE);
    let mut trusted = TrustedContents::read(&list).unwrap();
    assert_eq!(state(&trusted.state(&def.file, &def.name, content(&def, &scene.at()))), "new");
    trusted.add(&def.file, &def.name, &content(&def, &scene.at()).unwrap());
    trusted.write(&list).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&list), mode(list.parent().unwrap())), (0o600, 0o700));
    let trusted = TrustedContents::read(&list).unwrap();
    let now = |def: &HookDef| state(&trusted.state(&def.file, &def.name, content(def, &scene.at())));
    assert_eq!(now(&def), "trusted");
    for changed in [
        "event = 'PreToolUse'\ntimeout = 2",
        "event = ['PreToolUse', 'Stop']\ntimeout = 1",
        "event = 'PreToolUse'\ntool = 'shell'\ntimeout = 1",
    ] {
        assert_eq!(now(&scene.def(changed)), "changed", "{changed}");
    }
    let shell = |line: &str| {
        let text = format!("[[hook]]\nname = 'h'\nevent = 'PreToolUse'\ntimeout = 1\ncommand = '{line}'");
        parse(&text, &def.file, HookScope::Project).unwrap().remove(0)
    };
    assert_eq!(now(&shell("./hook.sh x")), "changed");
    let elsewhere = HookDef { file: PathBuf::from("/other/.co/hooks.toml"), ..def.clone() };
    assert_eq!(now(&elsewhere), "new");
    let contents = |def: &HookDef| content(def, &scene.at()).unwrap();
    for (line, file) in [("python3 check.py", "check.py"), ("cd . && X=1 \"./check.py\" | cat", "check.py")] {
        let before = contents(&shell(line));
        std::fs::write(folder.join(file), line).unwrap();
        assert_ne!(contents(&shell(line)), before, "{line}");
    }
    std::fs::write(folder.join("x"), "another").unwrap();
    assert_eq!(now(&def), "changed");
    std::fs::write(folder.join("x"), "an argument that is a file").unwrap();
    assert_eq!(now(&def), "trusted");
    std::fs::set_permissions(folder.join("hook.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let shown = folder.display();
    assert_eq!(now(&def), format!("broken: {shown}/./hook.sh is not executable; `chmod +x` makes it so"));
    std::fs::remove_file(folder.join("hook.sh")).unwrap();
    assert_eq!(now(&def), format!("broken: there is no program {shown}/./hook.sh"));
    std::fs::write(&list, "{").unwrap();
    let error = TrustedContents::read(&list).unwrap_err();
    assert!(
        error.contains("trusted.json cannot be read: EOF") && error.ends_with("; move it away"),
        "{error}"
    );
}

/// Scripts run by a shell command line are hashed, or the command line is not trusted.
#[test]
fn scripts_of_texts_for_the_shell_are_part_of_the_content() {
    let scene = Scene::new("exit 0");
    let home = tempfile::tempdir().unwrap();
    let at = PathRoots { home: Some(home.path().to_owned()), ..scene.at() };
    let shell = |line: &str| HookDef {
        command: super::file::HookCommand::Shell { line: line.to_owned() },
        ..scene.def("event = 'PreToolUse'")
    };
    let outcome = |line: &str| {
        let def = shell(line);
        let write = |text: &str| {
            scene.write(text);
            std::fs::write(scene.dir.path().join("a b.sh"), text).unwrap();
            std::fs::write(home.path().join("h.sh"), text).unwrap();
        };
        write("1");
        let before = content(&def, &at);
        write("2");
        match (before, content(&def, &at)) {
            (Err(ProgramError::Unclear { word }), _) => word,
            (before, after) if before == after => "same".to_owned(),
            (_, _) => "hashed".to_owned(),
        }
    };
    for (line, expected) in [
        ("./hook.sh", "hashed"),
        ("$CO_WORKSPACE/hook.sh --fast", "hashed"),
        ("\"$CO_WORKSPACE\"/hook.sh", "hashed"),
        ("sh \"${CO_WORKSPACE}/hook.sh\"", "hashed"),
        ("X=1 $PWD/hook.sh", "hashed"),
        ("$HOME/h.sh", "hashed"),
        ("~/h.sh", "hashed"),
        ("sh './a b.sh'", "hashed"),
        ("cd \"$CO_WORKSPACE\" && ./hook.sh", "hashed"),
        ("case $x in a) ./hook.sh ;; esac", "hashed"),
        ("echo x >> \"$HOME/h.sh\"", "same"),
        ("grep -q \"$x\" && exit 2", "same"),
        ("read line; case $line in *secret*) echo no >&2; exit 2 ;; esac", "same"),
        ("x=$(jq -r .tool_input.command); [ \"$x\" = ls ] || exit 2", "same"),
        ("echo '{\"decision\":\"deny\",\"reason\":\"no\"}'", "same"),
        ("cd x && ./hook.sh", "./hook.sh"),
        ("cd && sh hook.sh", "hook.sh"),
        ("cd x && doas hook.sh", "hook.sh"),
        ("cd x && chrt 1 hook.sh", "1"),
        ("cd x; $PWD/hook.sh", "$PWD/hook.sh"),
        ("$X/hook.sh", "$X/hook.sh"),
        ("D=. ; sh $D/hook.sh", "$D/hook.sh"),
        ("\"$CMD\" x", "$CMD"),
        ("sh 2>&1 $f", "$f"),
        ("bash -c \"$f\"", "$f"),
        ("${X:-./hook.sh}", "${X:-./hook.sh}"),
        ("$(echo ./hook.sh)", "$("),
        ("$(pwd)/hook.sh", "$("),
        ("sh \"$(pwd)\"/hook.sh", "$("),
        ("echo `pwd`/hook.sh", "`"),
        ("./hoo*.sh", "./hoo*.sh"),
        ("./{hook,x}.sh", "./{hook,x}.sh"),
        ("~root/hook.sh", "~root/hook.sh"),
        ("PATH=. hook.sh", "PATH="),
        ("bash -c \"cd x && ./hook.sh\"", "./hook.sh"),
        ("\\./hook.sh", "\\./hook.sh"),
        ("./a\\ b.sh", "./a\\"),
        ("{ ./hook.sh; }", "hashed"),
        ("sh < hook.sh", "hashed"),
        ("foo ${X:- ./hook.sh}", "${X:-"),
    ] {
        assert_eq!(outcome(line), expected, "{line}");
    }
    // As a list of words.
    let list = |words: &[&str]| {
        let (program, args) = words.split_first().unwrap();
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let command = super::file::HookCommand::Program { program: (*program).to_owned(), args };
        let def = HookDef { command, ..scene.def("event = 'PreToolUse'") };
        scene.write("1");
        let before = content(&def, &at);
        scene.write("2");
        match (before, content(&def, &at)) {
            (Err(ProgramError::Unclear { word }), _) => word,
            (before, after) if before == after => "same".to_owned(),
            (_, _) => "hashed".to_owned(),
        }
    };
    for (words, expected) in [
        (&["sh", "-c", ". ./hook.sh; exit 0"][..], "hashed"),
        (&["bash", "-c", "./hook.sh --x"], "hashed"),
        (&["bash", "--norc", "-c", ". ./hook.sh"], "hashed"),
        (&["rbash", "-c", ". ./hook.sh"], "hashed"),
        (&["sh", "-c", "cd .; ./hook.sh"], "hashed"),
        (&["sh", "-c", "$CO_WORKSPACE/hook.sh"], "hashed"),
        (&["env", "sh", "-c", ". ./hook.sh"], "env"),
        (&["timeout", "5", "./hook.sh"], "timeout"),
        (&["./hook.sh", "--rules=hook.sh"], "hashed"),
        (&["check", "--rules=hook.sh"], "hashed"),
        (&["check", "-fhook.sh"], "hashed"),
        (&["python3", "hook.sh", "-m", "strict"], "hashed"),
        (&["python3", "-m", "mod"], "-m"),
        (&["python3.11", "-W", "ignore", "-m", "mod"], "-m"),
        (&["perl", "-I.", "-MMod", "x"], "-MMod"),
        (&["node20", "-e", "1"], "-e"),
        (&["python3", "-W", "hook.sh", "-m", "mod"], "-m"),
        (&["sh", "hook.sh", "-c", "x"], "hashed"),
        (&["bash", "--rcfile", "hook.sh", "-ic", "true"], "-ic"),
        (&["check", "strict"], "same"),
    ] {
        assert_eq!(list(words), expected, "{words:?}");
    }
    // A program that runs others could run any.
    for runner in [
        ".",
        "source",
        "eval",
        "xargs",
        "timeout",
        "unshare",
        "setpriv",
        "su",
        "parallel",
        "watch",
        "find",
        "env",
        "sudo",
        "busybox",
        "flock",
        "ssh",
        "trap",
        "fd",
        "setarch",
        "/lib64/ld-linux-x86-64.so.2",
    ] {
        assert_eq!(outcome(&format!("{runner} -x \"$CMD\"")), "$CMD", "{runner}");
        assert_eq!(outcome(&format!("cd x; then {runner} hook.sh")), "hook.sh", "{runner}");
        if !runner.contains('/') {
            assert_eq!(list(&[runner, "./hook.sh"]), runner);
        }
    }
    let error = content(&shell("$X"), &at).unwrap_err().to_string();
    let told = "`$X` in its command could be any program; give the program's file, or use a list of words";
    assert_eq!(error, told);
}

#[tokio::test]
async fn what_is_missing_asks() {
    let (tool, other) = (ToolName::new("shell"), ToolName::new("list_dir"));
    let file = UnavailableHook::file("/h/hooks.toml:1: bad\u{1b}");
    let changed = UnavailableReason::Changed { hash: "1".to_owned() };
    let of_shell = UnavailableHook::hook(&Scene::new("").def("event = 'PreToolUse'\ntool = 'sh*'"), &changed);
    let gone = UnavailableReason::Broken(ProgramError::NoProgram { path: "/x".into() });
    let of_stop = UnavailableHook::hook(&Scene::new("").def("event = 'Stop'"), &gone);
    for (hook, event, tool, wanted) in [
        (&file, HookEvent::PreToolUse, Some(&other), true),
        (&file, HookEvent::Stop, None, false),
        (&of_shell, HookEvent::PreToolUse, Some(&tool), true),
        (&of_shell, HookEvent::PreToolUse, Some(&other), false),
        (&of_stop, HookEvent::Stop, None, false),
        (&of_stop, HookEvent::PreToolUse, Some(&tool), false),
    ] {
        assert_eq!(hook.wants(event, tool), wanted, "{} {event:?}", hook.name());
    }
    let scene = Scene::new("");
    assert_eq!(said(Ok(file.fire(&scene.input()).await)), "ask /h/hooks.toml:1: bad␛");
    let of_shell = said(Ok(of_shell.fire(&scene.input()).await));
    assert_eq!(of_shell, "ask hook h has changed since you trusted it and did not check this");
}

#[test]
fn what_a_hook_is_told() {
    let of = |subject| input_json(&HookInput { session: "s".to_owned(), workspace: "/w".into(), subject });
    let returned = ToolReturn::program(CallId("s/1.1.0".to_owned()), ReturnStatus::Failed, "exit 1");
    let all = |event: &str, rest: Value| {
        let mut told = json!({"event": event, "session": "s", "workspace": "/w"});
        told.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        told
    };
    let args = json!({"command": "ls"});
    for (subject, expected) in [
        (HookSubject::SessionStart { source: "new" }, all("SessionStart", json!({"source": "new"}))),
        (
            HookSubject::UserPromptSubmit { prompt: "p".to_owned() },
            all("UserPromptSubmit", json!({"prompt": "p"})),
        ),
        (
            HookSubject::PreToolUse { call: call(args.clone()) },
            all("PreToolUse", json!({"tool": "shell", "call": "s/1.1.0", "tool_input": args})),
        ),
        (
            HookSubject::PreToolUse { call: call(json!("{cut")) },
            all("PreToolUse", json!({"tool": "shell", "call": "s/1.1.0", "tool_input": {}})),
        ),
        (
            HookSubject::PostToolUseFailure { call: call(args.clone()), returned },
            all(
                "PostToolUseFailure",
                json!({"tool": "shell", "call": "s/1.1.0", "tool_input": args, "tool_response": {"status": "failed", "text": "exit 1"}}),
            ),
        ),
        (HookSubject::PreCompact { messages: 3 }, all("PreCompact", json!({"messages": 3}))),
        (HookSubject::Stop { answer: "a".to_owned() }, all("Stop", json!({"answer": "a"}))),
        (HookSubject::SessionEnd { reason: "quit" }, all("SessionEnd", json!({"reason": "quit"}))),
    ] {
        assert_eq!(of(subject), expected);
    }
}
