//! Peculiarities of the Responses recordings: reasoning items as opaque data, and input items of the next request.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use co::message::{CallId, Message, ReturnStatus, ToolReturn};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, WireCodec};
use serde_json::{Value, json};

use crate::provider::recordings::EXCEPTIONS;
use crate::runtime::assembled::{AssembledReply, decode};
use crate::skip::skipped;

/// A reasoning item in the words of the expectations. It may have come late, in a part of its own.
pub fn reasoning(data: &Value) -> Option<Value> {
    let item = data.get("item").unwrap_or(data);
    (item["type"] == "reasoning")
        .then(|| json!(["reasoning_item", null, item["id"], item["encrypted_content"]]))
}

/// The reader behind the expectations writes `failed` for a reply that ended in an error; we have the error.
pub fn failed_word(protocol: &Value, reply: &AssembledReply) -> Option<String> {
    (protocol == "openai_responses" && reply.error.is_some()).then(|| "failed".to_owned())
}

/// Recorded requests that go on from a recorded stream: all that there are in the folder.
const PAIRS: usize = 4;

#[test]
fn input_items_agree() {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else {
        skipped("recordings (set CO_RECORDINGS)");
        return;
    };
    let root = root.join("openai_responses");
    let mut names: Vec<String> = std::fs::read_dir(&root)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let streams = calls_of_streams(&root, &names);
    let mut pairs = 0;
    for name in &names {
        let request = json_file(&root.join(name).join("request.json"));
        let items = request["input"].as_array().cloned().unwrap_or_default();
        let ids = items.iter().filter_map(|item| item["call_id"].as_str());
        if let Some(stream) = ids.into_iter().find_map(|id| streams.get(id)) {
            continues(&root.join(stream), name, &request, &items);
            pairs += 1;
        }
    }
    assert_eq!(pairs, PAIRS, "requests that go on from a recorded stream");
}

/// The streams by the ids of their calls, and by the ids of their items: one client sent those.
fn calls_of_streams(root: &Path, names: &[String]) -> BTreeMap<String, String> {
    let mut streams = BTreeMap::new();
    for name in names {
        let expected = json_file(&root.join(name).join("expected.json"));
        for call in expected["tool_calls"].as_array().into_iter().flatten() {
            for id in ["id", "item_id"].iter().filter_map(|key| call[*key].as_str()) {
                streams.insert(id.to_owned(), name.clone());
            }
        }
    }
    streams
}

fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a recorded file")).expect("JSON")
}

fn continues(stream: &Path, name: &str, recorded: &Value, items: &[Value]) {
    let model = recorded["model"].as_str().expect("a model");
    let bytes = std::fs::read(stream.join("response.sse")).expect("a recorded stream");
    let reply = decode(OpenAiResponses.decoder(model), [bytes.as_slice()]).message();
    let outputs = items.iter().filter_map(|item| item["output"].as_str());
    let calls: Vec<CallId> = reply.calls().map(|call| call.id.clone()).collect();
    let returns: Vec<ToolReturn> = calls
        .into_iter()
        .zip(outputs)
        .map(|(call, text)| ToolReturn::program(call, ReturnStatus::Ok, text))
        .collect();
    let messages =
        vec![Message::user("a prompt"), Message::Assistant(reply), Message::ToolReturns { returns }];
    let body = OpenAiResponses.encode(&ModelRequest::new(model, messages)).expect("it can be sent").body;
    let sent: Value = serde_json::from_slice(&body).expect("JSON");
    let sent = after_prompt(sent["input"].as_array().expect("items"));
    assert!(!sent.is_empty(), "{name}");
    let sent = as_the_client_had_it(name, stream, sent);
    assert_eq!(sent, after_prompt(items), "{name}");
}

fn after_prompt(items: &[Value]) -> Vec<Value> {
    let prompt = ["user", "system", "developer"];
    items.iter().skip_while(|item| prompt.iter().any(|role| item["role"] == *role)).cloned().collect()
}

/// Our items with what the exceptions tell of, so that all the rest is still compared.
fn as_the_client_had_it(name: &str, stream: &Path, mut items: Vec<Value>) -> Vec<Value> {
    if !EXCEPTIONS.iter().any(|(case, _)| case.strip_prefix("openai_responses/") == Some(name)) {
        return items;
    }
    match name {
        "tool_continuation_stream" => {
            let expected = json_file(&stream.join("expected.json"));
            let calls = expected["tool_calls"].as_array().expect("calls");
            for item in &mut items {
                let call =
                    calls.iter().find(|call| call["id"] == item["call_id"]).expect("a call of the stream");
                item["call_id"] = call["item_id"].clone();
            }
        }
        "reasoning_summary_continuation_stream" => items.retain(|item| item["type"] != "reasoning"),
        name => panic!("{name}: nobody wrote down what differs"),
    }
    items
}
