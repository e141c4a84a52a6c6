//! The body for each kind of message, texts that must never be sent, and how schemas are converted.

use serde_json::{Value, json};

use super::*;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::{AssistantPart, Message, NoteKind, PartKind, ReturnPart, ReturnStatus, ToolReturn};
use crate::provider::codec_kit::{
    self, assistant, image, native, ok, returned, returns, text, thinking, with,
};
use crate::provider::{ErrorClass, StartKind, StreamDecoder, StreamEvent, ToolChoice, ToolSchema};

const OLD: &str = "gemini-2.5-flash";
const NEW: &str = "gemini-3-pro-preview";

fn request(model: &str, messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new(model, messages)
}

fn call(id: &str) -> AssistantPart {
    codec_kit::call(id, &format!("made_up_{id}"), json!({ "path": id }))
}

fn own(part: AssistantPart, model: &str, data: Value) -> AssistantPart {
    with(part, WIRE, model, data)
}

fn sent(request: &ModelRequest) -> Value {
    serde_json::from_slice(&Gemini.encode(request).unwrap().body).unwrap()
}

fn user(parts: &Value) -> Value {
    json!({ "role": "user", "parts": parts })
}

fn said(parts: &Value) -> Value {
    json!({ "role": "model", "parts": parts })
}

#[test]
fn messages_are_sent_as_the_service_wants_them() {
    let hi = || Message::user("hi");
    let t = |text: &str| json!({ "text": text });
    let answer =
        |id: &str| json!({ "functionResponse": { "name": "read_file", "response": { "output": id } } });
    let function = |id: &str| json!({ "functionCall": { "name": "read_file", "args": { "path": id } } });
    let picture = ReturnPart::Image { media_type: "image/png".into(), data: "QUJD".into() };
    let cases: Vec<(&str, Vec<Message>, Value)> = vec![
        (
            "neighbours of one role are one content",
            vec![hi(), Message::user("there"), assistant(vec![text("a")]), assistant(vec![text("b")]), hi()],
            json!([
                user(&json!([t("hi"), t("there")])),
                said(&json!([t("a"), t("b")])),
                user(&json!([t("hi")]))
            ]),
        ),
        (
            "what says nothing is left out, thoughts too",
            vec![hi(), assistant(vec![text(""), thinking()]), hi()],
            json!([user(&json!([t("hi"), t("hi")]))]),
        ),
        (
            "a note is no speech of the user's",
            vec![Message::note(NoteKind::Abort, "cut off")],
            json!([user(&json!([t("[note from co: interrupted]\ncut off\n[end of note]")]))]),
        ),
        (
            "an image",
            vec![Message::User { parts: vec![image()] }],
            json!([user(&json!([{ "inlineData": { "mimeType": "image/png", "data": "QUJD" } }]))]),
        ),
        (
            "returns are one content in call order, with an id only where the server gave one",
            vec![
                hi(),
                assistant(vec![call("a"), own(call("b"), OLD, json!({ "id": "k1" }))]),
                returns(vec![ok("a", "a"), returned("b", ReturnStatus::Denied, "no")]),
                hi(),
            ],
            json!([
                user(&json!([t("hi")])),
                said(&json!([
                    function("a"),
                    { "functionCall": { "name": "read_file", "args": { "path": "b" }, "id": "k1" } },
                ])),
                user(&json!([
                    answer("a"),
                    { "functionResponse": { "name": "read_file", "response": { "error": "[denied] no" }, "id": "k1" } },
                    t("hi"),
                ])),
            ]),
        ),
        (
            "pictures come after all returns",
            vec![
                hi(),
                assistant(vec![call("a"), call("b")]),
                returns(vec![
                    ToolReturn {
                        content: vec![ReturnPart::Text { text: "a".into() }, picture],
                        ..ok("a", "a")
                    },
                    ok("b", "b"),
                ]),
            ],
            json!([
                user(&json!([t("hi")])),
                said(&json!([function("a"), function("b")])),
                user(&json!([
                    answer("a"),
                    answer("b"),
                    t("[note from co: image returned by read_file]"),
                    { "inlineData": { "mimeType": "image/png", "data": "QUJD" } },
                ])),
            ]),
        ),
    ];
    for (about, messages, expected) in cases {
        assert_eq!(sent(&request(OLD, messages))["contents"], expected, "{about}");
    }
}

#[test]
fn signatures_go_back_on_their_own_part_to_their_own_model() {
    let sig = |signature: &str| json!({ "thoughtSignature": signature });
    let empty = json!({ "text": "", "thoughtSignature": "s3" });
    let code = json!({ "executableCode": { "code": "1" } });
    let reply = |wire: &str, model: &str| {
        assistant(vec![
            with(thinking(), wire, model, sig("s0")),
            with(text("a"), wire, model, sig("s1")),
            text("b"),
            with(call("c"), wire, model, json!({ "thoughtSignature": "s2", "id": "k" })),
            call("d"),
            with(native(), wire, model, code.clone()),
            with(native(), wire, model, empty.clone()),
        ])
    };
    let answered = |wire: &str, model: &str, asked: &str| {
        let returns = vec![ok("c", "r"), ok("d", "r")];
        let messages = vec![Message::user("hi"), reply(wire, model), Message::ToolReturns { returns }];
        sent(&request(asked, messages))["contents"][1]["parts"].clone()
    };
    let d = json!({ "functionCall": { "name": "read_file", "args": { "path": "d" } } });
    let c = |extra: Value| {
        let mut part = json!({ "functionCall": { "name": "read_file", "args": { "path": "c" } } });
        for (key, value) in extra.as_object().unwrap() {
            part[key] = value.clone();
        }
        part
    };
    let mut with_id = c(sig("s2"));
    with_id["functionCall"]["id"] = json!("k");
    assert_eq!(
        answered(WIRE, NEW, NEW),
        json!([
            { "text": "Hm.", "thought": true, "thoughtSignature": "s0" },
            { "text": "a", "thoughtSignature": "s1" },
            { "text": "b" },
            with_id,
            d,
            code,
            empty,
        ])
    );
    let foreign = |first: Value| json!([{ "text": "a" }, { "text": "b" }, first, d]);
    assert_eq!(answered("anthropic", NEW, NEW), foreign(c(sig(NO_SIGNATURE))), "another wire");
    assert_eq!(answered(WIRE, OLD, NEW), foreign(c(sig(NO_SIGNATURE))), "another model");
    assert_eq!(answered(WIRE, NEW, OLD), foreign(c(json!({}))), "to a model that demands none");
    let cases = [
        ("gemini-3-flash", true),
        ("models/gemini-3.1-pro-preview", true),
        ("gemini-flash-latest", true),
        ("gemini-2.0-flash", false),
        ("gemini-1.5-pro", false),
        ("gemma-3", false),
        ("m", false),
    ];
    for (model, demands) in cases {
        assert_eq!(demands_signatures(model), demands, "{model}");
    }
}

#[test]
fn a_conversation_begins_with_the_user_and_answers_its_own_calls() {
    let broken =
        [vec![], vec![assistant(vec![text("a")])], vec![Message::user("hi"), returns(vec![ok("a", "r")])]];
    for messages in broken {
        let error = Gemini.encode(&request(OLD, messages)).unwrap_err();
        assert_eq!(error.class, ErrorClass::BadRequest);
    }
}

#[test]
fn models_stand_in_the_path() {
    let cases = [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("tunedModels/x-1", "tunedModels/x-1"),
        ("team/gpt 5?#%é:a", "models/team/gpt%205%3F%23%25%C3%A9%3Aa"),
    ];
    for (model, place) in cases {
        let path = Gemini.encode(&request(model, vec![Message::user("hi")])).unwrap().path;
        assert_eq!(path, format!("/v1beta/{place}:streamGenerateContent?alt=sse"));
    }
}

#[test]
fn settings_are_sent_where_the_model_takes_them() {
    let mut asked = request(OLD, vec![Message::user("hi")]);
    assert_eq!(sent(&asked), json!({ "contents": [user(&json!([{ "text": "hi" }]))] }));
    asked.system = "Be brief.".to_owned();
    asked.max_output_tokens = Some(100);
    asked.temperature = Some(0.5);
    asked.top_p = Some(0.25);
    let read =
        json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let tool = |name: &str, parameters: &Value| ToolSchema {
        name: name.into(),
        description: "d".into(),
        parameters: parameters.clone(),
    };
    asked.tools =
        [tool("read_file", &read), tool("now", &json!({ "type": "object", "properties": {} }))].into();
    let body = sent(&asked);
    assert_eq!(body["systemInstruction"], json!({ "parts": [{ "text": "Be brief." }] }));
    assert_eq!(body["generationConfig"], json!({ "maxOutputTokens": 100, "temperature": 0.5, "topP": 0.25 }));
    let parameters =
        json!({ "type": "OBJECT", "properties": { "path": { "type": "STRING" } }, "required": ["path"] });
    assert_eq!(
        body["tools"],
        json!([{ "functionDeclarations": [
            { "name": "read_file", "description": "d", "parameters": parameters },
            { "name": "now", "description": "d" },
        ] }])
    );
    assert_eq!(body["toolConfig"], json!({ "functionCallingConfig": { "mode": "AUTO" } }));
    asked.tool_choice = ToolChoice::None;
    asked.profile.refuses_sampling = true;
    let body = sent(&asked);
    assert_eq!(body["toolConfig"], json!({ "functionCallingConfig": { "mode": "NONE" } }));
    assert_eq!(body["generationConfig"], json!({ "maxOutputTokens": 100 }));
}

#[test]
fn thinking_is_asked_for_as_the_model_takes_it() {
    use ThinkingLevel::{Default, High, Low, Medium, Off, Tokens};
    use ThinkingStyle::{Always, Budget, Levels, Never, Unknown};
    let budget = |tokens: u32| Some(json!({ "includeThoughts": true, "thinkingBudget": tokens }));
    let level = |word: &str| Some(json!({ "includeThoughts": true, "thinkingLevel": word }));
    let off = |key: &str, value: Value| Some(json!({ "includeThoughts": false, key: value }));
    let cases = [
        (OLD, Budget, Default, None, None),
        (OLD, Budget, Off, None, off("thinkingBudget", json!(0))),
        ("gemini-2.5-pro", Budget, Off, None, off("thinkingBudget", json!(128))),
        (OLD, Budget, Low, None, budget(2_048)),
        (OLD, Budget, High, None, budget(24_576)),
        (OLD, Budget, High, Some(8_000), budget(4_000)),
        (OLD, Budget, High, Some(100), budget(512)),
        (OLD, Budget, Tokens(77), None, budget(77)),
        (NEW, Levels, Off, None, off("thinkingLevel", json!("minimal"))),
        (NEW, Always, Off, None, off("thinkingLevel", json!("low"))),
        (NEW, Always, Medium, None, level("medium")),
        (NEW, Levels, Tokens(20_000), None, level("high")),
        (NEW, Levels, Default, None, None),
        ("m", Never, High, None, None),
        ("m", Unknown, Off, None, None),
        ("m", Unknown, Medium, None, budget(8_192)),
    ];
    for (model, style, thinking, limit, expected) in cases {
        let mut asked = request(model, vec![Message::user("hi")]);
        asked.profile.thinking = style;
        asked.thinking = thinking;
        asked.max_output_tokens = limit;
        let config = sent(&asked)["generationConfig"].get("thinkingConfig").cloned();
        assert_eq!(config, expected, "{model} {style:?} {thinking:?} {limit:?}");
    }
}

#[test]
fn schemas_become_what_the_service_takes() {
    let cases = [
        (
            json!({ "type": "string", "description": "d", "default": "x", "title": "t" }),
            json!({ "type": "STRING", "description": "d" }),
        ),
        (json!({ "type": ["string", "null"] }), json!({ "type": "STRING", "nullable": true })),
        (
            json!({ "type": ["string", "integer"], "description": "d" }),
            json!({ "anyOf": [{ "type": "STRING", "description": "d" }, { "type": "INTEGER" }] }),
        ),
        (
            json!({ "type": "integer", "format": "uint32", "minimum": 0, "maximum": 9 }),
            json!({ "type": "INTEGER", "minimum": 0, "maximum": 9 }),
        ),
        (json!({ "type": "integer", "format": "int64" }), json!({ "type": "INTEGER", "format": "int64" })),
        (
            json!({ "type": "number", "exclusiveMinimum": 0, "multipleOf": 2 }),
            json!({ "type": "NUMBER", "description": "(more than 0)" }),
        ),
        (
            json!({ "type": "string", "format": "uri", "pattern": "^h", "minLength": 1 }),
            json!({ "type": "STRING", "minLength": 1, "pattern": "^h", "description": "(format: uri)" }),
        ),
        (
            json!({ "type": "string", "format": "date-time" }),
            json!({ "type": "STRING", "format": "date-time" }),
        ),
        (json!({ "const": "a" }), json!({ "type": "STRING", "enum": ["a"] })),
        (
            json!({ "const": 1, "description": "d" }),
            json!({ "type": "INTEGER", "description": "d (one of: 1)" }),
        ),
        (
            json!({ "enum": ["a", "b", null] }),
            json!({ "type": "STRING", "enum": ["a", "b"], "nullable": true }),
        ),
        (
            json!({ "type": "string", "enum": ["", "b"] }),
            json!({ "type": "STRING", "description": "(one of: \"\", \"b\")" }),
        ),
        (
            json!({ "type": "integer", "enum": [1, 2] }),
            json!({ "type": "INTEGER", "description": "(one of: 1, 2)" }),
        ),
        (
            json!({ "oneOf": [{ "const": "a", "description": "first" }, { "const": "b" }] }),
            json!({ "type": "STRING", "enum": ["a", "b"], "description": "(a: first)" }),
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "d" }),
            json!({ "type": "STRING", "nullable": true, "description": "d" }),
        ),
        (
            json!({ "anyOf": [{ "type": "string" }, { "type": "boolean" }, { "type": "null" }], "description": "d" }),
            json!({ "anyOf": [{ "type": "STRING", "nullable": true, "description": "d" }, { "type": "BOOLEAN", "nullable": true }] }),
        ),
        (json!({ "type": "array" }), json!({ "type": "ARRAY", "items": { "type": "STRING" } })),
        (
            json!({ "type": "array", "items": { "type": "integer" }, "maxItems": 3, "uniqueItems": true }),
            json!({ "type": "ARRAY", "maxItems": 3, "items": { "type": "INTEGER" } }),
        ),
        (
            json!({ "prefixItems": [{ "type": "integer" }, { "type": "string" }] }),
            json!({ "type": "ARRAY", "items": { "anyOf": [{ "type": "INTEGER" }, { "type": "STRING" }] } }),
        ),
        (
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            json!({ "type": "OBJECT" }),
        ),
        (
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a", "b", "a"], "additionalProperties": false }),
            json!({ "type": "OBJECT", "properties": { "a": { "type": "STRING" } }, "required": ["a"] }),
        ),
        (
            json!({ "allOf": [{ "properties": { "a": { "type": "string" } }, "required": ["a"] }, { "properties": { "b": true }, "required": ["b"] }] }),
            json!({ "type": "OBJECT", "properties": { "a": { "type": "STRING" }, "b": { "type": "STRING" } }, "required": ["a", "b"] }),
        ),
        (
            json!({ "$ref": "#/$defs/point", "description": "here" }),
            json!({ "type": "OBJECT", "properties": { "x": { "type": "NUMBER" } }, "description": "here" }),
        ),
        (json!({ "$ref": "#/$defs/nowhere" }), json!({ "type": "STRING" })),
        (json!({ "$ref": "#/$defs/self" }), json!({ "type": "STRING" })),
        (json!(true), json!({ "type": "STRING" })),
    ];
    for (schema, expected) in cases {
        let root = json!({
            "type": "object",
            "properties": { "p": schema },
            "$defs": {
                "point": { "type": "object", "properties": { "x": { "type": "number" } }, "description": "a point" },
                "self": { "$ref": "#/$defs/self" },
            },
        });
        let adapted = schema::parameters(&root).unwrap();
        assert_eq!(adapted["properties"]["p"], expected, "{schema}");
    }
    for empty in
        [json!({ "type": "object", "properties": {} }), json!({}), json!(null), json!({ "type": "string" })]
    {
        assert_eq!(schema::parameters(&empty), None, "{empty}");
    }
}

/// A schema with many references to itself ends quickly.
#[test]
fn endless_schemas_end() {
    let next = json!({ "$ref": "#/$defs/tree" });
    let children: Value =
        (0..10).map(|at| (format!("c{at}"), next.clone())).collect::<serde_json::Map<_, _>>().into();
    let root = json!({
        "type": "object",
        "properties": { "tree": next },
        "$defs": { "tree": { "type": "object", "properties": children } },
    });
    let adapted = schema::parameters(&root).unwrap().to_string();
    assert!(adapted.len() < 300_000, "{}", adapted.len());
}

/// A merged text is sent back in the parts in which it was received.
#[test]
fn a_text_goes_back_in_its_pieces() {
    let stream = [
        json!([{ "text": "Hm", "thought": true }, { "text": "!", "thought": true, "thoughtSignature": "s0" }]),
        json!([{ "text": "One sen", "thoughtSignature": "s1" }]),
        json!([{ "text": "tence" }, { "text": "." }]),
        json!([{ "text": "", "thoughtSignature": "s2" }]),
    ];
    let mut decoder = Gemini.decoder(NEW);
    let mut events = Vec::new();
    for parts in &stream {
        let chunk = json!({ "candidates": [{ "content": { "parts": parts }, "finishReason": "STOP" }] });
        decoder.feed(format!("data: {chunk}\r\n\r\n").as_bytes(), &mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap();
    let mut parts: Vec<AssistantPart> = Vec::new();
    for event in events {
        match event {
            StreamEvent::PartStarted { kind: StartKind::Thinking, .. } => {
                parts.push(AssistantPart::new(PartKind::Thinking { text: "Hm!".into() }));
            }
            StreamEvent::PartStarted { .. } => parts.push(text("One sentence.")),
            StreamEvent::PartEnded { index, opaque } => parts[index].opaque = opaque,
            StreamEvent::Started { .. }
            | StreamEvent::PartDelta { .. }
            | StreamEvent::Notice { .. }
            | StreamEvent::Usage { .. }
            | StreamEvent::Finished { .. } => {}
        }
    }
    assert_eq!(parts.len(), 2, "one text, as it is read");
    let body = sent(&request(NEW, vec![Message::user("hi"), assistant(parts)]));
    assert_eq!(
        body["contents"][1]["parts"],
        json!([
            { "text": "!", "thought": true, "thoughtSignature": "s0" },
            { "text": "One sen", "thoughtSignature": "s1" },
            { "text": "tence." },
            { "text": "", "thoughtSignature": "s2" },
        ])
    );
}

/// The service caches by prefix.
#[test]
fn a_longer_conversation_begins_as_the_shorter() {
    let long = [
        Message::user("hi"),
        assistant(vec![text("a"), call("c")]),
        returns(vec![ok("c", "r")]),
        assistant(vec![text("b")]),
        Message::user("more"),
    ];
    let body = |count: usize| {
        let bytes = Gemini.encode(&request(NEW, long[..count].to_vec())).unwrap().body;
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    for count in [1, 3] {
        let short = body(count);
        let begun = short.strip_suffix("]}").unwrap();
        assert!(body(5).starts_with(begun), "{short}");
    }
}
