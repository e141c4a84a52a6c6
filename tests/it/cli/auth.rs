//! `co auth` by the real binary: keys in and out of their file, what counts, what a check says; and no key anywhere else.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use kit::replay::server::Page;
use memchr::memmem;

use crate::co::{Co, RunOutput, Service};

const KEY: &str = "sk-hunter2-0123456789-abcd";
const PLACE: &str = "[HOME]/.local/share/co/auth/keys.toml";

fn page(path: &str, status: u16, body: &str) -> Page {
    Page { path: path.to_owned(), status, body: body.to_owned() }
}

/// Nothing that was said holds the key, and no file but the one it is kept in.
#[track_caller]
fn no_key_in(co: &Co, ran: &RunOutput) {
    assert!(!ran.out.contains("hunter2") && !ran.err.contains("hunter2"), "{ran:?}");
    let mut folders = vec![co.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() && !path.ends_with("auth/keys.toml") && !path.ends_with("co/config.toml")
            {
                let bytes = std::fs::read(&path).unwrap();
                assert!(memmem::find(&bytes, b"hunter2").is_none(), "{}", path.display());
            }
        }
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn keys_are_kept_listed_and_removed() {
    let co = Co::new();
    let ran = co.piped(&format!("{KEY}\n"), &["auth", "add", "groq"]);
    no_key_in(&co, &ran);
    ran.check(
        0,
        &format!("Saved the key for groq (…abcd) in {PLACE}, which only you can read.\n"),
        "co: `co auth test groq` tests it\n",
    );
    let file = co.data().join("auth/keys.toml");
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert!(std::fs::read_to_string(&file).unwrap().contains(KEY));

    let ran = co.run(&["auth", "list"]);
    no_key_in(&co, &ran);
    assert!(ran.out.contains("groq     …abcd  in use  the key file\n"), "{}", ran.out);
    assert!(ran.out.contains("Without a key: anthropic, openai, gemini, openrouter, mistral"), "{}", ran.out);

    let both = Co::new().env("GROQ_API_KEY", KEY).env("CO_DATA_DIR", co.data().display().to_string());
    let ran = both.run(&["auth", "list", "--json"]);
    let rows = ran.json();
    assert_eq!(
        (rows[0]["from"].as_str(), rows[0]["counts"].as_bool()),
        (Some("environment GROQ_API_KEY"), Some(true))
    );
    assert_eq!(rows[1]["counts"].as_bool(), Some(false));
    let ran = both.piped(KEY, &["auth", "add", "GROQ"]);
    assert!(ran.out.contains(", replacing the old one "), "{}", ran.out);
    assert!(
        ran.err.starts_with("co: the key from environment GROQ_API_KEY takes precedence\n"),
        "{}",
        ran.err
    );

    co.run(&["auth", "remove", "groq"]).check(0, &format!("Removed the key for groq from {PLACE}.\n"), "");
    co.run(&["auth", "remove", "groq"]).check(
        1,
        "",
        &format!(
            "co: error: there is no key for groq in {PLACE}\n    `co auth list` shows where keys come from\n"
        ),
    );
    assert!(!std::fs::read_to_string(&file).unwrap().contains("hunter2"));
}

#[test]
fn misuse_says_what_to_do() {
    let co = Co::new();
    for (args, stdin, code, said) in [
        (
            &["auth", "add", "groqq"][..],
            KEY,
            2,
            "there is no provider `groqq` (did you mean `groq`?); `co auth list` lists them\n",
        ),
        (&["auth", "add", "groq", KEY], "", 2, "a key on the command line is visible to other programs"),
        (&["auth", "add", "groq"], "", 2, "no key was entered, so nothing was changed\n"),
        (&["auth", "add", "groq"], "two hunter2", 2, "the input contains white space"),
        (&["auth", "add"], KEY, 2, "for which service is the key?\n"),
        (&["auth", "add", "offline"], KEY, 2, "`offline` is not a known service\n"),
        (&["auth", "test"], "", 1, "no service is set up, so there is nothing to test\n"),
        (&["auth", "test", "groq"], "", 3, "one service cannot be used\n"),
    ] {
        let ran = co.piped(stdin, args);
        no_key_in(&co, &ran);
        assert_eq!((ran.code, ran.err.contains(said)), (Some(code), true), "{args:?}: {ran:?}");
    }
    assert!(!co.data().join("auth/keys.toml").exists());
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let co = Co::new();
    assert_eq!(co.piped(KEY, &["auth", "add", "anthropic"]).code, Some(0));
    let file = co.data().join("auth/keys.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    for args in [&["auth", "list"][..], &["auth", "add", "groq"], &["-p", "hi"], &["status"]] {
        let ran = co.piped("x-1", args);
        no_key_in(&co, &ran);
        let said = format!(
            "other users can read or change {PLACE} (mode 644), so its keys are not used; run `chmod 600 {PLACE}`"
        );
        assert!(ran.code != Some(0) && ran.err.contains(&said), "{args:?}: {ran:?}");
    }
}

#[test]
fn a_check_says_what_is_wrong_in_one_sentence() {
    let echo = format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}");
    let denied = "{\"error\": {\"message\": \"You may not list models\"}}";
    let cases = [
        (
            page("/v1/models", 200, "{\"data\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}"),
            0,
            "is valid; it has 2 models.\n",
        ),
        (
            page("/v1/models", 401, &echo),
            3,
            "work: work rejected this key: Incorrect API key provided: [redacted] (401); copy the whole key \
             again, or create a new one.\n",
        ),
        (
            page("/v1/models", 403, denied),
            3,
            "work: work accepts this key but does not permit this: You may not list models (403); check the key's permissions there.\n",
        ),
        (
            page("/v1/models", 200, "<html>Sign in</html>"),
            3,
            "/v1 does not look like work: a web page answered instead of the API",
        ),
        (page("/v1/models", 404, "nothing here"), 3, "No such service at http://127.0.0.1:"),
        (page("/v1/models", 503, "busy"), 3, "work has a problem, so the key could not be checked: "),
    ];
    for (page, code, said) in cases {
        let service = Service::serving("", vec![page]);
        let co = Co::new().env("CO_MODEL", "work/m").file(
            ".config/co/config.toml",
            format!("[providers.work]\nbase_url = \"{}/v1\"\n", service.server.url()),
        );
        assert_eq!(co.piped(KEY, &["auth", "add", "work"]).code, Some(0));
        let ran = co.run(&["auth", "test", "work"]);
        no_key_in(&co, &ran);
        assert_eq!((ran.code, ran.out.contains(said)), (Some(code), true), "{said}: {ran:?}");
        assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = [
        (format!("http://{closed}/v1"), "groq cannot be reached: could not reach 127.0.0.1:"),
        (
            "http://no-such-host.invalid/v1".to_owned(),
            "groq cannot be reached: could not reach no-such-host.invalid: ",
        ),
        (format!("https://{closed}"), "groq cannot be reached: "),
    ];
    for (url, said) in unreachable {
        let co = Co::new().env("GROQ_API_KEY", KEY);
        let ran = co.run(&["auth", "test", "groq", "--set", &format!("providers.groq.base_url={url}")]);
        no_key_in(&co, &ran);
        assert_eq!((ran.code, ran.out.contains(said)), (Some(3), true), "{ran:?}");
        let warned =
            ran.err.contains("The key for groq would be sent unencrypted to http://no-such-host.invalid");
        assert_eq!(warned, url.contains("invalid"), "{ran:?}");
    }
}

const ANSWER: &str = "reply\n  text Hello.\n";

/// A key reaches its service by every way that there is, and nothing else.
#[test]
fn keys_reach_their_service_from_everywhere() {
    let service = Service::new(&ANSWER.repeat(4));
    let url = service.server.chat_url();
    let section = |key: &str| {
        format!(
            "model = \"work/replay\"\n[providers.work]\nbase_url = \"{url}\"\napi_key = '{key}'\n[providers.work.headers]\nx-team = '{KEY}'\n"
        )
    };
    let settings = ".config/co/config.toml";
    let ran_once = |co: &Co| {
        let ran = co.run(&["-p", "hi"]);
        no_key_in(co, &ran);
        ran.check(0, "Hello.\n", "");
    };
    ran_once(&Co::new().file(settings, section(KEY)));
    ran_once(&Co::new().file(settings, section("${WORK_KEY}")).env("WORK_KEY", KEY));
    let script = format!("echo noise >&2; echo {KEY}; touch ran");
    ran_once(&Co::new().file(settings, section(&format!("$({script})"))));
    let stored = Co::new().file(settings, section(""));
    assert_eq!(stored.piped(KEY, &["auth", "add", "work"]).code, Some(0));
    ran_once(&stored);
    for request in service.server.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        assert_eq!(request.header("x-team"), Some(KEY));
    }
    service.is_content();
}

#[test]
fn a_key_command_is_run_late_and_tells_why_it_fails() {
    let section = "model = \"work/m\"\n[providers.work]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
                   api_key = '$(touch ran; echo sk-hunter2-secret; echo the vault is locked >&2; exit 4)'\n";
    let co = Co::new().file(".config/co/config.toml", section);
    assert_eq!(co.run(&["status"]).code, Some(0));
    assert_eq!(co.run(&["config"]).code, Some(0));
    assert_eq!(co.read("ran"), None, "nothing needed the key");
    let ran = co.run(&["-p", "hi", "--set", "http_retries=0"]);
    no_key_in(&co, &ran);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("the key command failed with exit status: 4: the vault is locked"), "{ran:?}");
    assert_eq!(co.read("ran").as_deref(), Some(""));
    let project = Co::new().file("work/.co/config.toml", section).trusting();
    let ran = project.run(&["status"]);
    assert!(
        ran.err.contains("commands that print a key are allowed in your own settings file only"),
        "{ran:?}"
    );
    assert_eq!(project.read("ran"), None);
}

#[test]
fn the_key_of_a_service_is_named_when_it_is_missing() {
    for (provider, said) in [
        ("groq", "groq needs a key: `co auth add groq` saves one, or set GROQ_API_KEY in the environment\n"),
        ("azure-openai", "azure-openai needs its address, e.g. --set base_url=http://localhost:8000/v1"),
        ("opnai", "there is no provider `opnai` (did you mean `openai`?)"),
    ] {
        let ran = Co::new().run(&["-p", "hi", "--set", &format!("provider={provider}")]);
        assert_eq!((ran.code, ran.err.contains(said)), (Some(3), true), "{ran:?}");
    }
    let settings = "[providers.a]\npreset = 'opnai'\n[providers.b]\nquirks.max_tokens = 'some'\n";
    let ran = Co::new().file(".config/co/config.toml", settings).run(&["status"]);
    let told: Vec<&str> = ran.err.lines().collect();
    let expected = [
        "co: `providers.a.preset` is `opnai`, which is not a preset (did you mean `openai`?).",
        "co: `providers.b.quirks`: `some` is not a value of the quirk `max_tokens`; it takes max_tokens, max_completion_tokens.",
    ];
    assert_eq!((ran.code, told), (Some(0), expected.to_vec()));
    let ran = Co::new().env("GROQ_API_KEY", KEY).run(&["-p", "hi"]);
    let said = "Groq is set up, but no model is set: model = \"groq/NAME\"; `co models groq` lists them.";
    assert!(ran.code == Some(0) && ran.err.contains(said), "{ran:?}");
}
