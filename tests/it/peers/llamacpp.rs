//! llama.cpp's own server with a tiny model of random weights: its words are nonsense, its calls are held to the schema by
//! a grammar, and its three dialects are real.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use co::message::Message;
use co::provider::{ErrorClass, ToolChoice};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::{Wire, ask, converses, request};
use crate::co::Co;
use crate::skip::skipped;

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Anthropic];

/// The server; it ends with its standard input.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// `None` where no peers are installed.
    fn start() -> Option<Self> {
        let Some(peers) = std::env::var_os("CO_TEST_LLAMACPP").map(PathBuf::from) else {
            skipped("llama.cpp (run scripts/peers)");
            return None;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/peers.d/serve.py");
        let mut child = Command::new(peers.join("llamacpp/bin/python"))
            .arg(script)
            .arg(peers.join("tiny.gguf"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http"), "the server did not start: {url:?}");
        Some(Self { child, url: url.trim().to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn calls_tools_in_each_dialect() {
    let Some(server) = Server::start() else { return };
    for wire in WIRES {
        converses(wire, &server.url, "tiny").await;
    }
}

#[tokio::test]
async fn says_when_a_conversation_is_too_long() {
    let Some(server) = Server::start() else { return };
    for wire in WIRES {
        let long = vec![Message::user("x".repeat(70_000))];
        let reply = ask(wire.provider(&server.url).as_ref(), request("tiny", long, ToolChoice::Auto)).await;
        let error = reply.error.expect("it does not fit");
        assert_eq!(error.class, ErrorClass::ContextOverflow, "{wire:?}: {error:?}");
    }
}

/// A reply that is not awaited any more is given up, and the server answers the next one.
#[tokio::test]
async fn goes_on_after_a_dropped_reply() {
    let Some(server) = Server::start() else { return };
    for wire in WIRES {
        let provider = wire.provider(&server.url);
        let asked = request("tiny", vec![Message::user("hi")], ToolChoice::Required);
        let mut stream = provider.stream(asked, CancellationToken::new());
        assert!(stream.next().await.expect("an event").is_ok(), "{wire:?}");
        drop(stream);
        converses(wire, &server.url, "tiny").await;
    }
}

/// The whole program: what the model says is printed, and what it wants to do waits.
#[test]
fn a_turn_of_the_program() {
    let Some(server) = Server::start() else { return };
    let responses = ["--set", "providers.openai.wire=responses"];
    let cases =
        [("openai-compatible", "/v1", &[][..]), ("openai", "/v1", &responses), ("anthropic", "", &[])];
    for (provider, path, more) in cases {
        let co = Co::new()
            .env("CO_PROVIDER", provider)
            .env("CO_BASE_URL", format!("{}{path}", server.url))
            .env("CO_MODEL", "tiny")
            .env("CO_API_KEY", "sk-peer")
            .env("CO_MAX_REQUESTS", "3");
        let ran = co.run(&[&["-p", "hello", "--output", "json"], more].concat());
        let told = ran.json();
        let requests = told["usage"]["input"].as_u64().or(told["usage"]["input_tokens"].as_u64());
        // Done, waiting for a person, or at its limit: the model decides, and each is a good end.
        assert!(matches!(ran.code, Some(0 | 4 | 6)), "{provider}: {ran:#?}");
        assert!(requests > Some(100), "{provider}: no usage in {told:#}");
    }
}

/// Ten cases on a model that knows nothing: only the machinery is judged.
#[test]
fn ten_cases_are_scored() {
    let Some(server) = Server::start() else { return };
    let cases: Vec<&str> =
        co::eval::case::BUILT_IN.lines().filter(|line| !line.contains("needs")).step_by(7).take(10).collect();
    let co = Co::new()
        .file("work/ten.jsonl", cases.join("\n"))
        .env("CO_PROVIDER", "openai-compatible")
        .env("CO_BASE_URL", format!("{}/v1", server.url))
        .env("CO_MODEL", "tiny")
        .env("CO_MAX_OUTPUT_TOKENS", "48");
    let ran = co.run(&["eval", "ten.jsonl", "--runs", "1", "--threshold", "0", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = ran.json();
    assert_eq!(told["cases"].as_array().map(Vec::len), Some(10));
    let valid: u64 =
        told["cases"].as_array().unwrap().iter().filter_map(|case| case["valid_runs"].as_u64()).sum();
    assert!(valid >= 9, "{told:#}");
}
