//! A scripted reply as a stream: events in order, gates, ends, and the requests that are kept.

use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use super::*;
use co_engine::message::Message;

pub(super) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest::new("m", messages)
}

/// Formats an event as one line, short enough to write as data.
fn line(item: Result<StreamEvent, ProviderError>) -> String {
    let opaque = |opaque: Option<Opaque>| opaque.map_or(String::new(), |opaque| format!(" {}", opaque.data));
    match item {
        Ok(StreamEvent::Started { model }) => format!("started {model}"),
        Ok(StreamEvent::PartStarted { index, kind }) => match kind {
            StartKind::Text => format!("{index} text"),
            StartKind::Thinking => format!("{index} thinking"),
            StartKind::ToolCall { wire_id, name } => format!("{index} call {name} {wire_id}"),
            StartKind::Native => format!("{index} native"),
        },
        Ok(StreamEvent::PartDelta { index, delta }) => format!("{index} + {delta}"),
        Ok(StreamEvent::PartEnded { index, opaque: data }) => format!("{index} .{}", opaque(data)),
        Ok(StreamEvent::Notice { text }) => format!("notice {text}"),
        Ok(StreamEvent::Usage { usage }) => format!("usage {:?}/{:?}", usage.input, usage.output),
        Ok(StreamEvent::Finished { stop, usage }) => {
            format!("finished {} {:?}/{:?}", stop.raw.unwrap_or_default(), usage.input, usage.output)
        }
        Err(error) => format!("{:?} {:?} {}", error.class, error.status, error.message),
    }
}

async fn play(script: &str, closing: Closing) -> Vec<String> {
    let provider = ReplayProvider::new(parse_replies(script).unwrap()).closing(closing);
    let stream = provider.stream(request(vec![Message::user("hi")]), CancellationToken::new());
    stream.map(line).collect().await
}

#[tokio::test]
async fn replies_become_streams() {
    let mid = Closing::InMidStream;
    let cases: Vec<(&str, Closing, Vec<&str>)> = vec![
        (
            "thinking I look. | sig=s\ntext a\ntext b\ncall x {\"p\":1} | id=c\ncall y",
            mid,
            vec![
                "started m",
                "0 thinking",
                "0 + I look.",
                "0 . {\"signature\":\"s\"}",
                "1 text",
                "1 + a",
                "1 + b",
                "1 .",
                "2 call x c",
                "2 + {\"p\":1}",
                "2 .",
                "3 call y call_1_2",
                "3 .",
                "finished tool_use Some(10)/Some(5)",
            ],
        ),
        (
            "call x {}\ncall y {}\ntext z",
            Closing::AtTheEnd,
            vec![
                "started m",
                "0 call x call_1_1",
                "0 + {}",
                "1 call y call_1_2",
                "1 + {}",
                "2 text",
                "2 + z",
                "2 .",
                "0 .",
                "1 .",
                "finished tool_use Some(10)/Some(5)",
            ],
        ),
        (
            "text*2 a\npart\ntext b\ncut",
            mid,
            vec![
                "started m",
                "0 text",
                "0 + a",
                "0 + a",
                "0 .",
                "1 text",
                "1 + b",
                "Truncated None the connection ended before the reply was complete",
            ],
        ),
        (
            "native {\"a\":1}\nusage 1 2\nstop max_tokens",
            mid,
            vec!["started m", "0 native", "0 . {\"a\":1}", "finished max_tokens Some(1)/Some(2)"],
        ),
        ("error 529 overloaded_error busy", mid, vec!["Overloaded Some(529) busy"]),
        (
            "text a\nerror 529 overloaded_error busy",
            mid,
            vec!["started m", "0 text", "0 + a", "Overloaded None busy"],
        ),
        ("error 429 insufficient_quota all gone", mid, vec!["Quota Some(429) all gone"]),
        (
            "call x {\"a | open\ncut",
            mid,
            vec![
                "started m",
                "0 call x call_1_1",
                "0 + {\"a",
                "Truncated None the connection ended before the reply was complete",
            ],
        ),
    ];
    for (steps, closing, expected) in cases {
        assert_eq!(play(&format!("reply\n{steps}"), closing).await, expected, "{steps}");
    }
}

#[tokio::test]
async fn a_gate_holds_the_reply_until_it_is_released() {
    let provider = ReplayProvider::new(parse_replies("reply\n text a\n gate g\n text b").unwrap());
    let gate = provider.gate();
    let mut stream = provider.stream(request(vec![Message::user("hi")]), CancellationToken::new());
    for expected in ["started m", "0 text", "0 + a"] {
        assert_eq!(line(stream.next().await.unwrap()), expected);
    }
    assert!(!gate.is_reached("g"));
    assert!(futures::poll!(stream.next()).is_pending());
    gate.reached("g").await;
    gate.release("g");
    assert_eq!(line(stream.next().await.unwrap()), "0 + b");
}

#[tokio::test]
async fn a_hanging_reply_ends_with_its_cancel() {
    let provider = ReplayProvider::new(parse_replies("reply\n text a\n hang").unwrap());
    let cancel = CancellationToken::new();
    let stream = provider.stream(request(vec![Message::user("hi")]), cancel.clone());
    let mut stream = stream.skip(3);
    assert!(futures::poll!(stream.next()).is_pending());
    cancel.cancel();
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn requests_are_kept_and_a_script_ends() {
    let provider = ReplayProvider::new(parse_replies("reply\n text a").unwrap());
    let asked = request(vec![Message::user("hi")]);
    for _ in 0..2 {
        let stream = provider.stream(asked.clone(), CancellationToken::new());
        let _: Vec<_> = stream.collect().await;
    }
    assert_eq!(provider.requests(), vec![asked.clone(), asked.clone()]);
    provider.push(parse_reply(1, "text b").unwrap());
    assert_eq!(provider.left(), 1);
    let _: Vec<_> = provider.stream(asked.clone(), CancellationToken::new()).collect().await;
    let last = provider.stream(asked, CancellationToken::new()).next().await.unwrap();
    assert_eq!(line(last), "NotFound None the script has no reply for request 4");
}
