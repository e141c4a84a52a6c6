use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::settings;
use super::*;

/// Sources for the workspace `/ws` of a user whose home is `/home/u`.
fn sources() -> Sources {
    let env = BTreeMap::from([("HOME".to_owned(), "/home/u".to_owned())]);
    Sources {
        workspace: "/ws".into(),
        user: None,
        project: None,
        contents: Contents::new(),
        trusted: None,
        unread: Vec::new(),
        env,
        flags: Vec::new(),
    }
}

impl Sources {
    fn user(mut self, text: &str) -> Self {
        self.user = Some(SourceFile { path: "/home/u/.config/co/config.toml".into(), text: text.to_owned() });
        self
    }

    fn project(mut self, text: &str) -> Self {
        self.project = Some(SourceFile { path: "/ws/.co/config.toml".into(), text: text.to_owned() });
        self
    }

    fn env(mut self, name: &str, text: &str) -> Self {
        self.env.insert(name.to_owned(), text.to_owned());
        self
    }

    fn flag(mut self, name: &str, text: &str) -> Self {
        self.flags.push((name.to_owned(), text.to_owned()));
        self
    }

    fn loaded(&self) -> LoadedSettings {
        match load(self) {
            Ok(loaded) => loaded,
            Err(errors) => panic!("{}", lines(&errors)),
        }
    }
}

fn lines<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The value in effect as text, and its source.
fn effect(loaded: &LoadedSettings, key: &str) -> String {
    let line = describe(loaded).into_iter().find(|line| line.split_whitespace().next() == Some(key));
    line.unwrap_or_default().split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_highest_layer_wins() {
    let all = || {
        sources()
            .user("theme = 'dark'\nmax_requests = 5")
            .project("theme = 'light'")
            .env("CO_THEME", "auto")
            .flag("--theme", "dark")
    };
    let without_flag = Sources { flags: Vec::new(), ..all() };
    let cases = [
        (sources(), "theme", "auto default"),
        (sources().user("theme = 'dark'"), "theme", "dark /home/u/.config/co/config.toml:1"),
        (
            sources().user("theme = 'dark'").project("\ntheme = 'light'"),
            "theme",
            "light /ws/.co/config.toml:2",
        ),
        (without_flag, "theme", "auto environment CO_THEME"),
        (all(), "theme", "dark flag --theme"),
        (all(), "max_requests", "5 /home/u/.config/co/config.toml:2"),
        (all().flag("theme", "light"), "theme", "light flag theme"),
        (sources().env("CO_CLI_THEME", "light"), "theme", "light environment CO_CLI_THEME"),
        (
            sources().env("CO_CLI_THEME", "light").env("CO_THEME", "dark"),
            "theme",
            "dark environment CO_THEME",
        ),
        (
            sources().env("CO_CLI_THEME", "light").env("CO_THEME", ""),
            "theme",
            "light environment CO_CLI_THEME",
        ),
        (sources().user("[shell]\ntimeout = 7"), "shell.timeout", "7 /home/u/.config/co/config.toml:2"),
        (sources().user("shell = { timeout = 7 }"), "shell.timeout", "7 /home/u/.config/co/config.toml:1"),
        (sources().user("model = 'm'").env("CO_MODEL", ""), "model", "m /home/u/.config/co/config.toml:1"),
        (sources().user("model = 'm'").flag("--model", ""), "model", "(unset) flag --model"),
        (sources().user("max_request_limit = 0"), "max_requests", "0 /home/u/.config/co/config.toml:1"),
        (sources(), "data_dir", "/home/u/.local/share/co default"),
        (sources().env("XDG_DATA_HOME", "/d"), "data_dir", "/d/co default"),
        (sources().env("XDG_DATA_HOME", "relative"), "data_dir", "/home/u/.local/share/co default"),
        (sources().env("CO_DATA_DIR", "~/x/../y"), "data_dir", "/home/u/y environment CO_DATA_DIR"),
        (sources().env("CO_SHELL_ENV", "A, B,,"), "shell.env", "A, B environment CO_SHELL_ENV"),
        (
            sources().user("base_url = 'http://h:1/v1/'"),
            "base_url",
            "http://h:1/v1 /home/u/.config/co/config.toml:1",
        ),
    ];
    for (sources, key, expected) in cases {
        assert_eq!(effect(&sources.loaded(), key), expected, "{key}");
    }
}

#[test]
fn fields_hold_what_was_set() {
    let user = "model = 'anthropic/x'\nprovider = 'OpenAI-compatible'\nmax_requests = 0\ntool_retries = 0\n\
                openai.api_key = ' sk-1 '\ndiscover_local = false\nthinking = 'high'\ncontext_tokens = 8_000\n\
                shell = { timeout = 900, max_timeout = 60, env = ['A'] }\ntrusted_folders = ['~/a', '/b']";
    let settings = sources()
        .user(user)
        .env("CO_VERBOSE", "yes")
        .env("CO_PLAIN", "1")
        .env("CO_MODEL", "")
        .loaded()
        .settings;
    let minute = Duration::from_secs(60);
    let env = vec!["A".to_owned()];
    let expected = Settings {
        model: Some("anthropic/x".to_owned()),
        provider: Some("openai-compatible".to_owned()),
        max_requests: None,
        tool_retries: 0,
        providers: BTreeMap::from([(
            "openai".to_owned(),
            ProviderSettings { api_key: Some(Key::literal("sk-1")), ..ProviderSettings::default() },
        )]),
        discover_local: false,
        thinking: ThinkingLevel::High,
        context_tokens: Some(8_000),
        shell: ShellSettings { timeout: minute, max_timeout: minute, env, ..ShellSettings::default() },
        trusted_folders: vec![PathBuf::from("/home/u/a"), PathBuf::from("/b")],
        verbose: true,
        plain: true,
        data_dir: "/home/u/.local/share/co".into(),
        ..Settings::default()
    };
    assert!(settings == expected);
    assert_eq!(Settings::default().max_requests.map(std::num::NonZeroU32::get), Some(25));
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_a_remedy() {
    const U: &str = "/home/u/.config/co/config.toml";
    let check = |sources: Sources, expected: &str| {
        let errors = load(&sources).err().unwrap_or_default();
        assert_eq!(lines(&errors), expected.replace("U:", &format!("{U}:")));
    };
    let files = [
        (
            "\nthemme = 1",
            "U:2: `themme` is not a setting (did you mean `theme`?); `co config` lists all settings",
        ),
        (
            "timeout = 1",
            "U:1: `timeout` is not a setting (did you mean `shell.timeout`?); `co config` lists all settings",
        ),
        (
            "[shell]\ntimeuot = 1",
            "U:2: `shell.timeuot` is not a setting (did you mean `shell.timeout`?); `co config` lists all settings",
        ),
        ("[zzz]\nq = 1", "U:1: `zzz` is not a setting; `co config` lists all settings"),
        ("\"a\\u001b[2J\" = 1", "U:1: `a␛[2J` is not a setting; `co config` lists all settings"),
        ("shell = 3", "U:1: `shell` is a section; write its settings as `shell.timeout = …`"),
        (
            "theme = 'ligth'",
            "U:1: `theme` is \"ligth\", but must be one of auto, dark, light; did you mean `light`?",
        ),
        ("keys = 'x'", "U:1: `keys` is \"x\", but must be a section"),
        (
            "[keys]\n\"a.b\" = 'x'\n[keys.a]\nb = 'y'",
            "U:4: `keys.a.b` is already set in line 2, as `keys.a.b`; keep one of them",
        ),
        ("theme = 3", "U:1: `theme` is 3, but must be one of auto, dark, light"),
        ("theme = { a = 1 }", "U:1: `theme` is a section, but must be one of auto, dark, light"),
        (
            "max_requests = '7'",
            "U:1: `max_requests` is \"7\", but must be a whole number from 0 to 100000; write it without quotes",
        ),
        ("max_requests = -1", "U:1: `max_requests` is -1, but must be a whole number from 0 to 100000"),
        ("max_requests = 1.5", "U:1: `max_requests` is 1.5, but must be a whole number from 0 to 100000"),
        (
            "verbose = 'true'",
            "U:1: `verbose` is \"true\", but must be true or false; write it without quotes",
        ),
        (
            "shell.env = 'A'",
            "U:1: `shell.env` is \"A\", but must be a list of strings; put it in brackets: [\"…\"]",
        ),
        (
            "shell.env = [1]",
            "U:1: `shell.env` is a list that is not of strings, but must be a list of strings",
        ),
        (
            "base_url = 'localhost:11434'",
            "U:1: `base_url` is \"localhost:11434\", but must be an address that begins with http:// or https://",
        ),
        (
            "base_url = 'https://me:hunter2@h/'",
            "U:1: `base_url` is an address with a password in it, but must be an address that begins with http:// or https://; put the key in its own setting",
        ),
        (
            "data_dir = 'x'",
            "U:1: `data_dir` is \"x\", but must be an absolute path, or one that begins with ~/",
        ),
        (
            "api_key = 17",
            "U:1: `api_key` is something else, but must be the key itself as a string without white space, `$NAME` or `$(command)`",
        ),
        (
            "api_key = 'sk hunter2'",
            "U:1: `api_key` is a string with white space, but must be the key itself as a string without white space, `$NAME` or `$(command)`",
        ),
        (
            "max_requests = 1\n\nmax_request_limit = 2",
            "U:3: `max_request_limit` is already set in line 1, as `max_requests`; keep one of them",
        ),
        (
            "a = 1\nb = 2",
            "U:1: `a` is not a setting; `co config` lists all settings\nU:2: `b` is not a setting; `co config` lists all settings",
        ),
        (
            "[providers.work]\nbas_url = 'http://h'",
            "U:2: `providers.work.bas_url` is not a setting (did you mean `base_url`?); `co config` lists all settings",
        ),
        (
            "[providers.work]\nurl = 'http://h'",
            "U:2: `providers.work.url` is not a setting (did you mean `base_url`?); `co config` lists all settings",
        ),
        (
            "[provider.work]\nbase_url = 'http://h'",
            "U:1: `provider` is a section, but must be a string; your own service is a section [providers.NAME]",
        ),
        (
            "[providers]\nwork = 'x'",
            "U:2: `providers.work` is \"x\", but must be a section, as in [providers.work]",
        ),
        (
            "[providers.'my server']\nmodel = 'x'",
            "U:2: `providers.my server.model` is in a section of the name \"my server\", but must be a name of letters, digits, `-` and `_`; `auto` and `offline` are taken",
        ),
        (
            "[providers.work]\nwire = 'respones'",
            "U:2: `providers.work.wire` is \"respones\", but must be one of anthropic, chat, responses, gemini, ollama; did you mean `responses`?",
        ),
        (
            "[providers.work]\nbase_url = 'h:1'",
            "U:2: `providers.work.base_url` is \"h:1\", but must be an address that begins with http:// or https://",
        ),
        (
            "[providers.work]\nnum_ctx = 5",
            "U:2: `providers.work.num_ctx` is 5, but must be a whole number from 1000 to 100000000",
        ),
        (
            "[providers.work]\napi_key = 'hunter2 x'",
            "U:2: `providers.work.api_key` is a string with white space, but must be the key itself as a string without white space, `$NAME` or `$(command)`",
        ),
        (
            "thinking = 'hihg'",
            "U:1: `thinking` is \"hihg\", but must be one of off, low, medium, high, or a number of tokens from 1 to 1000000; did you mean `high`?",
        ),
        ("temperature = 2.5", "U:1: `temperature` is 2.5, but must be a number from 0 to 2"),
    ];
    for (text, expected) in files {
        check(sources().user(text), expected);
    }
    check(
        sources().env("CO_THINKING", "lots"),
        "environment CO_THINKING: `thinking` is \"lots\", but must be one of off, low, medium, high, or a number of tokens from 1 to 1000000",
    );
    check(
        sources().env("CO_IDLE_TIMEOUT", "soon"),
        "environment CO_IDLE_TIMEOUT: `idle_timeout` is \"soon\", but must be a whole number from 1 to 86400",
    );
    check(
        sources().flag("--theme", "pink"),
        "flag --theme: `theme` is \"pink\", but must be one of auto, dark, light",
    );
    check(
        sources().flag("--thme", "dark"),
        "flag --thme: `thme` is not a setting (did you mean `theme`?); `co config` lists all settings",
    );
    check(
        sources().env("HOME", ""),
        "there is no data folder, because HOME is not set; set CO_DATA_DIR to an absolute path",
    );
}

#[test]
fn bad_syntax_names_line_and_column() {
    for (text, place) in
        [("theme = 'dark'\nmodel =\n", ":2:"), ("a = [1", ":1:"), ("é = = 1", ":1:"), ("a=1\na=2", ":2:")]
    {
        let errors = load(&sources().user(text)).err().unwrap_or_default();
        let message = lines(&errors);
        let start = format!("/home/u/.config/co/config.toml{place}");
        assert!(message.starts_with(&start) && message.contains("not valid TOML: "), "{text:?}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        // An error in a project's file is only a warning.
        let warnings = lines(&sources().project(text).loaded().warnings);
        assert!(warnings.ends_with("it is ignored, because it comes from a project's file"), "{warnings}");
    }
}

#[test]
fn what_has_no_effect_is_warned_about() {
    const P: &str = "/ws/.co/config.toml";
    let trust_me = "is ignored, because you do not trust this folder; trust it with `co trust /ws`";
    let yolo = "has no effect: never stored; type /yolo in a session, it ends with the session";
    let cases = [
        (sources(), String::new()),
        (sources().project("theme = 'dark'\nverbose = true"), String::new()),
        (sources().project("\nbase_url = 'http://evil'"), format!("{P}:2: `base_url` {trust_me}")),
        (sources().project("[shell]\nenv = 5"), format!("{P}:2: `shell.env` {trust_me}")),
        (sources().project("llm_provider = 'offline'"), format!("{P}:1: `llm_provider` {trust_me}")),
        (
            sources().project("trusted_folders = ['/']\nmodel = 'm'"),
            format!(
                "{P}:1: `trusted_folders` is ignored, because a project's file may not set it; set it in \
                 /home/u/.config/co/config.toml\n{P}:2: `model` {trust_me}"
            ),
        ),
        (
            sources().project("[keys]\ncard.yes = 'q'").env("CO_TRUSTED_FOLDERS", "/ws"),
            format!(
                "{P}:1: `keys` is ignored, because a project's file may not set it; set it in \
                 /home/u/.config/co/config.toml"
            ),
        ),
        (sources().project("model = 'm'").env("CO_TRUSTED_FOLDERS", "/ws"), String::new()),
        (
            sources().project("model = 'm'").user("trusted_folders = ['/']"),
            format!("{P}:1: `model` {trust_me}"),
        ),
        (
            sources().project("model = 'm'").env("CO_TRUSTED_FOLDERS", "/w,/ws/x"),
            format!("{P}:1: `model` {trust_me}"),
        ),
        (
            sources().user("auto_confirm = false"),
            format!("/home/u/.config/co/config.toml:1: `auto_confirm` {yolo}"),
        ),
        (
            sources().env("CO_CLI_AUTO_CONFIRM", "1"),
            format!("environment CO_CLI_AUTO_CONFIRM: `auto_confirm` {yolo}"),
        ),
        (
            sources().user("slack_bot_token = ''"),
            "/home/u/.config/co/config.toml:1: `slack_bot_token` is reserved for the Slack tools and has no effect yet"
                .to_owned(),
        ),
        (
            sources().env("CO_MODLE", "x"),
            "environment CO_MODLE is not a setting; did you mean `CO_MODEL`?".to_owned(),
        ),
        (sources().env("CO_ZZZZZZ", "x").env("COLOR", "x").env("CO_THEMES", ""), String::new()),
    ];
    for (sources, expected) in cases {
        assert_eq!(lines(&sources.loaded().warnings), expected);
    }
}

#[test]
fn an_ignored_value_is_not_in_effect_and_a_trusted_one_is() {
    let project = "model = 'm'";
    let untrusted = sources().project(project).loaded();
    assert_eq!((untrusted.trust, untrusted.settings.model), (FolderTrust::Untrusted, None));
    let trusted = sources().project(project).user("trusted_folders = ['/ws']").loaded();
    assert_eq!((trusted.trust, trusted.settings.model), (FolderTrust::Trusted, Some("m".to_owned())));
}

/// Seed 004's 35 settings: each key (one is a section of two) with its environment name and a valid value.
const SEED: &[(&str, &str, &str)] = &[
    ("llm_provider", "LLM_PROVIDER", "offline"),
    ("gemini_api_key", "GEMINI_API_KEY", "k"),
    ("gemini_model", "GEMINI_MODEL", "m"),
    ("ollama_host", "OLLAMA_HOST", "http://localhost:11434"),
    ("ollama_model", "OLLAMA_MODEL", "m"),
    ("ollama_num_ctx", "OLLAMA_NUM_CTX", "202752"),
    ("obsidian_vault_path", "OBSIDIAN_VAULT_PATH", "/v"),
    ("slack_bot_token", "SLACK_BOT_TOKEN", "t"),
    ("brave_search_api_key", "BRAVE_SEARCH_API_KEY", "k"),
    ("google_credentials_path", "GOOGLE_CREDENTIALS_PATH", "/g"),
    ("auto_confirm", "CO_CLI_AUTO_CONFIRM", "true"),
    ("theme", "CO_CLI_THEME", "light"),
    ("personality", "CO_CLI_PERSONALITY", "finch"),
    ("tool_retries", "CO_CLI_TOOL_RETRIES", "4"),
    ("model_http_retries", "CO_CLI_MODEL_HTTP_RETRIES", "4"),
    ("max_request_limit", "CO_CLI_MAX_REQUEST_LIMIT", "4"),
    ("tool_output_trim_chars", "CO_CLI_TOOL_OUTPUT_TRIM_CHARS", "2000"),
    ("max_history_messages", "CO_CLI_MAX_HISTORY_MESSAGES", "40"),
    ("summarization_model", "CO_CLI_SUMMARIZATION_MODEL", "m"),
    ("memory_max_count", "CO_CLI_MEMORY_MAX_COUNT", "200"),
    ("memory_dedup_window_days", "CO_CLI_MEMORY_DEDUP_WINDOW_DAYS", "7"),
    ("memory_dedup_threshold", "CO_CLI_MEMORY_DEDUP_THRESHOLD", "85"),
    ("memory_decay_strategy", "CO_CLI_MEMORY_DECAY_STRATEGY", "cut"),
    ("memory_decay_percentage", "CO_CLI_MEMORY_DECAY_PERCENTAGE", "0.2"),
    ("sandbox_backend", "CO_CLI_SANDBOX_BACKEND", "auto"),
    ("docker_image", "CO_CLI_DOCKER_IMAGE", "i"),
    ("sandbox_max_timeout", "CO_CLI_SANDBOX_MAX_TIMEOUT", "61"),
    ("sandbox_network", "CO_CLI_SANDBOX_NETWORK", "none"),
    ("sandbox_mem_limit", "CO_CLI_SANDBOX_MEM_LIMIT", "1g"),
    ("sandbox_cpus", "CO_CLI_SANDBOX_CPUS", "1"),
    ("shell_safe_commands", "CO_CLI_SHELL_SAFE_COMMANDS", "ls,cat"),
    ("web_fetch_allowed_domains", "CO_CLI_WEB_FETCH_ALLOWED_DOMAINS", "a.b"),
    ("web_fetch_blocked_domains", "CO_CLI_WEB_FETCH_BLOCKED_DOMAINS", "a.b"),
    ("web_policy.search", "CO_CLI_WEB_POLICY_SEARCH", "ask"),
    ("web_policy.fetch", "CO_CLI_WEB_POLICY_FETCH", "ask"),
    ("mcp_servers", "CO_CLI_MCP_SERVERS", "{}"),
];

#[test]
fn every_setting_of_the_seed_is_answered() {
    let fields: BTreeSet<&str> = SEED.iter().map(|(key, ..)| key.split('.').next().unwrap_or(key)).collect();
    let variables: BTreeSet<&str> = SEED.iter().map(|(_, env, _)| *env).collect();
    assert_eq!((fields.len(), variables.len()), (35, 36));
    for (key, env, text) in SEED {
        let known = SettingRow::find(key).unwrap_or_else(|| panic!("{key} is not known"));
        let in_file = toml_text(known.kind, text);
        assert!(known.env.contains(env), "{key}: {env}");
        let by_file = sources().user(&format!("{key} = {in_file}")).loaded();
        let by_env = sources().env(env, text).loaded();
        let expected = ["/home/u/.config/co/config.toml:1".to_owned(), format!("environment {env}")];
        for (loaded, source) in [by_file, by_env].iter().zip(expected) {
            let value = loaded.values.iter().find(|value| value.row.key == known.key);
            match (known.no_effect(), value) {
                (None, Some(value)) => assert_eq!(value.source.to_string(), source, "{key}"),
                (Some(_), None) => {
                    let warnings = lines(&loaded.warnings);
                    assert!(warnings.starts_with(&format!("{source}: `")), "{key}: {warnings}");
                    assert_eq!(loaded.warnings.len(), 1, "{warnings}");
                    assert!(effect(loaded, known.key).ends_with(&format!("(set: {source})")), "{key}");
                }
                (_, value) => panic!("{key}: in effect is {}", value.is_some()),
            }
        }
    }
}

/// Converts a text from the environment to its form in a file.
fn toml_text(kind: Kind, text: &str) -> String {
    match kind {
        Kind::Integer { .. }
        | Kind::Number { .. }
        | Kind::Bool
        | Kind::Level { .. }
        | Kind::Table
        | Kind::Sections(_) => text.to_owned(),
        Kind::List | Kind::PathList => format!("['{}']", text.replace(',', "', '")),
        Kind::Text | Kind::Url | Kind::Host { .. } | Kind::Choice(_) | Kind::Path | Kind::Secret => {
            format!("'{text}'")
        }
    }
}

/// A value that is valid for every row of the kind, other than the default.
fn sample(row: &SettingRow) -> String {
    match row.kind {
        Kind::Text | Kind::Secret => "sample".to_owned(),
        Kind::Url | Kind::Host { .. } => "https://example.test/v1".to_owned(),
        Kind::Level { max, .. } => max.to_string(),
        Kind::Integer { max, .. } => max.to_string(),
        Kind::Number { max, .. } => max.to_string(),
        Kind::Bool => (row.default != "true").to_string(),
        Kind::Choice(names) => (*names.last().unwrap()).to_owned(),
        Kind::List => "one,two".to_owned(),
        Kind::Path => "/a".to_owned(),
        Kind::PathList => "/a,/b".to_owned(),
        Kind::Table | Kind::Sections(_) => "{}".to_owned(),
    }
}

#[test]
fn every_built_row_changes_its_own_field_from_every_layer() {
    let plain = sources().loaded().settings;
    // Sections with free keys have their own test.
    let is_one_value = |row: &&SettingRow| !row.kind.is_section();
    for row in SETTINGS.iter().filter(is_one_value) {
        let text = sample(row);
        let by_env = sources().env(row.env[0], &text).loaded();
        let by_file = sources().user(&format!("{} = {}", row.key, toml_text(row.kind, &text))).loaded();
        let by_flag = sources().flag(row.flag.unwrap_or(row.key), &text).loaded();
        assert!(by_env.settings != plain, "{} has no effect", row.key);
        assert!(by_env.settings == by_file.settings && by_file.settings == by_flag.settings, "{}", row.key);
        let changed =
            |loaded: &LoadedSettings| loaded.values.iter().filter(|v| v.source != Source::Default).count();
        assert_eq!((changed(&by_env), changed(&by_file), changed(&by_flag)), (1, 1, 1), "{}", row.key);
    }
}

#[test]
fn free_sections_are_laid_over_each_other_key_by_key() {
    let user = "trusted_folders = ['/ws']\n[keys.composer]\nfind-open = ['Ctrl+F', 'F3']\nstash = []\n[keys]\n\
                \"card.why\" = '?'\n\"card.no\" = 5";
    let sources = sources().user(user).project("keys = { card.why = 'q' }").flag("keys.global.redraw", "F5");
    let loaded = sources.loaded();
    let shown: Vec<String> = loaded
        .settings
        .keys
        .iter()
        .map(|entry| format!("{} {} {}", entry.name, entry.texts.join("+"), entry.source))
        .collect();
    let expected = [
        "composer.find-open Ctrl+F+F3 /home/u/.config/co/config.toml:3",
        "composer.stash  /home/u/.config/co/config.toml:4",
        "card.why ? /home/u/.config/co/config.toml:6",
        "global.redraw F5 flag keys.global.redraw",
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        lines(&loaded.warnings),
        "/home/u/.config/co/config.toml:7: `keys.card.no` is 5, but must be a string or a list of strings; it has no effect\n\
         /ws/.co/config.toml:1: `keys` is ignored, because a project's file may not set it; set it in \
         /home/u/.config/co/config.toml"
    );
    assert_eq!(
        effect(&loaded, "keys"),
        "composer.find-open = Ctrl+F, F3; composer.stash = ; card.why = ?; global.redraw = F5 flag keys.global.redraw"
    );
}

#[test]
fn a_model_is_told_field_by_field() {
    let user = "trusted_folders = ['/ws']\n[models.\"gpt-5.1\"]\nwindow = 1_000\ninput_price = 0.25\n\
                output_price = 2\nthinking = 'levels'\n[models.local]\nimages = false\n\
                [models.\"openrouter/x/y-1.5\"]\ninput_price = 0\noutput_price = 0\nreasoning_price = 0.000_001";
    let sources = sources()
        .user(user)
        .project("[models.local]\nimages = true")
        .flag("models.\"gpt-5.1\".window", "2000")
        .flag("models.gpt-5.1.temperature", "no");
    let loaded = sources.loaded();
    let expected = [
        ModelOverride {
            name: "gpt-5.1".to_owned(),
            window: Some(2_000),
            price: Some(PriceOverride { input: 250_000, output: 2_000_000, ..PriceOverride::default() }),
            thinking: Some(ThinkingStyle::Levels),
            temperature: Some(false),
            ..ModelOverride::default()
        },
        ModelOverride { name: "local".to_owned(), images: Some(false), ..ModelOverride::default() },
        ModelOverride {
            name: "openrouter/x/y-1.5".to_owned(),
            price: Some(PriceOverride { reasoning: Some(1), ..PriceOverride::default() }),
            ..ModelOverride::default()
        },
    ];
    assert_eq!(loaded.settings.models, expected);
    assert_eq!(
        lines(&loaded.warnings),
        "/ws/.co/config.toml:1: `models` is ignored, because a project's file may not set it; set it in \
         /home/u/.config/co/config.toml"
    );
}

#[test]
fn what_is_wrong_with_a_model_is_said_where_it_is() {
    let cases = [
        (
            "[models.\"gpt-5.1\"]\nwindows = 5",
            ":2: `models.\"gpt-5.1\".windows` is not a setting (did you mean `window`?); `co config` lists all settings",
        ),
        (
            "[models.\"gpt-5.1\"]\nwindow = \"5\"",
            ":2: `models.\"gpt-5.1\".window` is \"5\", but must be a whole number from 1 to 100000000; write it without \
             quotes",
        ),
        (
            "[models.x]\n\ninput_price = -1",
            ":3: `models.\"x\".input_price` is -1, but must be a number from 0 to 1000000",
        ),
        (
            "[models.x]\nthinking = 'sometimes'",
            ":2: `models.\"x\".thinking` is \"sometimes\", but must be one of never, budget, levels, always",
        ),
        (
            "[models]\nwindow = 5",
            ":2: `models` is a section; write its settings as `models.\"NAME\".window = …`",
        ),
        (
            "[models.x]\nwindow = 5\ninput_price = 1\ncached_input_price = 1",
            ":3: models.\"x\" sets `input_price` but no `output_price`; a price needs `input_price` and `output_price`",
        ),
        (
            "[models.x]\nreasoning_price = 1",
            ":2: models.\"x\" sets `reasoning_price` but no `input_price`; a price needs `input_price` and \
             `output_price`",
        ),
        ("models = 3", ":1: `models` is 3, but must be a section of named sections"),
    ];
    for (text, expected) in cases {
        let errors = load(&sources().user(text)).err().expect("it is wrong");
        assert_eq!(lines(&errors), format!("/home/u/.config/co/config.toml{expected}"), "{text}");
    }
}

#[test]
fn sections_of_services_are_laid_over_each_other_key_by_key() {
    let user = "trusted_folders = ['/ws']\n[providers.work]\npreset = 'openai'\nbase_url = 'https://h/v1/'\n\
                api_key = '$WORK_KEY'\nmodels = ['a', 'b']\nquirks.usage = true\n[providers.work.headers]\n\
                X-Team = 'hunter2'\n[providers.vault]\napi_key = '$(pass vault)'";
    let loaded = sources()
        .user(user)
        .project("[providers.work]\nmodel = 'p'\nwire = 'chat'")
        .env("WORK_KEY", " hunter3\n")
        .flag("providers.work.wire", "responses")
        .flag("providers.work.models", "c, d")
        .flag("providers.work.num_ctx", "9000")
        .loaded();
    let expected = ProviderSettings {
        preset: Some("openai".to_owned()),
        wire: Some(Codec::OpenAiResponses),
        base_url: Some("https://h/v1".to_owned()),
        api_key: Some(Key::literal("hunter3")),
        headers: BTreeMap::from([("X-Team".to_owned(), Key::literal("hunter2"))]),
        quirks: BTreeMap::from([("usage".to_owned(), "true".to_owned())]),
        model: Some("p".to_owned()),
        models: vec!["c".to_owned(), "d".to_owned()],
        num_ctx: Some(9_000),
        ..ProviderSettings::default()
    };
    assert!(loaded.settings.providers["work"] == expected);
    assert!(loaded.settings.providers["vault"].api_key == Some(Key::Command("pass vault".to_owned())));
    let shown = effect(&loaded, "providers");
    assert!(!shown.contains("hunter") && !shown.contains("pass vault"), "{shown}");
    assert!(shown.contains("work.api_key = set (hidden)"), "{shown}");
    assert!(shown.contains("vault.api_key = from a command (hidden)"), "{shown}");
}

#[test]
fn a_key_is_itself_a_variable_or_a_command_of_the_users_own_file() {
    let only = "commands that print a key are allowed in your own settings file only";
    for sources in [
        sources().env("OPENAI_API_KEY", "$(pass co)"),
        sources().flag("openai.api_key", "$(pass co)"),
        sources().flag("providers.openai.api_key", "$(pass co)"),
    ] {
        let errors = load(&sources).err().unwrap_or_default();
        assert!(lines(&errors).ends_with(only), "{}", lines(&errors));
    }
    for project in ["openai.api_key = '$(pass co)'", "providers.openai.api_key = '$(pass co)'"] {
        let loaded = sources().project(project).user("trusted_folders = ['/ws']").loaded();
        assert!(lines(&loaded.warnings).contains(only), "{project}");
    }
    let untrusted = sources().project("[providers.evil]\nbase_url = 'http://evil'\napi_key = '$(rm -rf /)'");
    assert!(untrusted.loaded().settings.providers.is_empty());
    let key = |text: &str| {
        let sources = sources().env("MY_KEY", "sk-7").user(&format!("openai.api_key = '{text}'"));
        sources.loaded().settings.providers.get("openai").and_then(|own| own.api_key.clone())
    };
    let cases = [
        ("sk-1", Some(Key::literal("sk-1"))),
        ("$MY_KEY", Some(Key::literal("sk-7"))),
        ("${MY_KEY}", Some(Key::literal("sk-7"))),
        ("$NOT_SET", Some(Key::Missing { variable: "NOT_SET".to_owned() })),
        ("$( pass co )", Some(Key::Command("pass co".to_owned()))),
        ("", None),
    ];
    for (text, expected) in cases {
        assert!(key(text) == expected, "{text}");
    }
    for text in ["$", "$1", "$(", "$a-b"] {
        assert!(load(&sources().user(&format!("openai.api_key = '{text}'"))).is_err(), "{text}");
    }
}

#[test]
fn a_servers_own_variable_has_many_forms() {
    let cases = [
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("10.0.0.7:8080", "http://10.0.0.7:8080"),
        (":11500", "http://127.0.0.1:11500"),
        ("http://h:1/", "http://h:1"),
        ("https://h", "https://h"),
    ];
    for (text, expected) in cases {
        let loaded = sources().env("OLLAMA_HOST", text).loaded();
        let own = loaded.settings.providers.get("ollama").and_then(|own| own.base_url.clone());
        assert_eq!(own.as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn thinking_is_a_level_or_a_number() {
    for (text, expected) in [("high", ThinkingLevel::High), ("4096", ThinkingLevel::Tokens(4_096))] {
        assert_eq!(sources().env("CO_THINKING", text).loaded().settings.thinking, expected);
    }
    assert_eq!(sources().user("thinking = 2000").loaded().settings.thinking, ThinkingLevel::Tokens(2_000));
}

#[test]
fn the_table_is_sound() {
    let names: Vec<&str> = settings::names().collect();
    let env: Vec<&str> = settings::env_names().collect();
    for (what, all) in [("names", &names), ("environment", &env)] {
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len(), "{what} are distinct");
    }
    for name in &names {
        let section = format!("{name}.");
        assert!(!names.iter().any(|other| other.starts_with(&section)), "{name} is a setting and a section");
    }
    for row in SETTINGS {
        assert!(!row.env.is_empty() || row.kind.is_section(), "{}", row.key);
    }
    for doc in SETTINGS.iter().chain(INERT).map(|row| row.doc) {
        assert!(!doc.is_empty() && !doc.ends_with('.'), "{doc}");
    }
}

#[test]
fn secrets_are_never_shown() {
    let loaded = sources()
        .user("api_key = 'hunter2'\n[gemini]\napi_key = 'hunter2'")
        .env("OPENAI_API_KEY", "hunter2")
        .env("SLACK_BOT_TOKEN", "hunter2")
        .loaded();
    let shown =
        [describe(&loaded), loaded.warnings.iter().map(ToString::to_string).collect()].concat().join("\n");
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(effect(&loaded, "api_key"), "set (hidden) /home/u/.config/co/config.toml:1");
    assert_eq!(effect(&loaded, "openai.api_key"), "set (hidden) environment OPENAI_API_KEY");
    assert_eq!(
        loaded.settings.endpoint.api_key.as_ref().and_then(Key::secret).map(Secret::expose),
        Some("hunter2")
    );
}

#[test]
fn files_are_read_where_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let env = || BTreeMap::from([("HOME".to_owned(), at("home").to_str().unwrap().to_owned())]);
    let read = || read_sources(&at("ws"), env(), Vec::new());
    let texts = |sources: Sources| [sources.user, sources.project].map(|file| file.map(|file| file.text));
    let write = |name: &str, bytes: &[u8]| {
        std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        std::fs::write(at(name), bytes).unwrap();
    };
    assert_eq!(read().map(texts).ok(), Some([None, None]));
    write("home/.config/co/config.toml", b"u");
    write("ws/.co/config.toml", b"p");
    assert_eq!(read().map(texts).ok(), Some([Some("u".to_owned()), Some("p".to_owned())]));
    write("home/.config/co/config.toml", b"\xFF");
    std::fs::remove_file(at("ws/.co/config.toml")).unwrap();
    std::fs::create_dir(at("ws/.co/config.toml")).unwrap();
    let errors = read().err().unwrap_or_default();
    let shown = lines(&errors);
    assert_eq!(errors.len(), 1, "{shown}");
    assert!(
        shown.contains(&format!("{} cannot be read: ", at("home/.config/co/config.toml").display())),
        "{shown}"
    );
    write("home/.config/co/config.toml", b"");
    let unread = read().map(|sources| sources.unread).unwrap_or_default();
    assert_eq!(unread, [".co/config.toml: it is not a regular file"]);
    std::fs::remove_dir_all(at("ws")).unwrap();
    write("ws/.co", b"a file");
    write("home/.config/co/config.toml", b"");
    assert_eq!(read().map(texts).ok(), Some([Some(String::new()), None]));
}

proptest! {
    #[test]
    fn no_file_can_break_the_loader_or_the_terminal(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "theme", "shell", ".", "timeout", "=", "[", "]", "[[", "]]", "{", "}", "\n", "'x'", "\"\\u001b\"", "1", "true",
            ",", "é", "\u{202e}", "#", "mcp_servers", "1.5", "1979-05-27", "\"\"", "web_policy", " ",
        ]), 0..14),
    ) {
        let text = parts.concat();
        let shown = match load(&sources().user(&text).project(&text)) {
            Ok(loaded) => [describe(&loaded), loaded.warnings.iter().map(ToString::to_string).collect()].concat(),
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        };
        for line in shown {
            prop_assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
        }
    }
}
