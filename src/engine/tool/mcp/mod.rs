//! Tool servers: programs and addresses that offer tools over the Model Context Protocol.
//!
//! Each configured server has a task that connects it, lists its tools into the registry, and follows its changes. A
//! server that fails or ends is named with its reason; the tools it had stay known, so that a call of one connects it again
//! instead of finding nothing. What a server says of itself is untrusted text: names and descriptions are cleaned and cut,
//! and whether a call may run is decided elsewhere. The protocol itself is `rmcp`'s. Built by the composition root.

mod auth;
mod client;
mod connect;
mod find;
mod guarded;
mod known_tools;
mod names;
mod offers;
mod result;
mod schema;
mod server;
mod tool;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

pub use self::auth::{Account, authorize, log_in, log_out};
pub use self::client::{Elicitation, ElicitationAnswer, ElicitationKind, Elicitor, Handlers};
pub use self::connect::{ConnectError, Connection, connect, server_address};
use self::find::FindTools;
pub use self::offers::{CompletionTarget, PromptArgument, ServerPrompt, ServerResource, ServerText};
pub use self::server::tools_with;
use self::server::{Server, used_servers};
use crate::config::{ServerScope, ServerSettings};
use crate::message::ToolName;
use crate::sandbox::Sandbox;
use crate::stdx::text::count;
use crate::tool::builtin::ToolAdapter;
use crate::tool::{FIND_TOOLS, Registry};

/// Whether a server, by its name, may be started as it is now.
pub type ServerCheck = dyn Fn(&str, &ServerSettings) -> Result<(), String> + Send + Sync;

/// Where servers run, and what they are given.
#[derive(Clone)]
pub struct ServerEnvironment {
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
    /// Checks a server before its program is started; errs with the reason. Blocking.
    pub check: Arc<ServerCheck>,
    /// Told each token, so that it is stored nowhere else.
    pub conceal: Arc<dyn Fn(&str) + Send + Sync>,
}

/// The servers of this process. Clones share them; the last one dropped ends them.
#[derive(Clone)]
pub struct Servers {
    place: Arc<ServerEnvironment>,
    registry: Registry,
    servers: Arc<Mutex<ConfiguredServers>>,
    /// Counts the changes of states.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct ConfiguredServers {
    settings: BTreeMap<String, ServerSettings>,
    /// Those in use.
    used: BTreeMap<String, Arc<Server>>,
    /// How servers that are added later are connected. `None`: they are not.
    connecting: Option<Option<Elicitor>>,
}

impl Drop for ConfiguredServers {
    fn drop(&mut self) {
        self.used.values().for_each(|server| server.stop());
    }
}

/// The facts about a connected server.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ServerFacts {
    /// The name and version that it gives itself, cleaned.
    pub title: String,
    /// The version of the protocol.
    pub protocol: String,
    pub tools: Vec<ToolName>,
    /// Tools that it has and that cannot be offered, each with the reason.
    pub left_out: Vec<String>,
    /// Tools that the setting `tools` leaves out, by the server's own names.
    pub switched_off: Vec<String>,
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
    /// Of a project, and not trusted.
    Held {
        why: String,
    },
    /// Not connected by this process.
    Unused,
    Connecting,
    Ready(ServerFacts),
    Failed {
        why: String,
    },
}

/// A tool of a server, switched on or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTool {
    /// The name that the server knows it by.
    pub own_name: String,
    /// The name that calls and rules use.
    pub name: ToolName,
    /// Whether `name` is not just the server's prefix and its own name: that would not be valid, or is taken.
    pub is_renamed: bool,
    /// Its purpose in a line.
    pub about: String,
    pub is_on: bool,
}

impl ListedTool {
    /// Returns its purpose, after the name that calls use if that is not to be expected.
    #[must_use]
    pub fn description(&self) -> String {
        let Self { name, about, .. } = self;
        if self.is_renamed { format!("called {name} here: {about}") } else { about.clone() }
    }
}

impl ServerFacts {
    /// Says how many tools it offers.
    #[must_use]
    pub fn tools_in_words(&self) -> String {
        count(self.tools.len(), "tool")
    }
}

impl ServerState {
    /// Describes it in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Held { why } => format!("not used: {why}"),
            Self::Unused => "not connected".to_owned(),
            Self::Connecting => "connecting…".to_owned(),
            Self::Ready(facts) => facts.tools_in_words(),
            Self::Failed { why } => format!("failed: {why}"),
        }
    }
}

impl Servers {
    /// Takes the configured servers; none is connected yet.
    #[must_use]
    pub fn new(
        settings: &BTreeMap<String, ServerSettings>,
        place: ServerEnvironment,
        registry: Registry,
    ) -> Self {
        let (servers, changes) = (Arc::default(), watch::Sender::default());
        let all = Self { place: Arc::new(place), registry, servers, changes };
        all.change(settings);
        all
    }

    /// Connects them, each in a task of its own, and keeps their tools in the registry. Servers that ask the user for
    /// something are answered by `elicitor`; without one the answer is that no user can be asked. Needs a tokio runtime.
    pub fn connect(&self, elicitor: Option<Elicitor>) {
        let mut servers = self.servers.lock();
        self.offer_to_find(&servers);
        servers.used.values().for_each(|server| server.start(elicitor.clone(), &self.registry));
        servers.connecting = Some(elicitor);
    }

    /// Takes changed settings: ends servers that are gone, starts new ones, and leaves the others as they are. Needs a tokio
    /// runtime once servers are connected.
    pub fn change(&self, settings: &BTreeMap<String, ServerSettings>) {
        let Self { place, registry, changes, .. } = self;
        let mut servers = self.servers.lock();
        let used = used_servers(settings);
        servers.used.retain(|name, server| {
            let is_same = used.get(name).is_some_and(|config| server.is_as(config));
            if !is_same {
                server.end(registry);
            }
            is_same
        });
        // A name that is free now may be one of theirs.
        for (name, server) in &servers.used {
            if let Some(config) = used.get(name) {
                server.allow(&config.settings.tools, registry);
            }
        }
        for (name, config) in used {
            if servers.used.contains_key(&name) {
                continue;
            }
            let server = Arc::new(Server::new(name.clone(), config, Arc::clone(place), changes.clone()));
            if let Some(elicitor) = &servers.connecting {
                server.start(elicitor.clone(), registry);
            }
            servers.used.insert(name, server);
        }
        if servers.connecting.is_some() {
            self.offer_to_find(&servers);
        }
        servers.settings.clone_from(settings);
        changes.send_modify(|count| *count += 1);
    }

    /// Puts the tools into the registry that were listed last, by any process, without connecting the servers. Blocking.
    pub fn offer_kept(&self) {
        self.servers.lock().used.values().for_each(|server| server.offer_kept(&self.registry));
    }

    /// Returns each configured server with its state, by name.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let servers = self.servers.lock();
        let mut all = configured_servers(&servers.settings);
        for one in &mut all {
            if let Some(server) = servers.used.get(&one.name)
                && servers.connecting.is_some()
            {
                one.state = server.state_for_people();
            }
        }
        all
    }

    /// Returns the settings in effect.
    #[must_use]
    pub fn settings(&self) -> BTreeMap<String, ServerSettings> {
        self.servers.lock().settings.clone()
    }

    #[must_use]
    pub fn place(&self) -> &ServerEnvironment {
        &self.place
    }

    /// Returns the tools of a server that it listed last: each with its own name, its name here and what it is for, and
    /// whether it is switched on.
    #[must_use]
    pub fn tools_of(&self, name: &str) -> Vec<ListedTool> {
        self.server_in_use(name).map(|server| server.listed_tools()).unwrap_or_default()
    }

    /// Returns the prompts of all connected servers.
    #[must_use]
    pub fn prompts(&self) -> Vec<ServerPrompt> {
        self.all().iter().flat_map(|server| server.offers().prompts).collect()
    }

    /// Returns the resources of all connected servers, templates among them.
    #[must_use]
    pub fn resources(&self) -> Vec<ServerResource> {
        self.all().iter().flat_map(|server| server.offers().resources).collect()
    }

    /// Notified of each change of a state or a list.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Connects a server that failed, at once; whether there is one of this name.
    pub fn reconnect(&self, name: &str) -> bool {
        self.server_in_use(name).inspect(|server| server.reconnect()).is_some()
    }

    /// Waits until a server is connected or has failed. `None` if there is none of this name. Cancel-safe.
    pub async fn settled_state(&self, name: &str) -> Option<ServerState> {
        let server = self.server_in_use(name)?;
        server.wait_until_settled().await;
        Some(server.state_for_people())
    }

    /// Returns the file with what a server printed on its standard error.
    #[must_use]
    pub fn log_file(place: &ServerEnvironment, name: &str) -> PathBuf {
        place.logs.join(format!("{name}.log"))
    }

    /// Offers the tool that finds tools as long as there are servers.
    fn offer_to_find(&self, servers: &ConfiguredServers) {
        let Self { place, registry, .. } = self;
        let name = ToolName::new(FIND_TOOLS);
        match (servers.used.is_empty(), registry.get(&name).is_some()) {
            (false, false) => registry.add(Arc::new(ToolAdapter::new(FindTools, place.output_limit))),
            (true, true) => registry.remove(&name),
            (true, false) | (false, true) => {}
        }
    }

    fn server_in_use(&self, name: &str) -> Option<Arc<Server>> {
        self.servers.lock().used.get(name).cloned()
    }

    fn all(&self) -> Vec<Arc<Server>> {
        self.servers.lock().used.values().cloned().collect()
    }
}

/// Returns each configured server, by name, as it is before one is connected.
#[must_use]
pub fn configured_servers(settings: &BTreeMap<String, ServerSettings>) -> Vec<ServerStatus> {
    let one = |(name, settings): (&String, &ServerSettings)| ServerStatus {
        name: name.clone(),
        place: connect::server_address(settings),
        state: match &settings.scope {
            _ if !settings.enabled => ServerState::Off,
            ServerScope::Held { why, .. } => ServerState::Held { why: why.clone() },
            ServerScope::User | ServerScope::Project { .. } => ServerState::Unused,
        },
    };
    settings.iter().map(one).collect()
}
