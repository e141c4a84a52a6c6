//! The body for each kind of message, texts that must never be sent, and the notices after a reply.

use serde_json::{Value, json};

use super::*;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::{AssistantPart, Message, NoteKind, ReturnStatus, StopKind, StopReason, UserPart};
use crate::provider::codec_kit::{
    assistant, call, ended, image, ok, pictured, returned, returns, text, thinking, with,
};
use crate::provider::{ErrorClass, ToolChoice, ToolSchema};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("qwen3:8b", messages)
}

fn reasoned(wire: &str, model: &str) -> AssistantPart {
    with(thinking(), wire, model, json!({ "field": "thinking" }))
}

fn sent(request: &ModelRequest) -> Value {
    let http = Ollama::default().encode(request).unwrap();
    assert_eq!(http.path, "/api/chat");
    serde_json::from_slice(&http.body).unwrap()
}

fn user(content: &str) -> Value {
    json!({ "role": "user", "content": content })
}

fn called(id: &str, arguments: &Value) -> Value {
    json!({ "id": id, "function": { "name": "read_file", "arguments": arguments } })
}

fn tool(id: &str, content: &str) -> Value {
    json!({ "role": "tool", "tool_name": "read_file", "tool_call_id": id, "content": content })
}

#[test]
fn messages_are_sent_as_the_server_wants_them() {
    let hi = || Message::user("hi");
    let answered = |id: &str| returns(vec![ok(id, "A")]);
    let refused = StopReason { kind: StopKind::Refusal, raw: None, detail: Some("I cannot.".into()) };
    let extra = json!({ "call": { "x": 1 }, "function": { "y": 2 } });
    let cases: Vec<(&str, Vec<Message>, Value)> = vec![
        (
            "neighbours of one role are merged",
            vec![hi(), Message::user("there")],
            json!([user("hi\n\nthere")]),
        ),
        (
            "a note is no speech of the user's",
            vec![Message::note(NoteKind::Budget, "one reply left")],
            json!([user("[note from co: budget]\none reply left\n[end of note]")]),
        ),
        (
            "an image",
            vec![Message::User { parts: vec![UserPart::Text { text: "see".into() }, image()] }],
            json!([{ "role": "user", "content": "see", "images": ["QUJD"] }]),
        ),
        (
            "returns name their tool; arguments are objects",
            vec![
                hi(),
                assistant(vec![
                    text("I look."),
                    call("1", "a1", json!({ "path": "a" })),
                    call("2", "b1", json!("{oops")),
                ]),
                returns(vec![ok("1", ""), returned("2", ReturnStatus::Failed, "no JSON")]),
                Message::user("go on"),
            ],
            json!([
                user("hi"),
                { "role": "assistant", "content": "I look.", "tool_calls": [called("a1", &json!({ "path": "a" })), called("b1", &json!({ "unparsed_arguments": "{oops" }))] },
                tool("a1", "(no output)"),
                tool("b1", "[failed] no JSON"),
                user("go on"),
            ]),
        ),
        (
            "pictures in a return follow it",
            vec![hi(), assistant(vec![call("1", "a1", json!({}))]), returns(vec![pictured("1")])],
            json!([
                user("hi"),
                { "role": "assistant", "content": "", "tool_calls": [called("a1", &json!({}))] },
                tool("a1", "(no output)"),
                { "role": "user", "content": "[note from co: image returned by tool call a1]", "images": ["QUJD"] },
            ]),
        ),
        (
            "its own thinking goes back with calls, and only with calls",
            vec![
                hi(),
                assistant(vec![reasoned(WIRE, "qwen3:8b"), text("ok")]),
                hi(),
                assistant(vec![reasoned(WIRE, "qwen3:8b"), call("1", "a1", json!({}))]),
                answered("1"),
                assistant(vec![
                    reasoned(WIRE, "llama"),
                    reasoned("anthropic", "qwen3:8b"),
                    call("2", "a2", json!({})),
                ]),
                answered("2"),
            ],
            json!([
                user("hi"),
                { "role": "assistant", "content": "ok" },
                user("hi"),
                { "role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [called("a1", &json!({}))] },
                tool("a1", "A"),
                { "role": "assistant", "content": "", "tool_calls": [called("a2", &json!({}))] },
                tool("a2", "A"),
            ]),
        ),
        (
            "unknown fields of a call go back to their own model",
            vec![
                hi(),
                assistant(vec![with(call("1", "a1", json!({})), WIRE, "qwen3:8b", extra)]),
                answered("1"),
            ],
            json!([
                user("hi"),
                { "role": "assistant", "content": "", "tool_calls": [{ "id": "a1", "function": { "name": "read_file", "arguments": {}, "y": 2 }, "x": 1 }] },
                tool("a1", "A"),
            ]),
        ),
        (
            "a refusal without text is what was said, an empty reply is left out",
            vec![hi(), assistant(vec![]), ended(vec![], refused), Message::user("why")],
            json!([user("hi"), { "role": "assistant", "content": "I cannot." }, user("why")]),
        ),
    ];
    for (about, list, expected) in cases {
        assert_eq!(sent(&request(list))["messages"], expected, "{about}");
    }
}

#[test]
fn a_return_without_its_call_is_refused() {
    let list = vec![Message::user("hi"), returns(vec![ok("9", "x")])];
    assert_eq!(Ollama::default().encode(&request(list)).unwrap_err().class, ErrorClass::BadRequest);
}

#[test]
fn the_body_around_the_messages() {
    let mut asked = request(vec![Message::user("hi")]);
    asked.system = "Be brief.".into();
    let schema = json!({ "type": "object" });
    asked.tools =
        [ToolSchema { name: "a".into(), description: "d".into(), parameters: schema.clone() }].into();
    asked.max_output_tokens = Some(100);
    (asked.temperature, asked.top_p) = (Some(0.7), Some(0.25));
    let expected = json!({
        "model": "qwen3:8b",
        "messages": [{ "role": "system", "content": "Be brief." }, user("hi")],
        "tools": [{ "type": "function", "function": { "name": "a", "description": "d", "parameters": schema } }],
        "stream": true,
        "truncate": false,
        "shift": false,
        "options": { "num_ctx": 16_384, "num_predict": 100, "temperature": 0.7, "top_p": 0.25 },
    });
    assert_eq!(sent(&asked), expected);
    asked.tool_choice = ToolChoice::None;
    asked.profile.refuses_sampling = true;
    let body = sent(&asked);
    assert_eq!(
        (&body["tools"], &body["options"]),
        (&Value::Null, &json!({ "num_ctx": 16_384, "num_predict": 100 }))
    );
}

#[test]
fn the_context_is_always_asked_for() {
    let window = |window| Profile { window, ..Profile::default() };
    let cases = [
        (None, None, DEFAULT_NUM_CTX),
        (None, Some(40_960), 40_960),
        (Some(8_192), Some(40_960), 8_192),
        (Some(8_192), None, 8_192),
    ];
    for (set, known, expected) in cases {
        assert_eq!(Ollama::new(set).num_ctx(&window(known)), expected);
    }
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    use ThinkingLevel::{Default, High, Off, Tokens};
    use ThinkingStyle::{Always, Budget, Levels, Never, Unknown};
    let cases = [
        ("qwen3", Unknown, Default, Value::Null),
        ("qwen3", Unknown, Off, json!(false)),
        ("qwen3", Unknown, High, json!(true)),
        ("qwen3", Budget, Tokens(9_000), json!(true)),
        ("gpt-oss:20b", Unknown, High, json!("high")),
        ("gpt-oss:20b", Unknown, Off, json!("low")),
        ("x", Levels, Tokens(9_000), json!("medium")),
        ("x", Levels, Off, json!(false)),
        ("x", Always, Off, json!("low")),
        ("x", Never, High, Value::Null),
        ("x", Never, Off, Value::Null),
    ];
    for (model, style, level, expected) in cases {
        let mut asked = request(vec![Message::user("hi")]);
        (asked.model, asked.thinking, asked.profile.thinking) = (model.into(), level, style);
        assert_eq!(sent(&asked)["think"], expected, "{model} {style:?} {level:?}");
    }
}

/// A notice appears where the server truncated silently, and only there.
#[test]
fn what_was_cut_is_noticed() {
    let codec = Ollama::new(Some(4_096));
    let conversation =
        |bytes: usize| request(vec![Message::user("ab ".repeat(bytes / 3)), Message::user("go on")]);
    let usage = |input: Option<u64>, output: u64| Usage { input, output: Some(output), ..Usage::default() };
    let cases = [
        ("it fits", 8_000, usage(Some(2_000), 50), None),
        ("few bytes a token", 8_000, usage(Some(4_000), 50), None),
        ("long words", 8_000, usage(Some(1_010), 50), None),
        ("no window is known", 80_000, usage(None, 50), None),
        ("cut to the context", 80_000, usage(Some(4_096), 50), Some("read only part")),
        ("cut by whole messages", 80_000, usage(Some(40), 50), Some("read only part")),
        ("full after the answer", 12_000, usage(Some(4_000), 96), Some("fills Ollama's context")),
        ("a service with a context of its own", 80_000, usage(Some(20_000), 50), None),
    ];
    let rule = request(vec![Message::user("-".repeat(80_000))]);
    assert_eq!(codec.notice(&rule, &usage(Some(700), 50)), None, "a long line of one character");
    for (about, bytes, usage, expected) in cases {
        let notice = codec.notice(&conversation(bytes), &usage);
        match expected {
            None => assert_eq!(notice, None, "{about}"),
            Some(words) => {
                let notice = notice.unwrap_or_else(|| panic!("{about}"));
                assert!(notice.contains(words) && notice.contains("num_ctx = 4096"), "{about}: {notice}");
            }
        }
    }
}
