//! `co keys`: the list, what is wrong with keys that were set, and what the screen makes of them.

use crate::co::Co;

const GOOD: &str =
    "[keys.composer]\nfind-open = [\"Ctrl+F\", \"F3\"]\nstash = []\n[keys.card]\nwhy = \"?\"\n";

#[test]
fn keys_are_listed_with_their_names_and_who_set_them() {
    let co = Co::new().file(".config/co/config.toml", GOOD);
    let ran = co.run(&["keys"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let row = |name: &str| {
        let line = ran.out.lines().find(|line| line.contains(&format!(" {name} "))).unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        ran.out.lines().next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["KEYS", "DOES", "NAME", "SET"]
    );
    for (name, line) in [
        ("composer.find-open", "Ctrl+F F3 find (empty line) composer.find-open config.toml:2"),
        ("composer.stash", "(none) stash text, restore composer.stash config.toml:3"),
        ("card.why", "? why, and text sources card.why config.toml:5"),
    ] {
        assert_eq!(row(name), line);
    }
    let json = co.run(&["keys", "--json"]).json();
    let why = json.as_array().unwrap().iter().find(|row| row["name"] == "card.why").unwrap();
    assert_eq!(
        *why,
        serde_json::json!({
            "name": "card.why", "keys": ["?"], "default": ["w"], "does": "why, and text sources",
            "where": "on a focused card", "set": "[HOME]/.config/co/config.toml:5",
        })
    );
}

#[test]
fn conflicts_are_found() {
    let hint = "    `co keys` lists every key and its name; set them in the [keys] section of config.toml\n";
    Co::new().run(&["keys", "--check"]).check(0, "No conflicts.\n", "");
    Co::new().file(".config/co/config.toml", GOOD).run(&["keys", "--check"]).check(0, "No conflicts.\n", "");
    let bad = "[keys]\ncard.yes = \"Enter\"\ncard.yess = \"j\"\ncomposer.search-history = \"Ctrl+F\"\n\
               card.why = \"Alt+A\"\ncard.no = 5\n";
    let co = Co::new().file(".config/co/config.toml", bad);
    co.run(&["keys", "--check"]).check(
        1,
        "[HOME]/.config/co/config.toml:6: `keys.card.no` is 5, but must be a string or a list of strings; it has no effect\n\
         [HOME]/.config/co/config.toml:2: `keys.card.yes` keeps its default: Enter is too easy to press by accident and never approves\n\
         [HOME]/.config/co/config.toml:3: `keys.card.yess` is not an action (did you mean `card.yes`?); `co keys` lists them\n\
         Ctrl+F now does `composer.search-history` ([HOME]/.config/co/config.toml:4), and `composer.find-open`, which had it by default, has no key. Give `composer.find-open` another key, or [].\n\
         Alt+A does `card.why` on a focused card, so `global.focus-card` cannot be reached there. Give one of them another key.\n",
        &format!("co: error: 5 problems with your keys\n{hint}"),
    );
    // The list is there all the same, with what is wrong behind it.
    let ran = co.run(&["keys"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(0), 3), "{}", ran.err);
}

#[test]
fn flags_set_keys_and_a_folder_never_does() {
    let co = Co::new().file("work/.co/config.toml", "[keys]\ncard.yes = \"q\"\n");
    let listed = |args: &[&str]| {
        let json = co.run(args).json();
        let rows = json.as_array().unwrap().clone();
        let keys = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["keys"].to_string();
        (keys("card.yes"), keys("global.redraw"))
    };
    let set = listed(&["keys", "--json", "--set", "keys.global.redraw=F5"]);
    assert_eq!(set, ("[\"y\"]".to_owned(), "[\"F5\"]".to_owned()));
    let said = co.run(&["config"]).err;
    assert!(
        said.contains("work/.co/config.toml:1: `keys` is ignored, because a project's file may not set it"),
        "{said}"
    );
    let trusted = format!("trusted_folders={}", co.workspace().display());
    assert_eq!(listed(&["keys", "--json", "--set", &trusted]).0, "[\"y\"]", "trusted or not");
}
