//! One server: the task that connects it, follows its changes, and connects it again.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use globset::{Glob, GlobSet};
use parking_lot::Mutex;
use rmcp::service::Peer;
use rmcp::{RoleClient, model};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::client::{Elicitor, Handlers};
use super::connect::{Connection, connect};
use super::known_tools::{Definition, KnownTools, KnownToolsFile, about};
use super::offers::Offers;
use super::tool::ServerTool;
use super::{ListedTool, ServerEnvironment, ServerFacts, ServerState, names};
use crate::config::{ServerSandbox, ServerScope, ServerSettings, ServerTransport};
use crate::message::ToolName;
use crate::sandbox::Confinement;
use crate::stdx::fs::fingerprint;
use crate::stdx::moment::duration;
use crate::tool::{Origin, Registry};

/// The most tools of one server; the others are left out, and counted.
const MOST_TOOLS: usize = 500;

/// How long a list of tools may take.
const LISTING: Duration = Duration::from_secs(10);

/// The wait before a failed server is tried again, which doubles to the last.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(300);

/// The reason of a server that is not used any more.
const ENDED: &str = "it is switched off";

/// A server to be used.
pub struct ServerConfig {
    pub settings: ServerSettings,
    /// The beginnings of other servers' names of tools that begin as this one's.
    rivals: Vec<String>,
}

/// Returns the servers that are switched on and not held.
pub fn used_servers(settings: &BTreeMap<String, ServerSettings>) -> BTreeMap<String, ServerConfig> {
    let used = settings.iter().filter(|(_, one)| one.is_used());
    let one = |(name, one): (&String, &ServerSettings)| {
        let own = format!("{}_", one.prefix);
        let others = settings.values().map(|other| format!("{}_", other.prefix));
        let rivals = others.filter(|other| *other != own && other.starts_with(&own)).collect();
        (name.clone(), ServerConfig { settings: one.clone(), rivals })
    };
    used.map(one).collect()
}

/// The tools that the setting `tools` switches on: those that one of its globs names, or all; without those that a glob
/// after `!` names.
struct ToolFilter {
    named: Option<GlobSet>,
    off: GlobSet,
}

impl ToolFilter {
    fn of(tools: &[String]) -> Self {
        // An invalid glob names no tool.
        let set = |texts: &mut dyn Iterator<Item = &str>| {
            GlobSet::new(texts.filter_map(|text| Glob::new(text).ok())).unwrap_or_default()
        };
        let mut named = tools.iter().map(String::as_str).filter(|text| !text.starts_with('!')).peekable();
        let named = named.peek().is_some().then(|| set(&mut named));
        Self { named, off: set(&mut tools.iter().filter_map(|text| text.strip_prefix('!'))) }
    }

    fn has(&self, tool: &str) -> bool {
        self.named.as_ref().is_none_or(|globs| globs.is_match(tool)) && !self.off.is_match(tool)
    }
}

/// A configured server.
pub struct Server {
    pub(super) name: String,
    pub(super) settings: ServerSettings,
    pub(super) place: Arc<ServerEnvironment>,
    allowed: Mutex<ToolFilter>,
    state: watch::Sender<State>,
    /// Counts the changes of all servers.
    changes: watch::Sender<u64>,
    /// Its latest list.
    listed: Mutex<Vec<model::Tool>>,
    /// Asks for a connection.
    connect_requested: Notify,
    /// The tools that were offered last.
    offered: Mutex<BTreeMap<ToolName, Arc<ServerTool>>>,
    /// The beginnings of other servers' names of tools that begin as this one's.
    rivals: Vec<String>,
    kept: Mutex<KnownTools>,
    /// Held while the file of `kept` is changed.
    changing: tokio::sync::Mutex<()>,
    /// Of the present connection; `None` before it is to be connected.
    handlers: Mutex<Option<Handlers>>,
    /// Ends it.
    end: CancellationToken,
}

/// The activity of a server.
#[derive(Clone)]
enum State {
    Connecting,
    Ready(Arc<ConnectedServer>),
    Failed {
        why: String,
        /// Before that a call does not connect it again.
        until: Instant,
    },
}

/// A connected server.
#[derive(Clone)]
struct ConnectedServer {
    peer: Peer<RoleClient>,
    about: ServerFacts,
    offers: Offers,
}

/// Returns the setting `tools` with this tool switched on or off.
#[must_use]
pub fn tools_with(tools: &[String], tool: &str, on: bool) -> Vec<String> {
    let named = globset::escape(tool);
    let off = format!("!{named}");
    let mut changed: Vec<String> = tools.iter().filter(|text| **text != off).cloned().collect();
    if !on && changed.iter().filter(|text| !text.starts_with('!')).count() > 1 {
        // The last one stays: no name at all would mean all tools.
        changed.retain(|text| *text != named);
    }
    if ToolFilter::of(&changed).has(tool) != on {
        changed.push(if on { named } else { off });
    }
    changed
}

impl Server {
    pub fn new(
        name: String,
        config: ServerConfig,
        place: Arc<ServerEnvironment>,
        changes: watch::Sender<u64>,
    ) -> Self {
        let ServerConfig { settings, rivals } = config;
        Self {
            name,
            allowed: Mutex::new(ToolFilter::of(&settings.tools)),
            settings,
            place,
            state: watch::Sender::new(State::Connecting),
            changes,
            listed: Mutex::default(),
            connect_requested: Notify::new(),
            offered: Mutex::default(),
            rivals,
            kept: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            handlers: Mutex::default(),
            end: CancellationToken::new(),
        }
    }

    /// Connects it, in a task of its own.
    pub fn start(self: &Arc<Self>, elicitor: Option<Elicitor>, registry: &Registry) {
        let handlers = Handlers { elicitor, ..Handlers::default() };
        if self.handlers.lock().replace(handlers).is_none() {
            registry.expect_tools_of(&self.name);
            tokio::spawn(keep(Arc::clone(self), registry.clone()));
        }
    }

    /// Ends its task, and with it its connection.
    pub fn stop(&self) {
        self.end.cancel();
    }

    /// Ends it, and takes its tools out of the registry.
    pub fn end(&self, registry: &Registry) {
        self.stop();
        let offered = std::mem::take(&mut *self.offered.lock());
        offered.keys().for_each(|name| registry.remove_of(name, &self.origin()));
        registry.settle_tools_of(&self.name);
        self.state.send_replace(State::Failed { why: ENDED.to_owned(), until: Instant::now() });
    }

    /// Whether these settings differ in the tools at most, so that it need not be connected again.
    pub fn is_as(&self, config: &ServerConfig) -> bool {
        let apart_from_tools =
            ServerSettings { tools: self.settings.tools.clone(), ..config.settings.clone() };
        apart_from_tools == self.settings && config.rivals == self.rivals
    }

    /// Offers the tools that these settings switch on.
    pub fn allow(self: &Arc<Self>, tools: &[String], registry: &Registry) {
        *self.allowed.lock() = ToolFilter::of(tools);
        self.offer_again(registry);
    }

    /// Offers the tools that any process listed last. Blocking.
    pub fn offer_kept(self: &Arc<Self>, registry: &Registry) {
        let kept = self.kept_file().read();
        *self.listed.lock() = kept.tools.values().map(|known| known.tool.clone()).collect();
        *self.kept.lock() = kept;
        self.offer(registry);
    }

    /// Connects it anew, at once.
    pub fn reconnect(&self) {
        self.set(State::Connecting);
        self.connect_requested.notify_one();
    }

    /// Waits until it is connected or has failed. Cancel-safe.
    pub async fn wait_until_settled(&self) {
        // The sender is in this server.
        let _ = self.state.subscribe().wait_for(|state| !matches!(state, State::Connecting)).await;
    }

    pub fn offers(&self) -> Offers {
        match &*self.state.borrow() {
            State::Ready(ready) => ready.offers.clone(),
            State::Connecting | State::Failed { .. } => Offers::default(),
        }
    }

    pub fn listed_tools(&self) -> Vec<ListedTool> {
        let (listed, allowed) = (self.listed.lock(), self.allowed.lock());
        let one = |tool: &model::Tool| {
            let name = names::tool(&self.settings.prefix, &tool.name);
            ListedTool {
                own_name: tool.name.to_string(),
                is_renamed: name.as_str() != format!("{}_{}", self.settings.prefix, tool.name),
                name,
                about: names::line(about(tool)),
                is_on: allowed.has(&tool.name),
            }
        };
        listed.iter().take(MOST_TOOLS).map(one).collect()
    }

    /// The answers to the server of the present connection.
    pub(super) fn handlers(&self) -> Handlers {
        self.handlers.lock().clone().unwrap_or_default()
    }

    /// Notes that its tools are not waited for any more; one of the same name that follows it is.
    fn settle(&self, registry: &Registry) {
        if !self.end.is_cancelled() {
            registry.settle_tools_of(&self.name);
        }
    }

    /// Sets the state, unless it was ended.
    fn set(&self, state: State) {
        self.state.send_if_modified(|known| {
            let is_on = !self.end.is_cancelled();
            if is_on {
                *known = state;
            }
            is_on
        });
        self.changes.send_modify(|count| *count += 1);
    }

    pub fn state_for_people(&self) -> ServerState {
        match &*self.state.borrow() {
            State::Connecting => ServerState::Connecting,
            State::Ready(ready) => ServerState::Ready(ready.about.clone()),
            State::Failed { why, .. } => ServerState::Failed { why: why.clone() },
        }
    }

    /// Connects the server and takes its tools; errs with the reason.
    async fn serve(self: &Arc<Self>, registry: &Registry) -> Result<Connection, String> {
        let began = Instant::now();
        let server = Arc::clone(self);
        let checked =
            tokio::task::spawn_blocking(move || (server.place.check)(&server.name, &server.settings)).await;
        checked.unwrap_or_else(|error| Err(error.to_string()))?;
        // The calls of the last connection are over.
        let elicitor = self.handlers().elicitor;
        let handlers = Handlers { elicitor, ..Handlers::default() };
        *self.handlers.lock() = Some(handlers.clone());
        let connected = connect(&self.name, &self.settings, &self.place, &handlers).await;
        let connection = connected.map_err(|error| error.why)?;
        self.list(&connection).await?;
        let offered = self.offer(registry);
        self.settle(registry);
        let (title, protocol) = connection.about();
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let about = ServerFacts { title, protocol, took_ms, ..offered };
        let peer = connection.peer().clone();
        self.set(State::Ready(Arc::new(ConnectedServer { peer, about, offers: Offers::default() })));
        Ok(connection)
    }

    /// Follows the changes of its lists until the server ends; returns the reason, or `None` if it is to be connected anew.
    async fn follow(self: &Arc<Self>, connection: &Connection, registry: &Registry) -> Option<String> {
        loop {
            // A server that does not answer this may end meanwhile.
            let relist = async {
                let offers = Offers::of(&self.name, connection.peer()).await;
                self.change_ready(|ready| ready.offers = offers);
                connection.wait_for_list_change().await;
            };
            tokio::select! {
                why = connection.end_reason() => return Some(why),
                () = self.connect_requested.notified() => return None,
                () = relist => {}
            }
            match self.list(connection).await {
                Ok(()) => self.offer_again(registry),
                Err(why) => tracing::warn!(server = %self.name, why, "its tools could not be listed again"),
            }
            // A server that changes its tools all the time must not change the prompt with each request.
            tokio::time::sleep(FIRST_PAUSE).await;
        }
    }

    /// Changes what is known of it, if it is connected.
    fn change_ready(&self, change: impl FnOnce(&mut ConnectedServer)) {
        self.state.send_modify(|state| {
            if let State::Ready(ready) = state {
                change(Arc::make_mut(ready));
            }
        });
        self.changes.send_modify(|count| *count += 1);
    }

    /// Lists the tools, and keeps the list for other processes; errs with the reason.
    async fn list(&self, connection: &Connection) -> Result<(), String> {
        let listed = match tokio::time::timeout(LISTING, connection.peer().list_all_tools()).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => {
                return Err(format!("its tools cannot be listed ({})", names::error(&error.to_string())));
            }
            Err(_) => return Err(format!("it did not list its tools within {}", duration(LISTING))),
        };
        let known: Vec<model::Tool> = listed.iter().take(MOST_TOOLS).cloned().collect();
        *self.listed.lock() = listed;
        self.change_kept(move |kept| kept.take(&known)).await;
        Ok(())
    }

    /// Offers the listed tools again, after the list or what is switched on changed.
    fn offer_again(self: &Arc<Self>, registry: &Registry) {
        let offered = self.offer(registry);
        self.change_ready(|ready| {
            let ServerFacts { title, protocol, took_ms, .. } = std::mem::take(&mut ready.about);
            ready.about = ServerFacts { title, protocol, took_ms, ..offered };
        });
    }

    /// Returns the connected server, connecting it if it failed; errs with the reason. Bounded by the time that connecting
    /// may take. Cancel-safe.
    pub(super) async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        tokio::select! {
            () = self.end.cancelled() => Err(ENDED.to_owned()),
            peer = self.connected_peer() => peer,
        }
    }

    async fn connected_peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut states = self.state.subscribe();
        let failed = match &*states.borrow_and_update() {
            State::Failed { why, until } if Instant::now() < *until => return Err(why.clone()),
            State::Failed { .. } => true,
            State::Connecting | State::Ready(_) => false,
        };
        if failed {
            self.connect_requested.notify_one();
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

    fn kept_file(&self) -> KnownToolsFile {
        match &self.settings.scope {
            ServerScope::User | ServerScope::Held { .. } => KnownToolsFile::new(&self.place.kept, &self.name),
            // Another project may have a server of this name.
            ServerScope::Project { .. } => {
                let folder = fingerprint(self.place.workspace.as_os_str().as_encoded_bytes());
                KnownToolsFile::new(&self.place.kept, &format!("{}.{folder}", self.name))
            }
        }
    }

    /// Says how a tool's definition changed since the user let it run; `None` if it did not, or never ran.
    pub(super) fn definition_change(&self, tool: &str, now: &Definition) -> Option<String> {
        let kept = self.kept.lock();
        kept.tools.get(tool)?.accepted.as_ref().and_then(|before| now.change_since(before))
    }

    /// Notes that the user, or a rule of the user, let a tool run as it is.
    pub(super) async fn accept(&self, tool: &str, now: &Definition) {
        let is_new =
            self.kept.lock().tools.get(tool).is_some_and(|known| known.accepted.as_ref() != Some(now));
        if is_new {
            let (tool, now) = (tool.to_owned(), now.clone());
            self.change_kept(move |kept| {
                if let Some(known) = kept.tools.get_mut(&tool) {
                    known.accepted = Some(now);
                }
            })
            .await;
        }
    }

    /// Whether it is a program that no sandbox holds.
    pub(super) fn is_unsandboxed(&self) -> bool {
        match self.settings.how {
            ServerTransport::Program { sandbox, .. } => {
                // A partial sandbox is none for a program that runs all the time.
                sandbox == ServerSandbox::None
                    || !self.place.sandbox.isolation().holds(Confinement::Workspace)
            }
            ServerTransport::Http { .. } => false,
        }
    }

    /// Puts the listed tools into the registry that are switched on, and takes out the others. Returns the facts about tools.
    fn offer(self: &Arc<Self>, registry: &Registry) -> ServerFacts {
        let (mut tools, mut out) = (BTreeMap::new(), ServerFacts::default());
        let mut offered = self.offered.lock();
        if self.end.is_cancelled() {
            return out;
        }
        let (listed, allowed) = (self.listed.lock(), self.allowed.lock());
        for tool in listed.iter().take(MOST_TOOLS) {
            let named = names::display_name(&tool.name);
            if !allowed.has(&tool.name) {
                out.switched_off.push(named);
                continue;
            }
            let name = names::tool(&self.settings.prefix, &tool.name);
            match self.offer_tool(tool, &name, tools.contains_key(&name), offered.get(&name), registry) {
                Ok(tool) => drop(tools.insert(name, tool)),
                Err(why) => out.left_out.push(format!("{named}: {why}")),
            }
        }
        if listed.len() > MOST_TOOLS {
            out.left_out.push(format!("{} tools beyond the first {MOST_TOOLS}", listed.len() - MOST_TOOLS));
        }
        let gone = offered.keys().filter(|name| !tools.contains_key(*name));
        gone.for_each(|name| registry.remove_of(name, &self.origin()));
        out.tools = tools.keys().cloned().collect();
        *offered = tools;
        out
    }

    /// Puts one tool into the registry; errs with the reason if it cannot be offered.
    fn offer_tool(
        self: &Arc<Self>,
        tool: &model::Tool,
        name: &ToolName,
        is_taken: bool,
        before: Option<&Arc<ServerTool>>,
        registry: &Registry,
    ) -> Result<Arc<ServerTool>, String> {
        if self.rivals.iter().any(|rival| name.as_str().starts_with(rival)) {
            return Err(format!("{name} looks like a tool of another server"));
        }
        let taken = || format!("another tool is called {name}");
        if is_taken {
            return Err(taken());
        }
        let tool = ServerTool::new(Arc::clone(self), name.clone(), tool.clone())?;
        // A call that was approved runs with the very tool that was offered, if it is still the same.
        let known = before.filter(|known| known.is_as(&tool)).cloned();
        let tool = known.unwrap_or_else(|| Arc::new(tool));
        if registry.add_of(Arc::<ServerTool>::clone(&tool)) { Ok(tool) } else { Err(taken()) }
    }

    fn origin(&self) -> Origin {
        Origin::Server(self.name.clone())
    }
}

/// Connects a server, follows it until it ends, and connects it again when that is requested; until it is ended.
async fn keep(server: Arc<Server>, registry: Registry) {
    let mut pause = FIRST_PAUSE;
    let work = async {
        let file = server.kept_file();
        // The task fails only at the end of the runtime.
        *server.kept.lock() = tokio::task::spawn_blocking(move || file.read()).await.unwrap_or_default();
        loop {
            server.set(State::Connecting);
            let served = async {
                match server.serve(&registry).await {
                    Ok(connection) => {
                        pause = FIRST_PAUSE;
                        server.follow(&connection, &registry).await
                    }
                    Err(why) => Some(why),
                }
            };
            // Whatever a server makes the library do, the state must not stay at `Connecting`.
            let why = AssertUnwindSafe(served).catch_unwind().await;
            let why = why.unwrap_or_else(|_| Some("the connection failed unexpectedly".to_owned()));
            server.settle(&registry);
            let Some(why) = why else { continue };
            server.set(State::Failed { why, until: Instant::now() + pause });
            // Before it offered a tool, no call can ask for it.
            let is_unknown = server.offered.lock().is_empty() && pause < LAST_PAUSE;
            tokio::select! {
                () = server.connect_requested.notified() => {}
                () = tokio::time::sleep(pause), if is_unknown => {}
            }
            pause = (pause * 2).min(LAST_PAUSE);
        }
    };
    tokio::select! {
        biased;
        () = server.end.cancelled() => {}
        () = work => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_switched_without_the_others() {
        for (tools, tool, on, expected) in [
            (&[][..], "a", false, &["!a"][..]),
            (&["!a"], "a", true, &[]),
            (&["!a", "!b"], "a", true, &["!b"]),
            (&["a"], "a", false, &["a", "!a"]),
            (&["a", "!a"], "a", true, &["a"]),
            (&["a", "b"], "a", false, &["b"]),
            (&["read_*"], "write", true, &["read_*", "write"]),
            (&["read_*"], "read_x", false, &["read_*", "!read_x"]),
            (&["!*"], "a", true, &["!*", "a"]),
            (&[], "a[1]", false, &["!a[[]1[]]"]),
        ] {
            let written: Vec<String> = tools.iter().map(|text| (*text).to_owned()).collect();
            let changed = tools_with(&written, tool, on);
            assert_eq!(changed, expected, "{tools:?} {tool} {on}");
            let is_hopeless = tools == ["!*"];
            assert_eq!(ToolFilter::of(&changed).has(tool), on && !is_hopeless, "{tools:?} {tool} {on}");
        }
    }
}
