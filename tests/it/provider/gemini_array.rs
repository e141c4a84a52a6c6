//! Gemini's stream without `alt=sse`: the same replies as one array, over real connections.

use co::provider::gemini::Gemini;
use co::provider::{ErrorClass, RetryHeaders, WireCodec};
use kit::replay::parse_replies;
use kit::replay::server::{Plan, ReplayServer, ServerAnswer};
use serde_json::json;

use crate::runtime::assembled::{AssembledReply, decode};

/// Asks for the reply of a script, framed as the path says, and decodes it.
async fn asked(script: &str, query: &str) -> Result<(AssembledReply, String), (u16, Vec<u8>)> {
    let answers = parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect();
    let server = ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap();
    let url = format!("{}/v1beta/models/m:streamGenerateContent{query}", server.url());
    let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    // Without one the TLS library panics; installing one twice is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client.post(url).body(body.to_string()).send().await.unwrap();
    let (status, label) =
        (answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap().to_owned());
    let bytes = answer.bytes().await.unwrap().to_vec();
    if status >= 400 {
        return Err((status, bytes));
    }
    Ok((decode(Gemini.decoder("m"), bytes.chunks(7)), label))
}

#[tokio::test]
async fn both_framings_say_the_same() {
    let scripts = [
        "thinking Hm. | sig=abc\ntext a\ntext*40 \"b\"\ncall f {\"a\":\"}]\"} | id=c1\ncall g | id=\nusage 100 20 40",
        "text*3 \"ab\"",
        "thinking Hm. | sig=abc\ntext a",
        "text a\ncall f {\"a\" | open\nstop max_tokens",
        "call f {oops | raw",
        "native {\"executableCode\":{\"code\":\"1\"}}\ntext a",
        "stop refusal No",
        "text a\nstop refusal No",
        "text a\nerror 503 unavailable busy",
        "text a\ncall f\nerror 422 MALFORMED_FUNCTION_CALL no such thing",
    ];
    for script in scripts {
        let script = format!("reply\n{script}");
        let (events, label) = asked(&script, "?alt=sse").await.unwrap();
        let (array, other) = asked(&script, "").await.unwrap();
        assert_eq!(events, array, "{script}");
        let thrown = script.contains("MALFORMED").then_some(ErrorClass::BadReply);
        assert!(thrown.is_none() || events.error.as_ref().map(|error| error.class) == thrown, "{events:?}");
        assert!(!events.parts.is_empty() || events.finished.is_some(), "{script}: {events:?}");
        assert_eq!(
            (label.as_str(), other.as_str()),
            ("text/event-stream", "application/json; charset=UTF-8")
        );
    }
}

#[tokio::test]
async fn refusals_are_wrapped_in_the_array() {
    let script = "reply\nerror 429 rate_limit_error slow down | retry-after=2";
    for (query, first) in [("?alt=sse", b'{'), ("", b'[')] {
        let (status, body) = asked(script, query).await.unwrap_err();
        assert_eq!(body.first(), Some(&first));
        let error = Gemini.classify(status, &RetryHeaders::default(), &body);
        assert_eq!(error.retry_after, Some(std::time::Duration::from_secs(2)), "{query}");
        assert_eq!(error.code.as_deref(), Some("RESOURCE_EXHAUSTED"));
    }
    let daily = "reply\nerror 429 insufficient_quota no more today";
    let (status, body) = asked(daily, "").await.unwrap_err();
    let error = Gemini.classify(status, &RetryHeaders::default(), &body);
    assert_eq!(error.class, ErrorClass::Quota);
}
