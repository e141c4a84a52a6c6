//! The life cycle of rule files: written, broken, repaired, removed; saved into, revoked from, tried.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::approval::rules::{RuleEffect, RuleScope};
use crate::frontend::protocol::PastCalls;
use crate::message::ToolName;
use crate::stdx::clock::SystemClock;
use crate::store::{PastCall, PastOutcome};
use crate::telemetry::Telemetry;
use crate::tool::Registry;

/// A home with a project in it.
struct RulesFixture {
    dir: TempDir,
    book: RuleBook,
}

impl RulesFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let book = Self::book(dir.path());
        fs::create_dir_all(dir.path().join("work/.co")).unwrap();
        fs::create_dir_all(dir.path().join(".config/co")).unwrap();
        Self { dir, book }
    }

    fn book(home: &Path) -> RuleBook {
        let env = [("HOME".to_owned(), home.display().to_string())].into();
        let world = World {
            env,
            workspace: home.join("work"),
            clock: Arc::new(SystemClock),
            private: None,
            telemetry: Telemetry::default(),
        };
        let settings = Settings { data_dir: home.join("data"), ..Settings::default() };
        RuleBook::new(&world, &settings)
    }

    fn restarted(mut self) -> Self {
        self.book = Self::book(self.dir.path());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        match name {
            "user" => self.dir.path().join(".config/co/rules.toml"),
            "project" => self.dir.path().join("work/.co/rules.toml"),
            other => self.dir.path().join(other),
        }
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        // A new file each time, so that its stamp differs regardless of the clock.
        let path = self.path(name);
        let new = path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, path).unwrap();
    }

    /// Returns the ids in effect in the project (`!` before them: everything asks), and the number of news.
    fn read(&self, trust: FolderTrust) -> (String, usize) {
        let set = self.book.read(&self.path("work"), trust);
        let ids: Vec<&str> = set.rules.iter().map(|rule| rule.id.as_str()).collect();
        let health = match set.health {
            RulesHealth::Sound => "",
            RulesHealth::Broken { .. } => "!",
        };
        (format!("{health}{}", ids.join(" ")), self.book.take_news().len())
    }
}

fn rule(id: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\neffect = \"deny\"\ntool = \"{id}\"\n")
}

#[test]
fn a_mistake_keeps_the_last_good_rules_and_asks_for_everything() {
    use FolderTrust::{Trusted, Untrusted};
    let place = RulesFixture::new();
    let expect =
        |place: &RulesFixture, trust, ids: &str, news| assert_eq!(place.read(trust), (ids.to_owned(), news));
    expect(&place, Trusted, "", 0);
    place.write("user", rule("a"));
    expect(&place, Trusted, "a", 0);
    place.write("project", rule("p"));
    expect(&place, Untrusted, "a", 0);
    expect(&place, Trusted, "a p", 0);
    // Broken: reported once, and the last good rules stay in effect.
    place.write("user", "[[rule");
    expect(&place, Trusted, "!a p", 1);
    expect(&place, Trusted, "!a p", 0);
    // Also across a restart.
    let place = place.restarted();
    expect(&place, Trusted, "!a p", 1);
    for (text, notice) in [
        ("x".repeat(10 << 20).into_bytes(), 1),
        (vec![0xff, 0xfe], 1),
        (b"rule = 3".to_vec(), 1),
        (rule("b").repeat(2).into_bytes(), 1),
    ] {
        place.write("user", text);
        expect(&place, Trusted, "!a p", notice);
    }
    fs::remove_file(place.path("user")).unwrap();
    fs::create_dir(place.path("user")).unwrap();
    expect(&place, Trusted, "!a p", 1);
    fs::remove_dir(place.path("user")).unwrap();
    // Rules that were removed are gone, and a later mistake does not bring them back.
    expect(&place, Trusted, "p", 0);
    place.write("user", "[[rule");
    expect(&place, Trusted, "!p", 1);
    let place = place.restarted();
    expect(&place, Trusted, "!p", 1);
    // Repaired.
    place.write("user", rule("c"));
    expect(&place, Trusted, "c p", 0);
    // One id names one rule.
    place.write("project", rule("c"));
    expect(&place, Trusted, "c c-2", 0);
}

#[test]
fn a_project_s_rules_say_nothing_of_other_folders() {
    let place = RulesFixture::new();
    let (work, home) = (place.path("work"), place.path(""));
    let named = |id: &str, folder: &Path| format!("{}folder = \"{}\"\n", rule(id), folder.display());
    place.write("user", named("u", &place.path("else")));
    let rules = [
        rule("none"),
        named("above", &home),
        named("inside", &work.join("src")),
        named("beside", &place.path("else")),
    ];
    place.write("project", rules.concat());
    let set = place.book.read(&work, FolderTrust::Trusted);
    let found: Vec<_> = set.rules.iter().map(|rule| (rule.id.as_str(), rule.folder.clone())).collect();
    let expected = [
        ("u", place.path("else")),
        ("none", work.clone()),
        ("above", work.clone()),
        ("inside", work.join("src")),
    ];
    assert_eq!(found, expected.map(|(id, folder)| (id, Some(folder))));
}

#[test]
fn what_is_told_names_the_line_and_what_holds_meanwhile() {
    let place = RulesFixture::new();
    place.write("user", format!("{}\n[[rule]]\neffect = \"deny\"\n{}", rule("a"), "x = 1\n".repeat(7)));
    place.book.read(&place.path("work"), FolderTrust::Untrusted);
    let said = place.book.take_news().join("\n").replace(&place.dir.path().display().to_string(), "~");
    assert_eq!(
        said,
        "The rules in ~/.config/co/rules.toml have an error. Until it is fixed, the last valid ones apply and \
         everything asks.\n\n- ~/.config/co/rules.toml:9: this is not valid TOML: duplicate key; fix the line"
    );
}

#[test]
fn rules_are_saved_behind_the_others_and_taken_out_without_a_trace() {
    let place = RulesFixture::new();
    let work = place.path("work");
    let mine =
        "# mine\n[[rule]]\nid = \"a\"   # first\neffect = \"ask\"\ntool = \"t\"\n[rule.args]\nx = 1\n\n\n";
    place.write("user", mine);
    fs::set_permissions(place.path("user"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::rename(place.path("user"), place.path("dotfile")).unwrap();
    symlink(place.path("dotfile"), place.path("user")).unwrap();

    let save = |text: &str, scope| save_rule(&place.book, text, scope, &work);
    let text = "[[rule]]\nid = \"b\"\neffect = \"allow\"\ntool = \"u\"\nargs.y = 2\n";
    let saved = save(text, RuleScope::User).unwrap();
    assert_eq!((saved.rule.id.as_str(), saved.rule.effect), ("b", RuleEffect::Allow));
    let now = || fs::read_to_string(place.path("dotfile")).unwrap();
    let both = format!("{}\n\n{text}", mine.trim_end());
    assert_eq!(now(), both);
    assert!(place.path("user").is_symlink());
    assert_eq!(fs::metadata(place.path("dotfile")).unwrap().permissions().mode() & 0o777, 0o600);
    // Saving the same rule again changes nothing.
    assert!(save(text, RuleScope::User).is_ok());
    assert_eq!(now(), both);
    // A project's rule is saved in the user's own file.
    let saved = save("[[rule]]\nid = \"c\"\neffect = \"allow\"\ntool = \"u\"\n", RuleScope::Project).unwrap();
    assert_eq!(saved.rule.folder.as_deref(), Some(work.as_path()));
    // For the session no file is written.
    let all = now();
    let session = "[[rule]]\nid = \"s\"\neffect = \"allow\"\ntool = \"u\"\n";
    assert_eq!(save(session, RuleScope::Session).unwrap().text, session);
    assert_eq!(now(), all);

    let set = place.book.read(&work, FolderTrust::Untrusted);
    assert_eq!(revoke_rule(&place.book, "c", &set).unwrap().id, "c");
    assert_eq!(now(), both);
    assert_eq!(revoke_rule(&place.book, "b", &set).unwrap().id, "b");
    assert_eq!(now(), format!("{}\n", mine.trim_end()));
    assert_eq!(revoke_rule(&place.book, "a", &set).unwrap().id, "a");
    assert_eq!(place.read(FolderTrust::Untrusted), (String::new(), 0));
}

#[test]
fn what_cannot_be_saved_or_revoked_says_why_and_changes_nothing() {
    let place = RulesFixture::new();
    let work = place.path("work");
    place.write("user", rule("a"));
    place.write("project", rule("p"));
    let set = place.book.read(&work, FolderTrust::Trusted);
    let save = |text: &str, scope| save_rule(&place.book, text, scope, &work).unwrap_err().to_string();
    let expiring = "[[rule]]\neffect = \"allow\"\ntool = \"t\"\nexpires = 2126-01-01\n";
    let at_home = "[[rule]]\neffect = \"allow\"\ntool = \"t\"\nargs.path = { inside = \"~/x\" }\n";
    let named = "[[rule]]\nid = \"a\"\neffect = \"allow\"\ntool = \"t\"\n";
    for (said, expected) in [
        (save("nonsense", RuleScope::User), "line 1: this is not valid TOML: "),
        (save("", RuleScope::User), "it has 0 rules; save one at a time"),
        (save(&format!("{}{}", rule("x"), rule("y")), RuleScope::User), "it has 2 rules; save one at a time"),
        (save(expiring, RuleScope::Session), "a session rule ends with the session; remove `expires`"),
        (save(at_home, RuleScope::Session), "line 4: `inside` is a folder: "),
        (save(named, RuleScope::User), "the rule `a` is already in the file; give this one another id"),
        (
            revoke_rule(&place.book, "zz", &set).unwrap_err().to_string(),
            "there is no rule `zz`; `co rules list` shows",
        ),
        (revoke_rule(&place.book, "p", &set).unwrap_err().to_string(), "the rule `p` is the project's ("),
    ] {
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(fs::read_to_string(place.path("user")).unwrap(), rule("a"));
    place.write("user", "[[rule");
    let said = save(&rule("b"), RuleScope::User);
    assert!(said.starts_with("the rules file has an error; fix it first: "), "{said}");
    assert_eq!(fs::read_to_string(place.path("user")).unwrap(), "[[rule");
}

fn past(tool: &str, args: Value, outcome: PastOutcome) -> PastCall {
    let (tool, workspace) = (ToolName::new(tool), PathBuf::from("/w"));
    PastCall { tool, args, workspace, outcome, at: Timestamp::UNIX_EPOCH }
}

#[test]
fn rules_are_tried_on_the_past_and_habits_become_rules() {
    use PastOutcome::{Allowed, Approved, Denied, Refused, Undecided};
    let shell = |command: &str, outcome| past("shell", json!({"command": command}), outcome);
    let calls = [
        shell("cargo test", Approved),
        shell("cargo test foo", Approved),
        shell("cargo test bar", Approved),
        shell("git push", Approved),
        shell("git push", Approved),
        shell("git push", Denied),
        shell("make all", Approved),
        shell("make all", Approved),
        shell("make all", Refused),
        past("write_file", json!({"path": "notes/a.md", "content": "x"}), Approved),
        past("write_file", json!({"path": "notes/b.md", "content": "y"}), Approved),
        past("write_file", json!({"path": "src/b.rs", "content": "y"}), Undecided),
        past("read_file", json!({"path": "a"}), Allowed),
    ];
    let registry = Registry::default();
    let parse = |text: &str| RuleSet::parse(text, &RuleSource::Session, None).unwrap();
    for (args, expected) in [
        ("args.command = { words = [\"git\", \"push\"] }", (3, 1)),
        ("args.command = { words = [\"cargo|git\"] }", (3, 0)),
        ("", (9, 1)),
        ("folder = \"/else\"", (0, 0)),
    ] {
        let rules = parse(&format!("[[rule]]\neffect = \"allow\"\ntool = \"shell\"\n{args}"));
        let (matched, denied) = expected;
        assert_eq!(
            count_past_calls(&rules, &calls, &registry),
            PastCalls { matched, of: 13, denied },
            "{args}"
        );
    }

    let suggested = |min, set: &RuleSet| -> BTreeMap<String, usize> {
        suggestions(&calls, min, set, &registry).into_iter().map(|one| (one.text, one.allowed)).collect()
    };
    let none = RuleSet::default();
    let cargo = "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = { words = [\"cargo\", \"test\"] }\nfolder = \"/w\"\n";
    let notes = "[[rule]]\neffect = \"allow\"\ntool = \"write_file\"\nargs.path = { inside = \"notes\", glob = \"*.md\" }\nfolder = \"/w\"\n";
    assert_eq!(suggested(3, &none), BTreeMap::from([(cargo.to_owned(), 3)]));
    assert_eq!(suggested(2, &none), BTreeMap::from([(cargo.to_owned(), 3), (notes.to_owned(), 2)]));
    assert_eq!(suggested(4, &none), BTreeMap::new());
    // Calls that a rule already allows need no suggestion.
    let counting = RuleSet { rules: parse(cargo), ..RuleSet::default() };
    assert_eq!(suggested(2, &counting), BTreeMap::from([(notes.to_owned(), 2)]));
}
