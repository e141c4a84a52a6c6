//! The widths that a rule for a call may have, from this very call to what is like it.
//!
//! Pure. Nothing wider than the call is offered for a command whose effect does not follow from its words (interpreters, package
//! and network tools), for a path that may hold secrets or lies outside the session's folder, and for HIGH. A rule for a
//! call that is not HIGH covers none of a higher risk.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::draft::{DraftScope, DraftSource, prefixes, reader, toml_string};
use super::predicate::COMMANDS;
use super::{RuleSet, RuleSource};
use crate::message::ToolName;
use crate::stdx::paths::display_relative;
use crate::stdx::secret_files::may_hold_secrets;
use crate::stdx::text::sanitize_line;
use crate::tool::{Access, Risk};

/// One width of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleWidth {
    /// Its coverage in a few words; also the rule's reason.
    pub words: String,
    /// The rule as TOML.
    pub text: String,
}

/// Drafts the rules that would allow this call, the narrowest first; at least one. `folder` is its session's folder.
#[must_use]
pub fn widths(tool: &ToolName, args: &Value, access: &Access, risk: Risk, folder: &Path) -> Vec<RuleWidth> {
    let place = |scope| DraftSource { folder, access, scope };
    let paths = place(DraftScope::Call).paths(args);
    let command = COMMANDS.iter().find_map(|name| args.get(name)?.as_str());
    let is_plain = |path: &PathBuf| {
        path.starts_with(folder) && path != folder && !may_hold_secrets(&display_relative(folder, path))
    };
    let mut offered = vec![(DraftScope::Call, this(paths.len(), command, access).to_owned())];
    match command {
        _ if risk == Risk::High => {}
        Some(script) => {
            offered.extend(prefixes(script).map(|all| {
                let all: Vec<String> = all.iter().map(|one| format!("`{}`", one.words.join(" "))).collect();
                (DraftScope::Near, format!("{} with harmless flags", all.join(", ")))
            }));
            offered.extend(
                reader(script)
                    .map(|program| (DraftScope::Wide, format!("{program}'s read-only subcommands"))),
            );
        }
        None if paths.is_empty() || !paths.iter().all(is_plain) => {}
        None => {
            let mut folders: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
            folders.dedup();
            if folders.iter().all(|inner| *inner != folder) {
                let shown = folders.iter().map(|inner| format!("{}/", display_relative(folder, inner)));
                let shown: Vec<String> = shown.collect();
                offered.push((DraftScope::Near, format!("any file in {}", shown.join(" and "))));
            }
            offered.push((DraftScope::Wide, "any file here".to_owned()));
        }
    }
    let width = |(scope, words): (DraftScope, &str)| {
        let draft = place(scope).draft(tool, args);
        let words = if words.is_empty() { tests_text(&draft.rule) } else { words.to_owned() };
        let words = sanitize_line(&words).into_owned();
        let most = match risk {
            Risk::Low | Risk::Medium => format!("risk = {}\n", toml_string(risk.word())),
            Risk::High => String::new(),
        };
        let text = format!("{}{most}reason = {}\n", draft.rule, toml_string(&words));
        let example = draft.example.map(|example| format!("{text}match = [{}]\n", toml_string(&example)));
        // Examples are tried without the folder, so that an absolute path may not match.
        let fits = |text: &String| RuleSet::parse(text, &RuleSource::Session, None).is_ok();
        RuleWidth { words, text: example.filter(fits).unwrap_or(text) }
    };
    offered.iter().map(|(scope, words)| width((*scope, words))).collect()
}

/// Describes the narrowest width; empty if the rule's tests do.
fn this(paths: usize, command: Option<&str>, access: &Access) -> &'static str {
    let writes = matches!(access, Access::Paths { writes, .. } if !writes.is_empty());
    match (command, paths) {
        (Some(_), _) => "exactly this command",
        (None, 0) => "",
        (None, 1) if writes => "exactly this file",
        (None, 1) => "exactly this path",
        (None, 2..) => "exactly these paths",
    }
}

/// Describes the tests of a rule.
fn tests_text(rule: &str) -> String {
    let rules = RuleSet::parse(rule, &RuleSource::Session, None).unwrap_or_default();
    let tests: Vec<String> = rules.iter().flat_map(|rule| &rule.args).map(ToString::to_string).collect();
    if tests.is_empty() { "any call of this tool".to_owned() } else { tests.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Fit, Rule, Subject};
    use super::*;
    use crate::tool::Origin;

    const FOLDER: &str = "/w";

    fn offered(tool: &str, args: &Value, risk: Risk) -> Vec<RuleWidth> {
        let writes = args.get("path").and_then(Value::as_str).map(|path| Path::new(FOLDER).join(path));
        let access = match writes {
            Some(path) => Access::Paths { reads: Vec::new(), writes: vec![path] },
            None => Access::Anything,
        };
        widths(&ToolName::new(tool), args, &access, risk, Path::new(FOLDER))
    }

    fn rule(width: &RuleWidth) -> Rule {
        let mut rules = RuleSet::parse(&width.text, &RuleSource::Session, None).unwrap();
        assert_eq!(rules.len(), 1, "{}", width.text);
        rules.remove(0)
    }

    fn fits(rule: &Rule, tool: &str, args: &Value) -> bool {
        let (tool, folder, access) = (&ToolName::new(tool), Path::new(FOLDER), &Access::Anything);
        rule.fit(&Subject { tool, origin: &Origin::Builtin, args, folder, access }) == Fit::Applies
    }

    #[test]
    fn a_call_is_offered_with_what_is_like_it() {
        let shell = |command: &str| ("shell", json!({ "command": command }));
        let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
        let exact = "exactly this command";
        let path = "exactly this file";
        let (log, reads) = ("`git log` with harmless flags", "git's read-only subcommands");
        let cases: Vec<((&str, Value), Vec<&str>)> = vec![
            (shell("git log --oneline"), vec![exact, log, reads]),
            (shell("git stash list"), vec![exact, "`git stash list` with harmless flags", reads]),
            (shell("git log; git log -5"), vec![exact, log, reads]),
            (shell("git log && cargo test"), vec![exact, "`git log`, `cargo test` with harmless flags"]),
            (shell("cargo test foo"), vec![exact, "`cargo test` with harmless flags"]),
            (shell("git push"), vec![exact]),
            (shell("git commit -m x"), vec![exact]),
            (shell("git -c a=b log"), vec![exact]),
            (shell("git log > x"), vec![exact]),
            (shell("git log | sh"), vec![exact]),
            (shell("cargo install ripgrep"), vec![exact]),
            (shell("cargo run"), vec![exact]),
            (shell("npm install"), vec![exact]),
            (shell("npm test"), vec![exact]),
            (shell("pip install x"), vec![exact]),
            (shell("apt-get install x"), vec![exact]),
            (shell("curl https://a.example"), vec![exact]),
            (shell("wget https://a.example"), vec![exact]),
            (shell("scp a b:c"), vec![exact]),
            (shell("rsync a b:c"), vec![exact]),
            (shell("ssh host git log"), vec![exact]),
            (shell("bash -c 'git log'"), vec![exact]),
            (shell("python3 x.py"), vec![exact]),
            (shell("node --version"), vec![exact]),
            (shell("perl -e 1"), vec![exact]),
            (shell("env git log"), vec![exact]),
            (shell("xargs git log"), vec![exact]),
            (shell("find . -exec git log {} +"), vec![exact]),
            (shell("sudo git log"), vec![exact]),
            (write("notes/a.md"), vec![path, "any file in notes/", "any file here"]),
            (write("a.md"), vec![path, "any file here"]),
            (write("/etc/hosts"), vec![path]),
            (write(".env"), vec![path]),
            (write("."), vec![path]),
            (write("../a.md"), vec![path]),
            (("fetch_url", json!({ "url": "https://a.example/x" })), vec!["url at a.example"]),
            (("send_mail", json!({ "to": "a@b.example", "cc": [] })), vec!["to at b.example, cc empty"]),
            (("look_around", json!({})), vec!["any call of this tool"]),
        ];
        for ((tool, args), expected) in cases {
            let widths = offered(tool, &args, Risk::Medium);
            let words: Vec<&str> = widths.iter().map(|width| width.words.as_str()).collect();
            assert_eq!(words, expected, "{args}");
            for width in &widths {
                let rule = rule(width);
                assert!(fits(&rule, tool, &args), "{}", width.text);
                assert!(!fits(&rule, "another", &args), "{}", width.text);
                assert_eq!(rule.coverage(), width.words);
                assert!(rule.falls_short(Risk::Medium).is_none() && rule.falls_short(Risk::High).is_some());
            }
            let low = rule(&offered(tool, &args, Risk::Low)[0]);
            assert!(low.falls_short(Risk::Low).is_none() && low.falls_short(Risk::Medium).is_some());
            let [high] = offered(tool, &args, Risk::High).try_into().unwrap();
            assert_eq!((high.words.as_str(), rule(&high).risk), (expected[0], None));
        }
    }

    #[test]
    fn a_width_is_a_rule_as_one_writes_it() {
        let texts = |tool: &str, args: Value| -> Vec<String> {
            let line = |width: &RuleWidth| width.text.lines().nth(3).unwrap().to_owned();
            offered(tool, &args, Risk::Medium).iter().map(line).collect()
        };
        assert_eq!(
            texts("write_file", json!({ "path": "notes/a.md", "content": "x" })),
            [
                "args.path = \"notes/a.md\"",
                "args.path = { inside = \"notes\" }",
                "args.path = { inside = \".\" }"
            ]
        );
        let git = texts("shell", json!({ "command": "git log -1" }));
        assert_eq!(
            git[..2],
            ["args.command = \"git log -1\"", "args.command = { words = [\"git\", \"log\"] }"]
        );
        assert!(
            git[2].ends_with("[\"git\", \"stash\", \"list|show\"], [\"git\", \"worktree\", \"list\"]] }"),
            "{}",
            git[2]
        );
        let whole = &offered("shell", &json!({ "command": "git log -1" }), Risk::Medium)[1].text;
        assert!(
            whole.ends_with(
                "risk = \"medium\"\nreason = \"`git log` with harmless flags\"\nmatch = ['{\"command\":\"git log -1\"}']\n"
            ),
            "{whole}"
        );
    }

    #[test]
    fn the_widest_ends_at_what_is_not_known_to_read() {
        let widths = offered("shell", &json!({ "command": "git log" }), Risk::Medium);
        let rule = rule(widths.last().unwrap());
        for (command, covered) in [
            ("git diff --stat", true),
            ("git show HEAD~1; git status -s", true),
            ("git branch -a", true),
            ("git stash show", true),
            ("git branch new", false),
            ("git tag v1", false),
            ("git stash", false),
            ("git worktree add x", false),
            ("git remote add x y", false),
            ("git remote -v", false),
            ("git push", false),
            ("git fetch", false),
            ("git config user.name", false),
            ("git log --output=x", false),
            ("git diff --ext-diff", false),
            ("git log --format=%GK", false),
            ("git log -- .env", false),
            ("git show HEAD > x", false),
            ("git -c core.pager=x log", false),
            ("GIT_PAGER=x git log", false),
            ("cd x; git log", false),
            ("git log | head", false),
            ("git log; rm x", false),
            ("git log $(x)", false),
        ] {
            assert_eq!(fits(&rule, "shell", &json!({ "command": command })), covered, "{command}");
        }
        let here = offered("write_file", &json!({ "path": "a.md" }), Risk::Medium);
        let here = self::rule(here.last().unwrap());
        for (path, covered) in
            [("b/c.rs", true), ("/w/x", true), ("../x", false), ("/etc/x", false), ("~/x", false)]
        {
            assert_eq!(fits(&here, "write_file", &json!({ "path": path })), covered, "{path}");
        }
    }
}
