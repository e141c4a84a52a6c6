//! The inbox of all sessions: its list, its decisions, and sessions resumed in the background.
//!
//! A decision is made by the owner of the session at hand; the owners of others are notified. A session without an owner
//! can be resumed here unattended: its new requests wait in the inbox again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::background::{BackgroundEvent, Expiry, MOST_SESSIONS};
use super::client::ClientHandler;
use super::view::title;
use crate::agent::port::{Closed, Event, Frontend};
use crate::app::{App, AppError};
use crate::approval::{Approval, Decider, RequestId};
use crate::command::Notice;
use crate::frontend::protocol::{Holder, InboxLine, ServerMessage};
use crate::frontend::sentences;
use crate::history::{SessionId, TurnEnd};
use crate::runtime::headless::{self, HeadlessOutcome, HeadlessWork};
use crate::session::{Owner, Session, SessionError, end_orphaned_questions, holders};
use crate::stdx::text::one_line_summary;
use crate::store::{DecideOutcome, RequestRow};

/// Maximum number of requests listed.
const LISTED: usize = 10_000;

impl ClientHandler {
    pub(super) async fn on_background(&mut self, happened: BackgroundEvent) {
        match happened {
            BackgroundEvent::Changed => self.tell_changes().await,
            BackgroundEvent::Due => self.expire().await,
            BackgroundEvent::Done(say) => {
                if !say.text.is_empty() {
                    self.say(say).await;
                }
                // Decisions that failed changed nothing in the store, but are still drawn as in progress.
                self.elsewhere().await;
            }
        }
    }

    /// Expires requests; the resulting change event updates the front end.
    async fn expire(&mut self) {
        let expired = self.app.store.expire_due().await;
        if self.or_say("inbox", expired).await.is_none() {
            // It would be due again at once.
            self.background.expiry = Expiry::Never;
        }
    }

    /// Reports changed approvals, if any since the last report.
    async fn tell_changes(&mut self) {
        // A store that cannot be read is reported by the user's next action.
        let Ok(latest) = self.app.store.latest_change().await else { return };
        if self.background.reported.replace(latest) != Some(latest) {
            self.elsewhere().await;
        }
    }

    /// Sends the number of pending requests besides those already sent.
    pub(super) async fn elsewhere(&self) {
        if let Ok(count) = self.app.store.waiting_elsewhere(&self.session).await {
            self.tell(ServerMessage::Elsewhere { count: count + self.unlisted }).await;
        }
    }

    /// Returns the pending requests of all sessions; `None` after an error, which is already reported.
    pub(super) async fn inbox(&self) -> Option<Vec<InboxLine>> {
        let store = &self.app.store;
        // Expired requests are not offered.
        self.or_say("inbox", store.expire_due().await).await;
        end_orphaned_questions(store).await;
        let rows = store.undecided_rows(LISTED).await;
        let approved = store.approved_rows(LISTED).await;
        let (rows, approved) = self.or_say("inbox", rows.and_then(|rows| Ok((rows, approved?)))).await?;
        let holders = holders(store).await;
        let line = |row: RequestRow| InboxLine { holder: self.holder(&row.session, &holders), row };
        let mut lines: Vec<InboxLine> = rows.into_iter().map(line).collect();
        // An owner takes its decisions by itself.
        for line in approved.into_iter().map(line).filter(|line| line.holder == Holder::NoProcess) {
            let last = lines.iter().rposition(|other| other.row.session == line.row.session);
            lines.insert(last.map_or(lines.len(), |last| last + 1), line);
        }
        Some(lines)
    }

    /// Returns the process that has a session.
    fn holder(&self, session: &SessionId, holders: &BTreeMap<SessionId, Owner>) -> Holder {
        if *session == self.session {
            Holder::Here
        } else if self.background.has(session) {
            Holder::Background
        } else if holders.contains_key(session) {
            Holder::Another
        } else {
            Holder::NoProcess
        }
    }

    /// Decides requests in the store; those who wait for the decisions take them from there.
    pub(super) async fn decide(&mut self, decisions: &[(RequestId, Approval)]) {
        let decided = self.app.store.decide_all(decisions, &self.decider).await;
        let outcomes = self.or_say("approvals", decided).await.unwrap_or_default();
        self.tell_losses(&outcomes).await;
        self.send_pending_requests().await;
    }

    /// Reports decisions that did not count. The list of the front end is to be read again in any case.
    pub(super) async fn tell_losses(&self, outcomes: &[DecideOutcome]) {
        let lost = DecideOutcome::losses(outcomes);
        if !lost.is_empty() {
            self.say(Notice::warning("approvals", lost)).await;
        }
        self.elsewhere().await;
    }

    /// Resumes a session without an owner in the background.
    pub(super) async fn resume_in_background(&mut self, session: SessionId) {
        let text = if session == self.session {
            "This is the current session: it continues once everything is decided."
        } else if self.background.has(&session) {
            "This session is already running."
        } else if self.background.going.len() >= MOST_SESSIONS {
            "Two sessions are already running; resume this one when one of them stops."
        } else {
            return self.begin_in_background(session).await;
        };
        self.say(Notice::warning("resume", text)).await;
    }

    async fn begin_in_background(&mut self, id: SessionId) {
        let session = match Session::open(&self.app.store, &id).await {
            Ok(session) => session,
            Err(SessionError::Owned { owner, .. }) => {
                let who = owner.map_or_else(|| "it has just started".to_owned(), |owner| owner.to_string());
                let text = format!("It is open in another co ({who}) and continues there.");
                return self.say(Notice::warning("resume", text)).await;
            }
            Err(error) => return self.say(Notice::error("resume", format!("{error}."))).await,
        };
        let name = title(session.history());
        self.say(Notice::plain("resume", format!("“{name}” continues in the background."))).await;
        let (app, stop) = (Arc::clone(&self.app), self.background.stop.child_token());
        let task = self.background.work.spawn(go_on(app, self.decider.clone(), session, name, stop));
        self.background.going.insert(task.id(), id);
        self.elsewhere().await;
    }
}

/// Runs the pending work of a session, and describes the result.
async fn go_on(
    app: Arc<App>,
    decider: Decider,
    mut session: Session,
    name: String,
    stop: CancellationToken,
) -> Notice {
    let folder = session.history().workspace().to_owned();
    let (env, policy) = app.background_env(&session, decider).await;
    let front = UnattendedFrontend::default();
    let went = tokio::select! {
        went = headless::run(&mut session, &env, HeadlessWork::Resume, &front, stop) => went,
        never = app.permissions.keep_rules_of(&folder, &policy) => match never {},
    };
    app.tools.tasks.end_all(&app.spill(session.id())).await;
    outcome(&name, went, front.returned.load(Ordering::Relaxed))
}

fn outcome(name: &str, went: Result<HeadlessOutcome, AppError>, returned: usize) -> Notice {
    let plain = |text: &str| Notice::plain("resume", format!("“{name}” {text}"));
    let warning = |text: &str| Notice::warning("resume", format!("“{name}” {text}"));
    match went {
        Ok(HeadlessOutcome::Ended(result)) => match result.end {
            TurnEnd::Completed => plain("continued and is done."),
            TurnEnd::Deferred => warning("continued and is waiting for you again."),
            TurnEnd::Interrupted => warning("was stopped; its work is saved."),
            TurnEnd::LimitReached { limit } => {
                warning(&format!("continued; {}. Open it to go on.", sentences::limit(limit)))
            }
            TurnEnd::Failed { error } => {
                warning(&format!("continued and failed: {}", one_line_summary(&error.to_string(), 200)))
            }
        },
        Ok(HeadlessOutcome::NothingToResume) if returned > 0 => plain("carried out your decision."),
        Ok(HeadlessOutcome::NotStarted) => warning("was stopped before it continued."),
        Ok(HeadlessOutcome::NothingToResume) => warning("has nothing to continue yet."),
        Ok(HeadlessOutcome::CutOff) => warning("was cut off; its committed work is saved."),
        Err(error) => Notice::error("resume", format!("“{name}”: {error}.")),
    }
}

/// The front end of an unattended turn: receives no operations and approves nothing.
#[derive(Default)]
struct UnattendedFrontend {
    returned: AtomicUsize,
}

impl Frontend for UnattendedFrontend {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        if let Event::ToolReturn { .. } = event {
            self.returned.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
