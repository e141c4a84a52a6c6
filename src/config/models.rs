//! Facts about models that the user sets to override the table of models: the section `[models."NAME"]`.
//!
//! Only the user may set them, in their own file or by flags: a price decides when a cap is reached, so a
//! project's file may not set one. Pure; `app` decides what the facts are used for.

use std::collections::BTreeMap;

use super::problem::ConfigError;
use super::settings::{Field, Kind};
use super::value::{RecordEntry, Value};

const TOKENS: Kind = Kind::Integer { min: 1, max: 100_000_000 };
const USD: Kind = Kind::Number { min: 0.0, max: 1_000_000.0 };

/// The fields of one model's section.
#[rustfmt::skip]
pub(super) const MODEL_FIELDS: &[Field] = &[
    Field { name: "window", kind: TOKENS },
    Field { name: "max_output", kind: TOKENS },
    Field { name: INPUT_PRICE, kind: USD },
    Field { name: OUTPUT_PRICE, kind: USD },
    Field { name: "cached_input_price", kind: USD },
    Field { name: "cache_write_price", kind: USD },
    Field { name: "reasoning_price", kind: USD },
    Field { name: "thinking", kind: Kind::Choice { names: ModelThinking::NAMES, later: &[] } },
    Field { name: "temperature", kind: Kind::Bool },
    Field { name: "images", kind: Kind::Bool },
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
    pub thinking: Option<ModelThinking>,
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

super::typed::choice! {
    /// How a model's thinking is controlled.
    ModelThinking {
        /// It does not think.
        Never = "never",
        /// It accepts a number of tokens.
        Budget = "budget",
        /// It accepts a level, and thinking can be turned off.
        Levels = "levels",
        /// It accepts a level and always thinks.
        Always = "always",
    }
}

/// Collects the sections by name.
pub(super) fn overrides(entries: Vec<RecordEntry>) -> Vec<ModelOverride> {
    let mut models: BTreeMap<String, ModelOverride> = BTreeMap::new();
    // `incomplete` has ensured that a model with any price has both of these.
    let mut prices: BTreeMap<String, PriceOverride> = BTreeMap::new();
    for RecordEntry { name, field, value, .. } in entries {
        let model = models
            .entry(name.clone())
            .or_insert_with(|| ModelOverride { name: name.clone(), ..ModelOverride::default() });
        if field.ends_with("_price") {
            let price = prices.entry(name).or_default();
            let millionths = millionths(&value);
            match field {
                INPUT_PRICE => price.input = millionths,
                OUTPUT_PRICE => price.output = millionths,
                "cached_input_price" => price.cached_input = Some(millionths),
                "cache_write_price" => price.cache_write = Some(millionths),
                "reasoning_price" => price.reasoning = Some(millionths),
                other => unreachable!("`{other}` is no price of a model"),
            }
            continue;
        }
        match field {
            "window" => model.window = value.optional_integer(),
            "max_output" => model.max_output = value.optional_integer(),
            "thinking" => model.thinking = Some(value.choice(ModelThinking::named)),
            "temperature" => model.temperature = Some(value.bool()),
            "images" => model.images = Some(value.bool()),
            other => unreachable!("`{other}` is no field of a model"),
        }
    }
    for (name, price) in prices {
        models.entry(name).and_modify(|model| model.price = Some(price));
    }
    models.into_values().collect()
}

/// Returns an error for each incomplete price: input and output prices are both required.
pub(super) fn incomplete(entries: &[RecordEntry]) -> Vec<ConfigError> {
    let has =
        |name: &str, field: &str| entries.iter().any(|entry| entry.name == name && entry.field == field);
    let mut errors: Vec<(&str, ConfigError)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.field.ends_with("_price")) {
        let missing = [INPUT_PRICE, OUTPUT_PRICE].into_iter().find(|field| !has(&entry.name, field));
        if let Some(missing) = missing
            && errors.iter().all(|(name, _)| *name != entry.name)
        {
            errors.push((
                &entry.name,
                ConfigError::HalfAPrice {
                    source_of: entry.source.clone(),
                    key: format!("models.\"{}\"", entry.name),
                    set: entry.field,
                    missing,
                },
            ));
        }
    }
    errors.into_iter().map(|(_, error)| error).collect()
}

/// Converts US dollars to millionths.
fn millionths(value: &Value) -> u64 {
    let dollars = value.number();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the field's bounds are small and positive"
    )]
    let millionths = (dollars * 1_000_000.0).round() as u64;
    millionths
}
