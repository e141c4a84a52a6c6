//! Every step of the format, and every error in writing it.

use std::time::Duration;

use serde_json::json;

use super::*;

fn text(text: &str) -> Step {
    Step::Text { text: text.into(), times: 1 }
}

fn call(wire_id: Option<&str>, name: &str, args: &str, ending: CallEnding) -> Step {
    Step::Call { wire_id: wire_id.map(str::to_owned), name: name.into(), args: args.into(), ending }
}

fn thinking(text: &str, signature: Option<&str>) -> Step {
    Step::Thinking { text: text.into(), signature: signature.map(str::to_owned) }
}

fn stop(kind: StopKind, raw: &str, detail: Option<&str>) -> End {
    End::Stop(StopReason { kind, raw: Some(raw.into()), detail: detail.map(str::to_owned) })
}

#[test]
fn steps_and_ends_are_read() {
    let closed = CallEnding::Closed;
    let end_turn = || stop(StopKind::EndTurn, "end_turn", None);
    let tool_use = || stop(StopKind::ToolUse, "tool_use", None);
    let cases: Vec<(&str, Vec<Step>, End)> = vec![
        ("text Hello **world**", vec![text("Hello **world**")], end_turn()),
        ("# why\n\n  text a | b", vec![text("a | b")], end_turn()),
        ("text \"a\\n \"\ntext \"quoted\" word", vec![text("a\n "), text("\"quoted\" word")], end_turn()),
        ("text*3 \"x\"", vec![Step::Text { text: "x".into(), times: 3 }], end_turn()),
        ("  text <<<\n  # one\n\n    two\n  >>>", vec![text("# one\n\n  two")], end_turn()),
        ("thinking I look. | sig=abc", vec![thinking("I look.", Some("abc"))], end_turn()),
        ("thinking | sig=abc", vec![thinking("", Some("abc"))], end_turn()),
        ("thinking a | b", vec![thinking("a | b", None)], end_turn()),
        (
            "call read_file {\"path\":\"a | b\"}",
            vec![call(None, "read_file", "{\"path\":\"a | b\"}", closed)],
            tool_use(),
        ),
        ("call list_dir", vec![call(None, "list_dir", "", closed)], tool_use()),
        ("call x {} | id=c1", vec![call(Some("c1"), "x", "{}", closed)], tool_use()),
        ("call x [1] | id=", vec![call(Some(""), "x", "[1]", closed)], tool_use()),
        ("call x {oops | raw", vec![call(None, "x", "{oops", closed)], tool_use()),
        ("call x {\"a | open\ncut", vec![call(None, "x", "{\"a", CallEnding::Open)], End::Cut),
        ("call x <<<\n{\n}\n>>>", vec![call(None, "x", "{\n}", closed)], tool_use()),
        ("native {\"type\":\"t\"}", vec![Step::Native { data: json!({"type":"t"}) }], end_turn()),
        (
            "text a\npart\ngate g\ntext b\nhang",
            vec![text("a"), Step::Part, Step::Gate { name: "g".into() }, text("b")],
            End::Hang,
        ),
        ("stop refusal I may not", vec![], stop(StopKind::Refusal, "refusal", Some("I may not"))),
        ("stop sulk", vec![], stop(StopKind::Other, "sulk", None)),
        (
            "error 429 rate_limit_error slow down | retry-after=1.5 should-retry=false",
            vec![],
            End::Error(ScriptedError {
                status: 429,
                code: "rate_limit_error".into(),
                message: "slow down".into(),
                retry_after: Some(Duration::from_millis(1500)),
                should_retry: Some(false),
            }),
        ),
    ];
    for (script, steps, end) in cases {
        let reply = parse_reply(1, script).unwrap_or_else(|error| panic!("{script}: {error}"));
        assert_eq!((reply.steps, reply.end), (steps, end), "{script}");
    }
}

#[test]
fn replies_follow_each_other() {
    let script = "reply\n  model m-1\n  usage 100 20 7\n  text a\n\nreply\n  cut\n";
    let replies = parse_replies(script).unwrap();
    let usage = Usage { input: Some(100), output: Some(20), cached_input: Some(7), ..Usage::default() };
    assert_eq!(replies.len(), 2);
    assert_eq!((replies[0].model.as_deref(), replies[0].usage), (Some("m-1"), usage));
    assert_eq!(replies[1].end, End::Cut);
}

#[test]
fn errors_name_their_line() {
    let cases = [
        ("hello", 1, "expected `reply`, found `hello`"),
        ("reply\n", 1, "an empty reply: say `text …`, `call …` or an end"),
        ("reply\n  text a\n  shout b", 3, "`shout` is not a step of a reply"),
        ("reply\n  text", 2, "nothing is said: give words, a \"string\" or `<<<`"),
        ("reply\n  text a\n\n  text <<<\n  b", 4, "`<<<` without a closing `>>>`"),
        ("reply\n  call", 2, "`call` needs a tool name"),
        ("reply\n  gate a b", 2, "`gate` needs one name without spaces"),
        ("reply\n  usage 1", 2, "`usage` needs two or three numbers: input, output, cached"),
        ("reply\n  call*2 x {}", 2, "only `text*N` repeats, N from 1 to 10000000"),
        ("reply\n  stop", 2, "`stop` needs a kind, e.g. `stop max_tokens`"),
        ("reply\n  cut\n  text a", 3, "a reply says nothing after its end (stop, error, cut, hang)"),
        (
            "reply\n  error 200 fine",
            2,
            "`error` needs a status from 400 and a code, e.g. `error 529 overloaded_error busy`",
        ),
        (
            "reply\n  error 429 x y | wait=2",
            2,
            "`wait=2`: an error takes retry-after=SECONDS and should-retry=true|false",
        ),
    ];
    for (script, line, message) in cases {
        assert_eq!(parse_replies(script), Err(ScriptError { line, message: message.into() }), "{script}");
    }
    let error = parse_reply(40, "text a\ncall x {oops").unwrap_err();
    assert_eq!(error.line, 41);
    assert!(error.message.ends_with("`| raw` sends them so"), "{error}");
}
