//! The changes that each difference between hosts makes in a body, and that it changes nothing else.

use serde_json::{Value, json};

use super::*;
use crate::config::{ThinkingLevel, ThinkingStyle};
use crate::message::Message;
use crate::provider::codec_kit::{self, assistant, call, ok, returns, thinking};
use crate::provider::{ModelRequest, Profile, ToolList, ToolSchema};

const MODEL: &str = "anthropic/claude-x";

/// A tool call with its thinking, its return, and the next user message.
fn conversation(field: &str, wire_id: &str) -> Vec<Message> {
    let thought = codec_kit::with(thinking(), WIRE, MODEL, json!({ "field": field }));
    vec![
        Message::user("hi"),
        assistant(vec![thought, call("s/1.1.1", wire_id, json!({}))]),
        returns(vec![ok("s/1.1.1", "A")]),
        Message::user("go on"),
    ]
}

fn request() -> ModelRequest {
    let schema = json!({
        "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"], "additionalProperties": false,
    });
    ModelRequest {
        system: "Be brief.".into(),
        tools: [ToolSchema { name: "read_file".into(), description: "d".into(), parameters: schema }].into(),
        cache_key: Some("k".into()),
        max_output_tokens: Some(100),
        parallel_calls: false,
        ..ModelRequest::new(MODEL, conversation("reasoning_content", "call_1"))
    }
}

fn sent(request: &ModelRequest, quirks: Quirks) -> Value {
    serde_json::from_slice(&OpenAiChat::new(quirks).encode(request).unwrap().body).unwrap()
}

fn with(changes: &[(&str, &str)]) -> Quirks {
    let mut quirks = Quirks::COMPATIBLE;
    for (name, value) in changes {
        quirks.set(name, value).unwrap();
    }
    quirks
}

/// A quirk, its value, and the changed values by their JSON pointers.
type Case = (&'static str, &'static str, Vec<(&'static str, Value)>);

/// Each quirk changes its own field of the body.
#[test]
fn a_quirk_changes_its_place_and_no_other() {
    let mark = json!({ "type": "ephemeral" });
    let marked = |text: &str| json!([{ "type": "text", "text": text, "cache_control": mark }]);
    let cases: Vec<Case> = vec![
        (
            "max_tokens",
            "max_completion_tokens",
            vec![("/max_completion_tokens", json!(100)), ("/max_tokens", Value::Null)],
        ),
        ("system_role", "developer", vec![("/messages/0/role", json!("developer"))]),
        ("reasoning", "none", vec![]),
        ("thinking_back", "never", vec![("/messages/2/reasoning_content", Value::Null)]),
        (
            "thinking_field",
            "reasoning",
            vec![("/messages/2/reasoning_content", Value::Null), ("/messages/2/reasoning", json!("Hm."))],
        ),
        ("usage", "silent", vec![("/stream_options", Value::Null)]),
        ("strict", "off", vec![("/tools/0/function/strict", json!(false))]),
        ("strict", "where_it_fits", vec![("/tools/0/function/strict", json!(true))]),
        ("tool_result_name", "sent", vec![("/messages/3/name", json!("read_file"))]),
        (
            "ids",
            "nine",
            vec![
                ("/messages/2/tool_calls/0/id", json!("681099b27")),
                ("/messages/3/tool_call_id", json!("681099b27")),
            ],
        ),
        ("empty_content", "null", vec![("/messages/2/content", Value::Null)]),
        ("store", "never", vec![("/store", json!(false))]),
        ("parallel_tool_calls", "unsaid", vec![("/parallel_tool_calls", Value::Null)]),
        ("tools", "empty_after_calls", vec![]),
        ("prompt_cache_key", "sent", vec![("/prompt_cache_key", json!("k"))]),
        (
            "cache_marks",
            "for_claude",
            vec![
                ("/messages/0/content", marked("Be brief.")),
                ("/messages/3/content", marked("A")),
                ("/messages/4/content", marked("go on")),
            ],
        ),
    ];
    let plain = sent(&request(), Quirks::COMPATIBLE);
    for (name, value, changes) in cases {
        let found = sent(&request(), with(&[(name, value)]));
        let mut expected = plain.clone();
        for (at, value) in &changes {
            put(&mut expected, at, value, &found);
        }
        assert_eq!(found, expected, "{name} = {value}");
    }
}

/// Sets a value at a pointer; null removes the field where the body has none.
fn put(body: &mut Value, at: &str, value: &Value, found: &Value) {
    let (parent, key) = at.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() && found.pointer(at).is_none() {
        assert!(parent.shift_remove(key).is_some(), "{at} was there");
    } else {
        parent.insert(key.to_owned(), value.clone());
    }
}

#[test]
fn the_system_prompt_may_be_the_users() {
    let body = sent(&request(), with(&[("system_role", "user")]));
    assert_eq!(body["messages"][0], json!({ "role": "user", "content": "Be brief.\n\nhi" }));
}

#[test]
fn an_assistant_may_have_to_stand_before_the_user() {
    let body = sent(&request(), with(&[("after_returns", "assistant")]));
    assert_eq!(body["messages"][4], json!({ "role": "assistant", "content": "Understood." }));
    assert_eq!(body["messages"][5]["content"], "go on");
}

#[test]
fn tools_may_have_to_be_an_empty_list() {
    let mut asked = request();
    asked.tools = ToolList::default();
    assert_eq!(sent(&asked, Quirks::LITELLM)["tools"], json!([]));
    assert_eq!(sent(&asked, Quirks::COMPATIBLE)["tools"], Value::Null);
    asked.messages.truncate(1);
    assert_eq!(sent(&asked, Quirks::LITELLM)["tools"], Value::Null);
}

/// Mistral's thinking comes as content items, and is sent back as such; Mistral's ids are kept.
#[test]
fn thinking_in_the_content_goes_back_there() {
    let mut asked = request();
    asked.messages = conversation("content", "g6fVbXS8K").into_iter().map(std::sync::Arc::new).collect();
    let body = sent(&asked, Quirks::MISTRAL);
    let thought = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] }]);
    assert_eq!(body["messages"][2]["content"], thought);
    assert_eq!(body["messages"][2]["tool_calls"][0]["id"], "g6fVbXS8K");
}

#[test]
fn thinking_is_asked_for_in_the_words_of_the_host() {
    use ThinkingLevel::{Default, High, Off, Tokens};
    use ThinkingStyle::{Always, Budget, Levels, Never, Unknown};
    let nothing = json!({});
    let cases = [
        ("reasoning_effort", Unknown, High, json!({ "reasoning_effort": "high" })),
        ("reasoning_effort", Unknown, Tokens(5_000), json!({ "reasoning_effort": "medium" })),
        ("reasoning_effort", Unknown, Off, nothing.clone()),
        ("reasoning_effort", Unknown, Default, nothing.clone()),
        ("reasoning_effort", Never, High, nothing.clone()),
        ("reasoning_effort", Levels, Off, json!({ "reasoning_effort": "none" })),
        ("reasoning_effort", Always, Off, json!({ "reasoning_effort": "low" })),
        ("thinking_type", Unknown, High, json!({ "thinking": { "type": "enabled" } })),
        ("thinking_type", Levels, Off, json!({ "thinking": { "type": "disabled" } })),
        (
            "enable_thinking",
            Budget,
            Tokens(5_000),
            json!({ "enable_thinking": true, "thinking_budget": 5_000 }),
        ),
        ("enable_thinking", Unknown, Off, json!({ "enable_thinking": false })),
        ("template_kwargs", Unknown, Off, json!({ "chat_template_kwargs": { "enable_thinking": false } })),
        ("reasoning_object", Unknown, High, json!({ "reasoning": { "effort": "high" } })),
        ("reasoning_object", Budget, Tokens(5_000), json!({ "reasoning": { "max_tokens": 5_000 } })),
        ("reasoning_object", Levels, Off, json!({ "reasoning": { "enabled": false } })),
        ("none", Levels, High, nothing.clone()),
    ];
    let mut asked = ModelRequest::new("m", vec![Message::user("hi")]);
    let plain = sent(&asked, Quirks::COMPATIBLE);
    for (style, profile, level, expected) in cases {
        (asked.profile.thinking, asked.thinking) = (profile, level);
        let mut body = sent(&asked, with(&[("reasoning", style)]));
        let body = body.as_object_mut().unwrap();
        body.retain(|key, _| plain.get(key).is_none());
        assert_eq!(Value::Object(body.clone()), expected, "{style} {profile:?} {level:?}");
    }
}

#[test]
fn sampling_is_sent_where_the_model_takes_it() {
    for (refuses_sampling, expected) in [(false, json!([0.5, 0.25])), (true, json!([null, null]))] {
        let asked = ModelRequest {
            temperature: Some(0.5),
            top_p: Some(0.25),
            profile: Profile { refuses_sampling, ..Profile::default() },
            ..ModelRequest::new("m", vec![Message::user("hi")])
        };
        let body = sent(&asked, Quirks::OPENAI);
        assert_eq!(json!([body["temperature"], body["top_p"]]), expected);
    }
}
