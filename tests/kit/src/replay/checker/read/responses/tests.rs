//! Each rule of this wire, with a valid and an invalid case.

use serde_json::json;

use super::super::super::Checker;
use super::*;
use crate::replay::parse_reply;
use co_engine::message::{
    AssistantMessage, AssistantPart, CallId, Message, Opaque, PartKind, ReturnStatus, StopKind, StopReason,
    ToolCall, ToolName, ToolReturn,
};
use co_engine::provider::openai_responses::{OpenAiResponses, WIRE};
use co_engine::provider::{ModelRequest, WireCodec};

/// Returns a checker that knows a reply with signed thinking and the call `c1`.
fn checker() -> Checker {
    let mut checker = Checker::default();
    checker.give(&parse_reply(1, "thinking Hm. | sig=s\ncall x {} | id=c1").unwrap(), 1, "m");
    checker
}

fn check(about: &str, found: Result<(), Finding>, expected: Option<&str>) {
    match (found, expected) {
        (Ok(()), None) => {}
        (Err(finding), Some(words)) => assert!(finding.to_string().contains(words), "{about}: {finding}"),
        (found, expected) => panic!("{about}: found {found:?}, expected {expected:?}"),
    }
}

#[test]
fn items_are_checked() {
    let hi = json!({ "role": "user", "content": [{ "type": "input_text", "text": "hi" }] });
    let said = json!({ "role": "assistant", "content": [{ "type": "output_text", "text": "ok" }] });
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "x", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "r" });
    let thought = |encrypted: &str| {
        json!({
            "type": "reasoning", "id": "rs_1", "encrypted_content": encrypted,
            "summary": [{ "type": "summary_text", "text": "Hm." }],
        })
    };
    let plain =
        json!({ "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "a" }] });
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed" });
    let other = json!({ "type": "reasoning", "summary": [], "encrypted_content": "t" });
    let shown = json!({ "role": "user", "content": [{ "type": "input_image", "image_url": "data:" }] });
    let orphan = Some("Item 'rs_1' of type 'reasoning' was provided without its required following item.");
    let cases = [
        (json!("hi"), None),
        (json!([hi, shown]), None),
        (json!([hi, thought("s"), call("c1"), output("c1"), said, hi]), None),
        (json!([hi, call("a"), call("b"), output("b"), output("a")]), None),
        (json!([hi, plain, search, other, said]), None),
        (json!([{ "role": "developer", "content": "x" }, hi]), None),
        (json!([]), Some("at least one message")),
        (json!(""), Some("Missing required parameter: 'input'.")),
        (json!([hi, thought("s")]), orphan),
        (json!([hi, thought("s"), hi]), orphan),
        (json!([hi, thought(""), said]), Some("Item with id 'rs_1' not found")),
        (json!([hi, call("a")]), Some("No tool output found for function call a.")),
        (json!([hi, output("a")]), Some("No tool call found for function call output with call_id a.")),
        (json!([hi, call("a"), output("a"), output("a")]), Some("answered twice")),
        (json!([hi, call("a"), output("a"), call("a"), output("a")]), Some("must be unique")),
        (json!([hi, call("a"), hi, output("a")]), Some("has no return immediately after it")),
        (json!([hi, call("c1"), output("c1")]), Some("its signature `s`")),
        (
            json!([hi, { "type": "function_call", "name": "x", "arguments": "{}" }]),
            Some("'input[1].call_id'"),
        ),
        (
            json!([hi, { "type": "function_call", "call_id": "a", "name": "x", "arguments": "{" }, output("a")]),
            Some("no JSON object"),
        ),
        (json!([hi, { "type": "function_call_output", "call_id": "a", "output": 7 }]), Some("Invalid type")),
        (
            json!([hi, { "role": "assistant", "content": [{ "type": "input_text", "text": "a" }] }]),
            Some("Invalid value: 'input_text' of 'input[1].content'. Supported values are: 'output_text'"),
        ),
        (json!([{ "role": "user", "content": [] }]), Some("empty array")),
        (json!([{ "role": "tool", "content": "r" }]), Some("Invalid value: 'tool'")),
        (json!([{ "content": "r" }]), Some("Missing required parameter: 'input[0].role'.")),
        (json!([hi, { "type": "hologram" }]), Some("Invalid value: 'hologram'")),
    ];
    for (input, expected) in cases {
        let body = json!({ "model": "m", "store": false, "input": input });
        check(&body.to_string(), checker().openai_responses(&body), expected);
    }
    check("no model", checker().openai_responses(&json!({ "input": "hi" })), Some("model"));
}

/// The program's own encoder turns a valid conversation into a valid body.
#[test]
fn encoded_conversations_pass() {
    let part = |kind, data: Value| AssistantPart { kind, opaque: Some(Opaque::new(WIRE, "m", data)) };
    let thought = json!({
        "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Hm." }], "encrypted_content": "s",
    });
    let id = CallId("1".into());
    let call = ToolCall { id: id.clone(), wire_id: "c1".into(), name: ToolName::new("x"), args: json!({}) };
    let reply = AssistantMessage {
        parts: vec![
            part(PartKind::Thinking { text: "Hm.".into() }, thought),
            AssistantPart::new(PartKind::ToolCall(call)),
        ],
        asked: String::new(),
        model: "m".into(),
        stop: StopReason::new(StopKind::ToolUse),
    };
    let returns = vec![ToolReturn::program(id, ReturnStatus::Ok, "r")];
    let messages = vec![Message::user("hi"), Message::Assistant(reply), Message::ToolReturns { returns }];
    let body = OpenAiResponses.encode(&ModelRequest::new("m", messages)).unwrap().body;
    checker().openai_responses(&serde_json::from_slice(&body).unwrap()).unwrap();
}
