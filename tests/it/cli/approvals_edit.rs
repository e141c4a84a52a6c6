//! `co approvals edit`: an editor that writes what a person would.

use std::path::{Path, PathBuf};

use co::approval::{Approval, Decider};
use co::store::RequestState;
use co::tool::Risk;
use serde_json::json;

use crate::cli::approvals_kit::{Fixture, risky, write};

const A: &str = "aaaa00000001";

/// An editor that runs these lines of a shell on the file `$1`, the first time, the second time and so on; `$n` counts.
fn fixture(script: &str) -> (Fixture, PathBuf) {
    let fixture = Fixture::new();
    let home = fixture.co.home();
    let editor = home.join("editor");
    let count = home.join("count");
    let text = format!(
        "#!/bin/sh\nn=$(($(cat {count} 2>/dev/null || echo 0) + 1)); echo $n > {count}; cp \"$1\" {home}/seen.$n\nls -l \"$1\" | cut -c1-10 > {home}/mode\n{script}\n",
        count = count.display(),
        home = home.display(),
    );
    std::fs::write(&editor, text).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.asked("tidy up", &[write(A, "a.txt", "one\ntwo")]);
    let fixture = fixture.env("EDITOR", &editor.display().to_string());
    let temp = home.join("tmp");
    std::fs::create_dir(&temp).unwrap();
    (fixture.env("TMPDIR", &temp.display().to_string()), home)
}

fn seen(home: &Path, number: usize) -> String {
    std::fs::read_to_string(home.join(format!("seen.{number}"))).unwrap()
}

/// The files that were left behind.
fn left(home: &Path) -> Vec<String> {
    let files = std::fs::read_dir(home.join("tmp")).unwrap();
    files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

const HEAD: &str = "# Arguments of write_file. Saving approves it; unchanged or empty decides nothing.\n";

#[test]
fn what_is_saved_is_approved() {
    let (fixture, home) = fixture("sed -i 's/a.txt/b.txt/' \"$1\"");
    fixture.co.run(&["approvals", "edit", "aaaa", "--note", "better there"]).check(
        0,
        "approved with changes [REQUEST]: write 2 lines to b.txt (new file)\n",
        "change of b.txt\n  @@ -1,0 +1,2\n      1 + one\n      2 + two\nIts session is not open anywhere; continue with: co resume [SESSION]\n",
    );
    assert_eq!(fixture.instead(A), Some(json!({"path": "b.txt", "content": "one\ntwo"})));
    let asked = format!("{:#}", json!({"path": "a.txt", "content": "one\ntwo"}));
    assert_eq!(seen(&home, 1), format!("{HEAD}{asked}\n"));
    assert_eq!(std::fs::read_to_string(home.join("mode")).unwrap(), "-rw-------\n");
    assert_eq!(left(&home), Vec::<String>::new());
}

#[test]
fn nothing_is_decided_by_what_is_not_changed() {
    for script in ["true", "printf '' > \"$1\"", "tail -n +2 \"$1\" > \"$1.x\" && mv \"$1.x\" \"$1\""] {
        let (fixture, home) = fixture(script);
        fixture.co.run(&["approvals", "edit", A]).check(
            0,
            "Nothing changed; request [REQUEST] is still waiting.\n",
            "",
        );
        assert_eq!((fixture.request(A).state, left(&home)), (RequestState::Waiting, Vec::new()), "{script}");
    }
}

#[test]
fn what_is_wrong_comes_back_with_the_reason() {
    let script = "case $n in\n1) printf '{\"path\": \"b.txt\",\\n' > \"$1\";;\n2) printf '{\"path\": 1}' > \"$1\";;\n\
        3) printf '{\"path\": \"b.txt\", \"content\": \"x\"}' > \"$1\";;\nesac";
    let (fixture, home) = fixture(script);
    assert_eq!(fixture.co.run(&["approvals", "edit", A]).code, Some(0));
    assert_eq!(fixture.instead(A), Some(json!({"path": "b.txt", "content": "x"})));
    let again = "# Save it unchanged to decide nothing.\n";
    assert_eq!(
        seen(&home, 2),
        format!("# not valid JSON: line 2: EOF while parsing a value\n{again}{{\"path\": \"b.txt\",\n")
    );
    assert_eq!(
        seen(&home, 3),
        format!(
            "# write_file does not take these arguments: content is missing; path must be text\n{again}{{\"path\": 1}}"
        )
    );
}

#[test]
fn what_is_high_is_named_and_what_runs_is_shown() {
    let (fixture, home) = fixture("sed -i 's/two/three/' \"$1\"");
    const HIGH: &str = "bbbb00000002";
    fixture.asked("send it", &[risky(Risk::High, write(HIGH, "b.txt", "two"))]);
    fixture.co.run(&["approvals", "edit", "bbbb"]).check(
        1,
        "",
        "co: error: request [REQUEST] is HIGH risk, so `bbbb` is too short; type at least 8 characters of its id: \
         co approvals edit [REQUEST]\n",
    );
    assert!(!home.join("seen.1").exists(), "nobody edits for nothing");
    let shown = fixture.co.run(&["approvals", "edit", "bbbb0000"]);
    assert!(shown.code == Some(0) && shown.err.contains("1 + three"), "{}", shown.err);
    assert_eq!(fixture.instead(HIGH), Some(json!({"path": "b.txt", "content": "three"})));
    // A text that was not seen whole is not approved, and it is kept.
    let script = "printf '{\"path\": \"b\", \"content\": \"%s\"}' \"$(seq -s '\\n' 30)\" > \"$1\"";
    let (fixture, home) = self::fixture(script);
    fixture.asked("send it", &[risky(Risk::High, write(HIGH, "b.txt", "two"))]);
    let ran = fixture.co.run(&["approvals", "edit", HIGH]);
    assert!(ran.code == Some(1) && ran.err.contains("lines that were not shown"), "{}", ran.err);
    assert!(fixture.request(HIGH).state == RequestState::Waiting && left(&home).len() == 1, "{}", ran.err);
}

#[test]
fn what_was_written_is_never_lost() {
    let broken = "printf '{\"path\": \"b.txt\"' > \"$1\"";
    let cases = [
        // Given up: the second time it is saved as it was.
        (broken.to_owned(), "nothing was decided: not valid JSON: line 1: EOF while parsing an object"),
        ("sed -i s/a.txt/b.txt/ \"$1\"; exit 3".to_owned(), "nothing was decided: the editor exited with 3"),
        ("printf '\\377' > \"$1\"".to_owned(), "nothing was decided: the saved file is not UTF-8"),
    ];
    for (script, error) in cases {
        let (fixture, home) = fixture(&script);
        let ran = fixture.co.run(&["approvals", "edit", A]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{script}");
        let kept = "    your text was saved in [HOME]/tmp/co-arguments-";
        assert!(ran.err.starts_with(&format!("co: error: {error}\n{kept}")), "{}", ran.err);
        assert_eq!(fixture.request(A).state, RequestState::Waiting);
        assert_eq!(std::fs::read_dir(home.join("tmp")).unwrap().count(), 1);
    }
    // Somebody else was faster, while the editor was open.
    let (fixture, home) = fixture("sed -i s/a.txt/b.txt/ \"$1\"; $CO approvals no aaaa >&2");
    let fixture = fixture.env("CO", env!("CARGO_BIN_EXE_co"));
    let ran = fixture.co.run(&["approvals", "edit", A]);
    assert_eq!(ran.code, Some(1));
    let error = "co: error: request [REQUEST] was already denied by you (co approvals); nothing was changed\n    your text was saved in";
    assert!(ran.err.contains(error), "{}", ran.err);
    assert!(left(&home)[0].contains("b.txt"));
}

#[test]
fn without_an_editor_or_a_request_nothing_happens() {
    let (fixture, home) = fixture("exit 7");
    fixture.co.run(&["approvals", "edit", A]).check(
        1,
        "",
        "co: error: nothing was decided: the editor exited with 7\n",
    );
    let fixture = fixture.env("EDITOR", "/nowhere/at/all");
    let ran = fixture.co.run(&["approvals", "edit", A]);
    let error = "co: error: nothing was decided: the editor could not be started: see $VISUAL and $EDITOR\n";
    assert!(ran.code == Some(1) && ran.err.ends_with(error), "{}", ran.err);
    let fixture = fixture.env("EDITOR", " ");
    fixture.co.run(&["approvals", "edit", A]).check(
        1,
        "",
        "co: error: no editor is set\n    install vi or nano, or set $VISUAL or $EDITOR, e.g. EDITOR=nano\n    or change arguments with \
         `co approvals yes ID --set field=value`\n",
    );
    let fixture = fixture.env("VISUAL", "true");
    fixture.co.run(&["approvals", "edit", "zz"]).check(
        1,
        "",
        "co: error: no request begins with `zz`; `co approvals` lists them\n",
    );
    fixture.decide(A, Approval::Deny { reason: Some("no".to_owned()) }, Decider::Tui);
    fixture.co.run(&["approvals", "edit", A]).check(
        1,
        "",
        "co: error: request [REQUEST] is no longer open: denied by you (full screen): no; its session has not continued yet\n",
    );
    assert_eq!(left(&home), Vec::<String>::new());
}
