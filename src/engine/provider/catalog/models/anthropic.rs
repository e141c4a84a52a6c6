//! Anthropic's models.
//!
//! Sources: `platform.claude.com/docs` (`about-claude/pricing` and the overview page of each model, as of October 2026:
//! windows, output limits, prices with cache writes for five minutes, whether thinking can be turned off, sampling);
//! `github.com/anomalyco/models.dev` and `github.com/pydantic/genai-prices` for the models before Claude 4.6.

use super::{ModelRow, over_written};
use crate::config::ThinkingStyle::{Always, Budget, Levels, Never};

const fn model(name: &'static str, window: u32, output: u32) -> ModelRow {
    ModelRow::new(name).window(window).output(output).sees()
}

#[rustfmt::skip]
pub const ROWS: &[ModelRow] = &[
    model("claude-fable-5-1", 1_000_000, 128_000).thinks(Always).without_sampling()
        .price(10_000_000, 50_000_000).cached_price(250_000).cache_write_price(12_500_000),
    model("claude-fable-5", 1_000_000, 128_000).thinks(Always).without_sampling()
        .price(10_000_000, 50_000_000).cached_price(1_000_000).cache_write_price(12_500_000),
    model("claude-opus-5-5", 1_000_000, 128_000).thinks(Always).without_sampling()
        .price(4_000_000, 20_000_000).cached_price(200_000).cache_write_price(5_000_000),
    model("claude-opus-5", 1_000_000, 128_000).thinks(Levels).without_sampling()
        .price(5_000_000, 25_000_000).cached_price(500_000).cache_write_price(6_250_000),
    // Refuses `disabled`; its minimum is thinking between tool calls.
    model("claude-sonnet-5-5", 1_000_000, 128_000).thinks(Always).without_sampling()
        .price(2_000_000, 10_000_000).cached_price(100_000).cache_write_price(2_500_000),
    model("claude-sonnet-5", 1_000_000, 128_000).thinks(Levels).without_sampling()
        .price(2_000_000, 10_000_000).cached_price(200_000).cache_write_price(2_500_000),
    model("claude-haiku-5-5", 1_000_000, 128_000).thinks(Levels).without_sampling()
        .price(100_000, 500_000).cached_price(10_000).cache_write_price(125_000)
        .long(over_written(100_000, 500_000, 2_500_000, 50_000, 625_000)),
    model("claude-opus-4-8", 1_000_000, 128_000).thinks(Levels).without_sampling()
        .price(5_000_000, 25_000_000).cached_price(500_000).cache_write_price(6_250_000),
    model("claude-opus-4-7", 1_000_000, 128_000).thinks(Levels).without_sampling()
        .price(5_000_000, 25_000_000).cached_price(500_000).cache_write_price(6_250_000),
    model("claude-opus-4-6", 1_000_000, 128_000).thinks(Levels)
        .price(5_000_000, 25_000_000).cached_price(500_000).cache_write_price(6_250_000),
    model("claude-sonnet-4-6", 1_000_000, 64_000).thinks(Levels)
        .price(3_000_000, 15_000_000).cached_price(300_000).cache_write_price(3_750_000),
    model("claude-opus-4-5", 200_000, 64_000).thinks(Budget)
        .price(5_000_000, 25_000_000).cached_price(500_000).cache_write_price(6_250_000),
    model("claude-sonnet-4-5", 200_000, 64_000).thinks(Budget)
        .price(3_000_000, 15_000_000).cached_price(300_000).cache_write_price(3_750_000),
    model("claude-haiku-4-5", 200_000, 64_000).thinks(Budget)
        .price(1_000_000, 5_000_000).cached_price(100_000).cache_write_price(1_250_000),
    model("claude-opus-4-1", 200_000, 32_000).thinks(Budget)
        .price(15_000_000, 75_000_000).cached_price(1_500_000).cache_write_price(18_750_000),
    // The sources do not state the output limit of these two.
    ModelRow::new("claude-opus-4").window(200_000).sees().thinks(Budget)
        .price(15_000_000, 75_000_000).cached_price(1_500_000).cache_write_price(18_750_000),
    ModelRow::new("claude-opus-4-0").window(200_000).sees().thinks(Budget)
        .price(15_000_000, 75_000_000).cached_price(1_500_000).cache_write_price(18_750_000),
    model("claude-sonnet-4", 200_000, 64_000).thinks(Budget)
        .price(3_000_000, 15_000_000).cached_price(300_000).cache_write_price(3_750_000),
    model("claude-sonnet-4-0", 200_000, 64_000).thinks(Budget)
        .price(3_000_000, 15_000_000).cached_price(300_000).cache_write_price(3_750_000),
    model("claude-3-7-sonnet", 200_000, 64_000).thinks(Budget)
        .price(3_000_000, 15_000_000).cached_price(300_000).cache_write_price(3_750_000),
    model("claude-3-5-sonnet", 200_000, 8_192).thinks(Never)
        .price(3_000_000, 15_000_000).cached_price(300_000).cache_write_price(3_750_000),
    model("claude-3-5-haiku", 200_000, 8_192).thinks(Never)
        .price(800_000, 4_000_000).cached_price(80_000).cache_write_price(1_000_000),
    model("claude-3-haiku", 200_000, 4_096).thinks(Never)
        .price(250_000, 1_250_000).cached_price(30_000).cache_write_price(300_000),
];
