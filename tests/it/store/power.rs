//! A power cut: what was synced is there, whatever became of the writes after it.
//!
//! Simulated on copies of the files while the database is open: the log is cut somewhere after its last sync, some blocks
//! of 4 KiB after it never reached the disk, and so did not the files that are never synced.

use std::fs;
use std::path::Path;

use co::approval::{Approval, Decider, RequestId};
use co::history::{Durability, Record, TurnEnd};
use co::message::ReturnStatus;
use co::session::Session;
use co::store::{Store, StoreOptions};
use proptest::prelude::*;

use crate::store::common::{World, asked, ended, finished, started, turn_with};

/// The unit in which writes get lost, in bytes.
const BLOCK: usize = 4096;

/// The records that one step of a turn adds, and whether its effects need them on the disk.
fn step(turn: usize, step: usize) -> (Vec<Record>, Durability) {
    let (call, request) = (format!("c{turn}"), format!("r{turn}"));
    match step {
        0 => (turn_with(&format!("prompt{turn}"), &[&call]), Durability::Written),
        1 => (vec![asked(&call, &request)], Durability::Written),
        2 => (vec![started(&call)], Durability::Synced),
        3 => (vec![finished(&call, ReturnStatus::Ok)], Durability::Written),
        _ => (vec![ended(TurnEnd::Completed)], Durability::Written),
    }
}

/// The records that a power cut loses.
#[derive(Debug, Clone)]
struct Loss {
    /// The cut is after so many steps.
    after: usize,
    /// The share of the log after its last sync that remains.
    remains: f64,
    /// For each block of that part, in turn: whether it never reached the disk.
    holes: Vec<bool>,
    /// Whether the small files beside the database are lost.
    beside: bool,
}

fn loss() -> impl Strategy<Value = Loss> {
    (1..60_usize, 0.0..=1.0, prop::collection::vec(prop::bool::weighted(0.3), 1..8), any::<bool>())
        .prop_map(|(after, remains, holes, beside)| Loss { after, remains, holes, beside })
}

/// Copies the files as they would be found after the cut.
fn copy(from: &Path, to: &Path, synced: usize, loss: &Loss) {
    fs::create_dir_all(to).unwrap();
    fs::copy(from.join("co.db"), to.join("co.db")).unwrap();
    let mut log = fs::read(from.join("co.db-wal")).unwrap();
    let unsynced = log.len() - synced;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share"
    )]
    log.truncate(synced + (unsynced as f64 * loss.remains) as usize);
    for (block, lost) in log[synced..].chunks_mut(BLOCK).zip(loss.holes.iter().cycle()) {
        if *lost {
            block.fill(0);
        }
    }
    fs::write(to.join("co.db-wal"), log).unwrap();
    if !loss.beside {
        fs::copy(from.join("audit.head"), to.join("audit.head")).ok();
    }
}

async fn cut(loss: Loss) {
    let world = World::new();
    let store = world.store().await;
    let data = world.path("data");
    let mut session = Session::create(&store, Path::new("/w")).await.unwrap();
    let length = || usize::try_from(fs::metadata(data.join("co.db-wal")).unwrap().len()).unwrap();
    let (mut synced, mut safe) = (0, 0);
    for at in 0..loss.after {
        let (records, durability) = step(at / 5, at % 5);
        session.commit(&records, durability).await.unwrap();
        let mut is_synced = durability == Durability::Synced;
        if at % 5 == 1 {
            let request = RequestId(format!("r{}", at / 5));
            store.decide(&request, Approval::yes(), Decider::Tui).await.unwrap();
            session.consume_decisions().await.unwrap();
            is_synced = true;
        }
        if is_synced {
            (synced, safe) = (length(), session.history().len());
        }
    }
    let whole = store.load(session.id()).await.unwrap();
    let found = world.path("found");
    copy(&data, &found, synced, &loss);
    let after = Store::open(StoreOptions::new(&found, world.path("run2"))).await.unwrap();
    let records = match after.load(session.id()).await {
        Ok(records) => records,
        Err(co::store::StoreError::NotFound { .. }) => Vec::new(),
        Err(error) => panic!("{error}"),
    };
    assert!(records.len() >= usize::try_from(safe).unwrap(), "{} of {safe} records remain", records.len());
    assert_eq!(records, whole[..records.len()], "what remains is a beginning of what was written");
    let audit = after.verify_audit(None).await.unwrap();
    let is_sound = match audit.finding {
        None => true,
        Some(co::store::AuditFinding::NoHead) => loss.beside || safe == 0,
        Some(_) => false,
    };
    assert!(is_sound, "{:?}", audit.finding);
    if !records.is_empty() {
        let mut again = Session::open(&after, session.id()).await.unwrap();
        again.commit(&turn_with("afterwards", &[]), Durability::Synced).await.unwrap();
        assert_eq!(after.search("afterwards", 1).await.unwrap().len(), 1);
        let said = records.iter().filter(|record| matches!(record, Record::TurnStarted { .. })).count();
        let prompts = (0..said).map(|turn| format!("prompt{turn}"));
        for prompt in prompts {
            assert_eq!(after.search(&prompt, 1).await.unwrap().len(), 1, "{prompt} is in the index");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_power_cut_takes_nothing_that_was_synced(loss in loss()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(cut(loss));
    }
}
