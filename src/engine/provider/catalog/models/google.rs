//! Google's Gemini models, as served by the Gemini API.
//!
//! Sources: `github.com/anomalyco/models.dev` (which quotes `ai.google.dev/gemini-api/docs/pricing`, August
//! and September 2026), the deprecations and the changelog of `ai.google.dev/gemini-api/docs` (read in
//! November 2026). Prices are those of text; more than 200 000 tokens of input raise the price of a whole
//! request to the Pro models.

use super::{ModelRow, over};
use crate::config::ThinkingStyle;
use crate::config::ThinkingStyle::{Always, Budget, Never};

const fn model(name: &'static str, output: u32, style: ThinkingStyle) -> ModelRow {
    ModelRow::new(name).window(1_048_576).output(output).sees().thinks(style)
}

#[rustfmt::skip]
pub const ROWS: &[ModelRow] = &[
    // Half price until 31 December 2026 ($0.75, $3.75), full price afterwards ($1.50, $7.50).
    model("gemini-3.8-flash", 65_536, Always),
    // The sources give the prices of these two from before and after a promotion.
    ModelRow::new("gemini-3.7-flash").thinks(Always).sees(),
    ModelRow::new("gemini-3.6-flash").thinks(Always).sees(),
    model("gemini-3.5-flash", 65_536, Always).price(1_500_000, 9_000_000).cached_price(150_000),
    model("gemini-3.1-pro", 65_536, Always)
        .price(2_000_000, 12_000_000).cached_price(200_000)
        .long(over(200_000, 4_000_000, 18_000_000, 400_000)),
    model("gemini-3.1-flash-lite", 65_536, Always).price(250_000, 1_500_000).cached_price(25_000),
    // Some sources give 1 000 000 and 64 000.
    ModelRow::new("gemini-3-pro").thinks(Always).sees()
        .price(2_000_000, 12_000_000).cached_price(200_000)
        .long(over(200_000, 4_000_000, 18_000_000, 400_000)),
    model("gemini-3-flash", 65_536, Always).price(500_000, 3_000_000).cached_price(50_000),
    // From 1 December 2026 on newer models serve these two names, at their own prices.
    model("gemini-2.5-pro", 65_536, Budget),
    model("gemini-2.5-flash", 65_536, Budget),
    model("gemini-2.5-flash-lite", 65_536, Budget).price(100_000, 400_000).cached_price(10_000),
    model("gemini-2.0-flash", 8_192, Never).price(100_000, 400_000).cached_price(25_000),
    model("gemini-2.0-flash-lite", 8_192, Never).price(75_000, 300_000),
];
