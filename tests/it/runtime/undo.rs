//! Taking back what calls did to files: in the session, back to a prompt, and from a shell beside it.

use co::approval::Approval;
use co::runtime::SessionTarget;

use super::branches::all_asked;
use super::interactive::{open, run, with};
use crate::co::Co;

const ALLOWED: &str = "[[rule]]\neffect = \"allow\"\ntool = \"*_file\"\n";

fn content(co: &Co) -> Option<String> {
    co.read("a.txt")
}

#[test]
fn what_a_turn_did_to_files_is_taken_back_and_the_model_is_told() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\"}\nreply\n  call edit_file {\"path\":\"a.txt\",\"old\":\"one\",\"new\":\"two\"}\nreply\n  text Done.\nreply\n  text I see.\nreply\n  text Yes.";
    let (co, service) = with(script);
    let co = co.file(".config/co/rules.toml", ALLOWED);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        client.end().await;
        client.idle().await;
        assert_eq!(content(&co).as_deref(), Some("two"));
        client.line("/undo").await;
        let (_, text, _) = client.local().await;
        assert!(text.contains("Took back: `changed a.txt`") && text.contains("`/undo` again"), "{text}");
        assert_eq!(content(&co).as_deref(), Some("one"));
        // From a shell, while the session is open.
        let listed = co.run(&["undo", "--list"]);
        assert_eq!(listed.out, "- 2: `changed a.txt` (1 file, taken back)\n- 1: `created a.txt` (1 file)\n");
        let ran = co.run(&["undo"]);
        assert_eq!(ran.out, "Took back: `created a.txt`\n\n- `a.txt`: removed\n", "{ran:?}");
        assert_eq!(content(&co), None);
        client.line("/undo").await;
        assert_eq!(client.local().await.1, "There is nothing to take back.");
        for expected in ["created a.txt", "changed a.txt"] {
            client.line("/redo").await;
            let (_, text, _) = client.local().await;
            assert!(text.starts_with(&format!("Did again: `{expected}`")), "{text}");
        }
        assert_eq!(content(&co).as_deref(), Some("two"));
        client.line("/undo turn").await;
        assert!(client.local().await.1.contains("`changed a.txt`, `created a.txt`"));
        client.line("what is there?").await;
        assert_eq!(client.reply().await, "I see.");
        client.idle().await;
        client.line("and now?").await;
        assert_eq!(client.reply().await, "Yes.");
        client.close().await;
    });
    let asked = all_asked(&service, 5);
    assert!(asked[3].contains("The user took back: changed a.txt; created a.txt"), "{}", asked[3]);
    assert_eq!(asked[4].matches("The user took back: changed a.txt; created a.txt").count(), 1, "told once");
    let told: usize = co.run(&["undo", "--list", "--json"]).out.matches("\"undone\":").count();
    assert_eq!(told, 2);
}

#[test]
fn going_back_to_a_prompt_takes_the_files_along() {
    let script = "reply\n  text One.\nreply\n  call write_file {\"path\":\"a.txt\",\"content\":\"x\"}\nreply\n  call shell {\"command\":\"echo y > b.txt; rm keep.txt\"}\nreply\n  text Two.\nreply\n  text Other.";
    let (co, service) = with(script);
    let co = co.file(".config/co/rules.toml", ALLOWED).file("work/keep.txt", "kept");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("first").await;
        client.end().await;
        client.idle().await;
        client.line("elephants").await;
        let request = client.asked().await;
        client.decide(&request, Approval::yes()).await;
        client.end().await;
        client.idle().await;
        assert_eq!((co.read("b.txt").as_deref(), co.read("keep.txt")), (Some("y\n"), None));
        // A command asks: others may have worked meanwhile.
        client.line("/rewind 1 files").await;
        let (_, text, _) = client.local().await;
        assert!(
            text.contains("Others may have made some of the changes")
                && text.contains("- `keep.txt`: to be restored"),
            "{text}"
        );
        assert_eq!(co.read("keep.txt"), None);
        client.line("/rewind 1 files yes").await;
        let (_, text, _) = client.local().await;
        assert!(text.starts_with("Took back: `echo y > b.txt; rm keep.txt`, `created a.txt`"), "{text}");
        assert_eq!(
            (co.read("a.txt"), co.read("b.txt"), co.read("keep.txt").as_deref()),
            (None, None, Some("kept"))
        );
        let (_, text, _) = client.local().await;
        assert!(text.contains("changes of files were taken back, and nothing else"), "{text}");
        client.line("otherwise").await;
        assert_eq!(client.reply().await, "Other.");
        client.close().await;
    });
    let asked = all_asked(&service, 5);
    assert!(!asked[4].contains("elephants"), "{}", asked[4]);
    assert!(
        asked[4].contains("The user took back: echo y > b.txt; rm keep.txt; created a.txt"),
        "{}",
        asked[4]
    );
}

#[test]
fn nothing_is_kept_where_it_is_off_and_a_deleted_session_leaves_nothing() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"x\"}\nreply\n  text Done.";
    let (co, service) = with(script);
    let co = co.file(".config/co/rules.toml", ALLOWED);
    let ran = co.run(&["-p", "write", "--set", "undo.max_mb=0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = co.run(&["undo", "--set", "undo.max_mb=0"]);
    assert_eq!(ran.err, "co: error: undo is off: `undo.max_mb` is 0\n");
    let ran = co.run(&["undo"]);
    assert!(ran.code == Some(1) && ran.err.starts_with("There is nothing to take back."), "{ran:?}");
    drop(service);
    let (co, _service) = with(script);
    let co = co.file(".config/co/rules.toml", ALLOWED);
    assert_eq!(co.run(&["-p", "write"]).code, Some(0));
    assert!(co.run(&["undo", "7"]).err.starts_with("There is no change 7 here."));
    assert_eq!(co.run(&["undo", "--list"]).out, "- 1: `created a.txt` (1 file)\n");
    let ran = co.run(&["sessions", "delete", "0", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(co.run(&["undo", "--list"]).out, "Nothing that can be taken back was changed here.\n");
}
