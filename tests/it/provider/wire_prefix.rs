//! A longer conversation begins with the bytes of the shorter: only then do the services' prefix caches hold.
//!
//! For random conversations, and each codec that can be asked: what was sent up to a reply is sent again the same way
//! after it, but for the marks that say where prefixes end.

use co::config::ThinkingLevel;
use co::message::{
    AssistantMessage, AssistantPart, CallId, Message, NoteKind, Opaque, PartKind, ReturnPart, ReturnStatus,
    StopKind, StopReason, ToolCall, ToolName, ToolReturn, UserPart,
};
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, ToolSchema, WireCodec};
use proptest::prelude::*;
use serde_json::{Value, json};

const MODEL: &str = "claude-x";

/// One exchange: what the user says, a reply, the returns of its calls.
#[derive(Debug, Clone)]
struct Exchange {
    said: Vec<UserPart>,
    parts: Vec<AssistantPart>,
    statuses: Vec<ReturnStatus>,
}

fn words() -> impl Strategy<Value = String> {
    "[a-zé \u{0}\n]{0,12}"
}

fn user_part() -> impl Strategy<Value = UserPart> {
    prop_oneof![
        3 => words().prop_map(|text| UserPart::Text { text }),
        1 => words().prop_map(|text| UserPart::Note { kind: NoteKind::Abort, text }),
        1 => Just(UserPart::Image { media_type: "image/png".into(), data: "QUJD".into() }),
    ]
}

/// Data of this wire and model, of another wire, or none.
fn opaque(data: Value) -> impl Strategy<Value = Option<Opaque>> {
    let of = move |wire: &str| Some(Opaque::new(wire, MODEL, data.clone()));
    prop_oneof![
        Just(None),
        Just(of("anthropic")),
        Just(of("openai_chat")),
        Just(of("ollama")),
        Just(of("gemini")),
        Just(of("openai_responses")),
    ]
}

fn part() -> impl Strategy<Value = AssistantPart> {
    let of = |kind: PartKind, opaque| AssistantPart { kind, opaque };
    let signed = json!({ "signature": "s", "field": "reasoning_content" });
    let native = json!({ "type": "redacted_thinking", "data": "d", "reasoning_details": [{ "type": "x" }] });
    prop_oneof![
        3 => words().prop_map(move |text| of(PartKind::Text { text }, None)),
        2 => (words(), opaque(signed))
            .prop_map(move |(text, data)| of(PartKind::Thinking { text }, data)),
        1 => opaque(native).prop_map(move |data| of(PartKind::Native, data)),
        3 => ("[a-z/]{0,9}", "[a-z]{1,3}", opaque(json!({ "extra": 1 }))).prop_map(move |(wire_id, arg, data)| {
            let (id, name) = (CallId(String::new()), ToolName::new("read_file"));
            of(PartKind::ToolCall(ToolCall { id, wire_id, name, args: json!({ arg: 1, "z": [null] }) }), data)
        }),
    ]
}

fn status() -> impl Strategy<Value = ReturnStatus> {
    prop_oneof![Just(ReturnStatus::Ok), Just(ReturnStatus::Failed), Just(ReturnStatus::Denied)]
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let said = proptest::collection::vec(user_part(), 1..3);
    let parts = proptest::collection::vec(part(), 0..5);
    let statuses = proptest::collection::vec(status(), 5);
    (said, parts, statuses).prop_map(|(said, parts, statuses)| Exchange { said, parts, statuses })
}

/// The messages of all exchanges; calls get ids of their own, and each its return.
fn messages(exchanges: Vec<Exchange>) -> Vec<Message> {
    // Every service requires a user's message first.
    let mut messages = vec![Message::user("hi")];
    for (number, exchange) in exchanges.into_iter().enumerate() {
        messages.push(Message::User { parts: exchange.said });
        let mut parts = exchange.parts;
        let mut returns = Vec::new();
        for (index, (part, status)) in parts.iter_mut().zip(exchange.statuses).enumerate() {
            if let PartKind::ToolCall(call) = &mut part.kind {
                call.id = CallId(format!("s/{number}.1.{index}"));
                let mut returned = ToolReturn::program(call.id.clone(), status, "out");
                if status == ReturnStatus::Failed {
                    let image = ReturnPart::Image { media_type: "image/png".into(), data: "QUJD".into() };
                    returned.content.push(image);
                }
                returns.push(returned);
            }
        }
        let stop = StopReason::new(StopKind::EndTurn);
        messages.push(Message::Assistant(AssistantMessage {
            parts,
            asked: String::new(),
            model: MODEL.into(),
            stop,
        }));
        if !returns.is_empty() {
            messages.push(Message::ToolReturns { returns });
        }
    }
    messages
}

fn body<C: WireCodec>(codec: &C, messages: &[Message]) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    let request = ModelRequest {
        system: "Be brief.".into(),
        tools: [ToolSchema { name: "read_file".into(), description: "d".into(), parameters: schema }].into(),
        thinking: ThinkingLevel::Low,
        cache_key: Some("k".into()),
        ..ModelRequest::new(MODEL, messages.to_vec())
    };
    serde_json::from_slice(&codec.encode(&request).expect("it can be sent").body).expect("JSON")
}

/// Cache marks, and their positions.
fn marks(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if fields.contains_key("cache_control") {
                let kind = value["type"].as_str().unwrap_or("tool");
                let empty =
                    kind == "text" && value["text"].as_str().is_none_or(|text| text.trim().is_empty());
                assert!(!empty && !kind.contains("thinking"), "a mark on {value}");
                found.push(at.to_owned());
            }
            fields.iter().for_each(|(key, value)| marks(value, &format!("{at}/{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(number, item)| marks(item, &format!("{at}/{number}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a codec writes a lone text as a string, and as a list of one only where it marks it.
#[derive(Clone, Copy, PartialEq)]
enum LoneText {
    String,
    List,
}

/// Without marks, and with a lone text as it is where no mark needs a list.
fn unmarked(value: &mut Value, lone: LoneText) {
    match value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(|value| unmarked(value, lone));
            if lone == LoneText::String
                && let Some([only]) = fields.get("content").and_then(Value::as_array).map(Vec::as_slice)
                && only["type"] == "text"
            {
                let text = only["text"].clone();
                fields.insert("content".to_owned(), text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|value| unmarked(value, lone)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Before each reply that is sent at all, the conversation up to it is a request of its own. `list` is the field of the
/// body that holds it.
fn grows<C: WireCodec>(codec: &C, list: &str, lone: LoneText, all: &[Message]) {
    let mut whole = body(codec, all);
    let mut found = Vec::new();
    marks(&whole, "", &mut found);
    assert!(found.len() <= 4, "the service takes four marks: {found:?}");
    unmarked(&mut whole, lone);
    let whole_text = whole[list].to_string();
    for (end, message) in all.iter().enumerate() {
        if !matches!(message, Message::Assistant(_)) {
            continue;
        }
        let (mut shorter, mut through) = (body(codec, &all[..end]), body(codec, &all[..=end]));
        unmarked(&mut shorter, lone);
        unmarked(&mut through, lone);
        // A reply of which nothing is sent leaves what the user says on both sides to grow together.
        if through[list] == shorter[list] {
            continue;
        }
        let text = shorter[list].to_string();
        // A message may grow where the next is of its role; so only what closes the lists is left away.
        let open = text.trim_end_matches([']', '}']);
        assert!(whole_text.starts_with(open), "up to {end}:\n{whole_text}\nbegins not with\n{text}");
        for field in ["tools", "system", "instructions", "systemInstruction"] {
            assert_eq!(shorter[field], whole[field]);
        }
    }
}

proptest! {
    #[test]
    fn a_longer_conversation_begins_with_the_shorter(
        exchanges in proptest::collection::vec(exchange(), 1..5),
    ) {
        let all = messages(exchanges);
        grows(&Anthropic, "messages", LoneText::List, &all);
        for quirks in [Quirks::OPENAI, Quirks::OPENROUTER, Quirks::MISTRAL, Quirks::DEEPSEEK] {
            grows(&OpenAiChat::new(quirks), "messages", LoneText::String, &all);
        }
        grows(&Ollama::default(), "messages", LoneText::String, &all);
        grows(&OpenAiResponses, "input", LoneText::List, &all);
        grows(&Gemini, "contents", LoneText::List, &all);
    }
}
