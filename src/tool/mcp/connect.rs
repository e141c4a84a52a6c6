//! Connects one server: starts its program, or reaches its address, and agrees on the protocol.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use super::client::{Client, Handlers};
use super::{ServerPlace, Servers, auth, names};
use crate::config::{Secret, ServerSettings, ServerTransport};
use crate::sandbox::Exit;
use crate::sandbox::child::{Group, Program, Started, Talk, talk};
use crate::stdx::fs::{create_private_dir, open_private};
use crate::stdx::secrecy::shown_address;

/// The longest line of a server, in bytes; longer ones are dropped.
const LONGEST_LINE: usize = 16 << 20;

/// The most bytes that are kept of what a server prints on its standard error.
const LOG: usize = 1 << 20;

/// How long the log of a server that ended may take to be written.
const LOGGING: Duration = Duration::from_secs(1);

/// The most redirects that one request follows.
const MOST_REDIRECTS: usize = 5;

/// The last line of a log that a reason quotes, in bytes.
const LAST_LINES: usize = 4096;

/// Why a server could not be connected.
pub(super) struct ConnectError {
    /// For people.
    pub why: String,
    /// The header `WWW-Authenticate` of a server that wants a login.
    pub challenge: Option<String>,
}

impl From<String> for ConnectError {
    fn from(why: String) -> Self {
        Self { why, challenge: None }
    }
}

/// A connected server. Dropping it ends the server's program.
pub(super) struct Connection {
    running: RunningService<RoleClient, Client>,
    tools_changed: Arc<Notify>,
    /// Fires when the program ended.
    gone: CancellationToken,
    /// Of the program; nothing for an address.
    _group: Option<Group>,
    log: Option<PathBuf>,
}

impl Connection {
    pub fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// Returns the name and version that the server gives itself, and the version of the protocol.
    pub fn about(&self) -> (String, String) {
        let Some(info) = self.running.peer().peer_info() else { return Default::default() };
        let title =
            info.server_info.as_ref().map(|one| names::line(&format!("{} {}", one.name, one.version)));
        (title.unwrap_or_default(), info.protocol_version.to_string())
    }

    /// Resolves when the server says that its tools changed. Cancel-safe.
    pub async fn tools_changed(&self) {
        self.tools_changed.notified().await;
    }

    /// Resolves when the server is gone, with the reason. Cancel-safe.
    pub async fn ended(&self) -> String {
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = closed(&self.running) => {}
        }
        format!("it ended{}", last_words(self.log.as_deref()))
    }
}

/// Resolves when the connection is closed.
async fn closed(running: &RunningService<RoleClient, Client>) {
    // The library tells it to no one that waits.
    const LOOK: Duration = Duration::from_secs(5);
    while !running.is_closed() && !running.peer().is_transport_closed() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Returns what a server is reached by, without tokens.
pub(super) fn shown(settings: &ServerSettings) -> String {
    match &settings.how {
        ServerTransport::Program { command, args, .. } => {
            let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
            names::line(&words.join(" "))
        }
        ServerTransport::Http { url, .. } => shown_address(url),
    }
}

/// Connects a server; errs with the reason, for people. Bounded by its `timeout`.
pub(super) async fn connect(
    name: &str,
    settings: &ServerSettings,
    place: &ServerPlace,
    handlers: &Handlers,
) -> Result<Connection, ConnectError> {
    let tools_changed = Arc::new(Notify::new());
    let root = format!("file://{}", place.workspace.display());
    let client = Client { root, handlers: handlers.clone(), tools_changed: Arc::clone(&tools_changed) };
    let gone = CancellationToken::new();
    let log = Servers::log_file(place, name);
    let (service, group, log) = match &settings.how {
        ServerTransport::Program { .. } => {
            let Started { group, exit, pipes } = start(settings, place).await?;
            let Talk { input, output, errors } = pipes;
            let (path, (written, logged)) = (log.clone(), oneshot::channel());
            std::thread::spawn(move || {
                keep_log(errors, &path);
                // Nobody may wait for it.
                let _ = written.send(());
            });
            tokio::spawn(watch(exit, logged, gone.clone()));
            let opened = (|| {
                let reads = pipe::Receiver::from_owned_fd(OwnedFd::from(output))?;
                Ok((reads, pipe::Sender::from_owned_fd(OwnedFd::from(input))?))
            })();
            let (reads, writes) = opened.map_err(|error: io::Error| error.to_string())?;
            let transport = AsyncRwTransport::new(reads, writes).with_max_line_length(LONGEST_LINE);
            (in_time(client.serve(transport), settings, &gone, Some(&log)).await?, Some(group), Some(log))
        }
        ServerTransport::Http { url, headers, oauth } => {
            let config = http(url, headers, place)?;
            let manager = tokio::time::timeout(settings.timeout, auth::manager(name, url, oauth, place));
            let manager = manager.await.map_err(|_| late(settings))??;
            let transport =
                StreamableHttpClientTransport::with_client(AuthClient::new(http_client()?, manager), config);
            let served = in_time(client.serve(transport), settings, &gone, None).await;
            let wants_login = |error: ConnectError| match error.challenge {
                None => error,
                challenge => {
                    ConnectError { why: format!("it wants a login: `co mcp login {name}`"), challenge }
                }
            };
            (served.map_err(wants_login)?, None, None)
        }
    };
    let version = service.peer().peer_info().map(|info| info.protocol_version.clone());
    if let Some(version) = version.filter(|version| !ProtocolVersion::KNOWN_VERSIONS.contains(version)) {
        let named = names::line(version.as_str());
        return Err(format!("it speaks an unknown version of the protocol ({named})").into());
    }
    Ok(Connection { running: service, tools_changed, gone, _group: group, log })
}

async fn in_time<T>(
    serving: impl Future<Output = Result<T, ClientInitializeError>>,
    settings: &ServerSettings,
    gone: &CancellationToken,
    log: Option<&Path>,
) -> Result<T, ConnectError> {
    let words = |error: ClientInitializeError| match error {
        ClientInitializeError::ConnectionClosed(_) => {
            format!("it ended before it answered{}", last_words(log)).into()
        }
        error => ConnectError {
            why: format!("{}{}", names::line(&error.to_string()), last_words(log)),
            challenge: error.auth_challenge().map(str::to_owned),
        },
    };
    tokio::select! {
        biased;
        served = tokio::time::timeout(settings.timeout, serving) => match served {
            Ok(served) => {
                if served.is_err() && log.is_some() {
                    // What it printed last is on its way.
                    let _ = tokio::time::timeout(LOGGING, gone.cancelled()).await;
                }
                served.map_err(words)
            }
            Err(_) => Err(format!("{}{}", late(settings), last_words(log)).into()),
        },
        () = gone.cancelled() => Err(format!("it ended before it answered{}", last_words(log)).into()),
    }
}

fn late(settings: &ServerSettings) -> String {
    format!("it did not answer within {} s", settings.timeout.as_secs())
}

async fn start(settings: &ServerSettings, place: &ServerPlace) -> Result<Started<Talk>, String> {
    let ServerTransport::Program { command, args, env, cwd } = &settings.how else {
        return Err("it has no program".to_owned());
    };
    let mut all = place.child_env.clone();
    for (name, value) in env {
        let value = place.filled_in(value)?;
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), value));
    }
    let path = all.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    let file =
        found(command, &path, &place.workspace).ok_or_else(|| format!("there is no program `{command}`"))?;
    let cwd = cwd.clone().unwrap_or_else(|| place.workspace.clone());
    let args = args.iter().map(Into::into).collect();
    let program = Program { file, args, cwd, env: all, input: None };
    talk(program).await.map_err(|error| format!("{command} cannot be started: {error}"))
}

/// Returns the file of a program: as written, or from the `PATH`.
fn found(command: &str, path: &str, workspace: &Path) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(workspace.join(command)).filter(|file| file.is_file());
    }
    std::env::split_paths(path).map(|folder| folder.join(command)).find(|file| file.is_file())
}

impl ServerPlace {
    /// Replaces each `${NAME}` by the variable; errs if it is not set.
    pub(super) fn filled_in(&self, value: &Secret) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = value.expose();
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else { break };
            let variable =
                self.variables.get(name).ok_or_else(|| format!("the variable {name} is not set"))?;
            out.push_str(before);
            out.push_str(variable);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Creates a client that follows redirects on the same origin only: headers with tokens go nowhere else.
fn http_client() -> Result<reqwest::Client, String> {
    let same_origin = reqwest::redirect::Policy::custom(|attempt| {
        let is_same = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
        if is_same && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
    });
    let client = reqwest::Client::builder()
        .redirect(same_origin)
        .user_agent(concat!("co/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| error.to_string())
}

fn http(
    url: &str,
    headers: &BTreeMap<String, Secret>,
    place: &ServerPlace,
) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut all = HashMap::new();
    for (name, value) in headers {
        let text = place.filled_in(value)?;
        let mut value = reqwest::header::HeaderValue::from_str(&text)
            .map_err(|_| format!("the header {name} has a value that cannot be sent"))?;
        value.set_sensitive(true);
        let name = reqwest::header::HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is no name of a header"))?;
        all.insert(name, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(url).custom_headers(all))
}

/// Tells that the program is gone, once what it printed is in its log.
async fn watch(
    exit: oneshot::Receiver<io::Result<Exit>>,
    logged: oneshot::Receiver<()>,
    gone: CancellationToken,
) {
    // However it ended, and if nobody can tell.
    let _ = exit.await;
    // Its children may keep the log open.
    let _ = tokio::time::timeout(LOGGING, logged).await;
    gone.cancel();
}

/// Writes what a server prints to a file of bounded size, the newest at its end. Blocking, until the server ends.
fn keep_log(mut errors: io::PipeReader, path: &Path) {
    let open = || -> io::Result<File> {
        path.parent().map_or(Ok(()), create_private_dir)?;
        let file = open_private(path)?;
        file.set_len(0)?;
        Ok(file)
    };
    let mut file = open().ok();
    let (mut written, mut piece) = (0, vec![0; 8192]);
    while let Ok(read) = errors.read(&mut piece) {
        if read == 0 {
            break;
        }
        let room = LOG.saturating_sub(written).min(read);
        // A log that cannot be written loses lines, never the server.
        if let (Some(log), Some(bytes)) = (&mut file, piece.get(..room)) {
            written += room;
            if log.write_all(bytes).is_err() {
                file = None;
            }
        }
    }
}

/// Returns the last line of a server's log, to follow a reason.
fn last_words(log: Option<&Path>) -> String {
    let text = log.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    let end = text.get(text.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
    let end = String::from_utf8_lossy(end);
    match end.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("; it printed last: {}", names::line(line)),
        None => String::new(),
    }
}
