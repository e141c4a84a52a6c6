//! Runs one script through the real driver, a real session and a real database.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::replay::{Closing, ReplayGate, ReplayProvider};
use co_engine::agent::caps::Caps;
use co_engine::agent::context::ViewSettings;
use co_engine::agent::driver::{self, ActiveModel, AgentEnv, FallbackModel, TraceSettings};
use co_engine::agent::prompt::{DEFAULT_PERSONALITY, PromptBook, SentError, sent_request};
use co_engine::approval::rules::{Rule, RuleEffect, RuleSet, RuleSource};
use co_engine::approval::{
    Approval, AutoApprove, Decider, Judgement, Policy, Request, Verdict, Workspace, WorkspaceKind,
};
use co_engine::config::{Cap, FolderTrust, Mode, Unit};
use co_engine::history::{Durability, History, Limits, Record, RecordedState, patch_dangling_tool_calls};
use co_engine::hook::{Hook, HookEvent, HookInput, HookVerdict};
use co_engine::message::{CallId, Message, PartKind, ToolName, Usage, Usd, UserPart};
use co_engine::provider::{ModelRequest, Price, RequestKind};
use co_engine::sandbox::Isolation;
use co_engine::session::Session;
use co_engine::stdx::clock::{Clock, ManualClock, SystemClock};
use co_engine::store::{RequestFilter, Store, StoreOptions};
use co_engine::tool::Registry;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::frontend::{ScriptedFrontend, brief, part};
use super::script::{Action, Script, Step, rule};
use super::world::{World, tools};

/// Events outside of the turn: another process, another program, a gate.
#[derive(Clone)]
pub struct Outside {
    store: Store,
    gates: [ReplayGate; 2],
    world: Arc<World>,
    policy: Arc<watch::Sender<Policy>>,
    clock: Arc<ManualClock>,
    registry: Registry,
}

impl Outside {
    pub async fn act(&self, action: Action) {
        match action {
            Action::Change(path, text) => self.world.put(&path, &text),
            Action::Release(name) => self.gates.iter().for_each(|gate| gate.release(&name)),
            Action::Elsewhere(tool, approval) => {
                let open = self.store.requests(RequestFilter::Undecided, 100).await.unwrap();
                let meant = |request: &Request| tool == "*" || request.tool.0 == tool;
                let mut found: Vec<_> = open.iter().filter(|stored| meant(&stored.request)).collect();
                assert!(!found.is_empty() || tool == "*", "no open request for {tool}");
                found.truncate(if tool == "*" { found.len() } else { 1 });
                for one in found {
                    self.store.decide(one.id(), approval.clone(), Decider::Cli).await.unwrap();
                }
            }
            Action::Spends(tokens) => {
                let mut other =
                    Session::create(&self.store, std::path::Path::new("/elsewhere")).await.unwrap();
                let usage = Usage { input: Some(tokens), ..Usage::default() };
                let spent = Record::RequestEnded {
                    attempt: 1,
                    usage: Some(usage),
                    provider: "p".to_owned(),
                    model: "m".to_owned(),
                    cost: None,
                    error: None,
                    purpose: RequestKind::Answer,
                };
                other.commit(&[spent], Durability::Written).await.unwrap();
            }
            Action::Mode(mode) => self.policy.send_modify(|policy| policy.mode = mode),
            Action::Rule(effect, tool) => self.policy.send_modify(|policy| {
                let mut rules = RuleSet::clone(&policy.rules);
                rules.rules.push(rule_about("saved", effect, &tool));
                policy.rules = Arc::new(rules);
            }),
            Action::Advance(milliseconds) => self.clock.advance(Duration::from_millis(milliseconds)),
            Action::Expire => drop(self.store.expire_due().await.unwrap()),
            Action::Yolo => self.policy.send_modify(|policy| policy.auto_approve = AutoApprove::Yolo),
            Action::Remove(tool) => self.registry.remove(&ToolName::new(tool)),
            Action::Add(tool) => {
                let all = tools(&self.world, &self.gates[1]);
                let tool =
                    all.into_iter().find(|one| one.spec().name.0 == tool).expect("a tool of the world");
                self.registry.add(tool);
            }
            Action::Interrupt | Action::Close | Action::Defer | Action::Retry | Action::Steer(_) => {
                panic!("{action:?} is said to a running turn: use `when`")
            }
        }
    }
}

struct ScriptedHook {
    tool: String,
    verdict: HookVerdict,
}

impl Hook for ScriptedHook {
    fn name(&self) -> &str {
        "scripted"
    }

    fn wants(&self, event: HookEvent, tool: Option<&ToolName>) -> bool {
        event == HookEvent::PreToolUse && tool.is_some_and(|tool| self.tool == tool.0)
    }

    fn fire<'a>(&'a self, _: &'a HookInput) -> BoxFuture<'a, HookVerdict> {
        Box::pin(async move { self.verdict.clone() })
    }
}

/// Runs the script and returns its transcript.
pub async fn run(script: &Script) -> String {
    run_seen(script).await.0
}

/// The same, with the requests that the models got.
pub async fn run_seen(script: &Script) -> (String, Vec<ModelRequest>) {
    let folder = tempfile::tempdir().unwrap();
    run_in(script, folder.path()).await
}

/// The same, with the session kept below this folder.
pub async fn run_in(script: &Script, folder: &Path) -> (String, Vec<ModelRequest>) {
    let setting = |name: &str| script.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let still = Arc::new(ManualClock::at("2026-11-22T08:00:00Z".parse().unwrap()));
    let clock: Arc<dyn Clock> = match setting("still-clock") {
        Some(_) => Arc::<ManualClock>::clone(&still),
        None => Arc::new(SystemClock),
    };
    let options = || {
        let options = StoreOptions::new(folder.join("data"), folder.join("run"));
        StoreOptions { clock: Arc::clone(&clock), ..options }
    };
    let store = Store::open(options()).await.unwrap();
    let elsewhere = Store::open(options()).await.unwrap();
    let world = Arc::new(World::default());
    for (_, file) in script.settings.iter().filter(|(key, _)| key == "file") {
        let (path, text) = file.split_once(' ').expect("file PATH TEXT");
        world.put(path, text);
    }
    let closing = if setting("close-late").is_some() { Closing::AtTheEnd } else { Closing::InMidStream };
    let provider = ReplayProvider::new(script.replies.clone()).closing(closing);
    let slow = ReplayGate::new();
    let policy = Arc::new(watch::Sender::new(policy(script)));
    let registry = Registry::new(tools(&world, &slow));
    let outside = Outside {
        registry: registry.clone(),
        store: elsewhere,
        gates: [provider.gate(), slow.clone()],
        world: Arc::clone(&world),
        policy: Arc::clone(&policy),
        clock: still,
    };
    let env = environment(script, &provider, registry, clock, policy.subscribe());
    let frontend = ScriptedFrontend::new(
        script.answers.clone(),
        script.triggers.clone(),
        script.cap_answers.clone(),
        outside.clone(),
        setting("absent").is_none(),
    );
    let mut session = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
    for step in &script.steps {
        match step {
            Step::Reopen => {
                let id = session.id().clone();
                drop(session);
                session = Session::open(&store, &id).await.unwrap();
                frontend.write("reopened");
            }
            Step::Action(action) => outside.act(action.clone()).await,
            Step::Prompt(text) => {
                let prompt = vec![UserPart::Text { text: text.clone() }];
                drive(driver::run_turn(&mut session, prompt, &env, &frontend, CancellationToken::new()))
                    .await;
            }
            Step::Resume => {
                let resumed =
                    drive(driver::resume_turn(&mut session, &env, &frontend, CancellationToken::new())).await;
                if resumed.is_none() {
                    frontend.write("nothing to resume");
                }
            }
            Step::LateCalls => {
                drive(driver::run_late_calls(&mut session, &env, &frontend, CancellationToken::new())).await;
            }
            Step::Compact(focus) => {
                driver::compact(&mut session, focus.clone(), &env, &frontend, CancellationToken::new())
                    .await
                    .unwrap();
            }
            Step::Uncompact => session.commit(&[Record::Uncompacted], Durability::Written).await.unwrap(),
            Step::Queue => {
                // At most as many as any script queues; this also ends if a prompt never leaves the queue.
                for _ in 0..5 {
                    let Some(prompt) = session.history().queued_prompts().first().cloned() else { break };
                    drive(driver::run_turn(&mut session, prompt, &env, &frontend, CancellationToken::new()))
                        .await;
                }
            }
        }
    }
    let mut lines = frontend.lines();
    lines.extend(aftermath(session.history(), &world, &provider));
    sound(&store, session.id(), session.history()).await;
    let records = store.load(session.id()).await.unwrap();
    recorded(&records, &world);
    sent_as_shown(&records, &provider.requests());
    if setting("tools").is_some() {
        lines.extend(offers(&provider));
    }
    if setting("audit").is_some() {
        lines.extend(records.iter().filter_map(judged));
    }
    if setting("fallback").is_some() {
        lines.extend(records.iter().filter_map(asked));
        assert_eq!(provider.findings(), Vec::<String>::new(), "no model gets what only another may read");
    }
    // Every session sends the notes that apply from a message on; they are shown where a script is about them.
    let is_situation = |line: &str| line.trim_start_matches("- ").starts_with("note Situation:");
    let told = lines.join("\n");
    let shown = told.lines().filter(|line| setting("situation").is_some() || !is_situation(line));
    (shown.map(|line| format!("{line}\n")).collect(), provider.requests())
}

/// Runs a turn with a time limit: a turn that hangs fails its test.
async fn drive<T>(turn: impl Future<Output = Result<T, co_engine::store::StoreError>>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(20), turn).await.expect("the turn hangs").unwrap()
}

fn environment(
    script: &Script,
    provider: &ReplayProvider,
    registry: Registry,
    clock: Arc<dyn Clock>,
    policy: watch::Receiver<Policy>,
) -> AgentEnv {
    let setting =
        |name: &str| script.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let number = |name: &str| setting(name).map(|value| value.parse::<u32>().expect("a number"));
    let mut model = ActiveModel::new(Arc::new(ReplayProvider::clone(provider)), "script");
    if let Some(price) = setting("price") {
        let (input, output) = price.split_once(' ').expect("price INPUT OUTPUT, dollars a million tokens");
        let millionths = |dollars: &str| dollars.parse::<u64>().expect("dollars") * 1_000_000;
        let price = Price { input: millionths(input), output: millionths(output), ..Price::default() };
        model.profile.price = Some(price);
    }
    model.profile.window = number("model-window");
    model.max_output_tokens = number("max-output");
    let kind = if setting("home").is_some() { WorkspaceKind::HomeOrRoot } else { WorkspaceKind::Project };
    let hooks = script
        .hooks
        .iter()
        .map(|(tool, verdict)| -> Arc<dyn Hook> {
            Arc::new(ScriptedHook { tool: tool.clone(), verdict: verdict.clone() })
        })
        .collect();
    AgentEnv {
        own: Arc::new([]),
        undo: co_engine::undo::UndoLog::default(),
        cache: co_engine::tool::cache::ResultCache::default(),
        memories: co_engine::memory::Memories::none(std::sync::Arc::new(co_engine::stdx::clock::SystemClock)),
        registry,
        hooks,
        model: watch::channel(Arc::new(model)).1,
        fallback: setting("fallback").map(|name| {
            FallbackModel::new(Arc::new(ActiveModel::new(Arc::new(ReplayProvider::clone(provider)), name)))
        }),
        prompt: Arc::new(PromptBook::builtin(Path::new("/w"), DEFAULT_PERSONALITY)),
        entered: Arc::new(()),
        policy,
        isolation: Isolation::NONE,
        place: Workspace { folder: "/w".into(), kind, trust: FolderTrust::Untrusted },
        expiry: number("expiry").map(|expiry| Duration::from_millis(expiry.into())),
        limits: Limits { requests: number("limit").or(Some(25)), tokens: number("tokens").map(u64::from) },
        caps: watch::Sender::new(caps(script)),
        summarizer: setting("summarizer")
            .map(|name| Arc::new(ActiveModel::new(Arc::new(ReplayProvider::clone(provider)), name))),
        context_tokens: number("window"),
        view: ViewSettings {
            tool_output: number("trim-output"),
            messages: number("max-messages"),
            server_tools: None,
        },
        http_retries: number("retries").unwrap_or(2),
        overload_wait: Duration::from_secs(number("overload-wait").unwrap_or(0).into()),
        tool_retries: number("tool-retries").unwrap_or(3),
        clock,
        spill: "/w/.spill".into(),
        decider: Decider::Script,
        trace: TraceSettings::default(),
    }
}

/// Returns a rule of the user about a tool, for any arguments.
fn rule_about(id: &str, effect: RuleEffect, tool: &str) -> Rule {
    let text = format!("[[rule]]\ntool = \"{tool}\"\neffect = \"{}\"", effect.word());
    let source = RuleSource::User { path: PathBuf::new(), line: 0 };
    let rules = RuleSet::parse(&text, &source, None).expect("a rule of two fields");
    Rule { id: id.to_owned(), source, ..rules[0].clone() }
}

/// Returns the initial policy.
fn policy(script: &Script) -> Policy {
    let setting =
        |name: &str| script.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let rules = script.settings.iter().filter(|(key, _)| key == "rule").map(|(_, text)| {
        let (effect, tool) = rule(text);
        let (tool, uses) = tool.split_once(' ').unwrap_or((&tool, ""));
        Rule { uses: uses.parse().ok(), ..rule_about("test", effect, tool) }
    });
    let rules = RuleSet { rules: rules.collect(), ..RuleSet::default() };
    Policy {
        mode: setting("mode").map_or(Mode::Ask, |mode| Mode::named(mode).expect("a mode")),
        auto_approve: match setting("yolo") {
            None => AutoApprove::Asking,
            Some("") => AutoApprove::Yolo,
            Some("yes") => AutoApprove::YoloUnsandboxed,
            Some(word) => panic!("yolo, or yolo yes: {word}"),
        },
        rules: Arc::new(rules),
    }
}

/// Formats a decision made without a user, as in the audit.
fn judged(record: &Record) -> Option<String> {
    let Record::Judged { judgement, .. } = record else { return None };
    let Judgement { tool, args, before, verdict, risk, because, by, .. } = &**judgement;
    let before = before.as_ref().map_or(String::new(), |(tool, args)| format!(", written as {tool} {args}"));
    let (risk, because, by) = (risk.word(), because.join("; "), by.word());
    Some(format!("judged {tool} {args} {verdict:?} {risk} {by}: {because}{before}"))
}

/// Formats which model a request went to, and its outcome.
fn asked(record: &Record) -> Option<String> {
    let Record::RequestEnded { attempt, provider, model, error, usage, .. } = record else { return None };
    let ended = if usage.is_some() { "answered" } else { "stopped" };
    let outcome = error.map_or(ended.to_owned(), |class| format!("{class:?}"));
    Some(format!("request {attempt} {provider}/{model} {outcome}"))
}

/// Reads `cap turn_tokens 1000`, `cap day_usd 0.5`.
fn caps(script: &Script) -> Caps {
    let set = script.settings.iter().filter(|(key, _)| key == "cap").map(|(_, value)| {
        let (name, amount) = value.split_once(' ').expect("cap NAME AMOUNT");
        let named = |cap: &Cap| cap.setting().strip_prefix("cap.") == Some(name);
        let cap = Cap::ALL.into_iter().find(named).expect("a cap");
        let amount = match cap.unit() {
            Unit::Tokens => amount.parse().expect("tokens"),
            Unit::Usd => Usd::from_dollars(amount.parse().expect("dollars")).expect("an amount").0,
        };
        (cap, amount)
    });
    Caps::new(set)
}

/// Formats which tools each request offered that its predecessor did not, and the reverse.
fn offers(provider: &ReplayProvider) -> Vec<String> {
    let requests = provider.requests();
    let names =
        |at: usize| -> BTreeSet<String> { requests[at].tools.iter().map(|tool| tool.name.clone()).collect() };
    let changed = |at: usize| {
        let (before, now) = (names(at - 1), names(at));
        let lost = before.difference(&now).map(|name| format!(" -{name}"));
        let won = now.difference(&before).map(|name| format!(" +{name}"));
        format!("request {} offers{}", at + 1, lost.chain(won).collect::<String>())
    };
    (1..requests.len()).map(changed).filter(|line| !line.ends_with("offers")).collect()
}

/// Formats the final state: what ran, the conversation, what is still open.
fn aftermath(history: &History, world: &World, provider: &ReplayProvider) -> Vec<String> {
    let mut lines =
        vec![format!("== {} requests, {} replies left", provider.requests().len(), provider.left())];
    lines.extend(world.log().into_iter().map(|line| format!("ran {line}")));
    for message in history.messages() {
        lines.extend(remembered(message));
    }
    for open in history.open_calls() {
        lines.push(format!("open {} {}", known(&open.known), brief(&open.call)));
    }
    for one in history.late_calls() {
        lines.push(format!("late {} {}", known(&one.known), brief(&one.call)));
    }
    for (kind, text) in history.notes() {
        lines.push(format!("pending {}", part(&UserPart::Note { kind: kind.clone(), text: text.clone() })));
    }
    for queued in history.queued_prompts() {
        lines.push(format!("queued {}", queued.iter().map(part).collect::<Vec<_>>().join(" ")));
    }
    lines
}

fn known(known: &RecordedState) -> &'static str {
    match known {
        RecordedState::Returned => "returned",
        RecordedState::Waiting => "waiting",
        RecordedState::Expired => "expired",
        RecordedState::Decided(_) => "decided",
        RecordedState::NotStarted => "not-started",
        RecordedState::MayHaveRun => "may-have-run",
    }
}

fn remembered(message: &Message) -> Vec<String> {
    match message {
        Message::User { parts } => parts.iter().map(|one| format!("- {}", part(one))).collect(),
        Message::Assistant(reply) => reply
            .parts
            .iter()
            .map(|one| match &one.kind {
                PartKind::Text { text } => format!("- text {text}"),
                PartKind::Thinking { text } => format!("- thinking {text}"),
                PartKind::ToolCall(call) => format!("- call {}", brief(call)),
                PartKind::Native => "- native".to_owned(),
            })
            .collect(),
        Message::ToolReturns { returns } => returns
            .iter()
            .map(|one| format!("- return {:?}: {}", one.status, one.text().replace('\n', " / ")))
            .collect(),
    }
}

/// Checks after every script: the store has the same conversation, and it needs no repair.
async fn sound(store: &Store, id: &co_engine::history::SessionId, history: &History) {
    if history.len() <= 1 {
        return;
    }
    let stored = Session::read(store, id).await.unwrap();
    let told: Vec<&Message> = stored.messages().collect();
    let lived: Vec<&Message> = history.messages().collect();
    assert_eq!(told, lived, "the stored history differs from the live one");
    if history.open_calls().is_empty() {
        let messages: Vec<_> = history.entries().iter().map(|(_, message)| Arc::clone(message)).collect();
        assert_eq!(patch_dangling_tool_calls(&messages), messages, "a call dangles");
    }
}

/// Checks that the requests of turns are shown as they were sent; of a long session, those of some turns.
fn sent_as_shown(records: &[Record], requests: &[ModelRequest]) {
    let turns = records.iter().filter(|record| matches!(record, Record::TurnStarted { .. })).count();
    let mut sent = requests.iter().filter(|request| request.purpose == RequestKind::Answer);
    for turn in (1..=turns).step_by(turns / 20 + 1) {
        let turn = u32::try_from(turn).unwrap();
        for number in 1.. {
            let shown = match sent_request(records, turn, number) {
                Ok(shown) => shown,
                Err(SentError::NoRequest { .. }) => break,
                Err(error) => panic!("turn {turn}: {error}"),
            };
            let messages = &shown.conversation.as_ref().expect("the conversation of one request").messages;
            let is_it =
                |request: &ModelRequest| request.system == shown.system() && request.messages == *messages;
            assert!(sent.any(is_it), "turn {turn}, request {number} was not sent so: {messages:#?}");
        }
    }
}

/// Checks every side effect: it began once, and its start was recorded before its end.
fn recorded(records: &[Record], world: &World) {
    for call in world.began() {
        assert_eq!(world.began().iter().filter(|other| **other == call).count(), 1, "{call} ran twice");
        let started = |record: &Record| matches!(record, Record::ToolStarted { call: one } if *one == call);
        let finished =
            |record: &Record| matches!(record, Record::ToolFinished { returned } if returned.call == call);
        let start =
            records.iter().position(started).unwrap_or_else(|| panic!("{call}: no record of its start"));
        // A late call had a return already, before it ran.
        assert!(
            records.iter().rposition(finished).is_some_and(|end| start < end),
            "{call}: its end is recorded before its start, or never"
        );
        assert_eq!(records.iter().filter(|record| started(record)).count(), 1, "{call}: started twice");
        let allowed = records[..start].iter().rev().find_map(|record| permitted(record, &call));
        assert_eq!(allowed, Some(true), "{call}: nobody allowed it");
    }
}

/// Whether this record allows the call; `None` if it is about something else.
fn permitted(record: &Record, call: &CallId) -> Option<bool> {
    match record {
        Record::Judged { call: one, judgement } if one == call => Some(judgement.verdict == Verdict::Allow),
        Record::Decided { call: one, approval, .. } if one == call => {
            Some(matches!(approval, Approval::Approve { .. }))
        }
        Record::Asked { call: one, .. } if one.id == *call => Some(false),
        _ => None,
    }
}
