//! Tampering with the audit by someone who can write the file: each kind, and what verification finds.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::chain::{self, Columns, NOTHING};
use super::{AuditHead, AuditKind, Entry, TRIGGERS, head};
use crate::history::Durability;
use crate::stdx::clock::{Clock, ManualClock};
use crate::store::schema::database;
use crate::store::wake::ChangeNotifier;
use crate::store::writer::{Write, Writer};
use crate::store::{AuditFinding, AuditNote, PrunedRange, Store, StoreError, StoreOptions};

struct AuditFixture {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    store: Store,
}

impl AuditFixture {
    /// A place with `rows` rows, one day apart.
    async fn with(rows: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at("2026-03-01T12:00:00Z".parse().unwrap()));
        let mut options = StoreOptions::new(dir.path().join("data"), dir.path().join("run"));
        options.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Store::open(options).await.unwrap();
        let place = Self { dir, clock, store };
        for row in 1..=rows {
            place.note(&row.to_string()).await;
        }
        place
    }

    async fn note(&self, text: &str) {
        self.store.note(AuditNote::Stance { text: text.to_owned() }).await.unwrap();
        self.clock.advance(Duration::from_secs(24 * 3_600));
    }

    fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    /// The database without its protecting triggers.
    fn raw(&self) -> Connection {
        let raw = Connection::open(database(&self.data())).unwrap();
        for trigger in ["audit_grows_at_its_end", "audit_never_changes", "audit_keeps_its_rows"] {
            raw.execute_batch(&format!("DROP TRIGGER IF EXISTS {trigger}")).unwrap();
        }
        raw
    }

    async fn finding(&self, expected: Option<&str>) -> Option<AuditFinding> {
        self.store.verify_audit(expected.map(str::to_owned)).await.unwrap().finding
    }

    async fn prune(&self, before: &str) -> Option<(u64, u64)> {
        let before = format!("{before}T00:00:00Z").parse().unwrap();
        self.store.prune_audit(before).await.unwrap().map(|PrunedRange { from, to, .. }| (from, to))
    }
}

/// Recomputes the hashes of rows `from` to `to`, as an attacker who knows the format could.
fn rehash(raw: &Connection, from: u64, to: u64) {
    for no in from..=to {
        let prev = raw
            .query_row("SELECT hash FROM audit WHERE no = ?1", [no - 1], |row| row.get(0))
            .unwrap_or_else(|_| NOTHING.to_owned());
        let (at, kind, details): (i64, String, String) = raw
            .query_row("SELECT at, kind, details FROM audit WHERE no = ?1", [no], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .unwrap();
        let columns = Columns {
            no,
            at,
            session: None,
            call: None,
            request: None,
            tool: None,
            kind: &kind,
            decider: None,
            details: &details,
        };
        let update = "UPDATE audit SET prev = ?2, hash = ?3 WHERE no = ?1";
        raw.execute(update, params![no, prev, columns.hash(&prev)]).unwrap();
    }
}

/// The manipulations of the rows and of the head's file.
type Tamper = fn(&Connection, &Path);

#[tokio::test]
async fn each_kind_of_tampering_is_found() {
    use AuditFinding::{Changed, Cut, Moved, Removed, Replaced};
    let three = Some(Changed { no: 3 });
    let cases: Vec<(&str, Tamper, Option<AuditFinding>)> = vec![
        ("nothing", |_, _| {}, None),
        ("time", |raw, _| sql(raw, "UPDATE audit SET at = at + 1 WHERE no = 3"), three.clone()),
        ("session", |raw, _| sql(raw, "UPDATE audit SET session = 's' WHERE no = 3"), three.clone()),
        ("empty, not absent", |raw, _| sql(raw, "UPDATE audit SET call = '' WHERE no = 3"), three.clone()),
        ("request", |raw, _| sql(raw, "UPDATE audit SET request = 'r' WHERE no = 3"), three.clone()),
        ("tool", |raw, _| sql(raw, "UPDATE audit SET tool = 't' WHERE no = 3"), three.clone()),
        ("kind", |raw, _| sql(raw, "UPDATE audit SET kind = 'asked' WHERE no = 3"), three.clone()),
        ("who", |raw, _| sql(raw, "UPDATE audit SET decider = '{}' WHERE no = 3"), three.clone()),
        ("details", |raw, _| sql(raw, "UPDATE audit SET details = '{}' WHERE no = 3"), three.clone()),
        ("hash", |raw, _| sql(raw, "UPDATE audit SET hash = upper(hash) WHERE no = 3"), three.clone()),
        ("the hash before", |raw, _| sql(raw, "UPDATE audit SET prev = hash WHERE no = 3"), three.clone()),
        (
            "letters moved from one column to the next",
            |raw, _| sql(raw, "UPDATE audit SET kind = 'stanc', details = 'e' || details WHERE no = 3"),
            three.clone(),
        ),
        (
            "two rows exchanged",
            |raw, _| {
                sql(raw, "UPDATE audit SET no = 99 WHERE no = 3");
                sql(raw, "UPDATE audit SET no = 3 WHERE no = 4");
                sql(raw, "UPDATE audit SET no = 4 WHERE no = 99");
            },
            three,
        ),
        (
            "one row removed",
            |raw, _| sql(raw, "DELETE FROM audit WHERE no = 3"),
            Some(Removed { from: 3, to: 3 }),
        ),
        (
            "rows removed",
            |raw, _| sql(raw, "DELETE FROM audit WHERE no BETWEEN 3 AND 5"),
            Some(Removed { from: 3, to: 5 }),
        ),
        (
            "the beginning removed",
            |raw, _| sql(raw, "DELETE FROM audit WHERE no < 3"),
            Some(Removed { from: 1, to: 2 }),
        ),
        (
            "the end cut off",
            |raw, _| sql(raw, "DELETE FROM audit WHERE no > 6"),
            Some(Cut { kept: 8, last: Some(6) }),
        ),
        ("everything removed", |raw, _| sql(raw, "DELETE FROM audit"), Some(Cut { kept: 8, last: None })),
        (
            "a row removed and the rest numbered anew",
            |raw, _| {
                sql(raw, "DELETE FROM audit WHERE no = 3");
                (4..=8).for_each(|no| sql(raw, &format!("UPDATE audit SET no = {no} - 1 WHERE no = {no}")));
            },
            Some(Changed { no: 3 }),
        ),
        (
            "a row put in at the end",
            |raw, _| {
                let row = "SELECT 9, at, NULL, NULL, NULL, NULL, kind, NULL, details, prev, hash FROM audit";
                sql(raw, &format!("INSERT INTO audit {row} WHERE no = 8"));
            },
            Some(Changed { no: 9 }),
        ),
        (
            "a row written anew with its hash",
            |raw, _| {
                sql(raw, "UPDATE audit SET details = '{}' WHERE no = 3");
                rehash(raw, 3, 3);
            },
            Some(Moved { no: 4 }),
        ),
        (
            "the first row written anew with another beginning",
            |raw, _| {
                sql(raw, "UPDATE audit SET no = 0 WHERE no = 1");
                sql(raw, "UPDATE audit SET no = 1 WHERE no = 0");
                sql(raw, "UPDATE audit SET prev = 'x' WHERE no = 1");
            },
            Some(Changed { no: 1 }),
        ),
        (
            "all rows from one on written anew with their hashes",
            |raw, _| {
                sql(raw, "UPDATE audit SET details = '{}' WHERE no = 3");
                rehash(raw, 3, 8);
            },
            Some(Replaced { no: 8 }),
        ),
        (
            "the last row written anew with its hash",
            |raw, _| {
                sql(raw, "UPDATE audit SET details = '{}' WHERE no = 8");
                rehash(raw, 8, 8);
            },
            Some(Replaced { no: 8 }),
        ),
        (
            "rows removed and a pruning forged",
            |raw, _| {
                sql(
                    raw,
                    "INSERT INTO audit SELECT 9, at, NULL, NULL, NULL, NULL, 'pruned', NULL,
                     json_object('from', 1, 'to', 2, 'hash', hash), prev, hash FROM audit WHERE no = 2",
                );
                sql(raw, "DELETE FROM audit WHERE no < 3");
                rehash(raw, 9, 9);
            },
            Some(AuditFinding::NotPruned { to: 2 }),
        ),
        ("the triggers removed", |_, _| {}, Some(AuditFinding::Unprotected)),
        // Only a head that was noted elsewhere can reveal this.
        (
            "the end cut off and the file removed",
            |raw, data| {
                sql(raw, "DELETE FROM audit WHERE no > 6");
                fs::remove_file(head::file(data)).unwrap();
            },
            Some(AuditFinding::NoHead),
        ),
        (
            "a file that says nothing",
            |_, data| fs::write(head::file(data), "junk\n").unwrap(),
            Some(AuditFinding::NoHead),
        ),
        (
            "a file of a gigabyte",
            |_, data| fs::File::create(head::file(data)).unwrap().set_len(1 << 30).unwrap(),
            Some(AuditFinding::NoHead),
        ),
    ];
    for (what, tamper, expected) in cases {
        let place = AuditFixture::with(8).await;
        let seen = place.store.audit_head().await.unwrap().unwrap();
        assert_eq!(place.finding(Some(&seen.hash)).await, None, "{what}: before");
        let raw = place.raw();
        tamper(&raw, &place.data());
        if what != "the triggers removed" {
            raw.execute_batch(TRIGGERS).unwrap();
        }
        assert_eq!(place.finding(None).await, expected, "{what}");
        let with_head = place.finding(Some(seen.short())).await;
        let unharmed = ["nothing", "a file that says nothing", "a file of a gigabyte"].contains(&what);
        assert_eq!(with_head.is_some(), !unharmed, "{what}: with the head that was seen");
    }
}

fn sql(raw: &Connection, statement: &str) {
    raw.execute_batch(statement).unwrap();
}

#[tokio::test]
async fn the_database_itself_refuses_to_change_rows() {
    let place = AuditFixture::with(3).await;
    let raw = Connection::open(database(&place.data())).unwrap();
    for (statement, why) in [
        ("UPDATE audit SET details = '{}'", "the audit never changes"),
        ("UPDATE audit SET no = 4 WHERE no = 3", "the audit never changes"),
        ("DELETE FROM audit WHERE no = 1", "the audit keeps its rows"),
        ("DELETE FROM audit", "the audit keeps its rows"),
        (
            "INSERT INTO audit SELECT 5, at, session, call, request, tool, kind, decider, details, prev, hash
             FROM audit WHERE no = 3",
            "the audit grows at its end only",
        ),
        (
            "REPLACE INTO audit SELECT 2, at, session, call, request, tool, kind, decider, details, prev, hash
             FROM audit WHERE no = 3",
            "the audit grows at its end only",
        ),
    ] {
        assert_eq!(raw.execute(statement, []).unwrap_err().to_string(), why, "{statement}");
    }
    assert_eq!(place.finding(None).await, None);
}

#[tokio::test]
async fn the_head_only_moves_forward_and_may_be_behind() {
    let place = AuditFixture::with(2).await;
    let data = place.data();
    let at = |name: &str| fs::metadata(data.join(name)).unwrap().mode() & 0o777;
    assert_eq!([at("audit.head"), at("locks/head")], [0o600; 2]);
    let second = head::read(&head::file(&data)).unwrap();
    assert_eq!(Some(&second), place.store.audit_head().await.unwrap().as_ref());
    assert_eq!(second.no, 2);
    place.note("3").await;
    let third = head::read(&head::file(&data)).unwrap();
    assert_eq!(third.no, 3);
    // As if another process had saved a later head first.
    head::keep(&data, &head::file(&data), &second).unwrap();
    assert_eq!(head::read(&head::file(&data)), Some(third));
    // A file that is longer than any row is not read to its end.
    fs::write(head::file(&data), format!("{} {}{}", second.no, second.hash, " ".repeat(200))).unwrap();
    assert_eq!(head::read(&head::file(&data)), None);
    fs::write(head::file(&data), format!("{} {}\n", second.no, second.hash)).unwrap();
    assert_eq!(place.finding(None).await, None);
}

#[test]
fn nothing_is_written_beside_another_database() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let open = || {
        let clock = Arc::new(ManualClock::at("2026-03-01T12:00:00Z".parse().unwrap()));
        let silent = Arc::new(ChangeNotifier::silent());
        Writer::open(&data, |_| None, None, clock, silent).unwrap()
    };
    let mut writer = open();
    let row = Entry {
        kind: AuditKind::Stance,
        call: None,
        request: None,
        tool: None,
        decider: None,
        details: "{}".to_owned(),
    };
    let add = |write: &Write<'_>| chain::append(write, None, &row);
    writer.transaction(Durability::Written, add).unwrap();
    // The user replaces it by another database, which was not closed.
    fs::rename(&data, dir.path().join("old")).unwrap();
    drop(open());
    fs::remove_file(data.join("co.db-closed")).unwrap();
    let names =
        || fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>();
    let before = names();
    let last = AuditHead { no: 1, hash: "0".repeat(64) };
    assert!(matches!(writer.seal_at(last), Err(StoreError::Replaced { .. })));
    drop(writer);
    assert_eq!(names(), before);
}

#[tokio::test]
async fn what_was_pruned_is_told_and_the_rest_verified() {
    let place = AuditFixture::with(8).await;
    let old = place.store.audit_head().await.unwrap().unwrap();
    assert_eq!(place.prune("2026-03-01").await, None, "nothing is that old");
    assert_eq!(place.prune("2026-03-04").await, Some((1, 3)));
    let check = place.store.verify_audit(Some(old.hash.clone())).await.unwrap();
    assert_eq!((check.rows, check.pruned, check.finding), (6, 3, None));
    assert_eq!(place.prune("2026-03-04").await, None);
    assert_eq!(place.prune("2026-03-06").await, Some((4, 5)));
    // The last row is never pruned; the row that reports the previous pruning is pruned like any other.
    assert_eq!(place.prune("2030-01-01").await, Some((6, 9)));
    let check = place.store.verify_audit(None).await.unwrap();
    assert_eq!((check.rows, check.pruned, check.finding), (2, 9, None));
    assert_eq!(place.finding(Some(&old.hash)).await, Some(AuditFinding::NotThere { hash: old.hash }));
    place.note("12").await;
    assert_eq!(place.finding(None).await, None);
    for (statement, finding) in [
        ("DELETE FROM audit WHERE no = 10", AuditFinding::Removed { from: 10, to: 10 }),
        ("DELETE FROM audit WHERE no = 11", AuditFinding::Removed { from: 1, to: 11 }),
    ] {
        let raw = place.raw();
        sql(&raw, statement);
        raw.execute_batch(TRIGGERS).unwrap();
        assert_eq!(place.finding(None).await, Some(finding));
    }
}

#[tokio::test]
async fn a_clock_that_stepped_back_protects_what_follows() {
    let place = AuditFixture::with(2).await;
    place.clock.set("2020-01-01T00:00:00Z".parse().unwrap());
    place.note("3").await;
    assert_eq!(place.prune("2026-01-01").await, None, "row 3 looks old and follows younger ones");
    assert_eq!(place.prune("2026-03-02").await, Some((1, 1)));
    assert_eq!(place.finding(None).await, None);
}
