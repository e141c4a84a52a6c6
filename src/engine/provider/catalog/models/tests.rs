//! Model look-up, and rules for every row.

use std::collections::HashSet;

use super::*;
use crate::config::ThinkingStyle::{Always, Levels, Never, Unknown};

fn window(service: &str, model: &str) -> Option<u32> {
    profile(service, model, Profile::default()).window
}

fn input_price(service: &str, model: &str) -> Option<u64> {
    profile(service, model, Profile::default()).price.map(|price| price.input)
}

#[test]
fn models_are_found_by_the_start_of_their_names() {
    let cases = [
        // The longest matching row wins.
        ("anthropic", "claude-sonnet-5", Some(1_000_000), Some(2_000_000)),
        ("anthropic", "claude-sonnet-4-5-20250929", Some(200_000), Some(3_000_000)),
        ("anthropic", "claude-sonnet-4-20250514", Some(200_000), Some(3_000_000)),
        ("anthropic", "claude-3-5-haiku-latest", Some(200_000), Some(800_000)),
        ("anthropic", "Claude-Opus-5-5", Some(1_000_000), Some(4_000_000)),
        ("openai", "gpt-5", Some(400_000), Some(1_250_000)),
        ("openai", "gpt-5-2025-08-07", Some(400_000), Some(1_250_000)),
        ("openai", "gpt-5-mini-2025-08-07", Some(400_000), Some(250_000)),
        ("openai", "o3-2025-04-16", Some(200_000), Some(2_000_000)),
        ("openai", "gpt-4o-2024-05-13", Some(128_000), None),
        ("gemini", "models/gemini-2.5-flash-lite-preview-09-2025", Some(1_048_576), Some(100_000)),
        ("gemini", "gemini-3.1-pro-preview", Some(1_048_576), Some(2_000_000)),
        // Prices that depend on the time of day or end on a known day are left out.
        ("gemini", "gemini-3.8-flash", Some(1_048_576), None),
        ("deepseek", "deepseek-v4-pro", Some(1_000_000), None),
        // The rows of hosts.
        ("groq", "openai/gpt-oss-120b", Some(131_072), Some(150_000)),
        ("cerebras", "gpt-oss-120b", Some(131_072), Some(350_000)),
        // At other services: the model's properties, but not its price.
        ("openrouter", "anthropic/claude-sonnet-4.5", Some(200_000), None),
        ("openrouter", "anthropic/claude-3.7-sonnet:thinking", Some(200_000), None),
        ("openrouter", "openai/gpt-4o-mini", Some(128_000), None),
        ("openrouter", "qwen/qwen3-coder-480b-a35b-instruct:free", Some(262_144), None),
        ("azure-openai", "gpt-4.1", Some(1_047_576), None),
        ("openai-compatible", "claude-sonnet-4-5@20250929", Some(200_000), None),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some(200_000), None),
        // Other members of a family are other models.
        ("openai", "gpt-5-turbo", None, None),
        ("openai", "gpt-4o-audio-preview", None, None),
        ("openai", "gpt-5.9", None, None),
        ("anthropic", "claude-sonnet-5-7", None, None),
        ("anthropic", "claude-opus-9", None, None),
        ("openai", "ft:gpt-4o-mini-2024-07-18:me", None, None),
        ("openai", "", None, None),
        ("", "gpt-oss:20b", None, None),
        // A host's rows apply only at that host.
        ("openrouter", "zai-glm-4.7", None, None),
    ];
    for (service, model, tokens, price) in cases {
        assert_eq!(window(service, model), tokens, "{service}/{model}");
        assert_eq!(input_price(service, model), price, "{service}/{model}");
    }
}

#[test]
fn what_a_service_tells_counts_where_it_has_no_row() {
    let reported = Profile {
        window: Some(32_768),
        max_output: Some(1_000),
        price: Some(Price { input: 7, output: 8, ..Price::default() }),
        ..Profile::default()
    };
    let routed = profile("openrouter", "openai/gpt-4o", reported);
    assert_eq!((routed.window, routed.max_output), (reported.window, reported.max_output));
    assert_eq!((routed.price, routed.thinking, routed.images), (reported.price, Never, Some(true)));
    let own = profile("openai", "gpt-4o", reported);
    assert_eq!((own.window, own.price.unwrap().input), (Some(128_000), 2_500_000));
    // The unknown values of a row are filled in from the list.
    let partly = profile("deepseek", "deepseek-flash", reported);
    assert_eq!((partly.window, partly.price), (Some(1_000_000), reported.price));
    let nothing = profile("anywhere", "new-model", Profile::default());
    assert_eq!(nothing, Profile::default());
}

#[test]
fn rows_are_sane() {
    let mut seen = HashSet::new();
    for table in TABLES {
        for row in table.rows {
            let name = row.name;
            assert!(seen.insert((table.service, name)), "{name} is listed twice");
            assert_eq!(bare(name), name, "a row's name is looked for in this form");
            assert!(row.profile != Profile::default(), "{name} says nothing");
            let Profile { window, max_output, price, .. } = row.profile;
            assert!(window.is_none_or(|tokens| (4_096..=10_000_000).contains(&tokens)), "{name}");
            assert!(max_output.is_none_or(|tokens| window.is_none_or(|window| tokens <= window)), "{name}");
            let Some(price) = price else { continue };
            let dollars = |price: u64| (1_000..=200_000_000).contains(&price);
            assert!(dollars(price.input) && dollars(price.output), "{name}");
            assert!(price.input <= price.output, "{name}");
            assert!(price.cached_input.is_none_or(|cached| cached < price.input), "{name}");
            assert!(price.cache_write.is_none_or(|written| written >= price.input), "{name}");
            let Some(long) = price.long else { continue };
            assert!(long.input > price.input && long.output > price.output, "{name}");
            assert!(long.cached_input.is_none_or(|cached| cached < long.input), "{name}");
            assert!(long.cache_write.is_none_or(|written| written >= long.input), "{name}");
            assert!(window.is_none_or(|window| window > long.over), "{name}");
        }
    }
}

#[test]
fn models_know_how_they_think() {
    let cases = [
        ("claude-opus-5-5", Always, true),
        ("claude-opus-4-6", Levels, false),
        ("claude-haiku-4-5", ThinkingStyle::Budget, false),
        ("gpt-4.1", Never, false),
        ("gpt-5", Always, true),
        ("gpt-5.1", Levels, true),
        ("unheard-of", Unknown, false),
    ];
    for (model, style, refuses_sampling) in cases {
        let known = profile("anywhere", model, Profile::default());
        assert_eq!((known.thinking, known.refuses_sampling), (style, refuses_sampling), "{model}");
    }
}
