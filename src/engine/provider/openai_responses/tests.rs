//! The body for each kind of message, and texts that must never be sent.

use serde_json::{Value, json};

use super::output::{LATE, LATER, UNWRAPPED};
use super::*;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::{
    AssistantPart, Message, NoteKind, ReturnPart, ReturnStatus, StopKind, StopReason, ToolReturn, UserPart,
};
use crate::provider::codec_kit::{
    assistant, call, ended, image, native, ok, returned, returns, text, thinking, with,
};
use crate::provider::{ErrorClass, Profile, ToolChoice, ToolSchema};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("gpt-x", messages)
}

fn own(part: AssistantPart, data: Value) -> AssistantPart {
    with(part, WIRE, "gpt-x", data)
}

fn of(mut part: AssistantPart, wire: &str, model: &str) -> AssistantPart {
    if let Some(opaque) = &mut part.opaque {
        (opaque.wire, opaque.model) = (wire.into(), model.into());
    }
    part
}

fn item(data: Value) -> AssistantPart {
    own(native(), data)
}

/// Reasoning as received from the service, with the service's id.
fn given(encrypted: &str) -> Value {
    json!({
        "id": "rs_1", "type": "reasoning", "content": [], "encrypted_content": encrypted,
        "summary": [{ "type": "summary_text", "text": "Hm." }], "status": null,
    })
}

/// The same reasoning as sent back.
fn back(encrypted: &str) -> Value {
    json!({
        "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm." }],
        "encrypted_content": encrypted,
    })
}

fn reasoned(encrypted: &str) -> AssistantPart {
    own(thinking(), given(encrypted))
}

fn answered(id: &str) -> Message {
    returns(vec![ok(id, "r")])
}

fn sent(request: &ModelRequest) -> Value {
    let http = OpenAiResponses.encode(request).unwrap();
    assert_eq!(http.path, "/responses");
    serde_json::from_slice(&http.body).unwrap()
}

fn said(text: &str) -> Value {
    json!({ "role": "assistant", "content": [{ "type": "output_text", "text": text }] })
}

fn user(content: &Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn input_text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn function_call(id: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "read_file", "arguments": "{}" })
}

fn output(id: &str, output: &Value) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": output })
}

fn checks(cases: Vec<(&str, Vec<Message>, Value)>) {
    for (about, messages, expected) in cases {
        assert_eq!(sent(&request(messages))["input"], expected, "{about}");
    }
}

#[test]
fn messages_become_items() {
    let shown = json!({ "type": "input_image", "image_url": "data:image/png;base64,QUJD" });
    let illustrated = ToolReturn {
        content: vec![
            ReturnPart::Text { text: "look".into() },
            ReturnPart::Image { media_type: "image/png".into(), data: "QUJD".into() },
        ],
        ..ok("1", "")
    };
    checks(vec![
        (
            "a user's message, with an image",
            vec![Message::User { parts: vec![UserPart::Text { text: "a\0b".into() }, image()] }],
            json!([user(&json!([input_text("a\u{fffd}b"), shown]))]),
        ),
        (
            "empty texts are left out",
            vec![Message::user(" "), assistant(vec![text("")]), Message::user("hi")],
            json!([user(&json!([input_text("hi")]))]),
        ),
        (
            "a note is no speech of the user's",
            vec![Message::note(NoteKind::Abort, "cut off")],
            json!([user(&json!([input_text("[note from co: interrupted]\ncut off\n[end of note]")]))]),
        ),
        (
            "calls and their returns",
            vec![
                assistant(vec![
                    text("so"),
                    call("1", "c1", json!({ "path": "a", "b": 1 })),
                    call("2", "", json!("{oops")),
                ]),
                returns(vec![returned("1", ReturnStatus::Denied, "no"), ok("2", "")]),
            ],
            json!([
                said("so"),
                { "type": "function_call", "call_id": "c1", "name": "read_file", "arguments": "{\"path\":\"a\",\"b\":1}" },
                {
                    "type": "function_call", "call_id": "call_d4735e3a265e16eee03f5971",
                    "name": "read_file", "arguments": "{\"unparsed_arguments\":\"{oops\"}",
                },
                output("c1", &json!("[denied] no")),
                output("call_d4735e3a265e16eee03f5971", &json!("(no output)")),
            ]),
        ),
        (
            "a return with an image",
            vec![assistant(vec![call("1", "c1", json!({}))]), returns(vec![illustrated])],
            json!([function_call("c1"), output("c1", &json!([input_text("look"), shown]))]),
        ),
        (
            "a phase goes back with its message",
            vec![assistant(vec![own(text("first"), json!({ "phase": "commentary" })), text("then")])],
            json!([
                { "role": "assistant", "content": [{ "type": "output_text", "text": "first" }], "phase": "commentary" },
                said("then"),
            ]),
        ),
    ]);
}

#[test]
fn reasoning_goes_back_only_with_its_item() {
    let plain = json!({
        "id": "rs_2", "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }],
    });
    let plain_back = json!({
        "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }],
        "encrypted_content": null,
    });
    let search = json!({ "id": "ws_1", "type": "web_search_call", "status": "completed" });
    let calls = || call("1", "c1", json!({}));
    let loop_of = |part| vec![assistant(vec![part, calls()]), answered("1")];
    let bare = json!([function_call("c1"), output("c1", &json!("r"))]);
    let led = |item: &Value| json!([item, function_call("c1"), output("c1", &json!("r"))]);
    checks(vec![
        ("encrypted", loop_of(reasoned("x")), led(&back("x"))),
        ("in plain words", loop_of(own(thinking(), plain)), led(&plain_back)),
        ("a summary for people alone", loop_of(own(thinking(), given(""))), bare.clone()),
        ("nothing of its own", loop_of(thinking()), bare.clone()),
        ("another model's", loop_of(of(reasoned("x"), WIRE, "gpt-y")), bare.clone()),
        ("another wire's", loop_of(of(reasoned("x"), "anthropic", "gpt-x")), bare.clone()),
        ("nothing follows", vec![assistant(vec![text("a"), reasoned("x")])], json!([said("a")])),
        (
            "its item is left out",
            vec![assistant(vec![reasoned("x"), text(" "), text("b")])],
            json!([said("b")]),
        ),
        (
            "its item was another model's",
            vec![assistant(vec![reasoned("x"), of(item(search.clone()), WIRE, "gpt-y"), text("b")])],
            json!([said("b")]),
        ),
        (
            "its item held several calls",
            vec![assistant(vec![reasoned("x"), own(calls(), json!({ UNWRAPPED: true }))]), answered("1")],
            bare,
        ),
        (
            "the reply was cut off",
            vec![ended(
                vec![reasoned("x"), item(search.clone()), text("b")],
                StopReason::new(StopKind::Interrupted),
            )],
            json!([said("b")]),
        ),
        (
            "each before its own, hosted items unchanged",
            vec![assistant(vec![reasoned("x"), item(search.clone()), reasoned("y"), text("b")])],
            json!([back("x"), search, back("y"), said("b")]),
        ),
        (
            "an item that came late is in its place",
            vec![assistant(vec![
                own(thinking(), json!({ LATER: 0 })),
                text("b"),
                item(json!({ LATE: 0, "item": given("x") })),
            ])],
            json!([back("x"), said("b")]),
        ),
        (
            "or never came",
            vec![assistant(vec![own(thinking(), json!({ LATER: 0 })), text("b")])],
            json!([said("b")]),
        ),
    ]);
}

#[test]
fn a_refusal_is_remembered_in_its_words() {
    let stop = StopReason { detail: Some("I may not.".into()), ..StopReason::new(StopKind::Refusal) };
    let refused = |parts| ended(parts, stop.clone());
    checks(vec![
        ("alone", vec![refused(vec![reasoned("x")])], json!([said("I may not.")])),
        ("after text", vec![refused(vec![text("Well.")])], json!([said("Well.")])),
    ]);
}

#[test]
fn a_return_needs_its_call() {
    let error = OpenAiResponses.encode(&request(vec![answered("1")])).unwrap_err();
    assert_eq!(error.class, ErrorClass::BadRequest);
}

#[test]
fn bodies_hold_what_is_asked_for() {
    let hi = || request(vec![Message::user("hi")]);
    let plain = json!({
        "model": "gpt-x", "input": [user(&json!([input_text("hi")]))],
        "store": false, "include": ["reasoning.encrypted_content"], "stream": true,
    });
    assert_eq!(sent(&hi()), plain);
    let mut full = hi();
    full.system = "Be brief.".into();
    full.tools = [
        ToolSchema {
            name: "now".into(),
            description: "The time.".into(),
            parameters: json!({ "type": "object" }),
        },
        ToolSchema {
            name: "read".into(),
            description: String::new(),
            parameters: json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] }),
        },
    ]
    .into();
    full.tool_choice = ToolChoice::None;
    full.parallel_calls = false;
    full.max_output_tokens = Some(100);
    full.thinking = ThinkingLevel::High;
    (full.temperature, full.top_p) = (Some(0.7), Some(0.95));
    full.cache_key = Some("session".into());
    let read =
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let expected = json!({
        "model": "gpt-x",
        "instructions": "Be brief.",
        "input": [user(&json!([input_text("hi")]))],
        "tools": [
            {
                "type": "function", "name": "now", "description": "The time.",
                "parameters": { "type": "object", "properties": {} }, "strict": false,
            },
            { "type": "function", "name": "read", "description": "", "parameters": read, "strict": false },
        ],
        "tool_choice": "none",
        "parallel_tool_calls": false,
        "max_output_tokens": 100,
        "reasoning": { "effort": "high", "summary": "auto" },
        "temperature": 0.7,
        "top_p": 0.95,
        "prompt_cache_key": "session",
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "stream": true,
    });
    assert_eq!(sent(&full), expected);
    full.profile = Profile { refuses_sampling: true, thinking: ThinkingStyle::Never, ..Profile::default() };
    let fixed = sent(&full);
    for key in ["temperature", "top_p", "reasoning", "include"] {
        assert_eq!(fixed.get(key), None, "{key}");
    }
}

#[test]
fn thinking_is_asked_for_where_it_can_be() {
    use ThinkingLevel::{Default, High, Low, Medium, Off, Tokens};
    use ThinkingStyle::{Always, Budget, Levels, Never, Unknown};
    let cases = [
        ("gpt-x", Unknown, Default, None),
        ("gpt-x", Unknown, Off, None),
        ("gpt-x", Unknown, Low, Some("low")),
        ("gpt-x", Unknown, Tokens(20_000), Some("high")),
        ("gpt-x", Never, High, None),
        ("gpt-5.1", Levels, Default, None),
        ("gpt-5.1", Levels, Off, Some("none")),
        ("gpt-5.1", Levels, Medium, Some("medium")),
        ("claude-x", Budget, Off, None),
        ("claude-x", Budget, Tokens(2_000), Some("low")),
        ("o3", Always, Off, Some("low")),
        ("o3", Always, Default, None),
        ("gpt-5", Always, Off, Some("minimal")),
        ("openai/gpt-5-mini", Always, Off, Some("minimal")),
        ("gpt-5-codex", Always, Off, Some("low")),
        ("gpt-5-pro", Always, Off, None),
    ];
    for (model, style, level, effort) in cases {
        let mut asked = ModelRequest::new(model, vec![Message::user("hi")]);
        (asked.thinking, asked.profile.thinking) = (level, style);
        let expected = effort.map(|effort| json!({ "effort": effort, "summary": "auto" }));
        assert_eq!(sent(&asked).get("reasoning"), expected.as_ref(), "{model} {style:?} {level:?}");
    }
}

/// A longer conversation begins with the items of the shorter: the service caches by prefix.
#[test]
fn a_growing_conversation_keeps_its_beginning() {
    let all = [
        Message::user("hi"),
        assistant(vec![reasoned("x"), call("1", "c1", json!({}))]),
        answered("1"),
        assistant(vec![text("ok")]),
        Message::user("more"),
    ];
    let mut before = Vec::new();
    for length in [1, 3, 5] {
        let items = sent(&request(all[..length].to_vec()))["input"].as_array().unwrap().clone();
        assert!(items.starts_with(&before), "{length}");
        before = items;
    }
}
