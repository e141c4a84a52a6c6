//! Places that fail: data folders, databases, sessions of others, a workspace that goes away. Each ends with words that
//! say what to do, and nothing that was there is touched.

use super::kit::{USUAL, approve, each, on_terminal, replies, run, run_through, say, sent_lines, serve};
use crate::co::{Co, Service, Wire};
use crate::skip::skipped;
use crate::tui::terminal::{Launch, Terminal};

/// Ways in which the data folder fails: a script that prepares it and runs `"$@"`, and what is said.
const DATA: &[(&str, &str, &str)] = &[
    (
        "a file in its place",
        "mkdir -p \"$HOME/.local/share\"; : > \"$HOME/.local/share/co\"; exec \"$@\"",
        "cannot be used",
    ),
    (
        "a disk that nobody may write",
        "mkdir -p \"$HOME/.local/share/co\"; exec unshare -rm sh -c 'mount -t tmpfs -o ro none \"$HOME/.local/share/co\" && exec \"$@\"' sh \"$@\"",
        "cannot be written",
    ),
    (
        "a disk without room",
        "mkdir -p \"$HOME/.local/share/co\"; exec unshare -rm sh -c 'mount -t tmpfs -o size=16k none \"$HOME/.local/share/co\" && exec \"$@\"' sh \"$@\"",
        "no space left",
    ),
    ("files that may not grow", "ulimit -f 200; exec \"$@\"", "failed: disk I/O error; check the disk"),
    (
        "a disk that gets full",
        "mkdir -p \"$HOME/.local/share/co\"; exec unshare -rm sh -c 'mount -t tmpfs -o size=600k none \"$HOME/.local/share/co\" && exec \"$@\"' sh \"$@\"",
        "no space left",
    ),
];

fn may_mount() -> bool {
    std::process::Command::new("unshare")
        .args(["-rm", "sh", "-c", "mount -t tmpfs none /mnt"])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Stored requests can be listed where the folder cannot be written.
#[test]
fn a_read_only_data_folder_is_listed() {
    if !may_mount() {
        return skipped(
            "lists of a read-only data folder (this user may not mount in a namespace of its own)",
        );
    }
    let co = Co::new().env("CO_PROVIDER", "offline");
    assert_eq!(run(&co, &["-p", "hello"]).code, Some(0));
    let script = "exec unshare -rm sh -c 'D=\"$HOME/.local/share/co\"; mount --bind \"$D\" \"$D\" && \
                  mount -o remount,ro,bind \"$D\" && exec \"$@\"' sh \"$@\"";
    for (args, said) in
        [(&["sessions"][..], "hello"), (&["approvals"], ""), (&["usage"], ""), (&["audit"], "")]
    {
        let ran = run_through(&co, script, args, "");
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        assert!(ran.out.contains(said), "{args:?}: {ran:?}");
    }
    let ran = run_through(&co, script, &["-p", "more"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("cannot be written"), "{ran:?}");
}

#[test]
fn data_folders_that_fail_are_named() {
    let may_mount = may_mount();
    if !may_mount {
        skipped("a read-only and a full data folder (this user may not mount in a namespace of its own)");
    }
    each(DATA, 3, |(name, script, words)| {
        if script.contains("unshare") && !may_mount {
            return;
        }
        let co = Co::new().env("CO_PROVIDER", "offline");
        let prompt =
            "x".repeat(if name.contains("gets full") || name.contains("grow") { 1_000_000 } else { 10 });
        let ran = run_through(&co, script, &["-p"], &prompt);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(words), "{words:?} in {ran:?}");
    });
}

#[test]
fn a_damaged_database_is_refused_and_kept() {
    let co = Co::new().env("CO_PROVIDER", "offline");
    assert_eq!(run(&co, &["-p", "hello"]).code, Some(0));
    let path = co.data().join("co.db");
    {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xaa);
    std::fs::write(&path, &bytes).unwrap();
    for args in [&["-c", "-p", "hello"][..], &["sessions"], &["approvals"]] {
        let ran = run(&co, args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.err.contains("is damaged (") && ran.err.contains("`co doctor`"), "{ran:?}");
    }
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("is damaged");
    say(&mut screen, "hello");
    // The session cannot be written: it ends, and says why on the normal screen.
    assert_eq!(screen.wait_exit().code, 1);
    assert!(screen.screen().contains("is damaged"), "{}", screen.screen());
    assert!(std::fs::read(&path).unwrap() == bytes, "the file is as it was");
    let ran = run(&co, &["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("damaged  ") && ran.err.contains("co doctor --salvage"), "{ran:?}");
    let ran = run(&co, &["doctor", "--restore", "--yes"]);
    assert!(ran.err.contains("there is no backup of the database"), "{ran:?}");
    // Not even its list of tables can be read.
    let ran = run(&co, &["doctor", "--salvage", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("move co.db away to start over"), "{ran:?}");
    assert!(std::fs::read(&path).unwrap() == bytes, "it is kept");
    std::fs::rename(&path, co.data().join("old.db")).unwrap();
    assert_eq!(run(&co, &["-p", "hello"]).code, Some(0));
    let ran = run(&co, &["doctor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.ends_with("verdict   no problems\n"), "{ran:?}");
}

/// A prompt that cannot be stored goes back to the composer, and the screen stays; the next one that can be is sent.
#[test]
fn a_screen_outlives_a_store_that_refuses() {
    let co = Co::new().env("CO_PROVIDER", "offline");
    let script = ["-c", "ulimit -f 2000; exec \"$0\"", env!("CARGO_BIN_EXE_co")];
    let launch = Launch::new("/bin/sh", co.workspace()).args(script);
    let mut screen = Terminal::start(&launch.envs(co.variables().to_vec()).size(USUAL.0, USUAL.1));
    screen.wait_for("unsandboxed");
    screen.paste(&"many words ".repeat(300_000));
    screen.keys("<ret>");
    let shown = screen.wait_for("not saved");
    assert!(shown.contains("disk I/O error"), "{shown}");
    screen.wait_for("[pasted 3.2 MB]");
    say(&mut screen, "run `true`");
    screen.wait_for("shell true");
    assert_eq!(co.waiting().len(), 1);
    // Another process holds the database: what is asked for waits, and leaving does not.
    let held = rusqlite::Connection::open(co.data().join("co.db")).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = std::time::Instant::now();
    say(&mut screen, "and this");
    screen.keys("<c-c><c-c><c-c>");
    screen.wait_exit();
    assert!(began.elapsed() < std::time::Duration::from_secs(9), "{:?}", began.elapsed());
}

#[test]
fn an_emptied_database_is_no_new_one() {
    let co = Co::new().env("CO_PROVIDER", "offline");
    assert_eq!(run(&co, &["-p", "run `true`"]).code, Some(4));
    // The head of the audit is kept where a list is asked for it.
    assert_eq!(run(&co, &["audit", "verify"]).code, Some(0));
    let path = co.data().join("co.db");
    for name in ["co.db-wal", "co.db-shm"] {
        let _ = std::fs::remove_file(co.data().join(name));
    }
    std::fs::write(&path, "").unwrap();
    for args in [&["-p", "hello"][..], &["sessions"]] {
        let ran = run(&co, args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("co.db is empty, but had content before"), "{ran:?}");
    }
    let ran = run(&co, &["doctor"]);
    assert!(ran.code == Some(1) && ran.out.contains("the database is empty"), "{ran:?}");
}

#[test]
fn a_second_screen_of_a_session_reads_only() {
    let service = Service::new(
        "reply\n  text One.\n  call write_file {\"path\":\"a.txt\",\"content\":\"a\"}\nreply\n  text Two.\n",
    );
    let co = Co::new().with(&service, Wire::Anthropic);
    let mut first = on_terminal(&co, &[], USUAL);
    first.wait_for("unsandboxed");
    say(&mut first, "hi");
    first.wait_for("write_file a.txt");
    let mut second = on_terminal(&co, &["-c"], USUAL);
    let owner = format!("process {}", first.pid());
    let about = [&owner, "One.", "read-only", "You can read it and decide its requests"];
    second.wait_until("who holds it, and what is in it", |screen| {
        about.iter().all(|words| screen.contains(*words))
    });
    say(&mut second, "me too");
    second.wait_for("starts a new session");
    // It may decide, and the owner goes on.
    approve(&mut second);
    first.wait_for("Two.");
    second.wait_for("Two.");
    assert_eq!(co.read("a.txt").as_deref(), Some("a"));
    second.keys("<c-c><c-c>");
    assert_eq!(second.wait_exit().code, 0);
    first.keys("<c-d>");
    assert_eq!(first.wait_exit().code, 0);
    assert_eq!(service.server.requests().len(), 2);
    service.is_content();
}

#[test]
fn a_workspace_that_goes_away_is_told() {
    let co = Co::new().file("work/alpha.txt", "one\n");
    let mut screen = on_terminal(&co, &[], USUAL);
    screen.wait_for("unsandboxed");
    std::fs::remove_dir_all(co.workspace()).unwrap();
    say(&mut screen, "list the files here");
    screen.wait_for("did not work");
    screen.wait_for("? keys");
    say(&mut screen, "!pwd");
    screen.wait_until("what is wrong, and what to do", |screen| screen.contains("no longer"));
    screen.keys("<c-c><c-c>");
    assert_eq!(screen.wait_exit().code, 0);
    assert!(screen.screen().contains("saved"), "{}", screen.screen());
}

/// A disk that gets full during a write: the model gets an error, the files are as they were, and nothing else stays.
#[test]
fn a_workspace_that_gets_full_keeps_its_files() {
    if !may_mount() {
        return skipped("a workspace on a full disk (this user may not mount in a namespace of its own)");
    }
    let (large, some) = ("x".repeat(60_000), "x".repeat(20_000));
    let patch = format!(
        "--- a/b.txt\\n+++ b/b.txt\\n@@ -1 +1 @@\\n-b\\n+{some}\\n--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 @@\\n-old\\n+{large}\\n"
    );
    let calls = [
        r#"read_file {"path":"a.txt"}"#.to_owned(),
        r#"read_file {"path":"b.txt"}"#.to_owned(),
        format!(r#"write_file {{"path":"a.txt","content":"{large}{large}"}}"#),
        format!(r#"write_file {{"path":"new/c.txt","content":"{large}{large}"}}"#),
        format!(r#"edit_file {{"path":"a.txt","old":"old","new":"{large}{large}"}}"#),
        format!(r#"apply_patch {{"patch":"{patch}"}}"#),
        r#"copy_file {"from":"half","to":"copy"}"#.to_owned(),
    ];
    let script: String = calls.iter().map(|call| format!("reply\n  call {call}\n")).collect();
    let service = serve(replies(&(script + "reply\n  text Done.\n")));
    let rules = "[[rule]]\neffect = \"allow\"\ntool = \"*\"\n";
    let co = Co::new().file(".config/co/rules.toml", rules).with(&service, Wire::Anthropic);
    let script = "exec unshare -rm sh -c 'mount -t tmpfs -o size=100k none \"$HOME/work\" && cd \"$HOME/work\" && \
                  echo old > a.txt && echo b > b.txt && head -c 50000 /dev/zero > half && \"$@\"; code=$?; \
                  find . -type f | sort; cat a.txt b.txt; exit $code' sh \"$@\"";
    let ran = run_through(&co, script, &["-p", "fill it"], "");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "Done.\n./a.txt\n./b.txt\n./half\nold\nb\n"),
        "{ran:?}"
    );
    let last = sent_lines(&service, calls.len() + 1);
    let returns: Vec<&String> = last.iter().filter(|line| line.starts_with("return ")).collect();
    assert_eq!(returns.len(), calls.len(), "{last:?}");
    for told in &returns[2..] {
        assert!(told.contains("No space left on device"), "{told}");
    }
    assert!(returns[5].contains("nothing was changed"), "{}", returns[5]);
}
