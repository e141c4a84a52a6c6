//! Files, names and changes that go wrong: each ends in a clear return, and nothing is lost.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::*;

/// The calls that every tool of files would make of a path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({ "path": path })),
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "old": "a", "new": "b"})),
        ("apply_patch", json!({"patch": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n")})),
        ("copy_file", json!({"from": path, "to": "copy"})),
        ("move_file", json!({"from": path, "to": "moved"})),
        ("delete_file", json!({ "path": path })),
        ("create_dir", json!({ "path": path })),
    ]
}

#[tokio::test]
async fn no_tool_blocks_on_or_leaves_through_what_is_no_file() {
    let mut bench = Bench::new(&[("d/x", "")]);
    assert!(std::process::Command::new("mkfifo").arg(bench.at("pipe")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(bench.at("socket")).unwrap();
    for (link, target) in
        [("loop", "loop2"), ("loop2", "loop"), ("zero", "/dev/zero"), ("proc", "/proc/self")]
    {
        symlink(target, bench.at(link)).unwrap();
    }
    let through = |path: &str| !matches!(path, "loop" | "zero" | "proc");
    for (path, expected) in [
        ("pipe", "a pipe, a socket or a device"),
        ("socket", "a pipe, a socket or a device"),
        ("loop", "too many symbolic links"),
        ("loop/x", "too many symbolic links"),
        ("zero", "leads outside"),
        ("proc/environ", "leads outside"),
        ("/proc/self/mem", "leads outside"),
        ("/dev/zero", "leads outside"),
    ] {
        for (name, args) in calls(path) {
            let said = bench.call(name, args.clone()).await;
            let expected = if name == "create_dir" && through(path) && !path.contains('/') {
                "exists already, and is no folder"
            } else {
                expected
            };
            assert!(said.starts_with("MISUSE") && said.contains(expected), "{name} {args}: {said}");
        }
    }
    assert!(!bench.at("copy").exists() && !bench.at("moved").exists());
}

#[tokio::test]
async fn a_chain_of_links_leads_to_its_file() {
    let mut bench = Bench::new(&[("d/file", "a\n")]);
    for (link, target) in [("one", "two"), ("two", "d/three"), ("d/three", "file")] {
        symlink(target, bench.at(link)).unwrap();
    }
    bench
        .check(&[
            ("read_file", json!({"path": "one"}), "=     1\ta\n"),
            ("edit_file", json!({"path": "one", "old": "a", "new": "b"}), "changed d/file"),
            ("delete_file", json!({"path": "one"}), "=deleted one"),
            ("read_file", json!({"path": "two"}), "=     1\tb\n"),
        ])
        .await;
    assert!(bench.at("two").is_symlink() && bench.at("d/three").is_symlink());
}

#[tokio::test]
async fn a_gigabyte_is_neither_held_nor_shown() {
    let mut bench = Bench::new(&[]);
    let file = fs::File::create(bench.at("big")).unwrap();
    file.set_len(1 << 30).unwrap();
    bench.put("text", "line\n");
    let text = fs::File::options().append(true).open(bench.at("text")).unwrap();
    text.set_len(1 << 30).unwrap();
    bench
        .check(&[
            (
                "read_file",
                json!({"path": "big"}),
                "=big is not text: binary data, 1073741824 bytes; its content is not shown",
            ),
            ("read_file", json!({"path": "text"}), "text is not text: binary data"),
            (
                "write_file",
                json!({"path": "big", "content": "x"}),
                "MISUSE big has 1073741824 bytes; files above 8 MiB are changed with a command",
            ),
            ("edit_file", json!({"path": "big", "old": "a", "new": "b"}), "MISUSE big has 1073741824 bytes"),
            (
                "apply_patch",
                json!({"patch": "--- a/big\n+++ b/big\n@@ -1 +1 @@\n-a\n+b\n"}),
                "big has 1073741824 bytes",
            ),
            ("move_file", json!({"from": "big", "to": "bigger"}), "=moved big to bigger"),
        ])
        .await;
    let plan = bench.plan("delete_file", &json!({"path": "bigger"})).await.unwrap();
    assert_eq!(plan.preview, Preview::Text { text: "1073741824 bytes that are not text".to_owned() });
    assert_eq!(plan.undo, crate::tool::Undo::None, "it is too large to be kept");
}

#[tokio::test]
async fn names_are_taken_as_they_are_and_shown_harmless() {
    let mut bench = Bench::new(&[]);
    let (name, shown) = ("a\n\u{1b}[2J\u{202e}", "a␊␛[2J<U+202E>");
    let long = "n".repeat(300);
    bench
        .check(&[
            (
                "write_file",
                json!({"path": name, "content": "a\n"}),
                &format!("=created {shown}: 1 line, 2 bytes"),
            ),
            ("read_file", json!({ "path": name }), "=     1\ta\n"),
            ("edit_file", json!({"path": name, "old": "a", "new": "b"}), &format!("changed {shown}\n")),
            ("copy_file", json!({"from": name, "to": "copy\r"}), &format!("=copied {shown} to copy␍")),
            ("move_file", json!({"from": name, "to": "\t"}), &format!("=moved {shown} to  ")),
            ("delete_file", json!({"path": "copy\r"}), "=deleted copy␍"),
            ("create_dir", json!({"path": "d\n"}), "=made folder d␊"),
            ("write_file", json!({"path": long, "content": "x"}), "File name too long"),
            ("create_dir", json!({ "path": long }), "File name too long"),
            ("read_file", json!({ "path": long }), "File name too long"),
        ])
        .await;
}

/// A call names files in Unicode, and so cannot name such a one.
#[tokio::test]
async fn names_that_are_not_utf8_are_said_to_be() {
    let mut bench = Bench::new(&[]);
    let path = bench.at("").join(OsStr::from_bytes(b"caf\xe9"));
    fs::write(&path, "a\n").unwrap();
    let expected = "MISUSE there is no caf\u{fffd}; a name beside it is not UTF-8 and only looks like it: rename it with a command";
    for (name, args) in calls("caf\u{fffd}") {
        let said = bench.call(name, args).await;
        match name {
            "write_file" => assert_eq!(said, "created caf\u{fffd}: 1 line, 1 bytes"),
            "create_dir" => assert_eq!(said, "made folder caf\u{fffd}"),
            _ => assert!(said.contains(expected.trim_start_matches("MISUSE ")), "{name}: {said}"),
        }
        let _ = fs::remove_file(bench.at("caf\u{fffd}"));
    }
    assert_eq!(fs::read(&path).unwrap(), b"a\n");
}

#[tokio::test]
async fn changes_that_do_not_fit_change_nothing() {
    let text = "one\ntwo\nthree\nfour\ntwo\n";
    let mut bench = Bench::new(&[("a", text), ("b", "b\n")]);
    let patch = |hunks: &str| json!({"patch": format!("--- a/b\n+++ b/b\n@@ -1 +1 @@\n-b\n+c\n--- a/a\n+++ b/a\n{hunks}")});
    let edit = |old: &str| json!({"path": "a", "old": old, "new": "x"});
    bench
        .check(&[
            ("apply_patch", patch("@@ -1 +1 @@\n-one\n+1\n"), "a exists and was not read yet"),
            ("read_file", json!({"path": "a"}), "one"),
            ("read_file", json!({"path": "b"}), "b"),
            ("edit_file", edit("five"), "MISUSE a: `old` is not in the file"),
            ("edit_file", edit("two"), "MISUSE a: `old` occurs 2 times (at lines 2, 5)"),
            ("apply_patch", patch("@@ -1 +1 @@\n-five\n+5\n"), "a: part 1 is not in the file"),
            ("apply_patch", patch("@@ -9 +9 @@\n-two\n+2\n"), "a: part 1 fits at 2 places (lines 2, 5)"),
            (
                "apply_patch",
                patch("@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -2,2 +2,2 @@\n-two\n+zwei\n three\n"),
                "part 2",
            ),
        ])
        .await;
    assert_eq!((bench.get("a").as_str(), bench.get("b").as_str()), (text, "b\n"));
    bench.put("a", "one\nnew\n");
    let said = bench.call("apply_patch", patch("@@ -1 +1 @@\n-one\n+1\n")).await;
    assert!(said.contains("a changed since it was last read; read it again"), "{said}");
    assert_eq!((bench.get("a").as_str(), bench.get("b").as_str()), ("one\nnew\n", "b\n"));
}
