//! After a recorded reply we send the same as the recording client: parts, order, ids, text and opaque
//! data, for every recorded request of these wires that holds a reply.
//!
//! Each assistant message of a request is matched with the recorded reply it repeats, and then that reply, decoded by
//! us, takes its place; where the reply itself was not recorded, the message is read from the request. [`plain`] says
//! what is treated as equal; [`EXCEPTIONS`] lists all other differences, each with its reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use co::message::{
    AssistantMessage, AssistantPart, CallId, Message, PartKind, ReturnStatus, StopKind, StopReason, ToolCall,
    ToolName, ToolReturn, UserPart,
};
use co::provider::anthropic::Anthropic;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::{ModelRequest, WireCodec};
use serde_json::{Map, Value, json};

use crate::runtime::assembled::decode;
use crate::skip::skipped;

/// Requests that differ from ours: the case, the place, what the client sent there, and why we do not.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "compat_ollama/tool_continuation_stream",
    "/1/reasoning_content",
    "the client sends thinking in two fields; it came in `reasoning`, and goes back there",
)];

/// Folders, the quirks of their host, and how many of their requests hold replies (recorded ones among them).
const FOLDERS: &[(&str, Wire, usize, usize)] = &[
    ("anthropic", Wire::Anthropic, 5, 3),
    ("openai_chat", Wire::Chat(Quirks::OPENAI), 3, 2),
    ("compat_deepseek", Wire::Chat(Quirks::DEEPSEEK), 1, 0),
    ("compat_groq", Wire::Chat(Quirks::GROQ), 1, 0),
    ("compat_llamabox", Wire::Chat(Quirks::COMPATIBLE), 0, 0),
    ("compat_mistral", Wire::Chat(Quirks::MISTRAL), 1, 1),
    ("compat_ollama", Wire::Chat(Quirks::COMPATIBLE), 1, 1),
    ("compat_openrouter", Wire::Chat(Quirks::OPENROUTER), 2, 1),
    ("compat_xai", Wire::Chat(Quirks::XAI), 0, 0),
];

#[derive(Debug, Clone, Copy)]
enum Wire {
    Anthropic,
    Chat(Quirks),
}

impl Wire {
    fn encoded(self, request: &ModelRequest) -> Value {
        let http = match self {
            Self::Anthropic => Anthropic.encode(request),
            Self::Chat(quirks) => OpenAiChat::new(quirks).encode(request),
        };
        serde_json::from_slice(&http.expect("it can be sent").body).expect("JSON")
    }

    /// The recorded reply, if it is one that ended well, as if `model` had been asked.
    fn reply(self, model: &str, body: &[u8]) -> Option<AssistantMessage> {
        let reply = match self {
            Self::Anthropic => decode(Anthropic.decoder(model), [body]),
            Self::Chat(quirks) => decode(OpenAiChat::new(quirks).decoder(model), [body]),
        };
        reply.finished.is_some().then(|| reply.message())
    }
}

#[test]
fn what_follows_a_reply_agrees() {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else {
        skipped("recordings (set CO_RECORDINGS)");
        return;
    };
    for (folder, wire, with_replies, recorded) in FOLDERS {
        let (mut found, mut known) = (0, 0);
        for case in list(&root.join(folder)) {
            let name = format!("{folder}/{}", case.file_name().expect("a case has a name").to_string_lossy());
            let request = json_file(&case.join("request.json"));
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            if !messages.iter().any(|message| message["role"] == "assistant") {
                continue;
            }
            found += 1;
            known += usize::from(agrees(*wire, &name, &root.join(folder), &request) > 0);
        }
        assert_eq!((found, known), (*with_replies, *recorded), "{folder}");
    }
}

/// Compares one request; gives the number of its replies that were recorded.
fn agrees(wire: Wire, name: &str, folder: &Path, recorded: &Value) -> usize {
    let model = recorded["model"].as_str().expect("a model");
    let replies = replies(wire, folder, model);
    let mut reader = Reader { replies, calls: BTreeMap::new(), matched: 0 };
    let (mut system, mut messages) = (String::new(), Vec::new());
    for message in recorded["messages"].as_array().expect("messages") {
        match message["role"].as_str().expect("a role") {
            "system" => system = text_of(&message["content"]),
            "user" => messages.extend(reader.user(message)),
            "assistant" => messages.push(Message::Assistant(reader.assistant(message))),
            "tool" => reader.tool(message, &mut messages),
            role => panic!("{name}: no role {role} was recorded with a reply"),
        }
    }
    let request = ModelRequest { system, ..ModelRequest::new(model, messages) };
    let mut expected = plain(&recorded["messages"]);
    let mut sent = plain(&wire.encoded(&request)["messages"]);
    for (_, at, _) in EXCEPTIONS.iter().filter(|(case, _, _)| *case == name) {
        assert_ne!(sent.pointer(at), expected.pointer(at), "{name}: {at} is an exception and differs");
        take(&mut sent, at);
        assert!(take(&mut expected, at), "{name}: {at} was recorded");
    }
    assert_eq!(sent, expected, "{name}");
    reader.matched
}

/// All recorded replies of a folder that ended well.
fn replies(wire: Wire, folder: &Path, model: &str) -> Vec<AssistantMessage> {
    let body = |case: PathBuf| {
        let stream = std::fs::read(case.join("response.sse"));
        stream.or_else(|_| std::fs::read(case.join("response.json"))).expect("a recorded reply")
    };
    let cases = list(folder).into_iter().filter(|case| !case.to_string_lossy().contains("count_tokens"));
    cases.filter_map(|case| wire.reply(model, &body(case))).collect()
}

/// Recorded messages as ours.
struct Reader {
    replies: Vec<AssistantMessage>,
    /// Our ids by those of the wire.
    calls: BTreeMap<String, CallId>,
    matched: usize,
}

impl Reader {
    /// A user message: returns come first, and are a message of their own with us.
    fn user(&mut self, message: &Value) -> Vec<Message> {
        let blocks = blocks(&message["content"]);
        let (returns, said): (Vec<&Value>, Vec<&Value>) =
            blocks.iter().partition(|block| block["type"] == "tool_result");
        let returns: Vec<ToolReturn> =
            returns.iter().map(|block| self.returned(&block["tool_use_id"], &block["content"])).collect();
        let parts: Vec<UserPart> =
            said.iter().map(|block| UserPart::Text { text: text_of(&block["text"]) }).collect();
        let returns = (!returns.is_empty()).then_some(Message::ToolReturns { returns });
        let said = (!parts.is_empty()).then_some(Message::User { parts });
        returns.into_iter().chain(said).collect()
    }

    fn tool(&mut self, message: &Value, messages: &mut Vec<Message>) {
        let returned = self.returned(&message["tool_call_id"], &message["content"]);
        match messages.last_mut() {
            Some(Message::ToolReturns { returns }) => returns.push(returned),
            Some(_) | None => messages.push(Message::ToolReturns { returns: vec![returned] }),
        }
    }

    fn returned(&self, wire_id: &Value, content: &Value) -> ToolReturn {
        let call = self.calls[wire_id.as_str().expect("an id")].clone();
        ToolReturn::program(call, ReturnStatus::Ok, text_of(content))
    }

    /// The reply that a message repeats, decoded by us; else what the message says.
    fn assistant(&mut self, message: &Value) -> AssistantMessage {
        let said = read_assistant(message, self.calls.len());
        let wire_ids = |reply: &AssistantMessage| -> Vec<String> {
            reply.calls().map(|call| call.wire_id.clone()).collect()
        };
        let same = |reply: &&AssistantMessage| {
            let same_calls = wire_ids(reply) == wire_ids(&said);
            let has_calls = said.calls().next().is_some();
            same_calls && (has_calls || reply.text() == said.text())
        };
        let recorded = self.replies.iter().find(same).cloned();
        self.matched += usize::from(recorded.is_some());
        let reply = recorded.unwrap_or(said);
        self.calls.extend(reply.calls().map(|call| (call.wire_id.clone(), call.id.clone())));
        reply
    }
}

fn read_assistant(message: &Value, calls_before: usize) -> AssistantMessage {
    let call = |number: usize, id: &Value, name: &Value, args: Value| {
        AssistantPart::new(PartKind::ToolCall(ToolCall {
            id: CallId(format!("read/{calls_before}.{number}")),
            wire_id: id.as_str().expect("an id").to_owned(),
            name: ToolName::new(name.as_str().expect("a name")),
            args,
        }))
    };
    let text = |text: String| AssistantPart::new(PartKind::Text { text });
    let mut parts = Vec::new();
    for (number, block) in blocks(&message["content"]).iter().enumerate() {
        match block["type"].as_str().expect("a type") {
            "text" => parts.push(text(text_of(&block["text"]))),
            "tool_use" => parts.push(call(number, &block["id"], &block["name"], block["input"].clone())),
            // Only its own reply can take its place.
            "thinking" => {}
            other => panic!("no block {other} was recorded"),
        }
    }
    for (number, listed) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let function = &listed["function"];
        let args = serde_json::from_str(function["arguments"].as_str().expect("arguments")).expect("JSON");
        parts.push(call(number, &listed["id"], &function["name"], args));
    }
    AssistantMessage {
        parts,
        asked: String::new(),
        model: String::new(),
        stop: StopReason::new(StopKind::EndTurn),
    }
}

/// Content as blocks: a string is one text, and nothing is none.
fn blocks(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(blocks) => blocks.clone(),
        Value::String(text) if !text.is_empty() => vec![json!({ "type": "text", "text": text })],
        _ => Vec::new(),
    }
}

fn text_of(content: &Value) -> String {
    let texts = blocks(content);
    texts.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Messages without details that carry no meaning: our cache marks; the spaces within a call's arguments; whether a lone
/// text is in a list or not (the services call the one short for the other); whether an assistant message that only
/// calls has no content, null or an empty one (likewise).
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "cache_control");
            let mut plain: Map<String, Value> =
                kept.map(|(key, value)| (key.clone(), plain_field(key, value))).collect();
            let empty = plain.get("content").is_none_or(|content| content.is_null() || content == "");
            if empty && plain.contains_key("tool_calls") {
                plain.shift_remove("content");
            }
            Value::Object(plain)
        }
        other => other.clone(),
    }
}

fn plain_field(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("arguments", Value::String(text)) => serde_json::from_str(text).expect("arguments are JSON"),
        ("content", Value::Array(items)) if items.len() == 1 && items[0]["type"] == "text" => {
            items[0]["text"].clone()
        }
        (_, value) => plain(value),
    }
}

/// Removes a field; returns whether it was there.
fn take(body: &mut Value, at: &str) -> bool {
    let (parent, key) = at.rsplit_once('/').expect("a place");
    let parent = body.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.is_some_and(|parent| parent.shift_remove(key).is_some())
}

fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a recorded request")).expect("JSON")
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of recordings can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
