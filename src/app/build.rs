//! Builds everything a session needs from the settings: store, tools, sandbox, models, policy. Done once per process.
//! Opens the data folder and nothing else: no network, no probe.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use crate::accounts::HttpService;
use crate::accounts::keys::Keys;
use crate::accounts::{self, ModelError, Models};
use crate::agent::caps::Caps;
use crate::agent::context::ViewSettings;
use crate::agent::driver::{AgentEnv, EnteredFolders, FallbackModel, TraceSettings};
use crate::agent::prompt::{DEFAULT_PERSONALITY, PromptBook, Steering};
use crate::approval::command_words::command_words;
use crate::approval::{AutoApprove, Decider, Policy, Workspace};
use crate::command::code;
use crate::config::{
    ConfigError, ConfigWarning, FolderTrust, LoadedSettings, Mode, Secret, ServerSettings, Settings,
    SpanContent, TelemetrySettings, UndoSettings, WebAccess, user_file,
};
use crate::history::{Limits, SessionId};
use crate::memory::{Memories, MemoryOptions};
use crate::message::ToolName;
use crate::provider::http::Network;
use crate::sandbox::Sandbox;
use crate::sandbox::backend::{SandboxOptions, SandboxSelection, choose};
use crate::sandbox::env::{child_env, docker_client_env};
use crate::sandbox::policy::{DockerOptions, SandboxPaths};
use crate::sandbox::subprocess::Subprocess;
use crate::sandbox::tasks::Tasks;
use crate::session::{Session, SessionError, end_orphaned_questions};
use crate::stdx::clock::SystemClock;
use crate::store::{Store, StoreError, StoreOptions};
use crate::telemetry::TelemetryOptions;
use crate::telemetry::file::FileOptions;
use crate::telemetry::otlp::OtlpOptions;
use crate::tool::builtin::{self, BuiltinOptions, Domains, Engine, WebOptions};
use crate::tool::cache::ResultCache;
use crate::tool::mcp::{ServerEnvironment, Servers};
use crate::tool::{CallPlan, PlanContext, Registry, ToolSpec};
use crate::tui::keys::Keymap;
use crate::tui::panel::KEY_TABLE;
use crate::undo::{UndoLog, UndoOptions};
use crate::workspace::{
    Permissions, Prompts, TrustedFolders, TrustedProjects, World, check_content, load_settings,
};

/// The user's folder of knowledge, beside the settings.
const KNOWLEDGE: &str = "knowledge";

/// Why the program cannot do what was requested.
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
    #[error("there is no session in this folder yet")]
    NoSession,
    #[error("{words:?} is found in several sessions")]
    ManySessions {
        words: String,
        /// The latest of them: id and title.
        found: Vec<String>,
    },
    #[error("a hook refused the prompt: {reason}")]
    Refused { reason: String },
    #[error("something went wrong inside co: {detail}")]
    Broken { detail: String },
}

/// Returns warnings about the settings: values without effect, keys for unused models, invalid key bindings.
#[must_use]
pub fn advice(loaded: &LoadedSettings) -> Vec<String> {
    let of_trust = |warning: &&ConfigWarning| matches!(warning, ConfigWarning::NotTrusted { .. });
    let warnings = loaded.warnings.iter().filter(of_trust).map(ToString::to_string);
    warnings.chain(advice_at_start(loaded)).collect()
}

/// The same without settings of an untrusted folder, which are reported separately, once.
#[must_use]
pub fn advice_at_start(loaded: &LoadedSettings) -> Vec<String> {
    let of_trust = |warning: &&ConfigWarning| matches!(warning, ConfigWarning::NotTrusted { .. });
    let warnings = loaded.warnings.iter().filter(|warning| !of_trust(warning)).map(ToString::to_string);
    let rebound = match loaded.settings.keys.as_slice() {
        // Most users rebind none, and the whole table would be built for nothing.
        [] => Vec::new(),
        keys => Keymap::with(&KEY_TABLE, keys).1,
    };
    let rebound = rebound.iter().map(ToString::to_string);
    warnings
        .chain(rebound)
        .chain(unknown_name_notes(&loaded.settings))
        .chain(idle_command_notes(&loaded.settings))
        .chain(no_domains(&loaded.settings))
        .chain(accounts::unused_keys(&loaded.settings))
        .chain(accounts::mistaken(&loaded.settings))
        .collect()
}

/// Returns a sentence for each service section that names an unknown preset or quirk.
fn unknown_name_notes(settings: &Settings) -> Vec<String> {
    let keys = Keys::of(settings);
    let error = |name: &String| match HttpService::by_name(name, settings, &keys) {
        Err(error @ (ModelError::NoPreset { .. } | ModelError::Quirk { .. })) => Some(format!("{error}.")),
        // Other errors are reported when the service is used.
        Ok(_) | Err(_) => None,
    };
    settings.providers.keys().filter_map(error).collect()
}

/// Returns a sentence for each safe command that has no effect.
fn idle_command_notes(settings: &Settings) -> Vec<String> {
    let all = settings.shell.safe_commands.iter().filter(|text| command_words(text).is_none());
    let sentence = |text: &String| {
        format!("`shell.safe_commands`: {} is not identified by its words, and has no effect.", code(text))
    };
    all.map(sentence).collect()
}

/// Returns a sentence for each entry of the lists of domains that is none.
fn no_domains(settings: &Settings) -> Vec<String> {
    let web = &settings.web;
    let allowed = web.allowed_domains.iter().map(|text| ("allowed", text));
    let all = allowed.chain(web.blocked_domains.iter().map(|text| ("blocked", text)));
    let wrong = all.filter(|(_, text)| builtin::domain(text).is_none());
    wrong
        .map(|(list, text)| format!("`web.{list}_domains`: {} is no domain, and has no effect.", code(text)))
        .collect()
}

/// The parts shared by all sessions of this process.
pub struct App {
    /// As they were at the start; the servers know their own of now.
    pub settings: Settings,
    flags: Vec<(String, String)>,
    pub world: World,
    pub store: Store,
    pub tools: Tools,
    /// Results of tools that are used again.
    pub cache: ResultCache,
    pub models: Arc<Models>,
    pub permissions: Permissions,
    /// The texts of prompts.
    pub prompts: Arc<Prompts>,
    /// Programs and addresses that offer more tools; not connected yet.
    pub servers: Servers,
    caps: watch::Sender<Caps>,
}

impl App {
    /// Builds the rest, and waits for the store that [`begin_store`] returned.
    pub async fn open(
        world: World,
        loaded: LoadedSettings,
        models: Arc<Models>,
        store: Store,
    ) -> Result<Self, AppError> {
        let LoadedSettings { settings, flags, .. } = loaded;
        let tools = tools(&world, &settings);
        let store = concealing_keys(store.opened().await?, &world, &settings);
        start_telemetry(&world, &settings, &store);
        let concealing = store.clone();
        models.keys().listen(move |secret| concealing.conceal(secret.expose()));
        let background = tools.tasks.clone();
        let cache = ResultCache::with_tasks(move || background.any_runs());
        let permissions =
            Permissions::new(&world, &settings, &store, (&tools.child_env, tools.trusted.clone()));
        let prompts = Arc::new(Prompts::new(&world, &settings));
        let caps = watch::Sender::new(Caps::new(settings.caps.clone()));
        let mut place = server_place(&world, &settings, &tools.child_env, &tools.sandbox);
        let concealing = store.clone();
        place.conceal = Arc::new(move |token| concealing.conceal(token));
        let servers = Servers::new(&settings.mcp_servers, place, tools.registry.clone());
        Ok(Self { servers, settings, flags, world, store, tools, cache, models, prompts, permissions, caps })
    }

    /// Whether the command line of this run names a model.
    pub fn names_model(&self) -> bool {
        self.flags.iter().any(|(name, _)| matches!(name.as_str(), "--model" | "model"))
    }

    /// Reads the settings of tool servers again and applies them; rules that follow from them apply once the rules are read
    /// again. Errs with the reason. Blocking.
    pub fn reload_servers(&self) -> Result<BTreeMap<String, ServerSettings>, String> {
        let loaded = load_settings(&self.world, self.flags.clone());
        let all =
            |errors: Vec<ConfigError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let servers = loaded.map_err(all)?.settings.mcp_servers;
        conceal_servers(
            &self.store,
            &server_place(&self.world, &self.settings, &[], &self.tools.sandbox),
            &servers,
        );
        self.permissions.rules.take_servers(&servers);
        self.servers.change(&servers);
        Ok(servers)
    }

    /// Returns the environment for turns of a session; `decider` is recorded for answers given here. Its place is the
    /// session's own folder, which may differ from the one `co` was started in.
    pub async fn agent_env(&self, session: &Session, decider: Decider) -> AgentEnv {
        // Caps raised for the previous session no longer apply.
        self.caps.send_modify(|caps| *caps = std::mem::take(caps).for_next_session());
        self.env(session, decider, (self.permissions.watch(), self.caps.clone())).await
    }

    /// The same for an unattended session in the background: automatic approvals and raised caps do
    /// not apply to it, and its requests wait. The caller must keep the rules in the returned sender up to date.
    pub async fn background_env(
        &self,
        session: &Session,
        decider: Decider,
    ) -> (AgentEnv, watch::Sender<Policy>) {
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
        let trust = self.permissions.trusted.trust_of(&folder);
        let hooks = self.permissions.hooks_of(&folder).await;
        let prompt = self.prompt_book(&folder).await;
        let place = Workspace { kind: self.world.kind_of(&folder), folder, trust };
        AgentEnv {
            registry: self.tools.registry.clone(),
            hooks,
            prompt,
            entered: entered_by(trust),
            model: self.models.active(),
            // Errors in it were reported when the program started.
            fallback: self.models.fallback().map(FallbackModel::new),
            policy,
            isolation: self.tools.sandbox.isolation(),
            place,
            expiry: self.settings.approval_expiry,
            limits: Limits { requests: self.settings.max_requests.map(u32::from), tokens: None },
            caps,
            summarizer: self.models.summarizer(),
            context_tokens: self.settings.context_tokens,
            view: view_settings(&self.settings),
            http_retries: self.settings.http_retries,
            overload_wait: self.settings.overload_wait,
            tool_retries: self.settings.tool_retries,
            clock: Arc::clone(&self.world.clock),
            spill: self.spill(session.id()),
            own: self.world.own_folders(&self.settings),
            undo: self.tools.undo.clone(),
            cache: self.cache.clone(),
            memories: self.tools.memories.clone(),
            decider,
            trace: TraceSettings {
                // Spans without a destination are not made.
                content: match spans_go_somewhere(&self.world, &self.settings) {
                    true => self.settings.telemetry.content,
                    false => SpanContent::None,
                },
                parent: self.world.env.get("TRACEPARENT").cloned(),
            },
        }
    }

    /// Reads the texts of the prompt for a folder.
    pub async fn prompt_book(&self, folder: &Path) -> Arc<PromptBook> {
        let (prompts, folder) = (Arc::clone(&self.prompts), folder.to_owned());
        let trusted = self.permissions.trusted.clone();
        let read = tokio::task::spawn_blocking({
            let folder = folder.clone();
            move || prompts.read(&folder, trusted.contents(&folder))
        });
        // Only a panic fails the task.
        read.await.unwrap_or_else(|_| Arc::new(PromptBook::builtin(&folder, DEFAULT_PERSONALITY)))
    }

    /// Updates the texts of a session's prompt as its files are now.
    pub async fn refresh_prompt(&self, env: &mut AgentEnv) {
        let book = self.prompt_book(&env.place.folder).await;
        let model = env.model.borrow().clone();
        self.prompts.tell_changes(&env.prompt, &book, Steering::of(model.provider.name(), &model.name));
        if book != env.prompt {
            env.prompt = book;
        }
        env.entered = entered_by(env.place.trust);
    }

    /// Returns the folder for long outputs and tasks of a session.
    #[must_use]
    pub fn spill(&self, session: &SessionId) -> PathBuf {
        self.world.sessions(&self.settings).join("spill").join(&session.0)
    }
}

/// Returns how much of a conversation the model sees, as far as it is set.
#[must_use]
pub fn view_settings(settings: &Settings) -> ViewSettings {
    ViewSettings {
        tool_output: settings.trim_tool_output,
        messages: settings.max_messages,
        server_tools: Some(settings.mcp_tool_budget),
    }
}

/// Returns what finds instructions below a folder.
fn entered_by(trust: FolderTrust) -> Arc<dyn EnteredFolders> {
    match trust {
        FolderTrust::Trusted => Arc::new(TrustedFolders),
        FolderTrust::Untrusted => Arc::new(()),
    }
}

/// Begins to keep the spans of this process, as the settings say. A session that is not kept leaves none.
fn start_telemetry(world: &World, settings: &Settings, store: &Store) {
    let TelemetrySettings { content, max_mb, days, .. } = settings.telemetry;
    let is_kept = max_mb > 0 && world.private.is_none();
    let file = is_kept.then(|| FileOptions {
        data: settings.data_dir.clone(),
        listeners: listeners(settings),
        max_mb,
        days,
    });
    let conceal = Arc::new(store.concealer());
    // The start reported what cannot be sent.
    let otlp = otlp_options(world, settings).unwrap_or_default().filter(|_| world.private.is_none());
    world.telemetry.start(TelemetryOptions { file, otlp, content, conceal });
}

/// Whether spans of sessions are kept or sent.
#[must_use]
pub fn spans_go_somewhere(world: &World, settings: &Settings) -> bool {
    let is_sent = matches!(otlp_options(world, settings), Ok(Some(_)));
    world.private.is_none() && (settings.telemetry.max_mb > 0 || is_sent)
}

/// Returns the folder in which `co tail` listens for new spans.
#[must_use]
pub fn listeners(settings: &Settings) -> PathBuf {
    settings.data_dir.join("run").join("spans")
}

/// Returns where spans are sent, if anywhere; errs with a sentence about what cannot be done.
pub fn otlp_options(world: &World, settings: &Settings) -> Result<Option<OtlpOptions>, String> {
    let TelemetrySettings { otlp_endpoint, otlp_headers, otlp_content, .. } = &settings.telemetry;
    let headers = otlp_headers.as_ref().map(Secret::expose);
    OtlpOptions::of(&world.env, otlp_endpoint.as_deref(), headers, *otlp_content)
}

/// The tools and the environment of calls.
pub struct Tools {
    pub registry: Registry,
    pub sandbox: Arc<dyn Sandbox>,
    /// Commands that run in the background.
    pub tasks: Tasks,
    /// Why no better sandbox is used, with the remedy; empty if nothing is amiss.
    pub sandbox_remarks: Vec<String>,
    /// The whole environment of child processes.
    pub child_env: Vec<(String, String)>,
    /// The log of changes that calls made in files.
    pub undo: UndoLog,
    pub memories: Memories,
    pub trusted: TrustedProjects,
}

/// Returns what calls changed in files, and keeps it from now on. A session that is not kept leaves nothing.
#[must_use]
pub fn undo_log(world: &World, settings: &Settings) -> UndoLog {
    let UndoSettings { max_mb, snapshot_mb } = settings.undo;
    if max_mb == 0 {
        return UndoLog::default();
    }
    let data = world.sessions(settings).to_path_buf();
    UndoLog::new(UndoOptions { data, max_mb, snapshot_mb, clock: Arc::clone(&world.clock) })
}

/// Returns the memories of this user. What is remembered in a session that is not kept stays; of what was used, nothing does.
#[must_use]
pub fn memories(world: &World, settings: &Settings, trusted: &TrustedProjects) -> Memories {
    let knowledge = user_file(&world.env).and_then(|file| Some(file.parent()?.join(KNOWLEDGE)));
    Memories::new(MemoryOptions {
        knowledge,
        data: world.sessions(settings).to_path_buf(),
        settings: settings.memory.clone(),
        clock: Arc::clone(&world.clock),
        projects: Some(Arc::new(trusted.clone())),
    })
}

/// Returns the tools of these settings.
#[must_use]
pub fn tools(world: &World, settings: &Settings) -> Tools {
    let child_env = child_env(&world.env, &settings.shell.env);
    let SandboxSelection { sandbox, remarks } = choose(&sandbox_options(world, settings));
    let tasks = Tasks::new(Arc::clone(&world.clock));
    let undo = undo_log(world, settings);
    let trusted = TrustedProjects::new(world, settings);
    let memories = memories(world, settings, &trusted);
    let registry = registry(settings, &sandbox, &tasks, (&child_env, &undo, &memories));
    Tools { registry, sandbox, tasks, sandbox_remarks: remarks, child_env, undo, memories, trusted }
}

fn sandbox_options(world: &World, settings: &Settings) -> SandboxOptions {
    let home = world.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let path = world.env.get("PATH").map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let own = world.own_folders(settings).to_vec();
    SandboxOptions {
        wanted: settings.sandbox.backend,
        paths: SandboxPaths { home, path, reads: settings.sandbox.read.clone(), own },
        // It fails only where the system cannot tell; then no self-test passes.
        helper: std::env::current_exe().unwrap_or_default(),
        verdicts: settings.data_dir.join("sandbox.json"),
        docker: DockerOptions {
            image: settings.sandbox.image.clone(),
            network: settings.sandbox.network,
            memory: settings.sandbox.memory.clone(),
            cpus: settings.sandbox.cpus,
            client_env: docker_client_env(&world.env),
        },
    }
}

fn registry(
    settings: &Settings,
    sandbox: &Arc<dyn Sandbox>,
    tasks: &Tasks,
    (child_env, undo, memories): (&[(String, String)], &UndoLog, &Memories),
) -> Registry {
    let options = BuiltinOptions {
        shell_timeout: settings.shell.timeout,
        shell_max_timeout: settings.shell.max_timeout,
        safe_commands: settings.shell.safe_commands.clone(),
        env: child_env.to_vec(),
        output_limit: settings.tool_output_limit,
        undo: undo.clone(),
        web: web_options(settings),
        memories: memories.clone(),
    };
    let mut registry = Registry::new(builtin::all(Arc::clone(sandbox), tasks, options));
    registry.patience = settings.mcp_wait;
    registry
}

/// Returns how the web is reached; its searches are answered by an own server before a public one.
fn web_options(settings: &Settings) -> WebOptions {
    let web = &settings.web;
    let own = web.searxng_url.as_deref().and_then(Engine::searxng);
    let brave = || web.brave_api_key.as_ref().and_then(|key| Engine::brave(key.expose()));
    WebOptions {
        fetch: web.fetch,
        search: web.search,
        domains: Domains { allowed: web.allowed_domains.clone(), blocked: web.blocked_domains.clone() },
        engine: own.or_else(brave),
        network: Network { proxy: None, ca_file: settings.ca_file.clone() },
        ..WebOptions::pages()
    }
}

/// Says in one line how the web is reached, and what is missing for searches.
#[must_use]
pub fn web_words(settings: &Settings) -> String {
    let web = &settings.web;
    let asks = |access| if access == WebAccess::Ask { ", asks" } else { "" };
    let pages = match web.fetch {
        WebAccess::Deny => "no pages".to_owned(),
        access => format!("pages{}", asks(access)),
    };
    let searches = match (web.search, web_options(settings).engine) {
        (WebAccess::Deny, _) => "no searches".to_owned(),
        (_, None) => "no searches: set `web.searxng_url` or `web.brave_api_key`".to_owned(),
        (access, Some(engine)) => format!("searches by {}{}", engine.name(), asks(access)),
    };
    format!("{pages}; {searches}")
}

/// Returns where tool servers run, and what they are given.
#[must_use]
pub fn server_place(
    world: &World,
    settings: &Settings,
    child_env: &[(String, String)],
    sandbox: &Arc<dyn Sandbox>,
) -> ServerEnvironment {
    ServerEnvironment {
        sandbox: Arc::clone(sandbox),
        workspace: world.workspace.clone(),
        child_env: child_env.to_vec(),
        variables: world.env.clone(),
        logs: world.sessions(settings).join("mcp"),
        kept: settings.data_dir.join("mcp"),
        output_limit: settings.tool_output_limit,
        check: {
            let world = world.clone();
            Arc::new(move |name, settings| check_content(&world, name, settings))
        },
        conceal: Arc::new(|_| {}),
    }
}

/// Returns the tools as they are without a sandbox, for what needs no run; those of servers as they were listed last.
#[must_use]
pub fn known_tools(world: &World, settings: &Settings) -> Registry {
    let sandbox: Arc<dyn Sandbox> = Arc::new(Subprocess::plain());
    let tasks = Tasks::new(Arc::new(SystemClock));
    let memories = memories(world, settings, &TrustedProjects::new(world, settings));
    let registry = registry(settings, &sandbox, &tasks, (&[], &UndoLog::default(), &memories));
    let place = server_place(world, settings, &[], &sandbox);
    Servers::new(&settings.mcp_servers, place, registry.clone()).offer_kept();
    registry
}

/// Returns the descriptions of the built-in tools, as without settings.
#[must_use]
pub fn builtin_tools() -> Vec<ToolSpec> {
    let options = BuiltinOptions {
        shell_timeout: Duration::ZERO,
        shell_max_timeout: Duration::ZERO,
        safe_commands: Vec::new(),
        env: Vec::new(),
        output_limit: 0,
        undo: UndoLog::default(),
        web: WebOptions { engine: Engine::searxng("http://localhost"), ..WebOptions::pages() },
        memories: Memories::none(Arc::new(SystemClock)),
    };
    let all = builtin::all(Arc::new(Subprocess::plain()), &Tasks::new(Arc::new(SystemClock)), options);
    all.iter().map(|tool| tool.spec().clone()).collect()
}

/// Returns the JSON Schema of a tool's arguments; `None` if there is no tool of that name.
#[must_use]
pub fn schema_of(tool: &ToolName, world: &World, settings: &Settings) -> Option<Value> {
    known_tools(world, settings).get(tool).map(|tool| tool.spec().parameters.clone())
}

fn store_options(world: &World, settings: &Settings) -> StoreOptions {
    let proxy = settings.proxy.as_ref().map(|proxy| proxy.expose().to_owned());
    let mut options = StoreOptions::new(settings.data_dir.clone(), settings.data_dir.join("run"));
    options.clock = Arc::clone(&world.clock);
    options.secrets = Network { proxy, ca_file: None }.secrets();
    options
}

/// Opens the store read-only, without creating or repairing anything.
pub async fn open_store_to_read(world: &World, settings: &Settings) -> Result<Store, StoreError> {
    Store::open_read_only(store_options(world, settings)).await
}

/// Opens the store for lists: read-only if the data folder cannot be written.
pub async fn open_store_for_lists(world: &World, settings: &Settings) -> Result<Store, StoreError> {
    match open_store(world, settings).await {
        Err(StoreError::ReadOnly { .. }) => open_store_to_read(world, settings).await,
        Ok(store) => {
            end_orphaned_questions(&store).await;
            Ok(store)
        }
        Err(error) => Err(error),
    }
}

/// Returns the context for planning a call in this folder without a session.
pub fn plan_context(world: &World, settings: &Settings, folder: &Path) -> PlanContext {
    PlanContext {
        workspace: folder.to_owned(),
        spill: settings.data_dir.join("spill"),
        own: world.own_folders(settings),
        seen: Arc::default(),
    }
}

/// Plans a call as the tool of this name would; `None` if there is none, or if it refuses.
pub async fn plan_call(
    world: &World,
    settings: &Settings,
    folder: &Path,
    call: (&ToolName, &Value),
) -> Option<CallPlan> {
    let (tool, args) = call;
    known_tools(world, settings).get(tool)?.plan(args, &plan_context(world, settings, folder)).await.ok()
}

/// Begins to open the store of a run, before its models are chosen and its tools are built.
pub fn begin_store(world: &World, settings: &Settings) -> Result<Store, AppError> {
    let mut options = store_options(world, settings);
    if let Some(private) = &world.private {
        let folder = private.path().to_owned();
        options.audit_copy = Some(std::mem::replace(&mut options.data, folder.clone()));
        options.runtime = folder.join("run");
    }
    Ok(Store::begin(options)?)
}

/// Opens the store of these settings. Keys in the settings are never written to it.
pub async fn open_store(world: &World, settings: &Settings) -> Result<Store, StoreError> {
    Ok(concealing_keys(Store::open(store_options(world, settings)).await?, world, settings))
}

fn conceal_servers(store: &Store, place: &ServerEnvironment, servers: &BTreeMap<String, ServerSettings>) {
    servers.values().flat_map(|one| place.secrets(one)).for_each(|secret| store.conceal(&secret));
}

fn concealing_keys(store: Store, world: &World, settings: &Settings) -> Store {
    let sandbox: Arc<dyn Sandbox> = Arc::new(Subprocess::plain());
    let place = server_place(world, settings, &[], &sandbox);
    conceal_servers(&store, &place, &settings.mcp_servers);
    let concealing = store.clone();
    if let Some(key) = &settings.web.brave_api_key {
        store.conceal(key.expose());
    }
    Keys::of(settings).listen(move |secret| concealing.conceal(secret.expose()));
    store
}
