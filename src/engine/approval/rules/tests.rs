//! Rules as tables: the results of predicates, the texts that are refused, the rules that calls suggest.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;

const FOLDER: &str = "/w";

fn file() -> RuleSource {
    RuleSource::User { path: PathBuf::from("rules.toml"), line: 1 }
}

fn parse(text: &str) -> Result<Vec<Rule>, Vec<String>> {
    let told = |problems: Vec<RuleProblem>| problems.iter().map(ToString::to_string).collect();
    RuleSet::parse(text, &file(), Some(Path::new("/home/me"))).map_err(told)
}

fn one(text: &str) -> Rule {
    parse(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}")).remove(0)
}

/// `+` it applies, `?` it applies in doubt, `-` it does not, ` ` it is about something else.
fn fit(rule: &Rule, tool: &str, origin: &Origin, args: &Value, access: &Access) -> char {
    let subject = Subject { tool: &ToolName::new(tool), origin, args, folder: Path::new(FOLDER), access };
    match rule.fit(&subject) {
        Fit::Applies => '+',
        Fit::AppliesInDoubt(_) => '?',
        Fit::Not(_) => '-',
        Fit::Elsewhere => ' ',
    }
}

#[test]
fn a_predicate_allows_only_what_it_is_sure_of_and_denies_what_it_is_not() {
    // Arguments, then the results of an allow rule and of a deny rule.
    let table: &[(&str, &[(Value, &str)])] = &[
        (
            "args.op = \"delete\"",
            &[
                (json!({"op": "delete"}), "++"),
                (json!({"op": "read"}), "--"),
                (json!({"op": ["delete", "read"]}), "-+"),
                (json!({"op": ["delete", "delete"]}), "++"),
                (json!({"op": []}), "--"),
                (json!({"op": 7}), "-?"),
                (json!({"op": null}), "-?"),
                (json!({}), "-?"),
                (json!("delete"), "-?"),
                (json!({"op": {"op": "delete"}}), "-?"),
            ],
        ),
        (
            "args.n = 3",
            &[
                (json!({"n": 3}), "++"),
                (json!({"n": 3.0}), "++"),
                (json!({"n": 4}), "--"),
                (json!({"n": "3"}), "-?"),
                (json!({"n": true}), "-?"),
            ],
        ),
        (
            "args.n = { min = 1, max = 10 }",
            &[
                (json!({"n": 1}), "++"),
                (json!({"n": 10}), "++"),
                (json!({"n": 0}), "--"),
                (json!({"n": 10.5}), "--"),
                (json!({"n": 18_446_744_073_709_551_615_u64}), "--"),
                (json!({"n": [1, 99]}), "-+"),
                (json!({"n": "1"}), "-?"),
            ],
        ),
        (
            "args.n = { min = 5 }",
            &[(json!({"n": 5}), "++"), (json!({"n": [1, 9]}), "-+"), (json!({"n": 4}), "--")],
        ),
        (
            "args.to = { one_of = [\"a@b.example\", \"c@b.example\"] }",
            &[
                (json!({"to": "a@b.example"}), "++"),
                (json!({"to": ["a@b.example", "c@b.example"]}), "++"),
                (json!({"to": ["a@b.example", "x@b.example"]}), "-+"),
                (json!({"to": "A@b.example"}), "--"),
            ],
        ),
        (
            "args.name = { glob = \"*.md\" }",
            &[
                (json!({"name": "a.md"}), "++"),
                (json!({"name": "a/b.md"}), "++"),
                (json!({"name": "a.txt"}), "--"),
                (json!({"name": "x/../a.md"}), "-+"),
                (json!({"name": "x/../a.txt"}), "-?"),
                (json!({"name": 1}), "-?"),
            ],
        ),
        (
            "args.subject = { regex = \"^Re: \" }",
            &[(json!({"subject": "Re: x"}), "++"), (json!({"subject": "x\nRe: y"}), "--"), (json!({}), "-?")],
        ),
        (
            "args.path = { inside = \"notes\" }",
            &[
                (json!({"path": "notes/a.md"}), "++"),
                (json!({"path": "./notes//x/../a"}), "++"),
                (json!({"path": "notes"}), "++"),
                (json!({"path": "/w/notes/a"}), "++"),
                (json!({"path": "notes/../secret"}), "--"),
                (json!({"path": "notes-2/a"}), "--"),
                (json!({"path": "../w/notes/a"}), "++"),
                (json!({"path": "~/notes/a"}), "-?"),
                (json!({"path": ""}), "-?"),
                (json!({"path": "notes/\u{0}"}), "-?"),
            ],
        ),
        (
            "args.path = { inside = \"~/notes\" }",
            &[(json!({"path": "/home/me/notes/a"}), "++"), (json!({"path": "notes/a"}), "--")],
        ),
        (
            "args.path = { inside = \"notes\", glob = \"*.md\" }",
            &[
                (json!({"path": "notes/a.md"}), "++"),
                (json!({"path": "notes/a.sh"}), "--"),
                (json!({"path": "a.md"}), "--"),
            ],
        ),
        (
            "args.url = { host = \"*.example.org\" }",
            &[
                (json!({"url": "https://docs.example.org/x?y"}), "++"),
                (json!({"url": "https://DOCS.Example.ORG:8443/"}), "++"),
                (json!({"url": "https://example.org/"}), "--"),
                (json!({"url": "https://example.org.evil.test/"}), "--"),
                (json!({"url": "https://docs.example.org@evil.test/"}), "--"),
                (json!({"url": "https://evil.test/#.example.org"}), "--"),
                (json!({"url": "https://evil.test\\.example.org/"}), "--"),
                (json!({"url": "//docs.example.org"}), "-?"),
                (json!({"url": "me@mail.example.org"}), "++"),
                (json!({"url": "docs.example.org."}), "++"),
                (json!({"url": "evil@x.test,me@mail.example.org"}), "-?"),
                (json!({"url": "\"<evil@x.test>\" me@mail.example.org"}), "-?"),
                (json!({"url": "not an address"}), "-?"),
            ],
        ),
        (
            "args.command = { words = [\"git\", \"status|log\"] }",
            &[
                (json!({"command": "git status"}), "++"),
                (json!({"command": "git log x"}), "++"),
                (json!({"command": "git push"}), "--"),
                (json!({"command": "git"}), "--"),
                (json!({"command": "gitx status"}), "--"),
                (json!({"command": "git status > x"}), "-+"),
                (json!({"command": "git log --format=%h"}), "++"),
                (json!({"command": "GIT_PAGER=x git log"}), "-+"),
                (json!({"command": "git status | tee x"}), "-+"),
                (json!({"command": "case x in x) git log;; esac"}), "-?"),
                (json!({"command": ""}), "--"),
                (json!({"command": ["git", "status"]}), "--"),
                (json!({}), "-?"),
            ],
        ),
        (
            "args.command = { words = [[\"git\", \"log\"], [\"ls\"]] }",
            &[
                (json!({"command": "ls x"}), "++"),
                (json!({"command": "git log"}), "++"),
                (json!({"command": "rm x"}), "--"),
            ],
        ),
        // After the words, allow accepts only what is known to be harmless; deny applies whatever follows.
        (
            "args.command = { words = [\"git\", \"log|diff|fetch\"] }",
            &[
                (json!({"command": "git log -5 --stat"}), "++"),
                (json!({"command": "git log -1 --output=.git/config"}), "-+"),
                (json!({"command": "git diff --no-index /dev/null /home/me/.ssh/id_rsa"}), "-+"),
                (json!({"command": "git diff -- .env"}), "-+"),
                (json!({"command": "git fetch"}), "++"),
                (json!({"command": "git fetch --upload-pack=x ."}), "-+"),
                (json!({"command": "cd x; git log"}), "-+"),
                (json!({"command": "git log; rm x"}), "-+"),
                (json!({"command": "git log & rm x"}), "-+"),
                (json!({"command": "git log | rm x"}), "-+"),
                (json!({"command": "git log\nrm x"}), "-+"),
                (json!({"command": "git log $(rm x)"}), "-+"),
                (json!({"command": "git log <(rm x)"}), "-+"),
                (json!({"command": "git() { rm x; }; git log"}), "-?"),
                (json!({"command": "alias git=rm; git log"}), "-?"),
                (json!({"command": "PATH=. git log"}), "-+"),
            ],
        ),
        (
            "args.command = { words = [\"git\", \"push\"] }",
            &[
                (json!({"command": "git push"}), "++"),
                (json!({"command": "git -C . push"}), "-+"),
                (json!({"command": "git --no-pager -c user.name=x push origin"}), "-+"),
                (json!({"command": "/usr/bin/git -C . push"}), "-+"),
                (json!({"command": "git -C push status"}), "--"),
                (json!({"command": "git bisect run git push"}), "-+"),
                (json!({"command": "git rebase -x 'git push' main"}), "-+"),
                (json!({"command": "git rebase '-xgit push' main"}), "-+"),
                (json!({"command": "git rebase -ix 'git push' main"}), "-?"),
                (json!({"command": "git rebase --exe 'git push' main"}), "-?"),
                (json!({"command": "git --attr-source HEAD push"}), "-+"),
                (json!({"command": "git -c alias.z='!git push' z"}), "-+"),
            ],
        ),
        (
            "args.command = { words = [\"rm\"] }",
            &[
                (json!({"command": "/lib64/ld-linux-x86-64.so.2 --argv0 ls /bin/rm x"}), "-?"),
                (json!({"command": "git -c credential.helper='!rm x' fetch"}), "-+"),
                (json!({"command": "git -c core.hooksPath=./h commit"}), "-?"),
                (json!({"command": "taskset 1 rm x"}), "-+"),
                (json!({"command": "runuser -u me rm x"}), "-+"),
                (json!({"command": "setarch -R rm x"}), "-?"),
                (json!({"command": "csh -c 'rm x'"}), "-+"),
                (json!({"command": "rbash -c 'rm x'"}), "-+"),
                (json!({"command": "echo rm x | sh"}), "-?"),
                (json!({"command": "sh script"}), "-?"),
                (json!({"command": ". ./script"}), "-?"),
                (json!({"command": "unshare rm x"}), "-+"),
                (json!({"command": "setpriv rm x"}), "-+"),
                (json!({"command": "chroot . rm x"}), "-+"),
                (json!({"command": "fish -c 'rm x'"}), "-+"),
                (json!({"command": "runuser me -c 'rm x'"}), "-?"),
                (json!({"command": "linux64 rm x"}), "-?"),
                (json!({"command": "sg users -c 'rm x'"}), "-?"),
                (json!({"command": "capsh -- -c 'rm x'"}), "-?"),
                (json!({"command": "fakeroot rm x"}), "-?"),
                (json!({"command": "bwrap --bind / / rm x"}), "-?"),
                (json!({"command": "gdb -batch -ex run --args rm x"}), "-?"),
                (json!({"command": "tmux new-session -d 'rm x'"}), "-?"),
                (json!({"command": "start-stop-daemon -S -x /bin/rm -- x"}), "-?"),
                (json!({"command": "source ./script"}), "-?"),
                (json!({"command": "trap 'rm x' EXIT"}), "-+"),
                (json!({"command": "{rm,x}"}), "-?"),
                (json!({"command": "r$@m x"}), "-?"),
            ],
        ),
        // To allow a command, its whole text must match, each simple command by itself.
        (
            "args.command = { glob = \"git status*\" }",
            &[
                (json!({"command": "git status"}), "++"),
                (json!({"command": "git status --short"}), "++"),
                (json!({"command": "git status; git status -s"}), "++"),
                (json!({"command": "git status; rm -rf x"}), "-+"),
                (json!({"command": "git status\nrm -rf x"}), "-+"),
                (json!({"command": "git status && rm x"}), "-+"),
                (json!({"command": "git status > x"}), "-+"),
                (json!({"command": "X=1 git status"}), "--"),
                (json!({"command": "git status $(rm x)"}), "-+"),
            ],
        ),
        (
            "args.command = { regex = \"^git (status|log)$\" }",
            &[
                (json!({"command": "git status"}), "++"),
                (json!({"command": "git log; git status"}), "+-"),
                (json!({"command": "git log; rm x"}), "--"),
            ],
        ),
        (
            "args.cc = { empty = true }",
            &[
                (json!({}), "++"),
                (json!({"cc": null}), "++"),
                (json!({"cc": " "}), "++"),
                (json!({"cc": []}), "++"),
                (json!({"cc": ["", null]}), "++"),
                (json!({"cc": ["a"]}), "--"),
                (json!({"cc": 0}), "--"),
            ],
        ),
        ("args.cc = { empty = false }", &[(json!({}), "--"), (json!({"cc": "a"}), "++")]),
        (
            "args.item.owner = \"me\"",
            &[
                (json!({"item": {"owner": "me"}}), "++"),
                (json!({"item": [{"owner": "me"}, {"owner": "you"}]}), "-+"),
                (json!({"item": [{"owner": "you"}, {}]}), "-?"),
                (json!({"item.owner": "me"}), "-?"),
                (json!({"item": "me"}), "-?"),
            ],
        ),
        // A quoted name of a predicate is the name of an argument.
        (
            "args.\"range.min\" = 3",
            &[(json!({"range": {"min": 3}}), "++"), (json!({"range": {"min": 4}}), "--")],
        ),
        // All of several tests.
        (
            "args.a = 1\nargs.b = 2",
            &[
                (json!({"a": 1, "b": 2}), "++"),
                (json!({"a": 1, "b": 3}), "--"),
                (json!({"a": 1}), "-?"),
                (json!({"b": 3}), "--"),
            ],
        ),
        ("", &[(json!({}), "++"), (json!(null), "++")]),
    ];
    let mut wrong = Vec::new();
    for (args, cases) in table {
        let [allow, deny] = ["allow", "deny"]
            .map(|effect| one(&format!("[[rule]]\neffect = \"{effect}\"\ntool = \"t\"\n{args}")));
        for (given, expected) in *cases {
            let said: String = [&allow, &deny]
                .map(|rule| fit(rule, "t", &Origin::Builtin, given, &Access::Nothing))
                .iter()
                .collect();
            if said != *expected {
                wrong.push(format!("{args} of {given}: {said}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn links_lead_no_rule_astray() {
    let inside = |effect: &str| {
        one(&format!("[[rule]]\neffect = \"{effect}\"\ntool = \"t\"\nargs.path = {{ inside = \"notes\" }}"))
    };
    let writes = |path: &str| Access::Paths { reads: Vec::new(), writes: vec![path.into()] };
    for (path, access, expected) in [
        ("notes/a", writes("/w/notes/a"), "++"),
        // `notes/link` is a link to `/w/secret`.
        ("notes/link/a", writes("/w/secret/a"), "-+"),
        // `door` is a link to `/w/notes`.
        ("door/a", writes("/w/notes/a"), "-+"),
        ("a", writes("/w/a"), "--"),
    ] {
        let said: String = ["allow", "deny"]
            .map(|effect| fit(&inside(effect), "t", &Origin::Builtin, &json!({"path": path}), &access))
            .iter()
            .collect();
        assert_eq!(said, expected, "{path}");
    }
}

/// A path in a rule means the file, however it is spelled and whatever links lead to it.
#[test]
fn paths_are_the_files_that_are_meant() {
    let rule = |effect: &str, predicate: &str| {
        one(&format!("[[rule]]\neffect = \"{effect}\"\ntool = \"t\"\nargs.path = {predicate}"))
    };
    let reads = |path: &str| Access::Paths { reads: vec![path.into()], writes: Vec::new() };
    for (predicate, path, access, expected) in [
        ("{ glob = \"secret/*\" }", "secret/k", reads("/w/secret/k"), "++"),
        ("{ glob = \"secret/*\" }", "./secret/k", reads("/w/secret/k"), "++"),
        ("{ glob = \"secret/*\" }", "/w/secret/k", reads("/w/secret/k"), "++"),
        ("{ glob = \"secret/*\" }", "x/../secret//k", reads("/w/secret/k"), "++"),
        // `here` is a link to `/w`, `l` to `/w/secret/k`.
        ("{ glob = \"secret/*\" }", "here/secret/k", reads("/w/secret/k"), "-+"),
        ("{ glob = \"secret/*\" }", "l", reads("/w/secret/k"), "-+"),
        ("\"secret/k\"", "secret//k", reads("/w/secret/k"), "++"),
        ("\"./secret/k\"", "secret/k", reads("/w/secret/k"), "++"),
        ("\"secret/k\"", "l", reads("/w/secret/k"), "-+"),
        ("{ regex = \"^secret/\" }", "./secret/k", reads("/w/secret/k"), "++"),
        ("{ regex = \"^secret/\" }", "l", reads("/w/secret/k"), "-+"),
        // `notes.md` is a link to `/w/.git/config`.
        ("{ glob = \"*.md\" }", "notes.md", reads("/w/.git/config"), "-+"),
        ("{ regex = \"[.]md$\" }", "notes.md", reads("/w/.git/config"), "-+"),
        ("{ glob = \"*.md\" }", "notes.md", reads("/w/notes.md"), "++"),
        ("{ glob = \"*.md\" }", "notes.txt", reads("/w/notes.txt"), "--"),
    ] {
        let said: String = ["allow", "deny"]
            .map(|effect| {
                fit(&rule(effect, predicate), "t", &Origin::Builtin, &json!({"path": path}), &access)
            })
            .iter()
            .collect();
        assert_eq!(said, expected, "{predicate} {path}");
    }
}

#[test]
fn a_rule_is_about_tools_servers_and_folders() {
    let server = |name: &str| Origin::Server(name.to_owned());
    for (head, tool, origin, expected) in [
        ("tool = \"write_file\"", "write_file", Origin::Builtin, '+'),
        ("tool = \"write_file\"", "write_files", Origin::Builtin, ' '),
        ("tool = \"write_*\"", "write_file", server("x"), '+'),
        ("tool = [\"a\", \"b\"]", "b", Origin::Builtin, '+'),
        ("server = \"git*\"", "delete_repo", server("github"), '+'),
        ("server = \"git*\"", "delete_repo", server("gmail"), ' '),
        ("server = \"*\"", "delete_repo", Origin::Builtin, ' '),
        ("server = \"github\"\ntool = \"get_*\"", "delete_repo", server("github"), ' '),
        ("tool = \"*\"\nfolder = \"/w\"", "t", Origin::Builtin, '+'),
        ("tool = \"*\"\nfolder = \"/w/sub\"", "t", Origin::Builtin, ' '),
        ("tool = \"*\"\nfolder = \"/wide\"", "t", Origin::Builtin, ' '),
        ("tool = \"*\"\nfolder = \"~\"", "t", Origin::Builtin, ' '),
    ] {
        let rule = one(&format!("[[rule]]\neffect = \"allow\"\n{head}"));
        assert_eq!(fit(&rule, tool, &origin, &json!({}), &Access::Nothing), expected, "{head} of {tool}");
    }
}

#[test]
fn every_mistake_is_told_with_its_line_and_what_to_do() {
    let rule = "[[rule]]\neffect = \"deny\"\ntool = \"t\"\n";
    let cases: &[(String, &[&str])] = &[
        ("[[rule]\n".to_owned(), &["rules.toml:1: this is not valid TOML: "]),
        (
            "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = { regex = \"^git status\" }\n"
                .to_owned(),
            &[
                "rules.toml:1: to allow a command, a regex must match all of it: begin it with `^` and end it with `$`",
            ],
        ),
        (
            format!("{rule}args.path = {{ glob = \"{}\" }}\n", "{a,".repeat(200)),
            &["rules.toml:4: it has braces more than 8 deep"],
        ),
        (
            "x = 1\n".to_owned(),
            &["rules.toml:1: `x` is not allowed here; each rule begins with a `[[rule]]` line"],
        ),
        ("rule = 1\n".to_owned(), &["rules.toml:1: write each rule below a `[[rule]]` line"]),
        ("\n[rule]\ntool = \"t\"\n".to_owned(), &["rules.toml:2: write each rule below a `[[rule]]` line"]),
        (
            "[[rule]]\n".to_owned(),
            &[
                "rules.toml:1: it has no effect; add `effect = \"allow\"`, `\"ask\"` or `\"deny\"`",
                "rules.toml:1: it names no tool; add `tool = \"…\"`, with `*` for any text",
            ],
        ),
        (
            "[[rule]]\neffect = \"alow\"\ntool = 3\n".to_owned(),
            &[
                "rules.toml:2: `effect` is \"allow\", \"ask\" or \"deny\"",
                "rules.toml:3: `tool` is a string, or a list of strings",
            ],
        ),
        (format!("{rule}tools = \"x\"\n"), &["rules.toml:4: `tools` is not known; did you mean `tool`?"]),
        (
            format!("{rule}zzzzzz = \"x\"\n"),
            &[
                "rules.toml:4: `zzzzzz` is not known; a rule has id, effect, tool, server, reason, folder, expires, uses, risk, match, no_match, args",
            ],
        ),
        ("[[rule]]\neffect = \"ask\"\ntool = \"[\"\n".to_owned(), &["rules.toml:3: the glob is not valid: "]),
        (
            "[[rule]]\neffect = \"ask\"\ntool = \"\"\n".to_owned(),
            &["rules.toml:3: it is empty; `*` matches everything"],
        ),
        (
            "[[rule]]\neffect = \"ask\"\ntool = []\n".to_owned(),
            &["rules.toml:3: `tool` is empty; name at least one"],
        ),
        (
            format!("{rule}args.x = {{ regex = \"(\" }}\n"),
            &["rules.toml:4: the regular expression is not valid: "],
        ),
        (
            format!("{rule}args.x = {{ regex = \"(x{{999}}){{999}}\" }}\n"),
            &["rules.toml:4: the regular expression is too large; use smaller repetitions"],
        ),
        (
            format!("{rule}args.x = {{ golb = \"x\" }}\n"),
            &["rules.toml:4: `golb` is not known; did you mean `glob`?"],
        ),
        (
            format!("{rule}args.x = {{ glob = \"x\", golb = \"x\" }}\n"),
            &["rules.toml:4: `golb` is not known; did you mean `glob`?"],
        ),
        (
            format!("{rule}args.x = {{}}\n"),
            &["rules.toml:4: `x` tests nothing; add a predicate such as `glob`"],
        ),
        (format!("{rule}args.x = {{ glob = 1 }}\n"), &["rules.toml:4: this is a string; put it in quotes"]),
        (
            format!("{rule}args.x = [1]\n"),
            &[
                "rules.toml:4: it is a string, a number, true or false; for several values write `{ one_of = […] }`",
            ],
        ),
        (
            format!("{rule}args.x = {{ one_of = [] }}\n"),
            &["rules.toml:4: `one_of` is a list of strings or numbers: `{ one_of = [\"a\", \"b\"] }`"],
        ),
        (
            format!("{rule}args.x = {{ words = [] }}\n"),
            &["rules.toml:4: `words` is a list of a command's first words: "],
        ),
        (
            format!("{rule}args.x = {{ words = [[]] }}\n"),
            &["rules.toml:4: `words` is a list of a command's first words: "],
        ),
        (
            format!("{rule}args.x = {{ words = [\"a\", \"\"] }}\n"),
            &["rules.toml:4: `words` is a list of a command's first words: "],
        ),
        (format!("{rule}args.x = {{ min = \"1\" }}\n"), &["rules.toml:4: `min` is a number"]),
        (format!("{rule}args.x = {{ empty = 1 }}\n"), &["rules.toml:4: `empty` is true or false"]),
        (format!("{rule}args = 1\n"), &["rules.toml:4: `args` is a table: "]),
        (
            format!("{rule}folder = \"notes\"\n"),
            &["rules.toml:4: `folder` is an absolute path, or one that begins with `~/`"],
        ),
        (
            format!("{rule}folder = \"~you/x\"\n"),
            &["rules.toml:4: `folder` is an absolute path, or one that begins with `~/`"],
        ),
        (
            format!("{rule}expires = \"soon\"\n"),
            &["rules.toml:4: `expires` is a time such as 2026-12-01T08:00:00Z, or a date"],
        ),
        (
            format!("{rule}expires = 2026-12-01T08:00:00\n"),
            &["rules.toml:4: `expires` is a time such as 2026-12-01T08:00:00Z, or a date"],
        ),
        (format!("{rule}uses = 3\n"), &["rules.toml:4: `uses` is for allow rules only; remove it"]),
        (
            format!("{rule}risk = \"low\"\n"),
            &["rules.toml:4: `risk` bounds rules that allow only; take it out"],
        ),
        (
            "[[rule]]\neffect = \"allow\"\ntool = \"t\"\nrisk = \"high\"\n".to_owned(),
            &["rules.toml:4: `risk` is \"low\" or \"medium\""],
        ),
        (
            "[[rule]]\neffect = \"allow\"\ntool = \"t\"\nuses = 0\n".to_owned(),
            &["rules.toml:4: `uses` is a whole number from 1"],
        ),
        (
            format!("{rule}id = \"a b\"\n"),
            &["rules.toml:4: an `id` has up to 64 letters, digits, `-`, `_` and `.`"],
        ),
        (
            format!("{rule}id = \"a\"\n{rule}id = \"a\"\n"),
            &["rules.toml:5: the rule `a` is already in line 1; give it another id, or remove one"],
        ),
        (format!("{rule}{rule}"), &["is already in line 1; give it another id, or remove one"]),
        (
            format!(
                "{rule}args.op = \"x\"\nmatch = ['{{\"op\":\"y\"}}', '{{']\nno_match = '{{\"op\":\"x\"}}'\n"
            ),
            &[
                "rules.toml:5: the rule does not match its example `{\"op\":\"y\"}`; change one or the other",
                "rules.toml:5: the example `{` is not JSON; write '{\"path\":\"a\"}'",
                "rules.toml:6: the rule matches `{\"op\":\"x\"}`, which it should not; make it narrower",
            ],
        ),
        (
            format!("{rule}match = ['3']\n"),
            &["rules.toml:4: the example `3` is not a set of arguments; write them as JSON: "],
        ),
        (
            format!("# {}\n", "x".repeat(1 << 20)),
            &["rules.toml:1: it has 1048579 bytes, the limit is 1048576; remove rules"],
        ),
        (rule.repeat(1_001), &["rules.toml:1: it has 1001 rules, the limit is 1000; remove some"]),
    ];
    for (text, expected) in cases {
        let told = parse(text).unwrap_err();
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (told, expected) in told.iter().zip(*expected) {
            assert!(told.contains(expected), "{told}\n  is not\n{expected}");
        }
    }
}

#[test]
fn the_example_reads_and_says_itself() {
    let rules = parse(EXAMPLE).unwrap();
    let said: Vec<String> = rules.iter().map(|rule| format!("{}: {rule}", rule.id)).collect();
    assert_eq!(
        said,
        [
            "git-looks: allow shell: command `git status|log|diff …`",
            "write-file-3713edac: allow write_file|edit_file: path inside drafts, path like *.md; in /home/me/notes; \
             until 2126-12-01T00:00:00Z; up to medium; 10 times",
            "fetch-url-eef4c26a: ask fetch_url: url at *.example.org",
            "delete-16a0ea71: deny delete_* of github",
            "send-email-14d17bc5: allow send_email: to at northwind.example, cc empty, subject ~ ^Re: , \
             attachments at most 3, kind one of \"reply\", \"note\", options.draft = true",
        ]
    );
}

#[test]
fn rules_end_by_time_and_by_use() {
    let text = "[[rule]]\nid = \"a\"\neffect = \"allow\"\ntool = \"t\"\nuses = 2\n\
                [[rule]]\nid = \"b\"\neffect = \"deny\"\ntool = \"t\"\nexpires = 2026-12-01\n\
                [[rule]]\nid = \"c\"\neffect = \"ask\"\ntool = \"t\"\n";
    let set = RuleSet { rules: parse(text).unwrap(), health: RulesHealth::Sound };
    let ids = |set: &RuleSet| set.rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>().join("");
    let moment = |text: &str| text.parse::<Timestamp>().unwrap();
    assert_eq!(set.next_expiry(), Some(moment("2026-12-01T00:00:00Z")));
    for (now, used, expected) in [
        ("2026-11-30T23:59:59Z", 0, "abc"),
        ("2026-12-01T00:00:00Z", 1, "ac"),
        ("2026-11-30T23:59:59Z", 2, "bc"),
        ("2026-12-01T00:00:00Z", 3, "c"),
    ] {
        let used = BTreeMap::from([("a".to_owned(), used), ("c".to_owned(), 9)]);
        assert_eq!(ids(&set.at(moment(now)).after(&used)), expected, "{now} {used:?}");
    }
    let mut set = set.after(&BTreeMap::from([("a".to_owned(), 1)]));
    set.count("c");
    assert_eq!(ids(&set), "abc");
    set.count("a");
    assert_eq!(ids(&set), "bc");
}

#[test]
fn a_draft_is_narrow_and_matches_its_own_call() {
    let writes = |path: &str| Access::Paths { reads: Vec::new(), writes: vec![path.into()] };
    let reads = |path: &str| Access::Paths { reads: vec![path.into()], writes: Vec::new() };
    let cases = [
        (
            "shell",
            json!({"command": "cargo test foo"}),
            Access::Anything,
            "args.command = { words = [\"cargo\", \"test\"] }",
        ),
        ("shell", json!({"command": "rm old"}), Access::Anything, "args.command = \"rm old\""),
        (
            "shell",
            json!({"command": "git status > x"}),
            Access::Anything,
            "args.command = \"git status > x\"",
        ),
        (
            "write_file",
            json!({"path": "notes/a.md", "content": "x"}),
            writes("/w/notes/a.md"),
            "args.path = { inside = \"notes\", glob = \"*.md\" }",
        ),
        (
            "write_file",
            json!({"path": "a.md", "content": "x"}),
            writes("/w/a.md"),
            "args.path = { inside = \".\", glob = \"*.md\" }",
        ),
        (
            "write_file",
            json!({"path": "Makefile", "content": "x"}),
            writes("/w/Makefile"),
            "args.path = \"Makefile\"",
        ),
        ("list_dir", json!({"path": "src"}), reads("/w/src"), "args.path = { inside = \"src\" }"),
        (
            "read_file",
            json!({"path": "/etc/hosts.txt"}),
            reads("/etc/hosts.txt"),
            "args.path = { inside = \"/etc\", glob = \"*.txt\" }",
        ),
        (
            "send_email",
            json!({"to": ["a@b.example", "c@b.example"], "cc": [], "subject": "Hi", "body": "x", "draft": true}),
            Access::Anything,
            "args.to = { host = \"b.example\" }\nargs.cc = { empty = true }\nargs.draft = true",
        ),
        (
            "fetch_url",
            json!({"url": "https://docs.example.org/x"}),
            Access::Anything,
            "args.url = { host = \"docs.example.org\" }",
        ),
        (
            "post_message",
            json!({"channel": "#ops", "text": "hello", "count": 3, "tags": ["a", "b"], "at": {"zone": "UTC"}, "odd key": "x"}),
            Access::Anything,
            "args.channel = \"#ops\"\nargs.count = 3\nargs.tags = { one_of = [\"a\", \"b\"] }\nargs.at.zone = \"UTC\"\nargs.\"odd key\" = \"x\"",
        ),
        (
            "post_message",
            json!({"a.b": "x", "channel": "\u{1b}]\"'"}),
            Access::Anything,
            "# \"a.b\" is not tested\nargs.channel = \"\\u001B]\\\"'\"",
        ),
        ("odd*tool", json!({}), Access::Anything, ""),
    ];
    for (tool, args, access, expected) in cases {
        let draft = draft(&ToolName::new(tool), &args, &access, Path::new(FOLDER));
        let named = if tool == "odd*tool" { "'odd\\*tool'".to_owned() } else { format!("\"{tool}\"") };
        let head = format!("[[rule]]\neffect = \"allow\"\ntool = {named}\n");
        let body = if expected.is_empty() { String::new() } else { format!("{expected}\n") };
        assert_eq!(draft.rule, format!("{head}{body}"), "{tool} {args}");
        let text = draft.to_string();
        assert_eq!(fit(&one(&text), tool, &Origin::Builtin, &args, &access), '+', "{text}");
        assert_eq!(fit(&one(&text), "another", &Origin::Builtin, &args, &access), ' ', "{text}");
    }
}

#[test]
fn a_tool_is_hidden_by_a_deny_that_asks_for_nothing() {
    let spec = |name, origin| ToolSpec {
        origin,
        ..ToolSpec::sample(name, crate::tool::Category::Files, crate::tool::SideEffect::Local)
    };
    let file = spec("write_file", Origin::Builtin);
    let remote = spec("write_file", Origin::Server("github".to_owned()));
    for (text, hides) in [
        ("effect = \"deny\"\ntool = \"write_*\"", (true, true)),
        ("effect = \"deny\"\nserver = \"github\"", (false, true)),
        ("effect = \"deny\"\ntool = \"*\"\nargs.path = { inside = \"x\" }", (false, false)),
        ("effect = \"deny\"\ntool = \"*\"\nfolder = \"/else\"", (false, false)),
        ("effect = \"ask\"\ntool = \"*\"", (false, false)),
        ("effect = \"allow\"\ntool = \"*\"", (false, false)),
    ] {
        let set = RuleSet { rules: vec![one(&format!("[[rule]]\n{text}"))], ..RuleSet::default() };
        let hidden = [&file, &remote].map(|spec| set.hides(spec, Path::new(FOLDER)));
        assert_eq!((hidden[0], hidden[1]), hides, "{text}");
    }
}
