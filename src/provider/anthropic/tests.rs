//! What is sent for each kind of message, and what must never be sent.

use serde_json::{Value, json};

use super::*;
use crate::message::{
    AssistantMessage, AssistantPart, CallId, Message, NoteKind, Opaque, PartKind, ReturnPart, ReturnStatus,
    StopKind, StopReason, ToolCall, ToolName, ToolReturn, UserPart,
};
use crate::provider::{ErrorClass, ThinkingLevel, ToolChoice, ToolSchema};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        model: "claude-x".into(),
        system: String::new(),
        messages,
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        thinking: ThinkingLevel::Default,
    }
}

fn assistant(parts: Vec<AssistantPart>) -> Message {
    Message::Assistant(AssistantMessage {
        parts,
        model: "claude-x".into(),
        stop: StopReason::new(StopKind::EndTurn),
    })
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::new(PartKind::Text { text: text.into() })
}

fn call(id: &str, wire_id: &str, args: Value) -> AssistantPart {
    AssistantPart::new(PartKind::ToolCall(ToolCall {
        id: CallId(id.into()),
        wire_id: wire_id.into(),
        name: ToolName::new("read_file"),
        args,
    }))
}

fn with(mut part: AssistantPart, wire: &str, model: &str, data: Value) -> AssistantPart {
    part.opaque = Some(Opaque { wire: wire.into(), model: model.into(), data });
    part
}

fn thinking(wire: &str, model: &str, signature: &str) -> AssistantPart {
    let part = AssistantPart::new(PartKind::Thinking { text: "Hm.".into() });
    with(part, wire, model, json!({ "signature": signature }))
}

fn returned(id: &str, status: ReturnStatus, text: &str) -> ToolReturn {
    ToolReturn::program(CallId(id.into()), status, text)
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
            vec![Message::User {
                parts: vec![UserPart::Image { media_type: "image/png".into(), data: "QUJD".into() }],
            }],
            json!([user(
                &json!([{ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" } }])
            )]),
        ),
        (
            "returns come in one message, before what the user says",
            vec![
                hi(),
                assistant(vec![call("1", "t1", json!({ "path": "a" })), call("2", "t2", json!({}))]),
                Message::ToolReturns {
                    returns: vec![
                        returned("1", ReturnStatus::Ok, "A"),
                        returned("2", ReturnStatus::Denied, "no"),
                    ],
                },
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
            vec![
                hi(),
                assistant(vec![call("1", "t1", json!("{oops"))]),
                Message::ToolReturns { returns: vec![returned("1", ReturnStatus::Ok, "")] },
            ],
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
            vec![hi(), assistant(vec![thinking(WIRE, "claude-x", "sig"), text("ok")])],
            json!([
                user(&json!([t("hi")])),
                said(&json!([{ "type": "thinking", "thinking": "Hm.", "signature": "sig" }, t("ok")]))
            ]),
        ),
        (
            "and to nobody else; without a signature to nobody",
            vec![
                hi(),
                assistant(vec![
                    thinking(WIRE, "claude-y", "sig"),
                    thinking("openai_chat", "claude-x", "sig"),
                    thinking(WIRE, "claude-x", ""),
                    AssistantPart::new(PartKind::Thinking { text: "Hm.".into() }),
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
                    with(
                        AssistantPart::new(PartKind::Native),
                        WIRE,
                        "claude-x",
                        json!({ "type": "redacted_thinking", "data": "x" }),
                    ),
                    with(
                        AssistantPart::new(PartKind::Native),
                        WIRE,
                        "claude-y",
                        json!({ "type": "redacted_thinking", "data": "y" }),
                    ),
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
                Message::ToolReturns {
                    returns: vec![ToolReturn {
                        content: vec![ReturnPart::Image {
                            media_type: "image/png".into(),
                            data: "QUJD".into(),
                        }],
                        ..returned("1", ReturnStatus::Ok, "")
                    }],
                },
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
    let orphan = Message::ToolReturns { returns: vec![returned("9", ReturnStatus::Ok, "x")] };
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
        .to_vec();
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
fn levels_become_budgets_that_fit() {
    let enabled = |budget: u32| json!({ "type": "enabled", "budget_tokens": budget });
    let cases = [
        ("claude-x", ThinkingLevel::Default, None, 8_192, Value::Null, Value::Null),
        ("claude-x", ThinkingLevel::Off, None, 8_192, Value::Null, Value::Null),
        ("claude-sonnet-5", ThinkingLevel::Off, None, 8_192, json!({ "type": "disabled" }), Value::Null),
        ("claude-x", ThinkingLevel::Low, None, 10_240, enabled(2_048), Value::Null),
        ("claude-x", ThinkingLevel::High, None, 32_768, enabled(24_576), Value::Null),
        ("claude-x", ThinkingLevel::High, Some(4_000), 4_000, enabled(3_999), Value::Null),
        ("claude-x", ThinkingLevel::High, Some(1_024), 1_024, Value::Null, Value::Null),
        (
            "claude-opus-5-1",
            ThinkingLevel::High,
            None,
            8_192,
            json!({ "type": "adaptive" }),
            json!({ "effort": "high" }),
        ),
    ];
    for (model, level, limit, max_tokens, thinking, config) in cases {
        let mut asked = request(vec![Message::user("hi")]);
        (asked.model, asked.thinking, asked.max_output_tokens) = (model.into(), level, limit);
        let body = sent(&asked);
        let found = (&body["max_tokens"], &body["thinking"], &body["output_config"]);
        assert_eq!(found, (&json!(max_tokens), &thinking, &config), "{model} {level:?} {limit:?}");
    }
}

#[test]
fn an_open_loop_without_signed_thinking_asks_for_none() {
    let list = |first: AssistantPart| {
        let mut asked = request(vec![
            Message::user("hi"),
            assistant(vec![first, call("1", "t1", json!({}))]),
            Message::ToolReturns { returns: vec![returned("1", ReturnStatus::Ok, "A")] },
        ]);
        asked.thinking = ThinkingLevel::Low;
        sent(&asked)["thinking"].clone()
    };
    assert_eq!(list(thinking("other", "claude-x", "sig")), Value::Null);
    assert_eq!(list(thinking(WIRE, "claude-x", "sig"))["type"], "enabled");
}

#[test]
fn a_container_goes_back() {
    let part = with(AssistantPart::new(PartKind::Native), WIRE, "claude-x", json!({ "container": "box_1" }));
    let body = sent(&request(vec![Message::user("hi"), assistant(vec![text("a"), part])]));
    assert_eq!(body["container"], "box_1");
    assert_eq!(body["messages"][1]["content"], json!([{ "type": "text", "text": "a" }]));
}

/// What was sent before is sent again byte for byte: only then do prefix caches hold.
#[test]
fn a_longer_conversation_begins_with_the_shorter() {
    let all = vec![
        Message::user("hi"),
        assistant(vec![thinking(WIRE, "claude-x", "sig"), call("1", "", json!({ "b": 1, "a": 2 }))]),
        Message::ToolReturns { returns: vec![returned("1", ReturnStatus::Ok, "A")] },
        assistant(vec![text("ok")]),
        Message::user("more"),
    ];
    let whole = messages(all.clone());
    for length in [1, 3] {
        let shorter = messages(all[..length].to_vec());
        assert_eq!(shorter.as_array().unwrap()[..], whole.as_array().unwrap()[..length]);
    }
}
