//! The HTTP shell against real connections on loopback: scripts in each wire, recordings as they are, and every way a
//! connection can go wrong.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use co::message::{CallId, Message, ReturnStatus, ToolReturn, Usage};
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Timeouts};
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{
    ErrorClass, ModelRequest, Provider, ProviderError, ReplyMetadata, StreamEvent, WireCodec,
};
use co::stdx::clock::ManualClock;
use futures::StreamExt;
use kit::replay::parse_replies;
use kit::replay::server::{Delivery, Plan, Recording, ReplayServer, ServerAnswer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::runtime::assembled::{AssembledReply, decode};
use crate::skip::skipped;

/// The wires under test.
#[derive(Debug, Clone, Copy)]
enum Wire {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

const WIRES: [Wire; 5] = [Wire::Anthropic, Wire::Chat, Wire::Responses, Wire::Gemini, Wire::Ollama];

fn provider(wire: Wire, base_url: &str, idle: Duration) -> Box<dyn Provider> {
    let clock = Arc::new(ManualClock::at(jiff::Timestamp::UNIX_EPOCH));
    let timeouts = Timeouts { connect: Duration::from_secs(10), idle };
    let endpoint = |key_header| Endpoint {
        name: "replayed".to_owned(),
        base_url: base_url.to_owned(),
        key: ApiKey::new("sk-test"),
        key_header,
        headers: Vec::new(),
        network: Default::default(),
        timeouts,
    };
    match wire {
        Wire::Anthropic => {
            Box::new(HttpProvider::new(Anthropic, &endpoint(KeyHeader::XApiKey), clock).unwrap())
        }
        Wire::Chat => {
            let codec = OpenAiChat::new(Quirks::OPENAI);
            Box::new(HttpProvider::new(codec, &endpoint(KeyHeader::Bearer), clock).unwrap())
        }
        Wire::Responses => {
            Box::new(HttpProvider::new(OpenAiResponses, &endpoint(KeyHeader::Bearer), clock).unwrap())
        }
        Wire::Ollama => {
            let codec = Ollama::new(Some(1_000));
            Box::new(HttpProvider::new(codec, &endpoint(KeyHeader::Bearer), clock).unwrap())
        }
        Wire::Gemini => Box::new(HttpProvider::new(Gemini, &endpoint(KeyHeader::Bearer), clock).unwrap()),
    }
}

fn of(wire: Wire, server: &ReplayServer) -> Box<dyn Provider> {
    let url = match wire {
        Wire::Anthropic | Wire::Gemini | Wire::Ollama => server.url(),
        Wire::Chat | Wire::Responses => server.chat_url(),
    };
    provider(wire, &url, Duration::from_secs(60))
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest { system: "Be brief.".to_owned(), ..ModelRequest::new("m", messages) }
}

async fn collect(provider: &dyn Provider, messages: Vec<Message>) -> AssembledReply {
    let mut stream = provider.stream(request(messages), CancellationToken::new());
    let mut events = Vec::new();
    let mut error = None;
    while let Some(item) = stream.next().await {
        assert!(error.is_none(), "nothing follows an error");
        match item {
            Ok(event) => events.push(event),
            Err(failed) => error = Some(failed),
        }
    }
    AssembledReply::of(&events, error, ReplyMetadata::default())
}

async fn scripted(script: &str) -> ReplayServer {
    let answers = parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect();
    ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap()
}

async fn serving(recording: Recording) -> ReplayServer {
    ReplayServer::start(Plan { answers: vec![ServerAnswer::Recording(recording)], ..Plan::default() })
        .await
        .unwrap()
}

fn body(status: u16, content_type: &str, body: &str) -> Recording {
    Recording {
        status,
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
        body: body.as_bytes().to_vec(),
        delivery: Delivery::Whole,
    }
}

#[tokio::test]
async fn a_conversation_in_each_wire() {
    let script = "
reply
  thinking I should look first. | sig=abc
  text Hello **world**
  call read_file {\"path\":\"a.txt\"} | id=call_a
  call list_dir
  usage 100 20 40
reply
  text Done.
";
    for wire in WIRES {
        let server = scripted(script).await;
        let provider = of(wire, &server);
        let first = collect(provider.as_ref(), vec![Message::user("hi")]).await;
        assert_eq!(first.error, None, "{wire:?}");
        assert_eq!(first.model.as_deref(), Some("m"));
        assert_eq!(
            (first.thinking(), first.text()),
            ("I should look first.".into(), "Hello **world**".into())
        );
        let calls = [
            ("call_a".to_owned(), "read_file".to_owned(), json!({ "path": "a.txt" })),
            ("call_1_2".to_owned(), "list_dir".to_owned(), json!({})),
        ];
        assert_eq!(first.calls(), calls, "{wire:?}");
        let usage = first.finished.as_ref().unwrap().1;
        let told = Usage {
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            input: Some(100),
            output: Some(20),
            cached_input: if matches!(wire, Wire::Ollama) { None } else { Some(40) },
            cost: None,
        };
        assert_eq!(usage, told);
        let reply = first.message();
        let returns = reply
            .calls()
            .map(|call| ToolReturn::program(CallId(call.id.0.clone()), ReturnStatus::Ok, "r"))
            .collect();
        let next = vec![Message::user("hi"), Message::Assistant(reply), Message::ToolReturns { returns }];
        let second = collect(provider.as_ref(), next).await;
        assert_eq!((second.error.clone(), second.text()), (None, "Done.".into()), "{wire:?}");
        assert_eq!(server.findings(), Vec::<String>::new());
        checks_headers(wire, &server);
    }
}

fn checks_headers(wire: Wire, server: &ReplayServer) {
    let requests = server.requests();
    let sent = &requests[0];
    let (path, header, value) = match wire {
        Wire::Anthropic => ("/v1/messages", "x-api-key", "sk-test"),
        Wire::Chat => ("/v1/chat/completions", "authorization", "Bearer sk-test"),
        Wire::Responses => ("/v1/responses", "authorization", "Bearer sk-test"),
        Wire::Ollama => ("/api/chat", "authorization", "Bearer sk-test"),
        Wire::Gemini => ("/v1beta/models/m:streamGenerateContent?alt=sse", "authorization", "Bearer sk-test"),
    };
    assert_eq!((sent.path.as_str(), sent.header(header)), (path, Some(value)));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    // Gemini streams by its path.
    assert_eq!(sent.body["stream"] == true, !matches!(wire, Wire::Gemini));
    let version = matches!(wire, Wire::Anthropic).then_some("2023-06-01");
    assert_eq!(sent.header("anthropic-version"), version);
}

#[tokio::test]
async fn every_end_of_a_script_comes_through() {
    let stop = |kind: &str, detail: &str| format!("{kind} {detail}");
    let everywhere = |kind: &str, detail: &str| WIRES.map(|_| stop(kind, detail));
    let cases: Vec<(&str, [String; WIRES.len()])> = vec![
        ("text a\nstop max_tokens", everywhere("MaxTokens", "-")),
        (
            "stop refusal I may not",
            WIRES.map(|wire| match wire {
                Wire::Ollama => stop("Other", "-"),
                Wire::Anthropic | Wire::Chat | Wire::Responses | Wire::Gemini => stop("Refusal", "I may not"),
            }),
        ),
        (
            "text a\nstop pause_turn",
            WIRES.map(|wire| stop(if matches!(wire, Wire::Anthropic) { "PauseTurn" } else { "Other" }, "-")),
        ),
        ("text a\nstop sulk", everywhere("Other", "-")),
        ("text*3 \"ab\"", everywhere("EndTurn", "-")),
    ];
    for (steps, expected) in cases {
        for (wire, expected) in WIRES.into_iter().zip(expected) {
            let server = scripted(&format!("reply\n{steps}")).await;
            let reply = collect(of(wire, &server).as_ref(), vec![Message::user("hi")]).await;
            let (stop, _) = reply.finished.unwrap_or_else(|| panic!("{wire:?} {steps}: {:?}", reply.error));
            let found = format!("{:?} {}", stop.kind, stop.detail.as_deref().unwrap_or("-"));
            assert_eq!(found, expected, "{wire:?} {steps}");
        }
    }
}

#[tokio::test]
async fn failures_are_typed() {
    let cases: Vec<(&str, &str, ErrorClass, Option<u16>, &str)> = vec![
        (
            "error 429 rate_limit_error slow down | retry-after=2",
            "",
            ErrorClass::RateLimited,
            Some(429),
            "slow down",
        ),
        ("error 401 authentication_error bad key", "", ErrorClass::Auth, Some(401), "bad key"),
        ("error 529 overloaded_error busy", "", ErrorClass::Overloaded, Some(529), "busy"),
        ("text a\nerror 529 overloaded_error busy", "a", ErrorClass::Overloaded, None, "busy"),
        ("text a\ncut", "a", ErrorClass::Network, None, "the server closed the connection"),
        ("cut", "", ErrorClass::Network, None, "the connection to 127.0.0.1"),
    ];
    for wire in WIRES {
        for (steps, said, class, status, words) in &cases {
            let server = scripted(&format!("reply\n{steps}")).await;
            let reply = collect(of(wire, &server).as_ref(), vec![Message::user("hi")]).await;
            let text = reply.text();
            let error = reply.error.unwrap_or_else(|| panic!("{wire:?} {steps} must fail"));
            // This wire's errors are texts only: within a reply nothing distinguishes them.
            let in_reply = steps.starts_with("text a\nerror");
            let class = if matches!(wire, Wire::Ollama) && in_reply { ErrorClass::Server } else { *class };
            // This one names the status in the error itself.
            let status = if matches!(wire, Wire::Gemini) && in_reply { Some(529) } else { *status };
            assert_eq!(
                (text.as_str(), error.class, error.status),
                (*said, class, status),
                "{wire:?} {steps}"
            );
            assert!(error.message.contains(words), "{wire:?} {steps}: {}", error.message);
            let wait = steps.contains("retry-after").then_some(Duration::from_secs(2));
            assert_eq!(error.retry_after, wait);
        }
    }
}

#[tokio::test]
async fn a_bad_conversation_is_refused_as_a_service_would() {
    let server = scripted("reply\n text a").await;
    let reply = collect(
        of(Wire::Chat, &server).as_ref(),
        vec![
            Message::user("hi"),
            Message::Assistant(
                collect(
                    of(Wire::Chat, &scripted("reply\n call x {}").await).as_ref(),
                    vec![Message::user("hi")],
                )
                .await
                .message(),
            ),
        ],
    )
    .await;
    let error = reply.error.unwrap();
    assert_eq!((error.class, error.status), (ErrorClass::BadRequest, Some(400)));
    assert!(error.message.contains("has no return immediately after it"), "{}", error.message);
    assert_eq!(server.findings().len(), 1);
}

#[tokio::test]
async fn odd_answers_are_understood() {
    let chunk = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let whole =
        json!({ "model": "m", "choices": [{ "message": { "content": "Hi" }, "finish_reason": "stop" }] })
            .to_string();
    let moved = Recording {
        headers: vec![("location".to_owned(), "https://elsewhere.example/v1".to_owned())],
        ..body(308, "text/html", "")
    };
    type Expected = Result<&'static str, (ErrorClass, &'static str)>;
    let cases: Vec<(&str, Recording, Expected)> = vec![
        ("a JSON body", body(200, "application/json; charset=utf-8", &whole), Ok("Hi")),
        ("a stream labelled as JSON", body(200, "application/json", chunk), Ok("Hi")),
        ("JSON labelled as a stream", body(200, "text/event-stream", &whole), Ok("Hi")),
        ("a stream without a label", body(200, "application/octet-stream", chunk), Ok("Hi")),
        (
            "in single bytes",
            Recording { delivery: Delivery::InPieces(1), ..body(200, "text/event-stream", chunk) },
            Ok("Hi"),
        ),
        (
            "cut after all that counts",
            Recording { delivery: Delivery::CutAfter(84), ..body(200, "text/event-stream", chunk) },
            Ok("Hi"),
        ),
        (
            "a login page",
            body(200, "text/html", "<html>Log in</html>"),
            Err((ErrorClass::Malformed, "a web page")),
        ),
        (
            "an error with a good status",
            body(200, "application/json", "{\"error\":{\"message\":\"no\"}}"),
            Err((ErrorClass::Server, "no")),
        ),
        ("an empty body", body(200, "application/json", ""), Err((ErrorClass::Truncated, "without a reply"))),
        ("a redirect", moved, Err((ErrorClass::NotFound, "redirects to https://elsewhere.example/v1"))),
        ("an error page", body(502, "text/html", "<html>"), Err((ErrorClass::Server, "status 502"))),
    ];
    for (about, recording, expected) in cases {
        let server = serving(recording).await;
        let reply = collect(of(Wire::Chat, &server).as_ref(), vec![Message::user("hi")]).await;
        match (expected, &reply.error) {
            (Ok(text), None) => assert_eq!(reply.text(), text, "{about}"),
            (Err((class, words)), Some(error)) => {
                assert_eq!(error.class, class, "{about}: {error}");
                assert!(error.message.contains(words), "{about}: {error}");
            }
            (expected, error) => panic!("{about}: found {error:?}, expected {expected:?}"),
        }
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    for (about, script, said) in [("at once", "hang", ""), ("after some words", "text a\nhang", "a")] {
        let server = scripted(&format!("reply\n{script}")).await;
        let provider = provider(Wire::Anthropic, &server.url(), Duration::from_millis(200));
        let reply = collect(provider.as_ref(), vec![Message::user("hi")]).await;
        let text = reply.text();
        let error = reply.error.unwrap();
        assert_eq!((error.class, text.as_str()), (ErrorClass::Idle, said), "{about}");
        server.logged("gone 1").await;
    }
}

/// The events of a reply that breaks off are delivered before its failure.
#[tokio::test]
async fn usage_is_told_before_a_failure() {
    for end in ["cut", "error 529 overloaded_error busy"] {
        let server = scripted(&format!("reply\n usage 100 3\n text a\n {end}")).await;
        let provider = of(Wire::Anthropic, &server);
        let stream = provider.stream(request(vec![Message::user("hi")]), CancellationToken::new());
        let items: Vec<_> = stream.collect().await;
        assert!(items.last().is_some_and(Result::is_err), "{end}: {items:?}");
        let told = items.iter().rev().find_map(|item| match item {
            Ok(StreamEvent::Usage { usage }) => usage.input,
            _ => None,
        });
        assert_eq!(told, Some(100), "{end}: {items:?}");
    }
}

#[tokio::test]
async fn nobody_listens() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let provider = provider(Wire::Chat, &format!("http://{free}/v1"), Duration::from_secs(60));
    let error = collect(provider.as_ref(), vec![Message::user("hi")]).await.error.unwrap();
    assert_eq!(error.class, ErrorClass::Network);
    assert!(error.message.contains(&format!("could not reach {free}")), "{error}");
}

/// Cancelling and dropping both close the connection; the server sees it go.
#[tokio::test]
async fn cancel_and_drop_close_the_connection() {
    for how in ["cancel", "drop"] {
        let server = scripted("reply\n text a\n gate g\n text b").await;
        let cancel = CancellationToken::new();
        let provider = of(Wire::Anthropic, &server);
        let mut stream = provider.stream(request(vec![Message::user("hi")]), cancel.clone());
        loop {
            if let Some(Ok(StreamEvent::PartDelta { .. })) = stream.next().await {
                break;
            }
        }
        server.gate().reached("g").await;
        if how == "cancel" {
            cancel.cancel();
            assert!(stream.next().await.is_none(), "after a cancel nothing is said");
        }
        drop(stream);
        server.logged("gone 1").await;
    }
}

/// The control pages, as another process uses them.
#[tokio::test]
async fn gates_open_over_http() {
    let server = scripted("reply\n text a\n gate g\n text b").await;
    let provider = of(Wire::Chat, &server);
    let answer = tokio::spawn(async move { collect(provider.as_ref(), vec![Message::user("hi")]).await });
    let control = |path: &str| {
        let url = format!("{}/control/{path}", server.url());
        async move { reqwest::get(url).await.unwrap().text().await.unwrap() }
    };
    assert_eq!(control("reached/g").await, "{\"reached\":\"g\"}");
    assert_eq!(control("log").await, "request 1 /v1/chat/completions\ngate g");
    assert_eq!(control("release/g").await, "{\"released\":\"g\"}");
    assert_eq!(answer.await.unwrap().text(), "ab");
    server.logged("sent 1").await;
}

/// Recordings of real traffic over a real connection give what the decoders give.
#[tokio::test]
async fn recordings_over_http() {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else {
        skipped("recordings (set CO_RECORDINGS)");
        return;
    };
    let mut served = 0;
    for provider in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        let name = provider.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wire = match name.as_str() {
            "anthropic" => Wire::Anthropic,
            "openai_responses" => Wire::Responses,
            "gemini" => Wire::Gemini,
            name if name == "openai_chat" || name.starts_with("compat_") => Wire::Chat,
            "ollama_native" => Wire::Ollama,
            _ => continue,
        };
        for case in std::fs::read_dir(provider).unwrap().map(|entry| entry.unwrap().path()) {
            if !case.to_string_lossy().contains("count_tokens") {
                over_http(wire, &case).await;
                served += 1;
            }
        }
    }
    assert_eq!(served, 64 + 22 + 20, "all recordings of these wires");
}

async fn over_http(wire: Wire, case: &std::path::Path) {
    let recording = Recording::read(case).unwrap();
    let (status, bytes) = (recording.status, recording.body.clone());
    let server = serving(Recording { delivery: Delivery::InPieces(1_000), ..recording }).await;
    let found = collect(of(wire, &server).as_ref(), vec![Message::user("hi")]).await;
    let expected = match wire {
        Wire::Anthropic => direct(&Anthropic, status, &bytes),
        Wire::Chat => direct(&OpenAiChat::new(Quirks::OPENAI), status, &bytes),
        Wire::Responses => direct(&OpenAiResponses, status, &bytes),
        Wire::Ollama => direct(&Ollama::default(), status, &bytes),
        Wire::Gemini => direct(&Gemini, status, &bytes),
    };
    match expected {
        Ok(expected) => {
            assert_eq!(found, AssembledReply { seen: ReplyMetadata::default(), ..expected }, "{case:?}");
        }
        Err(error) => {
            let found = found.error.unwrap_or_else(|| panic!("{case:?} must fail"));
            assert_eq!((found.class, found.message), (error.class, error.message), "{case:?}");
        }
    }
}

fn direct<C: WireCodec>(codec: &C, status: u16, bytes: &[u8]) -> Result<AssembledReply, ProviderError> {
    if status >= 400 {
        return Err(codec.classify(status, &co::provider::RetryHeaders::default(), bytes));
    }
    let mut reply = decode(codec.decoder("m"), [bytes]);
    // A decoder knows no service; the shell names the one that was asked.
    reply
        .parts
        .iter_mut()
        .filter_map(|part| part.opaque.as_mut())
        .for_each(|opaque| opaque.provider = "replayed".to_owned());
    Ok(reply)
}

/// A silent truncation by the server is reported before the end, as a notice.
#[tokio::test]
async fn a_silent_cut_is_noticed() {
    let server = scripted("reply\n text a\n usage 1000 5").await;
    let long = vec![Message::user("ab ".repeat(6_000)), Message::user("go on")];
    let reply = collect(of(Wire::Ollama, &server).as_ref(), long).await;
    assert_eq!(server.requests()[0].body["options"]["num_ctx"], 1_000);
    assert_eq!((reply.text().as_str(), reply.notices.len()), ("a", 1));
    assert!(reply.notices[0].contains("read only part"), "{:?}", reply.notices);
}

/// A key never shows: not in an error, not in what a request is logged as.
#[tokio::test]
async fn the_key_stays_secret() {
    let server =
        serving(body(401, "application/json", &json!({ "error": { "message": "bad key" } }).to_string()))
            .await;
    let error = collect(of(Wire::Chat, &server).as_ref(), vec![Message::user("hi")]).await.error.unwrap();
    let shown = format!("{error:?} {error} {}", serde_json::to_value(&error).unwrap_or(Value::Null));
    assert!(!shown.contains("sk-test"), "{shown}");
}
