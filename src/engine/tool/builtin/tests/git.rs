//! Git tools on real repositories, also on hostile ones.

use super::*;
use crate::tool::{Category, Undo};

impl Bench {
    /// Runs git as a user would.
    fn git(&self, words: &[&str]) {
        let mut command = std::process::Command::new("git");
        command.current_dir(self.at("")).env_clear().env("PATH", std::env::var("PATH").unwrap());
        command.env("HOME", &self.base).args(["-c", "init.defaultBranch=main"]).args(words);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }

    fn repository(files: &[(&str, &str)]) -> Self {
        let bench = Self::new(files);
        bench.git(&["init", "-q"]);
        bench.git(&["config", "user.name", "Somebody"]);
        bench.git(&["config", "user.email", "somebody@example.org"]);
        bench.git(&["add", "."]);
        bench.git(&["commit", "-q", "-m", "Begin"]);
        bench
    }
}

#[tokio::test]
async fn git_tells_what_there_is() {
    let mut bench = Bench::repository(&[("a.txt", "one\ntwo\n"), ("d/b.txt", "b\n"), (".env", "KEY=1\n")]);
    bench.git(&["branch", "other"]);
    bench.put("a.txt", "one\nTWO\n");
    bench.put("new\nname", "");
    bench
        .check(&[
            ("git_status", json!({}), "On branch main"),
            ("git_status", json!({}), "modified:   a.txt"),
            ("git_status", json!({}), "\"new\\nname\""),
            ("git_diff", json!({}), "-two\n+TWO\n"),
            ("git_diff", json!({"staged": true}), "=[nothing]\n"),
            ("git_diff", json!({"paths": ["d"]}), "=[nothing]\n"),
            ("git_diff", json!({"stat": true, "revision": "HEAD"}), "a.txt | 2 +-"),
            ("git_log", json!({}), "Somebody (HEAD -> main, other): Begin\n"),
            ("git_log", json!({"message": "nowhere"}), "=[nothing]\n"),
            ("git_log", json!({"paths": ["d/b.txt"], "count": 1}), "Begin"),
            ("git_show", json!({"revision": "HEAD:a.txt"}), "=one\ntwo\n"),
            ("git_show", json!({"revision": "HEAD", "stat": true}), "3 files changed"),
            ("git_branch", json!({}), "* main"),
            ("git_show", json!({"revision": "nowhere"}), "TERMINAL exit 128\nfatal: bad revision"),
            ("git_show", json!({"revision": "--output=x"}), "MISUSE \"--output=x\" is no revision"),
            ("git_diff", json!({"paths": ["../outside"]}), "leads outside"),
            ("git_log", json!({"revision": "-n1"}), "is no revision"),
        ])
        .await;
    assert!(!bench.at("x").exists());
    for (name, args, risk) in [
        ("git_diff", json!({}), Risk::Low),
        ("git_diff", json!({"paths": [".env"]}), Risk::Medium),
        ("git_show", json!({"revision": "HEAD:.env"}), Risk::Medium),
    ] {
        let plan = bench.plan(name, &args).await.unwrap();
        assert_eq!((plan.risk, bench.tool(name).spec().category), (risk, Category::Git), "{args}");
    }
    let mut outside = Bench::new(&[]);
    outside.check(&[("git_status", json!({}), "fatal: not a git repository")]).await;
    // In the middle of a merge.
    bench.git(&["commit", "-q", "-a", "-m", "Change"]);
    bench.git(&["checkout", "-q", "other"]);
    bench.put("a.txt", "one\n2\n");
    bench.git(&["commit", "-q", "-a", "-m", "Another"]);
    let merged =
        std::process::Command::new("git").current_dir(bench.at("")).args(["merge", "main"]).output().unwrap();
    assert!(!merged.status.success());
    bench
        .check(&[
            ("git_status", json!({}), "You have unmerged paths."),
            ("git_status", json!({}), "both modified:   a.txt"),
            ("git_diff", json!({}), "<<<<<<<"),
        ])
        .await;
}

#[tokio::test]
async fn the_settings_of_a_repository_run_nothing() {
    let mut bench =
        Bench::repository(&[("a.txt", "one\n"), (".gitattributes", "*.txt filter=evil diff=evil\n")]);
    let ran = bench.base.join("ran");
    let script = bench.base.join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\necho \"$@\" >> {}\ncat\n", ran.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let evil = script.display().to_string();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "gpg.x509.program",
        "gpg.ssh.program",
        "core.sshCommand",
        "core.editor",
    ] {
        bench.git(&["config", key, &evil]);
    }
    bench.git(&["config", "log.showSignature", "true"]);
    bench.git(&["config", "format.pretty", "%G?"]);
    bench.git(&["config", "status.submoduleSummary", "true"]);
    bench.git(&["config", "filter.evil.required", "true"]);
    bench.put("a.txt", "TWO\n");
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_diff", json!({"revision": "HEAD"})),
        ("git_log", json!({"paths": ["a.txt"]})),
        ("git_show", json!({"revision": "HEAD"})),
        ("git_branch", json!({"all": true})),
    ] {
        let said = bench.call(name, args.clone()).await;
        assert!(!said.contains("TERMINAL"), "{name}: {said}");
        assert!(!ran.exists(), "{name} {args} ran {:?}", fs::read_to_string(&ran));
    }
    // An ambiguous name is no way around it.
    let config = bench.at(".git/config");
    let kept = fs::read(&config).unwrap();
    let odd = [&kept[..], b"[filter \"\xff\"]\n\tclean = x\n"].concat();
    let many: String = (0..4_000).map(|n| format!("[filter \"f{n}\"]\n\tclean = x\n")).collect();
    for hostile in [odd, [&kept[..], many.as_bytes()].concat()] {
        fs::write(&config, hostile).unwrap();
        bench
            .check(&[("git_status", json!({}), "TERMINAL the filters in the settings of git cannot be told")])
            .await;
    }
    fs::write(&config, kept).unwrap();
    // Without the overrides it does run.
    let plain = std::process::Command::new("git").current_dir(bench.at("")).arg("diff").output().unwrap();
    assert!(ran.exists(), "{plain:?}");
}

#[tokio::test]
async fn what_changes_a_repository_counts_as_a_command() {
    let mut bench = Bench::repository(&[("a.txt", "one\n")]);
    bench.put("a.txt", "two\n");
    let command = |text: &str| Preview::Text { text: text.to_owned() };
    for (name, args, shown, risk) in [
        ("git_add", json!({"paths": ["a b", "-x"]}), "git add -- 'a b' -x", Risk::Medium),
        (
            "git_commit",
            json!({"message": "It's done", "all": true}),
            "git commit -m \"It's done\" --all",
            Risk::Medium,
        ),
        ("git_checkout", json!({"revision": "new", "create": true}), "git switch -c new", Risk::Medium),
        ("git_checkout", json!({"revision": "new"}), "git switch new", Risk::Medium),
        ("git_checkout", json!({"paths": ["a.txt"]}), "git checkout -- a.txt", Risk::High),
        ("git_push", json!({}), "git push", Risk::High),
        (
            "git_pull",
            json!({"remote": "origin", "branch": "main"}),
            "git pull --ff-only origin main",
            Risk::High,
        ),
    ] {
        let plan = bench.plan(name, &args).await.unwrap();
        assert_eq!((plan.preview, plan.risk), (command(shown), risk), "{name} {args}");
        assert_eq!((plan.access, plan.undo), (Access::Anything, Undo::Compensating), "{name}");
    }
    bench
        .check(&[
            ("git_add", json!({"paths": []}), "MISUSE `paths` is empty"),
            ("git_commit", json!({"message": " "}), "MISUSE `message` is empty"),
            ("git_checkout", json!({}), "MISUSE give `revision`"),
            ("git_checkout", json!({"revision": "--orphan"}), "is no revision"),
            ("git_push", json!({"branch": "main"}), "MISUSE `branch` needs a `remote`"),
            ("git_push", json!({"remote": "origin", "branch": "+main"}), "MISUSE `branch` is one name"),
            ("git_push", json!({"remote": "--exec=x"}), "MISUSE \"--exec=x\" is no name of a remote"),
            ("run_tests", json!({}), "MISUSE no test command is known here"),
            ("git_add", json!({"paths": ["a.txt"]}), "[no output]"),
            ("git_commit", json!({"message": "Change\n\nBecause."}), "Change"),
            ("git_log", json!({"count": 1}), "Somebody (HEAD -> main): Change\n"),
            ("git_checkout", json!({"revision": "new", "create": true}), "new"),
            ("git_status", json!({}), "On branch new"),
        ])
        .await;
    bench.put("Makefile", "all:\n\ntest:\n\t@echo tested $(T)\n");
    bench
        .check(&[
            ("run_tests", json!({}), "tested"),
            ("run_tests", json!({"filter": "x"}), "MISUSE `make test` takes no such filter"),
        ])
        .await;
    bench.put("Cargo.toml", "");
    let plan = bench.plan("run_tests", &json!({"filter": "one"})).await.unwrap();
    assert_eq!((plan.preview, plan.risk), (command("cargo test -- one"), Risk::Medium));
}

#[tokio::test]
async fn definitions_are_found_in_each_language_and_nowhere_else() {
    let mut bench = Bench::new(&[
        ("src/lib.rs", "fn thing() {}\nfn other() { thing() }\n"),
        ("web/app.ts", "export class thing {\n"),
        ("notes.md", "fn thing()\n"),
        (".gitignore", "target\n"),
        ("target/x.rs", "fn thing() {}\n"),
    ]);
    bench
        .check(&[
            (
                "find_definition",
                json!({"name": "thing"}),
                "=src/lib.rs:1: fn thing() {}\nweb/app.ts:1: export class thing {\n",
            ),
            (
                "find_definition",
                json!({"name": "thing", "path": "web"}),
                "=web/app.ts:1: export class thing {\n",
            ),
            ("find_definition", json!({"name": "absent"}), "no matches"),
            ("find_definition", json!({"name": "a::b"}), "MISUSE \"a::b\" is no name"),
        ])
        .await;
}
