//! The known properties of models (windows, output limits, prices, thinking), looked up by the start of their
//! names.
//!
//! Rows are constants, so there is nothing to load. Each vendor's rows are in a separate file, with their
//! sources and the date of reading. A row holds only what a source states; values that no source states, or
//! on which sources disagree, are left out. Prices apply only at the service that charges them: a router or a
//! host of the same model has its own.
//!
//! Two kinds of prices are left out on purpose, because they would often be wrong: those that depend on the
//! time of day, and those that end on a known day. Users of such models set the price themselves
//! (`[models."NAME"]`).
//!
//! Called by `app`, which applies the settings on top.

mod anthropic;
mod google;
mod openai;
mod others;

use crate::config::ThinkingStyle;
use crate::provider::profile::LongInput;
use crate::provider::{Price, Profile};

/// One model, or several versions of it that differ only in their dates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelRow {
    /// The name without date and vendor, in lower case.
    pub name: &'static str,
    pub profile: Profile,
}

/// The models of one service.
struct ModelTable {
    /// The service's name in the settings.
    service: &'static str,
    rows: &'static [ModelRow],
    /// Whether the models are its own: then their properties, except the price, apply elsewhere too. The rows of a host of
    /// other vendors' models state its own limits.
    is_vendor: bool,
}

const TABLES: &[ModelTable] = &[
    ModelTable { service: "anthropic", rows: anthropic::ROWS, is_vendor: true },
    ModelTable { service: "openai", rows: openai::ROWS, is_vendor: true },
    ModelTable { service: "gemini", rows: google::ROWS, is_vendor: true },
    ModelTable { service: "xai", rows: others::XAI, is_vendor: true },
    ModelTable { service: "deepseek", rows: others::DEEPSEEK, is_vendor: true },
    ModelTable { service: "mistral", rows: others::MISTRAL, is_vendor: true },
    ModelTable { service: "", rows: others::OPEN, is_vendor: true },
    ModelTable { service: "groq", rows: others::GROQ, is_vendor: false },
    ModelTable { service: "cerebras", rows: others::CEREBRAS, is_vendor: false },
];

/// Returns the known properties of a model at a service. `reported` is what the service's own list states: it
/// ranks below the service's row in these tables, and above the general knowledge of the model.
#[must_use]
pub fn profile(service: &str, model: &str, reported: Profile) -> Profile {
    let name = bare(model);
    let own = rows(service).filter(|row| row.is(&name)).max_by_key(|row| row.name.len());
    match own {
        Some(row) => row.profile.or(reported),
        None => reported.or(elsewhere(&name)),
    }
}

/// Returns the service whose own model this is, by the tables.
#[must_use]
pub fn vendor(model: &str) -> Option<&'static str> {
    let name = bare(model);
    let own = TABLES.iter().filter(|table| table.is_vendor && !table.service.is_empty());
    own.into_iter().find(|table| table.rows.iter().any(|row| row.is(&name))).map(|table| table.service)
}

/// Returns the properties of a model that apply at every service.
fn elsewhere(name: &str) -> Profile {
    let general = TABLES.iter().filter(|table| table.is_vendor).flat_map(|table| table.rows);
    let found = general.filter(|row| row.is(name)).max_by_key(|row| row.name.len());
    found.map_or_else(Profile::default, |row| Profile { price: None, ..row.profile })
}

/// Returns the rows of a service, in the order of the table; none for a service without a table.
pub fn rows(service: &str) -> impl Iterator<Item = &'static ModelRow> {
    let of_service = move |table: &&ModelTable| !table.service.is_empty() && table.service == service;
    TABLES.iter().filter(of_service).flat_map(|table| table.rows)
}

/// Returns a model's bare name: without a router's vendor and path, without a variant after `:` or `@`.
fn bare(model: &str) -> String {
    let last = model.rsplit('/').next().unwrap_or(model);
    // Bedrock puts the vendor before the name, with a dot.
    let last = last.rsplit_once("anthropic.").map_or(last, |(_, name)| name);
    let name = last.split([':', '@']).next().unwrap_or(last).to_ascii_lowercase();
    // Routers write Claude's versions with dots.
    if name.starts_with("claude") { name.replace('.', "-") } else { name }
}

/// Suffixes that may follow a model's name without making it another model.
const SUFFIXES: &[&str] = &["latest", "preview", "exp", "experimental", "beta", "v1", "v2"];

impl ModelRow {
    /// Whether a bare name is this model: the row's name, with an optional date or known suffix. Another
    /// member of a family (`gpt-5-turbo` beside `gpt-5`) is another model, of which nothing is known.
    fn is(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(self.name) else { return false };
        let Some(rest) = rest.strip_prefix('-') else { return rest.is_empty() };
        let digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let has_year = rest.split('-').any(|part| part.len() == 4 && digits(&part));
        let fits = |part: &str| {
            SUFFIXES.contains(&part) || digits(&part) && (part.len() >= 3 || part.len() == 2 && has_year)
        };
        rest.split('-').all(fits)
    }

    const fn new(name: &'static str) -> Self {
        let profile = Profile {
            window: None,
            max_output: None,
            price: None,
            thinking: ThinkingStyle::Unknown,
            refuses_sampling: false,
            images: None,
        };
        Self { name, profile }
    }

    const fn window(mut self, tokens: u32) -> Self {
        self.profile.window = Some(tokens);
        self
    }

    const fn output(mut self, tokens: u32) -> Self {
        self.profile.max_output = Some(tokens);
        self
    }

    const fn thinks(mut self, style: ThinkingStyle) -> Self {
        self.profile.thinking = style;
        self
    }

    const fn without_sampling(mut self) -> Self {
        self.profile.refuses_sampling = true;
        self
    }

    const fn sees(mut self) -> Self {
        self.profile.images = Some(true);
        self
    }

    const fn without_images(mut self) -> Self {
        self.profile.images = Some(false);
        self
    }

    /// In the units of [`Price`].
    const fn price(mut self, input: u64, output: u64) -> Self {
        self.profile.price =
            Some(Price { input, output, cached_input: None, cache_write: None, reasoning: None, long: None });
        self
    }

    const fn cached_price(mut self, price: u64) -> Self {
        self.profile.price = Some(Price { cached_input: Some(price), ..self.set_price() });
        self
    }

    const fn cache_write_price(mut self, price: u64) -> Self {
        self.profile.price = Some(Price { cache_write: Some(price), ..self.set_price() });
        self
    }

    const fn long(mut self, long: LongInput) -> Self {
        self.profile.price = Some(Price { long: Some(long), ..self.set_price() });
        self
    }

    const fn set_price(&self) -> Price {
        match self.profile.price {
            Some(price) => price,
            None => panic!("a part of a price is set after the price"),
        }
    }
}

/// The prices of requests with more than `over` tokens of input.
const fn over(over: u32, input: u64, output: u64, cached_input: u64) -> LongInput {
    LongInput { over, input, output, cached_input: Some(cached_input), cache_write: None }
}

/// Like [`over`], with a price for cache writes.
const fn over_written(over: u32, input: u64, output: u64, cached_input: u64, cache_write: u64) -> LongInput {
    LongInput { over, input, output, cached_input: Some(cached_input), cache_write: Some(cache_write) }
}

#[cfg(test)]
mod tests;
