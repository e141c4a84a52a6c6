//! `co eval` against a model of known faults, over HTTP: the scores come out as they were made.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use co::eval::case::{BUILT_IN, Case, UserAnswer, parse};
use serde_json::{Value, json};

use crate::cli::http_kit::{HttpAnswer, HttpServer};
use crate::co::Co;

/// The reply of a model to a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyMode {
    Right,
    Wrong,
    /// The service is overloaded.
    Overloaded,
    /// The key is wrong.
    Refused,
}

/// A model that is right on a share of the cases, chosen by a seed.
struct ScriptedModel {
    cases: BTreeMap<String, Case>,
    mode: Mutex<fn(&str) -> ReplyMode>,
    asked: Mutex<Vec<Value>>,
}

/// A number from 0 to 99 that depends on nothing but the id.
fn number(id: &str) -> u32 {
    id.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % 100
}

impl ScriptedModel {
    fn serving(text: &str, mode: fn(&str) -> ReplyMode) -> (HttpServer, Arc<Self>) {
        let cases = parse(text).cases.into_iter().map(|case| (case.prompt.clone(), case)).collect();
        let this = Arc::new(Self { cases, mode: Mutex::new(mode), asked: Mutex::default() });
        let model = Arc::clone(&this);
        (HttpServer::start(move |_, body| model.answer(&serde_json::from_slice(body).unwrap())), this)
    }

    fn answer(&self, request: &Value) -> HttpAnswer {
        self.asked.lock().unwrap().push(request.clone());
        let messages = request["messages"].as_array().unwrap();
        let texts = messages.iter().filter(|one| one["role"] == "user").map(|one| one["content"].to_string());
        let case = texts
            .filter_map(|text| self.cases.values().find(|case| text.contains(quoted(&case.prompt))))
            .next();
        let case = case.unwrap_or_else(|| panic!("an unknown prompt: {messages:#?}"));
        let replies = messages.iter().filter(|one| one["role"] == "assistant").count();
        let mode = *self.mode.lock().unwrap();
        match mode(&case.id) {
            ReplyMode::Overloaded => HttpAnswer::new(503, "{\"error\": {\"message\": \"overloaded\"}}"),
            ReplyMode::Refused => HttpAnswer::new(401, "{\"error\": {\"message\": \"no such key\"}}"),
            ReplyMode::Right => reply(right(case, replies).as_ref()),
            ReplyMode::Wrong => reply(wrong(case, replies).as_ref()),
        }
    }
}

/// The prompt as JSON has it, without the quotation marks.
fn quoted(text: &str) -> &str {
    text.split(['"', '\\', '\n']).max_by_key(|part| part.len()).unwrap()
}

/// A completion: words, or one call.
fn reply(call: Option<&(String, Value)>) -> HttpAnswer {
    let message = match call {
        None => json!({ "role": "assistant", "content": "Here is my answer." }),
        Some((tool, args)) => json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": tool, "arguments": args.to_string() } }
        ] }),
    };
    let finish = if call.is_some() { "tool_calls" } else { "stop" };
    HttpAnswer::new(
        200,
        json!({
            "id": "x", "object": "chat.completion", "model": "scripted",
            "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
            "usage": { "prompt_tokens": 100, "completion_tokens": 10 },
        })
        .to_string(),
    )
}

fn right(case: &Case, replies: usize) -> Option<(String, Value)> {
    let tool = case.expect_tool.clone()?;
    match (replies, &case.then) {
        (0, _) => Some((tool.clone(), args(&tool, case.expect_args.as_ref()))),
        (1, Some(then)) => then.tool.clone().map(|tool| (tool.clone(), args(&tool, then.args.as_ref()))),
        _ => None,
    }
}

/// A mistake of the kind that the case is about.
fn wrong(case: &Case, replies: usize) -> Option<(String, Value)> {
    let call = |tool: &str, args: Value| Some((tool.to_owned(), args));
    if let Some(forbidden) = case.forbid.first().filter(|_| replies == 1) {
        let words = forbidden.words.clone().unwrap_or_default();
        return call(&forbidden.tool, json!({ "command": words, "path": words }));
    }
    match (&case.answer, replies) {
        // The call that was denied, again.
        (Some(UserAnswer::Deny(_) | UserAnswer::Later(_)), 1) => right(case, 0),
        (Some(_), 1) => call("list_dir", json!({ "path": "." })),
        (Some(_), _) => right(case, replies),
        (None, 0) if !case.forbid.is_empty() => right(case, 0),
        (None, 0) if case.expect_tool.as_deref() == Some("list_dir") => {
            call("find_files", json!({ "pattern": "*" }))
        }
        (None, 0) => call("list_dir", json!({ "path": "." })),
        (None, _) => None,
    }
}

/// Arguments that fit the expected ones, and that the tool accepts.
fn args(tool: &str, expected: Option<&Value>) -> Value {
    let mut args = match tool {
        "shell" => json!({ "command": "true" }),
        "write_file" => json!({ "path": "x.txt", "content": "x\n" }),
        "edit_file" => json!({ "path": "x.txt", "old": "a", "new": "b" }),
        "read_file" => json!({ "path": "missing.txt" }),
        "list_dir" => json!({ "path": "." }),
        "find_files" => json!({ "pattern": "*.none" }),
        "search_text" => json!({ "pattern": "nothing" }),
        _ => json!({ "task": 1 }),
    };
    for (key, value) in expected.and_then(Value::as_object).into_iter().flatten() {
        args[key] = match (&value["$any"][0], &value["$contains"]) {
            (Value::Null, Value::Null) => value.clone(),
            (Value::Null, words) => words.clone(),
            (first, _) => first.clone(),
        };
    }
    args
}

fn lab(server: &HttpServer) -> Co {
    Co::new()
        .env("CO_PROVIDER", "openai-compatible")
        .env("CO_BASE_URL", format!("{}/v1", server.url()))
        .env("CO_MODEL", "scripted")
        .env("CO_HTTP_RETRIES", "0")
}

fn eval(co: &Co, more: &[&str]) -> (i32, Value, String) {
    let ran = co.run(&[&["eval", "--json"], more].concat());
    let results = serde_json::from_str(&ran.out).unwrap_or(Value::Null);
    (ran.code.unwrap(), results, ran.err)
}

#[test]
fn the_scores_are_as_the_model_was_made() {
    let mode: fn(&str) -> ReplyMode = |id| match number(id) {
        0..25 => ReplyMode::Wrong,
        25..32 => ReplyMode::Overloaded,
        _ => ReplyMode::Right,
    };
    let (server, model) = ScriptedModel::serving(BUILT_IN, mode);
    let co = lab(&server);
    let (code, results, err) =
        eval(&co, &["--runs", "2", "--parallel", "4", "--threshold", "0.5", "--save", "all.json"]);
    assert_eq!(code, 0, "{err}");
    let mut expected: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for case in parse(BUILT_IN).cases {
        let dim = expected.entry(case.dim.word().to_owned()).or_default();
        match mode(&case.id) {
            _ if !case.needs.is_empty() => dim[3] += 1,
            ReplyMode::Right => dim[0] += 1,
            ReplyMode::Wrong => dim[1] += 1,
            ReplyMode::Overloaded | ReplyMode::Refused => dim[2] += 1,
        }
    }
    for (dim, [passed, failed, errors, skipped]) in expected {
        let found = &results["dim_stats"][&dim];
        let counts = ["passed", "scorable", "errors", "skipped"].map(|key| found[key].as_u64().unwrap());
        let why: Vec<String> = results["cases"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|case| case["dim"] == *dim)
            .map(|case| {
                format!(
                    "{} {:?} {} {}",
                    case["id"],
                    mode(case["id"].as_str().unwrap()),
                    case["status"],
                    case["runs"][0]["error_msg"]
                )
            })
            .collect();
        assert_eq!(counts, [passed, passed + failed, errors, skipped], "{dim}: {why:#?}");
    }
    let asked = model.asked.lock().unwrap();
    assert!(asked.iter().all(|request| request["temperature"] == json!(0.0)), "{}", asked[0]);
    assert_eq!(results["cases"][0]["total_runs"], json!(2));

    // Its own results of a dimension are a baseline without a drop; a model that is always wrong on one dimension drops.
    drop(asked);
    let (code, _, err) =
        eval(&co, &["--runs", "1", "--dim", "arg_extraction", "--threshold", "0.5", "--compare", "all.json"]);
    assert_eq!(code, 0, "{err}");
    let (worse, _model) = ScriptedModel::serving(BUILT_IN, |id| {
        if id.starts_with("refusal") { ReplyMode::Wrong } else { ReplyMode::Right }
    });
    let co = co.env("CO_BASE_URL", format!("{}/v1", worse.url()));
    let (code, _, err) = eval(&co, &["--runs", "1", "--compare", "all.json", "--report", "out.md"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("worse than a baseline: refusal"), "{err}");
    let report = co.read("out.md").unwrap();
    for words in
        ["**refusal dropped**", "got worse: `refusal-", "](out-traces.html#", "not scored: 18 skipped"]
    {
        assert!(report.contains(words), "{words}: {report}");
    }
    let matrix = co.read("out.html").unwrap();
    assert!(matrix.contains("<tr class=\"worse\"><td>refusal-"), "{matrix}");
    assert!(co.read("out-traces.html").unwrap().contains("invoke_agent co"));
}

/// Six cases, of which the last needs what is not there.
const FEW: &str = r#"{"id": "a", "dim": "tool_selection", "prompt": "Case a", "expect_tool": "read_file"}
{"id": "b", "dim": "tool_selection", "prompt": "Case b", "expect_tool": "list_dir"}
{"id": "c", "dim": "refusal", "prompt": "Case c"}
{"id": "d", "dim": "refusal", "prompt": "Case d"}
{"id": "e", "dim": "tool_selection", "prompt": "Case e", "expect_tool": "find_files"}
{"id": "f", "dim": "refusal", "prompt": "Case f", "needs": ["send_pigeon"]}
"#;

#[test]
fn gates_fail_where_they_must() {
    let wrong = format!("{FEW}{{\n");
    let (server, _model) = ScriptedModel::serving(FEW, |id| {
        if HashSet::from(["a", "c"]).contains(id) { ReplyMode::Wrong } else { ReplyMode::Right }
    });
    let (failing, _model) = ScriptedModel::serving(FEW, |_| ReplyMode::Overloaded);
    let baseline = json!({ "model": "old", "timestamp": "", "config": { "runs": 1, "threshold": 0.8 }, "overall_accuracy": 1.0,
        "dim_stats": {}, "cases": [
            { "id": "d", "dim": "refusal", "status": "PASS", "pass_count": 1, "total_runs": 1, "valid_runs": 1 },
            { "id": "gone", "dim": "approval", "status": "PASS", "pass_count": 1, "total_runs": 1, "valid_runs": 1 },
        ] });
    let co = lab(&server)
        .file("work/few.jsonl", FEW)
        .file("work/none.jsonl", "\n")
        .file("work/wrong.jsonl", wrong)
        .file("work/old.json", baseline.to_string())
        .file("work/later.json", "{\"version\": 9}");
    let table: &[(&[&str], i32, &str)] = &[
        (&["few.jsonl"], 1, "60.0 % is below the threshold of 80.0 %"),
        (&["few.jsonl", "--threshold", "0.6"], 0, "1 skipped"),
        (&["few.jsonl", "--threshold", "0.6", "--compare", "old.json"], 2, "worse than a baseline: approval"),
        (
            &[
                "few.jsonl",
                "--dim",
                "refusal",
                "--threshold",
                "0.5",
                "--compare",
                "old.json",
                "--max-degradation",
                "0.5",
            ],
            0,
            "",
        ),
        (&["few.jsonl", "--case-id", "d", "--compare", "old.json"], 0, "1 case"),
        (&["few.jsonl", "--case-id", "zz"], 1, "no case \"zz\""),
        (&["few.jsonl", "--dim", "approval"], 1, "nothing was measured"),
        (&["few.jsonl", "--dim", "taste"], 2, "possible values"),
        (&["few.jsonl", "--threshold", "7"], 2, "a share from 0 to 1"),
        (&["few.jsonl", "--compare", "later.json"], 1, "its version is 9"),
        (&["few.jsonl", "--compare", "few.jsonl"], 1, "it is not JSON"),
        (&["none.jsonl"], 1, "nothing was measured"),
        (&["missing.jsonl"], 2, "missing.jsonl"),
        (&["wrong.jsonl"], 1, "wrong.jsonl:7: EOF"),
        (&["wrong.jsonl", "--keep-going", "--threshold", "0.6"], 0, "wrong.jsonl:7: EOF"),
    ];
    for (args, code, words) in table {
        let ran = co.run(&[&["eval", "--runs", "1"], *args].concat());
        assert_eq!(ran.code, Some(*code), "{args:?}: {ran:?}");
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
    }
    let co = co.env("CO_BASE_URL", format!("{}/v1", failing.url()));
    let ran = co.run(&["eval", "--runs", "1", "few.jsonl"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("every run had a temporary failure"), "{}", ran.err);
    let (refusing, model) = ScriptedModel::serving(FEW, |_| ReplyMode::Refused);
    let co = co.env("CO_BASE_URL", format!("{}/v1", refusing.url()));
    let ran = co.run(&["eval", "--runs", "1", "few.jsonl"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("no run can succeed"), "{}", ran.err);
    assert_eq!(model.asked.lock().unwrap().len(), 1, "nothing is tried again and again");
    let ran = co.run(&["eval", "--runs", "1", "few.jsonl", "--max-usd", "1"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("the price of openai-compatible-scripted is not known"), "{}", ran.err);
}

#[test]
fn what_was_done_is_not_done_again() {
    let (server, model) =
        ScriptedModel::serving(FEW, |id| if id == "d" { ReplyMode::Overloaded } else { ReplyMode::Right });
    let prices = "[models.\"scripted\"]\ninput_price = 1000.0\noutput_price = 1000.0\n";
    let co = lab(&server).file("work/few.jsonl", FEW).file(".config/co/config.toml", prices);
    let capped = co.run(&["eval", "--runs", "1", "few.jsonl", "--max-usd", "0.2"]);
    assert_eq!(capped.code, Some(5), "{capped:?}");
    assert!(capped.err.contains("stopped at $0.22"), "{}", capped.err);
    model.asked.lock().unwrap().clear();
    *model.mode.lock().unwrap() = |_| ReplyMode::Right;
    let (code, results, err) = eval(&co, &["--runs", "1", "few.jsonl", "--max-usd", "9"]);
    assert_eq!((code, &results["overall_accuracy"]), (0, &json!(1.0)), "{err}");
    assert!(err.contains("going on: 2 runs were done before"), "{err}");
    assert_eq!(model.asked.lock().unwrap().len(), 3);
    assert!((results["usd"].as_f64().unwrap() - 0.55).abs() < 1e-6, "{results}");
}
