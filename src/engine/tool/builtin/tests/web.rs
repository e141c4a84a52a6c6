//! `web_fetch` and `web_search` against a server on this machine, which tests reach by a resolver of their own.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Names of this test only; all others are as the program resolves them.
struct TestHosts;

impl HostResolver for TestHosts {
    fn addresses(&self, host: String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            match host.as_str() {
                "site.test" | "other.test" => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
                // A public name with a private address.
                "inside.test" => PublicHosts.addresses("127.0.0.1".to_owned()).await,
                "nowhere.test" => Err("the host nowhere.test was not found".to_owned()),
                _ => PublicHosts.addresses(host).await,
            }
        })
    }
}

fn response(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len())
        .into_bytes();
    bytes.extend(body);
    bytes
}

fn html(body: impl AsRef<[u8]>) -> Vec<u8> {
    response("200 OK\r\ncontent-type: text/html; charset=utf-8", body)
}

fn redirect(to: &str) -> Vec<u8> {
    response(&format!("302 Found\r\nlocation: {to}"), "")
}

fn packed(byte: u8, mebibytes: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..mebibytes {
        encoder.write_all(&vec![byte; 1024 * 1024]).unwrap();
    }
    encoder.finish().unwrap()
}

const ARTICLE: &str = "<html><head><title>On \u{202e}ferries</title><script>evil()</script></head><body>\
    <nav><a href='/home'>Home</a> <a href='/all'>All</a></nav><article><h1>On ferries</h1>\
    <p>Ferries cross the strait four times a day, and the <a href='/times?day=1'>table of times</a> says when they \
    leave. The crossing takes about an hour in good weather, and twice as long against the wind in winter.</p>\
    <p>Tickets are sold on board. A second paragraph makes the article long enough to be one, with commas, words, \
    and more words about ships, harbours, tides, and the people who wait for them.</p></article>\
    <footer>Copyright</footer></body></html>";

const RESULTS: &str = r#"{"web":{"results":[{"title":"A","url":"https://docs.rs/a","description":"about a"},
    {"title":"B","url":"https://evil.test/b","description":"about b"}]}}"#;

fn page(path: &str) -> Vec<u8> {
    match path {
        "/article" => html(ARTICLE),
        "/json" => response("200 OK\r\ncontent-type: application/json", "{\"a\": [1, 2]}\n"),
        "/latin" => response("200 OK\r\ncontent-type: text/plain; charset=ISO-8859-1", b"caf\xe9"),
        "/meta" => {
            response("200 OK\r\ncontent-type: text/html", b"<meta charset=\"windows-1252\"><p>\x80 5</p>")
        }
        "/wide" => response("200 OK\r\ncontent-type: text/plain", b"\xff\xfeh\0i\0"),
        "/empty" => html("<html><body><div id=app></div><script>render()</script></body></html>"),
        "/deep" => html(format!("<p>top</p>{}bottom", "<div>".repeat(200_000))),
        "/picture" => response("200 OK\r\ncontent-type: image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        "/lies/type" => response("200 OK\r\ncontent-type: text/html", b"PK\x03\x04\0\0\0\0"),
        "/lies/length" => {
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nhalf".to_vec()
        }
        "/lies/nothing" => b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_vec(),
        "/garbage" => b"SSH-2.0-OpenSSH_9\r\n".to_vec(),
        "/long" => response("200 OK\r\ncontent-type: text/plain", "long line\n".repeat(600_000)),
        "/bomb" => response("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip", packed(b'a', 16)),
        "/torn" => {
            response("200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip", &packed(b'a', 1)[..200])
        }
        "/gone" => response("404 Not Found\r\ncontent-type: text/html", "<p>No such page</p>"),
        "/busy" => response("429 Too Many Requests", ""),
        "/broken" => response("503 Service Unavailable", ""),
        "/moved" => redirect("/article"),
        "/moved/host" => redirect("http://other.test:PORT/json"),
        "/circle" => redirect("/circle"),
        "/to/private" => redirect("http://127.0.0.1:PORT/json"),
        "/to/metadata" => redirect("//169.254.169.254/latest/meta-data"),
        "/to/inside" => redirect("http://inside.test:PORT/json"),
        "/to/file" => redirect("file:///etc/passwd"),
        "/to/nothing" => redirect("http://"),
        "/search" => response("200 OK\r\ncontent-type: application/json", RESULTS),
        "/search/html" => html("<p>Please sign in</p>"),
        "/search/busy" => response("429 Too Many Requests", ""),
        "/search/refused" => response("401 Unauthorized", "{}"),
        _ => response("400 Bad Request", ""),
    }
}

/// Serves the pages; returns the port.
async fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, port));
        }
    });
    port
}

async fn answer(mut stream: TcpStream, port: u16) {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes).await {
            Ok(count) if count > 0 => head.extend(&bytes[..count]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split_whitespace().nth(1).unwrap().split('?').next().unwrap();
    if path == "/drip" {
        // A reader gives up first.
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n").await;
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while stream.write_all(b"x").await.is_ok() {
            ticks.tick().await;
        }
        return;
    }
    let bytes = page(path);
    let text = String::from_utf8_lossy(&bytes);
    let bytes =
        if text.contains("PORT") { text.replace("PORT", &port.to_string()).into_bytes() } else { bytes };
    let _ = stream.write_all(&bytes).await;
}

async fn bench(engine: &str, domains: Domains) -> (Bench, String) {
    let base = format!("http://site.test:{}", serve().await);
    let bench = Bench::new(&[]);
    let engine = Engine::brave("k-secret").map(|brave| match brave {
        Engine::Brave { key, .. } => {
            Engine::Brave { address: format!("{base}{engine}").parse().unwrap(), key }
        }
        own @ Engine::SearXng { .. } => own,
    });
    let options = WebOptions {
        engine,
        domains,
        hosts: Arc::new(TestHosts),
        patience: Duration::from_secs(3),
        ..WebOptions::pages()
    };
    options.tools(LIMIT).into_iter().for_each(|tool| bench.tools.add(tool));
    (bench, base)
}

#[tokio::test]
async fn pages_are_read_and_bad_servers_end_in_a_sentence() {
    let (mut bench, base) = bench("/search", Domains::default()).await;
    let fetch = |path: &str| json!({ "url": format!("{base}{path}") });
    let host = format!("site.test:{}", base.rsplit(':').next().unwrap());
    for (path, expected) in [
        ("/json", "=[BASE/json]\n{\"a\": [1, 2]}\n"),
        ("/latin", "=[BASE/latin]\ncafé\n"),
        ("/meta", "\u{20ac} 5"),
        ("/wide", "=[BASE/wide]\nhi\n"),
        ("/empty", "[the page holds no text"),
        ("/deep", "top"),
        ("/picture", "=TERMINAL BASE/picture is not text (image/png, 16 bytes); its content is not shown"),
        ("/lies/type", "is not text (text/html, 8 bytes)"),
        ("/lies/length", "=[BASE/lies/length]\n[the server closed the connection before the end]\nhalf\n"),
        ("/lies/nothing", "TRANSIENT BASE/lies/nothing could not be fetched: "),
        ("/garbage", "TRANSIENT BASE/garbage could not be fetched: "),
        ("/long", "[only the first 4 MiB were read]"),
        ("/long", "left out here; all of it is in "),
        ("/bomb", "[only the first 4 MiB were read]"),
        ("/torn", "before the end]\naaa"),
        ("/drip", "=TERMINAL BASE/drip took longer than 3s and was given up"),
        ("/gone", "=TERMINAL BASE/gone answered 404 (Not Found): No such page"),
        ("/busy", "=TRANSIENT BASE/busy answered 429 (Too Many Requests)"),
        ("/broken", "=TRANSIENT BASE/broken answered 503 (Service Unavailable)"),
        ("/moved", "[BASE/article]\n# On"),
        ("/moved/host", "{\"a\": [1, 2]}"),
        ("/circle", "=TERMINAL BASE/circle redirects more than 5 times; the last was to BASE/circle"),
        ("/to/private", "MISUSE http://127.0.0.1:"),
        (
            "/to/metadata",
            "MISUSE http://169.254.169.254/latest/meta-data cannot be fetched: its host is a link-local",
        ),
        ("/to/inside", "TERMINAL 127.0.0.1 resolves to 127.0.0.1, which is this machine"),
        ("/to/file", "MISUSE file:///etc/passwd cannot be fetched: only http"),
        ("/to/nothing", "=TERMINAL BASE/to/nothing redirects to no web address"),
    ] {
        let got = bench.call("web_fetch", fetch(path)).await.replace(&base, "BASE");
        match expected.strip_prefix('=') {
            Some(whole) => assert_eq!(got, whole, "{path}"),
            None => assert!(got.contains(expected), "{path}: {}", got.chars().take(500).collect::<String>()),
        }
    }
    let got = bench.call("web_fetch", json!({ "url": "http://nowhere.test/" })).await;
    assert_eq!(got, "TERMINAL the host nowhere.test was not found");
    let raw = bench.call("web_fetch", json!({ "url": format!("{base}/article"), "raw": true })).await;
    assert!(raw.contains("<nav>") && raw.contains("evil()"), "{raw}");
    assert!(host.contains(':'));
}

#[tokio::test]
async fn the_readable_part_of_a_page_becomes_markdown() {
    let (mut bench, base) = bench("/search", Domains::default()).await;
    let got = bench.call("web_fetch", json!({ "url": format!("{base}/article#top") })).await;
    let got = got.replace(&base, "BASE");
    assert!(got.starts_with("[BASE/article]\n# On ") && got.contains("ferries\n"), "{got}");
    assert!(got.contains("[table of times](BASE/times?day=1)"), "{got}");
    for left_out in ["evil()", "Home", "Copyright", "<p>", "\u{202e}"] {
        assert!(!got.contains(left_out), "{left_out}: {got}");
    }
    let output = bench.run("web_fetch", &json!({ "url": format!("{base}/article") })).await.unwrap();
    assert_eq!(output.source, Source::Web { url: format!("{base}/article") });
}

#[tokio::test]
async fn a_plan_says_where_it_goes_without_going_there() {
    let (bench, base) =
        bench("/search", Domains { allowed: vec!["site.test".into()], blocked: Vec::new() }).await;
    let plan = bench.plan("web_fetch", &json!({ "url": "https://site.test/a?b=c#d" })).await.unwrap();
    assert_eq!(plan.summary, "fetch https://site.test/a?b=c");
    let url = Some("https://site.test/a?b=c".to_owned());
    assert_eq!(plan.access, Access::Web { host: "site.test".to_owned(), url, asks: false });
    let search =
        bench.plan("web_search", &json!({ "query": "ferry times", "domains": ["docs.rs"] })).await.unwrap();
    assert_eq!(search.access, Access::Web { host: "site.test".to_owned(), url: None, asks: false });
    assert!(!base.is_empty());
    for (tool, args, hint) in [
        ("web_fetch", json!({ "url": "http://192.168.0.1/" }), "its host is a private network"),
        ("web_fetch", json!({ "url": "https://else.test/" }), "it is not in `web.allowed_domains`"),
        ("web_fetch", json!({ "url": "site.test/x" }), "write all of it"),
        ("web_search", json!({ "query": " " }), "`query` is empty"),
        ("web_search", json!({ "query": "x".repeat(500) }), "longer than 400 bytes"),
        ("web_search", json!({ "query": "x", "domains": ["a b"] }), "is no domain"),
        ("web_search", json!({ "query": "x", "domains": vec!["a.b"; 11] }), "more than 10"),
    ] {
        match bench.plan(tool, &args).await {
            Err(ToolError::Misuse(said)) => assert!(said.contains(hint), "{args}: {said}"),
            other => panic!("{args}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn searches_return_what_services_find() {
    for (engine, args, expected) in [
        (
            "/search",
            json!({ "query": "x" }),
            "=## A\nhttps://docs.rs/a\nabout a\n\n## B\nhttps://evil.test/b\nabout b\n",
        ),
        ("/search", json!({ "query": "x", "max_results": 1 }), "=## A\nhttps://docs.rs/a\nabout a\n"),
        (
            "/search",
            json!({ "query": "x", "domains": ["evil.test"] }),
            "=## B\nhttps://evil.test/b\nabout b\n",
        ),
        (
            "/search",
            json!({ "query": "x", "domains": ["none.test"] }),
            "=[no results; search with other words]\n",
        ),
        (
            "/search/html",
            json!({ "query": "x" }),
            "=TERMINAL Brave Search did not answer with JSON; check its address",
        ),
        ("/search/busy", json!({ "query": "x" }), "=TRANSIENT Brave Search is asked too often (429)"),
        (
            "/search/refused",
            json!({ "query": "x" }),
            "=UNAVAILABLE Brave Search refused the key (401); correct `web.brave_api_key`",
        ),
    ] {
        let (mut bench, _) = bench(engine, Domains::default()).await;
        bench.check(&[("web_search", args, expected)]).await;
    }
}
