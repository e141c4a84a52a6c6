//! Full-text search: what is found in which session, what is masked, and what a deletion leaves.

use std::path::Path;

use co::history::{Durability, Record, SessionId};
use co::message::{CallId, Message, ReturnStatus, ToolReturn};
use co::session::Session;
use co::store::{SessionFilter, Store};

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
    for (words, expected) in [
        ("invoice", vec![&again, &invoice]),
        ("INVOICE dana", vec![&invoice]),
        ("may", vec![&again]),
        ("spring", vec![&again]),
        ("fail", vec![&tests]),
        ("write_file c", vec![&far, &secret, &again, &tests, &invoice]),
        ("abcdefghijklmnop1234", vec![]),
        ("needle", vec![&far]),
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
    store.delete_session(&gone, co::store::WithRequests::Deleted).await.unwrap();
    let found = store.search("invoice", 10).await.unwrap();
    assert_eq!(found.iter().map(|one| &one.id).collect::<Vec<_>>(), [&stays]);
    assert_eq!(store.sessions(SessionFilter::All, 10).await.unwrap().len(), 1);
    assert!(Session::open(&store, &gone).await.is_err());
    assert_eq!(store.verify_audit(None).await.unwrap().finding, None);
}
