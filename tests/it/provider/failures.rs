//! Every way a provider can fail, in every wire, at every moment: what the person reads, what is stored, how often and
//! when it is asked again.
//!
//! Each failure happens once over a real connection; what the provider made of it is then played to the real turn, again
//! and again, with a paused clock. All of it is compared with `evals/failures.txt`, which is there to be read:
//! `CO_UPDATE_FAILURES=1 cargo test --test it provider_failures` writes it anew, and its diff is the review.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use co::agent::caps::Caps;
use co::agent::context::ViewSettings;
use co::agent::driver::{self, ActiveModel, AgentEnv, FallbackModel, TraceSettings};
use co::agent::port::Event;
use co::agent::prompt::{DEFAULT_PERSONALITY, PromptBook};
use co::approval::{Decider, Policy, Workspace};
use co::history::{Limits, Record, TurnEnd};
use co::message::{Message, StopKind, StopReason, Usage, UserPart};
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Network, Timeouts};
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, Provider, ProviderError, StartKind, StreamEvent, WireCodec};
use co::sandbox::Isolation;
use co::session::Session;
use co::stdx::clock::SystemClock;
use co::store::{Store, StoreOptions};
use co::tool::Registry;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kit::recording::RecordingFrontend;
use kit::replay::parse_replies;
use kit::replay::server::{Delivery, Plan, Recording, ReplayServer, ServerAnswer};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a server that says nothing is waited for where that is the failure. Short, because this is real time.
const IDLE: Duration = Duration::from_millis(200);

/// One wire under test. A new wire is one row of [`WIRES`].
struct Wire {
    name: &'static str,
    /// Its codec behind HTTP at the root of a server.
    connect: fn(&str, Duration) -> Arc<dyn Provider>,
    /// Path and body of a request, as its codec makes them.
    request: fn() -> (String, Vec<u8>),
    /// Data that no client of it can read, in its framing.
    garbage: &'static str,
}

const WIRES: [Wire; 5] = [
    Wire {
        name: "anthropic",
        connect: |url, idle| http(Anthropic, url, KeyHeader::XApiKey, idle),
        request: || encoded(&Anthropic),
        garbage: "event: x\ndata: {oops}\n\n",
    },
    Wire {
        name: "openai_chat",
        connect: |url, idle| {
            http(OpenAiChat::new(Quirks::OPENAI), &format!("{url}/v1"), KeyHeader::Bearer, idle)
        },
        request: || {
            let (path, body) = encoded(&OpenAiChat::new(Quirks::OPENAI));
            (format!("/v1{path}"), body)
        },
        garbage: "data: {oops}\n\n",
    },
    Wire {
        name: "openai_responses",
        connect: |url, idle| http(OpenAiResponses, &format!("{url}/v1"), KeyHeader::Bearer, idle),
        request: || {
            let (path, body) = encoded(&OpenAiResponses);
            (format!("/v1{path}"), body)
        },
        garbage: "data: {oops}\n\n",
    },
    Wire {
        name: "gemini",
        connect: |url, idle| http(Gemini, url, KeyHeader::XGoogApiKey, idle),
        request: || encoded(&Gemini),
        garbage: "data: {oops}\n\n",
    },
    Wire {
        name: "ollama",
        connect: |url, idle| http(Ollama::default(), url, KeyHeader::Bearer, idle),
        request: || encoded(&Ollama::default()),
        garbage: "{oops}\n",
    },
];

fn http<C: WireCodec>(codec: C, url: &str, key_header: KeyHeader, idle: Duration) -> Arc<dyn Provider> {
    let endpoint = Endpoint {
        name: "service".to_owned(),
        base_url: url.to_owned(),
        key: ApiKey::new("sk-test"),
        key_header,
        headers: Vec::new(),
        network: Network::default(),
        timeouts: Timeouts { connect: Duration::from_secs(10), idle },
    };
    Arc::new(HttpProvider::new(codec, &endpoint, Arc::new(SystemClock)).unwrap())
}

fn question() -> ModelRequest {
    ModelRequest::new("m", vec![Message::user("hi")])
}

fn encoded<C: WireCodec>(codec: &C) -> (String, Vec<u8>) {
    let request = codec.encode(&question()).unwrap();
    (request.path, request.body.to_vec())
}

/// When it goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    BeforeHeaders,
    AfterText,
    InACall,
}

impl Phase {
    const ALL: [Self; 3] = [Self::BeforeHeaders, Self::AfterText, Self::InACall];

    fn label(self) -> &'static str {
        match self {
            Self::BeforeHeaders => "before headers",
            Self::AfterText => "after text",
            Self::InACall => "in a call",
        }
    }

    /// The content before the failure, as steps of a reply.
    fn said(self) -> &'static str {
        match self {
            Self::BeforeHeaders => "",
            Self::AfterText => "  text Half an ans\n",
            Self::InACall => "  text Half an ans\n  call read_file {\"path\": | open\n",
        }
    }
}

/// The kinds of failures.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// The service says so: status, code, words, attributes of the scripted error.
    Said(u16, &'static str, &'static str),
    /// The port is closed.
    Refused,
    /// The connection is torn down.
    Reset,
    /// The connection ends as if all were said.
    Ended,
    /// Nothing more comes.
    Silent,
    /// The answer is no reply.
    Garbage,
}

impl Failure {
    const ALL: [Self; 23] = [
        Self::Said(400, "invalid_request_error", "max_tokens: must be positive"),
        Self::Said(401, "authentication_error", "invalid key"),
        Self::Said(402, "billing_error", "no credit"),
        Self::Said(403, "permission_error", "not for this key"),
        Self::Said(404, "not_found_error", "model: m"),
        Self::Said(408, "timeout_error", "timed out"),
        Self::Said(409, "conflict_error", "conflict"),
        Self::Said(413, "request_too_large", "too large"),
        Self::Said(422, "invalid_request_error", "messages: field required"),
        Self::Said(429, "rate_limit_error", "slow down | retry-after=20"),
        Self::Said(429, "rate_limit_error", "slow down, far too much | retry-after=4000"),
        Self::Said(429, "rate_limit_error", "slow down, please try again in 1m10s"),
        Self::Said(429, "insufficient_quota", "all used"),
        Self::Said(500, "api_error", "internal error"),
        Self::Said(502, "api_error", "bad gateway"),
        Self::Said(503, "overloaded_error", "no capacity"),
        Self::Said(504, "timeout_error", "timed out"),
        Self::Said(529, "overloaded_error", "overloaded"),
        Self::Refused,
        Self::Reset,
        Self::Ended,
        Self::Silent,
        Self::Garbage,
    ];

    fn label(self) -> String {
        match self {
            Self::Said(status, code, words) => format!("{status} {code}: {words}"),
            Self::Refused => "nobody listens".to_owned(),
            Self::Reset => "the connection is torn down".to_owned(),
            Self::Ended => "the connection ends as if all were said".to_owned(),
            Self::Silent => "nothing more comes".to_owned(),
            Self::Garbage => "what comes is no reply".to_owned(),
        }
    }

    fn happens(self, phase: Phase) -> bool {
        match self {
            Self::Refused => phase == Phase::BeforeHeaders,
            Self::Said(..) | Self::Reset | Self::Ended | Self::Silent | Self::Garbage => true,
        }
    }
}

/// The outcome of one request's stream.
pub type Items = Vec<Result<StreamEvent, ProviderError>>;

/// The outcome of a provider when this failure happens on a real connection.
async fn happened(wire: &Wire, failure: Failure, phase: Phase) -> Items {
    let scripted = |end: &str| format!("reply\n{}  {end}\n", phase.said());
    let url;
    let server;
    match failure {
        Failure::Refused => {
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            url = format!("http://{free}");
        }
        Failure::Said(status, code, words) => {
            server = serve(replies(&scripted(&format!("error {status} {code} {words}")))).await;
            url = server.url();
        }
        Failure::Reset | Failure::Silent => {
            let end = if matches!(failure, Failure::Reset) { "cut" } else { "hang" };
            server = serve(replies(&scripted(end))).await;
            url = server.url();
        }
        Failure::Ended | Failure::Garbage => {
            server = serve(vec![ServerAnswer::Recording(broken(wire, failure, phase).await)]).await;
            url = server.url();
        }
    }
    let idle = if matches!(failure, Failure::Silent) { IDLE } else { Duration::from_secs(60) };
    let mut stream = (wire.connect)(&url, idle).stream(question(), CancellationToken::new());
    let mut items = Vec::new();
    while let Some(item) = stream.next().await {
        items.push(item.map_err(|error| named(error, &url)));
    }
    items
}

/// The error without the server's changing address.
fn named(error: ProviderError, url: &str) -> ProviderError {
    let address = url.trim_start_matches("http://");
    ProviderError { message: error.message.replace(address, "HOST"), ..error }
}

fn replies(script: &str) -> Vec<ServerAnswer> {
    parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect()
}

async fn serve(answers: Vec<ServerAnswer>) -> ReplayServer {
    ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap()
}

/// A reply that stops after what was said, and goes on with garbage or not at all.
async fn broken(wire: &Wire, failure: Failure, phase: Phase) -> Recording {
    let garbage = matches!(failure, Failure::Garbage);
    let body = match phase {
        Phase::BeforeHeaders if garbage => b"<html>Log in to this network</html>".to_vec(),
        Phase::BeforeHeaders => Vec::new(),
        Phase::AfterText | Phase::InACall => {
            let mut said = said(wire, phase).await;
            if garbage {
                said.extend_from_slice(wire.garbage.as_bytes());
            }
            said
        }
    };
    let kind = if garbage && phase == Phase::BeforeHeaders { "text/html" } else { "text/event-stream" };
    let headers = vec![("content-type".to_owned(), kind.to_owned())];
    Recording { status: 200, headers, body, delivery: Delivery::Whole }
}

/// The bytes of what is said before it goes wrong: those that a reply torn down there leaves.
async fn said(wire: &Wire, phase: Phase) -> Vec<u8> {
    let server = serve(replies(&format!("reply\n{}  cut\n", phase.said()))).await;
    let (path, body) = (wire.request)();
    let url = format!("{}{path}", server.url());
    let client = reqwest::Client::new();
    let mut response = client.post(url).body(body).send().await.unwrap();
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        bytes.extend_from_slice(&piece);
    }
    bytes
}

/// Answers in the same way whenever it is asked, and notes when it was.
pub struct FixedProvider {
    pub items: Items,
    pub asked: Arc<Mutex<Vec<(&'static str, Instant)>>>,
    pub name: &'static str,
}

impl Provider for FixedProvider {
    fn name(&self) -> &str {
        self.name
    }

    fn stream(
        &self,
        _: ModelRequest,
        _: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        self.asked.lock().unwrap().push((self.name, Instant::now()));
        stream::iter(self.items.clone()).boxed()
    }
}

/// A reply of one word, whole.
pub fn fine() -> Items {
    let stop = StopReason::new(StopKind::EndTurn);
    [
        StreamEvent::Started { model: "m".to_owned() },
        StreamEvent::PartStarted { index: 0, kind: StartKind::Text },
        StreamEvent::PartDelta { index: 0, delta: "Fine.".to_owned() },
        StreamEvent::PartEnded { index: 0, opaque: None },
        StreamEvent::Finished { stop, usage: Usage::default() },
    ]
    .map(Ok)
    .into()
}

/// The outcome of a turn whose provider always fails so.
struct Outcome {
    /// Who was asked, and how long after the first request.
    asked: Vec<(&'static str, Duration)>,
    events: Vec<Event>,
    records: Vec<Record>,
    end: TurnEnd,
}

/// Plays one failure to a turn; with a fallback, that one answers.
async fn play(store: &Store, items: &Items, with_fallback: bool) -> Outcome {
    let asked = Arc::default();
    let model = |name: &'static str, items: Items| {
        let provider = FixedProvider { items, asked: Arc::clone(&asked), name };
        Arc::new(ActiveModel::new(Arc::new(provider), "m"))
    };
    let fallback = with_fallback.then(|| FallbackModel::new(model("spare", fine())));
    let env = environment(watch::channel(model("service", items.clone())).1, fallback);
    let mut session = Session::create(store, Path::new("/w")).await.unwrap();
    let client = RecordingFrontend::watching();
    let prompt = vec![UserPart::Text { text: "go".to_owned() }];
    let turn = driver::run_turn(&mut session, prompt, &env, &client, CancellationToken::new());
    let end = turn.await.unwrap().end;
    let records = store.load(session.id()).await.unwrap();
    let asked = asked.lock().unwrap();
    let first = asked[0].1;
    let asked = asked.iter().map(|(name, at)| (*name, at.duration_since(first))).collect();
    Outcome { asked, events: client.events(), records, end }
}

/// The setup of a turn without tools.
pub fn environment(model: watch::Receiver<Arc<ActiveModel>>, fallback: Option<FallbackModel>) -> AgentEnv {
    let policy = Policy::default();
    AgentEnv {
        own: Arc::new([]),
        undo: co::undo::UndoLog::default(),
        cache: co::tool::cache::ResultCache::default(),
        memories: co::memory::Memories::none(std::sync::Arc::new(co::stdx::clock::SystemClock)),
        caps: watch::Sender::new(Caps::default()),
        registry: Registry::new(Vec::new()),
        hooks: Vec::new(),
        model,
        fallback,
        prompt: Arc::new(PromptBook::builtin(Path::new("/w"), DEFAULT_PERSONALITY)),
        entered: Arc::new(()),
        policy: watch::channel(policy).1,
        isolation: Isolation::NONE,
        place: Workspace { folder: "/w".into(), ..Workspace::default() },
        expiry: None,
        limits: Limits { requests: Some(25), tokens: None },
        summarizer: None,
        context_tokens: None,
        view: ViewSettings::default(),
        http_retries: 2,
        overload_wait: Duration::ZERO,
        tool_retries: 3,
        clock: Arc::new(SystemClock),
        spill: "/w/.spill".into(),
        decider: Decider::Script,
        trace: TraceSettings::default(),
    }
}

/// One outcome as lines.
fn lines(alone: &Outcome, with_fallback: &Outcome) -> String {
    let mut text = String::new();
    writeln!(text, "    asked     {}", times(alone)).unwrap();
    for line in meanwhile(alone) {
        writeln!(text, "    meanwhile {line}").unwrap();
    }
    let told = match &alone.end {
        TurnEnd::Failed { error } => format!("{}. {}", error.describe(), error.advice()),
        other => format!("{other:?}"),
    };
    writeln!(text, "    at last   {told}").unwrap();
    writeln!(text, "    stored    {}", stored(alone)).unwrap();
    let spare = with_fallback.asked.iter().find(|(name, _)| *name == "spare");
    let fallback = match spare {
        Some((_, after)) => {
            let tries = with_fallback.asked.len() - 1;
            let s = if tries == 1 { "" } else { "s" };
            format!("answers after {tries} failed request{s}, {} s after the first", seconds(*after))
        }
        None => "is not asked".to_owned(),
    };
    writeln!(text, "    fallback  {fallback}").unwrap();
    text
}

fn times(outcome: &Outcome) -> String {
    let at: Vec<String> = outcome.asked.iter().map(|(_, after)| seconds(*after)).collect();
    match at.as_slice() {
        [_] => "once".to_owned(),
        many => format!("{} times, at {} s", many.len(), many.join(", ")),
    }
}

fn seconds(after: Duration) -> String {
    // The clock's own grain is a millisecond.
    format!("{:.1}", after.as_secs_f64())
}

/// The text shown before the end, each piece once.
fn meanwhile(outcome: &Outcome) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in &outcome.events {
        let line = match event {
            Event::Retry { class, message, attempt: 1, .. } => format!("{}: {message}", class.label()),
            Event::PartialReset => "what was shown of the reply is taken back".to_owned(),
            Event::Prompted { parts } => match parts.last() {
                Some(UserPart::Note { text, .. }) => format!("the model is told: {text}"),
                Some(UserPart::Text { .. } | UserPart::Image { .. }) | None => continue,
            },
            Event::Status { text } => text.clone(),
            _ => continue,
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn stored(outcome: &Outcome) -> String {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for record in &outcome.records {
        let word = match record {
            // The prompt's parts are kept as a state, for `co prompt show`.
            Record::Opened { .. } | Record::TurnStarted { .. } | Record::State { .. } => continue,
            Record::Said { message } => match &**message {
                Message::User { parts } => match parts.last() {
                    Some(UserPart::Note { .. }) => "note to the model".to_owned(),
                    _ => "prompt".to_owned(),
                },
                Message::Assistant(_) | Message::ToolReturns { .. } => "reply".to_owned(),
            },
            Record::RequestEnded { error, .. } => {
                let class = serde_json::to_value(error).unwrap();
                format!("request failed ({})", class.as_str().unwrap_or("no"))
            }
            Record::TurnEnded { end } => {
                let value = serde_json::to_value(end).unwrap();
                format!("turn {}", value["end"].as_str().unwrap_or_default())
            }
            other => format!("{other:?}"),
        };
        match counted.last_mut() {
            Some((last, times)) if *last == word => *times += 1,
            _ => counted.push((word, 1)),
        }
    }
    let words = |(word, times): &(String, usize)| match times {
        1 => word.clone(),
        times => format!("{times} × {word}"),
    };
    counted.iter().map(words).collect::<Vec<_>>().join(", ")
}

const HEAD: &str = "\
# A provider's bad day: what goes wrong, when, and what comes of it when it goes on going wrong.
# Two retries are set, and an idle timeout of 0.2 s. `CO_UPDATE_FAILURES=1 cargo test --test it provider_failures`
# writes this anew. Equal outcomes stand together; `fallback` is the same with a fallback model that works.
";

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/failures.txt")
}

#[test]
fn every_failure_ends_as_written() {
    let real = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let paused =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(folder.path().join("data"), folder.path().join("run"));
    let store = paused.block_on(Store::open(options)).unwrap();
    let mut text = HEAD.to_owned();
    for failure in Failure::ALL {
        writeln!(text, "\n{}", failure.label()).unwrap();
        let mut outcomes: Vec<(String, BTreeMap<Phase, Vec<&str>>)> = Vec::new();
        for phase in Phase::ALL.into_iter().filter(|phase| failure.happens(*phase)) {
            for wire in &WIRES {
                let items = real.block_on(happened(wire, failure, phase));
                let outcome = paused.block_on(async {
                    lines(&play(&store, &items, false).await, &play(&store, &items, true).await)
                });
                let at = outcomes.iter().position(|(known, _)| *known == outcome).unwrap_or_else(|| {
                    outcomes.push((outcome, BTreeMap::new()));
                    outcomes.len() - 1
                });
                outcomes[at].1.entry(phase).or_default().push(wire.name);
            }
        }
        for (outcome, when) in outcomes {
            write!(text, "  {}\n{outcome}", places(when)).unwrap();
        }
    }
    if std::env::var_os("CO_UPDATE_FAILURES").is_some() {
        std::fs::write(file(), &text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(file()).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(expected.as_str(), text.as_str());
    assert!(expected == text, "{}", diff.unified_diff().context_radius(3));
}

/// `after text, in a call` in all wires, `after text (anthropic)` in some.
fn places(when: BTreeMap<Phase, Vec<&str>>) -> String {
    let mut places: Vec<(String, Vec<&str>)> = Vec::new();
    for (phase, wires) in when {
        match places.last_mut().filter(|(_, known)| *known == wires) {
            Some((phases, _)) => write!(phases, ", {}", phase.label()).unwrap(),
            None => places.push((phase.label().to_owned(), wires)),
        }
    }
    let words = |(phases, wires): (String, Vec<&str>)| {
        if wires.len() == WIRES.len() { phases } else { format!("{phases} ({})", wires.join(", ")) }
    };
    places.into_iter().map(words).collect::<Vec<_>>().join("; ")
}
