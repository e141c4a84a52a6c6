//! `co help`, `co completions`, `co man`: all of the reference is there, and fits.

use co::command::Commands;
use co::config::{INERT, SETTINGS};
use co::provider::catalog::PRESETS;
use co::stdx::text::width;
use co::tui::keys::Keymap;

use crate::co::Co;

fn printed(args: &[&str]) -> String {
    let ran = Co::new().run(args);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
    ran.out
}

/// The names of the rows below this heading of `co help`.
fn rows(heading: &str) -> Vec<String> {
    let help = printed(&["help"]);
    let rows = help.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let rows = rows.take_while(|line| line.starts_with("  "));
    // A row that continues is indented further.
    let names = rows.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    names.map(|rest| rest.split_whitespace().next().unwrap().to_owned()).collect()
}

pub fn topics() -> Vec<String> {
    rows("Topics of")
}

#[test]
fn help_lists_commands_and_topics() {
    assert_eq!(printed(&["help"]).trim_end(), printed(&["--help"]).trim_end());
    let texts: Vec<String> = std::fs::read_dir("src/cli/help")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .filter(|name| !name.ends_with("_table"))
        .collect();
    let topics = topics();
    assert_eq!(topics.len(), texts.len(), "{topics:?}");
    assert!(texts.iter().all(|text| topics.contains(text)), "{texts:?}");
    let commands = rows("Commands:");
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        assert!(printed(&["help", &command]).contains(&format!("Usage: co {command}")), "{command}");
    }
}

#[test]
fn topics_fit_eighty_columns() {
    for topic in topics() {
        let text = printed(&["help", &topic]);
        let text = text.split("\n-- The command").next().unwrap();
        assert!(text.lines().count() > 5, "{topic}");
        for line in text.lines() {
            assert!(width(line) <= 80 && line == line.trim_end(), "{topic}: {line}");
        }
    }
}

#[test]
fn tables_have_every_row() {
    let settings = printed(&["help", "settings"]);
    let has =
        |names: &str| settings.lines().any(|line| line == names || line.starts_with(&format!("{names},")));
    let words: Vec<&str> = settings.split(|c: char| c.is_whitespace() || ",.".contains(c)).collect();
    for (key, env) in SETTINGS.iter().chain(INERT).map(|row| (row.key, row.env)) {
        assert!(has(key), "{key}");
        assert!(env.iter().all(|name| words.contains(name)), "{env:?}");
    }
    let row = "max_requests, max_request_limit\n    Maximum model requests in one turn; 0: no limit\n    \
               Default: 25. Project file: when trusted. Environment: CO_MAX_REQUESTS,\n    CO_CLI_MAX_REQUEST_LIMIT.\n";
    assert!(settings.contains(row), "{settings}");

    let keys = printed(&["help", "keys"]);
    for row in Keymap::default().by_context() {
        let line = keys
            .lines()
            .rev()
            .find(|line| line.split_whitespace().next() == Some(&row.binding.path()))
            .unwrap();
        assert!(row.keys.first().is_none_or(|key| line.contains(&key.to_string())), "{line}");
    }

    let commands = printed(&["help", "commands"]);
    for command in Commands::builtin().iter() {
        assert!(commands.contains(&format!("  /{}", command.name)), "{}", command.name);
    }

    let models = printed(&["help", "models"]);
    for preset in PRESETS {
        assert!(models.contains(&format!("\n{}: {}\n", preset.name, preset.title)), "{}", preset.name);
        assert!(
            preset.key_envs.iter().chain(&preset.base_url).all(|text| models.contains(text)),
            "{}",
            preset.name
        );
    }

    let policy = printed(&["help", "policy"]);
    let stages = policy
        .lines()
        .filter(|line| line.trim().split_once(". ").is_some_and(|(no, _)| no.parse::<u8>().is_ok()));
    assert_eq!(stages.count(), co::approval::Stage::ALL.len());

    let rules = printed(&["help", "rules"]);
    assert!(rules.contains(co::approval::rules::EXAMPLE));

    let tools = printed(&["help", "tools"]);
    let listed = Co::new().run(&["tools"]).out;
    let listed = listed.lines().skip(1).take_while(|row| !row.starts_with("Web:"));
    let names: Vec<_> = listed.filter_map(|row| row.split_whitespace().next()).collect();
    assert!(
        names.contains(&"shell") && names.iter().all(|name| tools.contains(&format!("  {name} "))),
        "{names:?}"
    );
}

#[test]
fn help_shows_commands_and_topics_of_one_name_together() {
    let nested = printed(&["help", "auth", "add"]);
    assert!(nested.contains("Usage: co auth add"), "{nested}");
    let both = printed(&["help", "keys"]);
    assert!(both.starts_with("KEYS\n") && both.contains("Usage: co keys"), "{both}");
}

#[test]
fn an_unknown_topic_is_told_the_nearest() {
    let hint = "    `co help` lists topics and commands\n";
    Co::new().run(&["help", "setings"]).check(
        2,
        "",
        &format!("co: error: `setings` is not a topic or command (did you mean `settings`?)\n{hint}"),
    );
    Co::new().run(&["help", "auth", "zzz"]).check(
        2,
        "",
        &format!("co: error: `auth zzz` is not a topic or command\n{hint}"),
    );
}

#[test]
fn completions_know_every_command() {
    let commands = rows("Commands:");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for name in &commands {
            assert!(script.contains(name), "{shell}: {name}");
        }
        // Fish and the others do not complete values of an argument without a dash.
        assert!(script.contains("exit-codes") || !["bash", "zsh"].contains(&shell));
    }
    assert_eq!(Co::new().run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn the_manual_knows_every_command() {
    let co = Co::new();
    let page = printed(&["man"]);
    assert!(page.contains(".TH co 1"), "{page}");
    assert_eq!(co.run(&["man", "."]).code, Some(0));
    for name in rows("Commands:") {
        assert!(page.contains(&format!("co\\-{name}(1)")), "{name}");
        assert!(co.read(&format!("co-{name}.1")).is_some(), "{name}");
    }
    co.run(&["man", "new/man1"]).check(0, "", "");
    assert!(co.read("new/man1/co-audit.1").is_some());
    let failed = co.run(&["man", "co.1"]);
    assert!(failed.code == Some(1) && failed.err.starts_with("co: error: co.1: "), "{failed:?}");
}
