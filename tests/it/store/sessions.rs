//! Sessions: owned by one, read by all, listed, poisoned by a failed write, and quick to load.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use co::approval::{Decider, RequestId};
use co::history::{Durability, Limits, Record, SessionId, TurnEnd};
use co::message::{Message, ReturnStatus, UserPart};
use co::session::{Session, SessionError};
use co::stdx::clock::{Clock, ManualClock};
use co::store::{IdKind, InputScope, RequestFilter, SessionFilter, Store, StoreError};
use futures::FutureExt as _;
use jiff::Timestamp;
use memchr::memmem;

use crate::store::common::{World, asked, deny, ended, finished, turn_with};

async fn create(store: &Store, workspace: &str) -> Session {
    Session::create(store, Path::new(workspace)).await.unwrap()
}

async fn commit(session: &mut Session, records: &[Record]) {
    session.commit(records, Durability::Written).await.unwrap();
}

#[tokio::test]
async fn a_session_has_one_owner_and_many_readers() {
    let world = World::new();
    let (here, there) = (world.store().await, world.store().await);
    let mut session = create(&here, "/w").await;
    commit(&mut session, &turn_with("hello", &[])).await;
    let id = session.id().clone();
    for store in [&here, &there] {
        match Session::open(store, &id).await.err() {
            Some(SessionError::Owned { id: owned, owner: Some(owner) }) => {
                assert_eq!((owned, owner.pid), (id.clone(), std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(Session::read(store, &id).await.unwrap().len(), session.history().len());
    }
    let before = format!("{:?}", session.history());
    drop(session);
    let mut session = Session::open(&there, &id).await.unwrap();
    assert_eq!(format!("{:?}", session.history()), before);
    commit(&mut session, &[ended(TurnEnd::Completed)]).await;
    assert_eq!(Session::read(&here, &id).await.unwrap().last_end(), Some(&TurnEnd::Completed));
}

#[tokio::test]
async fn an_empty_session_leaves_nothing_behind() {
    let world = World::new();
    let store = world.store().await;
    let mut session = create(&store, "/w").await;
    assert_eq!((session.history().len(), session.history().workspace()), (1, Path::new("/w")));
    commit(&mut session, &[]).await;
    assert_eq!(session.consume_decisions().await.unwrap(), []);
    let id = session.id().clone();
    drop(session);
    assert_eq!(store.sessions(SessionFilter::All, 10).await.unwrap(), []);
    let missing = StoreError::NotFound { what: IdKind::Session, prefix: id.0.clone() };
    assert_eq!(Session::open(&store, &id).await.err(), Some(missing.into()));
    let mut locks: Vec<_> =
        std::fs::read_dir(world.path("data/locks")).unwrap().map(|e| e.unwrap().file_name()).collect();
    locks.sort_unstable();
    assert_eq!(locks, ["open", "users"], "of the database, none of the session");
    // An id is never a way to another file.
    let id = SessionId("../../run/x".to_owned());
    let missing = StoreError::NotFound { what: IdKind::Session, prefix: id.0.clone() };
    assert_eq!(Session::open(&store, &id).await.err(), Some(missing.into()));
    assert!(!world.path("run/x.lock").exists());
}

#[tokio::test]
async fn sessions_are_listed_named_and_found() {
    let world = World::new();
    let clock = Arc::new(ManualClock::at("2026-11-21T12:00:00Z".parse().unwrap()));
    let mut options = world.options();
    options.clock = Arc::<ManualClock>::clone(&clock);
    let store = Store::open(options).await.unwrap();
    let mut one = create(&store, "/one").await;
    let note = Message::note(co::message::NoteKind::Abort, "stopped");
    commit(&mut one, &[Record::said(note)]).await;
    commit(&mut one, &turn_with("\n  tidy\tthe \u{1b}[31minbox  \nand more", &["a"])).await;
    clock.advance(Duration::from_secs(60));
    let mut two = create(&store, "/two").await;
    commit(&mut two, &turn_with("second", &[])).await;
    commit(&mut two, &[Record::Renamed { title: "given".to_owned() }, ended(TurnEnd::Completed)]).await;
    clock.advance(Duration::from_secs(60));
    commit(
        &mut one,
        &[asked("a", "1"), Record::TurnStarted { turn: 7, limits: Limits::default(), trace: None }],
    )
    .await;
    commit(&mut two, &turn_with("not a title", &[])).await;

    let shown = async |filter| -> Vec<String> {
        let list = store.sessions(filter, 10).await.unwrap();
        let line = |one: &co::store::SessionSummary| {
            let end = one.last_end.as_ref().map_or("-".to_owned(), |end| format!("{end:?}"));
            let seconds = one.updated.as_second() - one.created.as_second();
            let title = one.title.as_deref().unwrap_or("-");
            format!("{} '{title}' {seconds} {} {end} {}", one.workspace.display(), one.turns, one.waiting)
        };
        list.iter().map(line).collect()
    };
    let (first, second) = ("/one 'tidy the ␛[31minbox …' 120 7 - 1", "/two 'given' 60 1 - 0");
    assert_eq!(shown(SessionFilter::All).await, [second, first]);
    assert_eq!(shown(SessionFilter::Folder("/one".into())).await, [first]);
    assert_eq!(shown(SessionFilter::Waiting).await, [first]);
    commit(&mut one, &[ended(TurnEnd::Deferred)]).await;
    assert_eq!(shown(SessionFilter::Waiting).await, ["/one 'tidy the ␛[31minbox …' 120 7 Deferred 1"]);

    assert_eq!(store.latest_session(Path::new("/two")).await.unwrap().as_ref(), Some(two.id()));
    assert_eq!(store.latest_session(Path::new("/none")).await.unwrap(), None);
    assert_eq!(store.find_session(&two.id().0).await.unwrap(), *two.id());
    assert!(one.id() < two.id(), "ids are in the order of time");
    let both = matches!(store.find_session("0").await, Err(StoreError::Ambiguous { candidates, .. }) if candidates.len() == 2);
    assert!(both);
    let missing = StoreError::NotFound { what: IdKind::Session, prefix: "f".to_owned() };
    assert_eq!(store.find_session("F").await, Err(missing));
}

#[tokio::test]
async fn a_full_disk_poisons_the_session_and_keeps_what_was_stored() {
    let world = World::new();
    let mut options = world.options();
    options.max_pages = Some(60);
    let store = Store::open(options).await.unwrap();
    let mut session = create(&store, "/w").await;
    commit(&mut session, &turn_with("hello", &["a"])).await;
    let before = (store.load(session.id()).await.unwrap(), session.history().len());
    let big = Record::Draft { text: "x".repeat(1_000_000) };
    let full = StoreError::Full { folder: world.path("data") };
    let commit = session.commit(&[asked("a", "1"), big], Durability::Written).await;
    assert_eq!(commit, Err(full.clone()));
    let poisoned = StoreError::Poisoned { cause: full.to_string() };
    assert_eq!(session.commit(&[Record::Cleared], Durability::Written).await, Err(poisoned.clone()));
    assert_eq!(session.commit(&[], Durability::Written).await, Err(poisoned.clone()));
    assert_eq!(session.consume_decisions().await, Err(poisoned));
    assert_eq!((store.load(session.id()).await.unwrap(), session.history().len()), before);
    assert_eq!(store.requests(RequestFilter::All, 9).await.unwrap(), []);
    // Small things still fit, for those who open the session again.
    let id = session.id().clone();
    drop(session);
    let mut session = Session::open(&store, &id).await.unwrap();
    session.commit(&[asked("a", "1")], Durability::Synced).await.unwrap();
}

/// Interrupts a write before its end: the store asks for the time inside every transaction.
#[derive(Default)]
struct Gate(Mutex<()>);

impl Clock for Gate {
    fn now(&self) -> Timestamp {
        let _open = self.0.lock();
        Timestamp::UNIX_EPOCH
    }
}

#[tokio::test]
async fn a_commit_that_was_cut_off_poisons_the_session() {
    let world = World::new();
    let gate = Arc::new(Gate::default());
    let mut options = world.options();
    options.clock = Arc::<Gate>::clone(&gate);
    let store = Store::open(options).await.unwrap();
    let mut session = create(&store, "/w").await;
    commit(&mut session, &turn_with("hello", &[])).await;
    {
        let _shut = gate.0.lock();
        assert!(session.commit(&[Record::Cleared], Durability::Synced).now_or_never().is_none());
    }
    let poisoned = StoreError::Poisoned { cause: "a write was cut off".to_owned() };
    assert_eq!(session.commit(&[Record::Cleared], Durability::Written).await, Err(poisoned));
}

#[tokio::test]
async fn a_session_that_somebody_else_wrote_is_out_of_step() {
    let world = World::new();
    let store = world.store().await;
    let mut session = create(&store, "/w").await;
    commit(&mut session, &turn_with("hello", &[])).await;
    let id = session.id().clone();
    store.append(&id, 4, &[Record::Cleared], Durability::Written).await.unwrap();
    let error = StoreError::OutOfStep { session: id, expected: 4, found: 5 };
    assert_eq!(session.commit(&[Record::Cleared], Durability::Written).await, Err(error));
}

#[tokio::test]
async fn secrets_reach_no_file() {
    let secret = "sk-live-0123456789";
    let world = World::new();
    let mut options = world.options();
    options.secrets = vec![secret.to_owned(), "short".to_owned()];
    let store = Store::open(options).await.unwrap();
    let mut session = create(&store, "/w").await;
    commit(&mut session, &turn_with(&format!("my key is {secret}, short"), &["a"])).await;
    let Record::Asked { call, mut request } = asked("a", "1") else { unreachable!("asked asks") };
    request.plan.summary = format!("send {secret}");
    request.args = serde_json::json!({ secret: [secret] });
    let renamed = Record::Renamed { title: format!("about {secret}") };
    commit(&mut session, &[Record::Asked { call, request }, renamed]).await;
    store.decide(&RequestId("1".to_owned()), deny(secret), Decider::Cli).await.unwrap();
    session.consume_decisions().await.unwrap();
    store.remember_input(Path::new("/w"), &format!("use {secret}")).await.unwrap();
    assert_eq!(store.inputs(InputScope::All, 5).await.unwrap(), ["use [redacted]"]);
    let prompt = Message::user("my key is [redacted], short");
    assert_eq!(Session::read(&store, session.id()).await.unwrap().messages().next(), Some(&prompt));
    let shown = store.find_request("1").await.unwrap();
    assert_eq!(shown.request.args, serde_json::json!({ "[redacted]": ["[redacted]"] }));
    assert_eq!(shown.title.as_deref(), Some("about [redacted]"));
    for file in std::fs::read_dir(world.path("data")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.is_file() {
            let bytes = std::fs::read(&file).unwrap();
            let leaked = memmem::find(&bytes, secret.as_bytes()).is_some();
            assert!(!leaked, "{}", file.display());
        }
    }
}

#[tokio::test]
async fn typed_lines_are_kept_per_folder_without_repeats() {
    let world = World::new();
    let store = world.store().await;
    for (folder, text) in [("/a", "one"), ("/a", "two"), ("/a", "two"), ("/b", "three"), ("/a", "one")] {
        store.remember_input(Path::new(folder), text).await.unwrap();
    }
    assert_eq!(store.inputs(InputScope::All, 10).await.unwrap(), ["one", "three", "two", "one"]);
    assert_eq!(store.inputs(InputScope::All, 2).await.unwrap(), ["one", "three"]);
    assert_eq!(store.inputs(InputScope::Folder("/a".into()), 10).await.unwrap(), ["one", "two", "one"]);
    assert_eq!(store.inputs(InputScope::Folder("/c".into()), 10).await.unwrap(), [""; 0]);
}

/// The files on the disk right after a commit, without any closing, are those that a killed process leaves.
#[tokio::test]
async fn everything_committed_survives_a_kill() {
    let world = World::new();
    let store = world.store().await;
    let mut session = create(&store, "/w").await;
    let steps = [
        turn_with("hello", &["a"]),
        vec![asked("a", "1")],
        vec![finished("a", ReturnStatus::Undecided)],
        vec![ended(TurnEnd::Completed)],
    ];
    for (number, step) in steps.iter().enumerate() {
        commit(&mut session, step).await;
        let image = World::new();
        std::fs::create_dir(image.path("data")).unwrap();
        for file in ["co.db", "co.db-wal"] {
            std::fs::copy(world.path("data").join(file), image.path("data").join(file)).unwrap();
        }
        let survivor = image.store().await;
        let (kept, wanted) =
            (survivor.load(session.id()).await.unwrap(), store.load(session.id()).await.unwrap());
        assert_eq!(kept, wanted, "after step {number}");
        assert_eq!(
            survivor.changes_since(0).await.unwrap(),
            store.changes_since(0).await.unwrap(),
            "after step {number}"
        );
    }
}

/// Ten thousand records of a kilobyte load within seconds even unoptimised; a quadratic load would take minutes.
#[tokio::test]
async fn big_sessions_load_quickly() {
    let world = World::new();
    let store = world.store().await;
    let mut session = create(&store, "/w").await;
    let text = "0123456789abcdef".repeat(64);
    let message = Message::User { parts: vec![UserPart::Text { text }] };
    let records = vec![Record::said(message); 1_000];
    for _ in 0..10 {
        commit(&mut session, &records).await;
    }
    let begun = Instant::now();
    let history = Session::read(&store, session.id()).await.unwrap();
    assert_eq!(history.messages().count(), 10_000);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// The clock is an hour, a day or years from where it was while two sessions are used in turn.
#[tokio::test]
async fn the_latest_session_is_the_one_used_last_whatever_the_clock_says() {
    let start: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
    for hours in [0, -1, -24, 24 * 365, -24 * 365 * 9] {
        let world = World::new();
        let clock = Arc::new(ManualClock::at(start));
        let store = world.store_at(&clock).await;
        let (mut one, mut two) = (create(&store, "/w").await, create(&store, "/w").await);
        commit(&mut one, &turn_with("one", &[])).await;
        commit(&mut two, &turn_with("two", &[])).await;
        let latest = async || store.latest_session(Path::new("/w")).await.unwrap();
        assert_eq!(latest().await.as_ref(), Some(two.id()), "{hours}");
        clock.set(start + jiff::SignedDuration::from_hours(hours));
        commit(&mut one, &[Record::Renamed { title: "first".to_owned() }]).await;
        assert_eq!(latest().await.as_ref(), Some(one.id()), "{hours}");
        clock.set(start + Duration::from_secs(60));
        commit(&mut two, &[Record::Draft { text: "more".to_owned() }]).await;
        assert_eq!(latest().await.as_ref(), Some(two.id()), "{hours}");
        let listed = store.listed_sessions(SessionFilter::All, 10).await.unwrap();
        let named: Vec<_> = listed.iter().map(|one| one.title.as_deref().unwrap_or_default()).collect();
        assert_eq!(named, ["two", "first"], "{hours}");
        // The order of the records is the order of their numbers.
        let read = Session::read(&store, one.id()).await.unwrap();
        assert_eq!((read.len(), read.title()), (one.history().len(), Some("first")), "{hours}");
    }
}
