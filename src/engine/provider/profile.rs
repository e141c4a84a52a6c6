//! The known facts about a model: its window, its prices, how thinking is requested.
//!
//! Plain data. An unknown value is `None` and stays `None`: no window and no price is ever invented.
//! `catalog` holds the rows, settings override them, codecs read how to build a request, the turn reads the
//! prices.

use crate::config::ThinkingStyle;
use crate::message::{Usage, Usd};

/// The number of tokens that a price is quoted for.
const MILLION: u128 = 1_000_000;

/// The known properties of one model at one service. In [`Profile::default`] all are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Profile {
    /// The largest number of input and output tokens together.
    pub window: Option<u32>,
    /// The largest number of tokens of one reply.
    pub max_output: Option<u32>,
    pub price: Option<Price>,
    pub thinking: ThinkingStyle,
    /// Whether the model refuses temperature and top-p.
    pub refuses_sampling: bool,
    /// Whether the model accepts images; `None` = unknown, so they are sent.
    pub images: Option<bool>,
}

impl Profile {
    /// Returns this profile with its unknown values filled in from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            window: self.window.or(other.window),
            max_output: self.max_output.or(other.max_output),
            price: self.price.or(other.price),
            thinking: if self.thinking == ThinkingStyle::Unknown { other.thinking } else { self.thinking },
            refuses_sampling: self.refuses_sampling || other.refuses_sampling,
            images: self.images.or(other.images),
        }
    }
}

/// Prices in millionths of a US dollar per million tokens, so `$3.00` is 3 000 000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    /// Input read from a cache; `None` = as other input.
    pub cached_input: Option<u64>,
    /// Input written to a cache; `None` = as other input.
    pub cache_write: Option<u64>,
    /// Thinking; `None` = as other output.
    pub reasoning: Option<u64>,
    /// The prices for requests with a long input, if they differ.
    pub long: Option<LongInput>,
}

/// The prices of a whole request whose input is longer than `over` tokens. In the units of [`Price`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongInput {
    pub over: u32,
    pub input: u64,
    pub output: u64,
    /// As in [`Price`].
    pub cached_input: Option<u64>,
    /// As in [`Price`].
    pub cache_write: Option<u64>,
}

impl Price {
    /// Returns the prices for a request with `input` tokens of input.
    fn at(self, input: u64) -> Self {
        match self.long {
            Some(long) if input > u64::from(long.over) => Self {
                input: long.input,
                output: long.output,
                cached_input: long.cached_input,
                cache_write: long.cache_write,
                reasoning: None,
                long: None,
            },
            Some(_) | None => self,
        }
    }

    /// Returns the cost of `usage`. A missing count adds nothing, so a usage without counts costs 0: the
    /// caller must show "unknown" then.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Usd {
        let input = usage.input.unwrap_or(0);
        let price = self.at(input);
        let cached = usage.cached_input.unwrap_or(0).min(input);
        let written = usage.cache_write.unwrap_or(0).min(input - cached);
        let output = usage.output.unwrap_or(0);
        let reasoning = usage.reasoning.unwrap_or(0).min(output);
        let parts = [
            (input - cached - written, price.input),
            (cached, price.cached_input.unwrap_or(price.input)),
            (written, price.cache_write.unwrap_or(price.input)),
            (output - reasoning, price.output),
            (reasoning, price.reasoning.unwrap_or(price.output)),
        ];
        // Millionths per million tokens are billionths per thousand: 1 token at price 1 is 1/1000 of a
        // billionth.
        let thousandths: u128 =
            parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        let nano = thousandths.div_ceil(MILLION / 1_000);
        Usd(u64::try_from(nano).unwrap_or(u64::MAX))
    }

    /// Whether nothing costs anything, so that a request without counts has a known cost too.
    #[must_use]
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the cost of one request: the provider's own figure if it gave one, else the list price.
    #[must_use]
    pub fn of_request(price: Option<&Self>, usage: &Usage) -> Option<Usd> {
        let counted = usage.input.is_some() || usage.output.is_some();
        usage.cost.or_else(|| price.filter(|price| counted || price.is_free()).map(|price| price.cost(usage)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_cost_what_the_list_says() {
        let price = Price {
            input: 3_000_000,
            output: 15_000_000,
            cached_input: Some(300_000),
            cache_write: Some(3_750_000),
            reasoning: None,
            long: None,
        };
        let usage = |input, cached, written, output, reasoning| Usage {
            input: Some(input),
            cached_input: Some(cached),
            cache_write: Some(written),
            output: Some(output),
            reasoning: Some(reasoning),
            cost: None,
        };
        let cases = [
            (usage(1_000_000, 0, 0, 0, 0), "$3.00"),
            (usage(0, 0, 0, 1_000_000, 400_000), "$15.00"),
            (usage(1_000_000, 900_000, 50_000, 0, 0), "$0.61"),
            (usage(1, 0, 0, 0, 0), "$0.0000030"),
            // More cached than total input: a service that counts differently must not give a negative cost.
            (usage(10, 20, 20, 0, 5), "$0.0000030"),
        ];
        for (usage, expected) in cases {
            assert_eq!(price.cost(&usage).to_string(), expected, "{usage:?}");
        }
        let priced = Usage { cost: Some(Usd(7)), ..usage(1, 0, 0, 0, 0) };
        assert_eq!(Price::of_request(Some(&price), &priced), Some(Usd(7)));
        assert_eq!(Price::of_request(Some(&price), &Usage::default()), None);
        assert_eq!(Price::of_request(None, &usage(1, 0, 0, 1, 0)), None);
    }

    #[test]
    fn all_of_a_long_request_costs_the_other_price() {
        let long = LongInput {
            over: 200_000,
            input: 4_000_000,
            output: 18_000_000,
            cached_input: Some(400_000),
            cache_write: None,
        };
        let price = Price {
            input: 2_000_000,
            output: 12_000_000,
            cached_input: Some(200_000),
            long: Some(long),
            ..Price::default()
        };
        let cases = [((200_000, 0), "$0.52"), ((200_001, 0), "$0.98"), ((300_000, 300_000), "$0.30")];
        for ((input, cached), expected) in cases {
            let usage = Usage {
                input: Some(input),
                cached_input: Some(cached),
                output: Some(10_000),
                ..Usage::default()
            };
            assert_eq!(price.cost(&usage).to_string(), expected, "{input}");
        }
    }
}
