//! No key anywhere: the real program is run through every way a key could leak, and everything it said or wrote is
//! searched for each secret that it was given.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use co::message::Message;
use co::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Network, Timeouts};
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::{ModelRequest, Provider as _};
use co::stdx::clock::SystemClock;
use futures::StreamExt as _;
use kit::replay::server::{Delivery, Plan, Recording, ReplayServer, ServerAnswer};
use memchr::memmem;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::co::{Co, Service, Wire};

const KEY: &str = "sk-live-THE-KEY-0123456789";
const OTHER: &str = "sk-ant-ANOTHER-KEY-987654";
const PASSWORD: &str = "proxy-pass-w0rd-11";
const NAMED: &str = "wk-FROM-THE-ENVIRONMENT-13579";
const TOKEN: &str = "tenant-T0KEN-in-a-header-24680";
const KEPT: &str = "gsk-KEPT-IN-THE-FILE-112233";

/// In no form may they show: as they are, in base 64 with a name before, without their ends.
fn forms() -> Vec<String> {
    use base64::Engine as _;
    let pair = base64::engine::general_purpose::STANDARD.encode(format!("name:{PASSWORD}"));
    let begun = |secret: &str| secret.split_at(14).0.to_owned();
    let secrets = [KEY, OTHER, PASSWORD, NAMED, TOKEN, KEPT];
    secrets.iter().map(|secret| begun(secret)).chain([pair]).collect()
}

/// Everything in a folder, whatever it is: databases, their logs, sockets' names.
fn search(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = path.display().to_string();
        let bytes = if path.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap_or_default() };
        check(&name, name.as_bytes(), found);
        // Files that the test itself wrote, and files for keys, may hold them.
        if !name.ends_with("config.toml") && !name.ends_with("auth/keys.toml") {
            check(&name, &bytes, found);
        }
        if path.is_dir() {
            search(&path, found);
        }
    }
}

fn check(place: &str, bytes: &[u8], found: &mut Vec<String>) {
    for form in forms() {
        if memmem::find(bytes, form.as_bytes()).is_some() {
            let text = String::from_utf8_lossy(bytes);
            let at = text.find(&form).unwrap_or(0);
            let around: String = text.chars().skip(at.saturating_sub(60)).take(160).collect();
            found.push(format!("{form} in {place}: {around}"));
        }
    }
}

#[track_caller]
fn nothing_leaks(about: &str, co: &Co, ran: &Output) {
    let mut found = Vec::new();
    check("stdout", &ran.stdout, &mut found);
    check("stderr", &ran.stderr, &mut found);
    search(&co.home(), &mut found);
    assert!(found.is_empty(), "{about}: {found:#?}");
}

fn run(co: &Co, args: &[&str]) -> Output {
    // The log is searched with everything else.
    co.command(&co.workspace(), &[&["--debug-file", "debug.log"], args].concat()).output().unwrap()
}

fn with_key(co: Co) -> Co {
    co.env("CO_API_KEY", KEY).env("RUST_LOG", "trace").env("CO_LOG", "trace").env("RUST_BACKTRACE", "full")
}

/// A service that answers every request with the same body.
fn answering(status: u16, content_type: &str, body: &str) -> Service {
    answering_about(KEY, status, content_type, body)
}

/// The same, and the request's id is this key.
fn answering_about(key: &str, status: u16, content_type: &str, body: &str) -> Service {
    let recording = Recording {
        status,
        headers: vec![
            ("content-type".to_owned(), content_type.to_owned()),
            ("x-request-id".to_owned(), key.to_owned()),
        ],
        body: body.as_bytes().to_vec(),
        delivery: Delivery::Whole,
    };
    let answers = (0..6).map(|_| ServerAnswer::Recording(recording.clone())).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(ReplayServer::start(Plan { answers, ..Plan::default() })).unwrap();
    Service { server, runtime }
}

#[test]
fn turns_that_go_well_and_badly() {
    let json = "application/json";
    let stream = "text/event-stream";
    let refused = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}. Find yours elsewhere."), "code": KEY } });
    let cases = [
        ("a key that is refused", answering(401, json, &refused.to_string())),
        ("a request that is refused", answering(400, json, &refused.to_string())),
        ("trouble that is repeated", answering(500, "text/plain", &format!("Authorization: Bearer {KEY}"))),
        ("an error in a stream", answering(200, stream, &format!("data: {refused}\n\n"))),
        ("nonsense", answering(200, stream, &format!("data: {} Bearer {KEY}\n\n", "x".repeat(104)))),
        ("a page", answering(200, "text/html", &format!("<html>{KEY}</html>"))),
    ];
    for (about, service) in cases {
        for args in [vec!["-p", "hello"], vec!["-p", "hello", "--output", "json"]] {
            let co = with_key(Co::new().with(&service, Wire::Chat)).env("CO_HTTP_RETRIES", "0");
            let ran = run(&co, &args);
            assert_ne!(ran.status.code(), Some(0), "{about}");
            nothing_leaks(about, &co, &ran);
        }
    }
    let service = Service::new("reply\n call list_dir {}\nreply\n text done");
    let co = with_key(Co::new().with(&service, Wire::Anthropic));
    let ran = run(&co, &["-p", "look around"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(service.server.requests().iter().all(|request| request.header("x-api-key") == Some(KEY)));
    nothing_leaks("a good turn", &co, &ran);
}

/// A call with one of our keys in its arguments is refused: stored, it would be another call.
#[test]
fn a_call_with_a_key_does_not_run() {
    let call = json!({ "path": "notes.txt", "content": format!("the key is {KEY}") });
    let service = Service::new(&format!("reply\n call write_file {call}\nreply\n text done"));
    let rules = "[[rule]]\neffect = \"allow\"\ntool = \"write_file\"\n";
    let co = with_key(Co::new().with(&service, Wire::Anthropic)).file(".config/co/rules.toml", rules);
    let ran = run(&co, &["-p", "note the key"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(co.read("notes.txt"), None, "neither the key nor the mark in its place is written");
    assert!(service.asked(2).contains("the arguments contain a key of this program"));
}

/// The tool sees no key in its environment, and the records of what the model was sent hold none.
#[test]
fn keys_from_the_environment_reach_no_command() {
    let service = Service::new("reply\n call shell {\"command\":\"env\"}\nreply\n text done");
    let co = with_key(Co::new().with(&service, Wire::Chat)).env("ANTHROPIC_API_KEY", OTHER);
    let ran = run(&co, &["-p", "look around"]);
    assert_eq!(ran.status.code(), Some(4), "{}", String::from_utf8_lossy(&ran.stderr));
    nothing_leaks("a command that waits", &co, &ran);
    let id = co.waiting().remove(0);
    for args in [vec!["approvals", "yes", id.as_str()], vec!["resume"]] {
        let ran = run(&co, &args);
        assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
        nothing_leaks(&args.join(" "), &co, &ran);
    }
    let told = service.asked(2);
    assert!(told.contains("HOME="), "the command's output is told: {told}");
    let mut found = Vec::new();
    check("what the model is told", told.as_bytes(), &mut found);
    assert!(found.is_empty(), "{found:#?}");
    for args in [vec!["config"], vec!["config", "--json"], vec!["sessions"], vec!["approvals"]] {
        let ran = run(&co, &args);
        nothing_leaks(&args.join(" "), &co, &ran);
    }
}

#[test]
fn addresses_and_proxies_that_hold_secrets() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let chat = |url: &str| {
        with_key(Co::new())
            .env("CO_PROVIDER", "openai-compatible")
            .env("CO_MODEL", "m")
            .env("CO_HTTP_RETRIES", "0")
            .env("CO_BASE_URL", url)
    };
    let query = format!("http://{free}/v1?key={OTHER}");
    let proxied = || chat("https://api.test/v1");
    let cases = [
        ("a key in the address", chat(&query)),
        ("an address that is none", chat(&format!("ftp://x/?key={OTHER}"))),
        ("a password in the address", chat(&format!("http://name:{PASSWORD}@{free}/v1"))),
        ("a key in the address of another machine", {
            // Nothing leaves this machine: the proxy is one that does not answer.
            chat(&format!("http://models.test/v1?key={OTHER}")).env("CO_PROXY", format!("http://{free}"))
        }),
        ("a proxy of one's own", proxied().env("CO_PROXY", format!("http://name:{PASSWORD}@{free}"))),
        ("a proxy that is none", proxied().env("CO_PROXY", format!("socks5://name:{PASSWORD}@{free}"))),
        ("a proxy of the system", proxied().env("HTTPS_PROXY", format!("http://name:{PASSWORD}@{free}"))),
        ("a key with a line end", chat("http://localhost:1/v1").env("CO_API_KEY", format!("{KEY}\n{OTHER}"))),
    ];
    let ways: [&[&str]; 7] = [
        &["-p", "hello"],
        &["config"],
        &["models"],
        &["models", "--json"],
        &["models", "--offline"],
        &["auth", "test"],
        &["status"],
    ];
    for (about, co) in cases {
        for args in ways {
            let ran = run(&co, args);
            if args[0] == "-p" {
                assert_ne!(ran.status.code(), Some(0), "{about}");
            }
            nothing_leaks(&format!("{about}, {}", args.join(" ")), &co, &ran);
        }
    }
}

/// A service that repeats what it was sent, and refuses it.
fn repeating(sent: &[&str]) -> Service {
    let said = format!("no: {}", sent.join(" "));
    let said = json!({ "error": { "message": said, "code": sent[0] } }).to_string();
    answering_about(sent[0], 401, "application/json", &said)
}

/// Where a key may come from, which header carries it, and what else is as secret as a key.
#[test]
fn keys_of_every_kind() {
    let section = |service: &Service| {
        format!(
            "[providers.work]\npreset = 'openai-compatible'\nbase_url = '{}'\napi_key = '$WORK_KEY'\nmodel = 'm'\n\
             [providers.work.headers]\nx-tenant-token = '$TENANT'\nx-plain = '{TOKEN}'\n",
            service.server.chat_url()
        )
    };
    let chat = |service: &Service, provider: &str, url: String| {
        let co = with_key(Co::new().with(service, Wire::Chat)).env("CO_API_KEY", "");
        co.env("CO_PROVIDER", provider).env("CO_BASE_URL", url)
    };
    type CoFactory<'a> = Box<dyn Fn(&Service) -> Co + 'a>;
    let cases: [(&str, &str, String, CoFactory<'_>); 4] = [
        (
            "a section",
            "authorization",
            format!("Bearer {NAMED}"),
            Box::new(|service| {
                let co = Co::new().file(".config/co/config.toml", section(service));
                co.env("WORK_KEY", NAMED)
                    .env("TENANT", TOKEN)
                    .env("CO_MODEL", "work/m")
                    .env("CO_LOG", "trace")
            }),
        ),
        (
            "Gemini",
            "x-goog-api-key",
            OTHER.to_owned(),
            Box::new(|service| chat(service, "gemini", service.server.url()).env("GEMINI_API_KEY", OTHER)),
        ),
        (
            "Azure",
            "api-key",
            OTHER.to_owned(),
            Box::new(|service| {
                chat(service, "azure-openai", service.server.chat_url()).env("AZURE_OPENAI_API_KEY", OTHER)
            }),
        ),
        (
            "the key file",
            "authorization",
            format!("Bearer {KEPT}"),
            Box::new(|service| {
                let co = chat(service, "groq", service.server.chat_url());
                let added = co.piped(KEPT, &["auth", "add", "groq"]);
                assert_eq!(added.code, Some(0), "{added:?}");
                co
            }),
        ),
    ];
    for (about, header, value, make) in cases {
        let sent = value.trim_start_matches("Bearer ");
        let service = if about == "a section" { repeating(&[sent, TOKEN]) } else { repeating(&[sent]) };
        let co = make(&service);
        for args in [
            &["-p", "hello"][..],
            &["-p", "hello", "--output", "json"],
            &["config"],
            &["config", "--json"],
            &["auth", "list"],
            &["auth", "test"],
            &["models"],
        ] {
            let ran = run(&co, args);
            nothing_leaks(&format!("{about}: {args:?}"), &co, &ran);
        }
        let requests = service.server.requests();
        assert_eq!(requests.len(), 2, "{about}");
        assert!(
            requests.iter().all(|request| request.header(header) == Some(&value)),
            "{about}: {requests:?}"
        );
        if about == "a section" {
            let sent = ["x-tenant-token", "x-plain"].map(|name| requests[0].header(name));
            assert_eq!(sent, [Some(TOKEN), Some(TOKEN)]);
        }
    }
}

/// Nothing makes the real program panic at will. What a panic could tell of a failure is its whole `Debug`: no key is in
/// it, because none is in the error.
#[test]
fn a_panic_tells_no_key() {
    let said = json!({ "error": { "message": format!("no: {KEY} {TOKEN}"), "code": TOKEN } }).to_string();
    let service = answering(401, "application/json", &said);
    let endpoint = Endpoint {
        name: "work".to_owned(),
        base_url: service.server.chat_url(),
        key: ApiKey::new(KEY),
        key_header: KeyHeader::Bearer,
        headers: vec![("x-tenant-token".to_owned(), ApiKey::new(TOKEN).unwrap())],
        network: Network::default(),
        timeouts: Timeouts::default(),
    };
    let codec = OpenAiChat::new(Quirks::COMPATIBLE);
    let provider = HttpProvider::new(codec, &endpoint, Arc::new(SystemClock)).unwrap();
    let request = ModelRequest::new("m", vec![Message::user("hi")]);
    let first = service.runtime.block_on(provider.stream(request, CancellationToken::new()).next());
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| first.unwrap().expect("it went well")));
    let told = panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(told.starts_with("it went well: ProviderError"), "{told}");
    let mut found = Vec::new();
    check("a panic", told.as_bytes(), &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

/// A service that is killed in the middle, and a program that is killed while it waits.
#[test]
fn a_program_that_is_killed_leaves_no_key() {
    let service = Service::new("reply\n text a\n gate g\n text b");
    let co = with_key(Co::new().with(&service, Wire::Chat));
    let mut child = co.start(&["-p", "hello"]);
    service.runtime.block_on(service.server.gate().reached("g"));
    child.kill().unwrap();
    let ran = child.wait_with_output().unwrap();
    nothing_leaks("killed", &co, &ran);
}
