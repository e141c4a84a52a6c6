//! Each rule in the program's own form and in the bodies of the wires, with a valid and an invalid case.

use serde_json::{Value, json};

use super::*;
use crate::replay::parse_reply;
use crate::replay::tests::request;
use co_engine::message::{
    AssistantMessage, AssistantPart, CallId, Message, Opaque, PartKind, ReturnStatus, StopReason, ToolCall,
    ToolName, ToolReturn,
};
use co_engine::provider::WireCodec;
use co_engine::provider::anthropic::Anthropic;
use co_engine::provider::ollama::Ollama;
use co_engine::provider::openai_chat::{OpenAiChat, Quirks};

fn reply(parts: Vec<AssistantPart>, kind: StopKind) -> Message {
    Message::Assistant(AssistantMessage {
        parts,
        asked: String::new(),
        model: "m".into(),
        stop: StopReason::new(kind),
    })
}

fn assistant(parts: Vec<AssistantPart>) -> Message {
    reply(parts, StopKind::ToolUse)
}

fn text() -> AssistantPart {
    AssistantPart::new(PartKind::Text { text: "ok".into() })
}

fn call(id: &str) -> AssistantPart {
    AssistantPart::new(PartKind::ToolCall(ToolCall {
        id: CallId(id.into()),
        wire_id: id.into(),
        name: ToolName::new("x"),
        args: json!({}),
    }))
}

fn thinking(signature: Option<&str>) -> AssistantPart {
    AssistantPart {
        kind: PartKind::Thinking { text: "Hm.".into() },
        opaque: signature.map(|signature| Opaque::new("anthropic", "m", json!({ "signature": signature }))),
    }
}

fn returns(ids: &[&str]) -> Message {
    let returns = ids.iter().map(|id| ToolReturn::program(CallId((*id).into()), ReturnStatus::Ok, "r"));
    Message::ToolReturns { returns: returns.collect() }
}

fn checker() -> Checker {
    let mut checker = Checker::default();
    checker.give(&parse_reply(1, "thinking Hm. | sig=s\ncall x {} | id=c1").unwrap(), 1, "m");
    checker
}

#[test]
fn conversations_are_checked() {
    let hi = || Message::user("hi");
    let cases: Vec<(Vec<Message>, Option<&str>)> = vec![
        (vec![hi()], None),
        (vec![hi(), hi()], None),
        (vec![hi(), assistant(vec![call("a"), call("b")]), returns(&["a", "b"]), hi()], None),
        (vec![hi(), assistant(vec![thinking(Some("s")), call("c1")]), returns(&["c1"])], None),
        (vec![hi(), reply(vec![text()], StopKind::PauseTurn)], None),
        (vec![], Some("at least one message")),
        (vec![assistant(vec![text()]), hi()], Some("the first message must be the user's")),
        (
            vec![hi(), reply(vec![text()], StopKind::EndTurn)],
            Some("the last message must not be the assistant's"),
        ),
        (vec![hi(), assistant(vec![call("a")]), hi()], Some("`a` has no return immediately after it")),
        (vec![hi(), assistant(vec![call("a")])], Some("must not be the assistant's")),
        (vec![hi(), assistant(vec![call("a"), call("b")]), returns(&["a"])], Some("`b` has no return")),
        (
            vec![hi(), assistant(vec![call("a"), call("b")]), returns(&["b", "a"])],
            Some("order of their calls"),
        ),
        (vec![hi(), returns(&["a"])], Some("which is no call of the reply before it")),
        (vec![hi(), assistant(vec![call("a")]), returns(&["a"]), returns(&["a"])], Some("which is no call")),
        (vec![hi(), assistant(vec![call("a")]), returns(&["a", "a"])], Some("answered twice")),
        (
            vec![
                hi(),
                assistant(vec![call("a")]),
                returns(&["a"]),
                assistant(vec![call("a")]),
                returns(&["a"]),
            ],
            Some("must be unique"),
        ),
        (
            vec![hi(), assistant(vec![thinking(None), call("c1")]), returns(&["c1"])],
            Some("its signature `s`"),
        ),
        (vec![hi(), assistant(vec![call("c1")]), returns(&["c1"])], Some("its signature `s`")),
        (vec![hi(), assistant(vec![thinking(None), text()]), hi()], Some("its signature `s`")),
    ];
    for (messages, expected) in cases {
        let found = checker().request(&request(messages.clone()));
        check(&format!("{messages:?}"), found, expected);
    }
}

fn check(about: &str, found: Result<(), Finding>, expected: Option<&str>) {
    match (found, expected) {
        (Ok(()), None) => {}
        (Err(finding), Some(words)) => assert!(finding.to_string().contains(words), "{about}: {finding}"),
        (found, expected) => panic!("{about}: found {found:?}, expected {expected:?}"),
    }
}

#[test]
fn another_model_need_not_send_signatures() {
    let mut asked = request(vec![Message::user("hi"), assistant(vec![call("c1")]), returns(&["c1"])]);
    asked.model = "other".into();
    assert_eq!(checker().request(&asked), Ok(()));
}

/// The program's own encoders turn a valid conversation into valid bodies.
#[test]
fn encoded_conversations_pass() {
    let good = request(vec![
        Message::user("hi"),
        assistant(vec![thinking(Some("s")), call("c1")]),
        returns(&["c1"]),
        reply(vec![text()], StopKind::EndTurn),
        Message::user("more"),
    ]);
    let body = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    checker().anthropic(&body(&Anthropic.encode(&good).unwrap().body)).unwrap();
    let plain = Checker::default();
    plain.openai_chat(&body(&OpenAiChat::new(Quirks::OPENAI).encode(&good).unwrap().body)).unwrap();
    plain.ollama(&body(&Ollama::default().encode(&good).unwrap().body)).unwrap();
}

#[test]
fn bodies_are_checked() {
    let t = json!({ "type": "text", "text": "hi" });
    let hi = json!({ "role": "user", "content": [t] });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "x", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "r" });
    let said = |blocks: Value| json!({ "role": "assistant", "content": blocks });
    let user = |blocks: Value| json!({ "role": "user", "content": blocks });
    let anthropic = [
        (json!([hi, said(json!([call("a")])), user(json!([result("a"), t]))]), None),
        (json!([hi, said(json!([call("a"), call("b")])), user(json!([result("b"), result("a")]))]), None),
        (
            json!([hi, said(json!([call("a")])), user(json!([t, result("a")]))]),
            Some("must come before anything else"),
        ),
        (json!([hi, said(json!([call("a")])), hi]), Some("has no return")),
        (json!([hi, said(json!([call("a/b")])), hi]), Some("no valid id")),
        (
            json!([hi, said(json!([{ "type": "tool_use", "id": "a", "name": "x", "input": "{}" }]))]),
            Some("should be an object"),
        ),
        (json!([hi, said(json!([{ "type": "text", "text": " " }])), hi]), Some("must be non-empty")),
        (json!([hi, said(json!([])), hi]), Some("content must not be empty")),
        (
            json!([hi, said(json!([{ "type": "thinking", "thinking": "a", "signature": "" }, t])), hi]),
            Some("Field required"),
        ),
        (json!([{ "role": "system", "content": "x" }, hi]), Some("neither user nor assistant")),
        (json!([hi, said(json!([call("c1")])), user(json!([result("c1")]))]), Some("its signature `s`")),
    ];
    for (messages, expected) in anthropic {
        let body = json!({ "model": "m", "max_tokens": 9, "messages": messages });
        check(&body.to_string(), checker().anthropic(&body), expected);
    }
    check("no limit", checker().anthropic(&json!({ "model": "m", "messages": [hi] })), Some("max_tokens"));
    let chat_call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "x", "arguments": arguments } });
    let chat_said = |calls: Value| json!({ "role": "assistant", "content": "", "tool_calls": calls });
    let tool = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "r" });
    let system = json!({ "role": "system", "content": "s" });
    let chat = [
        (json!([system, hi, chat_said(json!([chat_call("a", "{}")])), tool("a")]), None),
        (json!([hi, chat_said(json!([chat_call("a", "{}")])), hi]), Some("has no return")),
        (json!([hi, chat_said(json!([chat_call("a", "{")])), tool("a")]), Some("are no JSON object")),
        (json!([hi, tool("a")]), Some("which is no call")),
        (json!([hi, chat_said(json!([])), hi]), Some("has content or tool calls")),
        (json!([hi, system]), Some("does not belong here")),
    ];
    for (messages, expected) in chat {
        let body = json!({ "model": "m", "messages": messages });
        check(&body.to_string(), checker().openai_chat(&body), expected);
    }
}

#[test]
fn ollama_bodies_are_checked() {
    let hi = json!({ "role": "user", "content": "hi" });
    let call = |id: &str| json!({ "id": id, "function": { "name": "x", "arguments": {} } });
    let bare = json!({ "function": { "name": "x", "arguments": {} } });
    let said = |calls: Value| json!({ "role": "assistant", "content": "", "tool_calls": calls });
    let tool = |id: &str| json!({ "role": "tool", "tool_name": "x", "tool_call_id": id, "content": "r" });
    let unnamed = json!({ "role": "tool", "tool_name": "x", "content": "r" });
    let cases = [
        (json!([hi, said(json!([call("a"), call("b")])), tool("b"), tool("a"), hi]), None),
        (json!([hi, said(json!([bare, bare])), unnamed, unnamed]), None),
        (json!([hi, said(json!([bare, bare])), unnamed, hi]), Some("has no return")),
        (json!([hi, said(json!([call("a")])), hi]), Some("has no return")),
        (json!([hi, said(json!([bare])), unnamed, unnamed]), Some("which is no call")),
        (json!([hi, { "role": "tool", "content": "r" }]), Some("names its tool")),
        (json!([unnamed]), Some("without a call before it")),
        (
            json!([hi, said(json!([{ "function": { "name": "x", "arguments": "{}" } }]))]),
            Some("are no object"),
        ),
        (
            json!([{ "role": "user", "content": [{ "type": "text", "text": "hi" }] }]),
            Some("must be a string"),
        ),
        (
            json!([{ "role": "user", "content": "", "images": ["data:image/png;base64,QUJD"] }]),
            Some("base64"),
        ),
    ];
    for (messages, expected) in cases {
        let body = json!({ "model": "m", "messages": messages });
        check(&body.to_string(), Checker::default().ollama(&body), expected);
    }
    let think = json!({ "model": "m", "messages": [hi], "think": "most" });
    check("a level nobody knows", Checker::default().ollama(&think), Some("invalid think value"));
}

/// Errors in a Gemini body, worded like the service's.
#[test]
fn gemini_bodies_are_checked() {
    let user = |parts: Value| json!({ "role": "user", "parts": parts });
    let model = |parts: Value| json!({ "role": "model", "parts": parts });
    let hi = || user(json!([{ "text": "hi" }]));
    let called = |name: &str| json!({ "functionCall": { "name": name, "args": {} } });
    let signed =
        |name: &str| json!({ "functionCall": { "name": name, "args": {} }, "thoughtSignature": "s" });
    let answer = |name: &str| json!({ "functionResponse": { "name": name, "response": {} } });
    let cases: Vec<(&str, Value, Option<&str>)> = vec![
        ("m", json!([hi()]), None),
        (
            "m",
            json!([hi(), model(json!([called("f"), called("g")])), user(json!([answer("f"), answer("g")]))]),
            None,
        ),
        (
            "gemini-3-pro",
            json!([
                hi(),
                model(json!([signed("f"), called("g")])),
                user(json!([answer("f"), answer("g")])),
                model(json!([signed("f")])),
                user(json!([answer("f")]))
            ]),
            None,
        ),
        ("gemini-2.5-pro", json!([hi(), model(json!([called("f")])), user(json!([answer("f")]))]), None),
        (
            "gemini-3-pro",
            json!([hi(), model(json!([called("f"), signed("g")])), user(json!([answer("f"), answer("g")]))]),
            Some("Function call is missing a thought_signature in functionCall parts."),
        ),
        ("m", json!([]), Some("contents are required")),
        ("m", json!([user(json!([]))]), Some("must not be empty")),
        ("m", json!([user(json!([{}]))]), Some("required oneof field 'data'")),
        (
            "m",
            json!([user(json!([{ "text": "a", "functionCall": {} }]))]),
            Some("required oneof field 'data'"),
        ),
        ("m", json!([{ "role": "assistant", "parts": [{ "text": "a" }] }]), Some("valid role: user, model")),
        ("m", json!([model(json!([{ "text": "a" }])), hi()]), Some("the first message must be the user's")),
        (
            "m",
            json!([hi(), model(json!([{ "text": "a" }]))]),
            Some("the last message must not be the assistant's"),
        ),
        (
            "m",
            json!([hi(), user(json!([answer("f")]))]),
            Some("function response turn comes immediately after"),
        ),
        (
            "m",
            json!([hi(), model(json!([called("f")])), hi()]),
            Some("number of function response parts is equal"),
        ),
        (
            "m",
            json!([hi(), model(json!([called("f"), called("g")])), user(json!([answer("f")]))]),
            Some("number of function response parts"),
        ),
        (
            "m",
            json!([hi(), model(json!([called("f"), called("g")])), user(json!([answer("g"), answer("f")]))]),
            Some("a response to `g` stands where the one to `f` belongs"),
        ),
        (
            "m",
            json!([hi(), model(json!([called("1f")])), user(json!([answer("1f")]))]),
            Some("Invalid function name"),
        ),
        (
            "m",
            json!([
                hi(),
                model(json!([{ "functionCall": { "name": "f", "args": "x" } }])),
                user(json!([answer("f")]))
            ]),
            Some("an object is required"),
        ),
    ];
    for (model, contents, expected) in cases {
        check(
            &contents.to_string(),
            Checker::default().gemini(model, &json!({ "contents": contents })),
            expected,
        );
    }
    let schemas = [
        (json!({ "type": "STRING" }), None),
        (
            json!({ "type": "STRING", "const": "a" }),
            Some(
                "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.",
            ),
        ),
        (json!({ "$ref": "#/$defs/x" }), Some("Unknown name \"$ref\"")),
        (
            json!({ "type": "OBJECT", "additionalProperties": false }),
            Some("Unknown name \"additionalProperties\""),
        ),
        (json!({ "type": "ARRAY" }), Some("items: missing field.")),
        (json!({ "type": "INTEGER", "enum": ["1"] }), Some("only allowed for STRING type")),
        (json!({ "type": "STRING", "format": "uri" }), Some("only 'enum' and 'date-time'")),
        (json!({ "type": ["string", "null"] }), Some("type: must be specified")),
        (json!({ "type": "OBJECT", "properties": {}, "required": ["x"] }), Some("property is not defined")),
        (
            json!({ "anyOf": [{ "type": "STRING" }], "description": "d" }),
            Some("it must be the only field set"),
        ),
    ];
    for (schema, expected) in schemas {
        let parameters = json!({ "type": "OBJECT", "properties": { "p": schema } });
        let tools = json!([{ "functionDeclarations": [{ "name": "f", "parameters": parameters }] }]);
        let body = json!({ "tools": tools, "contents": [hi()] });
        check(&body.to_string(), Checker::default().gemini("m", &body), expected);
    }
}

/// Whatever a tool's schema contains, its declaration is accepted.
#[test]
fn gemini_takes_what_becomes_of_any_schema() {
    let schemas = [
        json!({ "$schema": "x", "type": "object", "properties": {}, "additionalProperties": false }),
        json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } }, "required": ["a", "b"], "$defs": { "a": { "oneOf": [{ "const": 1 }, { "const": "b" }, { "type": "null" }] } } }),
        json!({ "type": "object", "properties": { "a": { "type": ["array", "null"], "items": true, "uniqueItems": true, "default": [] } } }),
        json!({ "type": "object", "properties": { "a": { "enum": ["x", 1, null] }, "b": { "type": "string", "format": "uuid" } } }),
        json!({ "type": "object", "properties": { "a": { "anyOf": [{ "type": "object", "properties": { "t": { "const": "x" } }, "required": ["t"], "unevaluatedProperties": false }, { "type": "array", "prefixItems": [{}, { "type": "null" }] }], "title": "t", "examples": [] } } }),
        json!({ "type": "object", "properties": { "a": { "not": {} }, "b": { "anyOf": [] }, "c": { "type": "nonsense" }, "d": { "type": [] } }, "patternProperties": {} }),
        json!({ "allOf": [{ "if": {}, "then": {} }, { "properties": { "a": { "exclusiveMaximum": 3, "type": "integer", "enum": [1] } } }] }),
    ];
    for parameters in schemas {
        let mut asked = request(vec![Message::user("hi")]);
        let name = "f".to_owned();
        asked.tools = [co_engine::provider::ToolSchema { name, description: "d".into(), parameters }].into();
        let body = serde_json::from_slice(&co_engine::provider::gemini::Gemini.encode(&asked).unwrap().body)
            .unwrap();
        check(&format!("{body}"), Checker::default().gemini("m", &body), None);
    }
}

/// A signature that was sent and does not come back is detected on this wire too.
#[test]
fn gemini_signatures_come_back() {
    let body = |signature: &str| {
        json!({ "contents": [
            { "role": "user", "parts": [{ "text": "hi" }] },
            { "role": "model", "parts": [{ "functionCall": { "name": "x", "id": "c1" }, "thoughtSignature": signature }] },
            { "role": "user", "parts": [{ "functionResponse": { "name": "x", "id": "c1", "response": {} } }] },
        ] })
    };
    check("kept", checker().gemini("m", &body("s")), None);
    check("lost", checker().gemini("m", &body("other")), Some("its signature `s`"));
}
