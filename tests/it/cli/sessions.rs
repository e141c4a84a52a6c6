//! `co sessions` and `co resume WORDS`: found, shown, exported, renamed, deleted.

use memchr::memmem;

use crate::co::{Co, Service, Wire};

/// A `co` with a session about an invoice and one about tests.
fn with_sessions() -> (Co, Service) {
    let service =
        Service::new("reply\n  text It is in **May**.\nreply\n  text All pass.\nreply\n  text Again.");
    let co = Co::new().with(&service, Wire::Anthropic);
    for prompt in ["where is the invoice of Dana?", "run the tests, key sk-ant-api03-abcdefghijklmnop1234"] {
        assert_eq!(co.run(&["-p", prompt]).code, Some(0));
    }
    (co, service)
}

/// Returns the id of the session in which these words are found.
fn id_of(co: &Co, words: &str) -> String {
    let output = co.command(&co.workspace(), &["sessions", "search", words, "--json"]).output().unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    found[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn sessions_are_found_by_what_was_said() {
    let (co, _service) = with_sessions();
    let found = co.run(&["sessions", "search", "may"]);
    assert!(
        found.out.contains("where is the invoice of Dana?") && found.out.contains("It is in **May**."),
        "{found:?}"
    );
    assert_eq!(co.run(&["sessions", "search", "invoice", "tests"]).out, "Nothing was found.\n");
    assert_eq!(co.run(&["sessions", "search"]).code, Some(2));
    assert!(!co.run(&["sessions", "list"]).out.contains("abcdefghijklmnop"), "titles hold no keys");
}

#[test]
fn a_session_becomes_a_document() {
    let (co, _service) = with_sessions();
    let id = id_of(&co, "invoice");
    let shown = co.run(&["sessions", "show", &id]).out;
    for part in
        ["# where is the invoice of Dana?\n", "## You\n\nwhere is", "## Assistant\n\nIt is in **May**.\n"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let other = id_of(&co, "tests");
    for format in ["md", "json", "html"] {
        let file = format!("out.{format}");
        let export = ["sessions", "export", &other, "--format", format, "-o", &file];
        assert_eq!(co.run(&export).code, Some(0));
        let text = co.read(&file).unwrap();
        assert!(
            text.contains("All pass.") && text.contains("[masked]") && !text.contains("abcdefghijkl"),
            "{text}"
        );
        let again = co.run(&export);
        assert_eq!(again.code, Some(1), "{again:?}");
        assert!(again.err.contains("name a file that does not exist yet"), "{again:?}");
    }
}

/// An export is imported as it was; a file that cannot be imported says why, and stores nothing.
#[test]
fn a_conversation_is_imported() {
    let (co, _service) = with_sessions();
    let id = id_of(&co, "invoice");
    assert_eq!(co.run(&["sessions", "export", &id, "--format", "json", "-o", "out.json"]).code, Some(0));
    let imported = co.run(&["sessions", "import", "out.json"]);
    imported.check(0, "Imported 2 messages (co) as [SESSION].\n", "");
    let found = co.run(&["sessions", "search", "invoice", "--json"]);
    assert_eq!(found.out.matches("\"id\"").count(), 2, "{found:?}");
    let list = "[{\"role\":\"system\",\"content\":\"x\"},{\"role\":\"user\",\"content\":\"count the zebras\"},\
        {\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"shell\",\"arguments\":\"{}\"}}]}]";
    let co = co.file("list.json", list).file("diary.txt", "Dear diary");
    let from = |name: &str| co.home().join(name).display().to_string();
    let imported = co.run(&["sessions", "import", &from("list.json")]);
    imported.check(
        0,
        "Imported 2 messages (OpenAI messages) as [SESSION].\n",
        "co: left out 1 system prompts\n",
    );
    // A call without a return is closed, not open.
    let shown = co.run(&["sessions", "show", &id_of(&co, "zebras")]).out;
    assert!(shown.contains("interrupted"), "{shown}");
    // It has no contents on the disk, and none of it is read.
    std::fs::File::create(co.home().join("vast.json")).unwrap().set_len(1 << 40).unwrap();
    for (file, why) in [
        (from("diary.txt"), "neither JSON nor lines"),
        (from("vast.json"), "is larger than 256 MiB\n    split it, or leave its images out"),
        ("/dev/zero".to_owned(), "not a regular file"),
    ] {
        let refused = co.run(&["sessions", "import", &file]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(why), "{refused:?}");
    }
}

#[test]
fn a_session_is_renamed_resumed_by_words_and_deleted() {
    let (co, _service) = with_sessions();
    let id = id_of(&co, "invoice");
    assert_eq!(co.run(&["sessions", "rename", &id, "the", "spring", "papers"]).code, Some(0));
    assert!(co.run(&["sessions"]).out.contains("the spring papers"));
    // Nothing is open in it, so that it ends at once.
    let resumed = co.run(&["resume", "spring", "papers", "-p", "--output", "json"]);
    assert!(!resumed.err.contains("several") && !resumed.err.contains("no session"), "{resumed:?}");
    let unclear = co.run(&["resume", "-p", "the"]);
    assert_eq!(unclear.code, Some(2), "{unclear:?}");
    assert!(
        unclear.err.contains("\"the\" is found in several sessions")
            && unclear.err.contains("[SESSION]  the spring papers"),
        "{unclear:?}"
    );
    let asked = co.run(&["sessions", "delete", &id]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.err.contains("add `--yes`"), "{asked:?}");
    assert_eq!(co.run(&["sessions", "delete", &id, "--yes"]).code, Some(0));
    assert_eq!(co.run(&["sessions", "search", "invoice"]).out, "Nothing was found.\n");
    assert!(co.run(&["sessions", "show", &id]).err.contains("no session"), "it is gone");
}

/// Listed first, deleted with `--yes`; one with a request is kept, one that is in use as well.
#[test]
fn old_sessions_are_pruned() {
    let (co, _service) = with_sessions();
    let call = "reply\n  call shell {\"command\":\"touch x\"}\n";
    let asking = Service::new(call);
    let co = co.with(&asking, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "touch it"]).code, Some(4));
    let unsaid = co.run(&["sessions", "prune"]);
    assert_eq!(unsaid.code, Some(2), "{unsaid:?}");
    assert!(unsaid.err.contains("`--before 90d`"), "{unsaid:?}");
    assert_eq!(
        co.run(&["sessions", "prune", "--before", "2020-01-01", "--yes"]).out,
        "No session is that old; nothing was deleted.\n"
    );
    let listed = co.run(&["sessions", "prune", "--before", "2090-01-01"]);
    assert_eq!(listed.code, Some(2), "{listed:?}");
    assert!(listed.out.contains("where is the invoice") && !listed.out.contains("touch it"), "{listed:?}");
    assert!(listed.err.contains("deleting 2 sessions cannot be undone"), "{listed:?}");
    let pruned = co.run(&["--set", "history.max_mb=1", "sessions", "prune", "--before", "2090-01-01", "-y"]);
    pruned.check(0, "Deleted 2 sessions.\n", "");
    let left = co.run(&["sessions", "--all"]).out;
    assert!(left.contains("touch it") && !left.contains("invoice"), "{left}");
    let audit = co.run(&["audit", "verify"]);
    assert!(audit.out.starts_with("The audit is intact"), "{audit:?}");
}

/// A script names its session: begun by the first run, continued by the next.
#[test]
fn a_session_has_the_id_that_it_is_given() {
    let service = Service::new("reply\n  text One.\nreply\n  text Two.");
    let co = Co::new().with(&service, Wire::Anthropic);
    let id = "0197a0aa-0000-7000-8000-00000000c0de";
    for prompt in ["first", "second"] {
        let ran = co.run(&["-p", prompt, "--session-id", id]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert!(service.asked(2).contains("first"), "the second request has the whole conversation");
    let shown = co.run(&["sessions", "show", id]).out;
    assert!(shown.contains("One.") && shown.contains("Two."), "{shown}");
    for wrong in [vec!["--session-id", "mine", "-p", "x"], vec!["-c", "--session-id", id, "-p", "x"]] {
        assert_eq!(co.run(&wrong).code, Some(2), "{wrong:?}");
    }
}

/// Nothing that was said, asked, typed or returned remains anywhere; the audit has a hash of each row.
#[test]
fn a_session_can_be_kept_in_memory_only() {
    if !std::path::Path::new("/dev/shm").is_dir() {
        return println!("skipped: this machine has no file system in memory");
    }
    let script = "reply\n  call read_file {\"path\":\"plan.txt\"}\nreply\n  call shell {\"command\":\"touch zebra\"}\n";
    let service = Service::new(script);
    let co = Co::new().with(&service, Wire::Anthropic).file("work/plan.txt", "the zebra plan");
    let ran = co.run(&["-p", "what about the zebra?", "--no-session-persistence"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("in memory only") && ran.err.contains("the session was not kept"), "{ran:?}");
    assert!(!ran.err.contains("co resume"), "{ran:?}");
    assert!(service.asked(2).contains("the zebra plan"), "it is a whole session while it lasts");
    assert_eq!(co.run(&["sessions", "--all"]).out, "No sessions yet.\n");
    let data = co.data();
    for entry in walkdir(&data) {
        let bytes = std::fs::read(&entry).unwrap_or_default();
        let found = memmem::find(&bytes, b"zebra").is_some();
        assert!(!found, "{} tells of it", entry.display());
    }
    let audit = co.run(&["audit", "--json"]);
    assert!(audit.out.contains("\"tool\": \"read_file\"") && audit.out.contains("\"sha256\""), "{audit:?}");
    assert!(co.run(&["audit", "verify"]).out.starts_with("The audit is intact"));
    assert_eq!(co.run(&["audit"]).code, Some(0));
    assert_eq!(co.run(&["-c", "-p", "x", "--no-session-persistence"]).code, Some(2));
}

fn walkdir(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { walkdir(&entry.path()) } else { vec![entry.path()] })
        .collect()
}
