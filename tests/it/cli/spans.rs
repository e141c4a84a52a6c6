//! Spans: one trace over an approval and a restart, what they hold, where they go, and what becomes of a turn when they
//! cannot go there.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;
use serde_json::{Value, json};

use super::http_kit::{HttpAnswer, HttpServer};
use super::mcp::{NEVER, with_server};
use crate::co::{Co, Service, Wire};

/// A read, a write that asks, and the answers.
const TURN: &str = "
reply
  text I look first.
  call read_file {\"path\": \"a.txt\"}
  usage 120 30

reply
  call write_file {\"path\": \"b.txt\", \"content\": \"sk-secret00000000000000000000000001\"}
  usage 160 20

reply
  text All done.
  usage 200 10

";

const HELLO: &str = "
reply
  text Hello.
  usage 7 3

";

const KEY: &str = "sk-secret00000000000000000000000001";

/// The spans, in the order in which they were written.
fn spans(co: &Co) -> Vec<Value> {
    let output = co.command(&co.workspace(), &["tail", "-n", "-l", "1000", "--json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

#[track_caller]
fn only<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = named(spans, name);
    assert_eq!(found.len(), 1, "{name}: {:?}", spans.iter().map(|span| &span["name"]).collect::<Vec<_>>());
    found[0]
}

/// A turn that waits, is approved elsewhere, and goes on in another process.
fn resumed(co: &Co) {
    let waiting = co.run(&["-p", "Copy a to b"]);
    assert_eq!(waiting.code, Some(4), "{waiting:?}");
    let id = co.waiting().remove(0);
    assert_eq!(co.run(&["approvals", "yes", &id]).code, Some(0));
    let ended = co.run(&["resume", "-p"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_turn_that_waits_and_goes_on_in_another_process_is_one_trace() {
    let service = Service::new(TURN);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let co = Co::new()
        .with(&service, Wire::Anthropic)
        .file("work/a.txt", "a\n")
        .env("TRACEPARENT", format!("00-{trace}-00f067aa0ba902b7-00"));
    resumed(&co);
    let spans = spans(&co);
    let traces: BTreeSet<_> = spans.iter().map(|span| span["trace_id"].as_str().unwrap()).collect();
    assert_eq!(traces, BTreeSet::from([trace]));
    let turns = named(&spans, "invoke_agent co");
    let (first, second) = (turns[0], turns[1]);
    assert_eq!((&first["parent_id"], &second["parent_id"]), (&json!("00f067aa0ba902b7"), &first["id"]));
    let ends = [first, second].map(|turn| turn["attributes"]["co.turn.end"].clone());
    assert_eq!(ends, [json!("deferred"), json!("completed")]);
    let children = |turn: &Value| -> Vec<String> {
        let own =
            spans.iter().filter(|span| span["parent_id"] == turn["id"] && span["name"] != "invoke_agent co");
        own.map(|span| span["name"].as_str().unwrap().to_owned()).collect()
    };
    let before =
        ["chat replay", "plan read_file", "execute_tool read_file", "chat replay", "plan write_file"];
    let after = ["wait_for_approval write_file", "plan write_file", "execute_tool write_file", "chat replay"];
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    let of = |turn| {
        let mut names = children(turn);
        names.sort();
        names
    };
    assert_eq!((of(first), of(second)), (sorted(&before), sorted(&after)));

    let chat = &named(&spans, "chat replay")[0];
    assert_eq!(chat["kind"], "CLIENT");
    let expected = [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("anthropic")),
        ("gen_ai.request.model", json!("replay")),
        ("gen_ai.request.stream", json!(true)),
        ("gen_ai.usage.input_tokens", json!(120)),
        ("gen_ai.usage.output_tokens", json!(30)),
        ("gen_ai.response.finish_reasons", json!(["tool_use"])),
        ("co.request.attempt", json!(1)),
    ];
    for (key, value) in expected {
        assert_eq!(chat["attributes"][key], value, "{key}: {chat}");
    }
    assert!(chat["attributes"]["gen_ai.response.time_to_first_chunk"].as_f64().unwrap() >= 0.0);
    let wait = only(&spans, "wait_for_approval write_file");
    assert_eq!(wait["attributes"]["co.approval.answer"], "approved");
    assert!(wait["start_time"].as_i64() < second["start_time"].as_i64(), "it began in the first process");
    assert!(wait["end_time"].as_i64() <= second["start_time"].as_i64(), "and ended before the second");
    assert!(wait["attributes"].get("co.started").is_none());
    let tool = only(&spans, "execute_tool write_file");
    assert_eq!(tool["attributes"]["gen_ai.tool.name"], "write_file");

    let stats = co.run(&["stats", "--json"]).json();
    assert_eq!(stats["models"]["anthropic/replay"]["count"], 3);
    assert_eq!(stats["models"]["anthropic/replay"]["input_tokens"], 480);
    assert_eq!(stats["tools"]["write_file"]["errors"], 0);
    assert_eq!(stats["approvals"]["answers"], json!({ "approved": 1 }));
}

/// All bytes of the file of spans and of its log.
fn stored(co: &Co) -> String {
    let read = |name: &str| std::fs::read(co.data().join(name)).unwrap_or_default();
    String::from_utf8_lossy(&[read("telemetry.db"), read("telemetry.db-wal")].concat()).into_owned()
}

#[test]
fn spans_hold_what_the_settings_say() {
    // Setting, then whether the prompt and whether the key in an argument are stored.
    for (content, text, key) in [("full", true, true), ("redacted", true, false), ("none", false, false)] {
        let service = Service::new(TURN);
        let co = Co::new()
            .with(&service, Wire::Anthropic)
            .file("work/a.txt", "a\n")
            .env("ANTHROPIC_API_KEY", "sk-own-key-of-the-program")
            .env("CO_TELEMETRY_CONTENT", content);
        resumed(&co);
        let stored = stored(&co);
        assert_eq!(stored.contains("Copy a to b"), text, "{content}");
        assert_eq!(stored.contains(KEY), key, "{content}");
        assert!(!stored.contains("sk-own-key"), "{content}");
        assert!(stored.contains("execute_tool write_file"), "{content}");
    }
    // No file, and none for a session that is not kept.
    for (setting, args) in [("0", vec!["-p", "hi"]), ("200", vec!["-p", "hi", "--no-session-persistence"])] {
        let service = Service::new(HELLO);
        let co = Co::new().with(&service, Wire::Anthropic).env("CO_TELEMETRY_MAX_MB", setting);
        assert_eq!(co.run(&args).code, Some(0));
        assert!(!co.data().join("telemetry.db").exists(), "{args:?}");
        let tail = co.run(&["tail", "-n"]);
        assert_eq!(tail.code, Some(1));
        assert!(tail.err.contains("there are no spans yet"), "{tail:?}");
    }
}

#[test]
fn no_project_file_says_where_spans_go() {
    let service = Service::new(HELLO);
    let file = "[telemetry]\ncontent = 'full'\notlp_endpoint = 'http://127.0.0.1:1'\notlp_content = true\n";
    let co = Co::new().with(&service, Wire::Anthropic).file("work/.co/config.toml", file).trusting();
    let ran = co.run(&["-p", "hi"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for key in ["telemetry.content", "telemetry.otlp_endpoint", "telemetry.otlp_content"] {
        let words = format!("`{key}` is ignored, because a project's file may not set it");
        assert!(ran.err.contains(&words), "{key}: {}", ran.err);
    }
}

#[test]
fn a_turn_goes_on_whatever_is_wrong_with_the_file() {
    type Damage = fn(&Co);
    fn path(co: &Co) -> std::path::PathBuf {
        std::fs::create_dir_all(co.data()).unwrap();
        co.data().join("telemetry.db")
    }
    let cases: [(&str, Damage, &str); 4] = [
        (
            "newer",
            |co| {
                rusqlite::Connection::open(path(co)).unwrap().pragma_update(None, "user_version", 9).unwrap();
            },
            "a newer version of co",
        ),
        (
            "damaged",
            |co| std::fs::write(path(co), "no database at all, and longer than a header".repeat(9)).unwrap(),
            "it is damaged; delete it",
        ),
        ("a folder", |co| std::fs::create_dir_all(path(co)).unwrap(), "cannot be written"),
        (
            "read-only",
            |co| {
                std::os::unix::fs::symlink("/dev/full", path(co)).unwrap();
            },
            "telemetry.db",
        ),
    ];
    for (name, spoil, words) in cases {
        let service = Service::new(HELLO);
        let co = Co::new().with(&service, Wire::Anthropic);
        spoil(&co);
        let ran = co.run(&["-p", "hi"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Hello.\n"), "{name}: {ran:?}");
        let notes: Vec<_> = ran.err.lines().filter(|line| line.contains("spans were lost")).collect();
        assert_eq!(notes.len(), 1, "{name}: {}", ran.err);
        assert!(notes[0].contains(words), "{name}: {}", notes[0]);
    }
    // Locked by another program.
    let service = Service::new(&HELLO.repeat(2));
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
    let lock = rusqlite::Connection::open(path(&co)).unwrap();
    lock.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let ran = co.run(&["-p", "hi"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Hello.\n"), "{ran:?}");
    assert!(ran.err.contains("2 spans were lost"), "{}", ran.err);
    drop(lock);
    assert_eq!(named(&spans(&co), "invoke_agent co").len(), 1, "those of the second turn are lost");
}

#[test]
fn tail_is_woken_by_the_turns_of_other_processes() {
    let service = Service::new(&HELLO.repeat(2));
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
    let mut tail = co.start(&["tail"]);
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = || {
        let line = lines.next().unwrap().unwrap();
        line.split("  ").skip(1).take(2).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    assert_eq!([next(), next()], ["model replay", "agent co"]);
    assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
    assert_eq!(
        [next(), next()],
        ["model replay", "agent co"],
        "the parent began before its child and ended after it"
    );
    tail.kill().unwrap();
    tail.wait().unwrap();
    let filtered = co.run(&["tail", "-n", "-m"]);
    assert_eq!(filtered.out.lines().count(), 2, "{}", filtered.out);
    assert_eq!(co.run(&["tail", "-n", "-T"]).out, "");
    let id = spans(&co)[0]["trace_id"].as_str().unwrap().chars().take(8).collect::<String>();
    assert_eq!(co.run(&["tail", "-n", "-i", &id]).out.lines().count(), 2);
    let verbose = co.run(&["tail", "-n", "-m", "--verbose", "-l", "1"]);
    assert!(verbose.out.ends_with("          Hello.\n"), "{}", verbose.out);
    let unknown = co.run(&["tail", "-n", "-i", "zz"]);
    assert!(unknown.err.contains("no trace begins with \"zz\""), "{unknown:?}");
}

#[test]
fn a_page_of_traces_holds_hostile_text_as_text() {
    let attack = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>";
    let service = Service::new(&format!("reply\n  text {attack}\n  usage 1 1\n"));
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", attack]).code, Some(0));
    let ran = co.run(&["traces", "--no-open", "--output", "t.html"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = co.read("t.html").unwrap();
    assert_eq!(page.matches("</script>").count(), 2, "those of the page itself");
    assert!(!page.contains("<img"), "nothing of a span is markup");
    assert!(page.contains("pwned"), "it is there, as data");
    assert!(page.contains("default-src 'none'"));
}

/// The requests that a collector received.
#[derive(Default)]
struct CollectorLog {
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
}

fn collector(status: u16, body: &'static [u8]) -> (HttpServer, Arc<Mutex<CollectorLog>>) {
    let collected: Arc<Mutex<CollectorLog>> = Arc::default();
    let into = Arc::clone(&collected);
    let server = HttpServer::start(move |path, sent| {
        let mut into = into.lock().unwrap();
        match path {
            "/v1/traces" => into.traces.push(ExportTraceServiceRequest::decode(sent).unwrap()),
            "/v1/metrics" => into.metrics.push(ExportMetricsServiceRequest::decode(sent).unwrap()),
            other => panic!("{other}"),
        }
        HttpAnswer::new(status, body)
    });
    (server, collected)
}

#[test]
fn a_collector_gets_spans_and_metrics_and_content_only_if_it_may() {
    for content in [false, true] {
        let (server, collected) = collector(200, b"");
        let service = Service::new(TURN);
        let co = Co::new()
            .with(&service, Wire::Anthropic)
            .file("work/a.txt", "a\n")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", server.url())
            .env("OTEL_SERVICE_NAME", "co-test")
            .env("CO_TELEMETRY_OTLP_CONTENT", content.to_string());
        resumed(&co);
        let collected = collected.lock().unwrap();
        let of_resource: Vec<_> = collected.traces.iter().flat_map(|sent| &sent.resource_spans).collect();
        let service_name = format!("{:?}", of_resource[0].resource);
        assert!(service_name.contains("co-test"), "{service_name}");
        let sent: Vec<_> =
            of_resource.iter().flat_map(|one| &one.scope_spans).flat_map(|one| &one.spans).collect();
        assert_eq!(sent.len(), spans(&co).len());
        let text = format!("{sent:?}");
        assert_eq!(text.contains("Copy a to b"), content);
        assert!(!text.contains(KEY), "what has the form of a key is sent in no case");
        assert!(text.contains("openinference.span.kind"));
        let metrics = format!("{:?}", collected.metrics);
        for name in ["gen_ai.client.token.usage", "gen_ai.client.operation.duration"] {
            assert!(metrics.contains(name), "{name}");
        }
        let status = co.run(&["status"]).out;
        assert!(status.contains(&format!("sent to {}/v1/traces", server.url())), "{status}");
    }
}

#[test]
fn a_turn_goes_on_whatever_a_collector_does() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed =
        format!("http://{}", std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let servers = [(429, &b"{}"[..]), (500, b"no"), (200, b"garbage \xff")]
        .map(|(status, body)| collector(status, body).0);
    let mut cases: Vec<(String, bool)> =
        vec![(closed, true), (format!("http://{}", silent.local_addr().unwrap()), true)];
    cases.extend([(servers[0].url(), true), (servers[1].url(), true), (servers[2].url(), false)]);
    for (url, is_said) in cases {
        let service = Service::new(HELLO);
        let co = Co::new()
            .with(&service, Wire::Anthropic)
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .env("OTEL_EXPORTER_OTLP_TIMEOUT", "300");
        let ran = co.run(&["-p", "hi"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Hello.\n"), "{url}: {ran:?}");
        let notes = ran
            .err
            .lines()
            .filter(|line| line.contains("were lost") || line.contains("the OTLP collector"))
            .count();
        assert!(notes <= 1 && (notes == 1 || !is_said), "{url}: {}", ran.err);
        assert_eq!(named(&spans(&co), "invoke_agent co").len(), 1, "the file has them");
    }
    let service = Service::new(HELLO);
    let co = Co::new()
        .with(&service, Wire::Anthropic)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let status = co.run(&["status"]).out;
    assert!(status.contains("only `http/protobuf` is spoken"), "{status}");
}

#[test]
fn every_wire_makes_the_same_spans() {
    for wire in Wire::ALL {
        let service = Service::new(HELLO);
        let co = Co::new().with(&service, wire);
        assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
        let spans = spans(&co);
        let (chat, turn) = (only(&spans, "chat replay"), only(&spans, "invoke_agent co"));
        assert_eq!(chat["parent_id"], turn["id"], "{wire:?}");
        let usage = ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"]
            .map(|key| chat["attributes"][key].clone());
        assert_eq!(usage, [json!(7), json!(3)], "{wire:?}: {chat}");
        assert_eq!(turn["attributes"]["gen_ai.usage.input_tokens"], 7, "{wire:?}");
        assert!(chat["attributes"]["gen_ai.response.finish_reasons"].is_array(), "{wire:?}: {chat}");
    }
}

#[test]
fn a_request_that_is_repeated_is_a_span_each_time() {
    let service = Service::new(&format!("reply\n  error 429 rate_limit slow down | retry-after=0\n{HELLO}"));
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
    let spans = spans(&co);
    let chats = named(&spans, "chat replay");
    let told = |span: &Value| {
        [&span["status_code"], &span["attributes"]["error.type"], &span["attributes"]["co.request.attempt"]]
            .map(Value::clone)
    };
    assert_eq!(told(chats[0]), [json!("ERROR"), json!("rate_limited"), json!(1)]);
    assert_eq!(told(chats[1]), [json!("UNSET"), Value::Null, json!(2)]);
    assert_eq!(co.run(&["stats", "--json"]).json()["models"]["anthropic/replay"]["errors"], 1);

    let service = Service::new("reply\n  error 401 authentication_error no");
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "hi"]).code, Some(3));
    let turn = self::spans(&co).pop().unwrap();
    assert_eq!(
        (&turn["attributes"]["co.turn.end"], &turn["attributes"]["error.type"]),
        (&json!("failed"), &json!("auth"))
    );
}

#[test]
fn a_call_that_runs_after_its_turn_is_linked_to_it() {
    let service = Service::new(&format!("{TURN}{HELLO}"));
    let co = Co::new().with(&service, Wire::Anthropic).file("work/a.txt", "a\n");
    assert_eq!(co.run(&["-p", "Copy a to b"]).code, Some(4));
    let id = co.waiting().remove(0);
    // The conversation goes on without it.
    assert_eq!(co.run(&["-c", "-p", "and now?"]).code, Some(0));
    assert_eq!(co.run(&["approvals", "yes", &id]).code, Some(0));
    assert_eq!(co.run(&["resume", "-p"]).code, Some(0));
    let spans = spans(&co);
    let turns = named(&spans, "invoke_agent co");
    let late = turns.iter().find(|turn| turn["attributes"]["co.turn.kind"] == "late calls").unwrap();
    let link = &late["events"][0];
    let to = json!({ "trace_id": turns[0]["trace_id"], "span_id": turns[0]["id"] });
    assert_eq!((&link["name"], &link["attributes"]), (&json!("link"), &to));
    assert_eq!(only(&spans, "execute_tool write_file")["parent_id"], late["id"]);
}

#[test]
fn without_datasette_there_is_a_page() {
    let service = Service::new(HELLO);
    let co = Co::new().with(&service, Wire::Anthropic).env("PATH", "/nowhere");
    assert_eq!(co.run(&["-p", "hi"]).code, Some(0));
    let ran = co.run(&["logs", "--no-open"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "[HOME]/.local/share/co/traces.html\n"), "{ran:?}");
    assert!(ran.err.contains("Datasette is not installed; `pipx install datasette`"), "{}", ran.err);
}

#[test]
fn a_log_names_operations_and_no_words() {
    let service = Service::new(&HELLO.repeat(6));
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["--debug=trace", "-p", "a prompt of mine"]).err, "");
    let log = std::fs::read_to_string(co.data().join("debug.log")).unwrap();
    assert!(log.contains("invoke_agent") && log.contains("close"), "{log}");
    assert!(!log.contains("a prompt of mine") && !log.contains("hyper"), "{log}");
    for (filter, holds) in [("co::agent=info", true), ("co::store=info,co::tui=trace", false)] {
        let log = co.home().join(filter);
        let ran = co.run(&[&format!("--debug={filter}"), "--debug-file", log.to_str().unwrap(), "-p", "hi"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let log = std::fs::read_to_string(log).unwrap();
        assert_eq!(log.contains("invoke_agent"), holds, "{filter}: {log}");
    }
    let wrong = co.run(&["--debug=co=loud", "-p", "hi"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("--debug=co=loud"), "{}", wrong.err);
}

#[test]
fn hooks_servers_and_compactions_have_spans() {
    let long = "word ".repeat(3_000);
    let service = Service::new(&format!(
        "reply\n  call s_echo {{\"text\": \"hi\"}}\nreply\n  text {long}\n  usage 9000 3000\nreply\n  text A summary.\nreply\n  text Done.\n"
    ));
    let hook = "[[hook]]\nname = \"h\"\nevent = \"PreToolUse\"\ncommand = [\"/bin/true\"]\n";
    let co = with_server(&service, &[], NEVER).file(".config/co/hooks.toml", hook);
    assert_eq!(co.run(&["hooks", "trust", "--all", "--yes"]).code, Some(0));
    let ran = co.run(&["-p", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = co.run(&["-c", "-p", "go on", "--set", "context_tokens=4000"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let spans = spans(&co);
    let parent =
        |span: &Value| spans.iter().find(|one| one["id"] == span["parent_id"]).map(|one| one["name"].clone());
    let tool = only(&spans, "tools/call echo");
    assert_eq!((&tool["kind"], parent(tool)), (&json!("CLIENT"), Some(json!("execute_tool s_echo"))));
    assert_eq!(parent(only(&spans, "run_hook h")), Some(json!("invoke_agent co")));
    let compaction = only(&spans, "compact");
    assert_eq!(parent(compaction), Some(json!("invoke_agent co")));
    let summaries =
        named(&spans, "chat replay").into_iter().filter(|chat| chat["parent_id"] == compaction["id"]).count();
    assert_eq!(summaries, 1);
}
