//! Recorded traffic of real providers agrees with what an independent reader found in it, however it is cut.
//!
//! The recordings are not part of this repository: `CO_RECORDINGS` names their folder. Without it the test says loudly
//! that it was skipped.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use co::message::{CallId, Message, ReturnStatus, StopKind, StopReason, ToolReturn, Usage, UserPart};
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{
    ErrorClass, ModelRequest, ProviderError, RetryHeaders, StartKind, StreamDecoder, WireCodec,
};
use memchr::memmem;
use serde_json::{Value, json};

use crate::provider::recordings_gemini;
use crate::provider::recordings_responses;
use crate::runtime::assembled::{AssembledReply, decode};
use crate::skip::skipped;

/// Files up to this size are cut at every offset.
const CUT_EVERYWHERE: usize = 32 * 1024;

struct Case {
    name: String,
    folder: PathBuf,
    expected: Value,
}

impl Case {
    fn read(&self, file: &str) -> Option<Vec<u8>> {
        std::fs::read(self.folder.join(file)).ok()
    }

    fn field(&self, key: &str) -> &Value {
        self.expected.get(key).unwrap_or(&Value::Null)
    }
}

fn cases(root: &Path, prefix: &str) -> Vec<Case> {
    let mut folders: Vec<PathBuf> = list(root)
        .into_iter()
        .filter(|provider| file_name(provider).starts_with(prefix))
        .flat_map(|provider| list(&provider))
        .collect();
    folders.sort();
    let read = |folder: PathBuf| {
        let bytes = std::fs::read(folder.join("expected.json")).expect("every case has its expectation");
        let provider = file_name(folder.parent().expect("a case lies in its provider's folder"));
        Case {
            name: format!("{provider}/{}", file_name(&folder)),
            expected: serde_json::from_slice(&bytes).expect("the expectation is JSON"),
            folder,
        }
    };
    folders.into_iter().map(read).collect()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of recordings can be read");
    entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[test]
fn recordings_agree() {
    let Some(root) = std::env::var_os("CO_RECORDINGS") else {
        skipped("recordings (set CO_RECORDINGS)");
        return;
    };
    let root = PathBuf::from(root);
    let (anthropic, chat, compat) =
        (cases(&root, "anthropic"), cases(&root, "openai_chat"), cases(&root, "compat_"));
    assert_eq!((anthropic.len(), chat.len(), compat.len()), (25, 13, 23), "cases per folder");
    let responses = cases(&root, "openai_responses");
    assert_eq!(responses.len(), 22, "cases of openai_responses");
    let ollama = cases(&root, "ollama_native");
    assert_eq!(ollama.len(), 4, "cases per folder");
    let mut gemini = cases(&root, "gemini");
    assert_eq!(gemini.len(), 20, "cases of Gemini");
    for case in &mut gemini {
        case.expected = recordings_gemini::expectation(case.expected.take());
    }
    // Two halves of about the same weight: the one long stream of each wire decides.
    std::thread::scope(|scope| {
        scope.spawn(|| anthropic.iter().for_each(|case| check(&Anthropic, case)));
        scope.spawn(|| chat.iter().for_each(|case| check(&OpenAiChat::new(Quirks::OPENAI), case)));
        scope.spawn(|| responses.iter().for_each(|case| check(&OpenAiResponses, case)));
        scope.spawn(|| ollama.iter().for_each(|case| check(&Ollama::default(), case)));
        scope.spawn(|| gemini.iter().for_each(check_gemini));
        compat.iter().for_each(|case| check(&OpenAiChat::new(Quirks::COMPATIBLE), case));
    });
    eprintln!("recordings: {} gemini", gemini.len());
    eprintln!(
        "recordings: {} anthropic, {} openai_chat, {} compat",
        anthropic.len(),
        chat.len(),
        compat.len()
    );
    eprintln!("recordings: {} openai_responses", responses.len());
}

fn check<C: WireCodec>(codec: &C, case: &Case)
where
    C::Decoder: Clone + PartialEq,
{
    if case.name.contains("count_tokens") {
        return;
    }
    let status = case.field("http_status").as_u64().expect("a status");
    if status >= 400 {
        let body = case.read("response.json").expect("a body");
        let status = u16::try_from(status).expect("a status");
        let error = codec.classify(status, &RetryHeaders::default(), &body);
        assert_eq!(error.status, Some(status), "{}", case.name);
        agrees_on_error(case, &error);
        return;
    }
    let fresh = || codec.decoder("as-requested");
    if let Some(body) = case.read("response.json") {
        agrees(case, &decode(fresh(), [body.as_slice()]));
        return;
    }
    let bytes = case.read("response.sse").or_else(|| case.read("response.ndjson")).expect("a body");
    let whole = decode(fresh(), [bytes.as_slice()]);
    agrees(case, &whole);
    assert_eq!(decode(fresh(), bytes.chunks(1)), whole, "{}: one byte at a time", case.name);
    cut_in_two(case, &fresh(), &bytes);
}

fn check_gemini(case: &Case) {
    check(&Gemini, case);
    if let Some(body) = case.read("response.json") {
        recordings_gemini::cut_everywhere(&case.name, &body);
    }
}

/// Cuts the stream in two at every offset of interest.
///
/// Feeding a prefix in one piece or line by line leads to the same state (checked on the way), and so does feeding
/// the rest; so for each cut only the line with the cut in it is fed anew, in two pieces, and must lead to the state
/// and the events of that line in one piece. What follows is then the same by itself.
fn cut_in_two<D: StreamDecoder + Clone + PartialEq>(case: &Case, fresh: &D, bytes: &[u8]) {
    let offsets = offsets(case, bytes);
    // The whole prefix is fed anew at most 32 times, however long the stream is.
    let stride = bytes.iter().filter(|byte| **byte == b'\n').count() / 32 + 1;
    let mut state = fresh.clone();
    let mut start = 0;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if number % stride == stride - 1 {
            let mut prefix = fresh.clone();
            let fed = prefix.feed(&bytes[..start], &mut Vec::new());
            assert!(fed.is_ok() && prefix == state, "{}: {start} bytes in one piece", case.name);
        }
        let cuts: Vec<usize> = offsets.range(start + 1..start + line.len()).copied().collect();
        let before = (!cuts.is_empty()).then(|| state.clone());
        let mut events = Vec::new();
        let error = state.feed(line, &mut events).err();
        let whole = (state, events, error);
        for offset in cuts {
            let mut cut = (before.clone().expect("there are cuts"), Vec::new(), None);
            let (left, right) = line.split_at(offset - start);
            let fed = cut.0.feed(left, &mut cut.1).and_then(|()| cut.0.feed(right, &mut cut.1));
            cut.2 = fed.err();
            assert!(cut == whole, "{}: cut at {offset}", case.name);
        }
        if whole.2.is_some() {
            return;
        }
        state = whole.0;
        start += line.len();
    }
}

/// All offsets of a small file; of a larger one those within 8 bytes of its first 100 line ends and of the first
/// occurrence of each event type.
fn offsets(case: &Case, bytes: &[u8]) -> BTreeSet<usize> {
    if bytes.len() <= CUT_EVERYWHERE {
        return (1..bytes.len()).collect();
    }
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).take(100);
    let types = case.field("event_types").as_array().into_iter().flatten().filter_map(Value::as_str);
    let firsts = types.filter_map(|kind| memmem::find(bytes, kind.as_bytes()));
    ends.chain(firsts)
        .flat_map(|at| at.saturating_sub(8)..at + 9)
        .filter(|at| (1..bytes.len()).contains(at))
        .collect()
}

fn agrees(case: &Case, reply: &AssembledReply) {
    let name = &case.name;
    assert_eq!(json!(reply.text()), *case.field("text"), "{name}: text");
    assert_eq!(json!(reply.thinking()), *case.field("thinking"), "{name}: thinking");
    let calls: Vec<Value> = reply
        .calls()
        .into_iter()
        .map(|(id, name, args)| json!({ "id": id, "name": name, "args": args }))
        .collect();
    let expected: Vec<Value> = items(case, "tool_calls")
        .map(|call| json!({ "id": call["id"], "name": call["name"], "args": call["args"] }))
        .collect();
    assert_eq!(calls, expected, "{name}: calls");
    if let (Some(model), Some(expected)) = (&reply.model, case.field("model").as_str()) {
        assert_eq!(model, expected, "{name}: model");
    }
    assert_eq!(json!(reply.error.is_none()), *case.field("complete"), "{name}: completeness");
    match &reply.error {
        Some(error) => agrees_on_error(case, error),
        None => assert!(case.field("error").is_null(), "{name}: an error was expected"),
    }
    agrees_on_end(case, reply);
    assert_eq!(
        opaque(reply),
        items(case, "opaque").map(expected_opaque).collect::<Vec<_>>(),
        "{name}: opaque"
    );
    let types: Vec<&str> = items(case, "block_types").filter_map(Value::as_str).collect();
    if !types.is_empty() {
        assert_eq!(block_types(reply), types, "{name}: blocks in order");
    }
}

fn items<'a>(case: &'a Case, key: &str) -> impl Iterator<Item = &'a Value> {
    case.field(key).as_array().into_iter().flatten()
}

/// Stop reason, usage and refusal: of a finished reply, or what a failed one had said before.
fn agrees_on_end(case: &Case, reply: &AssembledReply) {
    let name = &case.name;
    let (stop, usage) = match &reply.finished {
        Some((stop, usage)) => (Some(stop.clone()), *usage),
        None => (reply.seen.stop.clone(), reply.seen.usage),
    };
    let word = stop.as_ref().map_or("error", |stop| stop_word(stop.kind));
    assert_eq!(json!(word), *case.field("stop_reason"), "{name}: stop reason");
    let raw = stop.as_ref().and_then(|stop| stop.raw.clone());
    let raw = raw.or_else(|| recordings_responses::failed_word(case.field("protocol"), reply));
    assert_eq!(json!(raw), *case.field("stop_reason_raw"), "{name}: raw stop reason");
    let refusal = stop.filter(|stop| stop.kind == StopKind::Refusal).and_then(|stop: StopReason| stop.detail);
    assert_eq!(json!(refusal), *case.field("refusal"), "{name}: refusal");
    if let Some(sequence) = case.field("stop_sequence").as_str() {
        let detail = reply.finished.as_ref().and_then(|(stop, _)| stop.detail.as_deref());
        assert_eq!(detail, Some(sequence), "{name}: stop sequence");
    }
    assert_eq!(usage_value(&usage), expected_usage(case.field("usage")), "{name}: usage");
}

fn stop_word(kind: StopKind) -> &'static str {
    match kind {
        StopKind::EndTurn => "end_turn",
        StopKind::ToolUse => "tool_use",
        StopKind::MaxTokens => "max_tokens",
        StopKind::StopSequence => "stop_sequence",
        StopKind::Refusal => "refusal",
        StopKind::PauseTurn => "pause_turn",
        StopKind::Interrupted => "interrupted",
        StopKind::Other => "other",
    }
}

/// The reader behind the expectations writes 0 for caches that were not reported; so both sides do here.
fn usage_value(usage: &Usage) -> Value {
    if *usage == Usage::default() {
        return Value::Null;
    }
    json!([
        usage.input,
        usage.output,
        usage.cached_input.unwrap_or(0),
        usage.cache_write.unwrap_or(0),
        usage.reasoning
    ])
}

fn expected_usage(usage: &Value) -> Value {
    if usage.is_null() {
        return Value::Null;
    }
    json!([
        usage["input_tokens"],
        usage["output_tokens"],
        usage["cached_input_tokens"].as_u64().unwrap_or(0),
        usage["cache_write_tokens"].as_u64().unwrap_or(0),
        usage["reasoning_tokens"]
    ])
}

fn agrees_on_error(case: &Case, error: &ProviderError) {
    let (name, expected) = (&case.name, case.field("error"));
    assert_eq!(json!(error.message), json!(expected_message(case)), "{name}: error message");
    let word = [&expected["code"], &expected["type"]].into_iter().find_map(Value::as_str);
    assert_eq!(error.code.as_deref(), word, "{name}: error code");
    if let Some((_, class)) = CLASSES.iter().find(|(case, _)| case == name) {
        assert_eq!(error.class, *class, "{name}: class");
    } else {
        panic!("{name}: no class is written down for this error ({:?})", error.class);
    }
}

/// The provider's words, and what we put behind them: what the model wrote, how a missing model is fetched.
fn expected_message(case: &Case) -> String {
    let error = case.field("error");
    let mut message = error["message"].as_str().expect("a message").to_owned();
    if let Some(failed) = error["failed_generation"].as_str() {
        message = format!("{message}. The model had written: {failed}");
    }
    match case.name.as_str() {
        "ollama_native/error_404_model" => message + "; `ollama pull nonexistent-model:latest` fetches it",
        _ => message,
    }
}

/// The meaning of each recorded failure.
const CLASSES: &[(&str, ErrorClass)] = &[
    ("anthropic/error_400_context", ErrorClass::ContextOverflow),
    ("anthropic/error_400_param", ErrorClass::BadRequest),
    ("anthropic/error_401", ErrorClass::Auth),
    ("anthropic/error_404_model", ErrorClass::NotFound),
    ("openai_chat/azure_error_429", ErrorClass::RateLimited),
    ("openai_chat/azure_prompt_filter_error_in_200_json", ErrorClass::Filtered),
    ("openai_chat/error_400_role", ErrorClass::BadRequest),
    ("openai_chat/error_404_model", ErrorClass::NotFound),
    ("gemini/error_400_api_key", ErrorClass::Auth),
    ("gemini/error_404_model", ErrorClass::NotFound),
    ("gemini/error_429_quota", ErrorClass::RateLimited),
    ("gemini/unexpected_tool_call_json", ErrorClass::BadReply),
    ("compat_deepseek/error_401", ErrorClass::Auth),
    ("compat_groq/error_400_tool_use_failed", ErrorClass::BadRequest),
    ("compat_groq/midstream_error_stream", ErrorClass::BadRequest),
    ("compat_llamabox/error_field_line_truncated_stream", ErrorClass::Server),
    ("compat_mistral/error_401_detail_shape", ErrorClass::Auth),
    ("compat_ollama/error_401", ErrorClass::Auth),
    ("ollama_native/error_404_model", ErrorClass::NotFound),
    ("compat_openrouter/error_400_context", ErrorClass::ContextOverflow),
    ("compat_openrouter/error_429", ErrorClass::RateLimited),
    ("compat_openrouter/midstream_error_length_stream", ErrorClass::BadRequest),
    ("openai_responses/deepseek_error_400_missing_tool_output", ErrorClass::BadRequest),
    ("openai_responses/error_400_context", ErrorClass::ContextOverflow),
    ("openai_responses/error_400_orphan_reasoning", ErrorClass::BadRequest),
    ("openai_responses/error_401", ErrorClass::Auth),
    ("openai_responses/failed_insufficient_quota_stream_REFRAMED", ErrorClass::Quota),
];

/// Signatures, redacted thinking and reasoning details, in the words of the expectations.
fn opaque(reply: &AssembledReply) -> Vec<Value> {
    let mut found = Vec::new();
    for part in &reply.parts {
        let Some(opaque) = &part.opaque else { continue };
        assert_eq!(opaque.model, "as-requested", "opaque data is bound to the model that was asked");
        let data = &opaque.data;
        if let Some(signature) = data.get("signature") {
            found.push(json!(["signature", null, null, signature]));
        }
        found.extend(recordings_gemini::signatures(part));
        if data["type"] == "redacted_thinking" {
            found.push(json!(["redacted_thinking", null, null, data["data"]]));
        }
        found.extend(recordings_responses::reasoning(data));
        for item in data["reasoning_details"].as_array().into_iter().flatten() {
            let value = ["signature", "data"].iter().find_map(|key| item.get(*key));
            if let Some(value) = value {
                let kind = format!("reasoning_details.{}", item["type"].as_str().unwrap_or_default());
                found.push(json!([kind, item["index"], item["id"], value]));
            }
        }
    }
    found
}

fn expected_opaque(item: &Value) -> Value {
    json!([item["kind"], item["index"], item["id"], item["value"]])
}

fn block_types(reply: &AssembledReply) -> Vec<String> {
    let kind = |part: &'_ crate::runtime::assembled::Part| match &part.kind {
        StartKind::Text => Some("text".to_owned()),
        StartKind::Thinking => Some("thinking".to_owned()),
        StartKind::ToolCall { .. } => Some("tool_use".to_owned()),
        StartKind::Native => {
            let data = part.opaque.as_ref().map(|opaque| &opaque.data)?;
            data["type"].as_str().map(str::to_owned)
        }
    };
    reply.parts.iter().filter_map(kind).collect()
}

/// After a recorded reply we send what the recording client sent: (reply, the request after it).
const CONTINUATIONS: &[(&str, &str)] = &[
    ("anthropic/thinking_then_tool_stream", "anthropic/thinking_tool_continuation_stream"),
    ("anthropic/parallel_tools_stream", "anthropic/parallel_tools_continuation_stream"),
    ("anthropic/tool_no_args_stream", "anthropic/tool_no_args_continuation_stream"),
    ("openai_chat/tools_stream", "openai_chat/tools_continuation_stream"),
    (
        "openai_chat/gpt5_parallel_tools_reasoning_tokens_stream",
        "openai_chat/gpt5_parallel_continuation_stream",
    ),
    (
        "compat_openrouter/reasoning_details_tool_stream",
        "compat_openrouter/reasoning_details_continuation_stream",
    ),
    ("compat_mistral/tool_whole_args_stream", "compat_mistral/tool_continuation_stream"),
];

/// Recorded requests that we do not send as the recording client did: the case and why. At most 10 of all wires.
pub const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "openai_responses/tool_continuation_stream",
        "the client sent the item's id as `call_id`, which pairs with nothing",
    ),
    (
        "openai_responses/reasoning_summary_continuation_stream",
        "the client dropped the encrypted reasoning; we keep it",
    ),
];

const _: () = assert!(EXCEPTIONS.len() <= 10);

#[test]
fn continuations_agree() {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else {
        skipped("recordings (set CO_RECORDINGS)");
        return;
    };
    recordings_gemini::continuations_agree(&root);
    for (reply, next) in CONTINUATIONS {
        let stream = std::fs::read(root.join(reply).join("response.sse")).expect("a recorded reply");
        let recorded = std::fs::read(root.join(next).join("request.json")).expect("a recorded request");
        let recorded: Value = serde_json::from_slice(&recorded).expect("JSON");
        if reply.starts_with("anthropic") {
            continues(&Anthropic, next, &stream, &recorded);
        } else {
            continues(&OpenAiChat::new(Quirks::COMPATIBLE), next, &stream, &recorded);
        }
    }
}

fn continues<C: WireCodec>(codec: &C, name: &str, stream: &[u8], recorded: &Value) {
    let model = recorded["model"].as_str().expect("a model");
    let reply = decode(codec.decoder(model), [stream]).message();
    let recorded = plain(&recorded["messages"]);
    let answers = texts_of_returns(&recorded);
    let calls: Vec<CallId> = reply.calls().map(|call| call.id.clone()).collect();
    assert_eq!(calls.len(), answers.len(), "{name}");
    let returns = calls
        .into_iter()
        .zip(answers)
        .map(|(call, text)| ToolReturn::program(call, ReturnStatus::Ok, text))
        .collect();
    let prompt = Message::User { parts: vec![UserPart::Text { text: "a prompt".to_owned() }] };
    let messages = vec![prompt, Message::Assistant(reply), Message::ToolReturns { returns }];
    let request = ModelRequest::new(model, messages);
    let body: Value =
        serde_json::from_slice(&codec.encode(&request).expect("it can be sent").body).expect("JSON");
    let sent = plain(&body["messages"]);
    let after_prompt = |messages: &'_ Value| -> Vec<Value> {
        let messages = messages.as_array().expect("messages").iter();
        messages.skip_while(|message| message["role"] != "assistant").cloned().collect()
    };
    assert_eq!(after_prompt(&sent), after_prompt(&recorded), "{name}");
}

/// Messages without the differences that carry no meaning: cache marks, spaces in arguments, a lone text as a list.
fn plain(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Object(fields) => {
            let dropped = |key: &str| ["cache_control", "caller"].contains(&key);
            let mut plain: serde_json::Map<String, Value> = fields
                .iter()
                .filter(|(key, _)| !dropped(key))
                .map(|(key, value)| (key.clone(), plain_field(key, value)))
                .collect();
            if plain.contains_key("tool_calls") {
                plain.entry("content").or_insert(json!(""));
            }
            Value::Object(plain)
        }
        other => other.clone(),
    }
}

fn plain_field(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("arguments", Value::String(text)) => serde_json::from_str(text).expect("arguments are JSON"),
        ("content", Value::Null) => json!(""),
        ("content", Value::Array(items)) if items.len() == 1 && items[0]["type"] == "text" => {
            items[0]["text"].clone()
        }
        (_, value) => plain(value),
    }
}

fn texts_of_returns(messages: &Value) -> Vec<String> {
    let messages = messages.as_array().expect("messages");
    let text = |value: &Value| value["content"].as_str().map(str::to_owned);
    let tools = messages.iter().filter(|message| message["role"] == "tool").filter_map(text);
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let results = blocks.filter(|block| block["type"] == "tool_result").filter_map(text);
    tools.chain(results).collect()
}
