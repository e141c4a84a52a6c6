//! Requests whose time is over, and requests that were changed after they were asked: they cannot be decided, nothing of them
//! runs, and their session is informed once.

use std::sync::Arc;
use std::time::Duration;

use co::approval::{Approval, Decider, RequestId};
use co::history::{Durability, Record, RecordedState};
use co::message::{CallId, ReturnStatus};
use co::session::Session;
use co::stdx::clock::ManualClock;
use co::store::{CallTiming, DecideOutcome, RequestFilter, RequestState, Store, StoreError};
use futures::FutureExt as _;
use jiff::Timestamp;

use crate::store::common::{World, asked, asked_until, decided, deny, finished, turn_with};

const HOUR: Duration = Duration::from_secs(3_600);

fn start() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn at(minutes: i64) -> Timestamp {
    start() + jiff::SignedDuration::from_mins(minutes)
}

fn id(id: &str) -> RequestId {
    RequestId(id.to_owned())
}

fn expired(call: &str, request: &str) -> Record {
    Record::Expired { request: id(request), call: CallId(call.to_owned()) }
}

/// Two processes with one clock, and a session of the first.
struct Scene {
    world: World,
    clock: Arc<ManualClock>,
    here: Store,
    there: Store,
    session: Session,
}

impl Scene {
    async fn new(calls: &[&str]) -> Self {
        let world = World::new();
        let clock = Arc::new(ManualClock::at(start()));
        let (here, there) = (world.store_at(&clock).await, world.store_at(&clock).await);
        let mut session = Session::create(&here, std::path::Path::new("/w")).await.unwrap();
        session.commit(&turn_with("please", calls), Durability::Written).await.unwrap();
        Self { world, clock, here, there, session }
    }

    async fn commit(&mut self, record: Record) {
        self.session.commit(&[record], Durability::Written).await.unwrap();
    }

    async fn decide(&self, request: &str, approval: Approval) -> DecideOutcome {
        self.there.decide(&id(request), approval, Decider::Cli).await.unwrap()
    }

    /// The rows as `id state`, a trailing `*` for late calls.
    async fn rows(&self) -> Vec<String> {
        let rows = self.there.requests(RequestFilter::Of(self.session.id().clone()), 100).await.unwrap();
        let words = rows.iter().map(|row| match row.timing {
            CallTiming::InTurn => format!("{} {}", row.id(), row.state),
            CallTiming::Late => format!("{} {}*", row.id(), row.state),
        });
        words.collect()
    }

    /// The session's records of the call.
    fn known(&self) -> Option<RecordedState> {
        let history = self.session.history();
        let open = history.open_calls().iter().find(|one| one.returned.is_none());
        open.map(|one| one.known.clone())
            .or_else(|| history.late_calls().first().map(|one| one.known.clone()))
    }
}

/// A request that is over at minute 30.
enum Step {
    /// The clock shows this minute.
    At(i64),
    Decide(Approval, DecideOutcome),
    /// Somebody sweeps; so many are over.
    Sweep(usize),
    Commit(Record),
    Consume(Vec<Record>),
    Reopen,
}

#[tokio::test]
async fn nobody_decides_after_the_time_is_over() {
    use ReturnStatus::{Interrupted, Ok, Undecided};
    use Step::{At, Commit, Consume, Decide, Reopen, Sweep};
    let over = || DecideOutcome::NotOpen { state: RequestState::Expired };
    let yes = || Decide(Approval::yes(), DecideOutcome::Recorded);
    let late = |approval| Decide(approval, over());
    let later = || Decide(Approval::Later, DecideOutcome::Recorded);
    let told = || Consume(vec![expired("a", "1")]);
    let nothing = || Consume(vec![]);
    let finish = |status| Commit(finished("a", status));
    let cases: Vec<(Vec<Step>, &str, Option<RecordedState>)> = vec![
        (vec![Sweep(0), nothing()], "1 waiting", Some(RecordedState::Waiting)),
        (vec![At(29), Sweep(0), yes(), nothing_but_yes()], "1 consumed", yes_known()),
        // To the very millisecond.
        (vec![At(30), late(Approval::yes()), told(), nothing()], "1 expired", Some(RecordedState::Expired)),
        (vec![At(30), late(deny("no")), told()], "1 expired", Some(RecordedState::Expired)),
        (vec![At(30), late(Approval::Later), told()], "1 expired", Some(RecordedState::Expired)),
        (
            vec![At(30), Sweep(1), Sweep(0), late(Approval::yes()), told()],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        (
            vec![later(), At(30), late(Approval::yes()), Consume(vec![expired("a", "1")])],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        (
            vec![later(), Consume(vec![decided_by_cli(Approval::Later)]), At(31), Sweep(1), told()],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        // Decided in time and taken up later: the decision is given, its owner sees that the time is over.
        (vec![yes(), At(31), Sweep(0), nothing_but_yes()], "1 consumed", yes_known()),
        // A clock that was ahead ends nothing for good, as long as the session does not know.
        (vec![At(30), Sweep(1), At(1), Sweep(0), yes(), nothing_but_yes()], "1 consumed", yes_known()),
        (vec![At(30), Sweep(1), At(1), yes(), nothing_but_yes()], "1 consumed", yes_known()),
        (vec![At(30), Sweep(1), At(1), Sweep(0)], "1 waiting", Some(RecordedState::Waiting)),
        (
            vec![At(30), Sweep(1), told(), At(1), late(Approval::yes())],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        (vec![At(-60), late(Approval::yes()), told()], "1 expired", Some(RecordedState::Expired)),
        // A step back of a moment is none.
        (vec![At(-1), yes(), nothing_but_yes()], "1 consumed", yes_known()),
        (
            vec![At(60 * 24 * 365 * 5_000), late(Approval::yes()), told()],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        // The outcome of the call before its session knew.
        (vec![At(30), Sweep(1), Reopen, told()], "1 expired", Some(RecordedState::Expired)),
        (vec![At(30), Sweep(1), finish(Interrupted), nothing()], "1 expired", None),
        (vec![At(30), Sweep(1), finish(Ok), nothing()], "1 expired", None),
        (vec![At(30), Sweep(1), finish(Undecided), told()], "1 expired*", Some(RecordedState::Expired)),
        (
            vec![
                later(),
                Consume(vec![decided_by_cli(Approval::Later)]),
                At(30),
                Sweep(1),
                finish(Interrupted),
                told(),
            ],
            "1 expired*",
            Some(RecordedState::Expired),
        ),
        (vec![At(30), Sweep(1), Commit(Record::Cleared), told()], "1 expired*", Some(RecordedState::Expired)),
        (
            vec![At(30), Sweep(1), Commit(asked("a", "2")), nothing()],
            "1 expired, 2 waiting",
            Some(RecordedState::Waiting),
        ),
        // The owner itself says so.
        (
            vec![Commit(expired("a", "1")), nothing(), late(Approval::yes())],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        (
            vec![At(30), Sweep(1), Commit(expired("a", "1")), nothing()],
            "1 expired",
            Some(RecordedState::Expired),
        ),
        (
            vec![yes(), nothing_but_yes(), Commit(expired("a", "1")), nothing()],
            "1 consumed",
            Some(RecordedState::Expired),
        ),
    ];
    for (number, (steps, rows, known)) in cases.into_iter().enumerate() {
        let mut scene = Scene::new(&["a"]).await;
        scene.commit(asked_until("a", "1", at(30))).await;
        for step in steps {
            match step {
                At(minutes) => scene.clock.set(at(minutes)),
                Decide(approval, outcome) => {
                    assert_eq!(scene.decide("1", approval).await, outcome, "case {number}");
                }
                Sweep(count) => assert_eq!(scene.there.expire_due().await.unwrap(), count, "case {number}"),
                Commit(record) => scene.commit(record).await,
                Consume(records) => {
                    assert_eq!(scene.session.consume_decisions().await.unwrap(), records, "case {number}");
                }
                Reopen => {
                    let id = scene.session.id().clone();
                    let Scene { world, clock, here, there, session } = scene;
                    drop(session);
                    let session = Session::open(&here, &id).await.unwrap();
                    scene = Scene { world, clock, here, there, session };
                }
            }
        }
        assert_eq!(scene.rows().await.join(", "), rows, "case {number}");
        assert_eq!(scene.known(), known, "case {number}");
        let stored = Session::read(&scene.there, scene.session.id()).await.unwrap();
        assert_eq!(format!("{stored:?}"), format!("{:?}", scene.session.history()), "case {number}");
        // Kept at a sync or at an exit; neither need have been.
        drop(scene.there.audit_head().await.unwrap());
        assert_eq!(scene.there.verify_audit(None).await.unwrap().finding, None, "case {number}");
    }
}

fn decided_by_cli(approval: Approval) -> Record {
    Record::Decided { request: id("1"), call: CallId("a".to_owned()), approval, by: Decider::Cli }
}

fn nothing_but_yes() -> Step {
    Step::Consume(vec![decided_by_cli(Approval::yes())])
}

fn yes_known() -> Option<RecordedState> {
    Some(RecordedState::Decided(Approval::yes()))
}

#[tokio::test]
async fn the_next_moment_is_known_and_a_sweep_wakes_everybody() {
    let mut scene = Scene::new(&["a", "b", "c", "d"]).await;
    assert_eq!(scene.there.next_expiry().await.unwrap(), None);
    scene.commit(asked("a", "1")).await;
    assert_eq!(scene.there.next_expiry().await.unwrap(), None);
    scene.commit(asked_until("b", "2", at(40))).await;
    scene.commit(asked_until("c", "3", at(20))).await;
    scene.commit(asked_until("d", "4", at(20))).await;
    assert_eq!(scene.there.next_expiry().await.unwrap(), Some(at(20)));
    scene.decide("4", Approval::Later).await;
    assert_eq!(scene.there.undecided_rows(10).await.unwrap()[1].expires, Some(at(40)));
    scene.clock.advance(HOUR / 2);
    let (before, mut listener) = (scene.here.latest_change().await.unwrap(), scene.here.change_listener());
    assert_eq!(scene.there.expire_due().await.unwrap(), 2);
    tokio::time::timeout(HOUR, listener.changed()).await.expect("the other process hears of it");
    let changed = scene.here.changes_since(before).await.unwrap();
    let changed: Vec<_> = changed.iter().map(|row| (row.id().0.as_str(), row.state)).collect();
    assert_eq!(changed, [("3", RequestState::Expired), ("4", RequestState::Expired)]);
    assert_eq!(scene.there.next_expiry().await.unwrap(), Some(at(40)));
    assert_eq!(scene.there.expire_due().await.unwrap(), 0);
    assert!(listener.changed().now_or_never().is_none(), "nothing was due: nobody is woken");
}

/// The row is not what was asked any more when its decision is to be taken up.
#[tokio::test]
async fn a_changed_request_is_taken_up_by_nobody() {
    let changes = [
        "UPDATE approvals SET request = replace(request, '\"path\":\"a\"', '\"path\":\"b\"')",
        "UPDATE approvals SET request = replace(request, 'write_file', 'shell')",
        "UPDATE approvals SET tool = 'shell'",
        "UPDATE approvals SET args_hash = '0'",
        // The columns that were shown.
        "UPDATE approvals SET summary = 'run ls'",
        "UPDATE approvals SET risk = 'low'",
        "UPDATE approvals SET request = replace(request, '\"summary\":\"', '\"summary\":\"x')",
        "UPDATE approvals SET request = '{'",
        "UPDATE approvals SET request = replace(request, '\"id\":\"1\"', '\"id\":\"2\"')",
    ];
    for change in changes {
        let mut scene = Scene::new(&["a"]).await;
        scene.commit(asked("a", "1")).await;
        assert_eq!(scene.decide("1", Approval::yes()).await, DecideOutcome::Recorded);
        let raw = rusqlite::Connection::open(scene.world.path("data/co.db")).unwrap();
        assert_eq!(raw.execute(change, []).unwrap(), 1);
        assert_eq!(scene.session.consume_decisions().await.unwrap(), [expired("a", "1")], "{change}");
        assert_eq!(scene.session.consume_decisions().await.unwrap(), []);
        assert_eq!(scene.known(), Some(RecordedState::Expired), "{change}");
        let state: String = raw.query_row("SELECT state FROM approvals", [], |row| row.get(0)).unwrap();
        assert_eq!(state, "withdrawn", "{change}");
        let last = scene.there.audit_rows(Default::default(), 1).await.unwrap().pop().unwrap();
        assert_eq!(
            (last.kind.word(), last.details),
            ("withdrawn", serde_json::json!({ "because": "changed" }))
        );
    }
}

/// A decision that was taken up is not taken up again, and none counts for another session.
#[tokio::test]
async fn a_decision_is_good_once_and_in_its_session() {
    let mut scene = Scene::new(&["a"]).await;
    scene.commit(asked("a", "1")).await;
    assert_eq!(scene.decide("1", Approval::yes()).await, DecideOutcome::Recorded);
    let raw = rusqlite::Connection::open(scene.world.path("data/co.db")).unwrap();
    let mut other = Session::create(&scene.here, std::path::Path::new("/w")).await.unwrap();
    other.commit(&turn_with("please", &["b"]), Durability::Written).await.unwrap();
    let before = format!("{:?}", other.history().open_calls());
    assert_eq!(raw.execute("UPDATE approvals SET session = ?", [&other.id().0]).unwrap(), 1);
    other.consume_decisions().await.unwrap();
    assert_eq!(format!("{:?}", other.history().open_calls()), before);
    let own = &scene.session.id().0;
    raw.execute("UPDATE approvals SET session = ?, state = 'approved'", [own]).unwrap();
    scene.session.consume_decisions().await.unwrap();
    assert_eq!(scene.known(), yes_known());
    scene.commit(finished("a", ReturnStatus::Ok)).await;
    raw.execute("UPDATE approvals SET state = 'approved'", []).unwrap();
    scene.session.consume_decisions().await.unwrap();
    assert_eq!(scene.known(), None, "it has ended");
}

/// A secret in the arguments is taken out before they are hashed: such a request is not changed.
#[tokio::test]
async fn a_secret_in_the_arguments_changes_nothing() {
    let world = World::new();
    let store = world.store().await;
    store.conceal("sk-12345678");
    let mut session = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
    session.commit(&turn_with("please", &["a"]), Durability::Written).await.unwrap();
    let Record::Asked { call, mut request } = asked("a", "1") else { panic!("it asks") };
    request.args = serde_json::json!({ "text": "sk-12345678", "n": 1.5e-7 });
    session.commit(&[Record::Asked { call, request }], Durability::Written).await.unwrap();
    store.decide(&id("1"), Approval::yes(), Decider::Cli).await.unwrap();
    let taken = session.consume_decisions().await.unwrap();
    assert!(matches!(taken.as_slice(), [Record::Decided { .. }]), "{taken:?}");
}

/// A decision of a hook or a grant is known from the owner's own records, in time or not at all.
#[tokio::test]
async fn the_owner_settles_in_time_only() {
    let by_hook = |approval| Record::Decided {
        request: id("1"),
        call: CallId("a".to_owned()),
        approval,
        by: Decider::Hook,
    };
    let mut scene = Scene::new(&["a"]).await;
    scene
        .session
        .commit(&[asked_until("a", "1", at(30)), by_hook(Approval::Later)], Durability::Written)
        .await
        .unwrap();
    assert_eq!(scene.rows().await, ["1 later"]);
    assert_eq!(scene.session.consume_decisions().await.unwrap(), []);
    assert!(scene.session.history().open_calls()[0].later);
    let rows = scene.there.audit_rows(Default::default(), 10).await.unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.kind.word(), row.decider.clone())).collect();
    assert_eq!(rows, [("asked", None), ("decided", Some(Decider::Hook))]);
    scene.clock.advance(HOUR);
    let late = scene.session.commit(&[decided("a", "1", Approval::yes())], Durability::Written).await;
    assert_eq!(late, Err(StoreError::NotDecidable { id: id("1"), state: RequestState::Expired }));
    assert_eq!(scene.rows().await, ["1 later"]);
}

/// A session may postpone what somebody settled a moment before: that neither fails nor undoes it.
#[tokio::test]
async fn to_postpone_what_is_settled_changes_nothing() {
    let taken = |approval| vec![decided_by_cli(approval)];
    for (minute, answer, rows, then) in [
        (0, Some(Approval::yes()), "1 approved", taken(Approval::yes())),
        (0, Some(deny("no")), "1 denied", taken(deny("no"))),
        (40, None, "1 expired", vec![expired("a", "1")]),
    ] {
        let mut scene = Scene::new(&["a"]).await;
        scene.commit(asked_until("a", "1", at(30))).await;
        scene.clock.set(at(minute));
        match answer {
            Some(approval) => drop(scene.decide("1", approval).await),
            None => assert_eq!(scene.there.expire_due().await.unwrap(), 1),
        }
        scene.commit(decided("a", "1", Approval::Later)).await;
        assert_eq!(scene.rows().await, [rows]);
        assert_eq!(scene.session.consume_decisions().await.unwrap(), then, "{rows}");
        // Kept at a sync or at an exit; neither need have been.
        drop(scene.there.audit_head().await.unwrap());
        assert_eq!(scene.there.verify_audit(None).await.unwrap().finding, None);
    }
}
