//! Figures of what has been said: the list of 10,000 sessions with 1,000,000 messages, a search in it, and the end of a
//! session of 10,000 messages.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use co::history::{Durability, Limits, Record, SessionId, TurnEnd};
use co::message::{AssistantMessage, AssistantPart, Message, PartKind, StopKind, StopReason};
use co::session::Session;
use co::store::{Store, StoreOptions};

use super::report::{Goal, Report};
use super::stage::{Binary, Stage, ms};

const SESSIONS: usize = 10_000;
const TURNS: usize = 50;

/// Whatever is done after a frame is not part of what follows.
const REST: Duration = Duration::from_millis(300);
const ROUNDS: usize = 15;

/// Records of turns in which nothing is called; `rare` is said once, in the last turn.
fn turns(session: usize, count: usize, rare: &str) -> Vec<Record> {
    let turn = |number: usize| {
        let words =
            format!("answer {number} of {session}: the build passed, three warnings are left to mend");
        let last = if number + 1 == count { rare } else { "" };
        let text = PartKind::Text { text: format!("{words} {last}") };
        let reply = AssistantMessage {
            parts: vec![AssistantPart::new(text)],
            asked: String::new(),
            model: "bench".to_owned(),
            stop: StopReason::new(StopKind::EndTurn),
        };
        [
            Record::TurnStarted {
                turn: u32::try_from(number + 1).unwrap(),
                limits: Limits::default(),
                trace: None,
            },
            Record::said(Message::user(format!("session {session}: look at build {number}"))),
            Record::said(Message::Assistant(reply)),
            Record::TurnEnded { end: TurnEnd::Completed },
        ]
    };
    (0..count).flat_map(turn).collect()
}

/// Stores such a session; returns its id.
async fn store_session(store: &Store, folder: &Path, number: usize, count: usize, rare: &str) -> String {
    let mut session = Session::create(store, folder).await.unwrap();
    session.commit(&turns(number, count, rare), Durability::Written).await.unwrap();
    session.id().0.clone()
}

/// From the key that asks to the frame that shows, in a process that was just started; the search without a terminal, in
/// this process; the resume from exec.
pub fn sessions(report: &mut Report) {
    let stage = Stage::new(None);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = StoreOptions::new(stage.data(), stage.data().join("run"));
    let store = runtime.block_on(Store::open(options)).unwrap();
    let folder = stage.workspace();
    let long = runtime.block_on(async {
        for number in 0..SESSIONS {
            let rare = if number == SESSIONS / 2 { "zebra" } else { "" };
            store_session(&store, &folder, number, TURNS, rare).await;
        }
        store_session(&store, &folder, SESSIONS, SESSIONS / 2, "THEVERYEND").await
    });

    let ready = |screen: &super::stage::Screen| {
        screen.until_text("── ask ──");
        sleep(REST);
    };
    let listed: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let mut screen = stage.open(Binary::Co, &[]);
            ready(&screen);
            screen.type_in("/resume");
            sleep(REST);
            let start = Instant::now();
            screen.type_in("\r");
            let took = ms(screen.until_text("of 10001").duration_since(start));
            screen.close();
            took
        })
        .collect();
    report.add("10,000 sessions: the list opens", "ms", &listed, &[], Goal::Most(50.0));

    let typed: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let mut screen = stage.open(Binary::Co, &[]);
            ready(&screen);
            screen.type_in("/resume\r");
            screen.until_text("of 10001");
            sleep(REST);
            let start = Instant::now();
            screen.type_in("zebra");
            let took = ms(screen.until_text("· 1 of 10001").duration_since(start));
            screen.close();
            took
        })
        .collect();
    report.add("1,000,000 messages: words typed into the list", "ms", &typed, &[], Goal::Most(50.0));

    for (name, words, found) in
        [("a rare word", "zebra", 1), ("a common word", "warnings", 20), ("the beginning of words", "w", 20)]
    {
        let search = || {
            let start = Instant::now();
            assert_eq!(runtime.block_on(store.search(words, 20)).unwrap().len(), found, "{words}");
            ms(start.elapsed())
        };
        let took: Vec<f64> = (0..ROUNDS).map(|_| search()).collect();
        report.add(&format!("1,000,000 messages: {name} is found"), "ms", &took, &[], Goal::Most(50.0));
    }

    let id = SessionId(long.clone());
    let read = || {
        let start = Instant::now();
        assert_eq!(runtime.block_on(Session::read(&store, &id)).unwrap().messages().count(), SESSIONS);
        ms(start.elapsed())
    };
    let took: Vec<f64> = (0..ROUNDS).map(|_| read()).collect();
    report.add("10,000 messages: read from the store", "ms", &took, &[], Goal::Open);
    let resumed: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let screen = stage.open(Binary::Co, &["resume", &long]);
            let took = ms(screen.until_text("THEVERYEND").duration_since(screen.started));
            screen.close();
            took
        })
        .collect();
    report.add("10,000 messages: a session's end after `co resume`", "ms", &resumed, &[], Goal::Most(50.0));
}
