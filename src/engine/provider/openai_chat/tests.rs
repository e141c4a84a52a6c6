//! The body for each kind of message, and texts that must never be sent.

use serde_json::{Value, json};

use super::*;
use crate::config::ThinkingLevel;
use crate::message::{AssistantPart, Message, NoteKind, ReturnStatus, StopKind, StopReason, UserPart};
use crate::provider::codec_kit::{
    assistant, call, ended, image, native, ok, pictured, returned, returns, text, thinking, with,
};
use crate::provider::{ErrorClass, ToolChoice, ToolSchema};

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("gpt-x", messages)
}

fn reasoned(wire: &str, model: &str) -> AssistantPart {
    with(thinking(), wire, model, json!({ "field": "reasoning_content" }))
}

fn sent(request: &ModelRequest, quirks: Quirks) -> Value {
    let http = OpenAiChat::new(quirks).encode(request).unwrap();
    assert_eq!(http.path, "/chat/completions");
    serde_json::from_slice(&http.body).unwrap()
}

fn messages(list: Vec<Message>) -> Value {
    sent(&request(list), Quirks::COMPATIBLE)["messages"].take()
}

fn said(content: &str) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn user(content: &str) -> Value {
    json!({ "role": "user", "content": content })
}

fn called(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "read_file", "arguments": arguments } })
}

#[test]
fn messages_are_sent_as_the_service_wants_them() {
    let hi = || Message::user("hi");
    let shown = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } });
    let details = json!([{ "type": "reasoning.text", "text": "a", "signature": "s" }]);
    let details_of = |model: &str| with(native(), WIRE, model, json!({ "reasoning_details": details }));
    let extra = json!({ "extra_content": { "google": { "thought_signature": "s" } } });
    let mut call_with_extra = called("a1", "{}");
    call_with_extra["extra_content"] = extra["extra_content"].clone();
    let refused = StopReason { kind: StopKind::Refusal, raw: None, detail: Some("I cannot.".into()) };
    let tool = |id: &str, content: &str| json!({ "role": "tool", "tool_call_id": id, "content": content });
    let answered = |id: &str| returns(vec![ok(id, "A")]);
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
            json!([{ "role": "user", "content": [{ "type": "text", "text": "see" }, shown] }]),
        ),
        (
            "one message per return, in order, then what the user says",
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
                { "role": "assistant", "content": "I look.", "tool_calls": [called("a1", "{\"path\":\"a\"}"), called("b1", "{\"unparsed_arguments\":\"{oops\"}")] },
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
                { "role": "assistant", "content": "", "tool_calls": [called("a1", "{}")] },
                tool("a1", "(no output)"),
                { "role": "user", "content": [{ "type": "text", "text": "[note from co: image returned by tool call a1]" }, shown] },
            ]),
        ),
        (
            "thinking goes back with calls where its own model demands it",
            vec![hi(), assistant(vec![reasoned(WIRE, "gpt-x"), call("1", "a1", json!({}))]), answered("1")],
            json!([
                user("hi"),
                { "role": "assistant", "content": "", "reasoning_content": "Hm.", "tool_calls": [called("a1", "{}")] },
                tool("a1", "A"),
            ]),
        ),
        (
            "not without calls, and to no other model",
            vec![
                hi(),
                assistant(vec![reasoned(WIRE, "gpt-x"), text("ok")]),
                assistant(vec![
                    reasoned(WIRE, "gpt-y"),
                    reasoned("anthropic", "gpt-x"),
                    call("1", "a1", json!({})),
                ]),
                answered("1"),
            ],
            json!([
                user("hi"),
                said("ok"),
                { "role": "assistant", "content": "", "tool_calls": [called("a1", "{}")] },
                tool("a1", "A"),
            ]),
        ),
        (
            "reasoning details go back to their own model",
            vec![
                hi(),
                assistant(vec![text("a"), details_of("gpt-x")]),
                Message::user("b"),
                assistant(vec![text("c"), details_of("gpt-y")]),
            ],
            json!([user("hi"), { "role": "assistant", "content": "a", "reasoning_details": details }, user("b"), said("c")]),
        ),
        (
            "so do unknown fields of a call",
            vec![
                hi(),
                assistant(vec![with(call("1", "a1", json!({})), WIRE, "gpt-x", extra)]),
                answered("1"),
            ],
            json!([user("hi"), { "role": "assistant", "content": "", "tool_calls": [call_with_extra] }, tool("a1", "A")]),
        ),
        (
            "a refusal without text is what was said",
            vec![hi(), ended(vec![], refused), Message::user("why")],
            json!([user("hi"), said("I cannot."), user("why")]),
        ),
        (
            "an empty reply is left out",
            vec![hi(), assistant(vec![]), Message::user("there")],
            json!([user("hi\n\nthere")]),
        ),
    ];
    for (about, list, expected) in cases {
        assert_eq!(messages(list), expected, "{about}");
    }
}

#[test]
fn a_return_without_its_call_is_refused() {
    let list = vec![Message::user("hi"), returns(vec![ok("9", "x")])];
    let error = OpenAiChat::new(Quirks::OPENAI).encode(&request(list)).unwrap_err();
    assert_eq!(error.class, ErrorClass::BadRequest);
}

#[test]
fn the_body_around_the_messages() {
    let mut asked = request(vec![Message::user("hi")]);
    asked.system = "Be brief.".into();
    let schema = json!({ "type": "object" });
    asked.tools =
        [ToolSchema { name: "a".into(), description: "d".into(), parameters: schema.clone() }].into();
    asked.tool_choice = ToolChoice::None;
    asked.max_output_tokens = Some(100);
    asked.thinking = ThinkingLevel::Low;
    let expected = |limit: &str| {
        json!({
            "model": "gpt-x",
            "messages": [{ "role": "system", "content": "Be brief." }, user("hi")],
            "tools": [{ "type": "function", "function": { "name": "a", "description": "d", "parameters": schema } }],
            "tool_choice": "none",
            limit: 100,
            "reasoning_effort": "low",
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    };
    let mut of_openai = expected("max_completion_tokens");
    of_openai["store"] = json!(false);
    assert_eq!(sent(&asked, Quirks::OPENAI), of_openai);
    assert_eq!(sent(&asked, Quirks::COMPATIBLE), expected("max_tokens"));
    let bare =
        Quirks { usage: UsageOption::Silent, reasoning: ReasoningStyle::Unsupported, ..Quirks::COMPATIBLE };
    let body = sent(&asked, bare);
    assert!(body.get("stream_options").is_none() && body.get("reasoning_effort").is_none());
}

#[test]
fn no_effort_is_asked_only_of_models_that_know_it() {
    for (model, expected) in
        [("gpt-5.2", json!("none")), ("gpt-5-mini", json!("minimal")), ("llama3", Value::Null)]
    {
        let mut asked = request(vec![Message::user("hi")]);
        (asked.model, asked.thinking) = (model.into(), ThinkingLevel::Off);
        assert_eq!(sent(&asked, Quirks::OPENAI)["reasoning_effort"], expected, "{model}");
    }
}
