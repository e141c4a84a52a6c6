//! Damaged databases, and what is salvaged from them.

use std::os::unix::fs::FileExt as _;

use super::super::health::tests::closed;
use super::*;
use crate::history::Record;

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// Two sessions with `records` records each.
fn place(records: i64) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    closed(&data, &["a", "b"], records);
    (dir, data)
}

/// Opens the database: per session, the number of records and how many of them are damaged.
fn read(data: &Path) -> Vec<(usize, usize)> {
    let (_writer, _presence) = schema::open_writer(data, |_| None).unwrap();
    let reader = schema::open_reader(data).unwrap();
    let mut found = Vec::new();
    for session in ["a", "b"] {
        let (mut all, mut damaged) = (0, 0);
        let read = records::for_each(&reader, &SessionId(session.to_owned()), |record| {
            all += 1;
            damaged += usize::from(matches!(record, Record::Damaged { .. }));
        });
        found.push(read.map_or((0, 0), |()| (all, damaged)));
    }
    found
}

#[test]
fn a_broken_record_costs_itself() {
    let (_dir, data) = place(20);
    assert!(diagnose(&data).unwrap().is_sound());
    let raw = Connection::open(schema::database(&data)).unwrap();
    for harm in [
        "UPDATE records SET json = '{' WHERE session = 'a' AND no = 1",
        "UPDATE records SET json = replace(json, 'text', 'tfxt') WHERE session = 'a' AND no = 7",
        "UPDATE records SET json = replace(json, 'draft', 'drbft') WHERE session = 'a' AND no = 8",
        "DELETE FROM records WHERE session = 'a' AND no = 9",
    ] {
        raw.execute(harm, []).unwrap();
    }
    drop(raw);
    let found = diagnose(&data).unwrap();
    let damaged: Vec<u64> = found.damaged.iter().map(|one| one.no).collect();
    assert_eq!((damaged, found.faults), (vec![1, 7, 8, 9], vec![]));
    // The first record is restored from the sessions table.
    assert_eq!(read(&data), [(20, 3), (20, 0)]);
}

#[test]
fn a_copy_is_put_back_and_the_files_before_are_kept() {
    let (dir, data) = place(20);
    let copy = dir.path().join("copy.db");
    fs::copy(schema::database(&data), &copy).unwrap();
    fs::write(schema::database(&data), "no database").unwrap();
    assert!(!diagnose(&data).unwrap().is_sound());
    let old_folder = restore(&data, &copy, now()).unwrap();
    assert_eq!(fs::read_to_string(old_folder.join("co.db")).unwrap(), "no database");
    assert_eq!(read(&data), [(20, 0), (20, 0)]);
    // Again at the same time: no kept file is overwritten. Then without any database.
    let again = restore(&data, &copy, now()).unwrap();
    assert_ne!(again, old_folder);
    fs::remove_file(schema::database(&data)).unwrap();
    restore(&data, &again.join("co.db"), now()).unwrap();
    assert_eq!(read(&data), [(20, 0), (20, 0)]);
    // Refused while another process has it open, and from a copy that is itself damaged.
    let opened = schema::open_writer(&data, |_| None).unwrap();
    let in_use = StoreError::InUse { folder: data.clone() };
    assert_eq!(restore(&data, &copy, now()), Err(in_use.clone()));
    assert_eq!(salvage(&data, now()), Err(in_use));
    drop(opened);
    fs::write(&copy, "no copy").unwrap();
    assert!(restore(&data, &copy, now()).is_err());
    fs::remove_file(&copy).unwrap();
    Connection::open(&copy).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert!(matches!(restore(&data, &copy, now()), Err(StoreError::NotADatabase { .. })));
    assert_eq!(read(&data), [(20, 0), (20, 0)]);
}

#[test]
fn what_can_be_read_is_saved() {
    let (_dir, data) = place(200);
    let path = schema::database(&data);
    let pages = fs::metadata(&path).unwrap().len() / 4_096;
    let file = File::options().write(true).open(&path).unwrap();
    // A few pages in the middle, where the records are.
    for page in pages / 2..pages / 2 + 3 {
        file.write_all_at(&[0xff; 4_096], page * 4_096).unwrap();
    }
    drop(file);
    assert!(!diagnose(&data).unwrap().is_sound());
    let saved = salvage(&data, now()).unwrap();
    assert!(saved.old_folder.join("co.db").is_file());
    assert!(saved.rows["records"] > 300, "{saved:?}");
    assert_eq!(diagnose(&data).unwrap().faults, Vec::<String>::new());
    let read = read(&data);
    assert!(read.iter().all(|(all, damaged)| *all > 100 && *damaged < 60), "{read:?}");
}

#[test]
fn an_audit_without_its_triggers_gets_them_back() {
    let (_dir, data) = place(1);
    let raw = Connection::open(schema::database(&data)).unwrap();
    raw.execute_batch(
        "DROP TRIGGER audit_never_changes; DROP TRIGGER audit_keeps_its_rows;
         CREATE TRIGGER audit_keeps_its_rows BEFORE DELETE ON audit BEGIN SELECT 1; END",
    )
    .unwrap();
    protect_audit(&data).unwrap();
    let count = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND sql LIKE '%RAISE%'";
    assert_eq!(raw.query_row(count, [], |row| row.get::<_, u64>(0)).unwrap(), 3);
}
