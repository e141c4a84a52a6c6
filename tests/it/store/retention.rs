//! Which sessions a retention deletes: the oldest, none that waits for its user.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use co::approval::{Approval, Decider, RequestId};
use co::history::{Durability, SessionId};
use co::session::Session;
use co::stdx::clock::{Clock as _, ManualClock};
use co::store::{RequestRetention, Retention, Store};
use jiff::{SignedDuration, Timestamp};

use crate::store::common::{World, asked, turn_with};

const MIB: u64 = 1 << 20;

/// Four sessions, a day and 1 MiB each; the second one has a request.
async fn four(store: &Store, clock: &ManualClock) -> Vec<SessionId> {
    let mut made = Vec::new();
    for number in 0..4 {
        let mut session = Session::create(store, Path::new("/w")).await.unwrap();
        let long = format!("{number} {}", "0123456789abcdef".repeat(1 << 16));
        session.commit(&turn_with(&long, &["c"]), Durability::Written).await.unwrap();
        if number == 1 {
            session.commit(&[asked("c", "r")], Durability::Written).await.unwrap();
        }
        made.push(session.id().clone());
        clock.advance(Duration::from_secs(24 * 3600));
    }
    made
}

async fn found(store: &Store, retention: Retention) -> Vec<SessionId> {
    store.beyond(retention).await.unwrap().into_iter().map(|one| one.id).collect()
}

#[tokio::test]
async fn the_oldest_go_and_none_that_waits() {
    let world = World::new();
    let clock = Arc::new(ManualClock::at("2026-11-01T12:00:00Z".parse().unwrap()));
    let store = world.store_at(&clock).await;
    let made = four(&store, &clock).await;
    let days = |days: i64| Some(clock.now() - SignedDuration::from_hours(24 * days));
    let size = |mib: u64| Retention { max_bytes: Some(mib * MIB), ..Retention::default() };
    let aged = |before: Option<Timestamp>| Retention { before, ..Retention::default() };
    let [first, waits, third, last] = made.as_slice() else { panic!() };
    for (retention, expected) in [
        (Retention::default(), vec![]),
        (aged(days(5)), vec![]),
        (aged(days(3)), vec![first]),
        (aged(days(1)), vec![first, third]),
        (aged(days(-1)), vec![first, third, last]),
        (size(100), vec![]),
        (size(4), vec![first]),
        (size(3), vec![first, third]),
        (size(0), vec![first, third, last]),
        (Retention { before: days(1), max_bytes: Some(4 * MIB) }, vec![first, third]),
    ] {
        let expected: Vec<SessionId> = expected.into_iter().cloned().collect();
        assert_eq!(found(&store, retention).await, expected, "{retention:?}");
    }
    // A decision that was not taken is one more reason to stay.
    let request = RequestId("r".to_owned());
    store.decide(&request, Approval::yes(), Decider::Tui).await.unwrap();
    assert!(!store.delete_session(waits, RequestRetention::Kept).await.unwrap());
    Session::open(&store, waits).await.unwrap().consume_decisions().await.unwrap();
    assert_eq!(found(&store, aged(days(-1))).await, [first, third, last, waits].map(Clone::clone));
    assert!(store.delete_session(waits, RequestRetention::Kept).await.unwrap());
    store.compact().await.unwrap();
    assert_eq!(found(&store, size(3)).await, std::slice::from_ref(first), "what was deleted takes no space");
}

#[tokio::test]
async fn a_clock_that_leaps_ahead_removes_nothing() {
    let world = World::new();
    let clock = Arc::new(ManualClock::at("2026-11-01T12:00:00Z".parse().unwrap()));
    let store = world.store_at(&clock).await;
    let made = four(&store, &clock).await;
    let last = &made[3];
    let mut session = Session::open(&store, last).await.unwrap();
    let goes = async || {
        let before = Some(clock.now() - SignedDuration::from_hours(24 * 3));
        found(&store, store.after_leap(Retention { before, ..Retention::default() }).await.unwrap()).await
    };
    let year = Duration::from_secs(365 * 24 * 3600);
    assert_eq!(goes().await, [made[0].clone()]);
    clock.advance(year);
    session
        .commit(&[co::history::Record::Draft { text: "a".to_owned() }], Durability::Written)
        .await
        .unwrap();
    assert_eq!(goes().await, []);
    // The leap was a long absence: the day after, the old ones go.
    clock.advance(Duration::from_secs(25 * 3600));
    assert_eq!(goes().await, [made[0].clone(), made[2].clone()]);
    clock.set(clock.now() - SignedDuration::from_hours(24 * 366));
    assert_eq!(goes().await, [made[0].clone()], "as before the leap");
}
