//! Errors outside of a turn: settings, data folders, flags, sessions of others. Each ends with words that say
//! what to do.

use crate::co::{Co, Service, Wire};

#[test]
fn settings_that_are_wrong_are_named_with_their_place() {
    let co = Co::new().file(".config/co/config.toml", "theme = \"dark\"\nmodle = \"x\"\n");
    co.run(&["status"]).check(
        1,
        "",
        "co: error: [HOME]/.config/co/config.toml:2: `modle` is not a setting (did you mean `model`?); `co config` lists all settings\n",
    );
    let co = Co::new();
    co.run(&["--set", "max_requests=many", "config"]).check(
        2,
        "",
        "co: error: flag max_requests: `max_requests` is \"many\", but must be a whole number from 0 to 100000\n",
    );
    co.run(&["--theme", "purple", "config"]).check(
        2,
        "",
        "co: error: flag --theme: `--theme` is \"purple\", but must be one of auto, dark, light\n"
            .replace("`--theme`", "`theme`")
            .as_str(),
    );
    co.run(&["--set", "theme", "config"]).check(
        2,
        "",
        "co: error: `--set theme` has no value\n    write it as `--set key=value`; `co config` lists the keys\n",
    );
}

#[test]
fn config_tells_where_each_value_comes_from() {
    let co = Co::new()
        .file(".config/co/config.toml", "max_requests = 7\n")
        .file("work/.co/config.toml", "verbose = true\nbase_url = \"http://evil.example\"\n")
        .env("CO_THEME", "light");
    let ran = co.run(&["config", "--set", "http_retries=0"]);
    assert_eq!(ran.code, Some(0));
    for (key, value, source) in [
        ("max_requests", "7", "[HOME]/.config/co/config.toml:1"),
        ("verbose", "true", "[HOME]/work/.co/config.toml:1"),
        ("theme", "light", "environment CO_THEME"),
        ("http_retries", "0", "flag http_retries"),
        ("base_url", "(unset)", "default"),
    ] {
        let line = ran.out.lines().find(|line| line.split_whitespace().next() == Some(key)).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!((words[1], words[2..].join(" ").as_str()), (value, source));
    }
    assert!(ran.err.contains("[HOME]/work/.co/config.toml:2: `base_url` is ignored"), "{}", ran.err);
}

#[test]
fn data_folders_that_cannot_be_used_are_left_alone() {
    let hint = "    CO_DATA_DIR=/another/folder co … chooses another data folder\n";
    let garbage = "this is no database at all, it is a text that somebody put there".repeat(100);
    let co = Co::new().file(".local/share/co/co.db", &garbage);
    co.run(&["approvals"]).check(
        1,
        "",
        &format!("co: error: [HOME]/.local/share/co/co.db is not a co database and was not changed; `co doctor` shows whether there is a backup, or move it away\n{hint}"),
    );
    let kept = std::fs::read_to_string(co.data().join("co.db")).unwrap();
    assert_eq!(kept, garbage);

    let ran = Co::new().env("CO_DATA_DIR", "/dev/null/co").run(&["-p", "hi", "--set", "provider=offline"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.starts_with("co: error: the data folder /dev/null/co cannot be used: "), "{}", ran.err);
    assert!(ran.err.ends_with(hint), "{}", ran.err);
}

#[test]
fn a_newer_database_is_refused_and_kept() {
    let co = Co::new();
    co.run(&["approvals"]).check(0, "No requests are waiting for your approval.\n", "");
    let path = co.data().join("co.db");
    {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.pragma_update(None, "user_version", 9_999).unwrap();
    }
    let ran = co.run(&["sessions"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("was written by a newer co (format 9999"), "{}", ran.err);
    let db = rusqlite::Connection::open(&path).unwrap();
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 9_999);
}

#[test]
fn in_the_home_folder_reads_ask_too() {
    let script = "reply\n  call list_dir {}";
    let service = Service::new(script);
    let co = Co::new().with(&service, Wire::Chat);
    let ran = co.run_in(&co.home(), &["-p", "look"], "");
    assert_eq!(ran.code, Some(4));
    assert!(ran.err.contains("◇ list_dir (low) waiting for you"), "{}", ran.err);
    service.is_content();
}

#[test]
fn a_session_has_one_owner() {
    let service =
        Service::new("reply\n  text One.\nreply\n  text Two\n  thinking Hm\n  hang\nreply\n  text Three.");
    let co = Co::new().with(&service, Wire::Anthropic);
    co.run(&["-p", "hi"]).check(0, "One.\n", "");
    let mut first = co.start(&["-v", "-c", "-p", "go on"]);
    // Reasoning is printed as it arrives; the answer into a pipe only as a whole.
    let mut word = [0; 2];
    std::io::Read::read_exact(first.stderr.as_mut().unwrap(), &mut word).unwrap();
    let ran = co.run(&["-c", "-p", "me too"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(
        ran.err.starts_with("co: error: session [SESSION] is open in another co (process [PID] since "),
        "{}",
        ran.err
    );
    // Death frees it.
    first.kill().unwrap();
    first.wait().unwrap();
    co.run(&["-c", "-p", "now?"]).check(0, "Three.\n", "");
    service.is_content();
}

#[test]
fn a_folder_without_sessions_says_so() {
    let co = Co::new();
    let err = "co: error: there is no session in this folder yet\n    `co sessions --all` lists those of every folder\n";
    co.run(&["resume"]).check(1, "", err);
    co.run(&["-c", "-p", "hi", "--set", "provider=offline"]).check(1, "", err);
    co.run(&["sessions"]).check(
        0,
        "No sessions in this folder yet; `co sessions --all` lists all folders.\n",
        "",
    );
}

#[test]
fn sessions_are_listed() {
    let service = Service::new("reply\n  text One.");
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "what is this?"]).code, Some(0));
    let ran = co.run(&["sessions", "--json"]);
    let one = &ran.json()[0];
    assert_eq!(
        (&one["title"], &one["turns"], &one["waiting"]),
        (&"what is this?".into(), &1.into(), &0.into())
    );
    let words = co.run(&["sessions"]).out;
    assert!(words.lines().nth(1).unwrap().contains("done"), "{words}");
}

#[test]
fn a_workspace_that_is_gone_is_named() {
    let co = Co::new();
    let gone = co.workspace().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut command = std::process::Command::new("sh");
    command.env_clear().envs(co.variables().iter().cloned());
    command.args(["-c", "cd gone && rmdir ../gone && exec \"$0\" status", env!("CARGO_BIN_EXE_co")]);
    let output = command.current_dir(co.workspace()).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(err.starts_with("co: error: the current folder cannot be used ("), "{err}");
    assert!(err.ends_with("    go to a folder that exists, then start co again\n"), "{err}");
}

#[test]
fn providers_that_lack_something_say_what() {
    for (args, err) in [
        (
            ["--set", "provider=anthropic", "-p", "hi"],
            "co: error: anthropic needs a key: `co auth add anthropic` saves one, or set ANTHROPIC_API_KEY in the environment\n",
        ),
        (
            ["--set", "provider=openai-compatible", "-p", "hi"],
            "co: error: openai-compatible needs its address, e.g. --set base_url=http://localhost:8000/v1, or `base_url` in a section [providers.openai-compatible] of your settings\n",
        ),
        (
            ["--set", "base_url=http://127.0.0.1:9/v1", "-p", "hi"],
            "co: error: openai-compatible needs a model name: --model openai-compatible/NAME; `co models openai-compatible` lists them\n",
        ),
        (
            ["--set", "api_key=abcdefgh", "-p", "hi"],
            "co: error: `api_key` is set without a provider: set `provider` too\n",
        ),
    ] {
        let err = format!("{err}    `co config` shows where each value comes from\n");
        Co::new().run(&args).check(3, "", &err);
    }
}

#[test]
fn a_mistyped_provider_before_a_model_is_told() {
    let service = Service::new("reply\n  text Here.");
    let section = format!("model = 'wrok/m'\n[providers.work]\nbase_url = '{}'\n", service.server.chat_url());
    let co = Co::new().file(".config/co/config.toml", section);
    let ran = co.run(&["-p", "hi"]);
    let told =
        "co: There is no provider `wrok` (did you mean `work`?), so `wrok/m` is read as a model name.\n";
    assert!(ran.err.contains(told), "{}", ran.err);
}

/// Records in a database whose file was removed are lost: that is reported, and nothing more runs.
#[test]
fn a_database_that_goes_away_is_noticed() {
    for how in [
        "rm -rf .local/share/co",
        "mv .local/share/co/co.db .local/share/co/co.db.old",
        "cp -r .local/share/co x; rm -rf .local/share/co; mv x .local/share/co",
    ] {
        let service = Service::new(
            "reply\n  thinking Hm\n  call write_file {\"path\":\"a\",\"content\":\"x\"}\n  gate go\nreply\n  text Done.",
        );
        let co = Co::new().with(&service, Wire::Anthropic);
        let co = co.file(".config/co/rules.toml", "[[rule]]\neffect = \"allow\"\ntool = \"write_file\"\n");
        let mut child = co.start(&["-v", "-p", "hi"]);
        // It thinks: the turn runs.
        std::io::Read::read_exact(child.stderr.as_mut().unwrap(), &mut [0; 2]).unwrap();
        assert!(
            std::process::Command::new("sh")
                .args(["-c", how])
                .current_dir(co.home())
                .status()
                .unwrap()
                .success()
        );
        service.server.gate().release("go");
        let ran = co.ended(child);
        assert_eq!(ran.code, Some(1), "{how}: {ran:?}");
        assert!(
            ran.err.contains("was deleted, moved away or replaced while co was running"),
            "{how}: {ran:?}"
        );
        assert_eq!(co.read("a"), None, "{how}: nothing ran");
    }
}

#[test]
fn one_unknown_word_is_no_prompt() {
    let co = Co::new();
    co.run(&["aprovals"]).check(
        2,
        "",
        "error: unrecognized subcommand 'aprovals'\n\n  tip: a similar subcommand exists: 'approvals'\n  \
         tip: `co -- aprovals` sends it as a prompt\n\nUsage: co [OPTIONS] [PROMPT]... [COMMAND]\n\n\
         For more information, try '--help'.\n",
    );
    let err = "co: error: a prompt goes with no command\n    `co \"your prompt\"` opens the screen with it\n";
    co.run(&["fix the tests", "-c", "status"]).check(2, "", err);
    let two = co.run(&["fix the tests", "status"]);
    assert!(two.code == Some(2) && two.err.starts_with("error: a prompt goes with no command\n"), "{two:?}");
    co.run(&["-p", "one thing", "--", "another"]).check(
        2,
        "",
        "co: error: one prompt can be printed, not two\n",
    );
}

#[test]
fn a_first_prompt_needs_no_screen() {
    let service = Service::new("reply\n  text One.\nreply\n  text Two.\nreply\n  text Three.");
    let co = Co::new().with(&service, Wire::Chat);
    co.piped("some lines\n", &["what is this?"]).check(0, "One.\n", "");
    assert!(service.asked(1).contains("what is this?\\n\\nsome lines"), "{}", service.asked(1));
    co.run(&["-p", "--", "--help me"]).check(0, "Two.\n", "");
    let ran = co.run(&["--plain", "--", "three"]);
    assert!(ran.code == Some(0) && ran.out.contains("Three."), "{ran:?}");
    service.is_content();
}
