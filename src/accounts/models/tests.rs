//! Settings and keys, and the model that answers with them.

use std::sync::Arc;

use super::*;
use crate::accounts::KeyFile;
use crate::accounts::keys::KeyFileError;
use crate::accounts::services::HttpService;
use crate::config::{Codec, Key};
use crate::frontend::protocol::Consent;
use crate::provider::catalog::PRESETS;
use crate::stdx::clock::SystemClock;
use kit::replay::server::{Page, Plan, ReplayServer};

fn models(change: impl FnOnce(&mut Settings)) -> Result<Models, ModelError> {
    let mut settings = Settings { discover_local: true, ..Settings::default() };
    change(&mut settings);
    Models::choose(&settings, Arc::new(SystemClock), Pace::Instant)
}

fn key(text: &str) -> Option<Key> {
    Some(Key::literal(text))
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn no_key(provider: &str, env: &'static str) -> ModelError {
    ModelError::NoKey { provider: provider.to_owned(), env: Some(env) }
}

fn no_address() -> ModelError {
    ModelError::NoAddress { provider: "openai-compatible".to_owned() }
}

type Change = fn(&mut Settings);

const READY: &[(Change, &str)] = &[
    (|_| {}, "offline/tour"),
    (|s| s.own("anthropic").api_key = key("a"), "anthropic/claude-sonnet-5"),
    (|s| s.own("openai").api_key = key("o"), "openai/gpt-5"),
    (
        |s| {
            s.own("openai").api_key = key("o");
            s.own("anthropic").api_key = key("a");
        },
        "anthropic/claude-sonnet-5",
    ),
    (|s| s.own("openai").base_url = text("http://127.0.0.1:1/v1"), "openai/gpt-5"),
    (
        |s| {
            s.own("anthropic").api_key = key("a");
            s.model = text("claude-x");
        },
        "anthropic/claude-x",
    ),
    (
        |s| {
            s.own("anthropic").api_key = key("a");
            s.model = text("offline");
        },
        "offline/tour",
    ),
    (|s| s.model = text("ollama/qwen3:8b"), "ollama/qwen3:8b"),
    // A model name alone is for a server that may be found; offline has only one model.
    (|s| s.model = text("qwen3"), "offline/tour"),
    (
        |s| {
            s.provider = text("openai-compatible");
            s.endpoint.base_url = text("http://127.0.0.1:1/v1");
            s.model = text("meta-llama/llama-3");
        },
        "openai-compatible/meta-llama/llama-3",
    ),
    (|s| s.own("gemini").api_key = key("g"), "gemini/gemini-2.5-flash"),
    (
        |s| {
            s.own("groq").api_key = key("g");
            s.model = text("groq/openai/gpt-oss-120b");
        },
        "groq/openai/gpt-oss-120b",
    ),
    (
        |s| {
            s.own("groq").api_key = key("g");
            s.provider = text("groq");
            s.model = text("openai/gpt-oss-120b");
        },
        "groq/openai/gpt-oss-120b",
    ),
    // No model of Groq is named, so its key alone is not used.
    (|s| s.own("groq").api_key = key("g"), "offline/tour"),
    (
        |s| {
            s.own("groq").api_key = key("g");
            s.model = text("llama-x");
        },
        "groq/llama-x",
    ),
    (
        |s| {
            s.own("openrouter").api_key = key("r");
            s.provider = text("openrouter");
        },
        "openrouter/openrouter/auto",
    ),
    (
        |s| {
            s.own("openrouter").api_key = key("r");
            s.provider = text("openrouter");
            s.model = text("openrouter/auto");
        },
        "openrouter/openrouter/auto",
    ),
    // A user's own section is chosen automatically once it names a model.
    (
        |s| {
            s.own("work").base_url = text("http://127.0.0.1:1");
            s.own("work").models = vec!["big".to_owned(), "small".to_owned()];
        },
        "work/big",
    ),
    (
        |s| {
            s.own("work").preset = text("openai");
            s.own("work").api_key = key("w");
        },
        "work/gpt-5",
    ),
    (
        |s| {
            s.provider = text("ollama");
            s.own("ollama").model = text("qwen3");
        },
        "ollama/qwen3",
    ),
    (
        |s| {
            s.provider = text("anthropic");
            s.own("anthropic").api_key = key("a");
            s.own("openai").api_key = key("o");
            s.model = text("openai/gpt-4.1");
        },
        "openai/gpt-4.1",
    ),
];

/// Each preset works by its name once it has all it needs.
#[test]
fn every_preset_answers_by_its_name() {
    for preset in PRESETS {
        let made = models(|s| {
            s.provider = text(preset.name);
            s.model = text("some-model");
            s.own(preset.name).api_key = key("k");
            if preset.base_url.is_none() {
                s.own(preset.name).base_url = text("https://mine.example");
            }
        });
        let choice = made.map(|models| models.current()).map(|one| format!("{}/{}", one.provider, one.model));
        assert_eq!(choice, Ok(format!("{}/some-model", preset.name)));
        let section = models(|s| {
            s.model = text("mine/some-model");
            s.own("mine").preset = text(preset.name);
            s.own("mine").api_key = key("k");
            s.own("mine").base_url = text("https://mine.example");
        });
        assert_eq!(section.map(|models| models.current().provider).as_deref(), Ok("mine"), "{}", preset.name);
    }
}

/// How a section changes its preset.
#[test]
fn a_section_changes_its_preset() {
    let target = |change: Change, name: &str| {
        let mut settings = Settings::default();
        change(&mut settings);
        let target = HttpService::by_name(name, &settings, &Keys::of(&settings)).unwrap();
        (target.codec.title(), target.base_url)
    };
    let cases: &[(Change, &str, (&str, &str))] = &[
        (|_| {}, "openai", ("OpenAI Responses", "https://api.openai.com/v1")),
        (
            |s| s.own("openai").wire = Some(Codec::OpenAiChat),
            "openai",
            ("Chat Completions", "https://api.openai.com/v1"),
        ),
        (
            |s| s.own("openai").base_url = text("http://127.0.0.1:9/v1"),
            "openai",
            ("Chat Completions", "http://127.0.0.1:9/v1"),
        ),
        (
            |s| s.own("azure-openai").base_url = text("https://me.openai.azure.com"),
            "azure-openai",
            ("Chat Completions", "https://me.openai.azure.com/openai/v1"),
        ),
        (|_| {}, "ollama", ("Ollama", "http://127.0.0.1:11434")),
        (
            |s| s.own("ollama").base_url = text("http://10.0.0.1:11434/v1"),
            "ollama",
            ("Ollama", "http://10.0.0.1:11434"),
        ),
        (
            |s| s.own("ollama").wire = Some(Codec::OpenAiChat),
            "ollama",
            ("Chat Completions", "http://127.0.0.1:11434/v1"),
        ),
        (
            |s| s.own("vllm").base_url = text("http://gpu:8000"),
            "vllm",
            ("Chat Completions", "http://gpu:8000/v1"),
        ),
        (
            |s| s.own("proxy").base_url = text("https://proxy.example/llm"),
            "proxy",
            ("Chat Completions", "https://proxy.example/llm"),
        ),
        (
            |s| {
                s.own("proxy").base_url = text("https://proxy.example/llm");
                s.own("proxy").wire = Some(Codec::Anthropic);
            },
            "proxy",
            ("Anthropic Messages", "https://proxy.example/llm"),
        ),
    ];
    for (at, (change, name, expected)) in cases.iter().enumerate() {
        let (wire, address) = target(*change, name);
        assert_eq!((wire, address.as_str()), *expected, "{at}");
    }
}

#[test]
fn a_key_in_the_open_is_warned_about() {
    let warning = |url: &'static str, with_key: bool| {
        let made = models(|s| {
            s.provider = text("work");
            s.model = text("m");
            s.own("work").base_url = text(url);
            s.own("work").api_key = key("sk-hunter2").filter(|_| with_key);
        });
        made.unwrap().warning()
    };
    for (url, with_key, warned) in [
        ("http://models.example/v1", true, true),
        ("http://models.example/v1", false, false),
        ("https://models.example/v1", true, false),
        ("http://127.0.0.1:9/v1", true, false),
    ] {
        let text = warning(url, with_key);
        assert_eq!(text.is_some(), warned, "{url}");
        assert!(text.is_none_or(|text| text.contains("unencrypted") && !text.contains("hunter2")));
    }
}

#[test]
fn stored_keys_count_after_those_of_the_settings() {
    let dir = tempfile::tempdir().unwrap();
    let file = KeyFile::of(dir.path());
    file.put("anthropic", &crate::config::Secret::new("from-file".to_owned())).unwrap();
    let counts = |set: Option<Key>| {
        let mut settings = Settings { data_dir: dir.path().to_path_buf(), ..Settings::default() };
        settings.own("anthropic").api_key = set;
        let target = HttpService::by_name("anthropic", &settings, &Keys::of(&settings)).unwrap();
        target.key.and_then(|key| key.secret().map(|key| key.expose().to_owned()))
    };
    assert_eq!(counts(None).as_deref(), Some("from-file"));
    assert_eq!(counts(key("from-settings")).as_deref(), Some("from-settings"));
    let chosen = |settings: &Settings| {
        Models::choose(settings, Arc::new(SystemClock), Pace::Instant).map(|models| models.current().provider)
    };
    let settings = Settings { data_dir: dir.path().to_path_buf(), ..Settings::default() };
    assert_eq!(chosen(&settings).as_deref(), Ok("anthropic"));
    std::fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(matches!(chosen(&settings), Err(ModelError::KeyFile(KeyFileError::Exposed { .. }))));
}

#[test]
fn the_first_that_is_ready_answers() {
    for (at, (change, expected)) in READY.iter().enumerate() {
        let choice = models(change).map(|models| models.current());
        assert_eq!(
            choice.map(|one| format!("{}/{}", one.provider, one.model)).as_deref(),
            Ok(*expected),
            "{at}"
        );
    }
}

#[test]
fn what_lacks_something_is_refused() {
    let cases: &[(Change, ModelError)] = &[
        (|s| s.provider = text("anthropic"), no_key("anthropic", "ANTHROPIC_API_KEY")),
        (|s| s.provider = text("openai-compatible"), no_address()),
        (|s| s.endpoint.api_key = key("k"), ModelError::KeyForNobody),
        (
            |s| s.provider = text("anthropc"),
            ModelError::NoProvider { provider: "anthropc".to_owned(), nearest: text("anthropic") },
        ),
        (
            |s| {
                s.provider = text("work");
                s.own("work").preset = text("opnai");
            },
            ModelError::NoPreset {
                provider: "work".to_owned(),
                preset: "opnai".to_owned(),
                nearest: text("openai"),
            },
        ),
        (
            |s| {
                s.provider = text("groq");
                s.own("groq").api_key = Some(Key::Missing { variable: "X".to_owned() });
            },
            ModelError::NoVariable { provider: "groq".to_owned(), variable: "X".to_owned() },
        ),
        (|s| s.provider = text("groq"), no_key("groq", "GROQ_API_KEY")),
        (
            |s| {
                s.provider = text("groq");
                s.own("groq").api_key = key("k");
            },
            ModelError::NoModel { provider: "groq".to_owned() },
        ),
        (
            |s| s.provider = text("azure-openai"),
            ModelError::NoAddress { provider: "azure-openai".to_owned() },
        ),
        (|s| s.model = text("ollama/"), ModelError::NoModel { provider: "ollama".to_owned() }),
        (
            |s| s.endpoint.base_url = text("http://127.0.0.1:1/v1"),
            ModelError::NoModel { provider: "openai-compatible".to_owned() },
        ),
    ];
    for (at, (change, expected)) in cases.iter().enumerate() {
        assert_eq!(models(change).map(drop).as_ref(), Err(expected), "{at}");
    }
}

#[test]
fn switching_is_at_once_and_takes_no_key_along() {
    let models = models(|s| {
        s.provider = text("anthropic");
        s.endpoint.api_key = key("for anthropic");
        s.endpoint.base_url = text("http://127.0.0.1:1");
    })
    .expect("a key and an address");
    let active = models.active();
    let cases: &[(&str, Result<&str, ModelError>)] = &[
        ("claude-y", Ok("anthropic/claude-y")),
        ("offline", Ok("offline/tour")),
        ("openai/gpt-5", Err(no_key("openai", "OPENAI_API_KEY"))),
        ("openai-compatible/x", Err(no_address())),
        ("llamacpp/m", Ok("llamacpp/m")),
        ("anthropic", Ok("anthropic/claude-sonnet-5")),
    ];
    for (name, expected) in cases {
        let switched = models.switch(name).map(|one| format!("{}/{}", one.provider, one.model));
        assert_eq!(switched.as_deref(), expected.as_ref().map(|name| *name), "{name}");
    }
    assert_eq!(active.borrow().name, "claude-sonnet-5");
    let lines: Vec<String> = models.lines(&[]).into_iter().map(|line| line.name).collect();
    assert_eq!(lines[..2], ["anthropic/claude-sonnet-5", "offline/tour"], "in use, then used last");
    assert!(lines.contains(&"anthropic/claude-opus-4-5".to_owned()), "the catalogue: {lines:?}");
    assert!(!models.may_discover(), "the person has chosen");
}

/// Returns the data entered for a service at this address.
fn entered(service: &str, base_url: Option<String>, unencrypted: Consent) -> Credentials {
    let key = Some(crate::config::Secret::new("sk-hunter2".to_owned()));
    Credentials { service: service.to_owned(), base_url, key, unencrypted }
}

fn page(path: &str, body: &str) -> Page {
    Page { path: path.to_owned(), status: 200, body: body.to_owned() }
}

#[tokio::test]
async fn a_key_is_not_sent_in_the_open_unasked() {
    let dir = tempfile::tempdir().unwrap();
    // Everything sent to other machines arrives here.
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let models = models(|s| {
        s.data_dir = dir.path().to_path_buf();
        s.proxy = Some(crate::config::Secret::new(format!("http://{}", proxy.local_addr().unwrap())));
    })
    .unwrap();
    let url = text("http://models.test/v1?key=hunter2");
    let tried = models.set_up(entered("vllm", url.clone(), Consent::NotAsked), None).await;
    let Err(LoginError::Unencrypted(words)) = tried else { panic!("{tried:?}") };
    assert!(words.contains("unencrypted") && !words.contains("hunter2"), "{words}");
    tokio::select! {
        tried = models.set_up(entered("vllm", url, Consent::Given), None) => panic!("{tried:?}"),
        connected = proxy.accept() => drop(connected.unwrap()),
    }
}

#[tokio::test]
async fn a_found_server_gets_the_key_that_is_set_up() {
    let dir = tempfile::tempdir().unwrap();
    let list = r#"{"data": [{"id": "qwen", "type": "llm"}]}"#;
    let pages = vec![page("/own/api/v0/models", list)];
    let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
    let address = format!("{}/own/v1", server.url());
    let models = models(|s| {
        s.data_dir = dir.path().to_path_buf();
        s.own("lmstudio").base_url = Some(address.clone());
    })
    .unwrap();
    let places = services::places(&models.context().settings);
    models.discover_at(places).await;
    let of = |models: &Models| match models.service("lmstudio").unwrap() {
        Service::Http(target) => (target.base_url.clone(), target.key.is_some(), target.was_found),
        Service::Offline => panic!("it is no server"),
    };
    assert_eq!(of(&models), (address.clone(), false, true));
    let offered = models.set_up(entered("lmstudio", None, Consent::NotAsked), None).await;
    assert_eq!(offered.unwrap(), ["qwen"]);
    assert_eq!(of(&models), (address, true, false));
}

#[tokio::test]
async fn what_is_learned_of_a_model_counts_for_a_fallback_too() {
    let list = r#"{"data": [{"id": "qwen", "max_model_len": 32768}]}"#;
    let pages = vec![page("/v1/models", list)];
    let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
    let models = models(|s| {
        s.model = text("vllm/qwen");
        s.fallback_model = text("vllm/qwen");
        s.own("vllm").base_url = Some(server.chat_url());
    })
    .unwrap();
    assert_eq!(models.fallback().unwrap().profile.window, None);
    models.learn().await;
    assert_eq!(models.fallback().unwrap().profile.window, Some(32_768));
}

#[test]
fn a_fallback_in_the_open_is_warned_about() {
    let trouble = |url: &str| {
        let made = models(|s| {
            s.fallback_model = text("vllm/m");
            s.own("vllm").base_url = text(url);
            s.own("vllm").api_key = key("sk-hunter2");
        });
        made.unwrap().trouble().pop()
    };
    assert!(trouble("http://models.test/v1").unwrap().contains("unencrypted"));
    assert_eq!(trouble("https://models.test/v1"), None);
}

#[tokio::test]
async fn a_name_is_checked_with_its_service() {
    let list = r#"{"data": [{"id": "qwen3-8b-20250401"}, {"id": "gpt-5", "max_model_len": 32768}]}"#;
    let server =
        ReplayServer::start(Plan { pages: vec![page("/v1/models", list)], ..Plan::default() }).await.unwrap();
    let models = models(|s| {
        s.model = text("vllm/mine");
        s.own("vllm").base_url = Some(server.chat_url());
        s.own("litellm").base_url = text("http://127.0.0.1:9/v1");
        s.own("openai").api_key = key("k");
    })
    .unwrap();
    assert!(models.knows("openai/gpt-5") && models.knows("vllm") && !models.knows("gpt-5"));
    assert_eq!(models.check("gpt-5").await, Ok(ModelCheck::Found));
    assert!(models.knows("gpt-5"), "its list is kept");
    assert_eq!(models.check("vllm/qwen3-8b").await, Ok(ModelCheck::Found), "without its date");
    assert_eq!(models.check("gpt-5:free").await, Ok(ModelCheck::Found), "a variant");
    let wrong = |provider: &str, model: &str, nearest: &str| {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Err(ModelError::NoSuchModel { provider, model, nearest: text(nearest) })
    };
    assert_eq!(models.check("vllm/gpt-6").await, wrong("vllm", "gpt-6", "vllm/gpt-5"));
    assert_eq!(models.check("gpt-5-mini").await, wrong("vllm", "gpt-5-mini", "openai/gpt-5-mini"));
    assert_eq!(models.check("offline/tuor").await, wrong("offline", "tuor", "offline/tour"));
    assert!(
        matches!(models.check("litellm/x").await, Ok(ModelCheck::Unchecked(Some(_)))),
        "no server to ask"
    );
    assert!(matches!(models.check("grok/x").await, Ok(ModelCheck::Unchecked(_)) | Err(_)));
}

#[tokio::test]
async fn lists_come_in_beside_what_is_known() {
    let list = r#"{"data": [{"id": "mine"}, {"id": "qwen", "max_model_len": 32768}]}"#;
    let server =
        ReplayServer::start(Plan { pages: vec![page("/v1/models", list)], ..Plan::default() }).await.unwrap();
    let models = models(|s| {
        s.discover_local = false;
        s.model = text("vllm/mine");
        s.own("vllm").base_url = Some(server.chat_url());
        s.own("litellm").base_url = text("http://127.0.0.1:9/v1");
    })
    .unwrap();
    let names = |used: &[&str]| {
        let used: Vec<String> = used.iter().map(|&name| name.to_owned()).collect();
        models.lines(&used).into_iter().map(|line| line.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["vllm/mine", "offline/tour"]);
    let reports = Arc::new(Mutex::new(Vec::new()));
    let report = |failed: Vec<String>, pending| {
        reports.lock().push((failed.len(), pending));
        let ready: futures::future::BoxFuture<'static, ()> = Box::pin(std::future::ready(()));
        ready
    };
    models.ask_lists(report).await;
    let reports = reports.lock().clone();
    assert_eq!((reports.first(), reports.last()), (Some(&(0, 2)), Some(&(1, 0))), "{reports:?}");
    assert_eq!(names(&[]), ["vllm/mine", "vllm/qwen", "offline/tour"]);
    assert_eq!(names(&["offline/tour", "gone/x"]), ["vllm/mine", "offline/tour", "vllm/qwen"], "used before");
    let used = ["vllm/old", "vllm/qwen-2026-01-31", "offline/tour"];
    let expected = ["vllm/mine", "vllm/old", "offline/tour", "vllm/qwen"];
    assert_eq!(names(&used), expected, "used before and not listed; listed under a shorter name");
    assert_eq!(models.lines(&[])[1].note, "33k");
}

#[tokio::test]
async fn a_wrong_key_is_replaced_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pages = vec![page("/v1/models", r#"{"data": [{"id": "m"}]}"#)];
    let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
    let models = models(|s| {
        s.data_dir = dir.path().to_path_buf();
        s.model = text("vllm/m");
        s.own("vllm").base_url = Some(server.chat_url());
        s.own("vllm").api_key = key("wrong");
    })
    .unwrap();
    assert!(models.has_set_key("vllm"));
    let offers = models.with_found(login::offers);
    let offer = offers.iter().find(|offer| offer.name == "vllm").unwrap();
    assert_eq!(offer.key, crate::frontend::protocol::LoginNeed::Optional, "another can be entered");
    models.set_up(entered("vllm", None, Consent::NotAsked), None).await.unwrap();
    let Service::Http(target) = models.service("vllm").unwrap() else { panic!("it is a server") };
    let key = target.key.as_ref().and_then(Key::secret).map(|key| key.expose().to_owned());
    assert_eq!(key.as_deref(), Some("sk-hunter2"), "the entered key counts");
    models.set_thinking(ThinkingLevel::High);
    assert_eq!(
        (models.active().borrow().thinking, models.thinking()),
        (ThinkingLevel::High, ThinkingLevel::High)
    );
}
