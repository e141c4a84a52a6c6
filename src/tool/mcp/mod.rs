//! Tool servers: programs and addresses that offer tools over the Model Context Protocol.
//!
//! Each configured server has a task that connects it, lists its tools into the registry, and follows its changes. A
//! server that fails or ends is named with its reason; the tools it had stay known, so that a call of one connects it again
//! instead of finding nothing. What a server says of itself is untrusted text: names and descriptions are cleaned and cut,
//! and whether a call may run is decided elsewhere. The protocol itself is `rmcp`'s. Built by the composition root.

mod auth;
mod client;
mod conformance;
mod connect;
mod kept;
mod names;
mod result;
mod schema;
mod tool;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use globset::{Glob, GlobSet, GlobSetBuilder};
use parking_lot::Mutex;
use rmcp::service::Peer;
use rmcp::{RoleClient, model};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

pub use self::auth::{log_in, log_out};
use self::client::Handlers;
pub use self::conformance::conformance;
use self::connect::{Connection, connect};
use self::kept::{Definition, KeptFile, KnownTools};
use self::tool::ServerTool;
use crate::config::{ServerSandbox, ServerSettings, ServerTransport};
use crate::message::ToolName;
use crate::sandbox::{Confinement, Sandbox};
use crate::tool::Registry;

/// The most tools of one server; the others are left out, and counted.
const MOST_TOOLS: usize = 500;

/// How long a list of tools may take.
const LISTING: Duration = Duration::from_secs(10);

/// The wait before a failed server is tried again, which doubles to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(300);

/// Where servers run, and what they are given.
#[derive(Clone)]
pub struct ServerPlace {
    /// Absolute.
    pub workspace: PathBuf,
    /// The whole environment of child processes, besides what a server's entry adds.
    pub child_env: Vec<(String, String)>,
    /// The variables that `${NAME}` means.
    pub variables: BTreeMap<String, String>,
    /// The folder for what servers print on their standard error.
    pub logs: PathBuf,
    /// The folder of what is kept of servers: tokens, and definitions of tools.
    pub kept: PathBuf,
    pub output_limit: usize,
    /// Starts the programs of servers.
    pub sandbox: Arc<dyn Sandbox>,
}

/// The servers of this process. Clones share them; the last one dropped ends them.
#[derive(Clone, Default)]
pub struct Servers(Arc<ServerTable>);

#[derive(Default)]
struct ServerTable {
    all: BTreeMap<String, Arc<Server>>,
    /// Ends the tasks.
    end: CancellationToken,
}

impl Drop for ServerTable {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// A configured server.
pub struct Server {
    name: String,
    settings: ServerSettings,
    place: ServerPlace,
    allowed: Option<GlobSet>,
    state: watch::Sender<State>,
    /// Asks for a connection.
    wanted: Notify,
    /// The tools that were offered last.
    offered: Mutex<BTreeMap<ToolName, Arc<ServerTool>>>,
    /// The beginnings of other servers' names of tools that begin as this one's.
    rivals: Vec<String>,
    kept: Mutex<KnownTools>,
    /// Held while the file of `kept` is changed.
    changing: tokio::sync::Mutex<()>,
    handlers: Handlers,
}

/// What a server is doing.
#[derive(Clone)]
enum State {
    Connecting,
    Ready(Ready),
    Failed {
        why: String,
        /// Before that a call does not connect it again.
        until: Instant,
    },
}

/// A connected server.
#[derive(Clone)]
struct Ready {
    peer: Peer<RoleClient>,
    about: ServerFacts,
}

/// What is known of a connected server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ServerFacts {
    /// The name and version that it gives itself, cleaned.
    pub title: String,
    /// The version of the protocol.
    pub protocol: String,
    pub tools: Vec<ToolName>,
    /// Tools that it has and that are not offered, each with the reason.
    pub left_out: Vec<String>,
    /// Milliseconds from the start until its tools were known.
    pub took_ms: u64,
}

/// A server and its state, for people.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ServerStatus {
    pub name: String,
    /// The program, or the address without what follows its host.
    pub place: String,
    pub state: ServerState,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ServerState {
    /// Switched off in the settings.
    Off,
    /// Not connected by this process.
    Unused,
    Connecting,
    Ready(ServerFacts),
    Failed {
        why: String,
    },
}

impl ServerFacts {
    /// Says how many tools it offers.
    #[must_use]
    pub fn tools_in_words(&self) -> String {
        match self.tools.len() {
            1 => "1 tool".to_owned(),
            many => format!("{many} tools"),
        }
    }
}

impl ServerState {
    /// Says it in a line.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Unused => "not connected".to_owned(),
            Self::Connecting => "connecting…".to_owned(),
            Self::Ready(facts) => facts.tools_in_words(),
            Self::Failed { why } => format!("failed: {why}"),
        }
    }
}

impl Servers {
    /// Makes the enabled servers; none is connected yet.
    #[must_use]
    pub fn new(settings: &BTreeMap<String, ServerSettings>, place: &ServerPlace) -> Self {
        let enabled = settings.iter().filter(|(_, one)| one.enabled);
        let server = |(name, one): (&String, &ServerSettings)| {
            let own = format!("{}_", one.prefix);
            let others = settings.values().map(|other| format!("{}_", other.prefix));
            let rivals = others.filter(|other| *other != own && other.starts_with(&own)).collect();
            let server = Server::new(name.clone(), one.clone(), place.clone(), rivals);
            (name.clone(), Arc::new(server))
        };
        Self(Arc::new(ServerTable { all: enabled.map(server).collect(), end: CancellationToken::new() }))
    }

    /// Connects all of them, each in a task of its own, and keeps their tools in the registry. Needs a tokio runtime.
    pub fn connect(&self, registry: &Registry) {
        for server in self.0.all.values() {
            registry.expect_tools_of(&server.name);
            tokio::spawn(keep(Arc::clone(server), registry.clone(), self.0.end.clone()));
        }
    }

    /// Puts the tools into the registry that were listed last, by any process, without connecting the servers. Blocking.
    pub fn offer_kept(&self, registry: &Registry) {
        for server in self.0.all.values() {
            let kept = server.kept_file().read();
            let listed = kept.tools.values().map(|known| known.tool.clone()).collect();
            *server.kept.lock() = kept;
            server.offer(listed, registry);
        }
    }

    /// Returns each configured server with its state, by name.
    #[must_use]
    pub fn status(&self, settings: &BTreeMap<String, ServerSettings>) -> Vec<ServerStatus> {
        let one = |(name, settings): (&String, &ServerSettings)| ServerStatus {
            name: name.clone(),
            place: connect::shown(settings),
            state: match self.0.all.get(name) {
                None if settings.enabled => ServerState::Unused,
                None => ServerState::Off,
                Some(server) => server.state_for_people(),
            },
        };
        settings.iter().map(one).collect()
    }

    /// Connects a server that failed, at once; whether there is one of this name.
    pub fn reconnect(&self, name: &str) -> bool {
        let server = self.0.all.get(name);
        server.inspect(|server| server.wanted.notify_one()).is_some()
    }

    /// Waits until a server is connected or has failed. `None` if there is none of this name. Cancel-safe.
    pub async fn settled(&self, name: &str) -> Option<ServerState> {
        let server = self.0.all.get(name)?;
        // The sender is in the server.
        let _ = server.state.subscribe().wait_for(|state| !matches!(state, State::Connecting)).await;
        Some(server.state_for_people())
    }

    /// Returns the file with what a server printed on its standard error.
    #[must_use]
    pub fn log_file(place: &ServerPlace, name: &str) -> PathBuf {
        place.logs.join(format!("{name}.log"))
    }
}

impl Server {
    fn new(name: String, settings: ServerSettings, place: ServerPlace, rivals: Vec<String>) -> Self {
        let mut globs = GlobSetBuilder::new();
        // What is no glob names no tool.
        settings.tools.iter().filter_map(|text| Glob::new(text).ok()).for_each(|glob| {
            globs.add(glob);
        });
        let allowed = (!settings.tools.is_empty()).then(|| globs.build().unwrap_or_default());
        Self {
            name,
            settings,
            place,
            allowed,
            state: watch::Sender::new(State::Connecting),
            wanted: Notify::new(),
            offered: Mutex::default(),
            rivals,
            kept: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            handlers: Handlers::default(),
        }
    }

    fn state_for_people(&self) -> ServerState {
        match &*self.state.borrow() {
            State::Connecting => ServerState::Connecting,
            State::Ready(ready) => ServerState::Ready(ready.about.clone()),
            State::Failed { why, .. } => ServerState::Failed { why: why.clone() },
        }
    }

    /// Connects the server and takes its tools; errs with the reason.
    async fn serve(self: &Arc<Self>, registry: &Registry) -> Result<Connection, String> {
        let began = Instant::now();
        let connected = connect(&self.name, &self.settings, &self.place, &self.handlers).await;
        let connection = connected.map_err(|error| error.why)?;
        let listed = listed(connection.peer()).await?;
        self.keep(&listed).await;
        let (tools, left_out) = self.offer(listed, registry);
        registry.settle_tools_of(&self.name);
        let (title, protocol) = connection.about();
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let about = ServerFacts { title, protocol, tools, left_out, took_ms };
        self.state.send_replace(State::Ready(Ready { peer: connection.peer().clone(), about }));
        Ok(connection)
    }

    /// Takes the tools again whenever they changed, until the server ends; returns the reason.
    async fn follow(self: &Arc<Self>, connection: &Connection, registry: &Registry) -> String {
        loop {
            tokio::select! {
                why = connection.ended() => return why,
                () = connection.tools_changed() => {}
            }
            match listed(connection.peer()).await {
                Ok(listed) => {
                    self.keep(&listed).await;
                    let (tools, left_out) = self.offer(listed, registry);
                    self.state.send_modify(|state| {
                        if let State::Ready(ready) = state {
                            (ready.about.tools, ready.about.left_out) = (tools, left_out);
                        }
                    });
                }
                Err(why) => tracing::warn!(server = %self.name, why, "its tools could not be listed again"),
            }
            // A server that changes its tools all the time must not change the prompt with each request.
            tokio::time::sleep(FIRST_PAUSE).await;
        }
    }

    /// Returns the connected server, connecting it if it failed; errs with the reason. Bounded by the time that connecting
    /// may take. Cancel-safe.
    async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut states = self.state.subscribe();
        let failed = match &*states.borrow_and_update() {
            State::Failed { why, until } if Instant::now() < *until => return Err(why.clone()),
            State::Failed { .. } => true,
            State::Connecting | State::Ready(_) => false,
        };
        if failed {
            self.wanted.notify_one();
            // The task begins to connect; the sender is in this server.
            let _ = states.changed().await;
        }
        let settled = states.wait_for(|state| !matches!(state, State::Connecting));
        match settled.await.as_deref() {
            Ok(State::Ready(ready)) => Ok(ready.peer.clone()),
            Ok(State::Failed { why, .. }) => Err(why.clone()),
            Ok(State::Connecting) | Err(_) => Err("it is being shut down".to_owned()),
        }
    }

    /// Keeps a list of tools for other processes, and learns what they accepted.
    async fn keep(&self, listed: &[model::Tool]) {
        let listed: Vec<model::Tool> = listed.iter().take(MOST_TOOLS).cloned().collect();
        self.change_kept(move |kept| kept.take(&listed)).await;
    }

    /// A file that cannot be written costs other processes what they would learn.
    async fn change_kept(&self, change: impl FnOnce(&mut KnownTools) + Send + 'static) {
        let _one = self.changing.lock().await;
        let (file, known) = (self.kept_file(), self.kept.lock().clone());
        let changed = tokio::task::spawn_blocking(move || file.change(known, change)).await;
        // The task fails only at the end of the runtime.
        let Ok((kept, written)) = changed else { return };
        *self.kept.lock() = kept;
        if let Err(error) = written {
            tracing::warn!(server = %self.name, %error, "its tools cannot be kept");
        }
    }

    fn kept_file(&self) -> KeptFile {
        KeptFile::new(&self.place.kept, &self.name)
    }

    /// Says how a tool's definition changed since the user let it run; `None` if it did not, or never ran.
    fn changed(&self, tool: &str, now: &Definition) -> Option<String> {
        let kept = self.kept.lock();
        kept.tools.get(tool)?.accepted.as_ref().and_then(|before| now.change_since(before))
    }

    /// Notes that the user, or a rule of the user, let a tool run as it is.
    async fn accept(&self, tool: &str, now: &Definition) {
        let is_new =
            self.kept.lock().tools.get(tool).is_some_and(|known| known.accepted.as_ref() != Some(now));
        if is_new {
            let (tool, now) = (tool.to_owned(), now.clone());
            let accept = move |kept: &mut KnownTools| {
                if let Some(known) = kept.tools.get_mut(&tool) {
                    known.accepted = Some(now);
                }
            };
            self.change_kept(accept).await;
        }
    }

    /// Whether it is a program that no sandbox holds.
    fn is_unsandboxed(&self) -> bool {
        match self.settings.how {
            ServerTransport::Program { sandbox, .. } => {
                // What holds only in part is no sandbox for a program that runs all the time.
                sandbox == ServerSandbox::None
                    || !self.place.sandbox.isolation().holds(Confinement::Workspace)
            }
            ServerTransport::Http { .. } => false,
        }
    }

    fn is_allowed(&self, tool: &str) -> bool {
        self.allowed.as_ref().is_none_or(|globs| globs.is_match(tool))
    }

    /// Puts the server's tools into the registry, and takes out those it does not have any more.
    fn offer(
        self: &Arc<Self>,
        listed: Vec<model::Tool>,
        registry: &Registry,
    ) -> (Vec<ToolName>, Vec<String>) {
        let (mut tools, mut left_out) = (BTreeMap::new(), Vec::new());
        let before = self.offered.lock().clone();
        let all = listed.len();
        for tool in listed.into_iter().take(MOST_TOOLS) {
            let named = names::shown(&tool.name);
            if !self.is_allowed(&tool.name) {
                left_out.push(format!("{named}: not among `tools`"));
                continue;
            }
            let name = names::tool(&self.settings.prefix, &tool.name);
            let taken = registry.get(&name).is_some_and(|known| !self.owns(&known.spec().origin));
            if self.rivals.iter().any(|rival| name.as_str().starts_with(rival)) {
                left_out.push(format!("{named}: {name} looks like a tool of another server"));
                continue;
            }
            if taken || tools.contains_key(&name) {
                left_out.push(format!("{named}: another tool is called {name}"));
                continue;
            }
            match ServerTool::new(Arc::clone(self), name.clone(), tool) {
                Ok(tool) => {
                    // A call that was approved runs with the very tool that was offered, if it is still the same.
                    let known = before.get(&name).filter(|known| known.is_as(&tool)).cloned();
                    let tool = known.unwrap_or_else(|| Arc::new(tool));
                    registry.add(Arc::<ServerTool>::clone(&tool));
                    tools.insert(name, tool);
                }
                Err(why) => left_out.push(format!("{named}: {why}")),
            }
        }
        if all > MOST_TOOLS {
            left_out.push(format!("{} tools beyond the first {MOST_TOOLS}", all - MOST_TOOLS));
        }
        before.keys().filter(|name| !tools.contains_key(name)).for_each(|name| registry.remove(name));
        let names = tools.keys().cloned().collect();
        *self.offered.lock() = tools;
        (names, left_out)
    }

    /// Whether a tool is one of this server.
    fn owns(&self, origin: &crate::tool::Origin) -> bool {
        matches!(origin, crate::tool::Origin::Server(name) if *name == self.name)
    }
}

/// Connects a server, follows it until it ends, and connects it again when it is wanted; until the token fires.
async fn keep(server: Arc<Server>, registry: Registry, end: CancellationToken) {
    let mut pause = FIRST_PAUSE;
    let work = async {
        let file = server.kept_file();
        // The task fails only at the end of the runtime.
        *server.kept.lock() = tokio::task::spawn_blocking(move || file.read()).await.unwrap_or_default();
        loop {
            server.state.send_replace(State::Connecting);
            let served = async {
                match server.serve(&registry).await {
                    Ok(connection) => {
                        pause = FIRST_PAUSE;
                        server.follow(&connection, &registry).await
                    }
                    Err(why) => why,
                }
            };
            // Whatever a server makes the library do, the state must not stay at `Connecting`.
            let why = AssertUnwindSafe(served).catch_unwind().await;
            let why = why.unwrap_or_else(|_| "the connection failed unexpectedly".to_owned());
            registry.settle_tools_of(&server.name);
            server.state.send_replace(State::Failed { why, until: Instant::now() + pause });
            // Before it offered a tool, no call can ask for it.
            let is_unknown = server.offered.lock().is_empty() && pause < LAST_PAUSE;
            tokio::select! {
                () = server.wanted.notified() => {}
                () = tokio::time::sleep(pause), if is_unknown => {}
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    };
    tokio::select! {
        () = end.cancelled() => {}
        () = work => {}
    }
}

/// Returns all tools of a server; errs with the reason.
async fn listed(peer: &Peer<RoleClient>) -> Result<Vec<model::Tool>, String> {
    match tokio::time::timeout(LISTING, peer.list_all_tools()).await {
        Ok(Ok(listed)) => Ok(listed),
        Ok(Err(error)) => Err(format!("its tools cannot be listed ({})", names::error(&error.to_string()))),
        Err(_) => Err(format!("it did not list its tools within {} s", LISTING.as_secs())),
    }
}
