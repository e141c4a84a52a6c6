//! A model service on loopback: scripted replies in the bytes of a wire, or unchanged recordings.
//!
//! For tests of the HTTP shell and of the whole binary. It uses plain HTTP/1.1, checks every request as a
//! real service would, never sleeps, and keeps a connection for the next model request unless it was cut.
//! Gates hold it at defined points; its own process opens them directly, any other over `/control/…`: `POST
//! /control/release/NAME` opens a gate, `GET /control/reached/NAME` answers once a reply has reached it, `GET
//! /control/log` returns what happened so far, one line each (also appended to a file, if one is set).

mod answer;
mod connection;
mod frames;
mod wire;

use std::collections::VecDeque;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::answer::{Delivery, Recording, ServerAnswer};
use super::ReplayGate;
use super::checker::Checker;

/// The maximum number of connections served at the same time; more wait to be accepted.
const MOST_CONNECTIONS: usize = 64;

/// The content that a server serves.
#[derive(Debug, Default)]
pub struct Plan {
    /// One answer per model request, in order.
    pub answers: Vec<ServerAnswer>,
    /// Other pages: path, status, body. They override the server's own paths.
    pub pages: Vec<Page>,
    /// The file to which each line of the log is appended, for other processes to read.
    pub log: Option<PathBuf>,
}

/// A page that is served for any method.
#[derive(Debug, Clone)]
pub struct Page {
    pub path: String,
    pub status: u16,
    pub body: String,
}

/// A request as received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Null if the body is not JSON.
    pub body: Value,
}

impl ReceivedRequest {
    /// Returns a header's value by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct ReplayServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    _running: DropGuard,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    gate: ReplayGate,
    log: watch::Sender<Vec<String>>,
    log_file: Option<PathBuf>,
    pages: Vec<Page>,
}

#[derive(Debug)]
struct State {
    answers: VecDeque<ServerAnswer>,
    requests: Vec<ReceivedRequest>,
    checker: Checker,
    findings: Vec<String>,
    connections: usize,
}

impl ReplayServer {
    /// Binds a free port on loopback and serves in the background. Needs a tokio runtime.
    pub async fn start(plan: Plan) -> std::io::Result<Self> {
        Self::start_on(0, plan).await
    }

    /// The same on a given port; 0 takes a free one.
    pub async fn start_on(port: u16, plan: Plan) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                answers: plan.answers.into(),
                requests: Vec::new(),
                checker: Checker::default(),
                findings: Vec::new(),
                connections: 0,
            }),
            gate: ReplayGate::new(),
            log: watch::Sender::new(Vec::new()),
            log_file: plan.log,
            pages: plan.pages,
        });
        let running = CancellationToken::new();
        tokio::spawn(accept(listener, Arc::clone(&shared), running.clone()));
        Ok(Self { address, shared, _running: running.drop_guard() })
    }

    /// Returns `http://127.0.0.1:PORT`, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the base URL for the Chat Completions codec.
    pub fn chat_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn gate(&self) -> ReplayGate {
        self.shared.gate.clone()
    }

    /// Appends an answer.
    pub fn push(&self, answer: ServerAnswer) {
        self.shared.lock().answers.push_back(answer);
    }

    /// Returns the model requests so far, in order.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.lock().requests.clone()
    }

    /// Returns what was wrong with requests; each was answered with a 400 that says so.
    pub fn findings(&self) -> Vec<String> {
        self.shared.lock().findings.clone()
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections
    }

    /// Returns the log: `request N PATH`, `gate NAME`, `sent N` (the answer was sent), `gone N` (the client
    /// disconnected before), `refused N FINDING`.
    pub fn log(&self) -> Vec<String> {
        self.shared.log.borrow().clone()
    }

    /// Waits until the log contains this line. Cancel-safe.
    pub async fn logged(&self, line: &str) {
        let mut changes = self.shared.log.subscribe();
        let waited = changes.wait_for(|lines| lines.iter().any(|logged| logged == line)).await;
        assert!(waited.is_ok(), "the log outlives those who wait for it");
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, line: String) {
        if let Some(path) = &self.log_file {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            // A log that cannot be written must not stop the server; readers notice that the line is missing.
            let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        }
        self.log.send_modify(|lines| lines.push(line));
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, running: CancellationToken) {
    let places = Arc::new(tokio::sync::Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = running.cancelled() => return,
        };
        let Ok((stream, _)) = accepted else { continue };
        shared.lock().connections += 1;
        let (shared, running) = (Arc::clone(&shared), running.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = connection::serve(stream, &shared) => {}
                () = running.cancelled() => {}
            }
            drop(place);
        });
    }
}
