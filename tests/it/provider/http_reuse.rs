//! Connections are kept from request to request, and one that died meanwhile costs nothing.

use std::time::Duration;

use co::history::{History, Record, patch_dangling_tool_calls};
use co::message::{Message, ReturnStatus, ToolReturn};
use co::provider::http::Network;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::{ErrorClass, HttpRequest, ModelRequest, Provider, ProviderError, WireCodec};
use futures::{FutureExt, StreamExt};
use kit::replay::parse_replies;
use kit::replay::server::{Plan, ReplayServer, ServerAnswer};
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use crate::co::{Co, Service, Wire};
use crate::peer::{Authority, CertificateValidity, Peer, ask, chat, hi, patient, request};
use crate::runtime::assembled::AssembledReply;

#[tokio::test]
async fn turns_and_tool_rounds_share_a_connection() {
    let script = "reply\n text a\nreply\n call read_file {\"path\":\"a\"}\nreply\n text b\nreply\n error 429 slow down\nreply\n text c";
    let answers = parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect();
    let server = ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap();
    let provider = chat(&server.chat_url(), Network::default());
    let mut messages = vec![Message::user("hi")];
    for _ in 0..5 {
        let request = ModelRequest::new("m", messages.clone());
        let events: Vec<_> = provider.stream(request, CancellationToken::new()).collect().await;
        let (events, errors): (Vec<_>, Vec<_>) = events.into_iter().partition(Result::is_ok);
        if !errors.is_empty() {
            continue;
        }
        let events: Vec<_> = events.into_iter().flatten().collect();
        let reply = AssembledReply::of(&events, None, co::provider::ReplyMetadata::default()).message();
        let returns: Vec<ToolReturn> =
            reply.calls().map(|call| ToolReturn::program(call.id.clone(), ReturnStatus::Ok, "r")).collect();
        messages.push(Message::Assistant(reply));
        messages.push(if returns.is_empty() {
            Message::user("go on")
        } else {
            Message::ToolReturns { returns }
        });
    }
    assert_eq!((server.requests().len(), server.findings()), (5, Vec::<String>::new()));
    assert_eq!(server.connections(), 1);
}

/// A pause without requests, shorter than the time for which connections are kept.
#[tokio::test]
async fn a_pause_keeps_the_connection() {
    let script = "reply\n text a\nreply\n text b";
    let answers = parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect();
    let server = ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap();
    let provider = chat(&server.chat_url(), Network::default());
    assert_eq!(ask(provider.as_ref()).await, Ok("a".to_owned()));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(80)).await;
    tokio::time::resume();
    assert_eq!(ask(provider.as_ref()).await, Ok("b".to_owned()));
    assert_eq!(server.connections(), 1);
}

/// A server that answers one request of a connection and lets the next one fall: as one that closed it just then.
async fn forgetful() -> Peer {
    Peer::start(|_, mut stream| async move {
        if request(&mut stream).await.is_some() && stream.write_all(&hi()).await.is_ok() {
            request(&mut stream).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_kept_connection_that_died_is_replaced_unnoticed() {
    let peer = forgetful().await;
    let provider = chat(&format!("http://{}/v1", peer.address), Network::default());
    for turn in 1..=3 {
        assert_eq!(ask(provider.as_ref()).await, Ok("Hi".to_owned()), "turn {turn}");
        assert_eq!(peer.connections(), turn, "turn {turn}");
    }
}

#[tokio::test]
async fn a_new_connection_that_breaks_is_a_failure() {
    let peer = Peer::start(|_, mut stream| async move {
        request(&mut stream).await;
    })
    .await;
    let provider = chat(&format!("http://{}/v1", peer.address), Network::default());
    let error = ask(provider.as_ref()).await.unwrap_err();
    assert_eq!((error.class, peer.connections()), (ErrorClass::Network, 1), "{error}");
}

/// An answer that is silent is not asked for again, on whatever connection.
#[tokio::test]
async fn silence_on_a_kept_connection_is_told() {
    let peer = Peer::start(|_, mut stream| async move {
        request(&mut stream).await;
        let _ = stream.write_all(&hi()).await;
        request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let provider =
        patient(&format!("http://{}/v1", peer.address), Network::default(), Duration::from_millis(300));
    assert_eq!(ask(provider.as_ref()).await, Ok("Hi".to_owned()));
    let error = ask(provider.as_ref()).await.unwrap_err();
    assert_eq!((error.class, peer.connections()), (ErrorClass::Idle, 1), "{error}");
}

/// The answers of an HTTP/2 server to the requests of a connection, in order.
#[derive(Clone, Copy)]
enum Answer {
    Hi,
    /// Refused before it was looked at.
    Refuse,
    /// Some of the body, then a reset.
    Break,
    /// The connection goes away in the middle.
    GoAway,
}

async fn http2(authority: &Authority, answers: &'static [Answer]) -> Peer {
    let acceptor = authority.acceptor("localhost", CertificateValidity::Now, &["h2"]);
    let next = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    Peer::start(move |_, stream| {
        let (acceptor, next) = (acceptor.clone(), std::sync::Arc::clone(&next));
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                let answer = answers[next.fetch_add(1, std::sync::atomic::Ordering::SeqCst)];
                if let Answer::Refuse = answer {
                    respond.send_reset(h2::Reason::REFUSED_STREAM);
                    continue;
                }
                let head =
                    http::Response::builder().header("content-type", "text/event-stream").body(()).unwrap();
                let mut body = respond.send_response(head, false).unwrap();
                let (start, rest) = crate::peer::HI.split_at(20);
                body.send_data(start.into(), false).unwrap();
                // The answer goes out before the connection breaks.
                for _ in 0..3 {
                    assert!(connection.accept().now_or_never().is_none());
                    tokio::task::yield_now().await;
                }
                match answer {
                    Answer::Hi | Answer::Refuse => body.send_data(rest.into(), true).unwrap(),
                    Answer::Break => body.send_reset(h2::Reason::INTERNAL_ERROR),
                    Answer::GoAway => connection.abrupt_shutdown(h2::Reason::ENHANCE_YOUR_CALM),
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn http2_is_shared_refused_and_broken() {
    use Answer::{Break, GoAway, Hi, Refuse};
    let authority = Authority::new();
    let network = || Network { proxy: None, ca_file: Some(authority.file()) };
    let url = |peer: &Peer| format!("https://localhost:{}/v1", peer.port());
    let peer = http2(&authority, &[Hi, Hi, Refuse, Hi, Break, GoAway, Hi]).await;
    let provider = chat(&url(&peer), network());
    for about in ["first", "second", "refused, then asked again"] {
        assert_eq!(ask(provider.as_ref()).await, Ok("Hi".to_owned()), "{about}");
        assert_eq!(peer.connections(), 1, "{about}");
    }
    for about in ["reset", "gone away"] {
        let error = ask(provider.as_ref()).await.expect_err(about);
        assert_eq!(error.class, ErrorClass::Network, "{about}: {error}");
        assert!(error.message.starts_with("the connection was lost: "), "{about}: {error}");
    }
    assert_eq!(ask(provider.as_ref()).await, Ok("Hi".to_owned()));
    assert_eq!(peer.connections(), 2);
}

/// The whole program: a turn with tool rounds is one connection.
#[test]
fn a_run_of_the_program_is_one_connection() {
    for wire in [Wire::Anthropic, Wire::Chat] {
        let service = Service::new("reply\n call list_dir {}\nreply\n call list_dir {}\nreply\n text done");
        let ran = Co::new().with(&service, wire).env("CO_API_KEY", "sk-key-of-the-run").run(&["-p", "look"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "done\n"), "{wire:?}: {}", ran.err);
        assert_eq!((service.server.requests().len(), service.server.connections()), (3, 1), "{wire:?}");
    }
}

/// A codec that counts how often it encodes.
struct CountingCodec(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl WireCodec for CountingCodec {
    type Decoder = <OpenAiChat as WireCodec>::Decoder;

    fn encode(&self, request: &ModelRequest) -> Result<HttpRequest, ProviderError> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        OpenAiChat::new(Quirks::OPENAI).encode(request)
    }
}

/// A request over 1 MB of history shares that history, is encoded once, and goes out a second time as the same bytes.
#[tokio::test]
async fn a_long_history_is_shared_and_encoded_once() {
    let said = |number| Record::said(Message::user(format!("{number} {}", "x".repeat(10_000))));
    let records: Vec<Record> = (0..100).map(said).collect();
    let history = History::of(&records);
    drop(records);
    let shared: Vec<_> =
        history.entries().iter().map(|(_, message)| std::sync::Arc::clone(message)).collect();
    let patched = patch_dangling_tool_calls(&shared);
    drop(shared);
    for ((_, held), sent) in history.entries().iter().zip(&patched) {
        assert!(std::sync::Arc::ptr_eq(held, sent), "nothing of a sound history is copied");
    }
    let request = ModelRequest { messages: patched, ..ModelRequest::new("m", Vec::new()) };

    let peer = forgetful().await;
    let encoded = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let provider = {
        let codec = CountingCodec(std::sync::Arc::clone(&encoded));
        crate::peer::provider(
            codec,
            &format!("http://{}/v1", peer.address),
            Network::default(),
            Duration::from_secs(60),
        )
    };
    for turn in 1..=2 {
        let stream = provider.stream(request.clone(), CancellationToken::new());
        assert!(stream.collect::<Vec<_>>().await.iter().all(Result::is_ok));
        assert_eq!(encoded.load(std::sync::atomic::Ordering::SeqCst), turn);
    }
    assert_eq!(peer.connections(), 2, "the second was sent again");
    let (_, first) = history.entries().first().unwrap();
    assert_eq!(std::sync::Arc::strong_count(first), 2, "no request holds on to what it was made of");
}
