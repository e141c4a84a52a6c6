//! Two connections on one file: every interleaving of asking, deciding, editing, consuming, expiring and running, with a
//! kill between any two steps. The first answer wins, and what was approved runs exactly once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use co::approval::{Approval, Decider, RequestId};
use co::history::{Durability, History, Record, RecordedState};
use co::message::{ReturnStatus, ToolName};
use co::session::Session;
use co::stdx::clock::{Clock as _, ManualClock};
use co::store::{DecideOutcome, RequestFilter, RequestState, Store, StoredRequest};

use crate::store::common::{World, asked, asked_until, deny, finished, started, turn_with};

/// How long there is to decide, where it ends.
const TIME: Duration = Duration::from_secs(3_600);

/// The steps of the session's owner, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnerStep {
    Ask,
    /// The basis moved: asked again under a new id.
    AskAgain,
    Consume,
    /// Starts what is approved, answers what is denied.
    Act,
    /// Records the outcome of what was started.
    Finish,
    Interrupt,
    /// A new prompt came first: the call goes on without its turn.
    MakeLate,
    /// Asks with an end to the time for an answer.
    AskShortly,
}

/// The events for both of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExpiryStep {
    /// The time for an answer is over, and no process has recorded it.
    Pass,
    /// The other process notices.
    Sweep,
}

/// A decision from the owner's process (`Tui`) or another one (`Cli`), about the newest request it can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Yes,
    No,
    Later,
    /// Yes to other arguments.
    Edit,
}

impl Choice {
    fn approval(self) -> Approval {
        match self {
            Self::Yes => Approval::yes(),
            Self::No => deny("no"),
            Self::Later => Approval::Later,
            Self::Edit => Approval::to(ToolName::new("write_file"), serde_json::json!({ "path": "edited" })),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Owner(OwnerStep),
    Tui(Choice),
    Cli(Choice),
    Expiry(ExpiryStep),
    Kill,
}

/// Both processes and the world outside, which survives every kill.
struct Scene {
    world: World,
    clock: Arc<ManualClock>,
    here: Store,
    there: Store,
    session: Option<Session>,
    /// The answers by which the call's side effect happened, each time it did.
    runs: Vec<Approval>,
    /// Decisions that were reported to count.
    recorded: Vec<(RequestId, Approval)>,
    /// The decisions that losers were reported to have won.
    told: Vec<(RequestId, Approval)>,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new();
        let clock = Arc::new(ManualClock::at("2026-03-01T12:00:00Z".parse().unwrap()));
        let (here, there) = (world.store_at(&clock).await, world.store_at(&clock).await);
        let (runs, recorded, told) = (Vec::new(), Vec::new(), Vec::new());
        Self { world, clock, here, there, session: None, runs, recorded, told }
    }

    /// A fresh session in the same database: a scene is expensive, a session is not.
    async fn begin(&mut self) {
        self.session = None;
        let mut session = Session::create(&self.here, std::path::Path::new("/w")).await.unwrap();
        session.commit(&turn_with("go", &["a"]), Durability::Written).await.unwrap();
        (self.runs, self.recorded, self.told) = (Vec::new(), Vec::new(), Vec::new());
        self.session = Some(session);
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().expect("a scene has begun")
    }

    async fn commit(&mut self, record: Record, durability: Durability) {
        self.session().commit(&[record], durability).await.unwrap();
    }

    /// The session's state of the call, attached or not; `None` once it is answered for good.
    fn known(&mut self) -> Option<RecordedState> {
        let history = self.session().history();
        let open =
            history.open_calls().iter().find(|open| open.returned.is_none()).map(|open| open.known.clone());
        open.or_else(|| history.late_calls().first().map(|one| one.known.clone()))
    }

    fn is_attached(&mut self) -> bool {
        self.session().history().open_calls().iter().any(|open| open.returned.is_none())
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Owner(own) => self.own(own).await,
            Step::Tui(choice) => self.decide(self.here.clone(), choice, Decider::Tui).await,
            Step::Cli(choice) => self.decide(self.there.clone(), choice, Decider::Cli).await,
            Step::Expiry(ExpiryStep::Pass) => self.clock.advance(TIME * 2),
            Step::Expiry(ExpiryStep::Sweep) => drop(self.there.expire_due().await.unwrap()),
            Step::Kill => self.kill().await,
        }
    }

    /// Whether the time of the call's request is over.
    fn is_over(&mut self) -> bool {
        let now = self.clock.now();
        let history = self.session().history();
        let open = history.open_calls().iter().find_map(|open| open.request.clone());
        let request = open.or_else(|| history.late_calls().first().map(|one| one.request.clone()));
        request.and_then(|request| request.expires).is_some_and(|expires| expires <= now)
    }

    async fn own(&mut self, step: OwnerStep) {
        // Request ids are unique in the store; so is the session's.
        let unique = self.session().id().to_string();
        match step {
            OwnerStep::Ask => {
                if self.known() == Some(RecordedState::NotStarted) {
                    self.commit(asked("a", &format!("{unique}-1")), Durability::Written).await;
                }
            }
            OwnerStep::AskShortly => {
                if self.known() == Some(RecordedState::NotStarted) {
                    let expires = self.clock.now() + TIME;
                    self.commit(asked_until("a", &format!("{unique}-1"), expires), Durability::Written).await;
                }
            }
            OwnerStep::AskAgain => match self.known() {
                Some(RecordedState::Waiting | RecordedState::Decided(Approval::Approve { .. })) => {
                    self.commit(asked("a", &format!("{unique}-2")), Durability::Written).await;
                }
                Some(
                    RecordedState::NotStarted
                    | RecordedState::MayHaveRun
                    | RecordedState::Returned
                    | RecordedState::Expired
                    | RecordedState::Decided(_),
                )
                | None => {}
            },
            OwnerStep::Consume => drop(self.session().consume_decisions().await.unwrap()),
            OwnerStep::Act => match self.known() {
                Some(RecordedState::Decided(Approval::Approve { .. })) if self.is_over() => {
                    // Claimed too late: asked again, within a limit of time.
                    self.commit(asked("a", &format!("{unique}-2")), Durability::Written).await;
                }
                Some(RecordedState::Decided(approval @ Approval::Approve { .. })) => {
                    self.commit(started("a"), Durability::Synced).await;
                    self.runs.push(approval);
                }
                Some(RecordedState::Decided(Approval::Deny { .. })) => {
                    self.commit(finished("a", ReturnStatus::Denied), Durability::Written).await;
                }
                Some(RecordedState::Decided(Approval::Later) | RecordedState::Returned) => {
                    panic!("neither is ever open")
                }
                Some(RecordedState::Expired) => {
                    self.commit(finished("a", ReturnStatus::Undecided), Durability::Written).await;
                }
                Some(RecordedState::NotStarted | RecordedState::Waiting | RecordedState::MayHaveRun)
                | None => {}
            },
            OwnerStep::Finish => {
                if self.known() == Some(RecordedState::MayHaveRun) {
                    self.commit(finished("a", ReturnStatus::Ok), Durability::Written).await;
                }
            }
            OwnerStep::Interrupt => {
                if self.is_attached() {
                    self.commit(finished("a", ReturnStatus::Interrupted), Durability::Written).await;
                }
            }
            OwnerStep::MakeLate => {
                let waits = matches!(self.known(), Some(RecordedState::Waiting | RecordedState::Decided(_)));
                if waits && self.is_attached() {
                    self.commit(finished("a", ReturnStatus::Undecided), Durability::Written).await;
                }
            }
        }
    }

    async fn decide(&mut self, store: Store, choice: Choice, by: Decider) {
        let filter = RequestFilter::Of(self.session().id().clone());
        let Some(seen) = store.requests(filter, 10).await.unwrap().pop() else { return };
        let id = seen.id().clone();
        match store.decide(&id, choice.approval(), by).await.unwrap() {
            DecideOutcome::Recorded => self.recorded.push((id, choice.approval())),
            DecideOutcome::AlreadyDecided { approval, .. } => self.told.push((id, approval)),
            DecideOutcome::NotOpen { state } => assert!(!state.is_open()),
            DecideOutcome::Unknown => panic!("it was listed"),
        }
    }

    /// The owner's process dies without a word and comes back; what was running is not resumed by itself. A decider
    /// that dies between two of its steps leaves nothing, so only the owner needs killing.
    async fn kill(&mut self) {
        let id = self.session().id().clone();
        self.session = None;
        self.here = self.world.store_at(&self.clock).await;
        self.session = Some(Session::open(&self.here, &id).await.unwrap());
        if self.known() == Some(RecordedState::MayHaveRun) {
            self.commit(finished("a", ReturnStatus::Unknown), Durability::Written).await;
        }
    }

    /// The owner goes on until nothing is left to do; then everything must add up.
    async fn settle(&mut self, what: &str) {
        for own in [OwnerStep::Consume, OwnerStep::Act, OwnerStep::Finish] {
            self.own(own).await;
        }
        let id = self.session().id().clone();
        let rows = self.there.requests(RequestFilter::Of(id.clone()), 10).await.unwrap();
        let records = self.there.load(&id).await.unwrap();
        assert_eq!(
            format!("{:?}", History::of(&records)),
            format!("{:?}", self.session().history()),
            "{what}"
        );
        self.check_decisions(&rows, what);
        self.check_runs(&rows, &records, what);
    }

    /// Of the yes and no to one request exactly the first was recorded, and every loser was sent that one.
    fn check_decisions(&self, rows: &[StoredRequest], what: &str) {
        for row in rows {
            let final_words = |all: &[(RequestId, Approval)]| -> Vec<Approval> {
                let of_row =
                    all.iter().filter(|(id, approval)| id == row.id() && *approval != Approval::Later);
                of_row.map(|(_, approval)| approval.clone()).collect()
            };
            let (won, told) = (final_words(&self.recorded), final_words(&self.told));
            assert!(won.len() <= 1, "{what}: two answers won");
            assert!(
                told.iter().all(|word| Some(word) == won.first()),
                "{what}: a loser was told another winner"
            );
            let decision =
                row.decision.as_ref().map(|(approval, _)| approval).filter(|one| **one != Approval::Later);
            assert_eq!(decision, won.first(), "{what}");
            let in_time = row.request.expires.zip(row.decided_at).is_none_or(|(expires, at)| at < expires);
            assert!(in_time, "{what}: it was decided after its time");
        }
    }

    /// The call ran once if its newest request was approved and taken up, and otherwise not at all.
    fn check_runs(&self, rows: &[StoredRequest], records: &[Record], what: &str) {
        let count = |wanted: fn(&Record) -> bool| records.iter().filter(|record| wanted(record)).count();
        let starts = count(|record| matches!(record, Record::ToolStarted { .. }));
        let approved = rows.last().is_some_and(|row| {
            row.state == RequestState::Consumed && matches!(row.decision, Some((Approval::Approve { .. }, _)))
        });
        assert_eq!(starts, self.runs.len(), "{what}");
        assert!(starts <= 1, "{what}: it ran twice");
        let decision = rows.last().and_then(|row| row.decision.as_ref()).map(|(approval, _)| approval);
        assert!(self.runs.iter().all(|run| Some(run) == decision), "{what}: it ran otherwise than decided");
        let interrupted = records.iter().any(|record| {
            matches!(record, Record::ToolFinished { returned } if returned.status == ReturnStatus::Interrupted)
        });
        // One that was taken up and then interrupted may or may not have run; everything else is certain.
        if !(interrupted && approved) {
            assert_eq!(starts == 1, approved, "{what}");
        }
        let taken: Vec<&RequestId> = records
            .iter()
            .filter_map(|record| match record {
                Record::Decided { request, approval, .. } if *approval != Approval::Later => Some(request),
                _ => None,
            })
            .collect();
        assert_eq!(
            taken.iter().collect::<BTreeSet<_>>().len(),
            taken.len(),
            "{what}: a decision was taken twice"
        );
        for row in rows {
            let ended = matches!(row.state, RequestState::Withdrawn | RequestState::Expired);
            assert!(!(ended && taken.contains(&row.id())), "{what}: a request that had ended was taken up");
        }
        let told = records.iter().filter(|record| matches!(record, Record::Expired { .. })).count();
        let over = rows.iter().filter(|row| row.state == RequestState::Expired).count();
        assert!(told <= over, "{what}: an expiry was told twice, or of what did not expire");
    }
}

/// Every order in which the lanes' steps can follow each other, each lane in its own order, and the first lane's first
/// step before all: as long as nothing is asked the others find nothing, and time changes nothing.
fn orders(lanes: &[Vec<Step>]) -> Vec<Vec<Step>> {
    let mut lanes = lanes.to_vec();
    let asks = lanes[0].remove(0);
    let mut orders = interleavings(&lanes);
    orders.iter_mut().for_each(|order| order.insert(0, asks));
    orders
}

fn interleavings(lanes: &[Vec<Step>]) -> Vec<Vec<Step>> {
    if lanes.iter().all(Vec::is_empty) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, lane) in lanes.iter().enumerate() {
        let Some((first, rest)) = lane.split_first() else { continue };
        let mut left = lanes.to_vec();
        left[at] = rest.to_vec();
        for mut order in interleavings(&left) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

/// Plays every interleaving of the owner's steps with both deciders, without a kill and with one after every step.
async fn check(own: &[OwnerStep], tui: &[Choice], cli: &[Choice]) -> usize {
    check_with_expiry(own, tui, cli, &[]).await
}

/// As [`check`], while time passes.
async fn check_with_expiry(
    own: &[OwnerStep],
    tui: &[Choice],
    cli: &[Choice],
    expiries: &[ExpiryStep],
) -> usize {
    let lanes = [
        own.iter().map(|&own| Step::Owner(own)).collect(),
        tui.iter().map(|&choice| Step::Tui(choice)).collect(),
        cli.iter().map(|&choice| Step::Cli(choice)).collect(),
        expiries.iter().map(|&step| Step::Expiry(step)).collect(),
    ];
    let mut scene = Scene::new().await;
    let mut played = 0;
    for order in orders(&lanes) {
        for kill in 1..=order.len() + 1 {
            let mut steps = order.clone();
            // The last round goes without.
            if kill <= order.len() {
                steps.insert(kill, Step::Kill);
            }
            scene.begin().await;
            for step in &steps {
                scene.step(*step).await;
            }
            scene.settle(&format!("{steps:?}")).await;
            played += 1;
        }
    }
    played
}

const RUN: [OwnerStep; 4] = [OwnerStep::Ask, OwnerStep::Consume, OwnerStep::Act, OwnerStep::Finish];

#[tokio::test]
async fn two_deciders_and_an_owner() {
    use Choice::{Later, No, Yes};
    let mut played = 0;
    for (tui, cli) in [(Yes, No), (No, Yes), (Later, Yes)] {
        played += check(&RUN, &[tui], &[cli]).await;
    }
    assert_eq!(played, 3 * 20 * 7);
}

#[tokio::test]
async fn a_change_of_mind_after_later() {
    use Choice::{Later, No, Yes};
    assert_eq!(check(&RUN[..3], &[Later, Yes], &[No]).await, 30 * 7);
}

#[tokio::test]
async fn an_interrupt_races_a_decision() {
    use Choice::{Later, No, Yes};
    let own = [OwnerStep::Ask, OwnerStep::Interrupt, OwnerStep::Consume, OwnerStep::Act];
    assert_eq!(check(&own, &[Yes], &[No]).await, 20 * 7);
    let own = [OwnerStep::Ask, OwnerStep::Consume, OwnerStep::Interrupt, OwnerStep::Act];
    assert_eq!(check(&own, &[Later], &[Yes]).await, 20 * 7);
}

#[tokio::test]
async fn a_late_call_runs_once() {
    use Choice::{Later, Yes};
    let own = [OwnerStep::Ask, OwnerStep::MakeLate, OwnerStep::Consume, OwnerStep::Act];
    assert_eq!(check(&own, &[Later], &[Yes]).await, 20 * 7);
}

#[tokio::test]
async fn asking_again_voids_the_answer_before() {
    use Choice::{No, Yes};
    let own = [OwnerStep::Ask, OwnerStep::Consume, OwnerStep::AskAgain, OwnerStep::Consume, OwnerStep::Act];
    assert_eq!(check(&own, &[Yes], &[No]).await, 30 * 8);
}

#[tokio::test]
async fn an_edit_races_a_no() {
    use Choice::{Edit, No, Yes};
    assert_eq!(check(&RUN[..3], &[Edit], &[No]).await, 12 * 6);
    assert_eq!(check(&RUN[..3], &[Edit], &[Yes]).await, 12 * 6);
}

#[tokio::test]
async fn time_passes_between_any_two_steps() {
    use Choice::{Edit, Later, No, Yes};
    let own = [OwnerStep::AskShortly, OwnerStep::Consume, OwnerStep::Act];
    assert_eq!(check_with_expiry(&own, &[Yes], &[No], &[ExpiryStep::Pass]).await, 60 * 7);
    let noticed = [ExpiryStep::Pass, ExpiryStep::Sweep];
    assert_eq!(check_with_expiry(&own, &[Edit], &[], &noticed).await, 30 * 7);
    let own = [OwnerStep::AskShortly, OwnerStep::MakeLate, OwnerStep::Consume];
    assert_eq!(check_with_expiry(&own, &[Yes], &[], &noticed).await, 30 * 7);
    let own = [OwnerStep::AskShortly, OwnerStep::Interrupt, OwnerStep::Consume];
    assert_eq!(check_with_expiry(&own, &[Later], &[], &noticed).await, 30 * 7);
}

/// Many processes at the very same moment, each with an own opinion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_decides_at_once() {
    let world = World::new();
    let mut stores = Vec::new();
    for _ in 0..6 {
        stores.push(world.store().await);
    }
    let mut session = Session::create(&stores[0], std::path::Path::new("/w")).await.unwrap();
    let ids: Vec<String> = (0..20).map(|number| format!("c{number}")).collect();
    let calls: Vec<&str> = ids.iter().map(String::as_str).collect();
    session.commit(&turn_with("go", &calls), Durability::Written).await.unwrap();
    let requests: Vec<Record> = calls.iter().map(|call| asked(call, call)).collect();
    session.commit(&requests, Durability::Written).await.unwrap();
    let mut deciders = Vec::new();
    for (number, store) in stores.iter().enumerate() {
        let (store, ids) = (store.clone(), ids.clone());
        deciders.push(tokio::spawn(async move {
            let mut won = BTreeSet::new();
            for id in ids {
                let approval = if number % 2 == 0 { Approval::yes() } else { deny(&number.to_string()) };
                let outcome = store.decide(&RequestId(id.clone()), approval, Decider::Script).await.unwrap();
                if outcome == DecideOutcome::Recorded {
                    won.insert(id);
                }
            }
            won
        }));
    }
    let mut taken = 0;
    while taken < ids.len() {
        taken += session.consume_decisions().await.unwrap().len();
    }
    let mut winners: Vec<String> = Vec::new();
    for decider in deciders {
        winners.extend(decider.await.unwrap());
    }
    winners.sort();
    let mut expected = ids.clone();
    expected.sort();
    assert_eq!(winners, expected, "each request was won once");
    assert_eq!(session.consume_decisions().await.unwrap(), []);
    let decided =
        session.history().open_calls().iter().filter(|open| matches!(open.known, RecordedState::Decided(_)));
    assert_eq!(decided.count(), ids.len());
}

/// Processes that open the same new data folder at once all get the same database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_opens_a_new_store_at_once() {
    for _ in 0..10 {
        let world = World::new();
        let opening = (0..6).map(|_| tokio::spawn(co::store::Store::open(world.options())));
        let stores: Vec<Store> = futures::future::join_all(opening)
            .await
            .into_iter()
            .map(|store| store.unwrap().unwrap())
            .collect();
        for (number, store) in stores.iter().enumerate() {
            let mut session = Session::create(store, std::path::Path::new("/w")).await.unwrap();
            session.commit(&turn_with("go", &[]), Durability::Written).await.unwrap();
            let listed = stores[0].sessions(co::store::SessionFilter::All, 10).await.unwrap();
            assert_eq!(listed.len(), number + 1);
        }
    }
}
