//! Judges of spans that others wrote: a receiver of the official protobufs, Phoenix, Datasette, and a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::co::{Co, Service, Wire};
use crate::skip::skipped;

const SCRIPT: &str = "
reply
  text I look.
  call read_file {\"path\": \"a.txt\"}
  usage 120 30
reply
  call write_file {\"path\": \"b.txt\", \"content\": \"x\"}
  usage 160 20
reply
  text </script><img src=x onerror=alert(1)><script>document.title='pwned'</script>
  usage 200 10
";

/// A program that ends with the test.
struct ChildGuard(Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn peer(variable: &str, what: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    if path.is_none() {
        skipped(&format!("{what}: {variable} is not set (scripts/peers sets it)"));
    }
    path
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The status and the body of a page.
fn get(url: &str) -> std::io::Result<(String, String)> {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /{path} HTTP/1.0\r\nhost: {address}\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    Ok((head.lines().next().unwrap_or_default().to_owned(), body.to_owned()))
}

/// Asks again until the page is there; a program takes a while to start.
#[track_caller]
fn wait_for(url: &str) -> String {
    let until = Instant::now() + Duration::from_secs(120);
    loop {
        match get(url) {
            Ok((status, body)) if status.contains(" 200 ") => return body,
            other => assert!(Instant::now() < until, "{url}: {other:?}"),
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
}

/// A turn with tools, an approval that waits, and a resume in a second process.
fn resumed(co: Co, service: &Service) -> Co {
    let co = co.with(service, Wire::Anthropic).file("work/a.txt", "<img src=x onerror=alert(2)>\n");
    let waiting = co.run(&["-p", "</script><script>alert(3)</script>"]);
    assert_eq!(waiting.code, Some(4), "{waiting:?}");
    let id = co.waiting().remove(0);
    assert_eq!(co.run(&["approvals", "yes", &id]).code, Some(0));
    let ended = co.run(&["resume", "-p"]);
    assert_eq!((ended.code, ended.err.contains("lost")), (Some(0), false), "{ended:?}");
    co
}

#[test]
fn a_strict_receiver_takes_every_span() {
    let Some(otel) = peer("CO_TEST_OTEL", "OTLP receiver") else { return };
    let mut receiver = Command::new(otel.join("bin/python"));
    receiver.arg("scripts/peers.d/receiver.py").stdout(Stdio::piped());
    let mut receiver = ChildGuard(receiver.spawn().unwrap());
    let mut url = String::new();
    BufReader::new(receiver.0.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim();
    let service = Service::new(SCRIPT);
    let co = resumed(Co::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", url), &service);
    let report: Value = serde_json::from_str(&get(&format!("{url}/report")).unwrap().1).unwrap();
    assert_eq!(report["faults"], json!([]));
    let spans = report["spans"].as_array().unwrap();
    let traces: std::collections::BTreeSet<_> =
        spans.iter().map(|span| span["trace"].as_str().unwrap()).collect();
    assert_eq!(traces.len(), 1, "one trace");
    let kept = co.run(&["tail", "-n", "-l", "99", "--json"]).out.lines().count();
    assert_eq!(spans.len(), kept);
    assert!(kept >= 9, "{report:#}");
    assert!(report["metrics"].as_array().unwrap().contains(&json!("gen_ai.client.token.usage")));
    let sent = report.to_string();
    assert!(
        !sent.contains("gen_ai.input.messages") && !sent.contains("gen_ai.tool.call.arguments"),
        "{sent}"
    );
}

#[test]
fn phoenix_shows_agents_models_and_tools() {
    let Some(phoenix) = peer("CO_TEST_PHOENIX", "Phoenix") else { return };
    let (port, grpc, folder) = (free_port(), free_port(), tempfile::tempdir().unwrap());
    let mut server = Command::new(phoenix.join("bin/phoenix"));
    server.arg("serve").env("PHOENIX_WORKING_DIR", folder.path()).env("PHOENIX_HOST", "127.0.0.1");
    server.env("PHOENIX_PORT", port.to_string()).env("PHOENIX_GRPC_PORT", grpc.to_string());
    server.stdout(Stdio::null()).stderr(Stdio::null());
    let _server = ChildGuard(server.spawn().unwrap());
    let url = format!("http://127.0.0.1:{port}");
    wait_for(&format!("{url}/healthz"));
    let service = Service::new(SCRIPT);
    let co = Co::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", &url).env("OTEL_METRICS_EXPORTER", "none");
    let _co = resumed(co, &service);
    let listed = format!("{url}/v1/projects/default/spans?limit=100");
    let until = Instant::now() + Duration::from_secs(30);
    let spans = loop {
        let listed: Value = serde_json::from_str(&wait_for(&listed)).unwrap();
        let spans = listed["data"].as_array().unwrap().clone();
        // It writes what it took a moment later.
        if spans.len() >= 9 || Instant::now() > until {
            break spans;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    };
    let of_kind = |kind: &str| spans.iter().filter(|span| span["span_kind"] == kind).collect::<Vec<_>>();
    assert_eq!(
        (of_kind("AGENT").len(), of_kind("LLM").len(), of_kind("TOOL").len()),
        (2, 3, 2),
        "{spans:#?}"
    );
    let agents: Vec<_> = of_kind("AGENT").iter().map(|span| span["context"]["span_id"].clone()).collect();
    for child in of_kind("LLM").iter().chain(&of_kind("TOOL")) {
        assert!(agents.contains(&child["parent_id"]), "{child:#}");
    }
}

#[test]
fn datasette_reads_the_file() {
    let Some(otel) = peer("CO_TEST_OTEL", "Datasette") else { return };
    let path = format!("{}:{}", otel.join("bin").display(), std::env::var("PATH").unwrap());
    let service = Service::new(SCRIPT);
    let co = resumed(Co::new().env("PATH", path), &service);
    let port = free_port();
    let _datasette = ChildGuard(co.start(&["logs", "--port", &port.to_string(), "--no-open"]));
    let url = format!("http://127.0.0.1:{port}/telemetry");
    let spans: Value = serde_json::from_str(&wait_for(&format!("{url}/spans.json?_shape=objects"))).unwrap();
    let kept = co.run(&["tail", "-n", "-l", "99", "--json"]).out.lines().count();
    assert_eq!(spans["rows"].as_array().unwrap().len(), kept);
    for (query, column) in [("tokens_by_day", "input"), ("tools", "calls"), ("approvals", "waited_seconds")] {
        let rows: Value =
            serde_json::from_str(&wait_for(&format!("{url}/{query}.json?_shape=objects"))).unwrap();
        assert!(rows["rows"][0][column].is_number(), "{query}: {rows:#}");
    }
}

#[test]
fn a_browser_shows_the_page_and_runs_nothing_of_a_span() {
    let (Some(node), Some(browser)) = (peer("CO_TEST_PAGE", "browser"), std::env::var_os("CO_TEST_BROWSER"))
    else {
        return;
    };
    let service = Service::new(SCRIPT);
    let co = resumed(Co::new(), &service);
    assert_eq!(co.run(&["traces", "--no-open", "--output", "traces.html"]).code, Some(0));
    // One trace of ten thousand spans, below each other by hundreds.
    let large = rusqlite::Connection::open(co.data().join("telemetry.db")).unwrap();
    large
        .execute_batch(
            "DELETE FROM spans; WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
             INSERT INTO spans SELECT printf('%016x', i + 1), printf('%032x', 1),
                 CASE WHEN i = 0 THEN NULL ELSE printf('%016x', i / 100 + 1) END, 'execute_tool t' || i, 'INTERNAL',
                 1700000000000000000 + i * 1000000, 1700000000001000000 + i * 1000000, 1.0, 'OK', NULL,
                 '{\"gen_ai.operation.name\":\"execute_tool\"}', '[]', '{}' FROM n;",
        )
        .unwrap();
    drop(large);
    assert_eq!(co.run(&["traces", "--no-open", "--output", "many.html"]).code, Some(0));
    let report = co.run(&["eval", "--runs", "1", "--report", "eval.md", "--set", "provider=offline"]);
    assert!(co.read("eval.html").is_some(), "{report:?}");
    let script = std::env::current_dir().unwrap().join("scripts/peers.d/page.mjs");
    let mut command = Command::new(node.join("node"));
    command.arg(script).arg(browser).current_dir(&node);
    command.args(["traces.html", "many.html", "eval.html"].map(|name| co.workspace().join(name)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", String::from_utf8_lossy(&output.stdout));
}
