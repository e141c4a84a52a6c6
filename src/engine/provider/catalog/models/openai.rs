//! OpenAI's models.
//!
//! Sources: the model pages of `developers.openai.com/api/docs` and pages that quote them (read in November
//! 2026) for GPT-5.5 and newer; `github.com/anomalyco/models.dev` and `github.com/pydantic/genai-prices`
//! (checked by its authors in July and November 2025) for the older ones. Reasoning models refuse
//! temperature.

use super::{ModelRow, over, over_written};
use crate::config::ThinkingStyle;
use crate::config::ThinkingStyle::{Always, Levels, Never, Unknown};

const fn reasoning(name: &'static str, window: u32, output: u32, style: ThinkingStyle) -> ModelRow {
    ModelRow::new(name).window(window).output(output).thinks(style).without_sampling()
}

const fn chat(name: &'static str, window: u32, output: u32) -> ModelRow {
    ModelRow::new(name).window(window).output(output).thinks(Never)
}

#[rustfmt::skip]
pub const ROWS: &[ModelRow] = &[
    reasoning("gpt-6.2-sol", 1_050_000, 128_000, Always).sees()
        .price(2_000_000, 10_000_000).cached_price(100_000).cache_write_price(2_500_000)
        .long(over_written(272_000, 4_000_000, 15_000_000, 200_000, 5_000_000)),
    reasoning("gpt-6.1-sol", 1_050_000, 128_000, Always).sees()
        .price(2_000_000, 10_000_000).cached_price(100_000).cache_write_price(2_500_000)
        .long(over(272_000, 4_000_000, 15_000_000, 200_000)),
    reasoning("gpt-6.1-terra", 1_050_000, 128_000, Levels).sees()
        .price(1_000_000, 5_000_000).cached_price(50_000).cache_write_price(1_250_000)
        .long(over(272_000, 2_000_000, 7_500_000, 100_000)),
    reasoning("gpt-6-astra", 1_050_000, 128_000, Always).sees()
        .price(10_000_000, 50_000_000).cached_price(1_000_000).cache_write_price(12_500_000)
        .long(over_written(272_000, 20_000_000, 75_000_000, 2_000_000, 25_000_000)),
    reasoning("gpt-6-sol", 1_050_000, 128_000, Levels).sees()
        .price(2_000_000, 10_000_000).cached_price(200_000).cache_write_price(2_500_000)
        .long(over_written(272_000, 4_000_000, 15_000_000, 400_000, 5_000_000)),
    reasoning("gpt-6-luna", 1_050_000, 128_000, Levels).sees()
        .price(100_000, 500_000).cached_price(10_000).cache_write_price(125_000)
        .long(over_written(272_000, 200_000, 750_000, 20_000, 250_000)),
    // $4 and $20 were guaranteed until 21 November 2026 only.
    reasoning("gpt-5.6", 1_050_000, 128_000, Levels).sees(),
    reasoning("gpt-5.6-sol", 1_050_000, 128_000, Levels).sees(),
    reasoning("gpt-5.6-terra", 1_050_000, 128_000, Levels).sees()
        .price(2_000_000, 12_000_000).cached_price(200_000)
        .long(over(272_000, 4_000_000, 18_000_000, 400_000)),
    reasoning("gpt-5.6-luna", 1_050_000, 128_000, Levels).sees()
        .price(200_000, 1_200_000).cached_price(20_000)
        .long(over(272_000, 400_000, 1_800_000, 40_000)),
    reasoning("gpt-5.5", 1_050_000, 128_000, Levels).sees()
        .price(5_000_000, 30_000_000).cached_price(500_000)
        .long(over(272_000, 10_000_000, 45_000_000, 1_000_000)),
    // Sources disagree on the input length above which the price rises.
    reasoning("gpt-5.4", 1_050_000, 128_000, Levels).sees(),
    reasoning("gpt-5.3-codex", 400_000, 128_000, Unknown).sees()
        .price(1_750_000, 14_000_000).cached_price(175_000),
    reasoning("gpt-5.2", 400_000, 128_000, Levels).sees()
        .price(1_750_000, 14_000_000).cached_price(175_000),
    reasoning("gpt-5.2-codex", 400_000, 128_000, Unknown).sees()
        .price(1_750_000, 14_000_000).cached_price(175_000),
    reasoning("gpt-5.1", 400_000, 128_000, Levels).sees()
        .price(1_250_000, 10_000_000).cached_price(125_000),
    reasoning("gpt-5.1-codex", 400_000, 128_000, Unknown).sees()
        .price(1_250_000, 10_000_000).cached_price(125_000),
    ModelRow::new("gpt-5.1-codex-max").without_sampling()
        .price(1_250_000, 10_000_000).cached_price(125_000),
    ModelRow::new("gpt-5.1-codex-mini").window(400_000).without_sampling()
        .price(250_000, 2_000_000).cached_price(25_000),
    reasoning("gpt-5", 400_000, 128_000, Always).sees()
        .price(1_250_000, 10_000_000).cached_price(125_000),
    reasoning("gpt-5-codex", 400_000, 128_000, Always).sees()
        .price(1_250_000, 10_000_000).cached_price(125_000),
    reasoning("gpt-5-mini", 400_000, 128_000, Always).sees()
        .price(250_000, 2_000_000).cached_price(25_000),
    reasoning("gpt-5-nano", 400_000, 128_000, Always).sees()
        .price(50_000, 400_000).cached_price(5_000),
    reasoning("gpt-5-pro", 400_000, 272_000, Always).sees()
        .price(15_000_000, 120_000_000),
    reasoning("o4-mini", 200_000, 100_000, Always).sees()
        .price(1_100_000, 4_400_000).cached_price(275_000),
    reasoning("o3", 200_000, 100_000, Always).sees()
        .price(2_000_000, 8_000_000).cached_price(500_000),
    reasoning("o3-mini", 200_000, 100_000, Always).without_images()
        .price(1_100_000, 4_400_000).cached_price(550_000),
    ModelRow::new("o3-pro").thinks(Always).without_sampling().price(20_000_000, 80_000_000),
    reasoning("o1", 200_000, 100_000, Always).sees()
        .price(15_000_000, 60_000_000).cached_price(7_500_000),
    chat("gpt-4.1", 1_047_576, 32_768).sees().price(2_000_000, 8_000_000).cached_price(500_000),
    chat("gpt-4.1-mini", 1_047_576, 32_768).sees().price(400_000, 1_600_000).cached_price(100_000),
    chat("gpt-4.1-nano", 1_047_576, 32_768).sees().price(100_000, 400_000).cached_price(25_000),
    chat("gpt-4o", 128_000, 16_384).sees().price(2_500_000, 10_000_000).cached_price(1_250_000),
    // The first version costs more than the later ones; sources disagree on how much.
    ModelRow::new("gpt-4o-2024-05-13").window(128_000).thinks(Never).sees(),
    chat("gpt-4o-mini", 128_000, 16_384).sees().price(150_000, 600_000).cached_price(75_000),
    ModelRow::new("gpt-4-turbo").window(128_000).thinks(Never).sees().price(10_000_000, 30_000_000),
    chat("gpt-4", 8_192, 8_192).without_images().price(30_000_000, 60_000_000),
];
