//! The models of xAI, DeepSeek and Mistral, open models, and the models hosted by Groq and Cerebras.
//!
//! Sources are named at each table.

use super::{ModelRow, over};
use crate::config::ThinkingStyle::{Always, Levels, Never};

/// Source: `github.com/anomalyco/models.dev`, which quotes `docs.x.ai/developers/pricing` (July to September
/// 2026). Sources disagree on output limits or give the window's size, so there are none here.
#[rustfmt::skip]
pub const XAI: &[ModelRow] = &[
    ModelRow::new("grok-4.7").window(500_000).thinks(Always).sees()
        .price(2_000_000, 6_000_000).cached_price(500_000).long(over(200_000, 4_000_000, 12_000_000, 1_000_000)),
    ModelRow::new("grok-4.6").window(500_000).thinks(Always).sees()
        .price(2_000_000, 6_000_000).cached_price(500_000).long(over(200_000, 4_000_000, 12_000_000, 1_000_000)),
    ModelRow::new("grok-4.5").window(500_000).thinks(Always).sees()
        .price(2_000_000, 6_000_000).cached_price(500_000).long(over(200_000, 4_000_000, 12_000_000, 1_000_000)),
    ModelRow::new("grok-4.3").window(1_000_000).sees()
        .price(1_250_000, 2_500_000).cached_price(200_000).long(over(200_000, 2_500_000, 5_000_000, 400_000)),
    // Thinks and accepts no level. Sources disagree on its long-input price and on that of the next three.
    ModelRow::new("grok-4").window(256_000).thinks(Never),
    ModelRow::new("grok-4-fast").window(2_000_000).sees(),
    ModelRow::new("grok-4-1-fast").window(2_000_000).sees(),
    ModelRow::new("grok-code-fast-1").window(256_000).without_images(),
    ModelRow::new("grok-3").window(131_072).without_images().thinks(Never)
        .price(3_000_000, 15_000_000).cached_price(750_000),
    ModelRow::new("grok-3-mini").window(131_072).without_images()
        .price(300_000, 500_000).cached_price(75_000),
];

/// Source: `api-docs.deepseek.com/quick_start/pricing` (October 2026). The price is halved outside of working
/// hours in its country, so there is none here.
#[rustfmt::skip]
pub const DEEPSEEK: &[ModelRow] = &[
    ModelRow::new("deepseek-flash").window(1_000_000).output(384_000).thinks(Levels).sees(),
    // Served by the same model as `deepseek-flash`.
    ModelRow::new("deepseek-v4-flash").window(1_000_000).output(384_000).thinks(Levels),
    ModelRow::new("deepseek-v4-pro").window(1_000_000).output(384_000).thinks(Levels).without_images(),
];

/// Source: `github.com/anomalyco/models.dev`, which quotes `docs.mistral.ai` (August to October 2026). Names
/// with `latest` change their model, so most of them have no row.
#[rustfmt::skip]
pub const MISTRAL: &[ModelRow] = &[
    // The current price is a preview's.
    ModelRow::new("mistral-large-4").sees(),
    ModelRow::new("mistral-large-2512").window(262_144).sees().thinks(Never)
        .price(500_000, 1_500_000),
    ModelRow::new("mistral-medium-2604").window(262_144).sees().price(1_500_000, 7_500_000),
    ModelRow::new("mistral-medium-3-5").window(262_144).sees().price(1_500_000, 7_500_000),
    ModelRow::new("mistral-medium-3.5").window(262_144).sees().price(1_500_000, 7_500_000),
    ModelRow::new("mistral-medium-2508").sees().thinks(Never).price(400_000, 2_000_000),
    // Sources give both 128 000 and 256 000 for its window.
    ModelRow::new("codestral-2508").without_images().thinks(Never).price(300_000, 900_000).cached_price(30_000),
    ModelRow::new("devstral-2512").window(262_144).without_images().thinks(Never).price(400_000, 2_000_000),
];

/// Open models that many hosts serve, with the model's own capabilities. A host that serves less states that
/// in its list. Source: `github.com/anomalyco/models.dev`.
#[rustfmt::skip]
pub const OPEN: &[ModelRow] = &[
    ModelRow::new("gpt-oss-120b").window(131_072).without_images().thinks(Always),
    ModelRow::new("gpt-oss-20b").window(131_072).without_images().thinks(Always),
    ModelRow::new("qwen3-coder-480b-a35b-instruct").window(262_144).without_images().thinks(Never),
    ModelRow::new("qwen3-235b-a22b-instruct-2507").window(262_144).without_images().thinks(Never),
    ModelRow::new("llama-3.3-70b-instruct").window(128_000).without_images().thinks(Never),
    ModelRow::new("glm-4.6").window(204_800).without_images(),
    ModelRow::new("kimi-k2.5").window(262_144).sees(),
];

/// Source: `github.com/anomalyco/models.dev`, which quotes `console.groq.com/docs/models` and `groq.com/pricing` (May and
/// August 2026).
#[rustfmt::skip]
pub const GROQ: &[ModelRow] = &[
    ModelRow::new("gpt-oss-120b").window(131_072).output(65_536).without_images().thinks(Always)
        .price(150_000, 600_000).cached_price(75_000),
    ModelRow::new("gpt-oss-20b").window(131_072).output(65_536).without_images().thinks(Always)
        .price(75_000, 300_000).cached_price(37_500),
    ModelRow::new("qwen3-32b").window(131_072).output(40_960).without_images()
        .price(290_000, 590_000),
    ModelRow::new("qwen3.8-27b").output(16_384).sees()
        .price(800_000, 4_000_000).cached_price(400_000),
];

/// Sources: `github.com/pydantic/genai-prices` (November 2025) and `github.com/braintrustdata/braintrust-proxy` (May 2026),
/// which quote `cerebras.ai/pricing`. Free accounts have smaller windows than these.
#[rustfmt::skip]
pub const CEREBRAS: &[ModelRow] = &[
    ModelRow::new("gpt-oss-120b").window(131_072).without_images().thinks(Always).price(350_000, 750_000),
    ModelRow::new("zai-glm-4.7").window(131_072).output(40_960).without_images().price(2_250_000, 2_750_000),
];
