//! `co -p`: what is printed where, and how it ends. Over real HTTP, in both wire formats.

use crate::co::{Co, Service, Wire};

/// A script, what the command is given, and all that it says.
struct Case {
    script: &'static str,
    args: &'static [&'static str],
    stdin: &'static str,
    code: i32,
    out: &'static str,
    err: &'static str,
}

const CASES: &[Case] = &[
    Case {
        script: "reply\n  text Hello there.",
        args: &["-p", "hi"],
        stdin: "",
        code: 0,
        out: "Hello there.\n",
        err: "",
    },
    // Whatever a prompt begins with, here it is a prompt.
    Case { script: "reply\n  text ok", args: &["-p", "!ls"], stdin: "", code: 0, out: "ok\n", err: "" },
    Case {
        script: "reply\n  text ok",
        args: &["--print", "/quit"],
        stdin: "",
        code: 0,
        out: "ok\n",
        err: "",
    },
    Case { script: "reply\n  text ok", args: &[], stdin: "exit", code: 0, out: "ok\n", err: "" },
    // Nothing of a model acts on a terminal.
    Case {
        script: "reply\n  text \"\\u001b]0;title\\u0007 \\u202eabc\"",
        args: &["-p", "hi"],
        stdin: "",
        code: 0,
        out: "␛]0;title␇ <U+202E>abc\n",
        err: "",
    },
    Case {
        script: "reply\n  text I look.\n  call read_file {\"path\":\"notes.md\"}\nreply\n  text It says hi.",
        args: &["-p", "read it"],
        stdin: "",
        code: 0,
        out: "I look.\nIt says hi.\n",
        err: "✓ read_file: read notes.md\n",
    },
    Case {
        script: "reply\n  call no_such_tool {\"a\":1}\nreply\n  text Then not.",
        args: &["-p", "do it"],
        stdin: "",
        code: 0,
        out: "Then not.\n",
        err: "✗ no_such_tool failed: There is no tool `no_such_tool`. Tools: apply_patch, ask_user, copy_file, create_dir, delete_file, …\n",
    },
    Case {
        script: "reply\n  thinking Hm.\n  text Yes.",
        args: &["-p", "hi", "--verbose"],
        stdin: "",
        code: 0,
        out: "Yes.\n",
        err: "Hm.\n",
    },
    Case {
        script: "reply\n  error 401 authentication_error no such key",
        args: &["-p", "hi"],
        stdin: "",
        code: 3,
        out: "",
        err: "co: error: the key was refused: no such key (401)\n    Replace the key with /login (`co auth add` in a shell); `co config` shows where it comes from.\n",
    },
    Case {
        script: "reply\n  call list_dir {}\nreply\n  call list_dir {}",
        args: &["-p", "go on", "--set", "max_requests=1"],
        stdin: "",
        code: 6,
        out: "",
        err: "✓ list_dir: list .\nco: error: the turn reached its request limit\n    `--set max_requests=50` allows more\n    the conversation is saved: co -c\n",
    },
    Case {
        script: "",
        args: &["-p"],
        stdin: " \n",
        code: 2,
        out: "",
        err: "co: error: the prompt is empty\n    `co -p \"your prompt\"`, or pipe a text into `co -p`\n",
    },
];

#[test]
fn turns_are_printed() {
    for case in CASES {
        for wire in [Wire::Anthropic, Wire::Chat] {
            let service = Service::new(case.script);
            let co = Co::new().with(&service, wire).file("work/notes.md", "hi\n");
            let ran = co.piped(case.stdin, case.args);
            let said = (ran.code, ran.out.as_str(), ran.err.as_str());
            assert_eq!(said, (Some(case.code), case.out, case.err), "{wire:?} {:?}", case.args);
            service.is_content();
        }
    }
}

#[test]
fn piped_text_goes_behind_the_prompt() {
    let service = Service::new("reply\n  text ok");
    let co = Co::new().with(&service, Wire::Chat);
    co.piped("line one\nline two\n", &["-p", "review this"]).check(0, "ok\n", "");
    let asked = service.asked(1);
    assert!(asked.contains("review this\\n\\nline one\\nline two"), "{asked}");
}

#[test]
fn json_is_one_object_at_the_end() {
    let script = "reply\n  text Looking.\n  call read_file {\"path\":\"notes.md\"}\n  usage 20 7\nreply\n  text Done.\n  usage 30 3";
    for wire in [Wire::Anthropic, Wire::Chat] {
        let service = Service::new(script);
        let co = Co::new().with(&service, wire).file("work/notes.md", "hi\n");
        let ran = co.run(&["-p", "read", "--output", "json"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let mut told = ran.json();
        let call = &mut told["tool_calls"][0];
        assert_eq!(call["id"].take(), "[SESSION]/1.1.1");
        assert!(call["ms"].take().is_u64());
        assert_eq!(call["output"].take().as_str().map(|text| text.contains("hi")), Some(true));
        assert_eq!(
            told,
            serde_json::json!({
                "session": "[SESSION]", "end": "completed", "text": "Done.", "model": "replay",
                "tool_calls": [{"id": null, "name": "read_file", "arguments": {"path": "notes.md"},
                    "summary": "read notes.md", "status": "ok", "output": null, "ms": null}],
                "usage": {"requests": 2, "input": 50, "output": 10, "cached_input": told["usage"]["cached_input"],
                    "cache_write": told["usage"]["cache_write"], "reasoning": told["usage"]["reasoning"],
                    "cost_usd": null, "requests_of_unknown_price": 2},
                "waiting": [], "error": null,
            }),
            "{wire:?}"
        );
    }
}

#[test]
fn programs_get_json_in_failure_too() {
    let co = Co::new().env("CO_PROVIDER", "openai");
    let ran = co.run(&["-p", "hi", "--output", "json"]);
    assert_eq!(ran.code, Some(3));
    let told = ran.json();
    assert_eq!((&told["end"], &told["session"]), (&"failed".into(), &serde_json::Value::Null));
    assert!(told["error"]["message"].as_str().unwrap().contains("OPENAI_API_KEY"), "{told}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let service = Service::new(
        "reply\n  text*200 \"0123456789abcdef0123456789abcdef0123456789abcdef\\n\"\n  gate more\n  text end",
    );
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut child = co.start(&["-p", "hi"]);
    drop(child.stdout.take());
    service.server.gate().release("more");
    let ran = co.ended(child);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn a_signal_closes_the_turn_and_what_was_done_is_kept() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let service = Service::new("reply\n  text Half an\n  thinking Hm\n  hang\nreply\n  text Whole.");
        let co = Co::new().with(&service, Wire::Anthropic);
        let mut child = co.start(&["-v", "-p", "hi"]);
        // It thinks after the first words, and what it thinks comes as it is thought: the turn runs.
        let mut first = [0; 2];
        std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut first).unwrap();
        let started = std::time::Instant::now();
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args([&format!("-{signal}"), &pid])
                .status()
                .unwrap()
                .success()
        );
        let ran = co.ended(child);
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "it ends soon");
        let err = "co: stopped; all work is saved\n    continue with: co resume [SESSION]\n";
        assert_eq!((ran.code, ran.err.as_str()), (Some(code), err), "{signal}");
        co.run(&["-p", "again", "-c"]).check(0, "Whole.\n", "");
        assert!(service.asked(2).contains("Half an"), "{signal}: the partial text is kept");
    }
}

/// A signal has no worse effect than a kill: the turn resumes where it was. So does one that failed.
#[test]
fn a_turn_that_was_ended_or_failed_can_be_resumed() {
    let service = Service::new("reply\n  text Half an\n  thinking Hm\n  hang\nreply\n  text Whole.");
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut child = co.start(&["-v", "-p", "hi"]);
    std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut [0; 2]).unwrap();
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(co.ended(child).code, Some(143));
    co.run(&["resume", "--print"]).check(0, "Whole.\n", "");
    assert!(!service.asked(2).contains("Half an"), "the request is repeated");

    let service = Service::new("reply\n  error 529 overloaded_error busy\nreply\n  text Now.");
    let co = Co::new().with(&service, Wire::Anthropic).env("CO_HTTP_RETRIES", "0");
    assert_eq!(co.run(&["-p", "hi"]).code, Some(3));
    co.run(&["resume", "--print"]).check(0, "Now.\n", "");
    assert_eq!(co.run(&["resume", "--print"]).out, "");
}

#[test]
fn a_screen_needs_a_terminal() {
    let co = Co::new();
    let err = "co: error: the prompt is empty\n    `co -p \"your prompt\"`, or pipe a text into `co -p`\n";
    co.run(&[]).check(2, "", err);
    co.run(&["chat"]).check(2, "", err);
}

/// A model that was asked for and cannot be had is an error: the tour never answers in its place.
#[test]
fn a_named_model_that_no_service_offers_is_an_error() {
    let co = Co::new();
    for (model, hint) in [("gpt-5", ": `co auth add openai` saves a key for it"), ("nowhere/x", "")] {
        let err = format!(
            "co: error: no service is set up for the model `{model}`, and no server on this machine offers \
             models{hint}\n    `--model PROVIDER/NAME` names the service too; `co auth list` lists them\n"
        );
        co.run(&["--model", model, "-p", "hi"]).check(2, "", &err);
    }
}
