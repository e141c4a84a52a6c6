//! Answers of a service and files that are wrong, and that must end well: with an exit code, with words that say what to
//! do, with nothing lost.

use kit::replay::server::{Delivery, ServerAnswer};
use serde_json::json;

use super::kit::{body, each, recording, replies, run, sent_lines, serve};
use super::terminal_state::is_harmless;
use crate::co::{Co, Service, Wire};

/// An answer of a service, what it must lead to: the exit code, what is printed, what is said on standard error.
struct Answer {
    name: &'static str,
    wire: Wire,
    answers: Vec<ServerAnswer>,
    code: i32,
    out: &'static str,
    err: &'static [&'static str],
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({:?})", self.name, self.wire)
    }
}

fn anthropic(events: &str) -> String {
    let start = json!({ "type": "message_start", "message": { "model": "m", "usage": { "input_tokens": 1, "output_tokens": 1 } } });
    format!("event: message_start\ndata: {start}\n\n{events}")
}

const BLOCK: &str = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const HELLO: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n";
const STOPPED: &str = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n";
const END: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const SSE: &str = "text/event-stream";

fn chat(text: &str, finish: &str) -> String {
    chat_of(json!({ "content": text }), finish)
}

fn chat_call(args: &str) -> String {
    let function = json!({ "name": "read_file", "arguments": args });
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": function });
    chat_of(json!({ "tool_calls": [call] }), "tool_calls")
}

fn chat_of(delta: serde_json::Value, finish: &str) -> String {
    let chunk = |delta, finish: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "id": "r", "model": "m", "choices": [choice] }))
    };
    format!("{}{}data: [DONE]\n\n", chunk(delta, None), chunk(json!({}), Some(finish)))
}

fn answers() -> Vec<Answer> {
    let case = |name, wire, answers, code, out, err| Answer { name, wire, answers, code, out, err };
    let torn = |text: String| {
        let at = text.find("hello").unwrap();
        let mut bytes = text.into_bytes();
        bytes[at + 1] = 0xff;
        bytes
    };
    let (a, c) = (Wire::Anthropic, Wire::Chat);
    let whole = anthropic(&format!("{BLOCK}{HELLO}{STOPPED}{END}"));
    let unknown = anthropic(&format!(
        "event: novelty\ndata: {{\"type\":\"novelty\",\"x\":[1]}}\n\n: a comment\n\n{BLOCK}{HELLO}{STOPPED}{}",
        END.replace("end_turn", "brand_new")
    ));
    vec![
        case("a stream that is as it should be", a, vec![body(200, SSE, whole.clone())], 0, "hello\n", &[]),
        case("text that is no UTF-8", a, vec![body(200, SSE, torn(whole.clone()))], 0, "h\u{fffd}llo\n", &[]),
        case(
            "text that is no UTF-8, chat",
            c,
            vec![body(200, SSE, torn(chat("hello", "stop")))],
            0,
            "h\u{fffd}llo\n",
            &[],
        ),
        case("events and reasons nobody knows", a, vec![body(200, SSE, unknown)], 0, "hello\n", &[]),
        case(
            "a reason nobody knows, chat",
            c,
            vec![body(200, SSE, chat("hello", "brand_new"))],
            0,
            "hello\n",
            &[],
        ),
        case(
            "no JSON in an event",
            a,
            vec![body(200, SSE, anthropic("data: {\"type\":\n\n"))],
            3,
            "",
            &["co: error: "],
        ),
        case(
            "no JSON in an event, chat",
            c,
            vec![body(200, SSE, "data: {\"choices\":\n\n")],
            3,
            "",
            &["co: error: "],
        ),
        case(
            "JSON of another kind",
            c,
            vec![body(200, SSE, "data: [1,2]\n\ndata: \"x\"\n\n")],
            3,
            "",
            &["co: error: "],
        ),
        case("nothing at all", a, vec![body(200, SSE, "")], 3, "", &["co: error: "]),
        case(
            "no end",
            a,
            vec![body(200, SSE, anthropic(&format!("{BLOCK}{HELLO}")))],
            3,
            // An incomplete reply is never written to a pipe.
            "",
            &["co: error: "],
        ),
        case(
            "a connection that breaks",
            a,
            vec![recording(200, &[("content-type", SSE)], whole.clone(), Delivery::CutAfter(250))],
            3,
            "",
            &["co: error: ", "connection"],
        ),
        case(
            "one byte at a time",
            a,
            vec![recording(200, &[("content-type", SSE)], whole.clone(), Delivery::InPieces(1))],
            0,
            "hello\n",
            &[],
        ),
        case(
            "a stream that falls silent",
            a,
            vec![recording(200, &[("content-type", SSE)], whole, Delivery::SilentAfter(250))],
            3,
            "",
            &["was silent for 1s"],
        ),
        case(
            "a server that says nothing",
            a,
            vec![recording(200, &[], "", Delivery::Silent)],
            3,
            "",
            &["was silent for 1s"],
        ),
        case(
            "a server that says nothing, chat",
            c,
            vec![recording(200, &[], "", Delivery::Silent)],
            3,
            "",
            &["was silent for 1s"],
        ),
        case(
            "a page for people",
            a,
            vec![body(200, "text/html", "<html>log in</html>")],
            3,
            "",
            &["co: error: "],
        ),
        case(
            "a page for people, as an error",
            c,
            vec![body(502, "text/html", "<html>bad gateway</html>")],
            3,
            "",
            &["502"],
        ),
        case(
            "an event without an end",
            a,
            vec![body(200, SSE, format!("data: {}", "x".repeat(17_000_000)))],
            3,
            "",
            &["more than"],
        ),
        case(
            "a redirect",
            a,
            vec![recording(302, &[("location", "http://elsewhere.example/")], "", Delivery::Whole)],
            3,
            "",
            &["redirects to http://elsewhere.example/"],
        ),
        case(
            "arguments that are no UTF-8",
            c,
            vec![
                body(200, SSE, torn(chat_call("{\"path\":\"hello\"}"))),
                replies("reply\n  text I see.\n").remove(0),
            ],
            0,
            "I see.\n",
            &["h\u{fffd}llo"],
        ),
        case(
            "calls with what no tool takes",
            a,
            replies(
                "reply\n  call read_file {\"path\":5}\n  call nothing_like_it {\"a\":1}\n  call read_file [1] | raw\n  \
                 call list_dir {\"path\": | raw\n\
                 reply\n  text I see.\n",
            ),
            0,
            "I see.\n",
            &[],
        ),
        case(
            "calls without ids, and with the same one",
            c,
            replies(
                "reply\n  call list_dir {} | id=\n  call list_dir {} | id=\n  call list_dir {} | id=x\n  call list_dir {} | id=x\n\
                 reply\n  text I see.\n",
            ),
            0,
            "I see.\n",
            &[],
        ),
    ]
}

#[test]
fn answers_that_are_wrong_end_well() {
    each(&answers(), 4, |case| {
        let Answer { wire, answers, code, out, err, .. } = case;
        let service = serve(answers.clone());
        let idle = if err.iter().any(|words| words.contains("was silent")) { "1" } else { "20" };
        let co = Co::new().with(&service, *wire).env("CO_HTTP_RETRIES", "0").env("CO_IDLE_TIMEOUT", idle);
        let ran = run(&co, &["-p", "the prompt"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(*code), *out), "{ran:?} {:?}", service.server.log());
        for words in *err {
            assert!(ran.err.contains(words), "{words:?} in {ran:?}");
        }
        if *code != 0 {
            assert!(ran.err.lines().count() >= 2, "it says what to do: {ran:?}");
        }
        is_harmless("standard error", ran.err.as_bytes());
        service.is_content();
        // Nothing of the conversation is lost.
        service.server.push(replies("reply\n  text Later.\n").remove(0));
        let next = run(&co, &["-c", "-p", "next"]);
        assert_eq!((next.code, next.out.as_str()), (Some(0), "Later.\n"), "{next:?}");
        let sent = sent_lines(&service, service.server.requests().len());
        assert!(sent[0].starts_with("user the prompt"), "{sent:#?}");
        service.is_content();
    });
}

#[test]
fn a_reply_without_end_is_ended() {
    // More than any reply may have.
    let service = Service::new(&format!("reply\n  text*1100 {}\n", json!("x".repeat(65_536))));
    let co = Co::new().with(&service, Wire::Chat).env("CO_HTTP_RETRIES", "0");
    let ran = run(&co, &["-p", "go", "--output", "json"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("longer than"), "{}", ran.err);
}

#[test]
fn files_that_are_no_text_are_told() {
    let script = "reply\n  call read_file {\"path\":\"latin.txt\"}\n  call read_file {\"path\":\"image.bin\"}\n  \
                  call search_text {\"pattern\":\"caf\"}\nreply\n  text Done.\n";
    let service = Service::new(script);
    let co = Co::new()
        .with(&service, Wire::Anthropic)
        .file("work/latin.txt", b"caf\xe9 au lait\n")
        .file("work/image.bin", b"\x89PNG\r\n\x1a\n\0\0\0\xff");
    let ran = run(&co, &["-p", "read"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Done.\n"), "{ran:?}");
    let told = sent_lines(&service, 2);
    let returns: Vec<&String> = told.iter().filter(|line| line.starts_with("return ")).collect();
    assert!(returns[1].contains("is not text"), "{returns:#?}");
    assert_eq!(returns.len(), 3, "{told:#?}");
    assert!(returns[0].contains("café au lait\n[decoded from Windows-1252"), "{returns:#?}");
    service.is_content();
}

#[test]
fn a_turn_at_its_limit_can_be_gone_on_with_as_it_says() {
    let service = Service::new("reply\n  text Half\n  stop max_tokens\nreply\n  text More.\n");
    let co = Co::new().with(&service, Wire::Chat);
    let ran = run(&co, &["-p", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "Half\n"), "{ran:?}");
    assert!(ran.err.ends_with("    the conversation is saved: co -c\n"), "{ran:?}");
    let next = run(&co, &["-c", "-p", "go on"]);
    assert_eq!((next.code, next.out.as_str()), (Some(0), "More.\n"), "{next:?}");
    assert_eq!(sent_lines(&service, 2), ["user go", "assistant Half", "user go on"]);
}
