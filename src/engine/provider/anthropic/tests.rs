//! The body for each kind of message, and texts that must never be sent.

use serde_json::{Value, json};

use super::*;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::{AssistantPart, Message, NoteKind, ReturnStatus};
use crate::provider::codec_kit::{
    assistant, call, image, native, ok, pictured, returned, returns, text, thinking, with,
};
use crate::provider::{ErrorClass, ToolChoice, ToolSchema};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("claude-x", messages)
}

fn signed(wire: &str, model: &str, signature: &str) -> AssistantPart {
    with(thinking(), wire, model, json!({ "signature": signature }))
}

fn sent(request: &ModelRequest) -> Value {
    let http = Anthropic.encode(request).unwrap();
    assert_eq!(http.path, "/v1/messages");
    serde_json::from_slice(&http.body).unwrap()
}

/// The messages as sent, without cache marks.
fn messages(list: Vec<Message>) -> Value {
    let mut body = sent(&request(list));
    for message in body["messages"].as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().shift_remove("cache_control");
        }
    }
    body["messages"].take()
}

fn user(blocks: &Value) -> Value {
    json!({ "role": "user", "content": blocks })
}

fn said(blocks: &Value) -> Value {
    json!({ "role": "assistant", "content": blocks })
}

#[test]
fn messages_are_sent_as_the_service_wants_them() {
    let t = |text: &str| json!({ "type": "text", "text": text });
    let hi = || Message::user("hi");
    let use_a = json!({ "type": "tool_use", "id": "t1", "name": "read_file", "input": { "path": "a" } });
    let result = |id: &str, text: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    let cases: Vec<(&str, Vec<Message>, Value)> = vec![
        (
            "neighbours of one role are merged",
            vec![hi(), Message::user("there")],
            json!([user(&json!([t("hi"), t("there")]))]),
        ),
        (
            "empty texts are left out",
            vec![hi(), assistant(vec![text(" ")]), Message::user("there")],
            json!([user(&json!([t("hi"), t("there")]))]),
        ),
        (
            "a note is no speech of the user's",
            vec![Message::note(NoteKind::Abort, "cut off")],
            json!([user(&json!([t("[note from co: interrupted]\ncut off\n[end of note]")]))]),
        ),
        (
            "an image",
            vec![Message::User { parts: vec![image()] }],
            json!([user(
                &json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" } }])
            )]),
        ),
        (
            "returns come in one message, before what the user says",
            vec![
                hi(),
                assistant(vec![call("1", "t1", json!({ "path": "a" })), call("2", "t2", json!({}))]),
                returns(vec![ok("1", "A"), returned("2", ReturnStatus::Denied, "no")]),
                Message::user("go on"),
            ],
            json!([
                user(&json!([t("hi")])),
                said(&json!([use_a, { "type": "tool_use", "id": "t2", "name": "read_file", "input": {} }])),
                user(&json!([
                    result("t1", "A"),
                    { "type": "tool_result", "tool_use_id": "t2", "content": "[denied] no", "is_error": true },
                    t("go on"),
                ])),
            ]),
        ),
        (
            "arguments that were no object go back as one",
            vec![hi(), assistant(vec![call("1", "t1", json!("{oops"))]), returns(vec![ok("1", "")])],
            json!([
                user(&json!([t("hi")])),
                said(
                    &json!([{ "type": "tool_use", "id": "t1", "name": "read_file", "input": { "unparsed_arguments": "{oops" } }])
                ),
                user(&json!([result("t1", "(no output)")])),
            ]),
        ),
        (
            "signed thinking goes back to its own model",
            vec![hi(), assistant(vec![signed(WIRE, "claude-x", "sig"), text("ok")])],
            json!([
                user(&json!([t("hi")])),
                said(&json!([{ "type": "thinking", "thinking": "Hm.", "signature": "sig" }, t("ok")]))
            ]),
        ),
        (
            "and to no other; without a signature to none",
            vec![
                hi(),
                assistant(vec![
                    signed(WIRE, "claude-y", "sig"),
                    signed("openai_chat", "claude-x", "sig"),
                    signed(WIRE, "claude-x", ""),
                    thinking(),
                    text("ok"),
                ]),
            ],
            json!([user(&json!([t("hi")])), said(&json!([t("ok")]))]),
        ),
        (
            "native items go back whole to their own model only",
            vec![
                hi(),
                assistant(vec![
                    with(native(), WIRE, "claude-x", json!({ "type": "redacted_thinking", "data": "x" })),
                    with(native(), WIRE, "claude-y", json!({ "type": "redacted_thinking", "data": "y" })),
                    text("ok"),
                ]),
            ],
            json!([
                user(&json!([t("hi")])),
                said(&json!([{ "type": "redacted_thinking", "data": "x" }, t("ok")]))
            ]),
        ),
        (
            "a pause leaves two replies in a row, sent as one",
            vec![hi(), assistant(vec![text("a")]), assistant(vec![text("b")])],
            json!([user(&json!([t("hi")])), said(&json!([t("a"), t("b")]))]),
        ),
        (
            "pictures in a return",
            vec![
                hi(),
                assistant(vec![call("1", "t1", json!({ "path": "a" }))]),
                returns(vec![pictured("1")]),
            ],
            json!([
                user(&json!([t("hi")])),
                said(&json!([use_a])),
                user(&json!([{
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [t("(no output)"), { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" } }],
                }])),
            ]),
        ),
    ];
    for (about, list, expected) in cases {
        assert_eq!(messages(list), expected, "{about}");
    }
}

#[test]
fn what_cannot_be_said_is_refused() {
    let orphan = returns(vec![ok("9", "x")]);
    for list in [vec![], vec![assistant(vec![text("a")])], vec![Message::user("hi"), orphan]] {
        let error = Anthropic.encode(&request(list)).unwrap_err();
        assert_eq!(error.class, ErrorClass::BadRequest);
    }
}

#[test]
fn the_body_around_the_messages() {
    let mut asked = request(vec![Message::user("hi")]);
    asked.system = "Be brief.".into();
    let schema = json!({ "type": "object" });
    asked.tools = ["a", "b"]
        .map(|name| ToolSchema { name: name.into(), description: "d".into(), parameters: schema.clone() })
        .into();
    asked.tool_choice = ToolChoice::None;
    let mark = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "claude-x",
        "max_tokens": 8192,
        "tools": [
            { "name": "a", "description": "d", "input_schema": schema },
            { "name": "b", "description": "d", "input_schema": schema, "cache_control": mark },
        ],
        "tool_choice": { "type": "none" },
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": mark }],
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "hi", "cache_control": mark }] }],
        "stream": true,
    });
    assert_eq!(sent(&asked), expected);
}

#[test]
fn levels_become_what_the_model_takes() {
    use ThinkingLevel::{Default, High, Low, Off, Tokens};
    use ThinkingStyle::{Always, Budget, Levels, Never, Unknown};
    let enabled = |budget: u32| json!({ "type": "enabled", "budget_tokens": budget });
    let (adaptive, disabled) = (json!({ "type": "adaptive" }), json!({ "type": "disabled" }));
    let effort = |effort: &str| json!({ "effort": effort });
    let none = Value::Null;
    // Model, style, level, chosen limit, known limit; then the limit, thinking and effort that are sent.
    let cases = [
        ("claude-x", Unknown, Default, None, None, 8_192, none.clone(), none.clone()),
        ("claude-x", Unknown, Off, None, None, 8_192, none.clone(), none.clone()),
        ("claude-x", Unknown, Low, None, None, 10_240, enabled(2_048), none.clone()),
        ("claude-x", Unknown, High, None, None, 32_768, enabled(24_576), none.clone()),
        ("claude-x", Unknown, High, Some(4_000), None, 4_000, enabled(3_999), none.clone()),
        ("claude-x", Unknown, High, Some(1_024), None, 1_024, none.clone(), none.clone()),
        ("claude-x", Budget, Default, None, Some(64_000), 64_000, none.clone(), none.clone()),
        ("claude-x", Budget, Tokens(9_000), None, Some(64_000), 64_000, enabled(9_000), none.clone()),
        ("claude-x", Budget, High, Some(4_000), Some(64_000), 4_000, enabled(3_999), none.clone()),
        ("claude-x", Never, High, None, Some(4_096), 4_096, none.clone(), none.clone()),
        ("claude-x", Levels, Default, None, None, 8_192, none.clone(), none.clone()),
        ("claude-x", Levels, Tokens(9_000), None, None, 8_192, adaptive.clone(), effort("medium")),
        ("claude-x", Levels, Off, None, None, 8_192, disabled.clone(), none.clone()),
        ("claude-x", Always, Off, None, None, 8_192, adaptive.clone(), effort("low")),
        ("claude-sonnet-5", Unknown, Off, None, None, 8_192, disabled, none.clone()),
        ("claude-opus-5-1", Unknown, High, None, None, 8_192, adaptive, effort("high")),
        ("claude-opus-5-1", Budget, Low, None, None, 10_240, enabled(2_048), none),
    ];
    for (model, style, level, chosen, known, max_tokens, thinking, config) in cases {
        let mut asked = request(vec![Message::user("hi")]);
        (asked.model, asked.thinking, asked.max_output_tokens) = (model.into(), level, chosen);
        (asked.profile.thinking, asked.profile.max_output) = (style, known);
        let body = sent(&asked);
        let found = (&body["max_tokens"], &body["thinking"], &body["output_config"]);
        assert_eq!(found, (&json!(max_tokens), &thinking, &config), "{model} {style:?} {level:?} {chosen:?}");
    }
}

#[test]
fn a_reply_leaves_room_for_the_prompt() {
    let mut asked = request(vec![Message::user("hi")]);
    (asked.profile.max_output, asked.profile.window) = (Some(64_000), Some(200_000));
    assert_eq!(sent(&asked)["max_tokens"], 50_000);
    asked.max_output_tokens = Some(60_000);
    assert_eq!(sent(&asked)["max_tokens"], 60_000, "what a person chose counts");
}

/// Temperature and thinking exclude each other.
#[test]
fn sampling_is_sent_only_without_thinking() {
    use ThinkingLevel::{Default, Low, Off};
    use ThinkingStyle::{Budget, Levels};
    let cases = [
        (Budget, Default, false, true),
        (Budget, Low, false, false),
        (Budget, Default, true, false),
        (Levels, Default, false, false),
        (Levels, Off, false, true),
    ];
    for (style, level, refuses_sampling, expected) in cases {
        let mut asked = request(vec![Message::user("hi")]);
        (asked.temperature, asked.top_p, asked.thinking) = (Some(0.5), Some(0.25), level);
        (asked.profile.thinking, asked.profile.refuses_sampling) = (style, refuses_sampling);
        let body = sent(&asked);
        let found = json!([body["temperature"], body["top_p"]]);
        let wanted = if expected { json!([0.5, 0.25]) } else { json!([null, null]) };
        assert_eq!(found, wanted, "{style:?} {level:?} {refuses_sampling:?}");
    }
}

#[test]
fn one_call_at_a_time_can_be_asked_for() {
    let mut asked = request(vec![Message::user("hi")]);
    asked.parallel_calls = false;
    assert_eq!(sent(&asked)["tool_choice"], Value::Null, "without tools there is nothing to choose");
    let schema = json!({ "type": "object" });
    asked.tools = [ToolSchema { name: "a".into(), description: "d".into(), parameters: schema }].into();
    assert_eq!(sent(&asked)["tool_choice"], json!({ "type": "auto", "disable_parallel_tool_use": true }));
    asked.tool_choice = ToolChoice::None;
    assert_eq!(sent(&asked)["tool_choice"], json!({ "type": "none" }));
}

#[test]
fn an_open_loop_without_signed_thinking_asks_for_none() {
    let list = |first: AssistantPart| {
        let mut asked = request(vec![
            Message::user("hi"),
            assistant(vec![first, call("1", "t1", json!({}))]),
            returns(vec![ok("1", "A")]),
        ]);
        asked.thinking = ThinkingLevel::Low;
        sent(&asked)["thinking"].clone()
    };
    assert_eq!(list(signed("other", "claude-x", "sig")), Value::Null);
    assert_eq!(list(signed(WIRE, "claude-x", "sig"))["type"], "enabled");
}

#[test]
fn a_container_goes_back() {
    let part = with(native(), WIRE, "claude-x", json!({ "container": "box_1" }));
    let body = sent(&request(vec![Message::user("hi"), assistant(vec![text("a"), part])]));
    assert_eq!(body["container"], "box_1");
    assert_eq!(body["messages"][1]["content"], json!([{ "type": "text", "text": "a" }]));
}

/// A repeated part of a conversation is sent byte for byte as before: prefix caches depend on it.
#[test]
fn a_longer_conversation_begins_with_the_shorter() {
    let all = vec![
        Message::user("hi"),
        assistant(vec![signed(WIRE, "claude-x", "sig"), call("1", "", json!({ "b": 1, "a": 2 }))]),
        returns(vec![ok("1", "A")]),
        assistant(vec![text("ok")]),
        Message::user("more"),
    ];
    let whole = messages(all.clone());
    for length in [1, 3] {
        let shorter = messages(all[..length].to_vec());
        assert_eq!(shorter.as_array().unwrap()[..], whole.as_array().unwrap()[..length]);
    }
}
