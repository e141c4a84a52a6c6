//! The database file: ownership, format, permissions, and how database errors are reported.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::records::{self, RecordError};
use super::schema::{APPLICATION_ID, MIGRATIONS, database};
use super::*;
use crate::history::{Durability, Limits, Record, SessionId};

fn options(dir: &Path) -> StoreOptions {
    StoreOptions::new(dir.join("data"), dir.join("run"))
}

fn id() -> SessionId {
    SessionId("s".to_owned())
}

fn opened() -> Record {
    Record::Opened { workspace: "/w".into() }
}

/// Every table, index and column default, as the database reports it.
fn schema(connection: &Connection) -> Vec<String> {
    let mut select =
        connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name").unwrap();
    select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn pragma(connection: &Connection, name: &str) -> i64 {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap()
}

/// A database as left by a program that knew the first `version` migrations.
fn at_version(data: &Path, version: usize) -> Connection {
    fs::create_dir_all(data).unwrap();
    let connection = Connection::open(database(data)).unwrap();
    for migration in &MIGRATIONS[..version] {
        connection.execute_batch(migration).unwrap();
    }
    if version > 0 {
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        connection.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
    }
    connection
}

#[tokio::test]
async fn every_earlier_version_becomes_the_newest() {
    let fresh = tempfile::tempdir().unwrap();
    drop(Store::open(options(fresh.path())).await.unwrap());
    let wanted = schema(&Connection::open(database(&fresh.path().join("data"))).unwrap());
    for table in
        ["sessions", "records", "approvals", "store_seq", "input_history", "usage", "audit", "rule_uses"]
    {
        assert!(wanted.iter().any(|sql| sql.starts_with(&format!("CREATE TABLE {table} "))), "{table}");
    }
    for version in 0..=MIGRATIONS.len() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        drop(at_version(&data, version));
        let store = Store::open(options(dir.path())).await.unwrap();
        store.append(&id(), 0, &[opened()], Durability::Synced).await.unwrap();
        assert_eq!(store.load(&id()).await.unwrap(), [opened()]);
        let raw = Connection::open(database(&data)).unwrap();
        assert_eq!(schema(&raw), wanted, "from version {version}");
        assert_eq!(pragma(&raw, "user_version"), i64::try_from(MIGRATIONS.len()).unwrap());
        assert_eq!(pragma(&raw, "application_id"), i64::from(APPLICATION_ID));
    }
}

/// Opens a data folder in which `prepare` replaced the database; checks the error and that no byte changed.
async fn check_refused(prepare: impl FnOnce(&Path), expected: impl FnOnce(&Path) -> StoreError) {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    prepare(&data);
    let before = fs::read(database(&data)).unwrap();
    let refused = Store::open(options(dir.path())).await.err();
    assert_eq!(refused, Some(expected(&data)));
    assert_eq!(fs::read(database(&data)).unwrap(), before, "left as it is");
}

#[tokio::test]
async fn what_is_not_ours_is_refused_and_left_alone() {
    let foreign = |data: &Path| StoreError::NotADatabase { path: database(data) };
    for bytes in [b"x".as_slice(), b"SQLite", b"SQLite format 2\0 or so", &[0; 8192], &[b'\n'; 300]] {
        check_refused(|data| fs::write(database(data), bytes).unwrap(), foreign).await;
    }
    let other_program = |data: &Path| {
        let raw = Connection::open(database(data)).unwrap();
        raw.execute_batch("CREATE TABLE theirs (a); PRAGMA user_version = 1").unwrap();
    };
    check_refused(other_program, foreign).await;
    let newer = i64::try_from(MIGRATIONS.len()).unwrap() + 1;
    let from_the_future = |data: &Path| {
        at_version(data, MIGRATIONS.len()).pragma_update(None, "user_version", newer).unwrap();
    };
    let refusal = |data: &Path| StoreError::Newer {
        path: database(data),
        found: u32::try_from(newer).unwrap(),
        known: u32::try_from(MIGRATIONS.len()).unwrap(),
    };
    check_refused(from_the_future, refusal).await;
}

#[tokio::test]
async fn damage_is_refused_and_left_alone() {
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(60),
        |bytes| bytes.truncate(16),
        |bytes| bytes[16..100].fill(0xff),
        |bytes| bytes[100..4096].fill(0xff),
    ];
    for damage in damages {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        drop(at_version(&data, MIGRATIONS.len()));
        let mut bytes = fs::read(database(&data)).unwrap();
        damage(&mut bytes);
        fs::write(database(&data), &bytes).unwrap();
        match Store::open(options(dir.path())).await.err() {
            Some(StoreError::Corrupt { folder, .. }) => assert_eq!(folder, data),
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read(database(&data)).unwrap(), bytes, "left as it is");
    }
}

#[tokio::test]
async fn a_missing_record_costs_itself() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(options(dir.path())).await.unwrap();
    let turn = Record::TurnStarted { turn: 1, limits: Limits::default(), trace: None };
    store.append(&id(), 0, &[opened(), turn, Record::Cleared], Durability::Written).await.unwrap();
    let raw = Connection::open(database(&dir.path().join("data"))).unwrap();
    raw.execute("DELETE FROM records WHERE no = 2", []).unwrap();
    let records = store.load(&id()).await.unwrap();
    assert_eq!(records, [opened(), Record::Damaged { no: 2 }, Record::Cleared]);
    // The session continues after the damaged record.
    store.append(&id(), 3, &[Record::Cleared], Durability::Written).await.unwrap();
}

#[tokio::test]
async fn a_record_of_a_newer_version_is_named_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(options(dir.path())).await.unwrap();
    store.append(&id(), 0, &[opened()], Durability::Written).await.unwrap();
    let raw = Connection::open(database(&dir.path().join("data"))).unwrap();
    let json = r#"{"record":"dreamt","of":"sheep"}"#;
    raw.execute("INSERT INTO records VALUES ('s', 2, 0, 'dreamt', ?1)", [json]).unwrap();
    let error = store.load(&id()).await.unwrap_err();
    assert!(
        error.to_string().starts_with("session s holds a `dreamt` (record 2) that this co cannot read"),
        "{error}"
    );
    assert!(matches!(error, StoreError::NewerRecord { no: 2, .. }));
    let kept: String = raw.query_row("SELECT json FROM records WHERE no = 2", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, json);
}

#[tokio::test]
async fn everything_is_the_owners_alone() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let store = Store::open(options(dir.path())).await.unwrap();
    store.append(&id(), 0, &[opened()], Durability::Written).await.unwrap();
    let mode = |path: PathBuf| {
        fs::metadata(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).mode() & 0o777
    };
    let modes = [data.clone(), dir.path().join("run"), data.join("locks")].map(mode);
    assert_eq!(modes, [0o700; 3]);
    let files = ["co.db", "co.db-wal", "co.db-shm", "locks/open"].map(|name| mode(data.join(name)));
    assert_eq!(files, [0o600; 4]);
}

#[tokio::test]
async fn an_open_database_file_is_narrowed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    drop(at_version(&data, MIGRATIONS.len()));
    fs::set_permissions(database(&data), fs::Permissions::from_mode(0o644)).unwrap();
    let _store = Store::open(options(dir.path())).await.unwrap();
    assert_eq!(fs::metadata(database(&data)).unwrap().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn folders_that_cannot_be_used_are_named_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for data in [file.clone(), file.join("below")] {
        let error = Store::open(StoreOptions::new(&data, dir.path().join("run"))).await.err().unwrap();
        assert!(matches!(&error, StoreError::Folder { folder, .. } if *folder == data), "{error}");
        assert!(error.to_string().contains("choose another one"), "{error}");
    }
}

/// Root may write anywhere, so I/O errors are constructed; database errors come from a real connection.
#[test]
fn refusals_become_advice() {
    use std::io::{Error, ErrorKind};
    let folder = Path::new("/data");
    let of_file = |kind: ErrorKind| StoreError::file(folder, &Error::from(kind)).to_string();
    let read_only = "the data folder /data cannot be written; give yourself write permission there, or choose another data folder";
    let full =
        "no space left in the data folder /data; free some disk space and start again: stored data is safe";
    assert_eq!(of_file(ErrorKind::PermissionDenied), read_only);
    assert_eq!(of_file(ErrorKind::ReadOnlyFilesystem), read_only);
    assert_eq!(of_file(ErrorKind::StorageFull), full);

    let raw = Connection::open_in_memory().unwrap();
    raw.execute_batch("CREATE TABLE a (b); PRAGMA query_only = ON").unwrap();
    let refused = StoreError::from(raw.execute("INSERT INTO a VALUES (1)", []).unwrap_err());
    assert_eq!(refused.located(folder).to_string(), read_only);

    let raw = Connection::open_in_memory().unwrap();
    raw.execute_batch("CREATE TABLE a (b); PRAGMA max_page_count = 3").unwrap();
    let refused = StoreError::from(raw.execute("INSERT INTO a VALUES (zeroblob(100000))", []).unwrap_err());
    assert_eq!(refused.located(folder).to_string(), full);
}

#[tokio::test]
async fn a_database_that_is_locked_too_long_is_busy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a");
    let (one, two) = (Connection::open(&file).unwrap(), Connection::open(&file).unwrap());
    one.execute_batch("BEGIN IMMEDIATE").unwrap();
    two.busy_timeout(std::time::Duration::ZERO).unwrap();
    let refused = StoreError::from(two.execute_batch("BEGIN IMMEDIATE").unwrap_err());
    assert_eq!(refused.located(dir.path()), StoreError::Busy { folder: dir.path().to_owned() });
}

#[test]
fn the_kind_column_is_the_records_own_tag() {
    let redactor = redact::Redactor::new(Vec::new());
    let records: Vec<Record> = [
        r#"{"record":"opened","workspace":"/w"}"#,
        r#"{"record":"turn_started","turn":1,"limits":{"requests":25,"tokens":null}}"#,
        r#"{"record":"said","message":{"role":"user","parts":[{"part":"text","text":"hi"}]}}"#,
        r#"{"record":"request_ended","attempt":1,"model":"m"}"#,
        r#"{"record":"partial","attempt":1,"text":"a"}"#,
        r#"{"record":"decided","request":"r","call":"c","approval":{"approval":"later"},"by":{"by":"cli"}}"#,
        r#"{"record":"tool_started","call":"c"}"#,
        r#"{"record":"tool_finished","returned":{"call":"c","status":"ok","content":[],"source":{"from":"program"},"trust":"trusted"}}"#,
        r#"{"record":"deferred","waiting":{"requests":["r"]}}"#,
        r#"{"record":"turn_ended","end":{"end":"completed"}}"#,
        r#"{"record":"queued","prompts":[]}"#,
        r#"{"record":"draft","text":"a"}"#,
        r#"{"record":"noted","kind":{"kind":"abort"},"text":"a"}"#,
        r#"{"record":"compacted","summary":"s","kept_from":3}"#,
        r#"{"record":"cleared"}"#,
        r#"{"record":"renamed","title":"t"}"#,
        r#"{"record":"state","tool":"t","value":1}"#,
    ]
    .into_iter()
    .map(|json| serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}")))
    .collect();
    for row in encode::rows(&records, &redactor).unwrap() {
        let tag: serde_json::Value = serde_json::from_str(&row.json).unwrap();
        assert_eq!(tag["record"], row.kind);
    }
}

/// With ten thousand waiting requests, none of these queries may scan them all, or read more than an index.
#[tokio::test]
async fn what_is_asked_often_is_in_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(options(dir.path())).await.unwrap();
    let untaken = format!("SELECT 1 FROM approvals WHERE {}", decide::UNTAKEN.replace("?1", "'s'"));
    let waiting =
        "SELECT count(*) FROM approvals a WHERE a.session = 's' AND a.state IN ('waiting', 'later')";
    let due = "SELECT 1 FROM approvals WHERE state IN ('waiting', 'later') AND expires <= 5";
    let queue =
        "SELECT request FROM approvals WHERE state IN ('waiting', 'later') ORDER BY created, seq LIMIT 9";
    for (query, expected) in [
        (rows::UNDECIDED, "SCAN approvals USING COVERING INDEX approvals_inbox"),
        (rows::APPROVED, "SCAN approvals USING INDEX approvals_untaken"),
        (&untaken, "SEARCH approvals USING INDEX approvals_untaken (session=?)"),
        (waiting, "SEARCH a USING COVERING INDEX approvals_inbox (session=?)"),
        (due, "SEARCH approvals USING INDEX approvals_due (expires<?)"),
        (queue, "SCAN approvals USING INDEX approvals_undecided"),
    ] {
        let explain = format!("EXPLAIN QUERY PLAN {query}");
        let plan: Vec<String> = store
            .read(move |reader| {
                let mut select = reader.prepare(&explain)?;
                let rows = select.query_map([], |row| row.get(3))?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            })
            .await
            .unwrap();
        assert_eq!(plan, [expected], "{query}");
    }
}

/// A folder of this file system type; another folder than the one of the data is local.
fn on_network(folder: &Path) -> Option<&'static str> {
    folder.ends_with("data").then_some("nfs")
}

fn journal(data: &Path) -> String {
    let raw = Connection::open(database(data)).unwrap();
    raw.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
}

/// A folder that is copied to a network, used there by two processes, and copied back.
#[tokio::test]
async fn a_data_folder_on_a_network_has_no_write_ahead_log() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let network = |is_network: bool| StoreOptions {
        network: if is_network { on_network } else { |_| None },
        ..options(dir.path())
    };
    let mut records = vec![opened()];
    for (is_network, mode) in [(false, "wal"), (true, "delete"), (true, "delete"), (false, "wal")] {
        let store = Store::open(network(is_network)).await.unwrap();
        assert_eq!(store.network_warning().is_some_and(|text| text.contains("(nfs)")), is_network);
        let other = Store::open(network(is_network)).await.unwrap();
        let after = if records.len() == 1 { 0 } else { records.len() as u64 };
        let more = Record::Draft { text: mode.to_owned() };
        let new = if after == 0 { vec![opened(), more.clone()] } else { vec![more.clone()] };
        store.append(&id(), after, &new, Durability::Synced).await.unwrap();
        records.push(more);
        let late = Record::Draft { text: "from the other".to_owned() };
        other
            .append(&id(), records.len() as u64, std::slice::from_ref(&late), Durability::Written)
            .await
            .unwrap();
        records.push(late);
        assert_eq!(store.load(&id()).await.unwrap(), records);
        assert_eq!(journal(&data), mode);
        drop((store, other));
        wait_closed(std::time::Duration::from_secs(1));
        assert_eq!(
            fs::metadata(data.join("co.db-wal")).is_ok_and(|log| log.len() > 0),
            !is_network,
            "{mode}"
        );
    }
}

#[tokio::test]
async fn a_short_log_stays_when_the_database_is_closed_and_a_long_one_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let log = || fs::metadata(dir.path().join("data/co.db-wal")).map_or(0, |log| log.len());
    let draft = |length: usize| Record::Draft { text: "x".repeat(length) };
    let mut after = 0;
    for (length, stays) in [(100, true), (3_000_000, false), (100, true)] {
        let store = Store::open(options(dir.path())).await.unwrap();
        let new = if after == 0 { vec![opened(), draft(length)] } else { vec![draft(length)] };
        store.append(&id(), after, &new, Durability::Written).await.unwrap();
        after += new.len() as u64;
        // The reader is in use too.
        assert_eq!(store.load(&id()).await.unwrap().len() as u64, after);
        drop(store);
        wait_closed(std::time::Duration::from_secs(5));
        assert_eq!(log() > 0, stays, "{length}: {}", log());
    }
}

#[test]
fn the_file_system_of_a_local_folder_is_local() {
    assert_eq!(crate::stdx::fs::network_file_system(Path::new("/dev/shm")), None);
    assert_eq!(crate::stdx::fs::network_file_system(Path::new("/no/such/folder")), None);
}

#[tokio::test]
async fn long_sessions_are_read_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(options(dir.path())).await.unwrap();
    let said = |no: usize| Record::said(crate::message::Message::user(format!("message {no}")));
    let records: Vec<Record> = std::iter::once(opened()).chain((0..5_000).map(said)).collect();
    store.append(&id(), 0, &records, Durability::Written).await.unwrap();
    assert_eq!(store.load(&id()).await.unwrap(), records);
    let raw = Connection::open(database(&dir.path().join("data"))).unwrap();
    for (no, json, loaded) in [
        (7_u32, r#"{"record":"said","message":{"role":"user","parts":[]}"#, None),
        (4_999, r#"{"record":"draft","text":"t"}"#, Some(Record::Draft { text: "t".to_owned() })),
        (30, r#"{"record":"said","message":{"role":"newer"}}"#, None),
    ] {
        raw.execute("UPDATE records SET json = ?2 WHERE no = ?1", rusqlite::params![no, json]).unwrap();
        match store.load(&id()).await {
            Ok(found) => {
                assert_eq!(found[no as usize - 1], loaded.unwrap_or(Record::Damaged { no: u64::from(no) }));
            }
            Err(error) => assert!(matches!(error, StoreError::NewerRecord { no: 30, .. }), "{error}"),
        }
    }
}

#[tokio::test]
async fn sessions_of_any_length_are_read_in_order() {
    for (count, missing) in [
        (1, vec![]),
        (999, vec![2, 3, 500]),
        (1_000, vec![]),
        (1_000, vec![1]),
        (2_001, vec![1, 999, 2_000]),
        (2_003, vec![1_000, 1_001, 1_999]),
        (4_500, (900..2_100).collect()),
        (5_000, vec![]),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(options(dir.path())).await.unwrap();
        let said = |no: usize| Record::said(crate::message::Message::user(format!("message {no}")));
        let mut records: Vec<Record> = std::iter::once(opened()).chain((1..count).map(said)).collect();
        store.append(&id(), 0, &records, Durability::Written).await.unwrap();
        let raw = Connection::open(database(&dir.path().join("data"))).unwrap();
        for &no in &missing {
            raw.execute("DELETE FROM records WHERE no = ?1", [no]).unwrap();
            if no > 1 {
                records[no - 1] = Record::Damaged { no: no as u64 };
            }
        }
        assert_eq!(store.load(&id()).await.unwrap(), records, "{count} without {missing:?}");
    }
}

/// The parser of messages gives what the one of all records gives, whatever the message holds, and refuses what it refuses.
#[test]
fn messages_are_parsed_alike() {
    let stop = r#""model":"m","stop":{"kind":"end_turn"}"#;
    let call = r#"{"kind":{"part":"tool_call","id":"c","wire_id":"w","name":"t","args":{"a":[1,"\u00e9"]}}}"#;
    for (message, is_sound) in [
        (r#"{"role":"user","parts":[]}"#.to_owned(), true),
        (r#"{"parts":[{"part":"text","text":"a\nb"}],"role":"user"}"#.to_owned(), true),
        (r#"{"role":"user","parts":[{"part":"text","text":"a"}],"more":{"x":[]}}"#.to_owned(), true),
        (r#"{"role":"user","parts":[{"part":"note","kind":{"kind":"abort"},"text":"t"}]}"#.to_owned(), true),
        (format!(r#"{{"role":"assistant","parts":[{call}],"asked":"p/m",{stop}}}"#), true),
        (format!(r#"{{"role":"assistant",{stop},"parts":[]}}"#), true),
        (r#"{"role":"user"}"#.to_owned(), false),
        (r#"{"role":"user","parts":[{"part":"new"}]}"#.to_owned(), false),
        (r#"{"role":"user","parts":[{"part":"note","kind":{"kind":"new"},"text":"t"}]}"#.to_owned(), false),
        (format!(r#"{{"role":"assistant","parts":[{{"kind":{{"part":"new"}}}}],{stop}}}"#), false),
        (r#"{"role":"assistant","parts":[],"model":"m","stop":{"kind":"new"}}"#.to_owned(), false),
        (r#"{"role":"new"}"#.to_owned(), false),
    ] {
        let json = format!(r#"{{"record":"said","message":{message}}}"#);
        let whole = serde_json::from_str::<Record>(&json);
        assert_eq!(whole.is_ok(), is_sound, "{json}: {whole:?}");
        let is_newer = message.contains("\"new\"");
        match records::read("said", &json) {
            Ok(record) => assert_eq!(record, whole.unwrap(), "{json}"),
            Err(RecordError::Newer { kind, .. }) => assert!(is_newer && kind == "said", "{json}"),
            Err(RecordError::Damaged) => assert!(!is_sound && !is_newer, "{json}"),
        }
    }
}
