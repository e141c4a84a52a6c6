//! Settings → everything a session needs: store, tools, sandbox, models, policy.
//!
//! Built once a process. It opens the data folder and nothing else: no network, no probe. Called by `cli` for headless
//! runs, and beside the first frame for interactive ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::accounts::Target;
use crate::accounts::keys::Keys;
use crate::accounts::{self, ModelError, Models};
use crate::agent::caps::Caps;
use crate::agent::driver::{AgentEnv, FallbackModel};
use crate::approval::{AutoApprove, Decider, Place, Policy};
use crate::config::{ConfigWarning, Loaded, Mode, Settings};
use crate::history::{Limits, SessionId};
use crate::message::ToolName;
use crate::provider::http::Network;
use crate::sandbox::Sandbox;
use crate::sandbox::env::child_env;
use crate::sandbox::subprocess::Subprocess;
use crate::session::{Session, SessionError};
use crate::store::{Store, StoreError, StoreOptions};
use crate::tool::builtin::{self, BuiltinOptions};
use crate::tool::{CallPlan, PlanContext, Registry};
use crate::tui::keys::Keymap;
use crate::workspace::{Permissions, World};

/// Why the program cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("the current folder cannot be used ({detail})")]
    Workspace { detail: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("there is no session of this folder yet")]
    NoSession,
    #[error("a hook refused the prompt: {reason}")]
    Refused { reason: String },
    #[error("something went wrong inside co: {detail}")]
    Broken { detail: String },
}

/// What the person should know of their settings: values without effect, keys for models that nothing uses yet, keys
/// of the screen that cannot be what they were set to.
#[must_use]
pub fn advice(loaded: &Loaded) -> Vec<String> {
    let of_trust = |warning: &&ConfigWarning| matches!(warning, ConfigWarning::NotTrusted { .. });
    let warnings = loaded.warnings.iter().filter(of_trust).map(ToString::to_string);
    warnings.chain(advice_at_start(loaded)).collect()
}

/// The same without what a folder's file may not set as long as it is not trusted: that is told by itself, once.
#[must_use]
pub fn advice_at_start(loaded: &Loaded) -> Vec<String> {
    let of_trust = |warning: &&ConfigWarning| matches!(warning, ConfigWarning::NotTrusted { .. });
    let warnings = loaded.warnings.iter().filter(|warning| !of_trust(warning)).map(ToString::to_string);
    let (_, rebound) = Keymap::with(&loaded.settings.keys);
    let rebound = rebound.iter().map(ToString::to_string);
    warnings
        .chain(rebound)
        .chain(misnamed(&loaded.settings))
        .chain(accounts::unused(&loaded.settings))
        .chain(accounts::mistaken(&loaded.settings))
        .collect()
}

/// Sections of services that name a preset or a quirk that there is not; in sentences.
fn misnamed(settings: &Settings) -> Vec<String> {
    let keys = Keys::of(settings);
    let error = |name: &String| match Target::named(name, settings, &keys) {
        Err(error @ (ModelError::NoPreset { .. } | ModelError::Quirk { .. })) => Some(format!("{error}.")),
        // The others are told where the service is used.
        Ok(_) | Err(_) => None,
    };
    settings.providers.keys().filter_map(error).collect()
}

/// Everything that sessions of this process share.
pub struct App {
    pub settings: Settings,
    pub world: World,
    pub store: Store,
    pub registry: Registry,
    pub sandbox: Arc<dyn Sandbox>,
    /// The whole environment of child processes.
    pub child_env: Vec<(String, String)>,
    pub models: Arc<Models>,
    pub permissions: Permissions,
    caps: watch::Sender<Caps>,
}

impl App {
    /// Opens the store and puts the rest together around it.
    pub async fn open(world: World, loaded: Loaded, models: Arc<Models>) -> Result<Self, AppError> {
        let Loaded { settings, .. } = loaded;
        let store = open_store(&world, &settings).await?;
        let concealing = store.clone();
        models.keys().listen(move |secret| concealing.conceal(secret.expose()));
        let Tools { registry, sandbox, child_env } = tools(&world, &settings);
        let permissions = Permissions::new(&world, &settings, &store, &child_env);
        let caps = watch::Sender::new(Caps::new(settings.caps.clone()));
        Ok(Self { settings, world, store, registry, sandbox, child_env, models, permissions, caps })
    }

    /// What turns of a session are run with; `decider` is written down for answers given here. Its place is the
    /// session's own folder, which need not be the one `co` was started in.
    pub async fn agent_env(&self, session: &Session, decider: Decider) -> AgentEnv {
        // What was raised for the session before is over.
        self.caps.send_modify(|caps| *caps = std::mem::take(caps).for_next_session());
        self.env(session, decider, (self.permissions.watch(), self.caps.clone())).await
    }

    /// The same for a session that goes on beside the one at hand, with nobody watching: what was loosened or raised
    /// for that one does not count, and what this one asks for waits. Its policy hears of
    /// rules as long as the caller keeps them true in the sender.
    pub async fn env_beside(&self, session: &Session, decider: Decider) -> (AgentEnv, watch::Sender<Policy>) {
        let now = self.permissions.policy();
        let rules = Arc::new(self.permissions.rules_in(session.history().workspace()).await);
        let mode = match now.mode {
            Mode::Ask | Mode::Auto => Mode::Ask,
            Mode::Plan | Mode::DryRun | Mode::DeferAll => now.mode,
        };
        let policy = watch::Sender::new(Policy { mode, auto_approve: AutoApprove::Asking, rules });
        let caps = watch::Sender::new(Caps::new(self.settings.caps.clone()));
        (self.env(session, decider, (policy.subscribe(), caps)).await, policy)
    }

    async fn env(
        &self,
        session: &Session,
        decider: Decider,
        (policy, caps): (watch::Receiver<Policy>, watch::Sender<Caps>),
    ) -> AgentEnv {
        let folder = session.history().workspace().to_owned();
        let trust = self.permissions.trust_of(&folder);
        let hooks = self.permissions.hooks_of(&folder).await;
        let place = Place { kind: self.world.kind_of(&folder), folder, trust };
        AgentEnv {
            registry: self.registry.clone(),
            hooks,
            model: self.models.active(),
            // What is wrong with it was said when the program started.
            fallback: self.models.fallback().map(FallbackModel::new),
            policy,
            isolation: self.sandbox.isolation(),
            place,
            expiry: self.settings.approval_expiry,
            limits: Limits { requests: self.settings.max_requests.map(u32::from), tokens: None },
            caps,
            context_tokens: self.settings.context_tokens,
            http_retries: self.settings.http_retries,
            tool_retries: self.settings.tool_retries,
            clock: Arc::clone(&self.world.clock),
            spill: self.spill(session.id()),
            own: self.world.own_folders(&self.settings),
            decider,
        }
    }

    fn spill(&self, session: &SessionId) -> PathBuf {
        self.settings.data_dir.join("spill").join(&session.0)
    }
}

/// What calls are planned and run with.
pub struct Tools {
    pub registry: Registry,
    pub sandbox: Arc<dyn Sandbox>,
    /// The whole environment of child processes.
    pub child_env: Vec<(String, String)>,
}

/// The tools of these settings.
#[must_use]
pub fn tools(world: &World, settings: &Settings) -> Tools {
    let child_env = child_env(&world.env, &settings.shell.env);
    let sandbox: Arc<dyn Sandbox> = Arc::new(Subprocess);
    Tools { registry: registry(settings, &sandbox, &child_env), sandbox, child_env }
}

fn registry(settings: &Settings, sandbox: &Arc<dyn Sandbox>, child_env: &[(String, String)]) -> Registry {
    let options = BuiltinOptions {
        shell_timeout: settings.shell.timeout,
        shell_max_timeout: settings.shell.max_timeout,
        env: child_env.to_vec(),
        output_limit: settings.tool_output_limit,
    };
    Registry::new(builtin::all(Arc::clone(sandbox), options))
}

/// What the tool of that name takes, as a JSON Schema; `None` where no tool has the name any more.
#[must_use]
pub fn schema_of(tool: &ToolName, settings: &Settings) -> Option<Value> {
    let sandbox: Arc<dyn Sandbox> = Arc::new(Subprocess);
    registry(settings, &sandbox, &[]).get(tool).map(|tool| tool.spec().parameters.clone())
}

fn store_options(world: &World, settings: &Settings) -> StoreOptions {
    let proxy = settings.proxy.as_ref().map(|proxy| proxy.expose().to_owned());
    let mut options = StoreOptions::new(settings.data_dir.clone(), settings.data_dir.join("run"));
    options.clock = Arc::clone(&world.clock);
    options.secrets = Network { proxy, ca_file: None }.secrets();
    options
}

/// The same, with nothing made, changed or repaired.
pub async fn open_store_to_read(world: &World, settings: &Settings) -> Result<Store, StoreError> {
    Store::open_read_only(store_options(world, settings)).await
}

/// The same for what is listed: where the data folder cannot be written, what it holds is read all the same.
pub async fn open_store_for_lists(world: &World, settings: &Settings) -> Result<Store, StoreError> {
    match open_store(world, settings).await {
        Err(StoreError::ReadOnly { .. }) => open_store_to_read(world, settings).await,
        opened => opened,
    }
}

/// What a plan of a call in this folder may know, where no session is open.
pub fn plan_context(world: &World, settings: &Settings, folder: &Path) -> PlanContext {
    PlanContext {
        workspace: folder.to_owned(),
        spill: settings.data_dir.join("spill"),
        own: world.own_folders(settings),
        seen: Arc::default(),
    }
}

/// Plans a call as the tool of this name would; `None` where there is none, or where it refuses.
pub async fn planned(
    world: &World,
    settings: &Settings,
    folder: &Path,
    call: (&ToolName, &Value),
) -> Option<CallPlan> {
    let sandbox: Arc<dyn Sandbox> = Arc::new(Subprocess);
    let registry = registry(settings, &sandbox, &[]);
    let (tool, args) = call;
    registry.get(tool)?.plan(args, &plan_context(world, settings, folder)).await.ok()
}

/// The store of these settings. Keys that the settings hold are never written to it.
pub async fn open_store(world: &World, settings: &Settings) -> Result<Store, StoreError> {
    let store = Store::open(store_options(world, settings)).await?;
    let concealing = store.clone();
    Keys::of(settings).listen(move |secret| concealing.conceal(secret.expose()));
    Ok(store)
}
