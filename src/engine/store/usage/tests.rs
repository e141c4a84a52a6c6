//! The rows of usage: as written and as created by a migration, and their sums over days and time zones.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::Connection;

use super::super::schema::{APPLICATION_ID, MIGRATIONS, database};
use super::super::{Store, StoreOptions};
use super::{StoredUsage, UsageOf, UsedModel};
use crate::history::{Durability, Limits, Record, SessionId, UsageTotals};
use crate::message::{Usage, Usd};
use crate::provider::{ErrorClass, RequestKind};
use crate::stdx::clock::{Clock, ManualClock};

fn id(name: &str) -> SessionId {
    SessionId(name.to_owned())
}

fn opened() -> Record {
    Record::Opened { workspace: "/w".into() }
}

fn turn(turn: u32) -> Record {
    Record::TurnStarted { turn, limits: Limits::default(), trace: None }
}

fn request(model: &str, usage: Option<Usage>, cost: Option<u64>, error: Option<ErrorClass>) -> Record {
    let (provider, model) = ("p".to_owned(), model.to_owned());
    Record::RequestEnded {
        attempt: 1,
        usage,
        provider,
        model,
        cost: cost.map(Usd),
        error,
        purpose: RequestKind::Answer,
    }
}

fn tokens(input: u64, output: u64) -> Option<Usage> {
    Some(Usage { input: Some(input), output: Some(output), ..Usage::default() })
}

/// Every way a request can end.
fn records() -> Vec<Record> {
    let all = Usage {
        input: Some(10),
        output: Some(5),
        cached_input: Some(4),
        cache_write: Some(3),
        reasoning: Some(2),
        cost: Some(Usd(7)),
    };
    vec![
        opened(),
        turn(1),
        request("m", Some(all), Some(7), None),
        request("m", tokens(u64::MAX, 1), Some(u64::MAX), None),
        request("m", tokens(1, 2), None, None),
        turn(2),
        request("", None, None, Some(ErrorClass::RateLimited)),
        request("m", None, None, Some(ErrorClass::Truncated)),
        request("m", None, None, Some(ErrorClass::Idle)),
        request("m", None, None, Some(ErrorClass::Malformed)),
        request("m", Some(Usage::default()), None, None),
        request("m", None, None, None),
        request("o'neill \"x\"", tokens(0, 0), Some(0), None),
    ]
}

/// Returns every row of the table as text.
fn rows(data: &Path) -> Vec<String> {
    let connection = Connection::open(database(data)).unwrap();
    let mut select = connection
        .prepare(
            "SELECT json_array(session, no, turn, at, provider, model, input, cached, cache_write, output, reasoning,
                 cost, unpriced, error) FROM usage ORDER BY session, no",
        )
        .unwrap();
    select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn a_migration_makes_the_rows_that_would_have_been_written() {
    let at: Timestamp = "2026-03-01T15:30:00Z".parse().unwrap();
    let written = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::new(written.path().join("data"), written.path().join("run"));
    options.clock = Arc::new(ManualClock::at(at));
    let store = Store::open(options).await.unwrap();
    store.append(&id("s"), 0, &records(), Durability::Written).await.unwrap();
    let wanted = rows(&written.path().join("data"));
    assert_eq!(wanted.len(), 10);
    assert_eq!(wanted[0], format!(r#"["s",3,1,{},"p","m",10,4,3,5,2,7,0,null]"#, at.as_millisecond()));
    // From the second version on, the rows are written with their records.
    for version in 1..2 {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        std::fs::create_dir_all(&data).unwrap();
        let old = Connection::open(database(&data)).unwrap();
        for migration in &MIGRATIONS[..version] {
            old.execute_batch(migration).unwrap();
        }
        old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        old.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
        let now = at.as_millisecond();
        old.execute(
            "INSERT INTO sessions (id, workspace, created, updated) VALUES ('s', '/w', ?1, ?1)",
            [now],
        )
        .unwrap();
        for (no, record) in (1_i64..).zip(records()) {
            let json = serde_json::to_value(&record).unwrap();
            let kind = json["record"].as_str().unwrap().to_owned();
            let insert = "INSERT INTO records (session, no, at, kind, json) VALUES ('s', ?1, ?2, ?3, ?4)";
            old.execute(insert, rusqlite::params![no, now, kind, json.to_string()]).unwrap();
        }
        drop(old);
        let options = StoreOptions::new(data.clone(), dir.path().join("run"));
        drop(Store::open(options).await.unwrap());
        assert_eq!(rows(&data), wanted, "from version {version}");
    }
}

/// A store with a manual clock and one request per hour; `cost` grows by one each.
async fn hourly(from: &str, hours: u64) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(from.parse().unwrap()));
    let mut options = StoreOptions::new(dir.path().join("data"), dir.path().join("run"));
    options.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = Store::open(options).await.unwrap();
    store.append(&id("s"), 0, &[opened(), turn(1)], Durability::Written).await.unwrap();
    for hour in 0..hours {
        let record = request("m", tokens(100, 10), Some(hour + 1), None);
        store.append(&id("s"), hour + 2, &[record], Durability::Written).await.unwrap();
        clock.advance(Duration::from_secs(3_600));
    }
    (dir, store)
}

#[tokio::test]
async fn days_are_those_of_the_place() {
    let (_dir, store) = hourly("2026-03-28T20:30:00Z", 30).await;
    let days = |zone: &'static str| {
        let store = store.clone();
        async move {
            let zone = TimeZone::posix(zone).unwrap();
            let days = store.usage_by_day(Timestamp::UNIX_EPOCH, zone).await.unwrap();
            let words = |(day, total): &(jiff::civil::Date, StoredUsage)| format!("{day} {}", total.requests);
            days.iter().map(words).collect::<Vec<_>>().join(", ")
        }
    };
    assert_eq!(days("UTC0").await, "2026-03-30 2, 2026-03-29 24, 2026-03-28 4");
    // Daylight saving time begins: that day has 23 hours.
    assert_eq!(days("CET-1CEST,M3.5.0,M10.5.0/3").await, "2026-03-30 4, 2026-03-29 23, 2026-03-28 3");
    assert_eq!(days("NPT-5:45").await, "2026-03-30 8, 2026-03-29 22");
}

#[tokio::test]
async fn sums_begin_where_they_are_told() {
    let (_dir, store) = hourly("2026-03-28T20:30:00Z", 6).await;
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    for (since, requests, usd) in [
        ("1970-01-01T00:00:00Z", 6, 21),
        ("2026-03-28T23:30:00Z", 3, 15),
        ("2026-03-28T23:30:00.001Z", 2, 11),
        ("2026-03-29T01:30:01Z", 0, 0),
    ] {
        let used = UsageTotals { requests, tokens: u64::from(requests) * 110, usd: Usd(usd), unpriced: 0 };
        assert_eq!(store.used_since(at(since)).await.unwrap(), used, "{since}");
    }
    // The sums of a day are in an index: no row of the table is read.
    let plan: String = store
        .read(|reader| {
            let explain =
                "EXPLAIN QUERY PLAN SELECT sum(input), sum(output), sum(cost), sum(unpriced) FROM usage
                WHERE at >= 5";
            Ok(reader.query_row(explain, [], |row| row.get(3)).unwrap())
        })
        .await
        .unwrap();
    assert!(plan.contains("USING COVERING INDEX usage_by_time"), "{plan}");
}

#[tokio::test]
async fn sums_are_by_model_session_turn_and_request() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(StoreOptions::new(dir.path().join("d"), dir.path().join("r"))).await.unwrap();
    let first = [
        opened(),
        turn(1),
        request("a", tokens(10, 1), Some(5), None),
        request("b", tokens(20, 2), Some(50), None),
        turn(2),
        request("a", tokens(30, 3), None, None),
        request("a", None, None, Some(ErrorClass::Overloaded)),
    ];
    store.append(&id("one"), 0, &first, Durability::Written).await.unwrap();
    let second = [opened(), turn(1), request("b", tokens(40, 4), Some(500), None)];
    store.append(&id("two"), 0, &second, Durability::Written).await.unwrap();
    let listed = |of: UsageOf| {
        let store = store.clone();
        async move {
            let models = store.usage_by_model(of).await.unwrap();
            let word = |(UsedModel { model, .. }, total): &(UsedModel, StoredUsage)| {
                format!("{model} {}/{} {} {}", total.requests, total.failed, total.input, total.cost_words())
            };
            models.iter().map(word).collect::<Vec<_>>().join(", ")
        }
    };
    let epoch = Timestamp::UNIX_EPOCH;
    let a = "a 3/1 40 at least $0.000000005 (1 request of unknown price)";
    assert_eq!(listed(UsageOf::Since(epoch)).await, format!("b 2/0 60 $0.00000055, {a}"));
    assert_eq!(listed(UsageOf::Session(id("one"))).await, format!("b 1/0 20 $0.000000050, {a}"));
    assert_eq!(listed(UsageOf::Turn(id("one"))).await, "a 2/1 30 unknown");
    assert_eq!(listed(UsageOf::Last(id("one"))).await, "a 1/1 0 $0.00");
    assert_eq!(listed(UsageOf::Last(id("none"))).await, "");
    let sessions = store.usage_by_session(epoch).await.unwrap();
    let sessions: Vec<_> = sessions.iter().map(|(session, total)| (&*session.id.0, total.requests)).collect();
    assert_eq!(sessions, [("two", 1), ("one", 4)]);
}

#[test]
fn sums_claim_no_more_than_is_known() {
    for (cost, unpriced, words) in [
        (0, 0, "$0.00"),
        (1_200_000_000, 0, "$1.20"),
        (0, 3, "unknown"),
        (1_200_000_000, 1, "at least $1.20 (1 request of unknown price)"),
        (1_200_000_000, 3, "at least $1.20 (3 requests of unknown price)"),
    ] {
        assert_eq!(StoredUsage { cost: Usd(cost), unpriced, ..StoredUsage::default() }.cost_words(), words);
    }
}
