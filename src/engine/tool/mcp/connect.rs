//! Connects one server: starts its program, or reaches its address, and agrees on the protocol.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use tokio::io::AsyncRead;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot};
use tokio_util::io::StreamReader;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::auth::{self, Account};
use super::client::{Client, Handlers};
use super::{ServerEnvironment, Servers, names};
use crate::config::{Secret, ServerSandbox, ServerSettings, ServerTransport, filled_in, variables};
use crate::sandbox::survivors::MARKER;
use crate::sandbox::tasks::UNLIMITED;
use crate::sandbox::{Backend, Command, Confinement, ExecEvent};
use crate::stdx::fs::{create_private_dir, open_private};
use crate::stdx::moment::duration;
use crate::stdx::secrecy::{names_a_secret, shown_address};

/// The longest line of a server, in bytes; longer ones are dropped.
const LONGEST_LINE: usize = 16 << 20;

/// The most bytes that are kept of what a server prints on its standard error.
const LOG: u64 = 1 << 20;

/// How long the log of a server that ended may take to be written.
const LOGGING: Duration = Duration::from_secs(1);

/// The most redirects that one request follows.
const MOST_REDIRECTS: usize = 5;

/// The last line of a log that a reason quotes, in bytes.
const LAST_LINES: usize = 4096;

/// Why a server could not be connected.
pub struct ConnectError {
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
pub struct Connection {
    running: RunningService<RoleClient, Client>,
    /// Fires when the program ended.
    gone: CancellationToken,
    /// Of the program; nothing for an address.
    _held: Option<DropGuard>,
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

    /// Resolves when the server says that its tools, prompts or resources changed. Cancel-safe.
    pub async fn wait_for_list_change(&self) {
        self.running.service().lists_changed.notified().await;
    }

    /// Resolves when the server is gone, with the reason. Cancel-safe.
    pub async fn end_reason(&self) -> String {
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = self.wait_for_close() => {}
        }
        format!("it ended{}", last_words(self.log.as_deref()))
    }

    async fn wait_for_close(&self) {
        // The library does not report it to waiting callers. A call that finds it closed reports it sooner.
        const LOOK: Duration = Duration::from_secs(60);
        while !self.is_closed() {
            let _ = tokio::time::timeout(LOOK, self.running.service().handlers.calls.lost.notified()).await;
        }
    }

    fn is_closed(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }
}

/// Returns what a server is reached by, without tokens.
#[must_use]
pub fn server_address(settings: &ServerSettings) -> String {
    match &settings.how {
        ServerTransport::Program { command, args, .. } => {
            let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
            names::line(&words.join(" "))
        }
        ServerTransport::Http { url, .. } => shown_address(url),
    }
}

/// Connects a server; errs with the reason, for people. Bounded by its `timeout`.
pub async fn connect(
    name: &str,
    settings: &ServerSettings,
    place: &ServerEnvironment,
    handlers: &Handlers,
) -> Result<Connection, ConnectError> {
    let root = format!("file://{}", place.workspace.display());
    let (server, handlers) = (name.to_owned(), handlers.clone());
    let client = Client { server, root, handlers, lists_changed: Notify::new() };
    let gone = CancellationToken::new();
    let log = Servers::log_file(place, name);
    let (service, held, log) = match &settings.how {
        ServerTransport::Program { .. } => {
            let StartedProgram { output, input, held } = start(name, settings, place, &gone)?;
            let transport = AsyncRwTransport::new(output, input).with_max_line_length(LONGEST_LINE);
            (in_time(client.serve(transport), settings, &gone, Some(&log)).await?, Some(held), Some(log))
        }
        ServerTransport::Http { url, headers, oauth } => {
            let url = &place.filled_in(url)?;
            let config = http(url, headers, place)?;
            let http = http_client()?;
            let manager =
                tokio::time::timeout(settings.timeout, auth::manager(Account { name, url, oauth, place }));
            let manager = manager.await.map_err(|_| late(settings))??;
            let transport =
                StreamableHttpClientTransport::with_client(AuthClient::new(http, manager), config);
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
    Ok(Connection { running: service, gone, _held: held, log })
}

async fn in_time<T>(
    serving: impl Future<Output = Result<T, ClientInitializeError>>,
    settings: &ServerSettings,
    gone: &CancellationToken,
    log: Option<&Path>,
) -> Result<T, ConnectError> {
    let ended = || ConnectError::from(format!("it ended before it answered{}", last_words(log)));
    let words = |error: ClientInitializeError| match error {
        ClientInitializeError::ConnectionClosed(_) => ended(),
        error => ConnectError {
            why: format!("{}{}", names::error(&error.to_string()), last_words(log)),
            challenge: error.auth_challenge().map(str::to_owned),
        },
    };
    tokio::select! {
        biased;
        served = tokio::time::timeout(settings.timeout, serving) => match served {
            Ok(served) => {
                if served.is_err() && log.is_some() {
                    // Its last output is on its way.
                    let _ = tokio::time::timeout(LOGGING, gone.cancelled()).await;
                }
                served.map_err(words)
            }
            Err(_) => Err(format!("{}{}", late(settings), last_words(log)).into()),
        },
        () = gone.cancelled() => Err(ended()),
    }
}

fn late(settings: &ServerSettings) -> String {
    format!("it did not answer within {}", duration(settings.timeout))
}

/// A started program. Dropping `held` ends it.
struct StartedProgram {
    output: BoxedReader,
    input: pipe::Sender,
    held: DropGuard,
}

type BoxedReader = Pin<Box<dyn AsyncRead + Send>>;

/// Starts a server's program; `gone` fires when it ended and what it printed is in its log. Errs with the reason.
fn start(
    name: &str,
    settings: &ServerSettings,
    place: &ServerEnvironment,
    gone: &CancellationToken,
) -> Result<StartedProgram, String> {
    let ServerTransport::Program { command, args, env, cwd, sandbox } = &settings.how else {
        return Err("it has no program".to_owned());
    };
    let mut all = place.child_env.clone();
    // Each start has a mark of its own: what is left of one must not be taken for the next.
    static STARTS: AtomicU64 = AtomicU64::new(0);
    let start = STARTS.fetch_add(1, Ordering::Relaxed);
    all.push((MARKER.to_owned(), format!("mcp-{name}-{}-{start}", std::process::id())));
    for (name, value) in env {
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), place.filled_in(value.expose())?));
    }
    let path = all.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone()).unwrap_or_default();
    let confinement = match sandbox {
        ServerSandbox::None => Confinement::Unsandboxed,
        ServerSandbox::Workspace => Confinement::Workspace,
        ServerSandbox::Network => Confinement::Network,
    };
    let isolation = place.sandbox.isolation();
    if confinement == Confinement::Unsandboxed && find_program(command, &path, &place.workspace).is_none() {
        return Err(format!("there is no program `{command}`"));
    }
    if confinement != Confinement::Unsandboxed && isolation.backend == Backend::None {
        return Err("`sandbox = true`, and there is no sandbox here; `co help sandbox` says why".to_owned());
    }
    let words = |error: io::Error| format!("{command} cannot be started: {error}");
    let (stdin, input) = io::pipe().map_err(words)?;
    let (errors, stderr) = io::pipe().map_err(words)?;
    let (written, logged) = oneshot::channel();
    let log = Servers::log_file(place, name);
    std::thread::spawn(move || {
        keep_log(errors, &log);
        // The receiver may be gone.
        let _ = written.send(());
    });
    let mut script = vec![shell_quote(command)];
    for arg in args {
        script.push(shell_quote(&place.filled_in(arg)?));
    }
    let cancel = CancellationToken::new();
    let events = place.sandbox.spawn(
        Command {
            script: format!("exec {}", script.join(" ")),
            cwd: cwd.clone().unwrap_or_else(|| place.workspace.clone()),
            env: all,
            timeout: UNLIMITED,
            confinement,
            input: Some(Arc::new(stdin)),
            errors: Some(Arc::new(stderr)),
            unlimited: Arc::new(AtomicBool::new(true)),
        },
        cancel.clone(),
    );
    let mut end = Some((logged, gone.clone()));
    let output = events.filter_map(move |event| {
        let (piece, is_end) = match event {
            Ok(ExecEvent::Output(bytes)) => (Some(Ok(io::Cursor::new(bytes))), false),
            Ok(ExecEvent::Survivors { .. }) => (None, false),
            Ok(ExecEvent::Exited(_)) => (None, true),
            Err(error) => (Some(Err(error)), true),
        };
        if let Some((logged, gone)) = end.take_if(|_| is_end) {
            tokio::spawn(tell_end(logged, gone));
        }
        std::future::ready(piece)
    });
    let input = pipe::Sender::from_owned_fd(OwnedFd::from(input)).map_err(words)?;
    Ok(StartedProgram { output: Box::pin(StreamReader::new(output)), input, held: cancel.drop_guard() })
}

/// Quotes a word for the shell.
fn shell_quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the file of a program: as written, or from the `PATH`.
fn find_program(command: &str, path: &str, workspace: &Path) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(workspace.join(command)).filter(|file| file.is_file());
    }
    std::env::split_paths(path).map(|folder| folder.join(command)).find(|file| file.is_file())
}

impl ServerEnvironment {
    /// Fills in the variables of a text; errs if one is not set.
    pub(super) fn filled_in(&self, value: &str) -> Result<String, String> {
        filled_in(value, &self.variables)
    }

    /// Returns what a server is given that must not be written down: the values of headers, and of variables whose name
    /// says that they are secret.
    #[must_use]
    pub fn secrets(&self, settings: &ServerSettings) -> Vec<String> {
        let (values, texts): (Vec<&Secret>, Vec<&String>) = match &settings.how {
            ServerTransport::Program { env, args, .. } => {
                let secret = env.iter().filter(|(name, _)| names_a_secret(name));
                (secret.map(|(_, value)| value).collect(), args.iter().collect())
            }
            ServerTransport::Http { headers, oauth, url } => {
                (headers.values().chain(&oauth.client_secret).collect(), vec![url])
            }
        };
        let whole = values.into_iter().filter_map(|value| self.filled_in(value.expose()).ok());
        let named =
            texts.into_iter().flat_map(|text| variables(text)).filter(|(name, _)| names_a_secret(name));
        let whole = whole.chain(named.filter_map(|(name, _)| self.variables.get(name).cloned()));
        // Of `Bearer TOKEN`, the token.
        whole.flat_map(|value| [value.rsplit(' ').next().unwrap_or_default().to_owned(), value]).collect()
    }
}

/// Creates a client that follows redirects on the same origin only: headers with tokens go nowhere else.
fn http_client() -> Result<reqwest::Client, String> {
    let same_origin = reqwest::redirect::Policy::custom(|attempt| {
        let is_same = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
        if is_same && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
    });
    client_builder().redirect(same_origin).build().map_err(|error| error.to_string())
}

/// The start of every HTTP client here.
pub(super) fn client_builder() -> reqwest::ClientBuilder {
    // Without a crypto provider the TLS library panics; installing it twice is harmless.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().user_agent(concat!("co/", env!("CARGO_PKG_VERSION")))
}

fn http(
    url: &str,
    headers: &BTreeMap<String, Secret>,
    place: &ServerEnvironment,
) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut all = HashMap::new();
    for (name, value) in headers {
        let text = place.filled_in(value.expose())?;
        let mut value = reqwest::header::HeaderValue::from_str(&text)
            .map_err(|_| format!("the header {name} has a value that cannot be sent"))?;
        value.set_sensitive(true);
        let name = reqwest::header::HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is no name of a header"))?;
        all.insert(name, value);
    }
    Ok(StreamableHttpClientTransportConfig::with_uri(url).custom_headers(all))
}

/// Tells that a program is gone, once what it printed is in its log.
async fn tell_end(logged: oneshot::Receiver<()>, gone: CancellationToken) {
    // Its children may keep the log open.
    let _ = tokio::time::timeout(LOGGING, logged).await;
    gone.cancel();
}

/// Writes what a server prints to a file, up to a bounded size. Blocking, until the server ends.
fn keep_log(mut errors: io::PipeReader, path: &Path) {
    let open = || -> io::Result<File> {
        path.parent().map_or(Ok(()), create_private_dir)?;
        let file = open_private(path)?;
        file.set_len(0)?;
        Ok(file)
    };
    // A log that cannot be written loses lines, never the server.
    if let Ok(mut file) = open() {
        let _ = io::copy(&mut errors.by_ref().take(LOG), &mut file);
    }
    let _ = io::copy(&mut errors, &mut io::sink());
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
