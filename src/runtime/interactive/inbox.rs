//! What waits in all sessions: the list of it, its decisions, and sessions that go on beside the one at hand.
//!
//! Deciding writes to the store and runs nothing; whoever owns the session is woken. A session that nobody has open can
//! go on here, with nobody watching it: what it asks for waits again. Answers the asks of the inbox for the client.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::task::{Id, JoinSet};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use super::client::ClientHandler;
use super::view::title;
use crate::agent::port::{Closed, Event, Frontend, Op};
use crate::app::{App, AppError};
use crate::approval::{Approval, Decider, RequestId};
use crate::command::Say;
use crate::frontend::protocol::{Holder, InboxLine, ServerMessage};
use crate::history::{SessionId, TurnEnd};
use crate::runtime::headless::{self, CLOSING, RunOutcome, Work};
use crate::session::{Owner, Session, SessionError, holders};
use crate::stdx::clock::system_zone;
use crate::stdx::text::one_line_summary;
use crate::store::{DecideOutcome, RequestRow, Store, Wakeups};

/// Requests that a face lists.
const LISTED: usize = 10_000;
/// Sessions that go on here at once.
const BESIDE: usize = 2;
/// Cells of a title.
const TITLE: usize = 60;

/// What goes on beside the session at hand.
pub(super) struct BackgroundSessions {
    store: Store,
    wakeups: Wakeups,
    work: JoinSet<Say>,
    /// The sessions among the work, and what they are called.
    going: HashMap<Id, SessionId>,
    stop: CancellationToken,
    /// The number of the latest change that the face was told of.
    told: Option<u64>,
    expiry: Expiry,
}

/// When the next request of any session expires.
enum Expiry {
    /// Something changed since it was looked up.
    Unknown,
    At(Pin<Box<Sleep>>),
    /// Nothing does, or the store cannot say; known again with the next change.
    Never,
}

/// Something that happened background.
pub(super) enum Happened {
    /// Approvals may have changed, here or in another process.
    Changed,
    /// The time of a request is over, in whichever session.
    Due,
    /// A piece of work is done, with what there is to say of it; nothing where the text is empty.
    Done(Say),
}

impl BackgroundSessions {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            wakeups: store.wakeups(),
            work: JoinSet::new(),
            going: HashMap::new(),
            stop: CancellationToken::new(),
            told: None,
            expiry: Expiry::Unknown,
        }
    }

    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> Happened {
        if let Expiry::Unknown = self.expiry {
            self.expiry = next_expiry(&self.store).await;
        }
        tokio::select! {
            () = self.wakeups.changed() => {
                self.expiry = Expiry::Unknown;
                Happened::Changed
            }
            () = reached(&mut self.expiry) => {
                self.expiry = Expiry::Unknown;
                Happened::Due
            }
            Some(done) = self.work.join_next_with_id(), if !self.work.is_empty() => {
                let (id, say) = match done {
                    Ok(done) => done,
                    Err(error) => {
                        let text = "This is a fault of co; what was running may not have finished.";
                        (error.id(), Say::error("beside", text))
                    }
                };
                self.going.remove(&id);
                Happened::Done(say)
            }
        }
    }

    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.going.values().any(|going| going == session)
    }

    /// Tells what goes on to end and to save; nothing new begins.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end of it. What does not end in time is dropped; what it committed is safe.
    pub(super) async fn ended(&mut self) {
        self.stop();
        let all = async { while self.work.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CLOSING, all).await;
    }
}

async fn next_expiry(store: &Store) -> Expiry {
    // Where the store cannot be read, whatever the person does next says so.
    let Ok(Some(due)) = store.next_expiry().await else { return Expiry::Never };
    let left = Duration::try_from(due.duration_since(store.clock().now())).unwrap_or_default();
    // The store counts in whole milliseconds.
    Expiry::At(Box::pin(sleep(left.saturating_add(Duration::from_millis(1)))))
}

/// Cancel-safe; never resolves while nothing is due.
async fn reached(expiry: &mut Expiry) {
    match expiry {
        Expiry::At(sleep) => sleep.as_mut().await,
        Expiry::Unknown | Expiry::Never => std::future::pending().await,
    }
}

impl ClientHandler {
    pub(super) async fn on_beside(&mut self, happened: Happened) {
        match happened {
            Happened::Changed => self.tell_changes().await,
            Happened::Due => self.expire().await,
            Happened::Done(say) => {
                if !say.text.is_empty() {
                    self.say(say).await;
                }
                // What was lost changed nothing in the store, and is still drawn as being decided.
                self.elsewhere().await;
            }
        }
    }

    /// Marks what nobody decided in time; the bell that this rings tells the face.
    async fn expire(&mut self) {
        if let Err(error) = self.app.store.expire_due().await {
            // It would be due again at once.
            self.background.expiry = Expiry::Never;
            self.say(Say::error("inbox", format!("{error}."))).await;
        }
    }

    /// Tells the face that approvals changed, if they did since it was told.
    async fn tell_changes(&mut self) {
        // Where the store cannot be read, whatever the person does next says so.
        let Ok(latest) = self.app.store.latest_change().await else { return };
        if self.background.told.replace(latest) != Some(latest) {
            self.elsewhere().await;
        }
    }

    /// Tells the face how many requests wait beside those that it was told.
    pub(super) async fn elsewhere(&self) {
        if let Ok(count) = self.app.store.waiting_elsewhere(&self.session).await {
            self.tell(ServerMessage::Elsewhere { count: count + self.untold }).await;
        }
    }

    /// Tells the face what waits in all sessions.
    pub(super) async fn inbox(&self) {
        let store = &self.app.store;
        // What cannot be decided any more is not offered.
        if let Err(error) = store.expire_due().await {
            self.say(Say::error("inbox", format!("{error}."))).await;
        }
        match store.undecided_rows(LISTED).await {
            Ok(rows) => {
                let holders = holders(store).await;
                let now = store.clock().now();
                let zone = system_zone();
                let mut lines: Vec<InboxLine> = Vec::with_capacity(rows.len());
                for row in rows {
                    // Requests of one session stand together: what is the same for all of them is found once.
                    let like = lines.last().filter(|last| last.session == row.session);
                    let (title, holder) = match like {
                        Some(last) => (last.title.clone(), last.holder),
                        None => self.session_of(&row, &holders),
                    };
                    lines.push(line_of(row, (title, holder), now, &zone));
                }
                self.tell(ServerMessage::Inbox { lines }).await;
            }
            Err(error) => self.say(Say::error("inbox", format!("{error}."))).await,
        }
    }

    /// What its session is called, and who has it.
    fn session_of(&self, row: &RequestRow, holders: &BTreeMap<SessionId, Owner>) -> (String, Holder) {
        let holder = if row.session == self.session {
            Holder::Here
        } else if self.background.has(&row.session) {
            Holder::Beside
        } else if holders.contains_key(&row.session) {
            Holder::Another
        } else {
            Holder::Nobody
        };
        (one_line_summary(row.title.as_deref().unwrap_or("untitled"), TITLE), holder)
    }

    /// Tells the face one request whole.
    pub(super) async fn request(&self, request: &RequestId) {
        let found = self.app.store.find_request(&request.0).await;
        let request = found.map(Box::new).map_err(|error| format!("{error}."));
        self.tell(ServerMessage::Request { request }).await;
    }

    /// Decides them one after the other, beside everything else: each is on the disk before the next.
    pub(super) fn decide_all(&mut self, requests: Vec<RequestId>, approval: Approval) {
        let (store, decider) = (self.app.store.clone(), self.decider.clone());
        self.background.work.spawn(async move {
            let mut outcomes = Vec::with_capacity(requests.len());
            for request in &requests {
                match store.decide(request, approval.clone(), decider.clone()).await {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => {
                        let done = outcomes.len();
                        let text =
                            format!("{error}. Of {} requests {done} were gone through.", requests.len());
                        return Say::error("approvals", text);
                    }
                }
            }
            Say::warning("approvals", losses(&outcomes))
        });
    }

    /// Goes on with a session that nobody has open, beside the one at hand.
    pub(super) async fn resume_beside(&mut self, session: SessionId) {
        let text = if session == self.session {
            "This session is the one at hand: it goes on by itself once all is decided."
        } else if self.background.has(&session) {
            "This session goes on already."
        } else if self.background.going.len() >= BESIDE {
            "Two sessions go on already; once one of them rests, resume this one."
        } else {
            return self.begin_beside(session).await;
        };
        self.say(Say::warning("resume", text)).await;
    }

    async fn begin_beside(&mut self, id: SessionId) {
        let session = match Session::open(&self.app.store, &id).await {
            Ok(session) => session,
            Err(SessionError::Owned { owner, .. }) => {
                let who = owner.map_or_else(|| "it has just started".to_owned(), |owner| owner.to_string());
                let text = format!("It is open in another co ({who}) and goes on there.");
                return self.say(Say::warning("resume", text)).await;
            }
            Err(error) => return self.say(Say::error("resume", format!("{error}."))).await,
        };
        let name = title(session.history());
        self.say(Say::plain("resume", format!("“{name}” goes on beside this session."))).await;
        let (app, stop) = (Arc::clone(&self.app), self.background.stop.child_token());
        let task = self.background.work.spawn(go_on(app, self.decider.clone(), session, name, stop));
        self.background.going.insert(task.id(), id);
        self.elsewhere().await;
    }
}

fn line_of(row: RequestRow, (title, holder): (String, Holder), now: Timestamp, zone: &TimeZone) -> InboxLine {
    InboxLine {
        title,
        holder,
        age: age(row.created, now),
        expires: row.expires.map(|then| ahead(then, now, zone)),
        id: row.id,
        session: row.session,
        workspace: row.workspace,
        risk: row.risk,
        tool: row.tool,
        summary: row.summary,
        tainted: row.tainted,
        state: row.state,
        attachment: row.attachment,
    }
}

/// Runs what a session has to go on with, and says what came of it.
async fn go_on(
    app: Arc<App>,
    decider: Decider,
    mut session: Session,
    name: String,
    stop: CancellationToken,
) -> Say {
    let folder = session.history().workspace().to_owned();
    let (env, policy) = app.env_beside(&session, decider).await;
    let face = Unwatched::default();
    let went = tokio::select! {
        went = headless::run(&mut session, &env, Work::Resume, &face, stop) => went,
        never = app.permissions.keep_rules_of(&folder, &policy) => match never {},
    };
    outcome(&name, went, face.returned.load(Ordering::Relaxed))
}

fn outcome(name: &str, went: Result<RunOutcome, AppError>, returned: usize) -> Say {
    let plain = |text: &str| Say::plain("resume", format!("“{name}” {text}"));
    let warning = |text: &str| Say::warning("resume", format!("“{name}” {text}"));
    match went {
        Ok(RunOutcome::Ended(result)) => match result.end {
            TurnEnd::Completed => plain("went on and is done."),
            TurnEnd::Deferred => warning("went on and waits for you again."),
            TurnEnd::Interrupted => warning("was stopped; what it did is saved."),
            TurnEnd::LimitReached { .. } => warning("went on and stopped at a limit; open it to go on."),
            TurnEnd::Failed { error } => {
                warning(&format!("went on and failed: {}", one_line_summary(&error.to_string(), 200)))
            }
        },
        Ok(RunOutcome::NothingToResume) if returned > 0 => plain("did what you decided."),
        Ok(RunOutcome::NothingToResume) => warning("has nothing to go on with yet."),
        Ok(RunOutcome::CutOff) => warning("was cut off; what it committed is saved."),
        Err(error) => Say::error("resume", format!("“{name}”: {error}.")),
    }
}

/// A front end of a turn that nobody watches: it hears nobody and approves nothing.
#[derive(Default)]
struct Unwatched {
    returned: AtomicUsize,
}

impl Frontend for Unwatched {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        if let Event::ToolReturn { .. } = event {
            self.returned.fetch_add(1, Ordering::Relaxed);
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn next_op(&self) -> BoxFuture<'_, Op> {
        Box::pin(std::future::pending())
    }

    fn can_approve(&self) -> bool {
        false
    }
}

/// Which decisions did not count, in one line; empty where all did.
fn losses(outcomes: &[DecideOutcome]) -> String {
    let lost_ones: Vec<&DecideOutcome> =
        outcomes.iter().filter(|outcome| **outcome != DecideOutcome::Recorded).collect();
    match lost_ones[..] {
        [] => String::new(),
        [one] if outcomes.len() == 1 => one.to_string(),
        [one] => format!("1 of {} did not count. {one}", outcomes.len()),
        [..] => {
            let faster =
                lost_ones.iter().filter(|one| matches!(one, DecideOutcome::AlreadyDecided { .. })).count();
            let rest = lost_ones.len() - faster;
            let words = match (faster, rest) {
                (_, 0) => "somebody was faster".to_owned(),
                (0, _) => "they take no answer any more".to_owned(),
                (faster, rest) => {
                    format!("somebody was faster at {faster}, and {rest} take no answer any more")
                }
            };
            format!("{} of {} did not count: {words}.", lost_ones.len(), outcomes.len())
        }
    }
}

/// How long ago, in few cells.
fn age(then: Timestamp, now: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()) {
        ..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// A moment to come.
fn ahead(then: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    if then <= now {
        return "expired".to_owned();
    }
    let (then, now) = (then.to_zoned(zone.clone()), now.to_zoned(zone.clone()));
    let format = match (then.date() - now.date()).get_days() {
        ..=0 => "%H:%M",
        1..=6 => "%a %H:%M",
        7.. => "%-d %b",
    };
    then.strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approval::Request;
    use crate::history::{Durability, Record};
    use crate::message::{CallId, ToolCall, ToolName};
    use crate::stdx::clock::ManualClock;
    use crate::store::{RequestState, StoreOptions};
    use crate::tool::{Access, CallPlan, Effect, Preview, Risk, Undo};

    fn asked(id: &str, expires: Timestamp) -> Record {
        let (call, tool) = (CallId(format!("call-{id}")), ToolName::new("write_file"));
        let plan = CallPlan {
            summary: "write a".to_owned(),
            preview: Preview::None,
            risk: Risk::Medium,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
            question: None,
            needs_person: None,
        };
        let request = Request {
            id: RequestId(id.to_owned()),
            call: call.clone(),
            tool: tool.clone(),
            args: serde_json::Value::Null,
            plan,
            risk: Risk::Medium,
            why: Vec::new(),
            after: Vec::new(),
            depends: Vec::new(),
            taint: Vec::new(),
            expires: Some(expires),
            again: None,
        };
        let call = ToolCall { id: call, wire_id: String::new(), name: tool, args: serde_json::Value::Null };
        Record::Asked { call, request }
    }

    /// The clock of the store stands until it is moved, so that each step comes from what is asserted before it.
    #[tokio::test]
    async fn the_end_of_a_request_is_heard_once() {
        let dir = tempfile::tempdir().unwrap();
        let start: Timestamp = "2026-11-21T20:11:00Z".parse().unwrap();
        let clock = Arc::new(ManualClock::at(start));
        let options = StoreOptions::new(dir.path().join("data"), dir.path().join("run"));
        let store =
            Store::open(StoreOptions { clock: Arc::<ManualClock>::clone(&clock), ..options }).await.unwrap();
        let mut background = BackgroundSessions::new(&store);
        let mut session = Session::create(&store, dir.path()).await.unwrap();
        let in_time = async |background: &mut BackgroundSessions| {
            tokio::time::timeout(Duration::from_secs(60), background.next()).await.expect("something happens")
        };
        for (id, after) in [("1", 20), ("2", 40)] {
            let expires = start + jiff::SignedDuration::from_millis(after);
            session.commit(&[asked(id, expires)], Durability::Written).await.unwrap();
            assert!(matches!(in_time(&mut background).await, Happened::Changed));
        }
        for left in [1, 0] {
            assert!(matches!(in_time(&mut background).await, Happened::Due));
            clock.advance(Duration::from_millis(20));
            assert_eq!(store.expire_due().await.unwrap(), 1);
            assert!(matches!(in_time(&mut background).await, Happened::Changed));
            assert_eq!(store.undecided_rows(10).await.unwrap().len(), left);
        }
        // Nothing is due any more: nothing looks again.
        let more = tokio::time::timeout(Duration::from_millis(100), background.next()).await;
        assert!(more.is_err());
        assert!(matches!(background.expiry, Expiry::Never));
    }

    #[test]
    fn times_are_said_in_few_cells() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-21T20:11:00Z");
        for (then, said) in [
            ("2026-11-21T20:12:00Z", "now"),
            ("2026-11-21T20:10:00Z", "1 min"),
            ("2026-11-21T17:00:00Z", "3 h"),
            ("2026-11-20T10:00:00Z", "34 h"),
            ("2026-11-11T10:00:00Z", "10 d"),
        ] {
            assert_eq!(age(at(then), now), said, "{then}");
        }
        for (then, said) in [
            ("2026-11-21T20:11:00Z", "expired"),
            ("2026-11-21T23:00:00Z", "23:00"),
            ("2026-11-22T02:00:00Z", "Sun 02:00"),
            ("2026-12-03T12:00:00Z", "3 Dec"),
        ] {
            assert_eq!(ahead(at(then), now, &TimeZone::UTC), said, "{then}");
        }
    }

    #[test]
    fn losers_are_told_in_one_line() {
        let faster = || DecideOutcome::AlreadyDecided { approval: Approval::yes(), by: Decider::Cli };
        let expired = || DecideOutcome::NotOpen { state: RequestState::Expired };
        let won = || DecideOutcome::Recorded;
        for (outcomes, told) in [
            (vec![], ""),
            (vec![won(), won()], ""),
            (vec![faster()], "This request was already approved with co approvals; that decision counts."),
            (vec![won(), expired()], "1 of 2 did not count. This request is expired and takes no answer."),
            (vec![faster(), faster(), won()], "2 of 3 did not count: somebody was faster."),
            (vec![expired(), DecideOutcome::Unknown], "2 of 2 did not count: they take no answer any more."),
            (
                vec![expired(), faster()],
                "2 of 2 did not count: somebody was faster at 1, and 1 take no answer any more.",
            ),
        ] {
            assert_eq!(losses(&outcomes), told);
        }
    }
}
