//! Facts about models that the user sets to override the table of models: the section `[models."NAME"]`.
//!
//! Only the user may set them, in their own file or by flags: a price decides when a cap is reached, so a
//! project's file may not set one. Pure; `app` decides what the facts are used for.

use std::collections::{BTreeMap, BTreeSet};

use super::check::Kind;
use super::choices::ThinkingStyle;
use super::problem::{ConfigError, Source};
use super::sections::{FieldTarget, SectionFields, by_section};
use super::value::{SectionEntry, Value};

const TOKENS: Kind = Kind::Integer { min: 1, max: 100_000_000 };
const USD: Kind = Kind::Number { min: 0.0, max: 1_000_000.0 };

/// The fields of one model's section.
const FIELDS: SectionFields = SectionFields {
    own: &[
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
    ],
    nested: &[],
    guess_by_part: false,
};

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
pub(super) fn place(key: &str, dotted: &str, source_of: &Source) -> Result<FieldTarget, ConfigError> {
    // Names may contain dots (`gpt-5.1`), fields may not. In a flag the name may be quoted.
    let Some((name, field)) = dotted.rsplit_once('.') else {
        let (source_of, key) = (source_of.clone(), key.to_owned());
        return Err(ConfigError::Section { source_of, key, inner: "\"NAME\".window" });
    };
    let name = name.trim_matches('"');
    FIELDS.place(name, field, format!("{key}.\"{name}\".{field}"), source_of)
}

/// Collects the sections by name.
pub(super) fn overrides(entries: Vec<SectionEntry>) -> Vec<ModelOverride> {
    by_section(entries).into_iter().map(|(name, fields)| of_model(name, fields)).collect()
}

fn of_model(name: String, mut fields: BTreeMap<String, Value>) -> ModelOverride {
    let mut usd = |field: &str| fields.remove(field).map(millionths);
    // `incomplete` has ensured that a model with any price has both of these.
    let price = usd(INPUT_PRICE).zip(usd(OUTPUT_PRICE)).map(|(input, output)| PriceOverride {
        input,
        output,
        cached_input: usd("cached_input_price"),
        cache_write: usd("cache_write_price"),
        reasoning: usd("reasoning_price"),
    });
    let mut take = |field: &str| fields.remove(field);
    ModelOverride {
        name,
        window: take("window").and_then(Value::optional_integer),
        max_output: take("max_output").and_then(Value::optional_integer),
        price,
        thinking: take("thinking").map(|value| value.choice(ThinkingStyle::named)),
        temperature: take("temperature").map(Value::bool),
        images: take("images").map(Value::bool),
    }
}

/// Returns an error for each incomplete price: input and output prices are both required.
pub(super) fn incomplete(entries: &[SectionEntry]) -> Vec<ConfigError> {
    let has =
        |name: &str, field: &str| entries.iter().any(|entry| entry.section == name && entry.field == field);
    let mut seen = BTreeSet::new();
    let first_prices =
        entries.iter().filter(|entry| entry.field.ends_with("_price") && seen.insert(&entry.section));
    let wrong = |entry: &SectionEntry| {
        let missing = [INPUT_PRICE, OUTPUT_PRICE].into_iter().find(|field| !has(&entry.section, field))?;
        Some(ConfigError::HalfAPrice {
            source_of: entry.source.clone(),
            key: format!("models.\"{}\"", entry.section),
            set: entry.field.clone(),
            missing,
        })
    };
    first_prices.filter_map(wrong).collect()
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
