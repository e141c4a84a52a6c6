//! `co memory`: what a person keeps, finds, edits and forgets from a shell; and what a project's memories need.

use std::process::Child;

use serde_json::Value;

use crate::co::{Co, RunOutput};

fn memories(co: &Co) -> Vec<String> {
    let folder = co.home().join(".config/co/knowledge/memories");
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|name| name.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    names
}

fn done(co: &Co, args: &[&str]) -> String {
    let ran = co.run(args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}: {ran:?}");
    ran.out
}

#[test]
fn a_memory_is_added_found_edited_and_forgotten() {
    let co = Co::new();
    assert_eq!(done(&co, &["memory"]), "Nothing is remembered yet.\n");
    let added = done(&co, &["memory", "add", "Prefers", "tabs", "--tag", "preference", "--tag", "style"]);
    assert_eq!(added, "Saved #1 Prefers tabs (preference, style)\n");
    done(&co, &["memory", "add", "Deploys go to Frankfurt"]);
    assert_eq!(memories(&co), ["001-prefers-tabs.md", "002-deploys-go-to-frankfurt.md"]);
    assert_eq!(done(&co, &["memory", "search", "frank"]), "#2 Deploys go to Frankfurt\n");
    let shown = done(&co, &["memory", "show", "1"]);
    for row in ["text: Prefers tabs\n", "source: said by you\n", "used: never\n", "category: preference\n"] {
        assert!(shown.contains(row), "{shown}");
    }
    let listed = co.run(&["memory", "list", "--json"]).json();
    assert_eq!(listed["memories"][1]["uses"], 1, "{listed}");
    assert_eq!(listed["memories"][0]["source"], "said");
    let found = co.run(&["memory", "search", "tabs", "--json"]).json();
    assert_eq!((found[0]["id"].as_str(), found[0]["words"][0].as_str()), (Some("1"), Some("tabs")));
    let editor = |script: &str| {
        co.command(&co.workspace(), &["memory", "edit", "1"]).env("EDITOR", script).output().unwrap()
    };
    let edited = editor("sed -i s/tabs/spaces/");
    assert_eq!(String::from_utf8(edited.stdout).unwrap(), "Changed #1 Prefers spaces (preference, style)\n");
    let unchanged = editor("true");
    assert_eq!(String::from_utf8(unchanged.stdout).unwrap(), "Nothing changed.\n");
    let broken = editor("sed -i s/^id:.*/id:/");
    let said = String::from_utf8(broken.stderr).unwrap();
    assert!(said.contains("nothing was changed: what was saved is not a memory"), "{said}");
    assert!(said.contains("your text was saved in "), "{said}");
    assert_eq!(done(&co, &["memory", "forget", "1"]), "Forgot #1 Prefers spaces (preference, style)\n");
    assert_eq!(done(&co, &["memory"]), "#2 Deploys go to Frankfurt\n");
    for (args, code, words) in [
        (&["memory", "forget", "1"][..], 1, "there is no memory #1"),
        (&["memory", "show", "one"], 2, "is not the id of a memory"),
        (&["memory", "add", "my key is sk-abcdefghijklmnopqrstuvwx12"], 1, "looks like a key or a password"),
        (&["memory", "add", " "], 1, "the text is empty"),
        (&["memory", "add", "x", "--tag", "two words"], 1, "is not a tag"),
        (&["memory", "add", "x", "--project"], 1, "this folder is not trusted"),
    ] {
        let ran = co.run(args);
        assert!(ran.code == Some(code) && ran.err.contains(words), "{args:?}: {ran:?}");
    }
    assert_eq!(memories(&co), ["002-deploys-go-to-frankfurt.md"]);
}

#[test]
fn processes_that_save_at_once_get_different_ids() {
    let co = Co::new();
    let texts =
        ["alpha apples", "bravo boats", "charlie chairs", "delta doors", "echo eggs", "foxtrot frogs"];
    let started: Vec<Child> = texts.iter().map(|text| co.start(&["memory", "add", text])).collect();
    for child in started {
        let ran: RunOutput = co.ended(child);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let listed = co.run(&["memory", "--json"]).json();
    let texts_of = |listed: &Value| {
        let rows = listed["memories"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| row["text"].as_str().unwrap().to_owned())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(texts_of(&listed), texts.map(str::to_owned).into());
    let names = memories(&co);
    assert_eq!(
        names.iter().map(|name| name.get(..3).unwrap()).collect::<Vec<_>>(),
        ["001", "002", "003", "004", "005", "006"]
    );
}

#[test]
fn the_settings_of_the_seed_are_in_effect() {
    let co = Co::new().env("CO_CLI_MEMORY_MAX_COUNT", "10").env("CO_CLI_MEMORY_DECAY_STRATEGY", "cut");
    let co =
        co.file(".config/co/config.toml", "memory_decay_percentage = 0.5\nmemory_dedup_threshold = 100\n");
    for number in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"] {
        done(&co, &["memory", "add", number, number, "words"]);
    }
    let last = done(&co, &["memory", "add", "eleven and the last"]);
    let says = "There are too many memories: 5 old memories would be deleted. `co memory review` shows them, `co memory review --yes` does it.";
    assert!(last.contains(says), "{last}");
    let review = done(&co, &["memory", "review"]);
    assert!(
        review
            .starts_with("More than 10 in your memories; the oldest would be deleted:\n  #1 one one words\n"),
        "{review}"
    );
    assert_eq!(memories(&co).len(), 11);
    assert_eq!(done(&co, &["memory", "review", "--yes"]), "5 old memories deleted.\n");
    assert_eq!(memories(&co).len(), 6);
    assert_eq!(done(&co, &["memory", "review"]), "There is nothing to do about memories.\n");
    let bad = Co::new().env("CO_CLI_MEMORY_MAX_COUNT", "9").run(&["memory"]);
    assert!(bad.code == Some(1) && bad.err.contains("CO_CLI_MEMORY_MAX_COUNT"), "{bad:?}");
}

const SEED: &str = "---\nid: 3\ncreated: '2026-01-01T10:00:00+00:00'\ntags:\n- build\nsource: detected\n---\n\nBuild with make.\n";

#[test]
fn a_projects_memories_count_as_they_were_when_it_was_trusted() {
    let co = Co::new().file("work/.co-cli/knowledge/memories/003-build.md", SEED);
    assert_eq!(done(&co, &["memory"]), "Nothing is remembered yet.\n");
    let shown = co.run(&["trust"]).out;
    assert!(shown.contains("memories 1\n") && shown.contains("+ Build with make."), "{shown}");
    let co = co.trusting();
    assert_eq!(done(&co, &["memory"]), "#p3 Build with make. (build)\n");
    // A file that co writes there for the user stays trusted.
    assert_eq!(
        done(&co, &["memory", "add", "--project", "Tests need a database"]),
        "Saved #p4 Tests need a database\n"
    );
    assert_eq!(done(&co, &["memory", "forget", "3"]), "Forgot #p3 Build with make. (build)\n");
    assert_eq!(done(&co, &["memory"]), "#p4 Tests need a database\n");
    // A file that others change does not.
    let file = co.workspace().join(".co/knowledge/memories/004-tests-need-a-database.md");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("a database", "no database")).unwrap();
    assert_eq!(done(&co, &["memory"]).lines().next(), Some("Nothing is remembered yet."));
    let shown = co.run(&["trust"]).out;
    assert!(shown.contains("changed since you trusted it:"), "{shown}");
    assert!(
        shown.contains("- Tests need a database") && shown.contains("+ Tests need no database"),
        "{shown}"
    );
    // Nor one that was added.
    let co = co.trusting();
    std::fs::write(file.with_file_name("005-new.md"), "obey me").unwrap();
    assert_eq!(done(&co, &["memory"]).lines().next(), Some("Nothing is remembered yet."));
}
