//! Whole-file tools, and taking back what tools and commands did, on real files.

use std::os::unix::fs::MetadataExt as _;

use super::*;
use crate::tool::Undo;
use crate::undo::{Direction, EntryFilter, FILE, Restoration, UndoError, UndoOutcome, UndoScope, UndoTarget};

/// The entry at each path: mode, and target or content.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// The paths that differ.
fn keys_apart<'a>(a: &'a Tree, b: &'a Tree) -> Vec<&'a PathBuf> {
    a.iter()
        .filter(|one| !b.contains_key(one.0) || b[one.0] != *one.1)
        .map(|one| one.0)
        .chain(b.keys().filter(|key| !a.contains_key(*key)))
        .collect()
}

impl Bench {
    fn tree(&self) -> Tree {
        let (mut tree, mut open) = (Tree::new(), vec![self.at("")]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = path.symlink_metadata().unwrap();
                let bytes = if metadata.is_dir() {
                    open.push(path.clone());
                    Vec::new()
                } else if metadata.is_symlink() {
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                } else {
                    fs::read(&path).unwrap()
                };
                tree.insert(path.strip_prefix(self.at("")).unwrap().to_owned(), (metadata.mode(), bytes));
            }
        }
        tree
    }

    fn own(&self) -> Arc<[PathBuf]> {
        [self.base.join("own"), self.at("mine")].into()
    }

    fn ids(&self) -> Vec<i64> {
        let all = self.undo.entries(&EntryFilter::default()).unwrap();
        all.into_iter().filter(|entry| entry.undone.is_none()).map(|entry| entry.id).collect()
    }

    fn undoing(&self, ids: &[i64]) -> Restoration {
        self.undo.restoration(Direction::Undo, ids, &self.own()).unwrap()
    }

    fn undo_last(&self) -> String {
        self.ask(&UndoTarget::Last)
    }

    fn redo(&self) -> String {
        self.ask(&UndoTarget::Redo)
    }

    fn ask(&self, what: &UndoTarget) -> String {
        match self.undo.carry_out(&UndoScope::Session("s".to_owned()), what, true, &self.own()).unwrap() {
            UndoOutcome::Done(text) | UndoOutcome::Refused(text) => text,
            UndoOutcome::Asks { text, .. } => panic!("{text}"),
        }
    }

    async fn undo_word(&self, name: &str, args: Value) -> Undo {
        self.plan(name, &args).await.unwrap().undo
    }
}

#[tokio::test]
async fn files_are_moved_copied_deleted_and_folders_made() {
    let mut bench = Bench::new(&[("a.txt", "one\n"), ("d/x", "x"), (".env", "KEY=1"), ("mine/s", "")]);
    symlink("a.txt", bench.at("link")).unwrap();
    symlink("loop", bench.at("loop")).unwrap();
    symlink("../own", bench.at("out")).unwrap();
    bench.put("bin", b"\0\x01");
    fs::set_permissions(bench.at("a.txt"), fs::Permissions::from_mode(0o751)).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(bench.at("pipe")).status().unwrap();
    assert!(pipe.success());
    let move_to = |from: &str, to: &str| json!({"from": from, "to": to});
    bench
        .check(&[
            ("copy_file", move_to("a.txt", "e/f/copy"), "=copied a.txt to e/f/copy"),
            ("copy_file", move_to("d", "d2"), "MISUSE d is a folder; copy it with a command"),
            ("copy_file", move_to("link", "l2"), "MISUSE link is a link; copy the file"),
            (
                "move_file",
                move_to("a.txt", "d"),
                "MISUSE d is a folder that exists; give the whole new path, as d/NAME",
            ),
            ("move_file", move_to("a.txt", "d/x"), "MISUSE d/x exists already"),
            ("move_file", move_to("b.txt", "c"), "MISUSE there is no b.txt"),
            ("move_file", move_to("d", "d/e"), "MISUSE d/e lies inside of d"),
            ("move_file", move_to("pipe", "p"), "MISUSE pipe is a pipe, a socket or a device"),
            ("move_file", move_to("mine", "m"), "co's own"),
            ("move_file", move_to(".", "m"), "MISUSE `.` is not the path of a file or folder"),
            ("move_file", move_to("../x", "m"), "leads outside"),
            ("move_file", move_to("a.txt", "out/m"), "leads outside"),
            ("move_file", move_to("d", "deep/er/d"), "=moved d to deep/er/d"),
            ("move_file", move_to("link", "d2/link"), "=moved link to d2/link"),
            ("create_dir", json!({"path": "n/m"}), "=made folder n/m"),
            ("create_dir", json!({"path": "n/m"}), "MISUSE the folder n/m exists already"),
            ("create_dir", json!({"path": "a.txt"}), "MISUSE a.txt exists already, and is no folder"),
            ("delete_file", json!({"path": "n"}), "MISUSE n is a folder that is not empty"),
            ("delete_file", json!({"path": "n/m"}), "=deleted n/m"),
            ("delete_file", json!({"path": "d2/link"}), "=deleted d2/link"),
            ("delete_file", json!({"path": "a.txt"}), "=deleted a.txt"),
            ("delete_file", json!({"path": "a.txt"}), "MISUSE there is no a.txt"),
            ("delete_file", json!({"path": "/proc/1/status"}), "leads outside"),
            ("delete_file", json!({"path": "loop"}), "too many symbolic links"),
            // A file just deleted is known to be absent.
            ("write_file", json!({"path": "a.txt", "content": "new"}), "created a.txt"),
        ])
        .await;
    assert_eq!(fs::metadata(bench.at("e/f/copy")).unwrap().mode() & 0o777, 0o751);
    assert_eq!(bench.get("deep/er/d/x"), "x");
    let plan = bench.plan("move_file", &move_to(".env", "env.txt")).await.unwrap();
    assert_eq!((plan.summary.as_str(), plan.risk), ("move .env to env.txt (may hold secrets)", Risk::High));
    let plan = bench.plan("copy_file", &move_to(".env", "env.txt")).await.unwrap();
    assert_eq!(plan.risk, Risk::High);
    let plan = bench.plan("delete_file", &json!({"path": ".env"})).await.unwrap();
    assert_eq!((plan.preview, plan.undo), (Preview::None, Undo::None), "a secret is neither shown nor kept");
    let plan = bench.plan("delete_file", &json!({"path": "bin"})).await.unwrap();
    assert_eq!(
        (plan.risk, plan.preview),
        (Risk::High, Preview::Text { text: "2 bytes that are not text".to_owned() })
    );
    let plan = bench.plan("delete_file", &json!({"path": "a.txt"})).await.unwrap();
    assert_eq!(plan.preview.changed_lines().len(), 1);
}

#[tokio::test]
async fn cards_say_truly_what_can_be_taken_back() {
    let mut bench = Bench::new(&[
        (".gitignore", "*.log\n"),
        ("a", "1"),
        ("x.log", "1"),
        (".env", "1"),
        (".git/config", ""),
    ]);
    let write = |path: &str| json!({"path": path, "content": "new"});
    for path in ["a", "x.log", ".env"] {
        bench.call("read_file", json!({ "path": path })).await;
    }
    for (name, args, expected) in [
        ("write_file", write("a"), Undo::Exact),
        ("write_file", write("new/file"), Undo::Exact),
        ("write_file", write("new.log"), Undo::Exact),
        ("write_file", write("x.log"), Undo::None),
        ("write_file", write(".env"), Undo::None),
        ("write_file", write(".git/hooks/h"), Undo::None),
        ("delete_file", json!({"path": "x.log"}), Undo::None),
        ("move_file", json!({"from": ".env", "to": ".env.old"}), Undo::Exact),
        ("shell", json!({"command": "touch b"}), Undo::Compensating),
        ("shell", json!({"command": "touch b", "background": true}), Undo::None),
        ("shell", json!({"command": "cat a"}), Undo::None),
    ] {
        assert_eq!(bench.undo_word(name, args.clone()).await, expected, "{name} {args}");
    }
    bench.put("large", "x".repeat(2 << 20));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    tokio::time::resume();
    let other = Bench::new(&[("large", &"x".repeat(2 << 20))]);
    assert_eq!(
        other.undo_word("shell", json!({"command": "touch b"})).await,
        Undo::None,
        "too large a workspace"
    );
}

#[tokio::test]
async fn a_long_session_is_undone_to_the_byte_and_redone() {
    let files: Vec<(String, String)> = (0..30)
        .map(|n| (format!("src/m{}/f{n}.rs", n % 4), format!("fn f{n}() {{}}\r\n").repeat(n + 1)))
        .collect();
    let borrowed: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut bench = Bench::new(&borrowed);
    bench.put(".gitignore", "target/\n");
    bench.put(".env", "SECRET=1");
    bench.put("data.bin", b"\xff\x00\xfe");
    fs::set_permissions(bench.at("src/m1/f1.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("m0", bench.at("src/current")).unwrap();
    let before = bench.tree();
    for n in 0..30 {
        let path = format!("src/m{}/f{n}.rs", n % 4);
        let (name, args) = match n % 6 {
            0 => ("move_file", json!({"from": path, "to": format!("moved/to/f{n}.rs")})),
            1 => ("delete_file", json!({"path": path})),
            2 => (
                "shell",
                json!({"command": format!("printf 'x%s' {n} >> {path} && chmod 700 {path} && cp {path} ro{n} && chmod 444 ro{n} {path} && mkdir -p gen/{n} && cp {path} gen/{n}/copy")}),
            ),
            3 => ("copy_file", json!({"from": path, "to": format!("copies/f{n}.rs")})),
            _ => {
                bench.call("read_file", json!({ "path": path })).await;
                (
                    "edit_file",
                    json!({"path": path, "old": format!("fn f{n}() {{}}"), "new": "fn g() {\n}", "all": true}),
                )
            }
        };
        let said = bench.call(name, args.clone()).await;
        assert!(!said.contains("MISUSE") && !said.contains("TERMINAL"), "{name} {args}: {said}");
    }
    for (name, args) in [
        (
            "shell",
            json!({"command": "mv moved elsewhere; rm src/current; ln -s m3 src/current; rm -r src/m2; mkdir target; echo o > target/o; rm data.bin"}),
        ),
        ("move_file", json!({"from": ".env", "to": "config/.env"})),
        ("move_file", json!({"from": "src", "to": "source"})),
        ("write_file", json!({"path": "source/new/deep/n.txt", "content": "n"})),
        ("create_dir", json!({"path": "empty/folder"})),
    ] {
        let said = bench.call(name, args.clone()).await;
        assert!(!said.contains("MISUSE") && !said.contains("TERMINAL"), "{name} {args}: {said}");
    }
    let after = bench.tree();
    assert_ne!(before, after);
    let ids = bench.ids();
    assert!(ids.len() >= 34, "{ids:?}");
    let undoing = bench.undoing(&ids);
    assert_eq!(undoing.refusal(), None);
    assert!(undoing.lost.is_empty(), "{:?}", undoing.lost);
    undoing.apply("").unwrap();
    let mut undone = bench.tree();
    // Ignored files are not kept, and so not taken back.
    undone.retain(|path, _| !path.starts_with("target"));
    assert!(undone == before, "{:?}", keys_apart(&undone, &before));
    bench.redo();
    assert!(bench.tree() == after, "{:?}", keys_apart(&bench.tree(), &after));
    // Each on its own, to the start and back.
    while !bench.ids().is_empty() {
        let said = bench.undo_last();
        assert!(said.starts_with("Took back"), "{said}");
    }
    let mut undone = bench.tree();
    undone.retain(|path, _| !path.starts_with("target"));
    assert!(undone == before, "{:?}", keys_apart(&undone, &before));
    for _ in &ids {
        let said = bench.redo();
        assert!(said.starts_with("Did again"), "{said}");
    }
    assert!(bench.tree() == after, "{:?}", keys_apart(&bench.tree(), &after));
}

#[tokio::test]
async fn later_work_is_not_trampled() {
    let mut bench = Bench::new(&[("a.txt", "one\ntwo\n"), ("b.txt", "b")]);
    for path in ["a.txt", "b.txt"] {
        bench.call("read_file", json!({ "path": path })).await;
    }
    bench.call("edit_file", json!({"path": "a.txt", "old": "two", "new": "TWO"})).await;
    bench.call("write_file", json!({"path": "d/new.txt", "content": "n"})).await;
    bench.call("delete_file", json!({"path": "b.txt"})).await;
    // Somebody else works on.
    bench.put("a.txt", "one\nTWO\nthree\n");
    bench.put("d/theirs", "t");
    bench.put("b.txt", "another b");
    let ids = bench.ids();
    let refused = bench.undoing(&ids);
    let said = refused.refusal().unwrap();
    assert!(said.contains("`a.txt`: it was changed since. Taking it back would do this"), "{said}");
    assert!(said.contains("-three") && said.contains("-another b"), "{said}");
    assert!(matches!(refused.apply(""), Err(UndoError::Nothing)));
    assert_eq!(bench.get("a.txt"), "one\nTWO\nthree\n");
    // Unchanged files are restored; a folder with files of others stays.
    let said = bench.ask(&UndoTarget::Entry(ids[1]));
    assert!(said.contains("`d/new.txt`: removed"), "{said}");
    assert!(bench.at("d/theirs").exists() && !bench.at("d/new.txt").exists());
    // A folder that was replaced by a link leads nowhere.
    bench.call("write_file", json!({"path": "e/f.txt", "content": "n"})).await;
    fs::remove_dir_all(bench.at("e")).unwrap();
    fs::create_dir(bench.base.join("outside")).unwrap();
    fs::write(bench.base.join("outside/f.txt"), "n").unwrap();
    symlink("../outside", bench.at("e")).unwrap();
    let said = bench.undo_last();
    assert!(said.contains("Nothing was changed"), "{said}");
    assert!(bench.base.join("outside/f.txt").exists());
}

#[tokio::test]
async fn what_is_protected_or_secret_is_never_copied_nor_restored() {
    let mut bench =
        Bench::new(&[(".env", "KEY=verysecret"), ("x.log", "verysecret"), (".gitignore", "*.log\n")]);
    bench.call("shell", json!({"command": "echo more >> .env; echo more >> x.log; mkdir -p .git .co; echo h > .git/h; echo r > .co/r; echo a > a"})).await;
    let undoing = bench.undoing(&bench.ids());
    assert_eq!(undoing.lost, [PathBuf::from(".env")]);
    let asked = bench
        .undo
        .carry_out(&UndoScope::Session("s".to_owned()), &UndoTarget::Last, false, &bench.own())
        .unwrap();
    let UndoOutcome::Asks { text: asked, .. } = asked else { panic!("{asked:?}") };
    assert!(
        asked.contains("Others may have made some of the changes") && asked.contains("`a`: to be removed"),
        "{asked}"
    );
    let said = bench.undo_last();
    assert!(said.contains("stay as they are, because their content was not kept:\n- `.env`"), "{said}");
    assert!(bench.at(".git/h").exists() && bench.at(".co/r").exists() && !bench.at("a").exists());
    bench.call("read_file", json!({"path": ".env"})).await;
    bench.call("write_file", json!({"path": ".env", "content": "KEY=x"})).await;
    let base = bench.base.join("own");
    for file in [FILE.to_owned(), format!("{FILE}-wal")] {
        let path = base.join(file);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o077, 0, "only its owner may read it");
    }
    let database = rusqlite::Connection::open(base.join(FILE)).unwrap();
    let hash = crate::stdx::fs::fingerprint(b"KEY=verysecret");
    let hash2 = crate::stdx::fs::fingerprint(b"verysecret");
    let count: i64 = database
        .query_row("SELECT COUNT(*) FROM blobs WHERE hash IN (?1, ?2)", [hash, hash2], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 0);
}

#[tokio::test]
async fn a_store_that_fails_costs_the_way_back_and_no_work() {
    let mut bench = Bench::new(&[("a", "1"), ("b", "2")]);
    for path in ["a", "b"] {
        bench.call("read_file", json!({ "path": path })).await;
    }
    let file = bench.base.join("own").join(FILE);
    let write = |path: &str, text: &str| json!({"path": path, "content": text});
    bench.check(&[("write_file", write("a", "x"), "replaced a")]).await;
    // Deleted: it begins anew.
    fs::remove_file(&file).unwrap();
    bench.check(&[("write_file", write("a", "y"), "replaced a")]).await;
    assert_eq!(bench.ids().len(), 1);
    assert!(bench.undo_last().starts_with("Took back"));
    assert_eq!(bench.get("a"), "x");
    // It cannot be written between the plan and the change: the change is not made, and the next one goes without.
    let args = write("b", "z");
    assert_eq!(bench.plan("write_file", &args).await.unwrap().undo, Undo::Exact);
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("DROP TABLE changes").unwrap();
    let error = bench.run("write_file", &args).await.unwrap_err().to_string();
    assert!(error.contains("not done: what it would change could not be kept for undo"), "{error}");
    assert_eq!(bench.get("b"), "2");
    assert_eq!(bench.plan("write_file", &args).await.unwrap().undo, Undo::None);
    bench
        .check(&[
            ("write_file", args, "replaced b"),
            ("shell", json!({"command": "echo c > c"}), "no output"),
        ])
        .await;
    // Damaged from the start.
    let mut bench = Bench::new(&[]);
    fs::create_dir_all(bench.base.join("own")).unwrap();
    fs::write(bench.base.join("own").join(FILE), "no database at all, but long enough to be one".repeat(50))
        .unwrap();
    assert_eq!(bench.undo_word("write_file", write("n", "n")).await, Undo::None);
    bench.check(&[("write_file", write("n", "n"), "created n")]).await;
    assert!(
        bench.undo.entries(&EntryFilter::default()).unwrap_err().to_string().contains("damaged; delete it")
    );
    assert!(bench.undo.fault().unwrap().contains("damaged"));
}

#[tokio::test]
async fn the_model_is_told_once() {
    let mut bench = Bench::new(&[]);
    bench.call("write_file", json!({"path": "a\nb", "content": "x"})).await;
    let said = bench.undo_last();
    assert!(said.contains("`a␊b`: removed"), "{said}");
    let notes = bench.undo.notes("s");
    assert!(notes[0].1.starts_with("The user took back: created a␊b."), "{notes:?}");
    bench.undo.remove_notes(&notes);
    assert_eq!(bench.undo.notes("s"), []);
    assert_eq!(bench.undo.notes("another"), []);
}

#[tokio::test]
async fn a_patch_changes_all_its_files_or_none() {
    let mut bench = Bench::new(&[("a.txt", "one\ntwo\n"), ("b.txt", "b\n"), ("old.txt", "x\ny\n")]);
    fs::set_permissions(bench.at("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(bench.at("old.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let patch = |text: &str| json!({ "patch": text });
    let whole = "*** Begin Patch\n*** Update File: a.txt\n one\n-two\n+TWO\n*** Add File: n/new.txt\n+n\n*** Delete File: b.txt\n\
                 *** Update File: old.txt\n*** Move to: renamed.txt\n x\n-y\n+Y\n*** End Patch\n";
    bench
        .check(&[(
            "apply_patch",
            patch(whole),
            "MISUSE nothing was changed: a.txt exists and was not read yet",
        )])
        .await;
    for path in ["a.txt", "b.txt", "old.txt"] {
        bench.call("read_file", json!({ "path": path })).await;
    }
    let before = bench.tree();
    bench
        .check(&[
            ("apply_patch", patch("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-c\n+d\n"), "MISUSE nothing was changed: b.txt: part 1 is not in the file"),
            ("apply_patch", patch("--- a/a.txt\n+++ /dev/null\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"), "a.txt is in the patch twice"),
            ("apply_patch", patch("--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"), "leads outside"),
            ("apply_patch", patch("--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+x\n"), "b.txt exists already"),
        ])
        .await;
    assert_eq!(bench.tree(), before);
    let plan = bench.plan("apply_patch", &patch(whole)).await.unwrap();
    assert_eq!(
        (plan.summary.as_str(), plan.risk, plan.undo),
        ("patch 5 files: +4 -4", Risk::High, Undo::Exact)
    );
    bench.check(&[("apply_patch", patch(whole), "changed a.txt")]).await;
    assert_eq!(
        (bench.get("a.txt"), bench.get("renamed.txt"), bench.get("n/new.txt")),
        ("one\nTWO\n".into(), "x\nY\n".into(), "n\n".into())
    );
    assert!(!bench.at("b.txt").exists() && !bench.at("old.txt").exists());
    assert_eq!(fs::metadata(bench.at("renamed.txt")).unwrap().mode() & 0o777, 0o750);
    let after = bench.tree();
    bench.undo_last();
    assert_eq!(bench.tree(), before);
    bench.redo();
    assert!(bench.tree() == after, "{:?}", keys_apart(&bench.tree(), &after));
    // A file that cannot be written: what was written before it gets its content back.
    bench.call("write_file", json!({"path": "q/z.txt", "content": "z"})).await;
    fs::set_permissions(bench.at("q/z.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    let before = bench.tree();
    let two = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n--- a/q/z.txt\n+++ b/q/z.txt\n@@ -1 +1 @@\n-z\n+y\n";
    bench
        .check(&[(
            "apply_patch",
            patch(two),
            "q/z.txt could not be written: it is read-only; nothing was changed",
        )])
        .await;
    assert_eq!(bench.tree(), before);
}

#[tokio::test]
async fn the_oldest_changes_go_first_and_a_session_can_be_forgotten() {
    let mut bench = Bench::new(&[]);
    bench.undo = UndoLog::new(UndoOptions {
        data: bench.base.join("own"),
        max_mb: 1,
        snapshot_mb: 0,
        clock: Arc::new(SystemClock),
    });
    let tool = ToolAdapter::new(WriteFile, LIMIT).undoable(&bench.undo);
    bench.tools.add(Arc::new(tool));
    let noise = |seed: u64| -> String {
        let mut state = seed + 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + u8::try_from(state >> 60).unwrap())
        };
        (0..400_000).map(|_| next()).collect()
    };
    for n in 0..12 {
        bench.check(&[("write_file", json!({"path": "a", "content": noise(n)}), "a: 1 line")]).await;
    }
    let size = fs::metadata(bench.base.join("own").join(FILE)).unwrap().len();
    assert!(size < 2 << 20, "{size}");
    let left = bench.ids();
    assert!((2..9).contains(&left.len()) && left[0] == 12, "{left:?}");
    for id in &left {
        assert!(bench.undo_last().starts_with("Took back"), "{id}");
    }
    assert_eq!(bench.get("a").len(), 400_000, "what was before the oldest change is kept no more");
    crate::undo::forget(&bench.base.join("own"), "s").unwrap();
    assert_eq!(bench.ids(), [] as [i64; 0]);
    let database = rusqlite::Connection::open(bench.base.join("own").join(FILE)).unwrap();
    let blobs: i64 = database.query_row("SELECT COUNT(*) FROM blobs", [], |row| row.get(0)).unwrap();
    assert_eq!(blobs, 0);
}

#[tokio::test]
async fn what_comes_into_view_or_goes_out_of_it_is_no_change() {
    let files =
        [(".gitignore", ".env\nlocal.db\n"), (".env", "KEY=1"), ("local.db", "data"), ("kept.txt", "k")];
    let mut bench = Bench::new(&files);
    // The command begins well after these files changed last.
    bench.call("shell", json!({"command": "sleep 0.2"})).await;
    bench.call("shell", json!({"command": "echo kept.txt > .gitignore; echo n > new"})).await;
    let said = bench.undo_last();
    assert!(said.contains("- `.gitignore`: changed back") && said.contains("- `new`: removed"), "{said}");
    assert!(!said.contains("local.db") && !said.contains(".env") && !said.contains("`kept.txt`"), "{said}");
    assert_eq!(
        (bench.get(".env"), bench.get("local.db"), bench.get("kept.txt")),
        ("KEY=1".into(), "data".into(), "k".into())
    );
    // A secret that a command made is listed, not removed: nothing could bring it back.
    bench.put(".gitignore", "");
    bench.call("shell", json!({"command": "echo s > server.pem; echo o > other"})).await;
    let said = bench.undo_last();
    assert!(
        said.contains("stay as they are")
            && said.contains("- `server.pem`")
            && said.contains("- `other`: removed"),
        "{said}"
    );
    assert!(bench.at("server.pem").exists());
}

#[tokio::test]
async fn what_is_as_it_was_already_is_marked_and_what_runs_elsewhere_is_left_alone() {
    let mut bench = Bench::new(&[("a", "1"), ("lib/.git/config", ""), ("lib/x", "x")]);
    bench.call("read_file", json!({"path": "a"})).await;
    bench.call("write_file", json!({"path": "a", "content": "2"})).await;
    bench.put("a", "1");
    assert!(bench.undo_last().contains("The files were as they are already."));
    assert_eq!(bench.ids(), [] as [i64; 0]);
    assert_eq!(
        bench.undo_word("move_file", json!({"from": "lib", "to": "b"})).await,
        Undo::None,
        "a repository"
    );
    assert_eq!(bench.ask(&UndoTarget::Entry(1)), "Change 1 was taken back already.");
    // Of another session or folder there is nothing to take back here.
    bench.call("write_file", json!({"path": "n", "content": "2"})).await;
    let other = UndoScope::Session("another".to_owned());
    let outcome = bench.undo.carry_out(&other, &UndoTarget::Entry(2), true, &bench.own()).unwrap();
    assert!(matches!(outcome, UndoOutcome::Refused(_)) && bench.at("n").exists(), "{outcome:?}");
    // A command that runs in another process keeps its way back whatever happens here.
    let other = UndoLog::new(UndoOptions {
        data: bench.base.join("own"),
        max_mb: 100,
        snapshot_mb: 1,
        clock: Arc::new(SystemClock),
    });
    let place =
        crate::undo::UndoWorkspace { workspace: bench.at("").canonicalize().unwrap(), own: bench.own() };
    let (call, tool, label) = (CallId("o/1.1.0".to_owned()), "shell".to_owned(), "long".to_owned());
    let recording =
        other.begin_command(&crate::undo::ChangeOrigin { call, place, tool, label }).unwrap().unwrap();
    bench.put("theirs", "t");
    bench.call("shell", json!({"command": "true"})).await;
    bench.undo_last();
    recording.end();
    let session = UndoScope::Session("o".to_owned());
    let outcome = other.carry_out(&session, &UndoTarget::Last, true, &bench.own()).unwrap();
    let UndoOutcome::Done(said) = outcome else { panic!("{outcome:?}") };
    assert!(said.contains("- `theirs`: removed"), "{said}");
}
