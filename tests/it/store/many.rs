//! Ten thousand requests that wait: the inbox is read in a moment.

use std::time::{Duration, Instant};

use co::history::{Durability, Record};
use co::session::Session;
use co::store::RequestFilter;

use crate::store::common::{World, asked, turn_with};

const SESSIONS: usize = 20;
const EACH: usize = 500;

#[tokio::test]
async fn ten_thousand_requests_are_listed_in_a_moment() {
    let world = World::new();
    let store = world.store().await;
    let text = "x".repeat(400);
    for number in 0..SESSIONS {
        let mut session = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
        let ids: Vec<String> = (0..EACH).map(|call| format!("{number:02}{call:03}")).collect();
        let calls: Vec<&str> = ids.iter().map(String::as_str).collect();
        session.commit(&turn_with(&number.to_string(), &calls), Durability::Written).await.unwrap();
        let requests = calls.iter().map(|call| match asked(call, call) {
            Record::Asked { call, mut request } => {
                request.args = serde_json::json!({ "path": "a", "text": text });
                Record::Asked { call, request }
            }
            other => other,
        });
        session.commit(&requests.collect::<Vec<_>>(), Durability::Written).await.unwrap();
    }
    let all = SESSIONS * EACH;
    let timed = async |what: &str, rows: usize, limit: Duration| {
        // The best of some: other tests run beside this one.
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let begun = Instant::now();
            let found = match what {
                "rows" => store.undecided_rows(rows).await.unwrap().len(),
                "count" => store.waiting_count().await.unwrap(),
                "first" => store.requests(RequestFilter::Undecided, rows).await.unwrap().len(),
                "due" => all + store.expire_due().await.unwrap(),
                _ => all + usize::from(store.next_expiry().await.unwrap().is_some()),
            };
            best = best.min(begun.elapsed());
            assert_eq!(found, rows, "{what}");
        }
        println!("{what}: {rows} in {best:?}");
        assert!(best < limit, "{what}: {best:?}");
    };
    timed("rows", all, Duration::from_millis(250)).await;
    timed("rows", 200, Duration::from_millis(250)).await;
    timed("count", all, Duration::from_millis(50)).await;
    timed("first", 200, Duration::from_millis(250)).await;
    timed("due", all, Duration::from_millis(50)).await;
    timed("next", all, Duration::from_millis(50)).await;
    let rows = store.undecided_rows(all).await.unwrap();
    assert!(rows.is_sorted_by_key(|row| row.id.clone()), "sessions by age, each in its order");
    assert_eq!((rows[0].title.as_deref(), rows[all - 1].title.as_deref()), (Some("0"), Some("19")));
    assert_eq!(store.verify_audit(None).await.unwrap().rows, all as u64);
}

/// No list stops in silence.
#[test]
fn three_hundred_sessions_are_listed() {
    let co = crate::co::Co::new().env("CO_PROVIDER", "offline");
    assert_eq!(co.run(&["sessions"]).code, Some(0));
    let raw = rusqlite::Connection::open(co.data().join("co.db")).unwrap();
    for number in 0..300 {
        let session =
            "INSERT INTO sessions (id, workspace, created, updated, turns) VALUES (?1, '/w', ?2, ?2, 1)";
        raw.execute(session, rusqlite::params![format!("s{number:03}"), number]).unwrap();
    }
    let listed = co.run(&["sessions", "--all", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(300));
}
