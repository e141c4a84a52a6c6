//! Answers that are endless, malformed or slow: their cost is bounded, and the error names the failure.

use std::io::Write as _;
use std::time::Duration;

use co::provider::http::Network;
use co::provider::{ErrorClass, Recovery};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::peer::{HI, Peer, ask, chat, patient, request, response};

/// A server that sends a start, then the same piece over and over until the client is gone; it reports how much it sent.
async fn endless(
    head: &'static str,
    start: &'static str,
    piece: Vec<u8>,
) -> (Peer, tokio::sync::mpsc::Receiver<usize>) {
    let (tell, sent) = tokio::sync::mpsc::channel(1);
    let piece: std::sync::Arc<[u8]> = piece.into();
    let peer = Peer::start(move |_, mut stream| {
        let (tell, piece) = (tell.clone(), std::sync::Arc::clone(&piece));
        async move {
            request(&mut stream).await;
            let _ = stream.write_all(head.as_bytes()).await;
            let _ = stream.write_all(start.as_bytes()).await;
            let mut length = 0;
            while stream.write_all(&piece).await.is_ok() {
                length += piece.len();
            }
            let _ = tell.send(length).await;
        }
    })
    .await;
    (peer, sent)
}

/// This many MiB of lines of white space.
fn blank_lines(mib: usize) -> String {
    format!("{:4095}\n", "").repeat(mib << 8)
}

#[tokio::test]
async fn what_never_ends_is_given_up() {
    const MIB: usize = 1024 * 1024;
    let delta = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(MIB));
    use ErrorClass::{Malformed, Network as Connection, Server};
    let (head, refused, open) = ("HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 500 No\r\n\r\n", "HTTP/1.1 200 OK\r\n");
    type Case = (&'static str, &'static str, &'static str, Vec<u8>, usize, ErrorClass);
    let cases: [Case; 7] = [
        ("one line", head, "data: ", vec![b'x'; MIB], 16, Malformed),
        ("one JSON value", head, "{\"a\":\"", vec![b'x'; MIB], 16, Malformed),
        ("a stream of text", head, "", delta.into_bytes(), 64, Malformed),
        ("a page", head, "<html>", vec![b'x'; MIB], 0, Malformed),
        ("white space", head, "", blank_lines(1).into_bytes(), 64, Malformed),
        ("a refusal", refused, "{\"error\":\"", vec![b'x'; MIB], 16, Server),
        ("headers", open, "x-a: ", vec![b'x'; MIB], 1, Connection),
    ];
    for (about, head, start, piece, most, class) in cases {
        let (peer, mut sent) = endless(head, start, piece).await;
        let error =
            ask(chat(&format!("http://{}/v1", peer.address), Network::default()).as_ref()).await.unwrap_err();
        assert_eq!(error.class, class, "{about}: {error}");
        // The buffers of the sockets come on top of the bytes that were read.
        let sent = sent.recv().await.unwrap();
        assert!(sent <= (most + 12) * MIB, "{about}: {} MiB were taken", sent / MIB);
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn bodies_of_every_kind() {
    let json =
        "{\"model\":\"m\",\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}";
    let packed = "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n";
    let cut = gzip(HI).split_last_chunk::<12>().unwrap().0.to_vec();
    type Expected = Result<(), (ErrorClass, &'static str)>;
    let cases: [(&str, Vec<u8>, Expected); 11] = [
        ("a stream in gzip", response("200 OK", packed, &gzip(HI)), Ok(())),
        ("JSON in gzip", response("200 OK", "content-encoding: gzip\r\n", &gzip(json)), Ok(())),
        ("identity", response("200 OK", "content-encoding: identity\r\n", HI.as_bytes()), Ok(())),
        (
            "brotli",
            response("200 OK", "content-encoding: br\r\n", b"\x0b\x02\x80"),
            Err((ErrorClass::Malformed, "compressed as br")),
        ),
        (
            "no gzip at all",
            response("200 OK", packed, HI.as_bytes()),
            Err((ErrorClass::Malformed, "could not be decompressed")),
        ),
        (
            "zstd",
            response("200 OK", "content-encoding: zstd\r\n", b"\x28\xb5\x2f\xfd"),
            Err((ErrorClass::Malformed, "compressed as zstd")),
        ),
        (
            "a little gzip that is much",
            response("200 OK", packed, &gzip(&blank_lines(80))),
            Err((ErrorClass::Malformed, "is longer than 67108864 bytes")),
        ),
        ("gzip that is cut", response("200 OK", packed, &cut), Err((ErrorClass::Network, "connection"))),
        (
            "a picture",
            response("200 OK", "content-type: image/png\r\n", b"\x89PNG\r\n\x1a\n\0\0"),
            Err((ErrorClass::Malformed, "invalid JSON")),
        ),
        (
            "less than was promised",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\ndata: {\"choices\":[]}\n\n".to_vec(),
            Err((ErrorClass::Network, "connection")),
        ),
        ("no HTTP", b"hello\r\n\r\n".to_vec(), Err((ErrorClass::Network, "connection"))),
    ];
    for (about, answer, expected) in cases {
        let peer = Peer::saying(answer).await;
        let found = ask(chat(&format!("http://{}/v1", peer.address), Network::default()).as_ref()).await;
        match (found, expected) {
            (Ok(text), Ok(())) => assert_eq!(text, "Hi", "{about}"),
            (Err(error), Err((class, words))) => {
                assert_eq!(error.class, class, "{about}: {error}");
                assert!(error.message.contains(words), "{about}: {error}");
            }
            (found, _) => panic!("{about}: {found:?}"),
        }
    }
}

/// Waits without sleeping: the clock of these tests advances only when nothing else is to be done.
async fn pass(time: Duration) {
    assert!(tokio::time::timeout(time, std::future::pending::<()>()).await.is_err());
}

const IDLE: Duration = Duration::from_secs(300);

async fn head(stream: &mut TcpStream) {
    request(stream).await;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
}

#[tokio::test(start_paused = true)]
async fn silence_is_limited_and_length_is_not() {
    // A word or a sign of life just in time, for more than an hour.
    let slow = Peer::start(|_, mut stream| async move {
        head(&mut stream).await;
        for _ in 0..8 {
            pass(IDLE - Duration::from_secs(1)).await;
            let _ = stream.write_all(b": still here\n\n").await;
            pass(IDLE - Duration::from_secs(1)).await;
            let word = format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\".\"}}}}],\"padding\":\"{}\"}}\n\n",
                "x".repeat(1024)
            );
            let _ = stream.write_all(word.as_bytes()).await;
        }
        let _ = stream.write_all(HI.as_bytes()).await;
    })
    .await;
    let start = Instant::now();
    let provider = patient(&format!("http://{}/v1", slow.address), Network::default(), IDLE);
    assert_eq!(ask(provider.as_ref()).await, Ok("........Hi".to_owned()));
    assert!(start.elapsed() > Duration::from_secs(3_600), "{:?}", start.elapsed());
}

/// Comments and single bytes would keep a request open for ever.
#[tokio::test(start_paused = true)]
async fn a_reply_that_only_trickles_is_broken() {
    for drop in [&b": still here\n\n"[..], b"data: {}\n\n", b":"] {
        let slow = Peer::start(move |_, mut stream| async move {
            head(&mut stream).await;
            let _ = stream.write_all(b"data: {\"choices\":[{\"delta\":{\"content\":\".\"}}]}\n\n").await;
            for _ in 0..100 {
                pass(Duration::from_secs(60)).await;
                let _ = stream.write_all(drop).await;
            }
        })
        .await;
        let start = Instant::now();
        let provider = patient(&format!("http://{}/v1", slow.address), Network::default(), IDLE);
        let error = ask(provider.as_ref()).await.unwrap_err();
        assert!(error.message.ends_with(" B in 10m00s"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(900), "{:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_request_wherever_it_begins() {
    for about in ["before the head", "after the head", "after a word", "in an explanation"] {
        let peer = Peer::start(move |_, mut stream| async move {
            match about {
                "before the head" => drop(request(&mut stream).await),
                "in an explanation" => {
                    request(&mut stream).await;
                    let _ = stream.write_all(b"HTTP/1.1 500 No\r\n\r\nThe rea").await;
                }
                about => {
                    head(&mut stream).await;
                    let word = if about == "after a word" { HI.split_at(90).0 } else { "" };
                    let _ = stream.write_all(word.as_bytes()).await;
                }
            }
            std::future::pending::<()>().await;
        })
        .await;
        let start = Instant::now();
        let provider = patient(&format!("http://{}/v1", peer.address), Network::default(), IDLE);
        let error = ask(provider.as_ref()).await.unwrap_err();
        let class = if about == "in an explanation" { ErrorClass::Server } else { ErrorClass::Idle };
        assert_eq!(error.class, class, "{about}: {error}");
        let waited = start.elapsed();
        assert!(waited >= IDLE && waited < IDLE + Duration::from_secs(20), "{about}: {waited:?}");
        assert!(matches!(error.recovery(), Recovery::Backoff(None)), "{about}");
    }
}

/// A server that takes connections and never greets.
#[tokio::test(start_paused = true)]
async fn connecting_is_limited() {
    let peer = Peer::start(|_, stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let start = Instant::now();
    let provider = chat(&format!("https://{}/v1", peer.address), Network::default());
    let error = ask(provider.as_ref()).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Network);
    assert!(error.message.ends_with("no connection within 10s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(11));
}
