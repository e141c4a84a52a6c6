//! Full-text search: what is found in which session, what is masked, and what a deletion leaves.

use std::path::Path;

use co::history::{Durability, Record, SessionId, TurnEnd};
use co::message::{CallId, Message, ReturnStatus, ToolReturn};
use co::session::Session;
use co::store::{SessionFilter, Store, StoreOptions};

use crate::store::common::{World, turn_with};

async fn session(store: &Store, prompt: &str, more: &[Record]) -> SessionId {
    let mut session = Session::create(store, Path::new("/w")).await.unwrap();
    let records: Vec<Record> = turn_with(prompt, &["c"]).into_iter().chain(more.iter().cloned()).collect();
    session.commit(&records, Durability::Written).await.unwrap();
    session.id().clone()
}

fn returned(text: &str) -> Record {
    let call = CallId("c".to_owned());
    Record::ToolFinished { returned: ToolReturn::program(call, ReturnStatus::Ok, text) }
}

#[tokio::test]
async fn words_are_found_in_what_was_said_called_and_returned() {
    let world = World::new();
    let store = world.store().await;
    let invoice = session(&store, "Where is the invoice of Dana?", &[]).await;
    let tests = session(&store, "run them", &[returned("test result: FAILED. 3 passed")]).await;
    let again =
        session(&store, "invoices of Mäy, please", &[Record::Renamed { title: "spring".into() }]).await;
    let secret = session(&store, "my key is sk-ant-api03-abcdefghijklmnop1234 indeed", &[]).await;
    let long = format!("{} needle at the end", "hay ".repeat(200));
    let far = session(&store, &long, &[]).await;
    let below = session(&store, "{\"a\": 1}\n\nA thimble below.", &[]).await;
    for (words, expected) in [
        ("invoice", vec![&again, &invoice]),
        ("INVOICE dana", vec![&invoice]),
        ("may", vec![&again]),
        ("spring", vec![&again]),
        ("fail", vec![&tests]),
        ("write_file c", vec![&below, &far, &secret, &again, &tests, &invoice]),
        ("abcdefghijklmnop1234", vec![]),
        ("needle", vec![&far]),
        ("thimble", vec![&below]),
        ("nothing of this", vec![]),
        ("\" OR NEAR( *", vec![]),
        ("  ", vec![]),
    ] {
        let found = store.search(words, 10).await.unwrap();
        assert_eq!(found.iter().map(|one| &one.id).collect::<Vec<_>>(), expected, "{words}");
    }
    assert_eq!(store.search("invoice", 1).await.unwrap().len(), 1);
    let snippet = |found: Vec<co::store::FoundSession>| found[0].snippet.clone();
    assert_eq!(snippet(store.search("dana", 1).await.unwrap()), "Where is the invoice of Dana?");
    assert_eq!(snippet(store.search("indeed", 1).await.unwrap()), "my key is [masked] indeed");
    assert!(snippet(store.search("needle", 1).await.unwrap()).ends_with("hay needle at the end"));
    assert_eq!(snippet(store.search("thimble", 1).await.unwrap()), "{\"a\": 1} A thimble below.");
    // The record keeps its bytes.
    let history = Session::read(&store, &secret).await.unwrap();
    assert_eq!(
        history.messages().next(),
        Some(&Message::user("my key is sk-ant-api03-abcdefghijklmnop1234 indeed"))
    );
}

#[tokio::test]
async fn a_deleted_session_is_found_nowhere() {
    let world = World::new();
    let store = world.store().await;
    let (gone, stays) = (session(&store, "an invoice", &[]).await, session(&store, "an invoice", &[]).await);
    store.delete_session(&gone, co::store::RequestRetention::Deleted).await.unwrap();
    let found = store.search("invoice", 10).await.unwrap();
    assert_eq!(found.iter().map(|one| &one.id).collect::<Vec<_>>(), [&stays]);
    assert_eq!(store.sessions(SessionFilter::All, 10).await.unwrap().len(), 1);
    assert!(Session::open(&store, &gone).await.is_err());
    assert_eq!(store.verify_audit(None).await.unwrap().finding, None);
}

/// Reads are not indexed one by one; none is lost with its process.
#[tokio::test]
async fn what_was_committed_last_is_found_by_its_own_process_and_after_a_kill() {
    let world = World::new();
    let store = world.store().await;
    let own = session(&store, "look", &[]).await;
    let mut open = Session::open(&store, &own).await.unwrap();
    open.commit(&[returned("a needle")], Durability::Written).await.unwrap();
    // As a kill leaves the files: another folder with what is on the disk.
    let killed = world.path("killed");
    std::fs::create_dir(&killed).unwrap();
    for file in ["co.db", "co.db-wal"] {
        std::fs::copy(world.path("data").join(file), killed.join(file)).unwrap();
    }
    let indexed = |data: &Path| {
        let raw = rusqlite::Connection::open(data.join("co.db")).unwrap();
        let count = "SELECT count(*) FROM words WHERE words MATCH 'needle'";
        raw.query_row(count, [], |row| row.get::<_, u32>(0)).unwrap()
    };
    assert_eq!(indexed(&killed), 0, "not yet indexed");
    let after = Store::open(StoreOptions::new(killed.clone(), world.path("run2"))).await.unwrap();
    for (store, data) in [(&store, world.path("data")), (&after, killed)] {
        for _ in 0..2 {
            let found = store.search("needle", 10).await.unwrap();
            assert_eq!(found.iter().map(|one| &one.id).collect::<Vec<_>>(), [&own]);
        }
        assert_eq!(indexed(&data), 1, "once");
    }
    open.commit(&[returned("a thread")], Durability::Written).await.unwrap();
    let ended = Record::TurnEnded { end: TurnEnd::Completed };
    open.commit(&[ended], Durability::Written).await.unwrap();
    let other = world.store().await;
    assert_eq!(other.search("thread", 10).await.unwrap().len(), 1, "found by another process");
    // A text of a session that is deleted before it is indexed is not indexed at all.
    open.commit(&[returned("a needle")], Durability::Written).await.unwrap();
    drop(open);
    store.delete_session(&own, co::store::RequestRetention::Deleted).await.unwrap();
    assert!(store.search("needle", 10).await.unwrap().is_empty());
    assert_eq!(indexed(&world.path("data")), 0);
}
