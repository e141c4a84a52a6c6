//! The fallback in the whole program: two services over HTTP, one that fails and one that answers, in two wires.

use crate::co::{Co, Service};

const BUSY: &str = "reply\n  error 529 overloaded_error busy | retry-after=0.01";

/// Anthropic in front, OpenAI behind.
fn two(first: &Service, second: &Service) -> Co {
    Co::new()
        .env("CO_MODEL", "anthropic/claude-x")
        .env("ANTHROPIC_BASE_URL", first.server.url())
        .env("CO_FALLBACK_MODEL", "openai/gpt-x")
        .env("OPENAI_BASE_URL", second.server.chat_url())
}

#[test]
fn another_service_goes_on_and_it_is_said() {
    let first = Service::new(&format!("{BUSY}\n{BUSY}"));
    let second = Service::new("reply\n  text Here.");
    two(&first, &second).run(&["-p", "hi"]).check(
        0,
        "Here.\n",
        "co: the service is overloaded: busy (529); retry 1 of 1 in 1s, then openai/gpt-x\n\
         co: anthropic/claude-x: the service is overloaded: busy (529); openai/gpt-x answers for the rest of this turn\n",
    );
    first.is_content();
    second.is_content();
    assert!(second.asked(1).contains("gpt-x"), "{}", second.asked(1));
}

#[test]
fn json_names_both() {
    let first = Service::new("reply\n  error 429 insufficient_quota all used");
    let second = Service::new("reply\n  text Here.");
    let told = two(&first, &second).run(&["-p", "hi", "--output", "json"]).json();
    let fell = serde_json::json!([{
        "from": "anthropic/claude-x", "to": "openai/gpt-x", "class": "quota", "message": "the quota is used up: all used (429)",
    }]);
    assert_eq!(
        (&told["end"], &told["model"], &told["fallbacks"]),
        (&"completed".into(), &"gpt-x".into(), &fell)
    );
}

#[test]
fn both_fail_and_both_are_named() {
    let first = Service::new("reply\n  error 429 insufficient_quota all used");
    let second = Service::new("reply\n  error 401 invalid_api_key bad key");
    two(&first, &second).run(&["-p", "hi"]).check(
        3,
        "",
        "co: anthropic/claude-x: the quota is used up: all used (429); openai/gpt-x answers for the rest of this turn\n\
         co: error: the key was refused: openai/gpt-x: bad key (401); before it anthropic/claude-x: all used (429)\n    \
         Replace the key with /login (`co auth add` in a shell); `co config` shows where it comes from.\n",
    );
}

#[test]
fn a_fallback_that_cannot_be_used_is_said_at_once() {
    let service = Service::new("reply\n  text Here.");
    let co = Co::new()
        .env("CO_MODEL", "anthropic/claude-x")
        .env("ANTHROPIC_BASE_URL", service.server.url())
        .env("CO_FALLBACK_MODEL", "openai/gpt-x");
    co.run(&["-p", "hi"]).check(
        0,
        "Here.\n",
        "co: fallback_model `openai/gpt-x` cannot be used (openai needs a key: `co auth add openai` saves one, or set OPENAI_API_KEY in the environment); the model has no fallback\n",
    );
}

#[test]
fn a_refusal_is_told_as_one() {
    let service = Service::new("reply\n  text I can\n  stop refusal not this");
    let co = Co::new().env("CO_MODEL", "anthropic/claude-x").env("ANTHROPIC_BASE_URL", service.server.url());
    co.run(&["-p", "hi"]).check(0, "I can\n", "The model refused: not this.\n");
    let service = Service::new("reply\n  text I can\n  stop content_filter");
    let co = Co::new().env("CO_MODEL", "openai/gpt-x").env("OPENAI_BASE_URL", service.server.chat_url());
    let told = co.run(&["-p", "hi", "--output", "json"]).json();
    let why = "The provider's filter stopped the answer (content_filter).";
    assert_eq!((&told["end"], &told["refusal"]), (&"refused".into(), &why.into()), "{told:#}");
}

/// In the middle of a turn and of its tool calls: the other wire gets a conversation that is whole, without what only
/// the first model may read.
#[test]
fn another_wire_goes_on_in_mid_turn() {
    let first = Service::new(
        "reply\n  thinking Let me look. | sig=abc\n  call read_file {\"path\":\"notes.md\"}\n\
         reply\n  error 429 insufficient_quota all used",
    );
    let second = Service::new("reply\n  call list_dir {}\nreply\n  text It says hi.");
    let ran = two(&first, &second).file("work/notes.md", "hi\n").run(&["-p", "read it"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "It says hi.\n"), "{}", ran.err);
    first.is_content();
    second.is_content();
    assert!(!second.asked(1).contains("abc"), "a signature went to another model: {}", second.asked(1));
    assert!(second.asked(1).contains("notes.md"), "the call before is told: {}", second.asked(1));
}
