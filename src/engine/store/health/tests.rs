//! How a database was closed, and its copies.

use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use rusqlite::params;

use super::*;
use crate::store::schema::{database, open_writer};

/// Makes a cleanly closed database with `records` records per session, all in one file.
pub(in crate::store) fn closed(data: &Path, sessions: &[&str], records: i64) {
    let (connection, presence) = open_writer(data, |_| None).unwrap();
    let draft = format!(r#"{{"record":"draft","text":"{}"}}"#, "words of a draft ".repeat(60));
    for session in sessions {
        let opened = format!(r#"{{"record":"opened","workspace":"/{session}"}}"#);
        let add = "INSERT INTO sessions (id, workspace, created, updated) VALUES (?1, '/' || ?1, 1, 1)";
        connection.execute(add, [session]).unwrap();
        for no in 1..=records {
            let (kind, json) = if no == 1 { ("opened", &opened) } else { ("draft", &draft) };
            let add = "INSERT INTO records VALUES (?1, ?2, 1, ?3, ?4)";
            connection.execute(add, params![session, no, kind, json]).unwrap();
        }
    }
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    drop(presence);
}

#[test]
fn what_nobody_closed_is_checked() {
    type Harm = fn(&File);
    let cut: Harm = |file| file.set_len(file.metadata().unwrap().len() - 5_000).unwrap();
    let flip: Harm = |file| {
        let end = file.metadata().unwrap().len();
        (4_096..end).step_by(4_096).for_each(|at| file.write_all_at(&[0xff; 16], at).unwrap());
    };
    let nothing: Harm = |_| {};
    // The damage to the file; whether the mark of the last close still exists; whether it opens.
    for (what, harm, is_marked, opens) in [
        ("nothing", nothing, true, true),
        ("nothing", nothing, false, true),
        ("cut", cut, true, false),
        ("cut", cut, false, false),
        ("flipped", flip, false, false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        closed(&data, &["s"], 200);
        assert!(closed_well(&data));
        let file = File::options().write(true).open(database(&data)).unwrap();
        harm(&file);
        if !is_marked {
            fs::remove_file(mark(&data)).unwrap();
        }
        let before = fs::read(database(&data)).unwrap();
        let opened = open_writer(&data, |_| None);
        assert_eq!(opened.is_ok(), opens, "{what}, marked: {is_marked}");
        if let Err(error) = opened {
            assert!(matches!(error, StoreError::Corrupt { .. }), "{what}: {error}");
            assert!(error.to_string().contains("co doctor"), "{error}");
            assert!(open_writer(&data, |_| None).is_err(), "{what}: and not at the second try either");
            assert_eq!(fs::read(database(&data)).unwrap(), before, "{what}: nothing is written into it");
        }
    }
}

#[test]
fn the_mark_is_there_only_while_nobody_has_it_open() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    closed(&data, &["s"], 1);
    let one = open_writer(&data, |_| None).unwrap();
    let other = open_writer(&data, |_| None).unwrap();
    assert!(!mark(&data).exists());
    drop(one);
    assert!(!mark(&data).exists(), "another has it open");
    drop(other);
    assert!(mark(&data).exists());
}

#[test]
fn a_copy_is_made_each_day_and_three_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    closed(&data, &["s"], 4);
    let mut now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    let mut made = Vec::new();
    for day in 0..5 {
        let copy = copy_if_due(&data, now).unwrap().expect("one is due");
        // File times come from the machine, not from the test's clock.
        File::options().write(true).open(&copy).unwrap().set_modified(now.into()).unwrap();
        assert_eq!(copy_if_due(&data, now).unwrap(), None, "day {day}");
        made.push(copy);
        now += Duration::from_secs(25 * 3_600);
    }
    made.reverse();
    let kept: Vec<PathBuf> = copies(&data).into_iter().map(|copy| copy.path).collect();
    assert_eq!(kept, made[..3]);
    let copy = Connection::open(&kept[0]).unwrap();
    let records: i64 = copy.query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    assert_eq!(records, 4);
    // A damaged database never replaces an intact copy.
    File::options().write(true).open(database(&data)).unwrap().write_all_at(&[0xff; 4_096], 4_096).unwrap();
    assert!(copy_if_due(&data, now).is_err());
    assert_eq!(copies(&data).len(), 3);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    closed(&data, &["a", "b"], 3);
    let options = || crate::store::StoreOptions::new(&data, dir.path().join("run"));
    // With a log beside the copy, and without.
    for log in [false, true] {
        let held = log.then(|| {
            let (connection, presence) = open_writer(&data, |_| None).unwrap();
            connection.execute("UPDATE sessions SET title = 'x'", []).unwrap();
            (connection, presence)
        });
        let store = Store::open_read_only(options()).await.unwrap();
        let listed = store.sessions(crate::store::SessionFilter::All, 10).await.unwrap();
        assert_eq!(listed.len(), 2, "log: {log}");
        assert_eq!(listed[0].title.is_some(), log);
        assert_eq!(store.expire_due().await, Ok(0));
        let refused = store.note(crate::store::AuditNote::Stance { text: "x".to_owned() }).await;
        assert_eq!(refused, Err(StoreError::ReadOnly { folder: data.clone() }));
        drop(held);
    }
    assert!(!dir.path().join("run").exists(), "nothing is made");
}
