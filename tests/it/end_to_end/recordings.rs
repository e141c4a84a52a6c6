//! The recordings as they are, over HTTP, through the whole binary: its account of the turn agrees with what an
//! independent reader made of the same bytes.

use std::path::{Path, PathBuf};

use kit::replay::server::{Delivery, Recording, ServerAnswer};
use memchr::memmem;
use serde_json::{Value, json};

use super::kit::{each, logged, on_terminal, replies, run, sent_lines, serve};
use crate::co::{Co, Service, Wire};
use crate::provider::recordings_gemini;
use crate::skip::skipped;

/// The service's reply once it has read that the tools called by the model do not exist.
const LAST: &str = "reply\n  text That is all.\n";

/// A recorded case.
#[derive(Debug)]
struct Case {
    /// `folder/case`.
    name: String,
    path: PathBuf,
}

impl Case {
    fn expected(&self) -> Value {
        let told = std::fs::read(self.path.join("expected.json")).unwrap();
        let told = serde_json::from_slice(&told).unwrap();
        if self.name.starts_with("gemini/") { recordings_gemini::expectation(told) } else { told }
    }

    fn wire(&self) -> Wire {
        match self.name.split('/').next().unwrap() {
            "anthropic" => Wire::Anthropic,
            "openai_responses" => Wire::Responses,
            "gemini" => Wire::Gemini,
            "ollama_native" => Wire::Ollama,
            _ => Wire::Chat,
        }
    }

    fn recording(&self) -> ServerAnswer {
        ServerAnswer::Recording(Recording::read(&self.path).unwrap())
    }

    /// A person whose model service answers first with the recording.
    fn service(&self) -> (Service, Co) {
        let mut answers = vec![self.recording()];
        answers.extend((0..3).flat_map(|_| replies(LAST)));
        let service = serve(answers);
        let co = Co::new().env("CO_HTTP_RETRIES", "0");
        let co = co.with(&service, self.wire());
        let co = if self.name.starts_with("openai_chat/") { co.env("CO_PROVIDER", "openai") } else { co };
        (service, co)
    }
}

fn cases(root: &Path) -> Vec<Case> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        found.sort();
        found
    };
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut cases = Vec::new();
    for provider in folders(root) {
        for path in folders(&provider) {
            cases.push(Case { name: format!("{}/{}", name(&provider), name(&path)), path });
        }
    }
    // It is no reply: the length of a conversation, which we never ask for.
    cases.retain(|case| case.name != "anthropic/count_tokens_json");
    cases
}

#[test]
fn every_recording_is_a_turn_that_ends_as_it_says() {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else {
        skipped("recordings over HTTP (set CO_RECORDINGS)");
        return;
    };
    let cases = cases(&root);
    assert_eq!(cases.len(), 24 + 13 + 23 + 22 + 20 + 4, "recorded cases");
    each(&cases, 4, ends_as_recorded);
}

fn ends_as_recorded(case: &Case) {
    let expected = case.expected();
    let (service, co) = case.service();
    let ran = run(&co, &["-p", "the prompt", "--output", "json"]);
    let told = ran.json();
    let text = told["text"].as_str().unwrap();
    let ended = (ran.code.unwrap(), told["end"].as_str().unwrap());
    let requests = told["usage"]["requests"].as_u64().unwrap();
    if !expected["error"].is_null() {
        assert_eq!((ended, requests), ((3, "failed"), 0), "{told:#}");
        return failed_as_recorded(case, &expected["error"], &told, &ran.err);
    }
    assert!(expected["complete"].as_bool().unwrap(), "a recording without an end has an error");
    match expected["stop_reason"].as_str().unwrap() {
        "end_turn" | "stop_sequence" => {
            assert_eq!((ended, requests, text), ((0, "completed"), 1, said(&expected)), "{told:#}");
        }
        "max_tokens" => {
            assert_eq!((ended, requests, text), ((1, "limit_reached"), 1, said(&expected)), "{told:#}");
        }
        "refusal" => {
            assert_eq!((ended, requests, text), ((0, "refused"), 1, said(&expected)), "{told:#}");
            let (raw, reason) = (expected["stop_reason_raw"].as_str(), expected["refusal"].as_str());
            let why = match (raw.and_then(|raw| raw.strip_prefix("promptFeedback:")), reason) {
                (Some(filter), Some(reason)) => {
                    format!("The provider's filter refused the prompt ({filter}): {reason}")
                }
                (None, Some(reason)) => format!("The model refused: {}.", reason.trim_end_matches('.')),
                (_, None) => format!("The provider's filter stopped the answer ({}).", raw.unwrap()),
            };
            assert_eq!(told["refusal"], why, "{told:#}");
        }
        "pause_turn" => {
            assert_eq!((ended, requests, text), ((0, "completed"), 2, "That is all."), "{told:#}");
            let role =
                service.server.requests()[1].body["messages"].as_array().unwrap().last().unwrap()["role"]
                    .clone();
            assert_eq!(role, "assistant", "the paused reply goes back as it is");
        }
        "tool_use" => {
            assert_eq!((ended, requests, text), ((0, "completed"), 2, "That is all."), "{told:#}");
            calls_are_unknown(&expected, &told, &sent_lines(&service, 2));
        }
        other => panic!("no case is written down for {other}"),
    }
    service.is_content();
}

/// The reply's text.
fn said(expected: &Value) -> &str {
    expected["text"].as_str().unwrap_or_default()
}

fn failed_as_recorded(case: &Case, error: &Value, told: &Value, err: &str) {
    let known = &told["error"];
    let message = error["message"].as_str().unwrap();
    if known["class"] == "context_overflow" {
        // Dropping older turns was tried first, and there are none.
        let tried = format!("{message}; there is nothing older to drop");
        assert_eq!(known["message"], tried, "{told:#}");
        assert!(err.contains("start over with /clear"), "{told:#} {err}");
        return;
    }
    // The model's text that the service refused comes after the service's words.
    let failed = error["failed_generation"].as_str();
    let told_of = match case.name.as_str() {
        "ollama_native/error_404_model" => "; `ollama pull nonexistent-model:latest` fetches it".to_owned(),
        _ => failed.map_or(String::new(), |failed| format!(". The model had written: {failed}")),
    };
    assert_eq!(known["message"], format!("{message}{told_of}"), "{told:#}");
    let word = [&error["code"], &error["type"]].into_iter().find_map(Value::as_str);
    assert_eq!(known["code"].as_str(), word, "{told:#}");
    let advice = known["advice"].as_str().unwrap();
    assert!(err.contains(message) && err.contains(advice), "{err}");
}

/// Every call is answered once, in order, as one of a tool that is not there; what was said before stays.
fn calls_are_unknown(expected: &Value, told: &Value, next: &[String]) {
    let calls = expected["tool_calls"].as_array().unwrap();
    let known: Vec<Value> = told["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| json!([call["name"], call["arguments"], call["status"]]))
        .collect();
    let wanted: Vec<Value> = calls.iter().map(|call| json!([call["name"], call["args"], "failed"])).collect();
    assert_eq!(known, wanted, "{told:#}");
    let (before, after): (Vec<&String>, Vec<&String>) =
        next.iter().partition(|line| line.starts_with("user ") || line.starts_with("assistant "));
    let text: String = before.iter().filter_map(|line| line.strip_prefix("assistant ")).collect();
    assert_eq!((before[0].as_str(), text.as_str()), ("user the prompt", said(expected)));
    let lines = calls.iter().map(|call| format!("call {} {}", call["name"].as_str().unwrap(), call["args"]));
    let answers = calls
        .iter()
        .map(|call| format!("return [failed] There is no tool `{}`", call["name"].as_str().unwrap()));
    assert_eq!(after.len(), 2 * calls.len(), "{next:#?}");
    for (line, wanted) in after.iter().zip(lines.chain(answers)) {
        assert!(line.starts_with(&wanted), "{wanted:?} in {next:#?}");
    }
}

/// Recordings with thinking of each wire: words of it, the mark of a piece, and before which of them the reply stops,
/// so that the words are said and nothing of the answer.
const THINKING: &[(&str, &str, &str, usize)] = &[
    ("anthropic/thinking_stream", "This is a", "thinking_delta", 6),
    ("compat_deepseek/reasoning_stream", "We are asked", "reasoning_content", 6),
    ("openai_responses/openrouter_raw_cot_stream", "The user asks", "response.reasoning_text.delta", 12),
    (
        "openai_responses/reasoning_summary_continuation_stream",
        "Finalizing the response",
        "response.reasoning_summary_text.delta",
        12,
    ),
    ("gemini/thinking_stream", "a real-world scenario with", "\"thought\"", 1),
    ("ollama_native/thinking_ndjson", "Here's a thinking", "\"thinking\":", 12),
];

#[test]
fn recorded_thinking_streams() {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else {
        skipped("recordings over HTTP (set CO_RECORDINGS)");
        return;
    };
    each(THINKING, 3, |(name, words, mark, before)| {
        let case = Case { name: (*name).to_owned(), path: root.join(name) };
        let expected = case.expected();
        let last = said(&expected).split_whitespace().next_back().unwrap().trim_matches(['*', '.']);
        let ServerAnswer::Recording(mut begun) = case.recording() else { panic!("a recording is one") };
        let end = memmem::find_iter(&begun.body, mark).nth(*before).unwrap();
        begun.delivery = Delivery::SilentAfter(end);
        let service = serve(vec![ServerAnswer::Recording(begun), case.recording()]);
        let co = Co::new().with(&service, case.wire());
        let mut screen = on_terminal(&co, &[], (100, 120));
        screen.wait_for("unsandboxed");
        screen.keys("think<ret>");
        screen.wait_until("live thinking", |screen| screen.contains(" thinking ") && screen.contains(words));
        screen.keys("<esc>");
        screen.wait_for("stopped");
        screen.keys("again<ret>");
        // The thinking that was cut off may hold the answer's last word as well.
        logged(&service, "sent 2");
        screen.wait_until("the folded thinking and the answer's end", |screen| {
            screen.contains("▸ thought") && screen.lines().any(|line| line.contains(last))
        });
        screen.keys("<c-o>");
        screen.wait_for(words);
        assert_eq!(service.server.requests().len(), 2);
        service.is_content();
    });
}
