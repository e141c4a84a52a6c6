//! Obstacles on the way to a server: certificates, proxies, login pages, hosts that are not there. Each
//! failure is one sentence that names what is wrong, and is repeated only where that can help.

use co::provider::http::Network;
use co::provider::{ErrorClass, Recovery};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::peer::{Authority, CertificateValidity, Peer, ask, chat, request, response};

/// Whether the turn asks again by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Retry {
    Yes,
    No,
}

#[track_caller]
fn check(
    about: &str,
    found: Result<String, co::provider::ProviderError>,
    class: ErrorClass,
    again: Retry,
    words: &str,
) {
    let error = found.expect_err(about);
    assert_eq!(error.class, class, "{about}: {error}");
    assert!(error.message.contains(words), "{about}: {error}");
    assert!(!error.message.contains('\n'), "{about}: one sentence");
    let found = if matches!(error.recovery(), Recovery::Backoff(_)) { Retry::Yes } else { Retry::No };
    assert_eq!(found, again, "{about}: {error}");
}

fn believing(authority: &Authority) -> Network {
    Network { proxy: None, ca_file: Some(authority.file()) }
}

fn through(proxy: &str, authority: &Authority) -> Network {
    Network { proxy: Some(proxy.to_owned()), ca_file: Some(authority.file()) }
}

#[tokio::test]
async fn certificates_are_checked_and_their_faults_told_apart() {
    let authority = Authority::new();
    let good = authority.server("localhost", CertificateValidity::Now).await;
    let url = |peer: &Peer| format!("https://localhost:{}/v1", peer.port());
    assert_eq!(ask(chat(&url(&good), believing(&authority)).as_ref()).await, Ok("Hi".to_owned()));

    let unknown = ask(chat(&url(&good), Network::default()).as_ref()).await;
    check("unknown issuer", unknown, ErrorClass::Tls, Retry::No, "has an unknown issuer");
    let old = authority.server("localhost", CertificateValidity::Once).await;
    let expired = ask(chat(&url(&old), believing(&authority)).as_ref()).await;
    check("expired", expired, ErrorClass::Tls, Retry::No, "has expired");
    let other = authority.server("other.example", CertificateValidity::Now).await;
    let wrong = ask(chat(&url(&other), believing(&authority)).as_ref()).await;
    check("wrong host", wrong, ErrorClass::Tls, Retry::No, "is for another host");
    let plain = Peer::start(|_, mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        request(&mut stream).await;
    })
    .await;
    let no_tls = ask(chat(&url(&plain), Network::default()).as_ref()).await;
    check(
        "no TLS",
        no_tls,
        ErrorClass::Tls,
        Retry::No,
        "does not speak TLS; should the base URL begin with http://?",
    );
    let advice = co::provider::ProviderError::new(ErrorClass::Tls, "").advice();
    assert!(advice.contains("`ca_file`"), "{advice}");
}

#[tokio::test]
async fn hosts_that_are_not_there() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = ask(chat(&format!("http://{free}/v1"), Network::default()).as_ref()).await;
    let words =
        format!("could not reach {free}: connection refused; perhaps the model server is not running");
    check("refused", refused, ErrorClass::Network, Retry::Yes, &words);
    // A label of more than 63 characters is refused without asking anybody.
    let nowhere = format!("http://{}.example/v1", "a".repeat(64));
    let unknown = ask(chat(&nowhere, Network::default()).as_ref()).await;
    check(
        "no such host",
        unknown,
        ErrorClass::Network,
        Retry::Yes,
        "no such host, or this machine is offline",
    );
}

/// A proxy that tunnels every connection to one server, whatever host it is asked for, if the client authenticates.
async fn tunnel(to: u16, wants: Option<&'static str>) -> (Peer, tokio::sync::mpsc::Receiver<String>) {
    let (heads, asked) = tokio::sync::mpsc::channel(16);
    let proxy = Peer::start(move |_, mut stream| {
        let heads = heads.clone();
        async move {
            let Some(head) = request(&mut stream).await else { return };
            let allowed = wants.is_none_or(|wanted| head.contains(wanted));
            let _ = heads.send(head).await;
            if !allowed {
                let _ = stream.write_all(&response("407 Proxy Authentication Required", "", b"")).await;
                return;
            }
            let Ok(mut server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
        }
    })
    .await;
    (proxy, asked)
}

#[tokio::test]
async fn proxies_carry_requests_and_their_refusals_are_told() {
    let authority = Authority::new();
    let server = authority.server("api.test", CertificateValidity::Now).await;
    let url = "https://api.test/v1";
    let (open, mut asked) = tunnel(server.port(), None).await;
    let address = format!("127.0.0.1:{}", open.port());
    assert_eq!(ask(chat(url, through(&address, &authority)).as_ref()).await, Ok("Hi".to_owned()));
    let head = asked.recv().await.unwrap();
    assert!(head.starts_with("CONNECT api.test:443 HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("sk-secret-of-the-test"), "the proxy is not told the key");

    // `name:pass@word1` in base 64.
    let (closed, mut asked) = tunnel(server.port(), Some("Basic bmFtZTpwYXNzQHdvcmQx")).await;
    let address = format!("127.0.0.1:{}", closed.port());
    let unnamed = ask(chat(url, through(&format!("http://{address}"), &authority)).as_ref()).await;
    let words = format!("the proxy {address} requires a user name and password");
    check("407", unnamed, ErrorClass::Proxy, Retry::No, &words);
    let wrong = ask(chat(url, through(&format!("http://name:wrong@{address}"), &authority)).as_ref()).await;
    check("407 again", wrong, ErrorClass::Proxy, Retry::No, "rejected the user name and password");
    let known = through(&format!("http://name:pass%40word1@{address}"), &authority);
    assert_eq!(ask(chat(url, known).as_ref()).await, Ok("Hi".to_owned()));
    assert_eq!(asked.len(), 3);
    assert!(asked.recv().await.is_some());

    let forbids = Peer::saying("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = format!("http://127.0.0.1:{}", forbids.port());
    let refused = ask(chat(url, through(&proxy, &authority)).as_ref()).await;
    check("403", refused, ErrorClass::Proxy, Retry::No, "refuses to connect to api.test");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [url, "http://api.test/v1"] {
        let gone = ask(chat(url, through(&format!("http://{free}"), &authority)).as_ref()).await;
        let words = format!("could not reach the proxy {free}: connection refused");
        check("a proxy that is not there", gone, ErrorClass::Proxy, Retry::Yes, &words);
    }
    // A proxy for plain HTTP answers in place of the server.
    let asks = Peer::saying("HTTP/1.1 407 Who?\r\ncontent-length: 0\r\n\r\n").await;
    let proxy = format!("http://127.0.0.1:{}", asks.port());
    let unnamed = ask(chat("http://api.test/v1", through(&proxy, &authority)).as_ref()).await;
    check("407 for plain HTTP", unnamed, ErrorClass::Proxy, Retry::No, "requires a user name and password");
}

#[tokio::test]
async fn this_machine_is_never_reached_through_a_proxy() {
    let authority = Authority::new();
    let server = Peer::saying(crate::peer::hi()).await;
    let proxy = Peer::saying("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n").await;
    let network = through(&format!("http://127.0.0.1:{}", proxy.port()), &authority);
    let url = format!("http://localhost:{}/v1", server.port());
    assert_eq!(ask(chat(&url, network).as_ref()).await, Ok("Hi".to_owned()));
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn login_pages_are_told_from_services() {
    let html = "content-type: text/html\r\n";
    let page = "a web page answered instead of the API: it may be a network login page";
    let cases = [
        (
            "a page",
            response("200 OK", html, b"\n <!DOCTYPE html><title>Log in</title>"),
            ErrorClass::Malformed,
            page,
        ),
        ("511", response("511 Log in", html, b"<html>"), ErrorClass::Malformed, page),
        (
            "a redirect",
            response("302 Found", "location: http://login.example/a?token=t0ken-of-the-net\r\n", b""),
            ErrorClass::NotFound,
            "redirects to http://login.example/a, which is not followed: it may be a network login page",
        ),
    ];
    for (about, answer, class, words) in cases {
        let peer = Peer::saying(answer).await;
        let found = ask(chat(&format!("http://{}/v1", peer.address), Network::default()).as_ref()).await;
        check(about, found, class, Retry::No, words);
    }
}

/// A service's message about a key is passed on without the key, wherever it is and however it is cut.
#[tokio::test]
async fn a_key_that_is_echoed_is_taken_out() {
    let key = "sk-secret-of-the-test";
    let json = "content-type: application/json\r\n";
    let said = |text: &str| format!("{{\"error\":{{\"message\":\"{text}\",\"code\":\"{key}\"}}}}");
    let cases = [
        ("in a 401", response("401 No", json, said(&format!("wrong key {key}!")).as_bytes())),
        ("in a 200", response("200 OK", json, said(&format!("wrong key {key}!")).as_bytes())),
        ("in a stream", response("200 OK", json, format!("data: {}\n\n", said(key)).as_bytes())),
        ("in text", response("400 No", "", format!("headers: Bearer {key}").as_bytes())),
        ("cut", response("200 OK", "", format!("data: {}Bearer {key}\n\n", "x".repeat(102)).as_bytes())),
        (
            "cut by the limit",
            response("500 No", "", [vec![b'x'; 64 * 1024 - 12], key.as_bytes().to_vec()].concat().as_slice()),
        ),
    ];
    for (about, answer) in cases {
        let peer = Peer::saying(answer).await;
        let error =
            ask(chat(&format!("http://{}/v1", peer.address), Network::default()).as_ref()).await.unwrap_err();
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains("sk-secret"), "{about}: {shown}");
    }
}
