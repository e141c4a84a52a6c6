//! Settings and keys, and who answers then.

use std::sync::Arc;

use super::*;
use crate::config::Secret;
use crate::stdx::clock::SystemClock;

fn models(change: impl FnOnce(&mut Settings)) -> Result<Models, ModelError> {
    let mut settings = Settings { discover_local: true, ..Settings::default() };
    change(&mut settings);
    Models::choose(&settings, Arc::new(SystemClock), Pace::Instant)
}

fn key(text: &str) -> Option<Secret> {
    Some(Secret::new(text.to_owned()))
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

type Change = fn(&mut Settings);

const READY: &[(Change, &str)] = &[
    (|_| {}, "offline/tour"),
    (|s| s.anthropic.api_key = key("a"), "anthropic/claude-sonnet-5"),
    (|s| s.openai.api_key = key("o"), "openai/gpt-5"),
    (
        |s| {
            s.openai.api_key = key("o");
            s.anthropic.api_key = key("a");
        },
        "anthropic/claude-sonnet-5",
    ),
    (|s| s.openai.base_url = text("http://127.0.0.1:1/v1"), "openai/gpt-5"),
    (
        |s| {
            s.anthropic.api_key = key("a");
            s.model = text("claude-x");
        },
        "anthropic/claude-x",
    ),
    (
        |s| {
            s.anthropic.api_key = key("a");
            s.model = text("offline");
        },
        "offline/tour",
    ),
    (|s| s.model = text("ollama/qwen3:8b"), "ollama/qwen3:8b"),
    // A bare name is for the server that may be found; offline has one model only.
    (|s| s.model = text("qwen3"), "offline/tour"),
    (
        |s| {
            s.provider = ProviderChoice::OpenAiCompatible;
            s.endpoint.base_url = text("http://127.0.0.1:1/v1");
            s.model = text("meta-llama/llama-3");
        },
        "openai-compatible/meta-llama/llama-3",
    ),
];

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
        (
            |s| s.provider = ProviderChoice::Anthropic,
            ModelError::NoKey { provider: "anthropic", env: "ANTHROPIC_API_KEY" },
        ),
        (|s| s.provider = ProviderChoice::OpenAiCompatible, ModelError::NoAddress),
        (|s| s.endpoint.api_key = key("k"), ModelError::KeyForNobody),
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
        s.provider = ProviderChoice::Anthropic;
        s.endpoint.api_key = key("for anthropic");
        s.endpoint.base_url = text("http://127.0.0.1:1");
    })
    .expect("a key and an address");
    let active = models.active();
    let cases: &[(&str, Result<&str, ModelError>)] = &[
        ("claude-y", Ok("anthropic/claude-y")),
        ("offline", Ok("offline/tour")),
        ("openai/gpt-5", Err(ModelError::NoKey { provider: "openai", env: "OPENAI_API_KEY" })),
        ("openai-compatible/x", Err(ModelError::NoAddress)),
        ("llamacpp/m", Ok("llamacpp/m")),
        ("anthropic", Ok("anthropic/claude-sonnet-5")),
    ];
    for (name, expected) in cases {
        let switched = models.switch(name).map(|one| format!("{}/{}", one.provider, one.model));
        assert_eq!(switched.as_deref(), expected.as_ref().map(|name| *name), "{name}");
    }
    assert_eq!(active.borrow().name, "claude-sonnet-5");
    let lines: Vec<String> = models.lines().into_iter().map(|line| line.name).collect();
    assert_eq!(lines, ["anthropic/claude-sonnet-5", "offline/tour"]);
    assert!(!models.may_discover(), "the person has chosen");
}
