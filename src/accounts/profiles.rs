//! The known data of a model: the user's settings, then the catalog, then the service's own data; the rest is unknown.
//!
//! A server on this machine chooses a model's window itself, so the catalog does not apply there. Its price is unknown
//! rather than zero: for a cap in dollars the user sets its prices to 0.

use super::services::{HttpService, Service};
use crate::config::{Codec, ModelOverride, PriceOverride, Settings, ThinkingStyle};
use crate::provider::ollama::DEFAULT_NUM_CTX;
use crate::provider::{Price, Profile, catalog};

/// Returns the known data of `model` at `service`; `reported` is the service's own data.
pub(super) fn profile(service: &Service, model: &str, settings: &Settings, reported: Profile) -> Profile {
    let known = match service {
        // The tour asks no service, so that nothing about its cost is unknown.
        Service::Offline => Profile { price: Some(Price::default()), ..reported },
        Service::Http(target) if target.preset.local.is_some() => here(target, reported),
        Service::Http(target) => {
            // A user's own server may belong to anyone and have any price.
            let public = target.preset.base_url == Some(target.base_url.as_str());
            catalog::profile(if public { target.preset.name } else { "" }, model, reported)
        }
    };
    overridden(known, service.name(), model, &settings.models)
}

/// The largest window requested from an Ollama server unless one is set, in tokens: the model's maximum may exceed the
/// machine's memory.
const MOST_NUM_CTX: u32 = 131_072;

/// Returns the data for a local server, with the window to request if its protocol has one. A smaller loaded window may
/// be another client's choice, so less than the default is ignored.
fn here(target: &HttpService, reported: Profile) -> Profile {
    let window = if target.codec == Codec::Ollama {
        let loaded = reported.window.unwrap_or(DEFAULT_NUM_CTX).clamp(DEFAULT_NUM_CTX, MOST_NUM_CTX);
        Some(target.num_ctx.unwrap_or(loaded))
    } else {
        reported.window
    };
    Profile { window, ..reported }
}

/// Applies the user's settings: those for this model at this provider take precedence over those for the model
/// anywhere.
fn overridden(known: Profile, provider: &str, model: &str, overrides: &[ModelOverride]) -> Profile {
    let of = |name: &str| overrides.iter().find(|one| one.name.eq_ignore_ascii_case(name));
    let said = [of(model), of(&format!("{provider}/{model}"))];
    said.into_iter().flatten().fold(known, with_override)
}

fn with_override(known: Profile, said: &ModelOverride) -> Profile {
    Profile {
        window: said.window.or(known.window),
        max_output: said.max_output.or(known.max_output),
        price: said.price.map(price).or(known.price),
        thinking: said.thinking.unwrap_or(known.thinking),
        refuses_sampling: said.temperature.map_or(known.refuses_sampling, |taken| !taken),
        images: said.images.or(known.images),
    }
}

fn price(said: PriceOverride) -> Price {
    let PriceOverride { input, output, cached_input, cache_write, reasoning } = said;
    Price { input, output, cached_input, cache_write, reasoning, long: None }
}

/// Formats window, price and capabilities, as far as known: `200k, $3.00/$15.00 per M, thinking, images`.
pub(super) fn as_text(profile: &Profile) -> Option<String> {
    let window = profile.window.map(tokens);
    let price = profile.price.map(|price| {
        let more = if price.long.is_some() { "+" } else { "" };
        format!("{}{more}/{}{more} per M", dollars(price.input), dollars(price.output))
    });
    let thinks = match profile.thinking {
        ThinkingStyle::Unknown | ThinkingStyle::Never => None,
        ThinkingStyle::Budget | ThinkingStyle::Levels | ThinkingStyle::Always => Some("thinking".to_owned()),
    };
    let images = (profile.images == Some(true)).then(|| "images".to_owned());
    let words: Vec<String> = window.into_iter().chain(price).chain(thinks).chain(images).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Formats tokens: `1M`, `1.05M`, `200k`, `131k`, `512`.
pub fn tokens(tokens: u32) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_500 => format!("{}k", (tokens + 500) / 1_000),
        999_500.. => {
            let hundredths = tokens.saturating_add(5_000) / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

/// Formats millionths of a dollar: two decimal places, more if needed.
pub fn dollars(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let (cents, rest) = text.split_at(text.len() - 4);
    format!("${cents}{}", rest.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::keys::Keys;
    use crate::config::Key;

    /// Returns a service of that name with a key.
    fn service(name: &str, settings: &Settings) -> Service {
        let mut settings = settings.clone();
        settings.own(name).api_key = Some(Key::literal("k"));
        Service::by_name(name, &settings, &Keys::of(&settings)).unwrap()
    }

    fn of(name: &str, model: &str, settings: &Settings) -> Profile {
        profile(&service(name, settings), model, settings, Profile::default())
    }

    #[test]
    fn the_person_knows_best() {
        let said = |name: &str, window, input| ModelOverride {
            name: name.to_owned(),
            window,
            price: Some(PriceOverride { input, output: 9, ..PriceOverride::default() }),
            ..ModelOverride::default()
        };
        let mut settings = Settings::default();
        assert_eq!(of("openai", "gpt-5", &settings).price.unwrap().input, 1_250_000);
        settings.models = vec![said("gpt-5", Some(7), 1), said("openai/GPT-5", None, 2)];
        settings.models[0].temperature = Some(true);
        settings.models[0].thinking = Some(ThinkingStyle::Never);
        let known = of("openai", "gpt-5", &settings);
        assert_eq!((known.window, known.price.unwrap().input), (Some(7), 2));
        assert_eq!(known.price.unwrap().cached_input, None, "a price is replaced as a whole");
        assert_eq!((known.refuses_sampling, known.thinking), (false, ThinkingStyle::Never));
        assert_eq!(known.max_output, Some(128_000));
        settings.own("openai-compatible").base_url = Some("http://h/v1".to_owned());
        let elsewhere = of("openai-compatible", "gpt-5", &settings);
        assert_eq!(elsewhere.price.unwrap().input, 1);
    }

    #[test]
    fn a_price_is_that_of_the_service() {
        let mut settings = Settings::default();
        let model = "claude-sonnet-4-5";
        assert!(of("anthropic", model, &settings).price.is_some());
        settings.own("anthropic").base_url = Some("http://gateway.test".to_owned());
        let routed = of("anthropic", model, &settings);
        assert_eq!((routed.price, routed.window), (None, Some(200_000)));
        assert_eq!(of("llamacpp", "gpt-oss-120b", &settings), Profile::default());
        let reported = Profile { window: Some(4_096), ..Profile::default() };
        assert_eq!(profile(&service("llamacpp", &settings), "gpt-oss-120b", &settings, reported), reported);
        let loaded = |window| {
            let reported = Profile { window: Some(window), ..Profile::default() };
            profile(&service("ollama", &settings), "gpt-oss-120b", &settings, reported).window
        };
        assert_eq!(loaded(4_096), Some(16_384), "another client's small window is not ours");
        assert_eq!(loaded(40_960), Some(40_960));
        assert_eq!(loaded(1_048_576), Some(131_072), "nor one that fills the machine");
        let window = |settings: &Settings| of("ollama", "gpt-oss-120b", settings).window;
        assert_eq!(window(&settings), Some(16_384), "what an Ollama server is asked for");
        settings.own("ollama").num_ctx = Some(9_000);
        assert_eq!(window(&settings), Some(9_000));
    }

    #[test]
    fn amounts_are_short() {
        let tokens: Vec<String> = [512, 8_192, 131_072, 200_000, 999_999, 1_000_000, 1_048_576, 2_000_000]
            .map(super::tokens)
            .into();
        assert_eq!(tokens, ["512", "8k", "131k", "200k", "1M", "1M", "1.05M", "2M"]);
        let dollars: Vec<String> = [0, 3_000_000, 250_000, 37_500, 12_500_000, 1].map(super::dollars).into();
        assert_eq!(dollars, ["$0.00", "$3.00", "$0.25", "$0.0375", "$12.50", "$0.000001"]);
        let profile = of("openai", "gpt-5", &Settings::default());
        assert_eq!(as_text(&profile).unwrap(), "400k, $1.25/$10.00 per M, thinking, images");
        assert_eq!(as_text(&Profile::default()), None);
    }
}
