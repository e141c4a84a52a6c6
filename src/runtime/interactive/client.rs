//! Handles requests that are possible at any time, whether a turn runs or not: lines, slash commands, shell commands,
//! models. It never touches the session; anything that only its owner may do is returned as [`OwnerAction`].

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio_util::task::TaskTracker;

use super::background::BackgroundSessions;
use super::files::Files;
use super::pending::PendingHooks;
use super::questions::Questions;
use super::server_list::{prompt_lines, server_list};
use super::shell::{Shell, ShellEvent, UserCommand};
use crate::accounts::{ModelChoice, Origin};
use crate::agent::port::{Event, Op};
use crate::app::App;
use crate::approval::{AutoApprove, Decider, Grants};
use crate::command::{
    Command, CommandEffect, CommandFile, CommandNeed, Commands, Entry, Notice, Privacy, SessionChange,
    UNSANDBOXED, code, dispatch,
};
use crate::config::{Contents, Mode};
use crate::frontend::channel::Updates;
use crate::frontend::images::Prompt;
use crate::frontend::protocol::{ClientRequest, CommandLine, Header, ServerMessage, Update};
use crate::history::{History, Record, SessionId};
use crate::message::images::mentions as named_files;
use crate::message::{NoteKind, Usage, UserPart};
use crate::runtime::{images, mentions};
use crate::sandbox::Confinement;
use crate::store::{AuditNote, InputScope, RequestFilter};
use crate::tool::cache::ChangingFiles;

/// Maximum number of requests sent to a front end at once.
const WAITING_SHOWN: usize = 100;
/// Earlier lines that Up brings back.
const RECALLED: usize = 200;

/// The front end's requests, and the state to answer them.
pub(super) struct ClientHandler {
    pub(super) app: Arc<App>,
    pub(super) updates: Updates,
    pub(super) asks: mpsc::Receiver<ClientRequest>,
    /// The decider recorded for decisions at this front end.
    pub(super) decider: Decider,
    pub(super) shell: Shell,
    /// While the user's command runs.
    changing: Option<ChangingFiles>,
    /// Notes of finished commands that the session does not contain yet.
    pub(super) notes: Vec<Record>,
    /// The composer's text, if the session was not free to store it.
    pub(super) draft: Option<String>,
    /// The prompt for the copy of a session that is being opened.
    pub(super) after_fork: Option<String>,
    pub(super) session: SessionId,
    /// The session's folder, which may differ from the one `co` was started in.
    pub(super) folder: PathBuf,
    pub(super) files: Files,
    pub(super) pending: PendingHooks,
    /// The questions of tool servers to the user.
    pub(super) questions: Questions,
    /// Background work.
    pub(super) background: BackgroundSessions,
    /// Requests of this session beyond those sent to the front end.
    pub(super) unlisted: usize,
    /// The header as last sent.
    pub(super) shown: Option<Header>,
    /// Why this process has the session read-only.
    pub(super) read_only: Option<String>,
    pub(super) commands: Commands,
    /// The files of the custom ones among them.
    pub(super) command_files: Vec<CommandFile>,
    /// The last thing sent about the activity was that something runs. The front end starts in that state.
    reported_busy: bool,
    pub(super) model: watch::Receiver<ModelChoice>,
    /// The running login attempt.
    pub(super) login: Option<tokio::task::JoinHandle<()>>,
    /// Whether the search for a server and the offer to set up a service were done.
    pub(super) welcomed: bool,
    /// Whether the database copy was done.
    pub(super) copied: bool,
    /// The discovered server that was reported to the user.
    reported_server: Option<String>,
    /// The reported remarks on files of commands.
    pub(super) reported_commands: BTreeSet<String>,
    /// Commands that are answered in the background.
    pub(super) background_commands: TaskTracker,
    /// The storing of the last typed line.
    remembering: Option<tokio::task::JoinHandle<()>>,
    /// The folder's contents shown to the user before they trust it.
    pub(super) shown_of_folder: Option<Contents>,
    /// The usage of this process.
    pub(super) spent: Arc<Mutex<Usage>>,
}

/// The history for answering a command.
#[derive(Clone, Copy)]
pub(super) enum SessionView<'a> {
    /// Nothing runs.
    Here(&'a History),
    /// A turn has the history; the store contains the same.
    InTheStore { grants: &'a watch::Receiver<Grants> },
}

impl SessionView<'_> {
    pub(super) fn grants(self) -> Grants {
        match self {
            Self::Here(history) => history.grants().clone(),
            Self::InTheStore { grants } => grants.borrow().clone(),
        }
    }
}

/// An action that only the session's owner may do.
pub(super) enum OwnerAction {
    /// Nothing: the request was answered.
    Answered,
    Op(Op),
    Change(SessionChange),
    /// Switch to another session.
    Open(SessionId),
}

/// The prompt that ends a plan.
const CARRY_OUT: &str = "Carry the plan out now.";

impl ClientHandler {
    pub(super) fn new(
        app: Arc<App>,
        updates: Updates,
        asks: mpsc::Receiver<ClientRequest>,
        decider: Decider,
        questions: Questions,
    ) -> Self {
        let shell = Shell::new(app.tools.tasks.clone());
        let background_commands = TaskTracker::new();
        // A tracker can be waited for once it is closed; it still takes tasks.
        background_commands.close();
        let (model, hook_messages) = (app.models.choices(), app.permissions.hook_messages());
        Self {
            background: BackgroundSessions::new(&app.store),
            unlisted: 0,
            shown: None,
            app,
            updates,
            asks,
            decider,
            shell,
            changing: None,
            notes: Vec::new(),
            copied: false,
            draft: None,
            after_fork: None,
            session: SessionId(String::new()),
            folder: PathBuf::new(),
            files: Files::default(),
            pending: PendingHooks::new(hook_messages),
            questions,
            read_only: None,
            commands: Commands::builtin(),
            command_files: Vec::new(),
            reported_busy: true,
            model,
            login: None,
            welcomed: false,
            reported_server: None,
            reported_commands: BTreeSet::new(),
            background_commands,
            remembering: None,
            spent: Arc::default(),
            shown_of_folder: None,
        }
    }

    /// Makes another session the current one.
    pub(super) fn enter(&mut self, session: SessionId, folder: PathBuf) {
        self.shell.enter(self.app.spill(&session));
        self.session = session;
        if self.folder != folder {
            // Ends the walk over the files of the folder before.
            self.files = Files::default();
        }
        self.folder = folder;
        self.read_only = None;
        self.shown = None;
        self.draft = None;
        // The hooks' pending results belong to the previous session.
        drop(self.pending.abandon());
        self.reported_busy = true;
    }

    /// Sends a message. A closed front end is detected at its request channel.
    pub(super) async fn tell(&self, message: ServerMessage) {
        let _ = self.updates.notice(message).await;
    }

    /// Reports that nothing runs, unless already reported.
    pub(super) async fn tell_idle(&mut self) {
        if std::mem::take(&mut self.reported_busy) {
            self.tell(ServerMessage::Idle).await;
        }
    }

    pub(super) async fn tell_busy(&mut self) {
        self.reported_busy = true;
        self.tell(ServerMessage::TurnBegan).await;
    }

    /// Reports that something runs, if the front end has idle as the last state.
    pub(super) async fn tell_at_work(&mut self) {
        if !self.reported_busy {
            self.tell_busy().await;
        }
    }

    pub(super) async fn show(&self, event: Event) {
        let _ = self.updates.send(Update::Event(event)).await;
    }

    pub(super) async fn say(&self, notice: Notice) {
        say(&self.updates, notice).await;
    }

    /// Returns what was done, or says why it was not.
    pub(super) async fn or_say<T>(&self, title: &str, done: Result<T, impl std::fmt::Display>) -> Option<T> {
        match done.map_err(|error| format!("{error}.")) {
            Ok(done) => Some(done),
            Err(text) => {
                self.say(Notice::error(title, text)).await;
                None
            }
        }
    }

    /// Answers one request, or returns what the owner has to do.
    pub(super) async fn handle(&mut self, ask: ClientRequest, known: SessionView<'_>) -> OwnerAction {
        if let ClientRequest::Op(Op::Decide { .. }) = ask {
            Box::pin(self.refresh_rules()).await;
        }
        match ask {
            ClientRequest::Line { text } => return self.line(&text, known).await,
            ClientRequest::Prompt(prompt) => {
                self.remember(&Entry::Prompt { text: prompt.text.clone() }, &prompt.text);
                return self.prompt(prompt).await;
            }
            ClientRequest::Op(Op::Decide { decisions }) => {
                // A server waits for its answer whatever the session does.
                let (questions, calls): (Vec<_>, Vec<_>) =
                    decisions.into_iter().partition(|(request, _)| self.questions.has(request));
                if !questions.is_empty() {
                    self.decide(&questions).await;
                }
                if !calls.is_empty() {
                    return OwnerAction::Op(Op::Decide { decisions: calls });
                }
            }
            ClientRequest::Op(op) => return OwnerAction::Op(op),
            ClientRequest::Draft { text } => return OwnerAction::Op(Op::Draft { text }),
            ClientRequest::Open { session } => return OwnerAction::Open(session),
            ClientRequest::Remember { text } => self.remember(&dispatch(&text), &text),
            ClientRequest::Query { id, query } => Box::pin(self.query(id, query)).await,
            ClientRequest::Login(entered) => self.try_service(entered),
            ClientRequest::SkipLogin => self.skip_login(),
            ClientRequest::ListModels => self.list_models().await,
            ClientRequest::SwitchModel { name } => self.switch(&name).await,
            ClientRequest::KeepModel { name } => self.keep_model(&name).await,
            ClientRequest::SetMode { mode } => self.set_mode(mode).await,
            ClientRequest::Server(change) => self.change_server(change).await,
            ClientRequest::ResumeNow { session } => self.resume_in_background(session).await,
            ClientRequest::SaveRule { request, text, scope } => {
                return Box::pin(self.save_rule(request, text, scope)).await;
            }
            ClientRequest::Background => {
                self.app.tools.tasks.move_running();
                if let Some(event) = self.shell.background(&self.app.spill(&self.session)) {
                    self.on_shell(event).await;
                }
            }
            ClientRequest::StopShell => self.shell.stop(),
            ClientRequest::Close => {
                self.background.stop();
                return OwnerAction::Op(Op::Close);
            }
        }
        OwnerAction::Answered
    }

    async fn line(&mut self, text: &str, known: SessionView<'_>) -> OwnerAction {
        let entry = dispatch(text);
        if let Entry::Command { name, .. } = &entry {
            let known = self.commands.by_name(name);
            // Only the list of commands and a command of a file depend on files.
            if name == "help" || known.is_none_or(|command| !command.is_builtin()) {
                self.refresh_commands().await;
            }
        }
        self.remember(&entry, text);
        match entry {
            Entry::Quit => OwnerAction::Op(Op::Close),
            Entry::Nothing => OwnerAction::Answered,
            Entry::Shell { command, privacy, confinement } => {
                self.run_shell(command, privacy, confinement).await;
                OwnerAction::Answered
            }
            Entry::Command { name, args } => self.command(&name, &args, known).await,
            Entry::Prompt { text } => self.prompt(Prompt::written(text)).await,
        }
    }

    /// Builds a prompt with the images that it names. If it cannot be sent, its text is returned to the composer.
    pub(super) async fn prompt(&mut self, prompt: Prompt) -> OwnerAction {
        self.prompt_with(prompt, None).await
    }

    /// The same with a note behind it.
    async fn prompt_with(&mut self, prompt: Prompt, note: Option<UserPart>) -> OwnerAction {
        let text = prompt.text.clone();
        let mut prompt = prompt;
        let resources = mentions::take_resources(&mut prompt, &self.app.servers.settings());
        let parts = images::parts(prompt, &self.folder, &self.app.world, &self.app.models).await;
        match parts.map(|parts| parts.into_iter().chain(note).collect::<Vec<_>>()) {
            Ok(parts) if resources.is_empty() => self.submit(parts).await,
            Ok(parts) => {
                let servers = self.app.servers.clone();
                let read = async move {
                    mentions::read_resources(resources, &servers, servers.place().output_limit).await
                };
                self.submit_with(parts, read.boxed()).await
            }
            Err(error) => {
                self.tell(ServerMessage::Refused { text, reason: error.to_string() }).await;
                OwnerAction::Answered
            }
        }
    }

    /// Stores typed lines for later sessions, except private and empty ones.
    fn remember(&mut self, entry: &Entry, text: &str) {
        match entry {
            Entry::Quit | Entry::Nothing | Entry::Shell { privacy: Privacy::Private, .. } => return,
            Entry::Shell { privacy: Privacy::Shared, .. } | Entry::Command { .. } | Entry::Prompt { .. } => {}
        }
        // Runs in the background: a slow store must not delay the prompt.
        let (store, updates) = (self.app.store.clone(), self.updates.clone());
        let (folder, text) = (self.app.world.workspace.clone(), text.to_owned());
        let before = self.remembering.take();
        self.remembering = Some(tokio::spawn(async move {
            if let Some(before) = before {
                // Keeps the order of typing; a line that failed reports its own error.
                let _ = before.await;
            }
            if let Err(error) = store.remember_input(&folder, &text).await {
                let text = format!("This line was not saved to the history: {error}.");
                say(&updates, Notice::warning("history", text)).await;
            }
        }));
    }

    /// Returns once every line typed so far is stored or reported as failed.
    pub(super) async fn wait_until_stored(&mut self) {
        if let Some(last) = self.remembering.take() {
            // Its error was reported already.
            let _ = last.await;
        }
    }

    async fn command(&mut self, name: &str, args: &str, known: SessionView<'_>) -> OwnerAction {
        if let Some(prompt) = self.server_prompt(name) {
            return self.use_prompt(prompt, args).await;
        }
        let needs = self.commands.by_name(name).map_or(CommandNeed::Nothing, |command| command.needs);
        if let CommandNeed::Rules | CommandNeed::Approvals = needs {
            Box::pin(self.refresh_rules()).await;
        }
        let view = self.command_view(needs, args, known).await;
        match self.commands.decide(name, args, &view) {
            CommandEffect::Say(say) => self.say(say).await,
            CommandEffect::Revoke(request, say) => {
                self.say(say).await;
                return OwnerAction::Op(Op::Revoke { request });
            }
            CommandEffect::SetAutoApprove(auto_approve, say) => {
                self.set_auto_approve(auto_approve).await;
                self.say(say).await;
            }
            CommandEffect::SetMode(mode, say) => {
                self.set_mode(mode).await;
                self.say(say).await;
            }
            CommandEffect::ShowKeys(filter) => self.tell(ServerMessage::Keys { filter }).await,
            CommandEffect::SwitchModel(name) => self.switch(&name).await,
            CommandEffect::ListModels => self.list_models().await,
            CommandEffect::SetPersonality(name, say) => {
                self.app.prompts.set_personality(&name);
                self.say(say).await;
            }
            CommandEffect::Send { say, text, typed, of_project } => {
                if let Some(say) = say {
                    self.say(say).await;
                }
                // Files are attached that the user named, not those of the command.
                let named = named_files(&typed);
                let Some(path) = of_project else { return self.prompt(Prompt { named, text }).await };
                // The user's words are what was typed; the rest is text of a file.
                let note = UserPart::Note { kind: NoteKind::Command { path }, text };
                let text = format!("/{name} {typed}").trim_end().to_owned();
                return self.prompt_with(Prompt { named, text }, Some(note)).await;
            }
            CommandEffect::SetThinking(level, say) => {
                self.app.models.set_thinking(level);
                self.say(say).await;
            }
            CommandEffect::Change(change) => return OwnerAction::Change(change),
            CommandEffect::ListChanges => self.list_changes().await,
            CommandEffect::Memory(request) => self.memory(request).await,
            CommandEffect::EditMemory(id) => self.edit_memory(id).await,
            CommandEffect::CarryOut(mode) => {
                self.set_mode(mode).await;
                return self.prompt(Prompt::written(CARRY_OUT.to_owned())).await;
            }
            CommandEffect::ListServices => self.offer_services().await,
            CommandEffect::Trust(trusting) => self.trust(trusting).await,
            CommandEffect::ListSessions { query } => {
                if let Some(sessions) = self.sessions().await {
                    self.tell(ServerMessage::Sessions { sessions, query }).await;
                }
            }
            CommandEffect::Rename(title) => {
                self.notes.push(Record::Renamed { title: title.clone() });
                self.say(Notice::plain("rename", format!("This session is {} now.", code(&title)))).await;
            }
            CommandEffect::Export(form) => self.export(form, known).await,
            CommandEffect::EndTask(number) => self.end_task(number).await,
            CommandEffect::ClearCache(pattern) => self.clear_cache(pattern.as_deref()).await,
            CommandEffect::ListServers => {
                let servers = server_list(&self.app);
                self.tell(ServerMessage::Servers { servers }).await;
            }
            CommandEffect::ReconnectServer(name) => self.reconnect_server(name),
            CommandEffect::Quit => return OwnerAction::Op(Op::Close),
        }
        OwnerAction::Answered
    }

    /// Sets the mode, also for the running turn.
    async fn set_mode(&mut self, mode: Mode) {
        if self.app.permissions.policy().mode != mode {
            self.app.permissions.set_mode(mode);
            self.note_stance(format!("mode {}", mode.word())).await;
        }
        self.header_again().await;
    }

    /// Sets whether calls run without asking.
    pub(super) async fn set_auto_approve(&mut self, auto_approve: AutoApprove) {
        if self.app.permissions.policy().auto_approve == auto_approve {
            return;
        }
        self.app.permissions.set_auto_approve(auto_approve);
        let words = match auto_approve {
            AutoApprove::Yolo => "yolo on",
            AutoApprove::YoloUnsandboxed => "yolo on, unsandboxed commands too",
            AutoApprove::Asking => "yolo off",
        };
        self.note_stance(words.to_owned()).await;
        self.header_again().await;
    }

    /// Records the user's choice in the audit.
    async fn note_stance(&self, text: String) {
        self.or_say("audit", self.app.store.note(AuditNote::Stance { text }).await).await;
    }

    /// Reports the server found on this machine.
    pub(super) async fn model_is(&mut self, choice: &ModelChoice) {
        if let Origin::Found { server } = &choice.origin {
            let text = format!("Found {server} on this machine: using {}.", code(&choice.name()));
            self.say(Notice::plain("model", text)).await;
        }
    }

    /// Names a discovered server at the first prompt to it.
    pub(super) async fn name_found_server(&mut self) {
        let choice = self.app.models.current();
        let Origin::Found { server } = &choice.origin else { return };
        if self.reported_server.as_ref() == Some(server) {
            return;
        }
        self.reported_server = Some(server.clone());
        let text = format!("Using {server} on this machine ({}).", code(&choice.name()));
        self.say(Notice::plain("model", text)).await;
    }

    /// Runs the user's shell command, without model and approval.
    async fn run_shell(&mut self, command: String, privacy: Privacy, confinement: Confinement) {
        if command.is_empty() {
            self.say(Notice::warning("shell", "Type a command after `!`, e.g. `!ls`.")).await;
        } else if let Some(running) = self.shell.command() {
            let text = format!("{} is still running; stop it first.", code(running));
            self.say(Notice::warning("shell", text)).await;
        } else {
            // The row says where it runs.
            let shown = match confinement {
                Confinement::Unsandboxed => format!("{UNSANDBOXED} {command}"),
                Confinement::ReadOnly | Confinement::Workspace | Confinement::Network => command.clone(),
            };
            self.tell(ServerMessage::ShellBegan { command: shown, privacy }).await;
            let started = UserCommand { command, privacy, confinement };
            self.changing = Some(self.app.cache.changing_files());
            self.shell.start(&self.app, &self.session, &self.folder, started);
        }
    }

    /// Shows an event of the command; at its end keeps a note for the next prompt.
    pub(super) async fn on_shell(&mut self, event: ShellEvent) {
        match event {
            ShellEvent::Output(text) => self.tell(ServerMessage::ShellOutput { text }).await,
            ShellEvent::Said(text) => self.say(Notice::warning("shell", text)).await,
            ShellEvent::Ended { outcome, took, note } => {
                self.changing = None;
                if let Some(text) = note {
                    self.notes.push(Record::Noted { kind: NoteKind::CommandOutput, text });
                }
                self.tell(ServerMessage::ShellEnded { outcome, took }).await;
            }
            ShellEvent::TaskEnded(task) => {
                let text = format!("Task {} ({}) ended: {}.", task.number, code(&task.command), task.state());
                self.notes.push(Record::Noted { kind: NoteKind::CommandOutput, text: text.clone() });
                self.say(Notice::plain("tasks", text)).await;
            }
        }
    }

    /// Ends what runs in the background of the session, and says so.
    pub(super) async fn end_tasks(&mut self) {
        let ended = match self.app.tools.tasks.end_all(&self.app.spill(&self.session)).await {
            0 => return,
            1 => "1 task was ended with its session.".to_owned(),
            many => format!("{many} tasks were ended with their session."),
        };
        self.say(Notice::plain("tasks", ended)).await;
    }

    /// Drops kept results of tools.
    async fn clear_cache(&mut self, pattern: Option<&str>) {
        self.say(match self.app.cache.clear(pattern) {
            Ok(0) => Notice::plain("cache", "No kept result matches."),
            Ok(1) => Notice::plain("cache", "1 kept result was dropped."),
            Ok(many) => Notice::plain("cache", format!("{many} kept results were dropped.")),
            Err(why) => {
                Notice::warning("cache", format!("The pattern cannot be used: {why}. Nothing was dropped."))
            }
        })
        .await;
    }

    async fn end_task(&mut self, number: usize) {
        let folder = self.app.spill(&self.session);
        if let Err(error) = self.app.tools.tasks.end(&folder, number) {
            self.say(Notice::warning("tasks", format!("{error}."))).await;
        }
    }

    /// Stops the running command, if any, and waits for its end.
    pub(super) async fn stop_shell(&mut self) {
        self.shell.stop();
        let ended = async {
            while self.shell.command().is_some() {
                let event = self.shell.next().await;
                self.on_shell(event).await;
            }
        };
        // On timeout, dropping the stream kills the process group.
        let _ = tokio::time::timeout(crate::runtime::headless::CLOSING, ended).await;
    }

    /// Sends the pending requests of this session.
    pub(super) async fn send_pending_requests(&mut self) {
        let filter = RequestFilter::UndecidedOf(self.session.clone());
        let stored = self.app.store.requests(filter, WAITING_SHOWN).await;
        if let Some(stored) = self.or_say("approvals", stored).await {
            let requests: Vec<_> = stored.into_iter().map(|one| one.request).collect();
            self.unlisted = self.unlisted_of(requests.len()).await;
            self.tell(ServerMessage::Waiting { requests }).await;
        }
        self.elsewhere().await;
    }

    async fn unlisted_of(&self, listed: usize) -> usize {
        if listed < WAITING_SHOWN {
            return 0;
        }
        let store = &self.app.store;
        let everywhere = store.waiting_count().await.unwrap_or_default();
        let elsewhere = store.waiting_elsewhere(&self.session).await.unwrap_or_default();
        everywhere.saturating_sub(elsewhere + listed)
    }

    /// Sends the available commands and tools.
    pub(super) async fn offer(&self) {
        let used = self.used_models().await;
        let line = |command: &Command| CommandLine {
            name: command.name.clone(),
            usage: command.usage.clone(),
            about: command.about.clone(),
            source: command.source.clone(),
            args: match command.name.as_str() {
                "personality" => self.app.prompts.names(),
                "model" => self.app.models.lines(&used).into_iter().map(|line| line.name).collect(),
                _ => command.choices().map(str::to_owned).collect(),
            },
        };
        let mut commands: Vec<CommandLine> = self.commands.iter().map(line).collect();
        commands.extend(prompt_lines(&self.app.servers));
        let tools = self.app.tools.registry.tools().specs().cloned().collect();
        self.tell(ServerMessage::Known { commands, tools }).await;
    }

    /// Sends the lines entered before in this folder.
    pub(super) async fn recall(&self) {
        let scope = InputScope::Folder(self.app.world.workspace.clone());
        match self.app.store.inputs(scope, RECALLED).await {
            Ok(mut lines) => {
                lines.reverse();
                self.tell(ServerMessage::Inputs { lines }).await;
            }
            Err(error) => {
                let text = format!("The history could not be read: {error}.");
                self.say(Notice::warning("history", text)).await;
            }
        }
    }

    /// Passes the shell commands' notes to the running turn; those it cannot take are kept.
    pub(super) fn hand_notes(&mut self, words: &mpsc::Sender<Op>) {
        self.notes.retain(|note| {
            let Record::Noted { kind: NoteKind::CommandOutput, text } = note else { return true };
            words.try_send(Op::Noted { text: text.clone() }).is_err()
        });
    }
}

/// Shows a message; the front end may be gone.
pub(super) async fn say(updates: &Updates, Notice { title, text, tone }: Notice) {
    let _ = updates.notice(ServerMessage::Local { title, text, tone }).await;
}

/// Resolves when the model changes. Cancel-safe.
pub(super) async fn next_model(model: &mut watch::Receiver<ModelChoice>) -> ModelChoice {
    match model.changed().await {
        Ok(()) => model.borrow_and_update().clone(),
        // The models live as long as `app`, which the client holds.
        Err(_) => std::future::pending().await,
    }
}
