//! The life of a request: the row after each record, who may still decide, and who is notified.

use std::time::Duration;

use co::approval::{Approval, Decider, RequestId};
use co::history::{Durability, Record, SessionId, TurnEnd};
use co::message::ReturnStatus;
use co::session::Session;
use co::store::{
    CallTiming, DecideOutcome, IdKind, RequestFilter, RequestState, Store, StoreError, StoredRequest,
};
use futures::FutureExt as _;

use crate::store::common::{World, asked, decided, deny, ended, finished, started, turn_with};

/// One step of a request's life, from inside or outside of its session.
enum Step {
    Commit(Record),
    Decide(&'static str, Approval),
    Consume,
    Reopen,
}

use Step::{Commit, Consume, Decide, Reopen};

async fn session_with(store: &Store, calls: &[&str]) -> Session {
    let mut session = Session::create(store, std::path::Path::new("/w")).await.unwrap();
    session.commit(&turn_with("please", calls), Durability::Written).await.unwrap();
    session
}

fn id(id: &str) -> RequestId {
    RequestId(id.to_owned())
}

/// The rows as `id state`, a trailing `*` for late calls.
async fn rows(store: &Store, session: &SessionId) -> Vec<String> {
    let rows = store.requests(RequestFilter::Of(session.clone()), 100).await.unwrap();
    rows.iter()
        .map(|row| {
            let mark = match row.timing {
                CallTiming::InTurn => "",
                CallTiming::Late => "*",
            };
            format!("{} {}{mark}", row.id(), row.state)
        })
        .collect()
}

/// The session's own state must agree with the rows: open calls and late calls have an open row each.
async fn check_agreement(store: &Store, session: &Session) {
    let rows = store.requests(RequestFilter::Of(session.id().clone()), 100).await.unwrap();
    let open: Vec<&StoredRequest> = rows.iter().filter(|row| row.state.is_open()).collect();
    let history = session.history();
    for row in open {
        let attached =
            history.open_calls().iter().any(|one| one.call.id == row.request.call && one.returned.is_none());
        let is_late = history.late_calls().iter().any(|one| one.call.id == row.request.call);
        assert_eq!(
            (attached, is_late),
            match row.timing {
                CallTiming::InTurn => (true, false),
                CallTiming::Late => (false, true),
            }
        );
    }
    for one in history.late_calls() {
        assert!(rows.iter().any(|row| row.request == one.request), "a detached call has its row");
    }
}

async fn check(steps: Vec<Step>, expected: &[&str]) {
    let world = World::new();
    let (here, there) = (world.store().await, world.store().await);
    let mut session = session_with(&here, &["a", "b"]).await;
    for step in steps {
        match step {
            Commit(record) => session.commit(&[record], Durability::Written).await.unwrap(),
            Decide(request, approval) => {
                assert_eq!(
                    there.decide(&id(request), approval, Decider::Cli).await.unwrap(),
                    DecideOutcome::Recorded
                );
            }
            Consume => drop(session.consume_decisions().await.unwrap()),
            Reopen => {
                let id = session.id().clone();
                drop(session);
                session = Session::open(&here, &id).await.unwrap();
            }
        }
        check_agreement(&here, &session).await;
    }
    assert_eq!(rows(&there, session.id()).await, expected);
    let stored = Session::read(&there, session.id()).await.unwrap();
    assert_eq!(format!("{stored:?}"), format!("{:?}", session.history()), "memory is what is stored");
}

#[tokio::test]
async fn each_record_makes_its_row_what_it_must_be() {
    use ReturnStatus::{Denied, Failed, Interrupted, Ok, Undecided, Unknown};
    let ask = || Commit(asked("a", "1"));
    let finish = |status| Commit(finished("a", status));
    let yes = || Decide("1", Approval::yes());
    let later = || Decide("1", Approval::Later);
    check(vec![], &[]).await;
    check(vec![ask()], &["1 waiting"]).await;
    check(vec![ask(), Commit(asked("b", "2"))], &["1 waiting", "2 waiting"]).await;
    check(vec![ask(), yes()], &["1 approved"]).await;
    check(vec![ask(), Decide("1", deny("no"))], &["1 denied"]).await;
    check(vec![ask(), later()], &["1 later"]).await;
    check(vec![ask(), later(), Consume, later()], &["1 later"]).await;
    check(vec![ask(), later(), yes()], &["1 approved"]).await;
    check(vec![ask(), later(), Consume, yes(), Consume], &["1 consumed"]).await;
    check(vec![ask(), yes(), Consume], &["1 consumed"]).await;
    check(vec![ask(), Commit(decided("a", "1", Approval::yes()))], &["1 consumed"]).await;
    check(vec![ask(), Commit(decided("a", "1", Approval::Later))], &["1 later"]).await;
    // Asked again.
    check(vec![ask(), Commit(asked("a", "2"))], &["1 superseded", "2 waiting"]).await;
    check(vec![ask(), later(), Commit(asked("a", "2"))], &["1 superseded", "2 waiting"]).await;
    check(vec![ask(), yes(), Commit(asked("a", "2")), Consume], &["1 superseded", "2 waiting"]).await;
    check(vec![ask(), yes(), Consume, Commit(asked("a", "2"))], &["1 consumed", "2 waiting"]).await;
    // Interrupted: withdrawn, unless the session knows that the person wants it later.
    check(vec![ask(), finish(Interrupted)], &["1 withdrawn"]).await;
    check(vec![ask(), yes(), finish(Interrupted), Consume], &["1 withdrawn"]).await;
    check(vec![ask(), Decide("1", deny("no")), finish(Interrupted)], &["1 withdrawn"]).await;
    check(vec![ask(), later(), finish(Interrupted), Consume], &["1 withdrawn"]).await;
    check(vec![ask(), later(), Consume, finish(Interrupted)], &["1 later*"]).await;
    check(vec![ask(), later(), Consume, yes(), finish(Interrupted)], &["1 approved*"]).await;
    check(vec![ask(), yes(), Consume, finish(Interrupted)], &["1 consumed"]).await;
    // Undecided: it stays, without its turn.
    check(vec![ask(), finish(Undecided)], &["1 waiting*"]).await;
    check(vec![ask(), later(), finish(Undecided)], &["1 later*"]).await;
    check(vec![ask(), yes(), finish(Undecided)], &["1 approved*"]).await;
    check(vec![ask(), finish(Undecided), yes(), Reopen, Consume, finish(Ok)], &["1 consumed*"]).await;
    check(vec![ask(), finish(Undecided), Commit(asked("a", "2"))], &["1 superseded*", "2 waiting*"]).await;
    check(vec![ask(), finish(Undecided), finish(Interrupted)], &["1 withdrawn*"]).await;
    check(vec![ask(), Commit(Record::Cleared)], &["1 waiting*"]).await;
    check(
        vec![ask(), Commit(asked("b", "2")), finish(Ok), Commit(Record::Cleared)],
        &["1 consumed", "2 waiting*"],
    )
    .await;
    // Any other return closes it.
    for status in [Ok, Failed, Denied, Unknown] {
        check(vec![ask(), finish(status)], &["1 consumed"]).await;
        check(vec![ask(), yes(), finish(status), Consume], &["1 consumed"]).await;
    }
    check(vec![ask(), yes(), Consume, Commit(started("a")), Reopen, finish(Ok)], &["1 consumed"]).await;
    // Another call's return is none of its business.
    check(vec![ask(), Commit(finished("b", Interrupted))], &["1 waiting"]).await;
}

#[tokio::test]
async fn the_first_answer_wins_and_the_loser_hears_whose() {
    let yes = || Approval::yes();
    let already = |approval| DecideOutcome::AlreadyDecided { approval, by: Decider::Tui };
    let not_open = |state| DecideOutcome::NotOpen { state };
    let cases: Vec<(Vec<Record>, Option<Approval>, Approval, DecideOutcome)> = vec![
        (vec![], None, yes(), DecideOutcome::Unknown),
        (vec![asked("a", "1")], None, yes(), DecideOutcome::Recorded),
        (vec![asked("a", "1")], Some(yes()), yes(), already(yes())),
        (vec![asked("a", "1")], Some(yes()), deny("no"), already(yes())),
        (vec![asked("a", "1")], Some(deny("mine")), yes(), already(deny("mine"))),
        (vec![asked("a", "1")], Some(yes()), Approval::Later, already(yes())),
        (vec![asked("a", "1")], Some(Approval::Later), yes(), DecideOutcome::Recorded),
        (vec![asked("a", "1")], Some(Approval::Later), Approval::Later, DecideOutcome::Recorded),
        (vec![asked("a", "1"), decided("a", "1", yes())], None, deny("no"), already(yes())),
        (vec![asked("a", "1"), asked("a", "2")], None, yes(), not_open(RequestState::Superseded)),
        (
            vec![asked("a", "1"), finished("a", ReturnStatus::Interrupted)],
            None,
            yes(),
            not_open(RequestState::Withdrawn),
        ),
        (
            vec![asked("a", "1"), finished("a", ReturnStatus::Failed)],
            None,
            yes(),
            not_open(RequestState::Consumed),
        ),
        (vec![asked("a", "1"), finished("a", ReturnStatus::Undecided)], None, yes(), DecideOutcome::Recorded),
    ];
    for (number, (records, first, second, expected)) in cases.into_iter().enumerate() {
        let world = World::new();
        let (here, there) = (world.store().await, world.store().await);
        let mut session = session_with(&here, &["a"]).await;
        session.commit(&records, Durability::Written).await.unwrap();
        if let Some(first) = first {
            assert_eq!(here.decide(&id("1"), first, Decider::Tui).await.unwrap(), DecideOutcome::Recorded);
        }
        let outcome = there.decide(&id("1"), second, Decider::Cli).await.unwrap();
        assert_eq!(outcome, expected, "case {number}");
    }
}

#[tokio::test]
async fn decisions_are_consumed_in_their_order_once() {
    let world = World::new();
    let (here, there) = (world.store().await, world.store().await);
    let mut session = session_with(&here, &["a", "b", "c"]).await;
    let mut other = session_with(&there, &["z"]).await;
    session.commit(&[asked("a", "1"), asked("b", "2"), asked("c", "3")], Durability::Written).await.unwrap();
    other.commit(&[asked("z", "9")], Durability::Written).await.unwrap();
    assert_eq!(session.consume_decisions().await.unwrap(), []);
    for (request, approval) in
        [("9", Approval::yes()), ("3", deny("no")), ("1", Approval::Later), ("2", Approval::yes())]
    {
        there.decide(&id(request), approval, Decider::Tui).await.unwrap();
    }
    let before = session.history().len();
    let expected = [
        decided("c", "3", deny("no")),
        decided("a", "1", Approval::Later),
        decided("b", "2", Approval::yes()),
    ];
    assert_eq!(session.consume_decisions().await.unwrap(), expected);
    assert_eq!(session.consume_decisions().await.unwrap(), []);
    assert_eq!(session.history().len(), before + 3);
    assert_eq!(here.load(session.id()).await.unwrap().split_off(usize::try_from(before).unwrap()), expected);
    assert_eq!(other.consume_decisions().await.unwrap(), [decided("z", "9", Approval::yes())]);
}

#[tokio::test]
async fn a_taken_id_and_a_second_decision_are_refused_whole() {
    let world = World::new();
    let store = world.store().await;
    let cases: [(Vec<Record>, StoreError); 3] = [
        (vec![finished("b", ReturnStatus::Ok), asked("b", "1")], StoreError::RequestIdTaken { id: id("1") }),
        (
            vec![
                finished("b", ReturnStatus::Ok),
                decided("a", "1", deny("no")),
                decided("a", "1", Approval::yes()),
            ],
            StoreError::NotDecidable { id: id("1"), state: RequestState::Consumed },
        ),
        (
            vec![finished("b", ReturnStatus::Ok), decided("a", "7", deny("no"))],
            StoreError::NotFound { what: IdKind::Request, prefix: "7".to_owned() },
        ),
    ];
    for (records, expected) in cases {
        let world = World::new();
        let store = world.store().await;
        let mut session = session_with(&store, &["a", "b"]).await;
        session.commit(&[asked("a", "1")], Durability::Written).await.unwrap();
        let before = store.load(session.id()).await.unwrap();
        assert_eq!(session.commit(&records, Durability::Written).await, Err(expected));
        assert_eq!(store.load(session.id()).await.unwrap(), before, "nothing of the slice is stored");
        assert_eq!(rows(&store, session.id()).await, ["1 waiting"]);
    }
    assert_eq!(store.waiting_count().await.unwrap(), 0);
}

/// A decision of the owner is taken in with it, whichever session asked: all of it or nothing.
#[tokio::test]
async fn decisions_of_the_owner_are_one_transaction() {
    let world = World::new();
    let store = world.store().await;
    let mut one = session_with(&store, &["a", "b"]).await;
    one.commit(&[asked("a", "1"), asked("b", "2")], Durability::Written).await.unwrap();
    let mut two = session_with(&store, &["z"]).await;
    two.commit(&[asked("z", "3")], Durability::Written).await.unwrap();
    let no = |request| (id(request), deny("no"), Decider::Tui);
    let decisions = ["1", "3", "2", "4"].map(no);

    // Another process wrote to the session meanwhile: no decision without its record.
    let wrong = one.history().len() - 1;
    let error = store.decide_and_consume(one.id(), wrong, &decisions).await.unwrap_err();
    assert!(matches!(error, StoreError::OutOfStep { .. }), "{error}");
    assert_eq!(rows(&store, one.id()).await, ["1 waiting", "2 waiting"]);

    let (outcomes, records) = one.decide(&decisions).await.unwrap();
    let recorded = DecideOutcome::Recorded;
    assert_eq!(outcomes, [recorded.clone(), recorded.clone(), recorded, DecideOutcome::Unknown]);
    let by_person = |call, request| Record::Decided {
        request: id(request),
        call: co::message::CallId(String::from(call)),
        approval: deny("no"),
        by: Decider::Tui,
    };
    assert_eq!(records, [by_person("a", "1"), by_person("b", "2")], "its own, in the order of the decisions");
    assert_eq!(rows(&store, one.id()).await, ["1 consumed", "2 consumed"]);
    assert_eq!(rows(&store, two.id()).await, ["3 denied"], "its owner takes it");
    // A session that is not stored yet has no requests of its own.
    let mut new = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
    let (outcomes, records) = new.decide(&[no("3")]).await.unwrap();
    assert!(matches!(outcomes[..], [DecideOutcome::AlreadyDecided { .. }]) && records.is_empty());
    // A decision that a newer version wrote for another session does not concern this one.
    let raw = rusqlite::Connection::open(world.path("data/co.db")).unwrap();
    assert_eq!(raw.execute("UPDATE approvals SET decision = '{\"new\":1}' WHERE id = '3'", []).unwrap(), 1);
    let (outcomes, _) = one.decide(&[no("3")]).await.unwrap();
    assert_eq!(outcomes, [DecideOutcome::NotOpen { state: RequestState::Denied }]);
    assert!(!one.is_poisoned());
}

#[tokio::test]
async fn requests_are_listed_found_and_followed() {
    let world = World::new();
    let store = world.store().await;
    let mut one = session_with(&store, &["a", "b", "c"]).await;
    let mut two = session_with(&store, &["z"]).await;
    one.commit(&[asked("a", "aa10"), asked("b", "aa20"), asked("c", "bb30")], Durability::Written)
        .await
        .unwrap();
    two.commit(&[asked("z", "aa2")], Durability::Written).await.unwrap();
    store.decide(&id("aa20"), Approval::Later, Decider::Cli).await.unwrap();
    store.decide(&id("bb30"), Approval::yes(), Decider::Cli).await.unwrap();
    let ids = async |filter| -> Vec<String> {
        let mut rows: Vec<_> =
            store.requests(filter, 10).await.unwrap().iter().map(|row| row.id().0.clone()).collect();
        rows.sort();
        rows
    };
    assert_eq!(ids(RequestFilter::Undecided).await, ["aa10", "aa2", "aa20"]);
    assert_eq!(ids(RequestFilter::UndecidedOf(one.id().clone())).await, ["aa10", "aa20"]);
    assert_eq!(ids(RequestFilter::Of(one.id().clone())).await, ["aa10", "aa20", "bb30"]);
    assert_eq!(ids(RequestFilter::All).await.len(), 4);
    // The oldest are left out, and of the oldest moment what was changed first.
    let newest = store.requests(RequestFilter::All, 2).await.unwrap();
    let all = store.requests(RequestFilter::All, 10).await.unwrap();
    assert_eq!(newest, all[..2]);
    assert!(all.is_sorted_by_key(|row| std::cmp::Reverse((row.created, row.seq))));
    assert_eq!(store.waiting_count().await.unwrap(), 3);

    let found = store.find_request("BB").await.unwrap();
    assert_eq!((found.id(), &found.session, found.turn), (&id("bb30"), one.id(), 1));
    assert_eq!((found.state, found.title.as_deref()), (RequestState::Approved, Some("please")));
    assert_eq!(
        (found.decision, found.request.args),
        (Some((Approval::yes(), Decider::Cli)), serde_json::json!({ "path": "c" }))
    );
    assert!(found.decided_at.is_some());
    // An id that is another one's beginning is still itself.
    assert_eq!(store.find_request("aa2").await.unwrap().id(), &id("aa2"));
    let what = IdKind::Request;
    let candidates = ["aa10", "aa2", "aa20"].map(str::to_owned).to_vec();
    let ambiguous = StoreError::Ambiguous { what, prefix: "aa".to_owned(), candidates };
    assert_eq!(store.find_request("aa").await, Err(ambiguous));
    for prefix in ["", "c", "%", "aa100", "'"] {
        let missing = StoreError::NotFound { what, prefix: prefix.to_owned() };
        assert_eq!(store.find_request(prefix).await, Err(missing));
    }

    let changes = store.changes_since(0).await.unwrap();
    let order: Vec<_> = changes.iter().map(|row| (row.id().0.as_str(), row.seq)).collect();
    assert_eq!(order, [("aa10", 1), ("aa2", 4), ("aa20", 5), ("bb30", 6)]);
    assert_eq!(store.latest_change().await.unwrap(), 6);
    one.consume_decisions().await.unwrap();
    let changes = store.changes_since(6).await.unwrap();
    assert_eq!(changes.iter().map(|row| row.seq).collect::<Vec<_>>(), [7, 8]);
}

#[tokio::test]
async fn changes_of_approvals_and_turns_wake_other_stores_and_nothing_else_does() {
    const SOON: Duration = Duration::from_secs(10);
    let world = World::new();
    let (here, there) = (world.store().await, world.store().await);
    let mut other = there.change_listener();
    let mut session = session_with(&here, &["a"]).await;
    tokio::time::timeout(SOON, other.changed()).await.expect("the other process hears that a turn began");
    let mut own = here.change_listener();
    session.commit(&[finished("x", ReturnStatus::Ok)], Durability::Written).await.unwrap();
    here.remember_input(std::path::Path::new("/w"), "hello").await.unwrap();
    session.consume_decisions().await.unwrap();
    assert!(own.changed().now_or_never().is_none());
    assert!(other.changed().now_or_never().is_none());

    session.commit(&[asked("a", "1")], Durability::Written).await.unwrap();
    tokio::time::timeout(SOON, other.changed()).await.expect("the other process hears of the request");
    assert_eq!(there.waiting_count().await.unwrap(), 1);
    tokio::time::timeout(SOON, own.changed()).await.expect("so do other handles of this one");

    there.decide(&id("1"), Approval::yes(), Decider::Cli).await.unwrap();
    tokio::time::timeout(SOON, own.changed()).await.expect("the owner hears of the decision");
    assert_eq!(session.consume_decisions().await.unwrap().len(), 1);
    let reader = world.store().await;
    let mut reader = reader.change_listener();
    session.commit(&[ended(TurnEnd::Completed)], Durability::Written).await.unwrap();
    tokio::time::timeout(SOON, reader.changed()).await.expect("who only reads hears that the turn is over");
}
