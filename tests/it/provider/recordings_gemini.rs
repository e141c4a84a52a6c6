//! Gemini's recordings: what the independent reader's words mean on this wire, and what goes back after a reply.
//!
//! Called by `recordings.rs`, which runs the folder as it runs the others.

use std::path::Path;

use co::message::{CallId, Message, ReturnStatus, ToolReturn};
use co::provider::gemini::Gemini;
use co::provider::{ModelRequest, StartKind, WireCodec};
use serde_json::{Value, json};

use crate::runtime::assembled::{Part, decode};

/// An expectation in the words in which all wires are compared.
pub fn expectation(mut expected: Value) -> Value {
    for call in expected["tool_calls"].as_array_mut().into_iter().flatten() {
        // A call without an id has an empty one here.
        if call["id"].is_null() {
            call["id"] = json!("");
        }
    }
    for item in expected["opaque"].as_array_mut().into_iter().flatten() {
        item["id"] = item["on"].take();
    }
    // The reader writes 0 where nothing was counted.
    let counted = |key: &str| expected["usage_raw"].get(key).is_some();
    if !counted("promptTokenCount") && !counted("totalTokenCount") {
        expected["usage"] = Value::Null;
    }
    // A blocked prompt ends the reply as well: nothing else follows.
    if expected["stop_reason"] == "refusal" {
        expected["complete"] = json!(true);
    }
    // The service threw this reply away: here that is a failure, and its call none.
    if expected["stop_reason_raw"] == "UNEXPECTED_TOOL_CALL" {
        let message = "Unexpected tool call: Model tried to call an undeclared function: list_files";
        expected["error"] = json!({ "code": "UNEXPECTED_TOOL_CALL", "message": message });
        expected["complete"] = json!(false);
        expected["stop_reason"] = json!("other");
        expected["tool_calls"] = json!([]);
        expected["opaque"] = json!([]);
    }
    expected
}

/// The signatures of a part, with the kind of part that has them.
pub fn signatures(part: &Part) -> Vec<Value> {
    let Some(data) = part.opaque.as_ref().map(|opaque| &opaque.data) else { return Vec::new() };
    let on = match &part.kind {
        StartKind::ToolCall { .. } => "functionCall",
        StartKind::Text | StartKind::Thinking | StartKind::Native => "text",
    };
    // A text of several parts says which of them are signed.
    let pieces = data["pieces"].as_array().map_or(std::slice::from_ref(data), Vec::as_slice);
    let signed = pieces.iter().filter_map(|piece| piece.get("thoughtSignature"));
    signed.map(|value| json!(["thoughtSignature", null, on, value])).collect()
}

/// Bodies of bare JSON come in pieces as streams do.
pub fn cut_everywhere(name: &str, body: &[u8]) {
    let fresh = || Gemini.decoder("as-requested");
    let whole = decode(fresh(), [body]);
    assert_eq!(decode(fresh(), body.chunks(1)), whole, "{name}: one byte at a time");
    for offset in 1..body.len() {
        let (left, right) = body.split_at(offset);
        assert_eq!(decode(fresh(), [left, right]), whole, "{name}: cut at {offset}");
    }
}

/// A reply and the request after it: all that were recorded.
const CONTINUATIONS: &[(&str, &str)] = &[
    ("parallel_tools_stream", "parallel_tools_continuation_stream"),
    ("tool_thought_signature_stream", "tool_thought_signature_continuation_stream"),
];

/// How our contents differ from recorded ones, and why.
const EXCEPTIONS: &[(Exception, &str)] = &[
    (
        Exception::ResponseField,
        "the object around a result is the client's own: `output` is the service's word for it",
    ),
    (Exception::MadeUpId, "the server gave no id; the recording client made one up, we send none"),
    (
        Exception::Alphabet,
        "the recording client wrote the signature's bytes anew, in the other alphabet of base64",
    ),
];

#[derive(Clone, Copy)]
enum Exception {
    ResponseField,
    MadeUpId,
    Alphabet,
}

pub fn continuations_agree(root: &Path) {
    for (reply, next) in CONTINUATIONS {
        let read = |case: &str, file: &str| std::fs::read(root.join("gemini").join(case).join(file)).unwrap();
        let recorded: Value = serde_json::from_slice(&read(next, "request.json")).unwrap();
        let headers = String::from_utf8(read(next, "headers.json")).unwrap();
        let model = headers.split("/models/").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
        let reply = decode(Gemini.decoder(model), [read(reply, "response.sse").as_slice()]).message();
        let mut expected = after_prompt(&recorded["contents"]);
        let answers: Vec<String> = responses(&mut expected).map(|response| first_text(response)).collect();
        let calls: Vec<CallId> = reply.calls().map(|call| call.id.clone()).collect();
        assert_eq!(calls.len(), answers.len(), "{next}");
        for (exception, _) in EXCEPTIONS {
            apply(*exception, &mut expected);
        }
        let returns = calls.into_iter().zip(answers);
        let returns = returns.map(|(call, text)| ToolReturn::program(call, ReturnStatus::Ok, text)).collect();
        let messages =
            vec![Message::user("a prompt"), Message::Assistant(reply), Message::ToolReturns { returns }];
        let sent = Gemini.encode(&ModelRequest::new(model, messages)).expect("it can be sent");
        let sent: Value = serde_json::from_slice(&sent.body).unwrap();
        assert_eq!(after_prompt(&sent["contents"]), expected, "{next}");
    }
}

fn after_prompt(contents: &Value) -> Vec<Value> {
    let contents = contents.as_array().expect("contents").iter();
    contents.skip_while(|content| content["role"] != "model").cloned().collect()
}

fn responses(contents: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    let parts = contents.iter_mut().filter_map(|content| content["parts"].as_array_mut()).flatten();
    parts.filter_map(|part| part.get_mut("functionResponse"))
}

fn first_text(response: &Value) -> String {
    let fields = response["response"].as_object().expect("a response is an object");
    fields.values().next().and_then(Value::as_str).expect("a text").to_owned()
}

fn apply(exception: Exception, contents: &mut [Value]) {
    match exception {
        Exception::ResponseField => {
            for response in responses(contents) {
                response["response"] = json!({ "output": first_text(response) });
            }
        }
        Exception::Alphabet => {
            let parts = contents.iter_mut().filter_map(|content| content["parts"].as_array_mut()).flatten();
            for part in parts {
                if let Some(Value::String(signature)) = part.get_mut("thoughtSignature") {
                    *signature = signature.replace('-', "+").replace('_', "/");
                }
            }
        }
        Exception::MadeUpId => {
            let parts = contents.iter_mut().filter_map(|content| content["parts"].as_array_mut()).flatten();
            for part in parts {
                for key in ["functionCall", "functionResponse"] {
                    let Some(fields) = part.get_mut(key).and_then(Value::as_object_mut) else { continue };
                    let own = fields.get("id").and_then(Value::as_str);
                    if own.is_some_and(|id| id.starts_with("pyd_ai_")) {
                        fields.shift_remove("id");
                    }
                }
            }
        }
    }
}
