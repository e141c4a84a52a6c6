//! Facts about models that the user sets to override the table of models: the section `[models."NAME"]`.
//!
//! Only the user may set them, in their own file or by flags: a price decides when a cap is reached, so a
//! project's file may not set one. Pure; `app` decides what the facts are used for.

use std::collections::BTreeMap;

use super::check::{EntryPlace, Kind};
use super::choices::ThinkingStyle;
use super::problem::{ConfigError, Source};
use super::value::{SectionEntry, Value};
use crate::stdx::text;

const TOKENS: Kind = Kind::Integer { min: 1, max: 100_000_000 };
const USD: Kind = Kind::Number { min: 0.0, max: 1_000_000.0 };

/// The fields of one model's section.
const FIELDS: &[(&str, Kind)] = &[
    ("window", TOKENS),
    ("max_output", TOKENS),
    (INPUT_PRICE, USD),
    (OUTPUT_PRICE, USD),
    ("cached_input_price", USD),
    ("cache_write_price", USD),
    ("reasoning_price", USD),
    ("thinking", Kind::Choice(ThinkingStyle::NAMES)),
    ("temperature", Kind::Bool),
    ("images", Kind::Bool),
];

const INPUT_PRICE: &str = "input_price";
const OUTPUT_PRICE: &str = "output_price";

/// The user's facts about one model. `None`: not set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelOverride {
    /// `provider/model`, or the model's name at every provider.
    pub name: String,
    /// Context window: tokens of input and output together.
    pub window: Option<u32>,
    /// Maximum tokens of one reply.
    pub max_output: Option<u32>,
    /// Replaces a known price as a whole.
    pub price: Option<PriceOverride>,
    pub thinking: Option<ThinkingStyle>,
    /// Whether it accepts a temperature.
    pub temperature: Option<bool>,
    pub images: Option<bool>,
}

/// Prices in millionths of a US dollar per million tokens. `None`: the price of other input or output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PriceOverride {
    pub input: u64,
    pub output: u64,
    pub cached_input: Option<u64>,
    pub cache_write: Option<u64>,
    pub reasoning: Option<u64>,
}

/// Finds the field of one key below `models`, dotted as written.
pub(super) fn place(key: &str, dotted: &str, source_of: &Source) -> Result<EntryPlace, ConfigError> {
    let source_of = source_of.clone();
    // Names may contain dots (`gpt-5.1`), fields may not. In a flag the name may be quoted.
    let Some((name, field)) = dotted.rsplit_once('.') else {
        return Err(ConfigError::Section { source_of, key: key.to_owned(), inner: "\"NAME\".window" });
    };
    let name = name.trim_matches('"');
    let key = format!("{key}.\"{name}\".{field}");
    match FIELDS.iter().find(|(known, _)| *known == field) {
        Some((_, kind)) => {
            Ok(EntryPlace { section: name.to_owned(), field: field.to_owned(), kind: *kind, key })
        }
        None => {
            let nearest = text::nearest(field, FIELDS.iter().map(|(known, _)| *known));
            Err(ConfigError::UnknownKey { source_of, key, nearest })
        }
    }
}

/// Collects the sections by name.
pub(super) fn overrides(entries: Vec<SectionEntry>) -> Vec<ModelOverride> {
    let mut models: BTreeMap<String, ModelOverride> = BTreeMap::new();
    // `incomplete` has ensured that a model with any price has both of these.
    let mut prices: BTreeMap<String, PriceOverride> = BTreeMap::new();
    for SectionEntry { section: name, field, value, .. } in entries {
        let model = models
            .entry(name.clone())
            .or_insert_with(|| ModelOverride { name: name.clone(), ..ModelOverride::default() });
        if field.ends_with("_price") {
            let price = prices.entry(name).or_default();
            let millionths = millionths(value);
            match field.as_str() {
                INPUT_PRICE => price.input = millionths,
                OUTPUT_PRICE => price.output = millionths,
                "cached_input_price" => price.cached_input = Some(millionths),
                "cache_write_price" => price.cache_write = Some(millionths),
                "reasoning_price" => price.reasoning = Some(millionths),
                other => unreachable!("`{other}` is not a price of a model"),
            }
            continue;
        }
        match field.as_str() {
            "window" => model.window = value.optional_integer(),
            "max_output" => model.max_output = value.optional_integer(),
            "thinking" => model.thinking = Some(value.choice(ThinkingStyle::named)),
            "temperature" => model.temperature = Some(value.bool()),
            "images" => model.images = Some(value.bool()),
            other => unreachable!("`{other}` is not a field of a model"),
        }
    }
    for (name, price) in prices {
        models.entry(name).and_modify(|model| model.price = Some(price));
    }
    models.into_values().collect()
}

/// Returns an error for each incomplete price: input and output prices are both required.
pub(super) fn incomplete(entries: &[SectionEntry]) -> Vec<ConfigError> {
    let has =
        |name: &str, field: &str| entries.iter().any(|entry| entry.section == name && entry.field == field);
    let mut errors: Vec<(&str, ConfigError)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.field.ends_with("_price")) {
        let missing = [INPUT_PRICE, OUTPUT_PRICE].into_iter().find(|field| !has(&entry.section, field));
        if let Some(missing) = missing
            && errors.iter().all(|(name, _)| *name != entry.section)
        {
            errors.push((
                &entry.section,
                ConfigError::HalfAPrice {
                    source_of: entry.source.clone(),
                    key: format!("models.\"{}\"", entry.section),
                    set: entry.field.clone(),
                    missing,
                },
            ));
        }
    }
    errors.into_iter().map(|(_, error)| error).collect()
}

/// Converts US dollars to millionths.
fn millionths(value: Value) -> u64 {
    let dollars = value.number().unwrap_or_default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the field's bounds are small and positive"
    )]
    let millionths = (dollars * 1_000_000.0).round() as u64;
    millionths
}
