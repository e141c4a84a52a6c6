//! The owner of interactive sessions: one loop over the user's requests, decisions by other processes, and running
//! work.
//!
//! It holds the session while the front end is open, starts turns, and executes slash commands. The front end receives
//! updates only; nothing here draws. `client` handles requests that are possible at any time, `lists`, `models`, `servers`
//! and `files` what it lists, `memory` what is remembered, `rules` its rules, `turn` a running turn, `reader` a session that another process owns, `inbox` the
//! requests of all sessions, `questions` what tool servers ask, `shell` the user's commands, `submit` and `pending` the hooks, `title` the request for a title, `trust` the folder's trust.

mod background;
mod client;
mod export;
mod files;
mod goodbye;
mod inbox;
mod lists;
mod login;
mod memory;
mod models;
mod pending;
mod prompts;
mod queries;
mod questions;
mod reader;
mod rules;
mod server_list;
mod servers;
mod shell;
mod submit;
mod title;
mod trust;
mod turn;
mod undo;
mod view;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

pub use self::background::time_to_expiry;
use self::client::{ClientHandler, OwnerAction, SessionView};
use self::questions::Questions;
use self::title::{PendingTitle, wait_for_title};
use crate::accounts::Models;
use crate::agent::driver::{self, AgentEnv};
use crate::agent::port::{Event, Op};
use crate::agent::statuses;
use crate::app::{App, AppError, advice_at_start};
use crate::approval::{Approval, AutoApprove, Decider, RequestId};
use crate::command::{Notice, SessionChange, code};
use crate::config::LoadedSettings;
use crate::frontend::channel::Updates;
use crate::frontend::images::Prompt;
use crate::frontend::protocol::{ClientQuery, ClientRequest, ServerMessage};
use crate::history::{Durability, Limit, Record, TurnEnd};
use crate::message::{Message, NoteKind, UserPart, images};
use crate::runtime::hooks::run_end_hooks;
use crate::runtime::{OpenedSession, SessionTarget, orphaned_processes, remove_sessions, retention};
use crate::session::{Session, end_orphaned_questions};
use crate::stdx::process_memory::give_back_code;
use crate::store::{ChangeListener, Store, StoreError};
use crate::workspace::World;

/// The parts of an interactive run. The front end is already open.
pub struct Interactive {
    pub world: World,
    pub loaded: LoadedSettings,
    pub models: Arc<Models>,
    pub store: Store,
    pub target: SessionTarget,
    pub asks: mpsc::Receiver<ClientRequest>,
    pub updates: Updates,
    /// The decider recorded for decisions at this front end.
    pub decider: Decider,
}

/// Copies the database and deletes sessions beyond the retention, in the background. The session at hand is owned, and so
/// kept.
async fn upkeep(app: &App) {
    if let Err(error) = app.store.copy_if_due().await {
        tracing::warn!(%error, "the database was not backed up");
    }
    let Some(wanted) = retention(&app.settings, app.store.clock()) else { return };
    let removing = async {
        let found = app.store.beyond(app.store.after_leap(wanted).await?).await?;
        remove_sessions(&app.store, &app.settings.data_dir, found).await
    };
    match removing.await {
        Ok(removed) => tracing::info!(count = removed.len(), "old sessions were deleted"),
        Err(error) => tracing::warn!(%error, "old sessions were not deleted"),
    }
}

/// The warning at the start of a session that is not kept.
const NOT_KEPT: &str = "This session is in memory only: its messages, requests and outputs are gone when co ends, and no other \
    terminal can decide its requests. The audit keeps hashes of what was decided and run. Its tokens do not count in later \
    caps of the day.";

/// Waits for the store, owns sessions until the front end closes, and saves. The last message is always
/// [`ServerMessage::Goodbye`], also before an error is returned.
pub async fn interactive(run: Interactive) -> Result<(), AppError> {
    let Interactive { world, loaded, models, store, target, asks, updates, decider } = run;
    let lines = async {
        let mut warnings = advice_at_start(&loaded);
        warnings.extend(
            models.trouble().into_iter().map(|trouble| format!("{}.", trouble.trim_end_matches('.'))),
        );
        let app = Arc::new(App::open(world, loaded, models, store).await?);
        end_orphaned_questions(&app.store).await;
        let (questions, asked) = Questions::new(app.store.clone());
        app.servers.connect(Some(questions.elicitor()));
        let following = servers::follow(Arc::clone(&app), updates.clone());
        let mut client = ClientHandler::new(app, updates.clone(), asks, decider, questions);
        client.pending.listen(asked);
        give_back_code_after(STARTED);
        // The future is large, so it is on the heap.
        let lines = Box::pin(live(&mut client, target, warnings)).await;
        following.abort();
        lines
    };
    let lines = lines.await;
    let goodbye = lines.as_ref().cloned().unwrap_or_default();
    // The front end may be gone.
    let _ = updates.notice(ServerMessage::Goodbye { lines: goodbye }).await;
    lines.map(drop)
}

/// The time after which the first screen is drawn and the background work of the start is done.
const STARTED: Duration = Duration::from_secs(1);
/// The time after which the last frame of a turn is drawn.
const TURN_SETTLED: Duration = Duration::from_millis(100);

fn give_back_code_after(time: Duration) {
    tokio::spawn(async move {
        sleep(time).await;
        give_back_code();
    });
}

/// Runs one session after the other until the front end closes; returns the lines for the normal screen.
async fn live(
    client: &mut ClientHandler,
    target: SessionTarget,
    warnings: Vec<String>,
) -> Result<Vec<String>, AppError> {
    let mut opened = target.open(&client.app, client.decider.clone()).await?;
    let mut goes_on = target.resumes();
    client.offer().await;
    client.recall().await;
    for warning in warnings {
        client.say(Notice::warning("settings", warning)).await;
    }
    if let Some(text) = client.app.store.network_warning() {
        client.say(Notice::warning("data", text)).await;
    }
    if client.app.world.private.is_some() {
        client.say(Notice::warning("session", NOT_KEPT)).await;
    }
    if target.goes_on() {
        client.go_on_with_model(opened.history()).await;
    }
    client.warn_of_model().await;
    loop {
        client.enter(opened.id().clone(), opened.history().workspace().to_owned());
        let is_owned = matches!(opened, OpenedSession::Owned(_));
        client.questions.enter(is_owned.then(|| opened.id().clone())).await;
        client.refresh_rules().await;
        client.refresh_commands().await;
        let left = match opened {
            OpenedSession::Owned(owned) => {
                let (session, env) = *owned;
                Box::pin(SessionRuntime::new(client, session, env).run(goes_on)).await?
            }
            OpenedSession::ReadOnly { history, holder, .. } => reader::run(client, *history, holder).await?,
        };
        match left {
            SessionExit::Closed(lines) => {
                client.background.wait_for_end().await;
                client.questions.enter(None).await;
                return Ok(lines);
            }
            SessionExit::SwitchTo(next) => opened = *next,
        }
        goes_on = false;
        // The approval mode of the previous session does not apply to the next one.
        client.set_auto_approve(AutoApprove::Asking).await;
        client.tell(ServerMessage::Entered).await;
    }
}

/// Why a session was left.
enum SessionExit {
    /// The front end closes; lines for the normal screen.
    Closed(Vec<String>),
    SwitchTo(Box<OpenedSession>),
}

/// The age of an open session at which the database is copied if due, so that the start is not delayed.
const COPY_AFTER: Duration = Duration::from_secs(60);

/// The delay before a failed write to the store is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(5);

/// The state of the owner of one session.
struct SessionRuntime<'a> {
    client: &'a mut ClientHandler,
    session: Session,
    env: AgentEnv,
    listener: ChangeListener,
    /// The last turn failed or stopped at a cap, and the next one would too: queued prompts wait until the user acts.
    holds_queue: bool,
    /// The same for late approvals: held once the user stopped them.
    holds_late: bool,
    /// Prompts not known to be stored: if the store rejects them, they are returned to the composer.
    unsaved: Vec<UnsavedPrompt>,
    store: StoreState,
    /// The front end is closing.
    closing: bool,
    title: Option<PendingTitle>,
    /// When a copy of the database may be made.
    copy_at: Instant,
}

/// A submitted prompt, and the number of messages before it.
struct UnsavedPrompt {
    text: String,
    messages: usize,
}

/// Whether the last write succeeded.
#[derive(Clone, PartialEq, Eq)]
enum StoreState {
    Takes,
    /// It failed, with the reported reason. Automatic work waits for the next try.
    Refuses(String),
    /// The next try is due; the same reason is not reported twice.
    TriedAgain(String),
}

/// Work that starts without the user.
enum AutomaticWork {
    Prompt(Vec<UserPart>),
    Resume,
    LateCalls,
    Compaction { focus: Option<String> },
}

/// Whether the loop continues.
enum LoopControl {
    Continue,
    Close,
    SwitchTo(Box<OpenedSession>),
}

impl LoopControl {
    /// Switches to the session that was opened, if one was.
    fn switch(opened: Option<OpenedSession>) -> Self {
        opened.map_or(Self::Continue, |opened| Self::SwitchTo(Box::new(opened)))
    }
}

impl<'a> SessionRuntime<'a> {
    fn new(client: &'a mut ClientHandler, session: Session, env: AgentEnv) -> Self {
        let listener = session.store().change_listener();
        Self {
            client,
            session,
            env,
            listener,
            holds_queue: false,
            holds_late: false,
            unsaved: Vec::new(),
            store: StoreState::Takes,
            closing: false,
            title: None,
            copy_at: Instant::now() + COPY_AFTER,
        }
    }

    fn unsaved_prompt(&self, parts: &[UserPart]) -> UnsavedPrompt {
        UnsavedPrompt {
            text: images::typed_text(parts),
            messages: self.session.history().whole_conversation().count(),
        }
    }

    /// Runs until the front end closes or another session is opened.
    async fn run(mut self, goes_on: bool) -> Result<SessionExit, AppError> {
        self.greet().await;
        self.client.start_session_hooks(&self.session, &self.env);
        let mut first =
            (goes_on && self.session.history().running_turn().is_some()).then_some(AutomaticWork::Resume);
        if first.is_none() {
            self.session.consume_decisions().await?;
        }
        self.client.discover();
        loop {
            let work = first.take().or_else(|| self.next_work());
            let works = work.is_some();
            let control = match work {
                Some(work) => self.turn(work).await,
                None => {
                    if !self.client.pending.has_prompt() {
                        self.client.tell_idle().await;
                        self.ask_title().await;
                    }
                    self.idle().await
                }
            };
            let control = match control {
                Err(AppError::Store(error)) if error.is_temporary() => {
                    self.recover_from(&error).await;
                    if self.closing {
                        return self.close("quit").await.map(SessionExit::Closed);
                    }
                    continue;
                }
                control => control?,
            };
            self.unsaved.clear();
            if works {
                self.store = StoreState::Takes;
            }
            match control {
                LoopControl::Continue => {}
                LoopControl::Close => return self.close("quit").await.map(SessionExit::Closed),
                LoopControl::SwitchTo(next) => match self.keep_left().await {
                    Err(AppError::Store(error)) if error.is_temporary() => self.recover_from(&error).await,
                    kept => {
                        kept?;
                        self.close("switched").await?;
                        return Ok(SessionExit::SwitchTo(next));
                    }
                },
            }
        }
    }

    async fn greet(&mut self) {
        let history = self.session.history();
        self.client.header(history).await;
        // The next prompt would include an interrupted partial reply, so the user sees it too.
        let partial = history.running_turn().and_then(|turn| turn.partial.as_ref());
        let partial = partial.map(|(_, text)| Message::partial(text.clone()));
        if partial.is_some() || history.whole_conversation().next().is_some() {
            self.client.transcript(history, partial).await;
        }
        if !history.draft().is_empty() {
            self.client.tell(ServerMessage::Draft { text: history.draft().to_owned() }).await;
        }
        if history.damaged_count() > 0 {
            let text = match history.damaged_count() {
                1 => "A record of this session is damaged or missing; its content is left out.".to_owned(),
                many => format!(
                    "{many} records of this session are damaged or missing; their content is left out."
                ),
            };
            let text = format!("{text} Run `co doctor` for details.");
            self.client.say(Notice::warning("damaged", text)).await;
        }
        let unfinished = history.running_turn().and_then(|_| match history.last_end() {
            None => Some(("cut off", "was cut off. `/retry` continues it".to_owned())),
            Some(TurnEnd::LimitReached { limit: Limit::Cap(cap) }) => {
                Some(("cap", format!("stopped at {}. `/retry` continues it", code(cap.setting()))))
            }
            Some(TurnEnd::Failed { error }) => {
                Some(("failed", format!("failed: {error}. `/retry` repeats its request")))
            }
            Some(_) => None,
        });
        if let Some((title, what)) = unfinished {
            let text = format!("The last turn {what}; a new prompt goes on without it.");
            self.client.say(Notice::warning(title, text)).await;
        }
        for text in orphaned_processes(&self.session).await {
            self.client.say(Notice::warning("interrupted work", text)).await;
        }
        self.client.send_pending_requests().await;
        self.client.tell_of_folder().await;
        self.client.tell_of_prompt().await;
        if self.session.history().turns() == 0 {
            self.client.recent().await;
        }
    }

    /// Returns the next automatic work: a turn that can be resumed, then late approvals, then the queue.
    fn next_work(&self) -> Option<AutomaticWork> {
        let history = self.session.history();
        if matches!(self.store, StoreState::Refuses(_)) {
            return None;
        }
        if driver::can_resume(&self.session) {
            return Some(AutomaticWork::Resume);
        }
        if !self.holds_late && driver::can_settle_late(&self.session) {
            return Some(AutomaticWork::LateCalls);
        }
        history.queued_prompts().first().filter(|_| !self.holds_queue).cloned().map(AutomaticWork::Prompt)
    }

    /// Waits for the next event between turns, and handles it.
    async fn idle(&mut self) -> Result<LoopControl, AppError> {
        if let Some(message) = self.client.after_fork.take() {
            let action = self.client.prompt(Prompt::written(message)).await;
            return self.act(action).await;
        }
        tokio::select! {
            ask = self.client.asks.recv() => {
                let ask = ask.unwrap_or(ClientRequest::Close);
                if let ClientRequest::Query { id, query: query @ ClientQuery::Handled } = ask {
                    self.client.query(id, query).await;
                    return Ok(LoopControl::Continue);
                }
                let action = self.client.handle(ask, SessionView::Here(self.session.history())).await;
                // Each request of the user is a point at which decisions by others are taken: before a prompt, so that
                // its turn includes them; after anything else, which must not wait for them.
                if let OwnerAction::Op(Op::Steer { parts }) = &action {
                    self.unsaved.push(self.unsaved_prompt(parts));
                    self.take_decisions().await?;
                    return self.act(action).await;
                }
                let control = self.act(action).await?;
                if let LoopControl::Continue = control {
                    self.take_decisions().await?;
                }
                return Ok(control);
            }
            () = self.listener.changed() => {
                self.client.refresh_rules().await;
                self.take_decisions().await?;
            }
            event = self.client.shell.next() => {
                self.client.on_shell(event).await;
                self.keep_notes().await?;
            }
            named = wait_for_title(&mut self.title) => self.take_title(named).await?,
            event = self.client.pending.next() => {
                let action = self.client.on_pending(event).await;
                return self.act(action).await;
            }
            happened = self.client.background.next() => {
                self.client.on_background(happened).await;
                // The list on the first screen says what waits, as the status line does.
                if self.session.history().turns() == 0 {
                    self.client.recent().await;
                }
            }
            () = tokio::time::sleep_until(self.copy_at), if !self.client.copied => {
                self.client.copied = true;
                let app = Arc::clone(&self.client.app);
                if app.world.private.is_none() {
                    tokio::spawn(async move { upkeep(&app).await });
                }
            }
            () = tokio::time::sleep(TRY_AGAIN), if matches!(self.store, StoreState::Refuses(_)) => {
                if let StoreState::Refuses(why) = &self.store {
                    self.store = StoreState::TriedAgain(why.clone());
                }
            }
            choice = client::next_model(&mut self.client.model) => {
                self.client.model_is(&choice).await;
                self.client.offer().await;
                self.client.header(self.session.history()).await;
            }
        }
        Ok(LoopControl::Continue)
    }

    /// Executes an action between turns.
    async fn act(&mut self, action: OwnerAction) -> Result<LoopControl, AppError> {
        match action {
            OwnerAction::Answered => {
                self.keep_notes().await?;
                self.client.header(self.session.history()).await;
                Ok(LoopControl::Continue)
            }
            OwnerAction::Change(change) => self.change(change).await,
            OwnerAction::Open(session) => Ok(LoopControl::switch(self.client.get(&session).await)),
            OwnerAction::Op(op) => self.op(op).await,
        }
    }

    async fn change(&mut self, change: SessionChange) -> Result<LoopControl, AppError> {
        match change {
            SessionChange::Clear => Ok(self.clear().await),
            SessionChange::Retry => self.retry().await,
            SessionChange::Compact { focus } => self.turn(AutomaticWork::Compaction { focus }).await,
            SessionChange::UndoCompaction => self.undo_compaction().await,
            SessionChange::Fork { message } => {
                Ok(LoopControl::switch(self.client.fork(self.session.history(), message).await))
            }
            SessionChange::Rewind { before, text, files } => self.rewind(before, text, files).await,
            SessionChange::Undo { what, agreed } => self.undo(what, agreed).await,
        }
    }

    /// Brings the messages back that the last compaction replaced.
    async fn undo_compaction(&mut self) -> Result<LoopControl, AppError> {
        self.session.commit(&[Record::Uncompacted], Durability::Written).await?;
        let text = "The model sees the replaced messages again. If they are too long for it, they are summarised before the next request.";
        self.client.say(Notice::plain("compact", text)).await;
        self.client.header(self.session.history()).await;
        Ok(LoopControl::Continue)
    }

    /// Handles an operation while no turn runs.
    async fn op(&mut self, op: Op) -> Result<LoopControl, AppError> {
        match op {
            Op::Decide { decisions } => self.decide(decisions).await?,
            Op::Steer { parts } => return self.prompt(parts).await,
            Op::TakeBack { parts } => self.take_back(&parts).await?,
            Op::Revoke { request } => {
                self.session.commit(&[Record::Revoked { request }], Durability::Synced).await?;
            }
            Op::Draft { text } => self.draft(text).await?,
            Op::Noted { text } => self.note(text).await?,
            Op::Interrupt => self.client.pending.stop(),
            Op::Defer | Op::RetryNow | Op::Cap { .. } => {}
            Op::Close => return Ok(LoopControl::Close),
        }
        Ok(LoopControl::Continue)
    }

    /// Handles a failed write: nothing is lost, automatic work waits for the next try, and prompts are returned to the
    /// composer.
    async fn recover_from(&mut self, error: &StoreError) {
        let why = error.to_string();
        let is_reported = match &self.store {
            StoreState::Refuses(reported) | StoreState::TriedAgain(reported) => *reported == why,
            StoreState::Takes => false,
        };
        if !is_reported || !self.unsaved.is_empty() {
            let again = "The conversation is unchanged since the last save. Fix the problem, then send the message again.";
            self.client.say(Notice::error("not saved", format!("{why}. {again}"))).await;
        }
        let is_read = self.session.reread().await.is_ok();
        for prompt in std::mem::take(&mut self.unsaved) {
            let history = self.session.history();
            let later = history.whole_conversation().skip(prompt.messages);
            let mut stored = later
                .filter_map(|(_, message)| match &**message {
                    Message::User { parts } => Some(parts),
                    _ => None,
                })
                .chain(history.queued_prompts());
            if !is_read || !stored.any(|parts| images::typed_text(parts) == prompt.text) {
                self.client.tell(ServerMessage::Refused { text: prompt.text, reason: why.clone() }).await;
            }
        }
        // The next prompt would abandon the interrupted turn.
        if self.session.history().running_turn().is_some() {
            self.holds_queue = true;
        }
        self.store = StoreState::Refuses(why);
        self.client.header(self.session.history()).await;
    }

    /// Starts a turn with a prompt, after queued ones.
    async fn prompt(&mut self, parts: Vec<UserPart>) -> Result<LoopControl, AppError> {
        (self.holds_queue, self.holds_late) = (false, false);
        self.store = StoreState::Takes;
        if self.unsaved.is_empty() {
            self.unsaved.push(self.unsaved_prompt(&parts));
        }
        if self.session.is_poisoned() {
            self.session.reread().await?;
        }
        if self.session.history().queued_prompts().is_empty() {
            return self.turn(AutomaticWork::Prompt(parts)).await;
        }
        self.enqueue(parts).await?;
        Ok(LoopControl::Continue)
    }

    /// Adds a prompt to the queue.
    async fn enqueue(&mut self, parts: Vec<UserPart>) -> Result<(), AppError> {
        let prompts = self.session.history().queued_prompts().iter().cloned().chain([parts]).collect();
        Ok(self.session.commit(&[Record::Queued { prompts }], Durability::Written).await?)
    }

    /// Repeats the last prompt: the request of a turn that can go on, or else the prompt as a new turn.
    async fn retry(&mut self) -> Result<LoopControl, AppError> {
        let history = self.session.history();
        if history.running_turn().is_some() && !matches!(history.last_end(), Some(TurnEnd::Deferred)) {
            (self.holds_queue, self.store) = (false, StoreState::Takes);
            return self.turn(AutomaticWork::Resume).await;
        }
        if let Some(parts) = history.prompts().last().and_then(|(_, parts)| images::prompt_parts(parts)) {
            return self.prompt(parts).await;
        }
        self.client.say(Notice::warning("retry", "Nothing was asked yet.")).await;
        Ok(LoopControl::Continue)
    }

    /// Handles operations that the last turn did not process; prompts are queued.
    async fn take_unhandled(&mut self, unhandled: Vec<Op>) -> Result<LoopControl, AppError> {
        let mut control = LoopControl::Continue;
        for op in unhandled {
            if let Op::Steer { parts } = op {
                self.enqueue(parts).await?;
            } else if let LoopControl::Close = Box::pin(self.op(op)).await? {
                control = LoopControl::Close;
            }
        }
        Ok(control)
    }

    async fn take_back(&mut self, parts: &[UserPart]) -> Result<(), AppError> {
        if self.client.pending.take_back(&images::typed_text(parts)) {
            return Ok(());
        }
        let mut prompts = self.session.history().queued_prompts().to_vec();
        let Some(at) =
            prompts.iter().rposition(|queued| images::typed_text(queued) == images::typed_text(parts))
        else {
            let text = statuses::SENT_ALREADY;
            self.client.say(Notice::warning("queue", text)).await;
            return Ok(());
        };
        prompts.remove(at);
        Ok(self.session.commit(&[Record::Queued { prompts }], Durability::Written).await?)
    }

    async fn note(&mut self, text: String) -> Result<(), AppError> {
        let note = Record::Noted { kind: NoteKind::CommandOutput, text };
        Ok(self.session.commit(&[note], Durability::Written).await?)
    }

    async fn draft(&mut self, text: String) -> Result<(), AppError> {
        if text == self.session.history().draft() {
            return Ok(());
        }
        Ok(self.session.commit(&[Record::Draft { text }], Durability::Written).await?)
    }

    /// Starts a new session; one in which nothing was asked yet is still new.
    async fn clear(&mut self) -> LoopControl {
        if self.session.history().turns() > 0 {
            return LoopControl::switch(self.client.open_new().await);
        }
        self.client.tell(ServerMessage::Transcript { messages: Vec::new(), decided: Vec::new() }).await;
        self.client.header(self.session.history()).await;
        self.client.recent().await;
        LoopControl::Continue
    }

    /// Decides requests between turns: in the store first, the first answer wins.
    async fn decide(&mut self, decisions: Vec<(RequestId, Approval)>) -> Result<(), AppError> {
        self.holds_late = false;
        self.store = StoreState::Takes;
        let ours = |(request, approval)| (request, approval, self.client.decider.clone());
        let decisions: Vec<_> = decisions.into_iter().map(ours).collect();
        let (outcomes, records) = self.session.decide(&decisions).await?;
        self.client.tell_losses(&outcomes).await;
        self.show_decisions(&records).await;
        Ok(())
    }

    /// Consumes decisions made here or elsewhere, and reports them.
    async fn take_decisions(&mut self) -> Result<(), AppError> {
        let records = self.session.consume_decisions().await?;
        self.show_decisions(&records).await;
        Ok(())
    }

    async fn show_decisions(&mut self, records: &[Record]) {
        for event in records.iter().filter_map(Event::of_settlement) {
            self.client.show(event).await;
        }
        if !records.is_empty() {
            self.client.send_pending_requests().await;
        }
    }

    /// Stores the shell commands' notes once the session is free.
    async fn keep_notes(&mut self) -> Result<(), AppError> {
        let notes = std::mem::take(&mut self.client.notes);
        if notes.is_empty() {
            return Ok(());
        }
        let kept = self.session.commit(&notes, Durability::Written).await;
        if kept.is_err() {
            self.client.notes = notes;
        }
        Ok(kept?)
    }

    /// Keeps prompts whose hooks have not finished in the draft, before the text already there.
    fn keep_unsent(&mut self) {
        let mut texts = self.client.pending.abandon();
        if texts.is_empty() {
            return;
        }
        let draft = self.client.draft.take().unwrap_or_else(|| self.session.history().draft().to_owned());
        texts.push(draft);
        texts.retain(|text| !text.is_empty());
        self.client.draft = Some(texts.join("\n\n"));
    }

    /// Stores what is left; each part is tried even if others fail.
    async fn keep_left(&mut self) -> Result<(), AppError> {
        self.give_up_title();
        let notes = self.keep_notes().await;
        self.keep_unsent();
        let draft = match self.client.draft.clone() {
            Some(text) => self.draft(text).await,
            None => Ok(()),
        };
        if draft.is_ok() {
            self.client.draft = None;
        }
        notes.and(draft)
    }

    /// Ends the session: stops the user's command and stores what is left.
    async fn close(mut self, reason: &'static str) -> Result<Vec<String>, AppError> {
        self.client.stop_shell().await;
        self.client.end_tasks().await;
        self.client.wait_until_stored().await;
        let kept = self.keep_left().await;
        run_end_hooks(&self.session, &self.env, reason).await;
        kept?;
        goodbye::lines(&self.client.app, &self.session).await
    }
}
